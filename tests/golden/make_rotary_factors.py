"""Writes rotary_factors.csv: cosines and sines times a factor that puts them next to a midpoint of two floats.

    python tests/golden/make_rotary_factors.py

For an angle and a midpoint m the factor is the f64 nearest to m / sine (or m / cosine): the product then lies within
2^-53 of itself from m, nearer than f64 arithmetic can tell on which side. Both sides are drawn equally often, for each
format, each function, and factors below 1/2, up to 2, and above. Where sine and cosine agree to 2^-53 (an eighth of a
turn) both are next to the midpoint, and where the angle is 2^-70 the product is below a midpoint by 2^-140 of itself.
In f64 the products are below 2^-1024, with few bits, and the nearest f64 is not what the rounded sine (or cosine)
gives.
"""

import math
import random
import struct
from pathlib import Path

from flint import arb, ctx

from exact import BF16, DIGITS, F16, F32, F64, round_ball, versions

SIZES = ((0.02, 0.5), (0.5, 2.0), (2.0, 40.0))


def balls(inv_freq, position, bits=600):
    ctx.prec = bits
    return (arb(inv_freq) * arb(position)).sin_cos()


def midpoint(value, fmt, rng):
    """A midpoint of two neighbours with the exponent of `value`, exactly, as a float."""
    _, exponent = math.frexp(value)
    odd = 2 * rng.randrange(1 << (fmt.precision - 1), 1 << fmt.precision) + 1
    return math.ldexp(odd, exponent - fmt.precision - 1)


def nearest(ball):
    """The f64 nearest to a positive ball."""
    return struct.unpack("<d", struct.pack("<Q", round_ball(ball, F64)))[0]


def factor_for(ball, fmt, size, below, rng):
    """A factor within `size` with |factor x ball| right below, or right above, a midpoint."""
    while True:
        m = midpoint(float(abs(ball)) * math.exp(rng.uniform(*map(math.log, size))), fmt, rng)
        factor = nearest(arb(m) / abs(ball))
        gap = arb(factor) * abs(ball) - arb(m)
        if size[0] <= factor < size[1] and bool(gap < 0) == below:
            assert abs(gap) < arb(m) * arb(2) ** -53
            return factor


def line(fmt, inv_freq, position, factor, why):
    s, c = balls(inv_freq, position)
    w = DIGITS[fmt.name]
    s, c = round_ball(arb(factor) * s, fmt), round_ball(arb(factor) * c, fmt)
    return f"{fmt.name},{inv_freq!r},{position},{factor!r},{s:0{w}x},{c:0{w}x},{why}"


def main():
    rng = random.Random(20261121)
    rows = [f"# factor x sine and cosine next to midpoints; made by make_rotary_factors.py with {versions()}",
            "type,inv_freq,position,factor,sin,cos,why"]
    for fmt in (F32, F16, BF16):
        for function in ("sine", "cosine"):
            for size in SIZES:
                for below in (True, False, True, False):
                    while True:
                        inv_freq = math.exp(rng.uniform(math.log(1e-6), 0.0))
                        position = rng.randrange(100, 1 << rng.randrange(8, 33))
                        ball = balls(inv_freq, position)[function == "cosine"]
                        if abs(ball) > 0.01:
                            break
                    factor = factor_for(ball, fmt, size, below, rng)
                    rows.append(line(fmt, inv_freq, position, factor, f"{function} {'below' if below else 'above'}"))
        for size in SIZES:
            # The larger of the two is below the midpoint, and the other with it.
            _, c = balls(math.pi / 4, 1)
            factor = factor_for(c, fmt, size, True, rng)
            rows.append(line(fmt, math.pi / 4, 1, factor, "both below"))
            factor = midpoint(rng.uniform(*size), fmt, rng)
            rows.append(line(fmt, 2.0**-70, 1, factor, "tiny angle"))
    for function in ("sine", "cosine") * 3:
        while True:
            inv_freq, position = math.exp(rng.uniform(math.log(1e-6), 0.0)), rng.randrange(100, 1 << 32)
            factor = math.ldexp(rng.uniform(0.5, 1.0), -1024)
            ball = balls(inv_freq, position)[function == "cosine"]
            twice = struct.unpack("<Q", struct.pack("<d", factor * nearest(abs(ball))))[0]
            if abs(ball) > 0.1 and twice != round_ball(arb(factor) * abs(ball), F64):
                rows.append(line(F64, inv_freq, position, factor, f"{function} subnormal"))
                break
    path = Path(__file__).parent / "rotary_factors.csv"
    path.write_text("\n".join(rows) + "\n")
    print(len(rows) - 2, "entries")


if __name__ == "__main__":
    main()
