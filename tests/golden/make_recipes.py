"""Writes recipes.csv: what PyTorch and NumPy really compute when a table is built in f32.

    python tests/golden/make_recipes.py

Two recipes, both wholly in f32:

    exp-f32   inv_freq = exp(k * c) with k = 0, 2, 4 .. as f32 and the scalar c = -(ln(base) / d)
    pow-f32   inv_freq = 1 / base ** (k / d)

and then angle = position * inv_freq, sine and cosine of the angle. The head of the file tells how far the
libraries are from the same recipe with every elementary function correctly rounded.
"""

import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from flint import arb, ctx

from exact import F32, log_uniform, round_ball, versions

HERE = Path(__file__).parent
RECIPES = ("exp-f32", "pow-f32")
WIDTHS = (64, 128, 512)
BASES = (1e4, 5e5)
NEAR = 5000
FAR = 131072


def far_positions():
    rng = random.Random(99)
    chosen = {FAR - 1, 8191, 8192, 16384, 32767, 32768, 65535, 65536, 65537, 100000}
    while len(chosen) < 1200:
        chosen.add(log_uniform(rng, NEAR, FAR - 1))
    return sorted(chosen)


POSITIONS = np.array(list(range(NEAR)) + far_positions())


def by_torch(recipe, d, base):
    k = torch.arange(0, d, 2).float()
    if recipe == "exp-f32":
        inv = torch.exp(k * (-(math.log(base) / d)))
    else:
        inv = 1.0 / (base ** (k / d))
    angle = torch.from_numpy(POSITIONS).float().unsqueeze(1) * inv
    return [t.numpy() for t in (inv, angle, torch.sin(angle), torch.cos(angle))]


def by_numpy(recipe, d, base):
    k = np.arange(0, d, 2).astype(np.float32)
    if recipe == "exp-f32":
        inv = np.exp(k * (-(math.log(base) / d)))
    else:
        inv = 1.0 / (base ** (k / d))
    angle = POSITIONS.astype(np.float32)[:, None] * inv
    assert inv.dtype == angle.dtype == np.float32
    return [inv, angle, np.sin(angle), np.cos(angle)]


LIBRARIES = {"torch": by_torch, "numpy": by_numpy}


# The same recipes, correctly rounded ---------------------------------------------------------------------------

def exactly(make):
    ctx.prec = 128
    while True:
        bits = round_ball(make(), F32)
        if bits is not None:
            return bits
        ctx.prec *= 2


def from_bits(bits):
    return np.array(bits, np.uint32).view(np.float32)


def rounded_inv_freq(recipe, d, base):
    k = np.arange(0, d, 2).astype(np.float32)
    if recipe == "exp-f32":
        x = k * np.float32(-(math.log(base) / d))
        return from_bits([exactly(lambda: arb(float(v)).exp()) for v in x])
    b = float(np.float32(base))
    power = from_bits([exactly(lambda: arb(b) ** arb(float(v))) for v in k / np.float32(d)])
    return np.float32(1) / power


def rounded(name, angle):
    """Correctly rounded sine or cosine: float64 where that decides the f32, Arb where it is near a midpoint."""
    wide = angle.astype(np.float64)
    value = (np.sin if name == "sin" else np.cos)(wide)
    out = value.astype(np.float32)
    unit = np.spacing(np.abs(out)).astype(np.float64)
    close = np.abs(np.abs(value - out) / unit - 0.5) < 2.0**-20
    # At a power of two the spacing below is half as wide.
    close |= np.abs(np.abs(value - out) / unit - 0.25) < 2.0**-20
    close |= np.abs(value) < 2.0**-40
    where = np.argwhere(close & (wide != 0))
    for i, j in where:
        def make():
            x = arb(float(wide[i, j]))
            return x.sin() if name == "sin" else x.cos()
        out[i, j] = from_bits([exactly(make)])[0]
    return out, value


def steps(a, b):
    """Number of floats from a to b, zero included once."""
    def line(x):
        i = x.view(np.int32).astype(np.int64)
        return np.where(i < 0, -(i & 0x7FFFFFFF), i)
    return np.abs(line(np.ascontiguousarray(a)) - line(np.ascontiguousarray(b)))


def all_tables():
    return {f"{lib}/{r}/{d}/{base:g}": make(r, d, base)
            for lib, make in LIBRARIES.items() for r in RECIPES for d in WIDTHS for base in BASES}


def other_instructions(tables, lib, env, value):
    """Runs the same tables in a process that may not use some instructions, and compares."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tables.npz")
        done = subprocess.run([sys.executable, __file__, "--dump", path], env={**os.environ, env: value},
                              capture_output=True, text=True)
        if done.returncode or "Warning" in done.stderr:
            return "could not be run"
        other = np.load(path)
        result = []
        for k, label in enumerate(("inv_freq", "angle", "sin", "cos")):
            if label == "angle":
                continue
            most, off, where = 0, 0, 0
            for key in tables:
                if not key.startswith(lib):
                    continue
                mine, theirs = tables[key][k], other[f"{key}#{k}"]
                if label != "inv_freq":  # only where the angles are the same bits
                    same = tables[key][1] == other[f"{key}#1"]
                    mine, theirs = mine[same], theirs[same]
                apart = steps(mine, theirs)
                most, off, where = max(most, int(apart.max())), off + int((apart > 0).sum()), where + apart.size
            result.append(f"{label} differs in {off / where:.2%}, at most {most} ulp")
        return "; ".join(result) + " (sine and cosine at equal angles)"


def main():
    if sys.argv[1:2] == ["--dump"]:
        np.savez(sys.argv[2], **{f"{key}#{k}": t for key, v in all_tables().items() for k, t in enumerate(v)})
        return
    rng = random.Random(5)
    tables = all_tables()
    notes, lines = [], []
    for lib in LIBRARIES:
        for recipe in RECIPES:
            worst = {}

            def keep(name, value):
                worst[name] = max(worst.get(name, 0), value)

            for d in WIDTHS:
                for base in BASES:
                    inv, angle, sine, cosine = tables[f"{lib}/{recipe}/{d}/{base:g}"]
                    right = rounded_inv_freq(recipe, d, base)
                    keep("inv", int(steps(inv, right).max()))
                    keep("inv_off", float((inv != right).mean()))
                    right_angle = POSITIONS.astype(np.float32)[:, None] * right
                    for name, got in (("sin", sine), ("cos", cosine)):
                        nearest, true = rounded(name, angle)
                        keep("trig", int(steps(got, nearest).max()))
                        unit = np.spacing(np.abs(nearest)).astype(np.float64)
                        keep("trig_real", float((np.abs(got - true) / unit).max()))
                        keep("trig_off", float((got != nearest).mean()))
                        whole, _ = rounded(name, right_angle)
                        apart = steps(got, whole)
                        gap = np.abs(got.astype(np.float64) - whole)
                        keep("all_near", int(apart[:NEAR].max()))
                        keep("all_far", int(apart.max()))
                        large = np.abs(whole) > 0.01
                        keep("big_near", int(apart[:NEAR][large[:NEAR]].max()))
                        keep("big_far", int(apart[large].max()))
                        keep("share", float((apart > 0).mean()))
                        keep("gap_near", float(gap[:NEAR].max()))
                        keep("gap_far", float(gap.max()))
                    seen = {(0, 0), (d // 2 - 1, NEAR - 1), (d // 2 - 1, len(POSITIONS) - 1), (0, len(POSITIONS) - 1)}
                    while len(seen) < 1000:
                        r = rng.randrange(NEAR) if rng.random() < 0.6 else rng.randrange(NEAR, len(POSITIONS))
                        seen.add((rng.randrange(d // 2), r))
                    for pair, r in sorted(seen):
                        words = [x.view(np.uint32) for x in
                                 (inv[pair], angle[r, pair], sine[r, pair], cosine[r, pair])]
                        lines.append(f"{lib},{recipe},{d},{base!r},{pair},{POSITIONS[r]},"
                                     + ",".join(f"{int(w):08x}" for w in words))
            w = worst
            notes += [
                f"{lib} {recipe}: (a) inv_freq at most {w['inv']} ulp off the correctly rounded recipe "
                f"(up to {w['inv_off']:.1%} of a row differ)",
                f"{lib} {recipe}: (b) sine and cosine of its own angle at most {w['trig']} ulp off the correctly "
                f"rounded value (up to {w['trig_off']:.2%} differ); at most {w['trig_real']:.4f} ulp off the true value",
                f"{lib} {recipe}: (c) end to end, positions below {NEAR}: at most {w['gap_near']:.3e} absolute, "
                f"{w['big_near']} ulp where the value is above 0.01, {w['all_near']} ulp anywhere; up to {FAR - 1}: "
                f"{w['gap_far']:.3e}, {w['big_far']} ulp, {w['all_far']} ulp; up to {w['share']:.1%} of a table differ",
            ]
            print("\n".join(notes[-3:]), flush=True)
    for lib, env, value in (("torch", "ATEN_CPU_CAPABILITY", "avx2"), ("torch", "ATEN_CPU_CAPABILITY", "default"),
                            ("torch", "MKL_CBWR", "COMPATIBLE"), ("torch", "MKL_ENABLE_INSTRUCTIONS", "AVX2"),
                            ("numpy", "NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR"),
                            ("numpy", "NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")):
        notes.append(f"{lib} with {env}={value}: " + other_instructions(tables, lib, env, value))
        print(notes[-1], flush=True)
    alone = tables["torch/exp-f32/128/10000"]
    one_by_one = sum(int((torch.sin(torch.from_numpy(alone[1][r, p : p + 1].copy())).numpy() != alone[2][r, p])[0])
                     for r in range(0, NEAR, 5) for p in range(64))
    notes.append(f"torch sine of one number at a time differs from the whole table in {one_by_one} of {NEAR // 5 * 64}")
    print(notes[-1])
    head = [
        "What f32 table recipes give in PyTorch and NumPy: bit patterns of f32.",
        f"made by make_recipes.py with {versions()}, torch {torch.__version__} "
        f"({torch.backends.cpu.get_cpu_capability()}, MKL {torch.backends.mkl.is_available()}), NumPy {np.__version__}",
        "exp-f32: inv_freq = exp(k * c), k = 0, 2, 4 .. in f32, c = -(ln(base) / d) in f64 and rounded to f32; "
        "pow-f32: inv_freq = 1 / base^(k / d), each step in f32",
        "then angle = f32(position) * inv_freq, sin(angle), cos(angle), all in f32",
        "ulp: number of floats between the two values; correctly rounded functions by Arb "
        "(float64 where it decides the f32)",
        f"measured over whole tables: positions 0..{NEAR - 1} and {len(POSITIONS) - NEAR} more up to {FAR - 1}, "
        "all pairs, d in 64, 128, 512, base 1e4 and 5e5; the rows below are a sample of them",
        "the largest ulp counts in (c) are at zero crossings, where a small absolute difference is many ulp",
    ] + notes
    text = "".join(f"# {h}\n" for h in head) + "library,recipe,d,base,pair,position,inv_freq,angle,sin,cos\n"
    (HERE / "recipes.csv").write_text(text + "".join(x + "\n" for x in lines))
    print(len(lines), "rows")


if __name__ == "__main__":
    main()
