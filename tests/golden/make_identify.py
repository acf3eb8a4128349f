"""Writes tables of many conventions, computed as libraries compute them, and tables that are none.

    python3 make_identify.py                                    # the golden file, of small tables
    python3 make_identify.py OUT.safetensors --large --tables 504 --others 200

Needs torch, numpy and safetensors. Every convention is written out from its library's source, with the
arithmetic of that library: NumPy in f64, or torch in f32. The truth about each tensor is in the metadata, as JSON.
"""

import argparse
import json
import math
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def numpy_angles(rows, inv_freq):
    return np.asarray(rows, np.float64)[:, None] * np.asarray(inv_freq, np.float64)[None, :]


def interleaved(sin, cos):
    out = torch.empty(sin.shape[0], 2 * sin.shape[1], dtype=sin.dtype)
    out[:, 0::2], out[:, 1::2] = sin, cos
    return out


def sines(rows, inv_freq, how):
    """Sines and cosines of rows times frequencies, in f64 by NumPy or in f32 by torch."""
    if how == "numpy":
        angles = numpy_angles(rows, inv_freq)
        return torch.from_numpy(np.sin(angles)), torch.from_numpy(np.cos(angles))
    angles = torch.tensor(rows, dtype=torch.float32)[:, None] * inv_freq[None, :]
    return angles.sin(), angles.cos()


def paper_frequencies(d, base, how, pairs=None):
    """base^(-2i/d): exp of a product in torch's tutorial, a power in NumPy."""
    pairs = (d + 1) // 2 if pairs is None else pairs
    if how == "numpy":
        return np.power(float(base), -2.0 * np.arange(pairs) / d)
    return torch.exp(torch.arange(0, 2 * pairs, 2).float() * (-math.log(base) / d))


def inclusive_frequencies(n, base, how):
    if how == "numpy":
        return np.exp(-math.log(base) / (n - 1) * np.arange(n))
    return torch.exp(torch.arange(n, dtype=torch.float) * -(math.log(base) / (n - 1)))


def diffusers_frequencies(n, base, shift, how):
    if how == "numpy":
        return np.exp(-math.log(base) * np.arange(n) / (n - shift))
    exponent = -math.log(base) * torch.arange(0, n, dtype=torch.float32)
    return torch.exp(exponent / (n - shift))


def sinusoidal(rng, how):
    name = rng.choice(
        [
            "paper", "tf-tutorial", "tf-notebook", "tensor2tensor", "fairseq", "whisper", "marian", "mimi",
            "diffusers", "stable-diffusion", "positional-encodings", "concatenated", "cos-first",
        ]
    )
    small = SMALL
    rows = int(rng.integers(12, 40 if small else 400))
    d = 2 * int(rng.integers(4, 14 if small else 130))
    # Narrow tables of other bases can be those of 10000 with another spacing.
    base = float(rng.choice([10000.0] * 4 + [1000.0, 500000.0, 100.0, 25000.0] * (d > 10)))
    start = int(rng.choice([0, 0, 0, 1, 2, int(rng.integers(3, 3000))]))
    odd = None
    if name in ("tf-tutorial", "tensor2tensor", "fairseq", "marian", "diffusers", "stable-diffusion", "positional-encodings"):
        if rng.random() < 0.5:
            d += 1
            odd = {"tf-tutorial": "truncate", "marian": "truncate", "positional-encodings": "round-up"}.get(name, "zero-pad")
    if name == "fairseq":
        start = 0
    positions = list(range(start, start + rows))
    even = d - d % 2
    n = even // 2
    spacing, layout = "paper", "interleaved"
    if name in ("paper", "tf-tutorial"):
        sin, cos = sines(positions, paper_frequencies(d, base, how), how)
        table = interleaved(sin, cos)[:, :d]
    elif name == "positional-encodings":
        sin, cos = sines(positions, paper_frequencies(d + d % 2, base, how, (d + 1) // 2), how)
        table = interleaved(sin, cos)[:, :d]
    elif name in ("tf-notebook", "whisper", "tensor2tensor", "fairseq"):
        spacing, layout = "inclusive", "concatenated"
        sin, cos = sines(positions, inclusive_frequencies(n, base, how), how)
        table = torch.cat([sin, cos], 1)
    elif name == "mimi":
        spacing, layout = "inclusive", "concatenated-cos-first"
        sin, cos = sines(positions, inclusive_frequencies(n, base, how), how)
        table = torch.cat([cos, sin], 1)
    elif name == "marian":
        layout = "concatenated"
        sin, cos = sines(positions, paper_frequencies(d, base, how), how)
        table = torch.cat([sin, cos], 1)[:, : (d + 1) // 2 + d // 2]
    elif name in ("diffusers", "stable-diffusion"):
        shift = 1 if name == "diffusers" else 0
        sin, cos = sines(positions, diffusers_frequencies(n, base, shift, how), how)
        table = torch.cat([sin, cos] if shift else [cos, sin], 1)
        layout = "concatenated" if shift else "concatenated-cos-first"
        spacing = "inclusive" if shift else ("shifted" if odd else "paper")
    else:
        layout = "concatenated" if name == "concatenated" else "concatenated-cos-first"
        sin, cos = sines(positions, paper_frequencies(d, base, how), how)
        table = torch.cat([sin, cos] if name == "concatenated" else [cos, sin], 1)
    if odd == "zero-pad":
        table = torch.cat([table, torch.zeros(rows, 1, dtype=table.dtype)], 1)
    padding = None
    if name == "fairseq":
        padding = 1
        table[1] = 0
    scale = 1.0
    if rng.random() < 0.1:
        scale = 0.5
        table = table * scale
    truth = dict(scheme="sinusoidal", convention=name, layout=layout, spacing=spacing, base=base, start=start,
                 odd=odd, padding_idx=padding, scale=scale)
    return table, truth


def inv_freq_of(rng, pairs):
    """Rotary frequencies with transformers' formulas of 5.23, in f32."""
    base = float(rng.choice([10000.0, 10000.0, 500000.0, 1000000.0, 150000.0]))
    dim = 2 * pairs
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).float() / dim))
    scaling = str(rng.choice(["default", "default", "linear", "llama3", "yarn"]))
    truth = dict(base=base, scaling=scaling)
    if scaling == "linear":
        factor = float(rng.choice([2.0, 4.0, 8.0]))
        inv_freq = inv_freq / factor
        truth["factor"] = factor
    elif scaling == "llama3":
        factor, low, high, original = 8.0, 1.0, 4.0, 8192
        if pairs < 16:
            truth["scaling"] = "default"
            return inv_freq, truth
        wavelen = 2 * math.pi / inv_freq
        scaled = torch.where(wavelen > original / low, inv_freq / factor, inv_freq)
        smooth = (original / wavelen - low) / (high - low)
        smoothed = (1 - smooth) * scaled / factor + smooth * scaled
        medium = ~(wavelen < original / high) * ~(wavelen > original / low)
        inv_freq = torch.where(medium, smoothed, scaled)
        truth["factor"] = factor
        truth["original"] = original
    elif scaling == "yarn":
        factor, original = float(rng.choice([4.0, 8.0])), int(rng.choice([4096, 32768]))
        if pairs < 16:
            truth["scaling"] = "default"
            return inv_freq, truth
        correction = lambda turns: dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
        low, high = max(math.floor(correction(32)), 0), min(math.ceil(correction(1)), dim - 1)
        ramp = torch.clamp((torch.arange(dim // 2, dtype=torch.float32) - low) / (high - low), 0, 1)
        pos = base ** (torch.arange(0, dim, 2).float() / dim)
        extra, inter = 1.0 / pos, 1.0 / (factor * pos)
        keep = 1 - ramp
        inv_freq = inter * (1 - keep) + extra * keep
        truth["factor"] = factor
        truth["original"] = original
    return inv_freq, truth


def frequencies(rng, how):
    pairs = int(rng.choice([8, 16, 32, 64]))
    inv_freq, truth = inv_freq_of(rng, pairs)
    return inv_freq, dict(scheme="inv_freq", **truth)


def rotary(rng, how):
    pairs = int(rng.choice([4, 8] if SMALL else [8, 16, 32, 64]))
    base = float(rng.choice([10000.0, 10000.0, 500000.0]))
    rows = int(rng.integers(24, 60 if SMALL else 1200))
    dim = 2 * pairs
    if how == "numpy":
        angles = torch.from_numpy(numpy_angles(range(rows), base ** (-np.arange(0, dim, 2) / dim)))
    else:
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(rows).float(), inv_freq)
    columns = str(rng.choice(["once", "concatenated", "repeated"]))
    if columns == "concatenated":
        angles = torch.cat([angles, angles], 1)
    elif columns == "repeated":
        angles = angles.repeat_interleave(2, 1)
    part = str(rng.choice(["cos", "sin"]))
    factor = float(rng.choice([1.0, 1.0, 1.1386294361119891]))
    table = (angles.cos() if part == "cos" else angles.sin()) * factor
    return table, dict(scheme="rotary", part=part, columns=columns, base=base, factor=factor)


def alibi(rng, how):
    heads = int(rng.integers(2, 41))
    bias_max = float(rng.choice([8.0, 8.0, 16.0]))

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - math.log2(bias_max))))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        slopes = power_of_two(heads)
    else:
        closest = 2 ** math.floor(math.log2(heads))
        slopes = power_of_two(closest) + power_of_two(2 * closest)[0::2][: heads - closest]
    return torch.tensor(slopes, dtype=torch.float32), dict(scheme="alibi", heads=heads, bias_max=bias_max)


def grid(rng, how):
    name = str(rng.choice(["vit-mae", "dit", "detr", "timm"]))
    h, w = int(rng.integers(4, 9 if SMALL else 20)), int(rng.integers(4, 9 if SMALL else 20))
    d = 4 * int(rng.integers(4, 9 if SMALL else 40))
    omega = 1.0 / 10000 ** (np.arange(d // 4) / (d / 4.0))
    y, x = np.meshgrid(np.arange(h, dtype=np.float64), np.arange(w, dtype=np.float64), indexing="ij")
    halves = lambda p: np.concatenate([np.sin(np.outer(p.ravel(), omega)), np.cos(np.outer(p.ravel(), omega))], 1)
    if name in ("vit-mae", "dit"):
        table = np.concatenate([halves(x), halves(y)], 1)
        if name == "vit-mae":
            table = np.concatenate([np.zeros((1, d)), table])
    elif name == "timm":
        a, b = np.outer(y.ravel(), omega), np.outer(x.ravel(), omega)
        table = np.concatenate([np.sin(a), np.sin(b), np.cos(a), np.cos(b)], 1)
    else:
        scale, eps = 2 * math.pi, 1e-6
        ye, xe = (y + 1) / (h + eps) * scale, (x + 1) / (w + eps) * scale
        dim_t = 10000 ** (2 * (np.arange(d // 2) // 2) / (d // 2))

        def pairs(p):
            a = p.ravel()[:, None] / dim_t
            return np.stack([np.sin(a[:, 0::2]), np.cos(a[:, 1::2])], 2).reshape(len(a), -1)

        table = np.concatenate([pairs(ye), pairs(xe)], 1)
    return torch.from_numpy(table), dict(scheme="grid", preset=name, sides=[h, w])


def none_of_these(rng):
    """Tables that are learned, random, or smooth, and none of the conventions."""
    kind = str(rng.choice(["normal", "uniform", "smooth", "noisy", "vector", "waves", "decaying"]))
    rows, d = int(rng.integers(4, 30 if SMALL else 300)), int(rng.integers(3, 24 if SMALL else 200))
    if kind == "normal":
        table = rng.normal(size=(rows, d)) * 0.02
    elif kind == "uniform":
        table = rng.uniform(-1, 1, size=(rows, d))
    elif kind == "smooth":
        table = np.cumsum(rng.normal(size=(rows, d)), 0)
    elif kind == "noisy":  # a sinusoidal table after training
        d += d % 2
        angles = numpy_angles(range(rows), paper_frequencies(d, 10000.0, "numpy"))
        table = np.concatenate([np.sin(angles), np.cos(angles)], 1) + rng.normal(size=(rows, d)) * 0.05
    elif kind == "waves":  # sinusoids whose frequencies are no powers of one base
        d += d % 2
        angles = numpy_angles(range(rows), rng.uniform(0.01, 3, d // 2))
        table = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    elif kind == "decaying":
        table = np.exp(-np.abs(rng.normal(size=(rows, d))))
    else:
        table = rng.normal(size=(d + 2,)) if rng.random() < 0.5 else np.sort(rng.uniform(0, 1, d + 2))[::-1].copy()
    return torch.from_numpy(table), dict(scheme="unknown" if table.ndim == 1 else "learned", kind=kind)


def main():
    global SMALL
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", default=pathlib.Path(__file__).with_name("identify.safetensors"))
    parser.add_argument("--tables", type=int, default=84)
    parser.add_argument("--others", type=int, default=28)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--large", action="store_true", help="tables of sizes that models have")
    args = parser.parse_args()
    SMALL = not args.large
    rng = np.random.default_rng(args.seed)
    makers = [sinusoidal] * 10 + [rotary] * 4 + [frequencies] * 2 + [alibi] * 2 + [grid] * 3
    tensors, truths = {}, {}
    for index in range(args.tables):
        how = str(rng.choice(["numpy", "torch"]))
        table, truth = makers[index % len(makers)](rng, how)
        dtype = str(rng.choice(["f32", "f32", "f16", "bf16"]))
        if truth["scheme"] in ("inv_freq", "alibi"):
            dtype = "f32"
        name = f"{index:03}"
        tensors[name] = table.to(DTYPES[dtype]).contiguous()
        truths[name] = dict(truth, how=how, dtype=dtype)
    for index in range(args.others):
        table, truth = none_of_these(rng)
        dtype = str(rng.choice(["f32", "f16", "bf16"]))
        name = f"other{index:03}"
        tensors[name] = table.to(DTYPES[dtype]).contiguous()
        truths[name] = dict(truth, dtype=dtype)
    save_file(tensors, args.out, {"truth": json.dumps(truths)})
    print(len(tensors), "tensors,", sum(t.numel() for t in tensors.values()), "entries")


if __name__ == "__main__":
    main()
