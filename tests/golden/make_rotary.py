"""Writes rotary.json: rotary frequencies of released models, and rotary_entries.csv, rotary_digests.csv.

    python tests/golden/make_rotary.py

Every config.json of rotary_models.py goes through transformers' own configuration class and rotary module; where a
sequence length is given, through ROPE_INIT_FUNCTIONS. Beside the reference's f32 frequencies stand the nearest f64 of
the same formulas in interval arithmetic (Arb), written out here a second time. Entries and digests are rigorously
rounded: attention_factor (an f64, taken exactly) times cosine and sine, one rounding.
"""

import copy
import hashlib
import importlib
import json
import logging
import struct
from pathlib import Path

import numpy as np
import torch
import transformers
from flint import arb, ctx
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from exact import DIGITS, F64, ORDER, round_ball, round_ball_all, round_dyadic, ends, versions
from rotary_models import MODELS

HERE = Path(__file__).parent
logging.getLogger("transformers").setLevel(logging.ERROR)
PREC = 700


def f64_of(ball):
    bits = round_ball(ball, F64)
    assert bits is not None
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def f32_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def floor(ball):
    return int(ball.floor().unique_fmpz())


# --- the formulas, in real arithmetic ---------------------------------------------------------------------------

def powers(dim, base):
    ln = arb(base).log()
    return [(-(ln * (2 * i)) / dim).exp() for i in range(dim // 2)]


def default(dim, p, longest, seq_len):
    return powers(dim, p["rope_theta"]), arb(1)


def linear(dim, p, longest, seq_len):
    return [f / arb(p["factor"]) for f in powers(dim, p["rope_theta"])], arb(1)


def dynamic(dim, p, longest, seq_len):
    length = max(seq_len or longest, longest)
    s = arb(p["factor"])
    growth = s * length / longest - (s - 1)
    base = arb(p["rope_theta"]) * growth ** (arb(dim) / (dim - 2))
    return powers(dim, base), arb(1)


def yarn(dim, p, longest, seq_len):
    factor, length = arb(p["factor"]), p["original_max_position_embeddings"]
    base = arb(p["rope_theta"])

    def pair_with(turns):
        return dim * (length / (arb(turns) * 2 * arb.pi())).log() / (2 * base.log())

    low, high = pair_with(p.get("beta_fast") or 32), pair_with(p.get("beta_slow") or 1)
    if p.get("truncate", True):
        low, high = arb(floor(low)), arb(-floor(-high))
    low = low if low > 0 else arb(0)
    high = high if high < dim - 1 else arb(dim - 1)
    if low == high:
        high += arb(1) / 1000
    out = []
    for i, f in enumerate(powers(dim, base)):
        ramp = (i - low) / (high - low)
        ramp = arb(0) if not ramp > 0 else arb(1) if ramp > 1 else ramp
        out.append(f / factor * ramp + f * (1 - ramp))

    def m(k):
        return arb(1) if factor <= 1 else arb(k) * factor.log() / 10 + 1

    attention = p.get("attention_factor")
    if attention is None:
        both = p.get("mscale") and p.get("mscale_all_dim")
        attention = m(p["mscale"]) / m(p["mscale_all_dim"]) if both else m(1)
    return out, arb(attention)


def longrope(dim, p, longest, seq_len):
    trained = p["original_max_position_embeddings"]
    divisors = p["long_factor"] if seq_len and seq_len > trained else p["short_factor"]
    factor = arb(longest) / trained if p.get("factor") is None else arb(p["factor"])
    attention = p.get("attention_factor")
    if attention is None:
        attention = arb(1) if factor <= 1 else (1 + factor.log() / arb(trained).log()).sqrt()
    return [f / arb(d) for f, d in zip(powers(dim, p["rope_theta"]), divisors, strict=True)], arb(attention)


def llama3(dim, p, longest, seq_len):
    factor, length = arb(p["factor"]), p["original_max_position_embeddings"]
    low, high = arb(p["low_freq_factor"]), arb(p["high_freq_factor"])
    out = []
    for f in powers(dim, p["rope_theta"]):
        turns = length * f / (2 * arb.pi())
        if turns > high:
            out.append(f)
        elif turns < low:
            out.append(f / factor)
        else:
            s = (turns - low) / (high - low)
            out.append((1 - s) * f / factor + s * f)
    return out, arb(1)


def proportional(dim, p, longest, seq_len):
    turning = int(p.get("partial_rotary_factor", 1.0) * dim // 2)
    factor = arb(p.get("factor", 1.0))
    return [f / factor if i < turning else arb(0) for i, f in enumerate(powers(dim, p["rope_theta"]))], arb(1)


EXACT = {f.__name__: f for f in (default, linear, dynamic, yarn, longrope, llama3, proportional)}


# --- the reference ----------------------------------------------------------------------------------------------

def cases(models):
    for name, keys, lengths in models:
        whole = CONFIG_MAPPING[keys["model_type"]].from_dict(copy.deepcopy(keys))
        config = whole.get_text_config()
        modeling = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
        classes = [c for k, c in vars(modeling).items() if k.endswith("RotaryEmbedding") and "Vision" not in k]
        rotary = classes[0](config)
        parameters = config.rope_parameters
        nested = "rope_type" not in parameters
        for layer_type in sorted(parameters) if nested else [None]:
            p = parameters[layer_type] if nested else parameters
            for seq_len in lengths:
                if seq_len is None:
                    prefix = f"{layer_type}_" if nested else ""
                    inv_freq = getattr(rotary, f"{prefix}inv_freq")
                    factor = getattr(rotary, f"{prefix}attention_scaling" if nested else "attention_scaling")
                else:
                    inv_freq, factor = ROPE_INIT_FUNCTIONS[p["rope_type"]](config, "cpu", seq_len)
                assert inv_freq.dtype == torch.float32
                yield name, keys, layer_type, seq_len, p, config.max_position_embeddings, inv_freq.tolist(), factor


def case(name, keys, layer_type, seq_len, p, longest, inv_freq, factor):
    """What rotary.json says of a set: the reference's f32 frequencies beside the nearest f64."""
    dim = 2 * len(inv_freq)
    ctx.prec = PREC
    balls, attention = EXACT[p["rope_type"]](dim, p, longest, seq_len)
    exact = [f64_of(b) for b in balls]
    ctx.prec = PREC
    attention_exact = f64_of(attention)
    return {
        "name": name, "config": keys, "layer_type": layer_type, "seq_len": seq_len,
        "rope_type": p["rope_type"], "rotary_dim": dim,
        "inv_freq_f32": [f"{f32_bits(f):08x}" for f in inv_freq],
        "inv_freq_exact": [f"{struct.unpack('<Q', struct.pack('<d', f))[0]:016x}" for f in exact],
        "attention_factor": float(factor), "attention_factor_exact": attention_exact,
        "largest_relative_difference": max(abs(a - b) / b for a, b in zip(inv_freq, exact) if b),
    }


# --- entries ----------------------------------------------------------------------------------------------------

ENTRIES = [  # name, layer_type, seq_len
    ("Llama-3.1-8B", None, None), ("Qwen2.5-7B-Instruct with yarn", None, None), ("gpt-oss-20b", None, None),
    ("Phi-3.5-mini-instruct", None, 4097), ("Llama-2-7b dynamic", None, 5000), ("Olmo-3-7B", "full_attention", None),
    ("DeepSeek-V3", None, None), ("gemma-4 text", "full_attention", None),
]
TABLES = [  # name, layer_type, positions: cosines and sines by the reference's own forward pass
    ("Llama-3.1-8B", None, [0, 1, 2, 255, 256, 300, 4097, 131071]),
    ("Qwen2.5-7B-Instruct with yarn", None, [0, 1, 77, 5000, 131071, 16777217]),
    ("Olmo-3-7B", "full_attention", [0, 3, 1000, 65535]),
]
POSITIONS = [0, 1, 2, 17, 1000, 4095, 131071, 1000003, 2**31 + 11, 2**32 - 1]
CUSTOM = [  # inv_freq and factor given by the caller; at position 0 the factor is a tie of bf16, then of f16
    ("custom-bf16-tie", [1.0, 0.1, 2.5e-3, 1e-9, 0.0], 1.00390625),
    ("custom-f16-tie", [0.7853981633974483, 0.5, 1.1e-5, 3.0e-40], 1.00048828125),
    ("custom-f32", [float(np.float32(x)) for x in (1.0, 0.8659643, 0.1778279, 1.3335214e-4)], 1.0),
]


def rounded(factor, ball, formats):
    """Bit patterns of factor x ball, or None where the precision does not suffice."""
    return round_ball_all(factor * ball, formats)


def entry(exact, pair, position, formats):
    """Bit patterns of the sine and the cosine, each times the attention factor, a real number."""
    bits = 200
    while True:
        ctx.prec = bits + 100
        freqs, attention = exact()
        f = freqs[pair]
        ctx.prec = bits + 64
        s, c = (f * position).sin_cos() if position and not f == 0 else (arb(0), arb(1))
        a, b = rounded(attention, s, formats), rounded(attention, c, formats)
        if a is not None and b is not None:
            return a, b
        bits *= 2
        assert bits < 1 << 14


def main():
    out, report, largest = [], {}, (0.0, "")
    known = {}
    for name, keys, layer_type, seq_len, p, longest, inv_freq, factor in cases(MODELS):
        described = case(name, keys, layer_type, seq_len, p, longest, inv_freq, factor)
        worst = described["largest_relative_difference"]
        if worst > largest[0]:
            largest = (worst, f"{name} {layer_type or ''} {seq_len or ''}".strip())
        report.setdefault(p["rope_type"], []).append(worst)
        out.append(described)
        formula, dim, attention_exact = EXACT[p["rope_type"]], 2 * len(inv_freq), described["attention_factor_exact"]
        known[name, layer_type, seq_len] = (
            lambda formula=formula, dim=dim, p=p, longest=longest, seq_len=seq_len: formula(dim, p, longest, seq_len),
            dim // 2, attention_exact)
    tables = []
    for name, layer_type, positions in TABLES:
        keys = next(k for n, k, _ in MODELS if n == name)
        config = CONFIG_MAPPING[keys["model_type"]].from_dict(copy.deepcopy(keys)).get_text_config()
        modeling = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
        rotary = [c for k, c in vars(modeling).items() if k.endswith("RotaryEmbedding") and "Vision" not in k][0](config)
        more = {"layer_type": layer_type} if layer_type else {}
        cos, sin = rotary(torch.zeros(1), torch.tensor([positions]), **more)
        pairs = len(next(x for x in out if x["name"] == name and x["layer_type"] == layer_type)["inv_freq_f32"])
        prefix = f"{layer_type}_" if layer_type else ""
        tables.append({
            "name": name, "layer_type": layer_type, "positions": positions,
            "inv_freq_f32": [f"{f32_bits(f):08x}" for f in getattr(rotary, f"{prefix}inv_freq").tolist()],
            "attention_factor": float(getattr(rotary, f"{prefix}attention_scaling")),
            "cos_f32": [[f"{f32_bits(f):08x}" for f in row[:pairs]] for row in cos[0].tolist()],
            "sin_f32": [[f"{f32_bits(f):08x}" for f in row[:pairs]] for row in sin[0].tolist()],
        })
    names = {(x["name"]) for x in out}
    meta = {
        "made by": f"make_rotary.py with transformers {transformers.__version__}, torch {torch.__version__}, {versions()}",
        "models": len(names), "cases": len(out),
        "largest relative difference between reference and exact":
            {k: max(v) for k, v in sorted(report.items())} | {"all": largest[0], "where": largest[1]},
    }
    print(json.dumps(meta, indent=1))
    lines = ",\n".join(json.dumps(x) for x in out)
    more = ",\n".join(json.dumps(x) for x in tables)
    (HERE / "rotary.json").write_text(
        f'{{"meta": {json.dumps(meta)},\n"cases": [\n{lines}\n],\n"tables": [\n{more}\n]}}\n')

    sources = [(f"{n}|{l or ''}|{s or ''}", *known[n, l, s]) for n, l, s in ENTRIES]
    for name, freqs, factor in CUSTOM:
        sources.append((name, lambda freqs=freqs, factor=factor: ([arb(f) for f in freqs], arb(factor)), len(freqs), factor))
    head = ("source,factor,pair,position," + ",".join(f"sin_{f.name},cos_{f.name}" for f in ORDER))
    rows = [f"# attention_factor x sine and cosine, one rounding; made by make_rotary.py with {versions()}",
            "# source: model|layer type|sequence length of rotary.json, or custom frequencies (see make_rotary.py)", head]
    for source, exact, pairs, factor in sources:
        for position in POSITIONS:
            for pair in range(pairs):
                if pairs > 100 and 3 < pair < pairs - 2 and pair % 16:
                    continue
                s, c = entry(exact, pair, position, ORDER)
                cells = [f"{a:0{DIGITS[f.name]}x},{b:0{DIGITS[f.name]}x}" for f, a, b in zip(ORDER, s, c)]
                rows.append(f"{source},{factor!r},{pair},{position}," + ",".join(cells))
    (HERE / "rotary_entries.csv").write_text("\n".join(rows) + "\n")
    print(len(rows) - 3, "entries")

    unsigned = {"f64": "<u8", "f32": "<u4", "f16": "<u2", "bf16": "<u2"}
    lines = ["# SHA-256 of whole tables, the cosines [rows, pairs] and then the sines, little-endian, every entry "
             f"rigorously rounded; made by make_rotary.py with {versions()}", "source,factor,start,rows,dtype,sha256"]
    for source, exact, pairs, factor in sources[:3] + sources[3:4]:
        for start, count in ((0, 600), (2**32 - 300, 300)):
            tables = [[np.empty((count, pairs), unsigned[f.name]) for f in ORDER] for _ in range(2)]
            ctx.prec = 300
            freqs, attention = exact()
            for pair in range(pairs):
                for row in range(count):
                    ctx.prec = 264
                    position = start + row
                    s, c = (freqs[pair] * position).sin_cos() if position else (arb(0), arb(1))
                    a, b = rounded(attention, s, ORDER), rounded(attention, c, ORDER)
                    if a is None or b is None:
                        a, b = entry(exact, pair, position, ORDER)
                    for k in range(4):
                        tables[0][k][row, pair], tables[1][k][row, pair] = b[k], a[k]
            for k, fmt in enumerate(ORDER):
                digest = hashlib.sha256(tables[0][k].tobytes() + tables[1][k].tobytes()).hexdigest()
                lines.append(f"{source},{factor!r},{start},{count},{fmt.name},{digest}")
    (HERE / "rotary_digests.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
