"""Checks the rounding code and the data files against other software. Prints what was compared; fails loudly.

    python tests/golden/check.py

1. The rounding in exact.py against the casts of NumPy (f64 to f32 and f16) and PyTorch (f32 to bf16).
2. Rational rounding against Python's own correctly rounded division.
3. Entries drawn from the data files against mpmath: the stored float must be nearer to the true value than both
   of its neighbours.
4. Rows of a digest table against float64 arithmetic in NumPy, loosely, to catch a wrong layout or position.
"""

import hashlib
import random
import struct
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import torch
from flint import fmpq

from exact import BF16, F16, F32, F64, ORDER, round_dyadic, round_rational

HERE = Path(__file__).parent


def bits64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def parts(x):
    num, den = x.as_integer_ratio()
    return num, 1 - den.bit_length()


def check_rounding(rng):
    sample = [0.0, 1.0, -1.0, 2.0**-149, 2.0**-150, 3 * 2.0**-150, 2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-126,
              2.0**-126 - 2.0**-150, 65519.0, 65520.0, 65504.0, 3.4028235677973366e38, 5e-324, -5e-324]
    for _ in range(100000):
        kind = rng.random()
        if kind < 0.4:
            x = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
        else:
            x = rng.uniform(-1, 1) * 2.0 ** rng.randint(-155, 20)
            if kind > 0.6:  # exact midpoints and their neighbours
                b = bits64(x)
                cut = rng.choice([29, 42, 45])
                b = (b >> cut << cut) | (1 << (cut - 1))
                x = struct.unpack("<d", struct.pack("<Q", b + rng.choice([-1, 0, 1])))[0]
        if np.isfinite(x):
            sample.append(x)
    with np.errstate(over="ignore", under="ignore"):
        v = np.array(sample)
        want32 = v.astype(np.float32)
        want16 = v.astype(np.float16).view(np.uint16)
    same_as_32 = want32.astype(np.float64) == v
    brain = torch.from_numpy(want32).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    count = 0
    for j, x in enumerate(sample):
        m, e = parts(x)
        if m == 0:
            continue
        assert round_dyadic(m, e, F64) == bits64(x), x
        assert round_dyadic(m, e, F32) == int(want32[j : j + 1].view(np.uint32)[0]), x
        assert round_dyadic(m, e, F16) == int(want16[j]), x
        count += 3
        if np.isfinite(want32[j]):
            y = float(want32[j])
            assert y == 0 or round_dyadic(*parts(y), BF16) == int(brain[j]), y
            count += 1
    print(f"rounding: {count} casts agree with NumPy and PyTorch ({int(same_as_32.sum())} exact in f32)")
    for _ in range(20000):
        a, b = rng.getrandbits(rng.randint(1, 1200)), rng.getrandbits(rng.randint(1, 1200)) | 1
        try:
            want = a / b
        except OverflowError:
            want = float("inf")
        assert round_rational(fmpq(a, b), F64) == bits64(want), (a, b)
    print("rounding: 20000 quotients agree with Python's division")


def decode(bits, fmt):
    p = fmt.precision
    sign = -1 if bits >> (fmt.bits - 1) else 1
    bits &= (1 << (fmt.bits - 1)) - 1
    field, frac = bits >> (p - 1), bits & ((1 << (p - 1)) - 1)
    if field:
        frac |= 1 << (p - 1)
        field -= 1
    return sign * Fraction(frac) * Fraction(2) ** (field + fmt.emin - (p - 1))


def nearest(bits, value, fmt):
    """True if no neighbour of the float is as near to the value."""
    sign = bits >> (fmt.bits - 1)
    if value != 0 and sign != (value < 0):
        return False
    magnitude = bits & ((1 << (fmt.bits - 1)) - 1)
    toreal = lambda b: mpmath.mpf(decode(b, fmt).numerator) / decode(b, fmt).denominator
    here = abs(toreal(magnitude) - abs(value))
    if magnitude and abs(toreal(magnitude - 1) - abs(value)) <= here:
        return False
    return abs(toreal(magnitude + 1) - abs(value)) > here


def check_entries(rng):
    mpmath.mp.prec = 1600
    for name, share in (("entries.csv", 600), ("hard_entries.csv", 600), ("timesteps.csv", 500)):
        lines = [x for x in (HERE / name).read_text().splitlines() if not x.startswith("#")]
        fields = lines[0].split(",")
        for line in rng.sample(lines[1:], share):
            r = dict(zip(fields, line.split(",")))
            d, pair, spacing = int(r["d"]), int(r["pair"]), r["spacing"]
            n = d // 2
            base, position = mpmath.mpf(float(r["base"])), mpmath.mpf(float(r["position"]))
            if spacing == "paper":
                x = mpmath.mpf(2 * pair) / d
            elif spacing == "inclusive":
                x = mpmath.mpf(pair) / (n - 1) if n > 1 else mpmath.mpf(0)
            else:
                x = pair / (n - mpmath.mpf(spacing[6:]))
            angle = position * base ** (-x)
            for fmt in ORDER:
                for word, value in (("sin", mpmath.sin(angle)), ("cos", mpmath.cos(angle))):
                    assert nearest(int(r[f"{word}_{fmt.name}"], 16), value, fmt), (line, fmt, word)
        print(f"{name}: {len(lines) - 1} rows, {share} of them ({share * 8} values) agree with mpmath "
              f"{mpmath.__version__}")


def check_digest():
    from make_digests import TABLES, columns
    d, base, spacing, layout, start, rows, formats = TABLES[2]
    table = np.empty((rows, d), "<u4")
    for pair in range(d // 2):
        s, c, _ = columns((d, base, spacing, pair, start, rows, (F32,)))
        table[:, 2 * pair], table[:, 2 * pair + 1] = s[0], c[0]
    angle = np.arange(start, start + rows)[:, None] * base ** (-2 * np.arange(d // 2) / d)
    loose = np.empty((rows, d))
    loose[:, 0::2], loose[:, 1::2] = np.sin(angle), np.cos(angle)
    assert np.abs(table.view("<f4") - loose).max() < 1e-7
    differ = int((table.view("<f4") != loose.astype("<f4")).sum())
    digest = hashlib.sha256(table.tobytes()).hexdigest()
    assert digest in (HERE / "digests.csv").read_text()
    print(f"digests: a table of {rows} x {d} rebuilt; float64 NumPy misses the nearest f32 in {differ} entries")


if __name__ == "__main__":
    rng = random.Random(3)
    check_rounding(rng)
    check_entries(rng)
    check_digest()
