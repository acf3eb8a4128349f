"""Writes digests.csv: SHA-256 of whole tables whose every entry is rigorously rounded.

    python tests/golden/make_digests.py

The digest is taken over the bytes of the table, row after row, each entry little-endian.
"""

import hashlib
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from flint import arb, ctx

from exact import F32, F64, ORDER, entry, frequency, round_ball_all, versions

HERE = Path(__file__).parent
UNSIGNED = {"f64": "<u8", "f32": "<u4", "f16": "<u2", "bf16": "<u2"}

# d, base, spacing, layout, start, rows, formats
TABLES = [
    (512, 1e4, "paper", "interleaved", 0, 5000, ORDER),
    (512, 1e4, "inclusive", "concatenated", 0, 50, (F64, F32)),
    (64, 1e4, "paper", "interleaved", 0, 4096, ORDER),
    (64, 1e4, "paper", "interleaved", 2**32 - 4096, 4096, ORDER),
    (128, 5e5, "paper", "interleaved", 131072, 1000, ORDER),
    (384, 1e4, "inclusive", "concatenated", 0, 1500, (F32,)),
    (1000, 12345.678, "paper", "concatenated-cos-first", 999999, 257, ORDER),
]


def columns(args):
    """The two columns of one pair, for every format: arrays of bit patterns."""
    d, base, spacing, pair, start, rows, formats = args
    ctx.prec = 160
    f = frequency(d, base, spacing, pair)
    sines = [np.empty(rows, UNSIGNED[fmt.name]) for fmt in formats]
    cosines = [np.empty(rows, UNSIGNED[fmt.name]) for fmt in formats]
    retried = 0
    for r in range(rows):
        s, c = (f * arb(start + r)).sin_cos()
        a, b = round_ball_all(s, formats), round_ball_all(c, formats)
        if a is None or b is None:
            a, b = entry(d, base, spacing, pair, start + r, formats, start=320)
            retried += 1
        for k in range(len(formats)):
            sines[k][r], cosines[k][r] = a[k], b[k]
    return sines, cosines, retried


def main():
    lines, entries, retried = [], 0, 0
    with Pool(2) as pool:
        for d, base, spacing, layout, start, rows, formats in TABLES:
            n = d // 2
            jobs = [(d, base, spacing, pair, start, rows, formats) for pair in range(n)]
            tables = [np.empty((rows, d), UNSIGNED[fmt.name]) for fmt in formats]
            for pair, (sines, cosines, more) in enumerate(pool.imap(columns, jobs, chunksize=4)):
                at = {"interleaved": (2 * pair, 2 * pair + 1), "concatenated": (pair, n + pair),
                      "concatenated-cos-first": (n + pair, pair)}[layout]
                retried += more
                for table, s, c in zip(tables, sines, cosines):
                    table[:, at[0]], table[:, at[1]] = s, c
            for fmt, table in zip(formats, tables):
                entries += table.size
                digest = hashlib.sha256(table.tobytes()).hexdigest()
                lines.append(f"{d},{base!r},{spacing},{layout},{start},{rows},{fmt.name},{digest}")
                print(lines[-1], flush=True)
    head = [
        "SHA-256 of whole tables: rows x d entries, row after row, little-endian, every entry rigorously rounded.",
        f"made by make_digests.py with {versions()}, NumPy {np.__version__} (as a container of integers)",
        f"{entries} entries; 160 bits to start, {retried} pairs needed more",
        "layout: interleaved = sine, cosine, sine, cosine ...; concatenated = all sines, then all cosines; "
        "concatenated-cos-first = all cosines, then all sines",
    ]
    (HERE / "digests.csv").write_text(
        "".join(f"# {h}\n" for h in head) + "d,base,spacing,layout,start,rows,dtype,sha256\n"
        + "".join(x + "\n" for x in lines))


if __name__ == "__main__":
    main()
