"""Writes diagnoses.json: numbers that `pe-demo diagnose --json` must show, by NumPy, torch, mpmath, and transformers.

    python tests/golden/make_diagnoses.py

Cosines and sines of every position and pair: the exact ones in f64, with frequencies of 200 bits reduced modulo one
turn; those in f32 with each step rounded, as transformers has them; those in a 16-bit type by torch, all steps in it, as
candle-transformers' qwen2 has them.
"""

import json
from pathlib import Path

import mpmath
import numpy as np
import torch
from mpmath import mp, mpf
from transformers import T5Config
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
from transformers.models.t5.modeling_t5 import T5Attention

HERE = Path(__file__).parent
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
DIGITS = {"bf16": 8, "f16": 11, "f32": 24}
mp.prec = 200


def exact(inv_freq, length):
    """Cosines and sines in f64: the angle in turns is reduced as an integer of 64 bits after the point."""
    turns = [int(mpmath.floor(f / (2 * mp.pi) * mpf(2) ** 64 + mpf("0.5"))) for f in inv_freq]
    positions = np.arange(length, dtype=np.uint64)[:, None]
    with np.errstate(over="ignore"):
        phases = positions * np.array([t % 2**64 for t in turns], dtype=np.uint64)[None, :]
    # The nearest multiple of a quarter, and what is left: an f64 holds 53 of its bits.
    angles = phases.astype(np.int64).astype(np.float64) * (2 * np.pi / 2.0**64)
    return np.cos(angles), np.sin(angles)


def rounded_once(values, digits):
    """The nearest numbers of so many bits, ties to even: torch rounds to f32 in between. (None is subnormal here.)"""
    significands, exponents = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(significands, digits)), exponents - digits)


def worst(values, truth):
    errors = [np.abs(v.astype(np.float64) - t) for v, t in zip(values, truth)]
    nans = int(sum(np.isnan(e).sum() for e in errors))
    both = np.stack([np.nan_to_num(e, nan=-1.0) for e in errors], axis=-1)
    position, pair, function = np.unravel_index(np.argmax(both), both.shape)
    large = np.argwhere((both > 0.1).any(axis=(1, 2)))
    return {
        "error": float(both[position, pair, function]),
        "position": int(position),
        "pair": int(pair),
        "function": ["cos", "sin"][function],
        "first_large": int(large[0][0]) if len(large) else None,
        "not_finite": nans,
    }


def recipes(base, dim, pairs, length, dtype):
    inv_freq = [mpf(base) ** (-mpf(2 * i) / dim) for i in range(pairs)]
    truth = exact(inv_freq, length)
    # torch's pow has an error of up to an ulp: each step is rounded to nearest here.
    exponents = (np.arange(0, 2 * pairs, 2, dtype=np.float32) / np.float32(dim)).astype(np.float32)
    powers = np.array([np.float32(float(mpf(base) ** mpf(float(e)))) for e in exponents])
    rounded = (np.float32(1) / powers).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * rounded[None, :]
    assert angles.dtype == np.float32
    wide = angles.astype(np.float64)
    out = {"f32": worst([np.cos(wide).astype(np.float32), np.sin(wide).astype(np.float32)], truth)}
    out["exact"] = worst([rounded_once(t, DIGITS[dtype]) for t in truth], truth)
    if dtype != "f32":
        positions = torch.arange(length).to(TYPES[dtype])[:, None]
        product = positions * torch.from_numpy(rounded).to(TYPES[dtype])[None, :]
        values = [product.cos().double().numpy(), product.sin().double().numpy()]
        out["in-type"] = worst(values, truth)
    return out


def rotary(name, config, length, dtype, base, dim, trained):
    pairs = dim // 2
    wavelengths = [2 * mp.pi * mpf(base) ** (mpf(2 * i) / dim) for i in range(pairs)]
    never = lambda positions: [i for i, w in enumerate(wavelengths) if w > positions]
    return {
        "name": name,
        "config": config,
        "length": length,
        "dtype": dtype,
        "distinct": int(torch.arange(length).to(TYPES[dtype]).double().unique().numel()),
        "never_turn": never(length),
        "never_turn_in_training": never(trained),
        "unseen": never(trained) if length > trained else [],
        "recipes": recipes(base, dim, pairs, length, dtype),
    }


def llama3(base, dim, factor, low, high, original):
    effects = []
    for i in range(dim // 2):
        turns = original / (2 * mp.pi * mpf(base) ** (mpf(2 * i) / dim))
        effects.append("kept" if turns >= high else "interpolated" if turns < low else "blended")
    return effects


def yarn(base, dim, original, fast=32, slow=1):
    def correction(rotations):
        return dim * mpmath.log(original / (rotations * 2 * mp.pi)) / (2 * mpmath.log(base))

    low, high = max(int(mpmath.floor(correction(fast))), 0), min(int(mpmath.ceil(correction(slow))), dim - 1)
    return ["kept" if i <= low else "interpolated" if i >= high else "blended" for i in range(dim // 2)]


def buckets(function):
    """The number of buckets, the first distance that shares one, and the first distance of the last one."""
    found = [int(b) for b in function(torch.arange(5000))]
    shared = next(d for d in range(len(found)) if found[d] == found[d + 1])
    return {"buckets": max(found) + 1, "exact_below": shared, "last_from": found.index(found[-1])}


def t5(bidirectional):
    config = T5Config()
    return buckets(lambda d: T5Attention._relative_position_bucket(
        -d, bidirectional, config.relative_attention_num_buckets, config.relative_attention_max_distance))


def slopes(heads):
    power = 2 ** int(mpmath.floor(mpmath.log(heads, 2)))
    own = [mpf(2) ** (-mpf(8 * (h + 1)) / power) for h in range(power)]
    return own + [mpf(2) ** (-mpf(4 * (2 * h + 1)) / power) for h in range(heads - power)]


def main():
    llama2 = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
              "max_position_embeddings": 4096}
    qwen2 = {"model_type": "qwen2", "hidden_size": 896, "num_attention_heads": 14, "num_hidden_layers": 24,
             "max_position_embeddings": 32768, "rope_theta": 1e6}
    llama31 = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 131072,
               "rope_theta": 500000.0, "rope_scaling": {
                   "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}}
    qwen25 = {**qwen2, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}
    marian = {"model_type": "marian", "d_model": 512, "max_position_embeddings": 512}
    out = {
        "rotary": [
            rotary("llama 2", llama2, 4096, "bf16", 10000, 128, 4096),
            rotary("llama 2, longer", llama2, 16384, "f32", 10000, 128, 4096),
            rotary("qwen 2", qwen2, 32768, "bf16", 1000000, 64, 32768),
            rotary("qwen 2, infinite positions", qwen2, 66000, "f16", 1000000, 64, 32768),
            rotary("qwen 2, 300 positions", qwen2, 300, "bf16", 1000000, 64, 32768),
        ],
        "sinusoidal": rotary("marian", marian, 512, "bf16", 10000, 512, 512),
        "effects": [
            {"config": llama31, "effects": llama3(500000, 128, 8, 1, 4, 8192)},
            {"config": qwen25, "effects": yarn(1000000, 64, 32768)},
        ],
        "alibi": [
            {"heads": heads, "reach": [float(10 / s) for s in slopes(heads)]} for heads in (8, 12, 32)
        ],
        "buckets": {
            "t5 encoder": t5(True),
            "t5 decoder": t5(False),
            "deberta": buckets(lambda d: make_log_bucket_position(d, 256, 512).clamp(max=255)),
        },
    }
    (HERE / "diagnoses.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
