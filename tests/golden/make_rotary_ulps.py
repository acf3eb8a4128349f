"""Writes rotary_ulps.json: f32 frequencies of transformers for drawn settings of every scaling.

    python tests/golden/make_rotary_ulps.py

The settings are of no released model. They show by how much the recipe `hf-f32`, whose power is correctly rounded,
differs from torch's power and from the operations after it.
"""

import json
import random
from pathlib import Path

import torch
import transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LONGEST = 1 << 17


def llama3(factor, high, trained):
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": high,
            "original_max_position_embeddings": trained}


def draws(rng):
    for theta in [54321.0, 10000.0, 500000.0] + [float(round(10 ** rng.uniform(3.5, 7))) for _ in range(13)]:
        dim = rng.choice([64, 80, 96, 128, 256])
        factor, trained = rng.choice([2.0, 4.0, 8.0, 16.0, 32.0]), rng.choice([2048, 4096, 8192])
        yield theta, dim, {"rope_type": "default"}
        yield theta, dim, {"rope_type": "linear", "factor": factor}
        yield theta, dim, {"rope_type": "dynamic", "factor": factor}
        yield theta, dim, {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": trained}
        yield theta, dim, {"rope_type": "longrope", "factor": factor, "original_max_position_embeddings": trained,
                           "short_factor": [round(1 + rng.random(), 3) for _ in range(dim // 2)],
                           "long_factor": [round(1 + 60 * rng.random(), 3) for _ in range(dim // 2)]}
        for factor in (factor, 8.0):
            yield theta, dim, llama3(factor, rng.choice([2.0, 4.0]), trained)
    # A base whose powers torch often rounds the other way.
    for dim in range(32, 288, 16):
        for factor in (8.0, 32.0):
            yield 54321.0, dim, llama3(factor, 4.0, 8192)


def frequencies(theta, dim, scaling):
    config = LlamaConfig(hidden_size=dim, num_attention_heads=1, head_dim=dim, max_position_embeddings=LONGEST,
                         rope_parameters={"rope_theta": theta, **scaling})
    kind = scaling["rope_type"]
    if kind == "default":
        return LlamaRotaryEmbedding(config).inv_freq
    return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=LONGEST + 1000)[0]


def main():
    cases = []
    for theta, dim, scaling in draws(random.Random(54321)):
        inv_freq = frequencies(theta, dim, scaling)
        assert inv_freq.dtype == torch.float32
        bits = [f"{b & 0xffffffff:08x}" for b in inv_freq.view(torch.int32).tolist()]
        cases.append({"theta": theta, "dim": dim, "scaling": scaling, "inv_freq_f32": bits})
    made = f"make_rotary_ulps.py with transformers {transformers.__version__}, torch {torch.__version__}"
    lines = ",\n".join(json.dumps(case) for case in cases)
    path = Path(__file__).parent / "rotary_ulps.json"
    path.write_text(f'{{"meta": {json.dumps({"made by": made})},\n"max_position_embeddings": {LONGEST},\n'
                    f'"cases": [\n{lines}\n]}}\n')
    print(len(cases), "sets")


if __name__ == "__main__":
    main()
