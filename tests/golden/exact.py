"""Exact rounding and rigorous sines and cosines, shared by the scripts of this folder.

A value is held as an Arb ball: a midpoint and a radius that together enclose the real number. Both ends
of the ball are rounded to the wanted format with integer arithmetic. If the ends agree, the real number
between them rounds to the same float, because rounding is monotone. If they disagree, the value is computed
again with more bits.
"""

import math
from collections import namedtuple

from flint import arb, ctx, fmpq

Format = namedtuple("Format", "name precision emin emax bits")

F64 = Format("f64", 53, -1022, 1023, 64)
F32 = Format("f32", 24, -126, 127, 32)
F16 = Format("f16", 11, -14, 15, 16)
BF16 = Format("bf16", 8, -126, 127, 16)
ORDER = (F64, F32, F16, BF16)
DIGITS = {f.name: f.bits // 4 for f in ORDER}


def round_dyadic(man, exp, fmt, sticky=0):
    """Bit pattern of man * 2**exp rounded to nearest, ties to even.

    `sticky` = 1 says that the magnitude lies strictly between |man| and |man| + 1 units of 2**exp.
    """
    sign = 1 << (fmt.bits - 1) if man < 0 else 0
    n = -man if man < 0 else man
    if sticky:
        n, exp = 2 * n + 1, exp - 1
    if n == 0:
        return 0
    p = fmt.precision
    lowest = fmt.emin - (p - 1)
    quantum = max(n.bit_length() - 1 + exp - (p - 1), lowest)
    shift = quantum - exp
    if shift <= 0:
        m = n << -shift
    else:
        m = n >> shift
        rest = n - (m << shift)
        half = 1 << (shift - 1)
        if rest > half or (rest == half and m & 1):
            m += 1
    # A carry out of the significand lands in the exponent field, which is what it should do.
    bits = ((quantum - lowest) << (p - 1)) + m
    infinity = ((fmt.emax - fmt.emin + 2) << (p - 1))
    return sign | min(bits, infinity)


def round_rational(q, fmt):
    """Bit pattern of a rational (fmpq, or anything with p and q) rounded to nearest, ties to even."""
    num, den = int(q.p), int(q.q)
    if num == 0:
        return 0
    # Enough quotient bits that the discarded part matters only as "there is more".
    up = max(0, den.bit_length() - abs(num).bit_length() + fmt.precision + 4)
    quo, rest = divmod(abs(num) << up, den)
    return round_dyadic(-quo if num < 0 else quo, -up, fmt, 1 if rest else 0)


def ends(ball):
    """(low, high, exp): both ends of the ball as integers in units of 2**exp."""
    m, e = ball.mid().man_exp()
    m, e = int(m), int(e)
    if ball.is_exact():
        return m, m, e
    r, f = ball.rad().man_exp()
    r, f = int(r), int(f)
    if f < e:
        m, e = m << (e - f), f
    else:
        r <<= f - e
    return m - r, m + r, e


def round_ball(ball, fmt):
    """Bit pattern, or None where the two ends of the ball round apart."""
    lo, hi, e = ends(ball)
    a = round_dyadic(lo, e, fmt)
    return a if lo == hi or a == round_dyadic(hi, e, fmt) else None


def round_ball_all(ball, formats):
    lo, hi, e = ends(ball)
    out = []
    for fmt in formats:
        a = round_dyadic(lo, e, fmt)
        if lo != hi and a != round_dyadic(hi, e, fmt):
            return None
        out.append(a)
    return out


def exponent(d, spacing, pair):
    """The x in base**(-x), as an exact rational."""
    n = d // 2
    if spacing == "paper":
        return fmpq(2 * pair, d)
    if spacing == "inclusive":
        return fmpq(pair, n - 1) if n > 1 else fmpq(0)
    if spacing.startswith("shift:"):
        s = fmpq(*float(spacing[6:]).as_integer_ratio())
        return fmpq(pair) / (fmpq(n) - s)
    raise ValueError(spacing)


def frequency(d, base, spacing, pair):
    """base**(-x) as a ball at the current precision; `base` is a float, taken at its exact value."""
    x = exponent(d, spacing, pair)
    if x == 0:
        return arb(1)
    return (-(arb(base).log() * arb(x))).exp()


def sin_cos(d, base, spacing, pair, position):
    """Balls of sine and cosine at the current precision; position is an int or a float, exact."""
    return (frequency(d, base, spacing, pair) * arb(position)).sin_cos()


def entry(d, base, spacing, pair, position, formats=ORDER, start=160):
    """Two lists of bit patterns, sine and cosine, in the order of `formats`."""
    bits = start
    while True:
        ctx.prec = bits
        s, c = sin_cos(d, base, spacing, pair, position)
        a = round_ball_all(s, formats)
        b = round_ball_all(c, formats) if a is not None else None
        ctx.prec = 160
        if b is not None:
            return a, b
        bits *= 2
        if bits > 1 << 16:
            raise ArithmeticError((d, base, spacing, pair, position))


HEADER = ("d,base,spacing,pair,position,"
          "sin_f64,cos_f64,sin_f32,cos_f32,sin_f16,cos_f16,sin_bf16,cos_bf16")


def row(d, base, spacing, pair, position):
    """One line of the entry files, without the newline."""
    s, c = entry(d, base, spacing, pair, position)
    cells = [str(d), repr(base), spacing, str(pair), repr(position)]
    for fmt, a, b in zip(ORDER, s, c):
        w = DIGITS[fmt.name]
        cells += [f"{a:0{w}x}", f"{b:0{w}x}"]
    return ",".join(cells)


def versions():
    import flint
    import sys
    return f"Python {sys.version.split()[0]}, python-flint {flint.__version__}"


def log_uniform(rng, low, high):
    """A whole number between low >= 1 and high, its logarithm spread evenly."""
    return min(high, max(low, int(math.exp(rng.uniform(math.log(low), math.log(high + 1))))))
