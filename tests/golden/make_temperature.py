"""Writes temperature.csv: factors of attention scores by position, each the float nearest to the real formula.

    python tests/golden/make_temperature.py

The formulas are those of transformers: `attn_scales` in modeling_llama4.py, `get_llama_4_attn_scale` in
modeling_ministral3.py (called here too, to see that they agree), `yarn_apply_mscale` in modeling_deepseek_v3.py.
"""

from pathlib import Path

import torch
import transformers
from flint import arb, ctx
from transformers.models.deepseek_v3.modeling_deepseek_v3 import yarn_apply_mscale
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

from exact import DIGITS, ORDER, round_ball_all, versions

POSITIONS = [0, 1, 8190, 8191, 8192, 16382, 16383, 16384, 32767, 32768, 131071, 1048575, 10485760, 2**32 - 1]


def llama4(scale, step, position):
    return 1 + arb(scale) * arb((position + 1) // step + 1).log()


def ministral3(scale, step, position):
    ball = 1 + arb(scale) * arb(position // step + 1).log()
    theirs = get_llama_4_attn_scale(torch.tensor([[position]], dtype=torch.float64), scale, step).item()
    assert abs(theirs - float(ball)) < 1e-14, (theirs, ball)
    return ball


def mscale(all_dim, factor, position):
    ball = arb(1) if factor <= 1 else (1 + arb(factor).log() * arb(all_dim) / 10) ** 2
    theirs = yarn_apply_mscale({"rope_type": "yarn", "factor": factor, "mscale_all_dim": all_dim}, 1.0)
    assert abs(theirs - float(ball)) < 1e-14, (theirs, ball)
    return ball


CASES = [(llama4, 0.1, 8192), (llama4, 0.25, 3), (llama4, 0.0, 1), (ministral3, 0.1, 16384), (ministral3, 0.1, 8192),
         (ministral3, 1.7, 1), (mscale, 1.0, 40.0), (mscale, 0.707, 40.0), (mscale, 1.0, 0.5), (mscale, 0.3, 1.0000001)]


def main():
    ctx.prec = 300
    rows = [f"# factors of attention scores; made by make_temperature.py with {versions()}, "
            f"transformers {transformers.__version__}", "formula,scale,step,position," + ",".join(f.name for f in ORDER)]
    for formula, scale, step in CASES:
        for position in POSITIONS if formula is not mscale else [0, 77]:
            bits = round_ball_all(formula(scale, step, position), ORDER)
            cells = ",".join(f"{b:0{DIGITS[f.name]}x}" for f, b in zip(ORDER, bits))
            rows.append(f"{formula.__name__},{scale!r},{step!r},{position},{cells}")
    (Path(__file__).parent / "temperature.csv").write_text("\n".join(rows) + "\n")
    print(len(rows) - 2, "factors")


if __name__ == "__main__":
    main()
