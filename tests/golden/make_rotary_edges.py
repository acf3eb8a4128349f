"""Writes rotary_edges.json: rotary frequencies where a scaling's formula turns: bounds met, parts left out, zeros.

    python tests/golden/make_rotary_edges.py

The settings are of no released model; they go through transformers and the formulas in interval arithmetic as those of
rotary.json do, and the file has the same form.
"""

import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers

from exact import versions
from make_rotary import case, cases
from rotary_models import model


def yarn(**more):
    return model("llama", 4096, 32, 32768, rope_theta=10000.0, rope_scaling={"rope_type": "yarn", "factor": 4.0, **more})


def llama3(trained, factor, low, high):
    return model("llama", 4096, 32, 131072, rope_theta=500000.0, rope_scaling={
        "rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
        "original_max_position_embeddings": trained})


# A factor by which the longest wavelength kept, or the shortest divided, is 2 pi to the bit: that of pair 0.
TURN = float(np.float32(2 * math.pi))
LOW, HIGH = 4006, 4001


EDGES = [
    ("proportional, divided", model("gemma4_text", 2560, 8, 131072, head_dim=256, global_head_dim=512, rope_parameters={
        "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional",
                           "factor": 8.0},
        "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}), [None]),
    ("yarn, both ends of the ramp at pair 0", yarn(original_max_position_embeddings=6), [None]),
    ("yarn, ramp beyond the head", yarn(original_max_position_embeddings=32768, beta_slow=1e-5), [None]),
    ("yarn, mscale 0", yarn(original_max_position_embeddings=4096, mscale=0.0, mscale_all_dim=1.0), [None]),
    ("yarn, mscale_all_dim 0", yarn(original_max_position_embeddings=4096, mscale=1.0, mscale_all_dim=0.0), [None]),
    ("yarn, mscale of another mscale_all_dim",
     yarn(original_max_position_embeddings=4096, mscale=0.5, mscale_all_dim=0.75), [None]),
    ("yarn, factor 1", yarn(original_max_position_embeddings=32768, factor=1.0), [None]),
    ("llama3, low_freq_factor not 1", llama3(8192, 8.0, 2.0, 5.0), [None]),
    ("llama3, pair 0 at the longest wavelength", llama3(LOW, 1024.0, LOW / TURN, 4 * LOW / TURN), [None]),
    ("llama3, pair 0 at the shortest wavelength", llama3(HIGH, 1024.0, HIGH / TURN / 4, HIGH / TURN), [None]),
]


def main():
    out = [case(*given) for given in cases(EDGES)]
    meta = {"made by": f"make_rotary_edges.py with transformers {transformers.__version__}, torch {torch.__version__}, "
                       f"{versions()}", "cases": len(out)}
    print(json.dumps(meta), *(f"{x['name']}: {x['largest_relative_difference']:.1e}" for x in out), sep="\n")
    lines = ",\n".join(json.dumps(x) for x in out)
    path = Path(__file__).parent / "rotary_edges.json"
    path.write_text(f'{{"meta": {json.dumps(meta)},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
