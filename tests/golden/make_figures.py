"""Writes figures.json: numbers that `pe-demo plot --data json` must show, from the formulas at 200 bits (the fit: 64 bits).

    python tests/golden/make_figures.py

Each entry names a figure, a panel in it, and a place: row and column of a map, index of a curve and of a point on
it, or position and pair of the rings with the sine and the cosine there.
"""

import json
import sys
from pathlib import Path

import mpmath
import numpy
from mpmath import mp, mpf

HERE = Path(__file__).parent
mp.prec = 200


def paper(d, pair):
    return mpf(10000) ** (-mpf(2 * pair) / d)


def inclusive(d, pair):
    return mpf(10000) ** (-mpf(pair) / (d // 2 - 1))


def interleaved(d, position, column):
    angle = position * paper(d, column // 2)
    return mpmath.cos(angle) if column % 2 else mpmath.sin(angle)


def halves(d, position, column):
    angle = position * inclusive(d, column % (d // 2))
    return mpmath.sin(angle) if column < d // 2 else mpmath.cos(angle)


def distance(d, lag):
    return mpmath.sqrt(d - 2 * sum(mpmath.cos(lag * paper(d, pair)) for pair in range(d // 2)))


def main():
    out = []

    def cell(figure, row, column, value, panel=0):
        out.append({"figure": figure, "panel": panel, "row": row, "column": column, "value": float(value)})

    def point(figure, curve, index, x, y, panel=0):
        out.append({"figure": figure, "panel": panel, "curve": curve, "index": index, "x": float(x), "y": float(y)})

    for pair in (0, 1, 100, 255):
        point("angle-rates", 0, pair, pair, inclusive(512, pair))
        point("angle-rates", 1, pair, pair, paper(512, pair))
        point("angle-rates", 0, pair, pair, paper(512, pair) / inclusive(512, pair), 1)
    for position, pair in ((0, 0), (49, 0), (49, 1), (31, 77), (49, 255)):
        degrees = mpmath.fmod(mpmath.degrees(position * inclusive(512, pair)), 360)
        cell("angle-map", position, pair, degrees)
    for position, column in ((0, 0), (49, 0), (49, 256), (20, 300), (7, 511)):
        cell("encoding-map", position, column, halves(512, position, column))
    for row, column in ((0, 0), (0, 256), (39, 3), (12, 400)):
        for panel, position in ((0, row + 10), (1, row), (2, row)):
            cell("shifted-map", row, column, halves(512, position, column), panel)
    for position in (0, 19, 20, 21, 49):
        lag = position - 20
        dot = sum(mpmath.cos(lag * inclusive(512, pair)) for pair in range(256))
        point("dot-product", 0, position, position, dot)
        point("sse", 0, position, position, 512 - 2 * dot)
    for panel, k in enumerate((0, 4, 8, 12)):
        for pair in (0, 1, 50, 99):
            point("sinusoids", 0, pair, pair, mpmath.sin(k * paper(512, pair)), panel)
    for position, column in ((0, 1), (99, 0), (50, 255), (99, 511)):
        cell("encoding-matrix", position, column, interleaved(512, position, column))
    for bit, position in ((0, 0), (0, 127), (3, 8), (6, 63), (6, 64), (7, 127)):
        cell("binary", bit, position, position >> bit & 1)
    for column, position in ((0, 999), (499, 999), (250, 500)):
        cell("transposed", column, position, interleaved(500, position, column))
    for column, position in ((0, 63), (63, 63), (20, 7)):
        cell("transposed-corner", column, position, interleaved(500, position, column))
    for position in (0, 3, 7):
        for row, column in ((0, 0), (0, 24), (1, 0), (19, 24)):
            cell("tiles", row, column, interleaved(500, position, 25 * row + column), position)
    for row, column in ((0, 0), (0, 1), (10, 0), (0, 63), (40, 17)):
        cell("distances", row, column, distance(500, abs(row - column)))
    for panel, column in enumerate((7, 8, 15, 16, 23, 24, 31, 32)):
        for position in (0, 1, 31):
            point("dimension-pairs", 0, position, position, interleaved(500, position, column), panel)
    for position, column in ((0, 1), (49, 0), (49, 3), (25, 128), (49, 255)):
        cell("inverted-map", position, column, interleaved(256, position, column))
    for position, pair in ((0, 0), (1, 0), (49, 0), (12, 64), (49, 127)):
        angle = position * paper(256, pair)
        out.append({"figure": "rings", "panel": 0, "position": position, "pair": pair,
                    "sine": float(mpmath.sin(angle)), "cosine": float(mpmath.cos(angle))})
    for curve in range(4):
        for position in (0, 1, 50, 99):
            point("dimensions", curve, position, position, interleaved(20, position, 4 + curve))

    # Llama 2, Llama 3.1 and Qwen2.5 with YaRN; the formulas as their papers and model cards state them.
    two_pi = 2 * mp.pi

    def llama3(pair):
        f = mpf(500000) ** (-mpf(2 * pair) / 128)
        turns = 8192 * f / two_pi
        if turns > 4:
            return f
        if turns < 1:
            return f / 8
        smooth = (turns - 1) / 3
        return (1 - smooth) * f / 8 + smooth * f

    def yarn(pair):
        f = mpf(10) ** (-mpf(6) * 2 * pair / 128)
        at = lambda turns: 128 * mpmath.log(32768 / (turns * two_pi)) / (2 * mpmath.log(mpf(10) ** 6))
        low, high = max(mpmath.floor(at(32)), 0), min(mpmath.ceil(at(1)), 127)
        ramp = min(max((pair - low) / (high - low), 0), 1)
        return f / 4 * ramp + f * (1 - ramp)

    for curve, rate in enumerate((lambda pair: paper(128, pair), llama3, yarn)):
        for pair in (0, 1, 25, 30, 35, 63):
            point("rotary-frequencies", curve, pair, pair, rate(pair))
            point("rotary-wavelengths", curve, pair, pair, two_pi / rate(pair))

    for head, far in ((0, 32), (3, 64), (7, 64)):
        for index in (0, 1, far):
            point("alibi-slopes", head, index, index, -index * mpf(2) ** -(head + 1))

    def t5(lag, both):
        buckets = 16 if both else 32
        start = buckets if both and lag > 0 else 0
        back = abs(lag) if both else max(-lag, 0)
        exact = buckets // 2
        if back < exact:
            return start + back
        farther = int(mpmath.floor(mpmath.log(mpf(back) / exact) / mpmath.log(mpf(128) / exact) * exact))
        return start + min(exact + farther, buckets - 1)

    for curve, both in enumerate((True, False)):
        for lag in (-160, -100, -20, -3, 0, 5, 50, 160):
            point("t5-buckets", curve, lag + 160, lag, t5(lag, both))

    # Near distances in steps of an eighth, then means over overlapping groups of distances.
    groups = [(mpf(k) / 8,) for k in range(8, 257)]
    start = 33
    while start <= 4096:
        groups.append(tuple(map(mpf, range(start, min(start + start // 8, 4097)))))
        start += start // 16
    for index in (0, 3, 32, 248, 249, 280, len(groups) - 1):
        group = groups[index]
        sums = [
            sum(mpmath.cos(d * base ** (-mpf(2 * pair) / width)) for pair in range(width // 2) for d in group)
            / (width // 2)
            for base, width in ((mpf(10000), 512), (mpf(10000), 128), (mpf(500000), 128))
        ]
        zetas = [(mpf(2 * pair) / 128 + mpf("0.4")) / mpf("1.4") for pair in range(64)]
        rates = [mpf(10000) ** (-mpf(2 * pair) / 128) for pair in range(64)]
        sums.append(sum(zeta ** (d / 512) * mpmath.cos(d * rate) for zeta, rate in zip(zetas, rates) for d in group) / 64)
        sums += [sum(mpmath.exp(-d * mpf(2) ** -head) for d in group) for head in (1, 4, 8)]
        for curve, value in enumerate(sums):
            point("distance-decay", curve, index, (group[0] + group[-1]) / 2, value / len(group))

    def near(dy, dx):
        rates = [paper(384, pair) for pair in range(192)]
        return sum(mpmath.cos(dy * rate) + mpmath.cos(dx * rate) for rate in rates) / 384

    for panel, row, column in ((0, 0, 0), (0, 0, 6), (0, 6, 6), (24, 3, 3), (24, 0, 5), (48, 2, 1)):
        cell("grid-similarity", row, column, near(row - panel // 7, column - panel % 7), panel)

    def cubic(a, x):
        x = abs(x)
        if x < 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return (((x - 5) * x + 8) * x - 4) * a if x < 2 else mpf(0)

    kernels = (
        lambda x: cubic(mpf(-3) / 4, x),
        lambda x: cubic(mpf(-1) / 2, x),
        lambda x: max(1 - abs(x), 0),
        lambda x: mpf(abs(x) < 0.5),
    )
    for curve, kernel in enumerate(kernels):
        for index in (0, 120, 200, 319, 325, 480):
            x = (mpf(256 + index) + 0.5) / 128 - 4.5
            point("resize-kernels", curve, index, x, kernel(x))
    for curve, scale in enumerate((1, 4)):
        weights = [cubic(mpf(-1) / 2, (mpf(j) - 9.5) / scale) for j in range(24)]
        for index in (0, 3, 8, 9, 11, 15):
            point("resize-kernels", curve, index, index, weights[index] / sum(weights), panel=1)

    side, ridge = 24, numpy.longdouble(1) / 100
    centers = (2 * numpy.arange(side, dtype=numpy.longdouble) + 1) / side - 1
    x, y = numpy.meshgrid(centers, centers)
    face = (x + 1) / 4
    face[x * x + y * y < 0.64] = 0.9
    for eye in (-0.3, 0.3):
        face[(x - eye) ** 2 + (y + 0.25) ** 2 < 0.0225] = 0
    face[(abs(y - 0.3) < 0.1) & (abs(x) < 0.4)] = 0
    x, y, face = x.ravel(), y.ravel(), face.ravel()
    given = (numpy.add.outer(numpy.arange(side), numpy.arange(side)) % 2 == 0).ravel()
    pi = numpy.longdouble("3.14159265358979323846264338327950288")
    for index in (0, 300, 311):
        cell("fourier-fit", index // side, index % side, face[index])
    for panel, bands in enumerate((0, 1, 2, 4, 6), 1):
        waves = [wave(2**band * pi * axis) for band in range(bands) for axis in (x, y) for wave in (numpy.sin, numpy.cos)]
        vectors = numpy.stack([numpy.ones_like(x), x, y, *waves])
        vectors /= numpy.sqrt((vectors**2).sum(0))
        kernel = (vectors.T @ vectors) ** 4
        system = kernel[given][:, given] + ridge * numpy.eye(given.sum())
        weights = numpy.zeros(given.sum(), dtype=numpy.longdouble)
        # Refinement makes up for the precision of the solver.
        for _ in range(4):
            weights += numpy.linalg.solve(system.astype(float), (face[given] - system @ weights).astype(float))
        for index in (0, 77, 300, 311, 575):
            cell("fourier-fit", index // side, index % side, (kernel[:, given] @ weights)[index], panel)

    meta = {"script": "make_figures.py", "python": sys.version.split()[0], "mpmath": mpmath.__version__}
    lines = ",\n".join(" " + json.dumps(entry) for entry in out)
    (HERE / "figures.json").write_text(f'{{"meta": {json.dumps(meta)}, "numbers": [\n{lines}\n]}}\n')
    print(len(out), "numbers")


if __name__ == "__main__":
    main()
