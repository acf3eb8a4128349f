"""Writes entries.csv, hard_entries.csv and timesteps.csv: single entries, every value rigorously rounded.

    python tests/golden/make_entries.py [entries] [hard] [timesteps]

Without arguments all three are made. Seeded: the same versions give the same bytes.
"""

import math
import random
import sys
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from flint import arb, ctx

from exact import (BF16, F16, F32, F64, HEADER, ends, frequency, log_uniform, row, sin_cos, versions)

HERE = Path(__file__).parent
TOP = 2**32 - 1

WIDTHS = [2, 4, 6, 8, 16, 32, 64, 128, 130, 256, 512, 768, 1000, 1024, 2048, 4096, 8192, 16384]
BASES = [2.0, 100.0, 1e4, 5e5, 1e6, 1.5, 12345.678]
EXOTIC = [0.5, 1.0, 1e12, 1e-3, 1e30, 1e300]


def starrow(args):
    return row(*args)


def positions_special():
    out = {0, 1, TOP, TOP - 1}
    for k in range(1, 32):
        out |= {2**k - 1, 2**k, 2**k + 1}
    return sorted(out)


SPECIAL = positions_special()


def pick_pair(rng, n):
    r = rng.random()
    if r < 0.1:
        return 0
    if r < 0.2:
        return n - 1
    return rng.randrange(n)


def pick_position(rng):
    return rng.choice(SPECIAL) if rng.random() < 0.35 else log_uniform(rng, 1, TOP)


def spread(rng, widths, bases, spacings, each):
    for d in widths:
        for base in bases:
            for spacing in spacings:
                seen = {(0, 0), (d // 2 - 1, TOP)}
                while len(seen) < each:
                    seen.add((pick_pair(rng, d // 2), pick_position(rng)))
                for pair, position in sorted(seen):
                    yield d, base, spacing, pair, position


def write(name, comments, lines, header=HEADER):
    text = "".join(f"# {c}\n" for c in comments) + header + "\n" + "".join(x + "\n" for x in lines)
    (HERE / name).write_text(text)
    print(f"{name}: {len(lines)} rows, {len(text)} bytes", flush=True)


VALUE = ("values: sine and cosine of the real number position * base^(-x), rounded to nearest, ties to even; "
         "hex bit patterns")
BASE = "base: the exact value of the double that the text parses to"
SPACING = "spacing: paper x = 2 pair / d; inclusive x = pair / (n - 1) with n = d / 2 (x = 0 where n = 1)"


def make_entries(pool):
    rng = random.Random(20240611)
    keys = list(spread(rng, WIDTHS, BASES, ["paper", "inclusive"], 90))
    keys += list(spread(rng, [2, 8, 64, 512, 1000, 4096], EXOTIC, ["paper", "inclusive"], 20))
    lines = pool.map(starrow, keys, chunksize=500)
    write("entries.csv", [
        "Single entries of sinusoidal tables, rigorously rounded.",
        f"made by make_entries.py with {versions()}",
        VALUE, BASE, SPACING,
        "the last 1440 rows hold unusual bases: below 1, exactly 1, very large",
    ], lines)


# Search for hard entries -------------------------------------------------------------------------------------

def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a, b):
    p = a * b
    c = 134217729.0
    t = c * a
    ah = t - (t - a)
    al = a - ah
    t = c * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def dd_product(a, b):
    p, e = two_product(a[0], b[0])
    return p, e + (a[0] * b[1] + a[1] * b[0])


def dd_sum(a, b):
    s, e = two_sum(a[0], b[0])
    e = e + (a[1] + b[1])
    hi = s + e
    return hi, e - (hi - s)


def dd_from_ball(ball):
    """A ball of a value of at most 1, about 100 bits of it, as two doubles."""
    lo, hi, e = ends(ball)
    n, k = (lo + hi) // 2, 160
    n = n >> (-k - e) if e < -k else n << (e + k)
    high = math.ldexp(n, -k)
    return high, math.ldexp(n - int(math.ldexp(high, k)), -k)


def seeds(step, count, freq, origin=0):
    """Sines and cosines of (origin + step * j) * freq for j < count as double-double columns."""
    s, c = [], []
    for j in range(count):
        a, b = (freq * (origin + step * j)).sin_cos()
        s.append(dd_from_ball(a))
        c.append(dd_from_ball(b))
    s, c = np.array(s), np.array(c)
    return (s[:, 0], s[:, 1]), (c[:, 0], c[:, 1])


def distance(value, fmt):
    """Distance to the nearest rounding boundary in units in the last place, for a double-double array."""
    hi, lo = value
    e = np.frexp(hi)[1] - 1
    q = np.maximum(e, fmt.emin) - (fmt.precision - 1)
    x = np.ldexp(np.abs(hi), -q)
    y = np.ldexp(lo * np.sign(hi), -q)
    return np.abs((x - np.floor(x)) + y - 0.5) if fmt is not F64 else np.abs(np.abs(y) - 0.5)


SIDE = 256
BLOCK = SIDE * SIDE
KEEP = 500
SEARCHED = [F32, F16, BF16, F64]


def search_configs(rng, count):
    for _ in range(count):
        d = rng.choice([4, 8, 32, 64, 128, 256, 384, 512, 768, 1000, 1024, 4096])
        base = rng.choice([1e4, 1e4, 1e4, 5e5, 1e6, 100.0, 2.0, 12345.678])
        spacing = rng.choice(["paper", "paper", "inclusive"])
        origin = 0 if rng.random() < 0.4 else min(log_uniform(rng, BLOCK, TOP), TOP - BLOCK + 1)
        yield d, base, spacing, rng.randrange(d // 2), origin


def search_block(config):
    d, base, spacing, pair, origin = config
    ctx.prec = 200
    f = frequency(d, base, spacing, pair)
    sa, ca = seeds(SIDE, SIDE, f, origin)
    sb, cb = seeds(1, SIDE, f)
    col = lambda v: (v[0][:, None], v[1][:, None])
    sa, ca = col(sa), col(ca)
    neg = lambda v: (-v[0], -v[1])
    sine = dd_sum(dd_product(sa, cb), dd_product(ca, sb))
    cosine = dd_sum(dd_product(ca, cb), neg(dd_product(sa, sb)))
    found = []
    for fmt in SEARCHED:
        near = np.minimum(distance(sine, fmt), distance(cosine, fmt)).ravel()
        # Very small values of 16-bit formats sit in the subnormals: fine. Position 0 is no search result.
        if origin == 0:
            near[0] = 1.0
        best = np.argpartition(near, 12)[:12]
        found.append([(float(near[j]), d, base, spacing, pair, origin + int(j)) for j in best])
    return found


def zero_rows(rng, count):
    """Positions from the continued fraction of the frequency, in quarter turns: best possible near misses."""
    ctx.prec = 400
    out = []
    while len(out) < count:
        d = rng.choice(WIDTHS[1:])
        base = rng.choice(BASES + [1e4, 1e4])
        spacing = rng.choice(["paper", "inclusive"])
        pair = rng.randrange(d // 2)
        f = frequency(d, base, spacing, pair)
        x = f * 2 / arb.pi()
        before, q, dens = 1, 0, []
        while True:
            a = x.floor().unique_fmpz()
            before, q = q, int(a) * q + before
            if q > TOP:
                break
            dens.append(q)
            x = 1 / (x - a)
        for p in dens[-3:]:
            if p > 1 and f * p > 1:
                out.append((d, base, spacing, pair, p))
    return sorted(set(out))


def true_distance(key, fmt):
    """Rigorous distance to the nearest boundary, in ulps, as a float."""
    ctx.prec = 300
    best = 1.0
    for ball in sin_cos(*key):
        lo, hi, e = ends(ball)
        n = abs(lo + hi) // 2
        q = max(n.bit_length() - 1 + e, fmt.emin) - (fmt.precision - 1)
        shift = q - e
        rest = n & ((1 << shift) - 1)
        best = min(best, abs(rest - (1 << (shift - 1))) / (1 << shift))
    return best


def make_hard(pool):
    rng = random.Random(77)
    blocks = 4000
    configs = list(search_configs(rng, blocks))
    pools = [[] for _ in SEARCHED]
    for found in pool.imap(search_block, configs, chunksize=8):
        for store, new in zip(pools, found):
            store.extend(new)
    lines, notes = [], []
    for fmt, store in zip(SEARCHED, pools):
        keys, seen = [], set()
        for item in sorted(store):
            if item[1:] not in seen:
                seen.add(item[1:])
                keys.append(item[1:])
        keys = keys[:KEEP]
        checked = [true_distance(k, fmt) for k in keys]
        notes.append(f"{fmt.name}: {len(keys)} rows, distance to the nearest rounding boundary from "
                     f"2^{math.log2(min(checked)):.2f} to 2^{math.log2(max(checked)):.2f} ulp")
        lines += [x + "," + fmt.name for x in pool.map(starrow, keys, chunksize=50)]
    keys = zero_rows(rng, 400)
    ctx.prec = 300
    sizes = [min(abs(float(v.mid())) for v in sin_cos(*k)) for k in keys]
    notes.append(f"zero: {len(keys)} rows, smaller magnitude of sine and cosine from "
                 f"2^{math.log2(min(sizes)):.2f} to 2^{math.log2(max(sizes)):.2f}, angle above 1")
    lines += [x + ",zero" for x in pool.map(starrow, keys, chunksize=50)]
    write("hard_entries.csv", [
        "Entries where rounding is hard: a value close to the midpoint of two floats, or close to zero.",
        f"made by make_entries.py with {versions()}, NumPy {np.__version__} for the search",
        VALUE, BASE, SPACING,
        f"search: {blocks * BLOCK} (pair, position) points, sine and cosine each, in double-double; "
        "zero rows from continued fractions",
        "why: the format whose boundary is near (sine or cosine, or both), or zero",
    ] + notes, lines, HEADER + ",why")
    for n in notes:
        print(n)


# Fractional positions ----------------------------------------------------------------------------------------

def timestep_values(rng):
    fixed = [0.1, 0.5, 0.25, 0.3, 1e-3, 999.5, 999.9, 123456.789, 1e-10, -1e-10, -0.5, -1.0, -999.5, 1.5,
             math.pi, math.pi / 2, math.tau, 2.0**31 + 0.5, 2.0**32 - 2.0**-20, 2.0**32, -(2.0**32),
             1e-5, 1e-20, -1e-20, 2.0**-12, 2.0**-27, 2.0**-26, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 1000.0,
             3.0e9 + 0.125, 0.1 + 0.2, 1 / 3]
    yield from fixed
    while True:
        r = rng.random()
        if r < 0.3:
            x = rng.uniform(0, 1000)
        elif r < 0.4:
            x = round(rng.uniform(0, 1000), 1)
        elif r < 0.5:
            x = rng.randrange(1, 2**20) / 2 ** rng.randrange(1, 12)
        else:
            x = math.exp(rng.uniform(math.log(1e-10), math.log(2.0**32)))
        yield -x if rng.random() < 0.15 else x


def make_timesteps(pool):
    rng = random.Random(4711)
    keys = []
    spacings = ["shift:0", "shift:0.5", "shift:1", "paper"]
    widths = [2, 4, 6, 8, 32, 64, 128, 256, 320, 512, 1024, 4096]
    stream = timestep_values(rng)
    for j in range(1560):
        d = rng.choice(widths)
        spacing = spacings[j % 4]
        if spacing == "shift:1" and d == 2:
            d = 4
        base = rng.choice([1e4, 1e4, 1e4, 100.0, 1e6, 5e5, 12345.678, 2.0])
        keys.append((d, base, spacing, pick_pair(rng, d // 2), next(stream)))
    # At pair 0 the angle is the position itself, and sin x = x - x^3/6 + ...: a position that is exactly half way
    # between two floats of a narrow format has its sine just below that midpoint.
    for bits, exponents in ((24, range(4, 44, 4)), (11, range(3, 13)), (8, range(4, 44, 4))):
        for k in exponents:
            for sign in (1, -1):
                x = sign * (1 + rng.getrandbits(bits - 1) * 2.0 ** (1 - bits) + 2.0**-bits) * 2.0**-k
                keys.append((64, 1e4, rng.choice(spacings), 0, x))
    lines = pool.map(starrow, keys, chunksize=50)
    write("timesteps.csv", [
        "Entries at fractional and negative positions, rigorously rounded.",
        f"made by make_entries.py with {versions()}",
        VALUE, "base and position: the exact values of the doubles that the texts parse to",
        "spacing: paper x = 2 pair / d; shift:S x = pair / (n - S) with n = d / 2",
        "the last 60 rows: pair 0 at positions half way between two floats of f32, f16 or bf16, 20 rows each; "
        "the sine lies below that midpoint by a part of about position^2 / 6",
    ], lines)


def main():
    wanted = sys.argv[1:] or ["entries", "hard", "timesteps"]
    with Pool(2) as pool:
        for name, make in (("entries", make_entries), ("hard", make_hard), ("timesteps", make_timesteps)):
            if name in wanted:
                make(pool)


if __name__ == "__main__":
    main()
