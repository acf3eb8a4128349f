"""chatglm.json: what ChatGLM3-32K and GLM-4 rotate by, from the definition in their modeling_chatglm.py:

    base = 10000 * rope_ratio,  n = kv_channels // 2
    theta_i = base ** (-2i / n),  i < n / 2;  columns 2i and 2i + 1 form a pair; columns n and above pass unchanged

    pip install mpmath && python make_chatglm.py

`rows` holds the first n columns of a head whose even columns are 1 and whose odd columns are 0: cosines and sines in turns.
Every value is the f64 nearest to the real number, as the bits of the f64.
"""

import json
import pathlib
import struct

import mpmath

mpmath.mp.prec = 400


def bits(x):
    return struct.pack(">d", float(x)).hex()


def case(rope_ratio, kv_channels, positions):
    n = kv_channels // 2
    base = 10000 * mpmath.mpf(rope_ratio)
    theta = [base ** (-mpmath.mpf(2 * i) / n) for i in range(n // 2)]
    rows = [[f(p * w) for w in theta for f in (mpmath.cos, mpmath.sin)] for p in positions]
    return {
        "rope_ratio": rope_ratio,
        "kv_channels": kv_channels,
        "positions": positions,
        "inv_freq": [bits(w) for w in theta],
        "rows": [[bits(x) for x in row] for row in rows],
    }


cases = [case(1, 128, [0, 1, 8191]), case(50, 128, [7, 32767]), case(500, 128, [1, 100000, 131071])]
path = pathlib.Path(__file__).with_name("chatglm.json")
lines = ",\n".join(json.dumps(case) for case in cases)
path.write_text('{"cases": [\n' + lines + "\n]}\n")
