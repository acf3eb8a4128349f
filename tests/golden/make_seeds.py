"""Writes seeds.json: figures of the five documents that tests/ROWS.md lists, run again in NumPy float64 by formula.

    python tests/golden/make_seeds.py

Keys begin with the row of the list of requirements they belong to.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def rates_inclusive(d, low=1e-4):
    return low ** np.linspace(0, 1, d // 2)


def halves(positions, rates):
    angle = np.asarray(positions)[:, None] * rates
    return np.concatenate([np.sin(angle), np.cos(angle)], 1)


def interleaved(positions, d, n=10000.0):
    angle = np.asarray(positions)[:, None] * n ** (-2 * np.arange(d // 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(angle), d)


def shift_matrix(delta, rates):
    """M with PE(p + delta) = PE(p) M for row vectors [sines, cosines]."""
    c, s = np.diag(np.cos(delta * rates)), np.diag(np.sin(delta * rates))
    return np.block([[c, -s], [s, c]])


def main():
    rates = rates_inclusive(512)
    table = halves(np.arange(50), rates)
    dots = table @ table[20]
    sse = ((table - table[20]) ** 2).sum(1)
    at = (20, 19, 0, 49)
    m = shift_matrix(-10, rates)
    errors = {}
    for name, kind in (("f64", np.float64), ("f32", np.float32)):
        moved = table[10:].astype(kind) @ m.astype(kind)
        errors[name] = float(np.abs(moved - table[:-10].astype(kind)).max())
    group = shift_matrix(3, rates) @ shift_matrix(4, rates) - shift_matrix(7, rates)

    small = interleaved(np.arange(4), 4, 100.0)

    c = interleaved(np.arange(1000), 500)
    w = 10000.0 ** (-2 * np.arange(250) / 500)
    neighbours = np.sqrt(((c[1:] - c[:-1]) ** 2).sum(1))
    lags = np.arange(1000)
    by_lag = np.sqrt(np.maximum(500 - 2 * np.cos(lags[:, None] * w).sum(1), 0))
    direct = lambda i, j: float(np.sqrt(((c[i] - c[j]) ** 2).sum()))
    first = int(np.argmax(np.diff(by_lag) < 0)) + 1

    d = interleaved(np.arange(50), 256).astype(np.float32)

    out = {
        "meta": {"script": "make_seeds.py", "python": sys.version.split()[0], "numpy": np.__version__},
        "A2": {"rate_1": float(rates[1]), "rate_last": float(rates[-1]),
               "paper_rate_last": float(10000.0 ** (-510 / 512))},
        "A4": {"degrees_49_0": float(math.degrees(49.0) % 360)},
        "A5": {"positions": at, "dot_with_20": [float(dots[p]) for p in at]},
        "A6": {"positions": at, "sse_with_20": [float(sse[p]) for p in at],
               "max_gap_to_512_minus_2_dot": float(np.abs(sse - (512 - 2 * dots)).max())},
        "A7": {"delta": -10, "max_error_f64": errors["f64"], "max_error_f32": errors["f32"],
               "max_error_m_mt_minus_identity": float(np.abs(m @ m.T - np.eye(512)).max()),
               "max_error_m3_m4_minus_m7": float(np.abs(group).max())},
        "B1": {"n": 100, "d": 4, "rows": small.tolist()},
        "B2": {"d": 512, "longest_wavelength": float(2 * math.pi * 10000.0 ** (510 / 512)),
               "two_pi_n": 2 * math.pi * 10000.0},
        "C3": {"d": 500, "positions": 1000, "closed_form": float(math.sqrt(500 - 2 * math.fsum(np.cos(w)))),
               "mean": float(neighbours.mean()), "spread": float(neighbours.max() - neighbours.min())},
        "C4": {"d": 500, "distance_0_1": direct(0, 1), "distance_0_10": direct(0, 10), "distance_0_63": direct(0, 63),
               "max_over_1000_positions": float(by_lag.max()), "lag_of_max": int(by_lag.argmax()),
               "first_peak_at_lag": first - 1, "first_lag_below_the_one_before": first,
               "distance_at_42_43_44": [float(by_lag[k]) for k in (42, 43, 44)]},
        "D1": {"d": 256, "positions": 50, "row_49_starts_f32": [float(v) for v in d[49, :8]],
               "row_49_starts_f64": interleaved([49], 256)[0, :8].tolist()},
    }
    (HERE / "seeds.json").write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
