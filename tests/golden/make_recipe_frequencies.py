"""Writes recipe_frequencies.csv: the f32 frequencies of the two recipes, every elementary function correctly rounded.

    python tests/golden/make_recipe_frequencies.py

    exp-f32   exp(k * c), c = f32(-ln(base) / m): k = 2i and m = d (spacing `paper`), k = i and m = n - 1
              (`inclusive`, as fairseq, M2M100 and Whisper have it; m = 1 where n = 1); ln(base) rounded to f64,
              the quotient too; k * c in f32
    pow-f32   1 / f32(base) ** (k / d) in f32, k = 2i

recipes.csv compares with what libraries compute, within an ulp or two and for large bases alone; this file has bases
on both sides of 1 and too large for f32, and leaves no ulp.
"""

from pathlib import Path

import numpy as np
from flint import arb, ctx

from exact import F32, F64, round_ball, versions

HERE = Path(__file__).parent
SETS = ("exp-f32,paper", "exp-f32,inclusive", "pow-f32,paper")
WIDTHS = (2, 4, 6, 10, 34, 64)
BASES = (1e4, 5e5, 1e-4, 0.5, 0.9999999999999999, 1.0, 1.0000000000000002, 3e38, 3.5e38, 1e300)


def exactly(make, fmt):
    ctx.prec = 160
    while True:
        bits = round_ball(make(), fmt)
        if bits is not None:
            return bits
        ctx.prec *= 2


def f32(make):
    return np.array([exactly(make, F32)], np.uint32).view(np.float32)[0]


def f64(make):
    return np.array([exactly(make, F64)], np.uint64).view(np.float64)[0]


def exp_f32(d, base, paper):
    n = d // 2
    stride, divisor = (2, d) if paper else (1, max(n - 1, 1))
    ln = np.float64(0) if base == 1 else f64(lambda: arb(base).log())
    c = np.float32(-ln / np.float64(divisor))
    x = (np.arange(n) * stride).astype(np.float32) * c
    return [np.float32(1) if v == 0 else f32(lambda: arb(float(v)).exp()) for v in x]


def pow_f32(d, base):
    base = np.float32(base)

    def power(x):
        if x == 0 or base == 1:
            return np.float32(1)
        if np.isinf(base):
            return base
        return f32(lambda: arb(float(base)) ** arb(float(x)))

    return [np.float32(1) / power(x) for x in np.arange(0, d, 2).astype(np.float32) / np.float32(d)]


def main():
    lines = [f"# {versions()}", "recipe,spacing,d,base,pair,inv_freq"]
    with np.errstate(over="ignore"):
        for which in SETS:
            for d in WIDTHS:
                for base in BASES:
                    recipe, spacing = which.split(",")
                    made = exp_f32(d, base, spacing == "paper") if recipe == "exp-f32" else pow_f32(d, base)
                    for pair, value in enumerate(made):
                        lines.append(f"{which},{d},{base!r},{pair},{value.view(np.uint32):08x}")
    (HERE / "recipe_frequencies.csv").write_text("\n".join(lines) + "\n")


main()
