"""Writes fourier.json: Fourier features, exactly rounded and by their references.

    python tests/golden/make_fourier.py

`exact` holds bit patterns of f64, f32, f16 and bf16 per entry, by Arb, from the exact values of coordinates and matrices.
`reference` holds what the library computes in f32: SamPositionalEmbedding and generate_fourier_features (Perceiver) of
transformers, GaussianFourierProjection and get_fourier_embeds_from_boundingbox (GLIGEN) of diffusers,
encode_sinusoidal_position_embedding (the boxes of DAB-DETR) of transformers; for the two forms of NeRF, and for the grid
of timm's FourierEmbed, torch's own functions in the order of their code. `distance` is the largest distance of the reference from the exact
value. `grad` is the gradient of the coordinates (and of the matrix) by torch in f64 of the sum of weighted features.
"""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from diffusers.models.embeddings import GaussianFourierProjection, get_fourier_embeds_from_boundingbox
from flint import arb, ctx, fmpq
from transformers.models.dab_detr.modeling_dab_detr import encode_sinusoidal_position_embedding
from transformers.models.perceiver.modeling_perceiver import generate_fourier_features
from transformers.models.sam.modeling_sam import SamPositionalEmbedding

from exact import ORDER, round_ball_all, versions
from make_resize import timm_modules

HERE = Path(__file__).parent
[timm] = timm_modules("pos_embed_sincos")


def rounded(make):
    """Sine and cosine of pi times what `make` returns, rounded in four formats."""
    ctx.prec = 300
    while True:
        half_turns = make()
        out = []
        for value in (half_turns.sin_pi(), half_turns.cos_pi()):
            mid = value.mid()
            near = [0, 1, -1]
            hit = next((n for n in near if value.contains(arb(n)) and float(value.rad()) < 1e-60), None)
            out.append(round_ball_all(arb(hit) if hit is not None else value, ORDER))
        if all(out):
            return out
        ctx.prec *= 2


def q(x):
    return arb(fmpq(*float(x).as_integer_ratio()))


def phases(name, point, bands, matrix):
    """Functions that give each phase in half turns; per coordinate, then per band."""
    if name in ("sam", "gaussian-projection"):
        for j in range(bands):
            if name == "sam":
                yield lambda j=j: sum((2 * q(x) - 1) * q(matrix[a][j]) for a, x in enumerate(point)) * 2
            else:
                yield lambda j=j: q(point[0]).log() * q(matrix[0][j]) * 2
        return
    for x in point:
        for k in range(bands):
            yield {
                "perceiver": lambda x=x, k=k: q(x) * (1 + arb(fmpq(k * 111, bands - 1))),
                "gligen": lambda x=x, k=k: q(x) * (arb(100).log() * arb(fmpq(k, bands))).exp() / arb.pi(),
                "nerf": lambda x=x, k=k: q(x) * 2**k,
                "nerf-pytorch": lambda x=x, k=k: q(x) * 2**k / arb.pi(),
                "timm": lambda x=x, k=k: q(x) * (1 + arb(fmpq(k * 111, bands - 1))),
                "detr-box": lambda x=x, k=k: 2 * q(x) * (-arb(10000).log() * arb(fmpq(k, bands))).exp(),
            }[name]


def exact(name, point, bands, matrix):
    pairs = [rounded(make) for make in phases(name, point, bands, matrix)]
    sines, cosines = [s for s, _ in pairs], [c for _, c in pairs]
    raw = [round_ball_all(q(x), ORDER) for x in point]
    if name in ("sam", "gaussian-projection"):
        return sines + cosines
    if name == "perceiver":
        return raw + sines + cosines
    if name == "timm":
        order = [a * bands + k for k in range(bands) for a in range(len(point))]
        return raw + [sines[i] for i in order] + [cosines[i] for i in order]
    if name == "detr-box":
        order = [a * bands + k for a in (1, 0, *range(2, len(point))) for k in range(bands)]
        return [e for i in order for e in (sines[i], cosines[i])]
    by_band = []
    for k in range(bands):
        by_band += [sines[a * bands + k] for a in range(len(point))]
        by_band += [cosines[a * bands + k] for a in range(len(point))]
    return by_band if name == "gligen" else raw + by_band


def reference(name, points, bands, matrix):
    if name == "sam":
        this = SamPositionalEmbedding(SimpleNamespace(scale=1.0, num_pos_feats=bands)).to(points.dtype)
        this.positional_embedding = torch.nn.Parameter(matrix)
        return this(points[None, None])[0, 0], this.positional_embedding
    if name == "gaussian-projection":
        this = GaussianFourierProjection(bands, set_W_to_weight=False).to(points.dtype)
        this.weight = torch.nn.Parameter(matrix[0])
        return this(points[:, 0]), this.weight
    if name == "perceiver":
        if points.dtype == torch.float64:
            bands_ = torch.stack([torch.linspace(1, 112, bands, dtype=torch.float64)] * points.shape[1])
            angle = math.pi * (points[:, :, None] * bands_).reshape(len(points), -1)
            return torch.cat([points, angle.sin(), angle.cos()], -1), None
        return generate_fourier_features(points[None], bands, [224] * points.shape[1])[0], None
    if name == "gligen":
        if points.shape[1] == 4 and points.dtype == torch.float32:
            return get_fourier_embeds_from_boundingbox(bands, points[None])[0], None
        emb = 100 ** (torch.arange(bands, dtype=points.dtype) / bands)
        emb = emb * points.unsqueeze(-1)
        return torch.stack((emb.sin(), emb.cos()), -1).permute(0, 2, 3, 1).reshape(len(points), -1), None
    if name == "timm":
        f = timm.pixel_freq_bands(bands, 224)
        if points.dtype == torch.float64:
            f = torch.linspace(1, 112, bands, dtype=torch.float64) * torch.pi
        angle = points.unsqueeze(-1) * f
        out = torch.cat([points.unsqueeze(-1), angle.sin(), angle.cos()], -1)
        return out.transpose(-1, -2).flatten(1), None
    if name == "detr-box":
        if points.dtype == torch.float32:
            return encode_sinusoidal_position_embedding(points, 2 * bands), None
        angle = points.unsqueeze(-1) * 2 * math.pi / 10000 ** (torch.arange(bands, dtype=torch.float64) / bands)
        parts = list(torch.stack((angle.sin(), angle.cos()), -1).flatten(-2).unbind(1))
        return torch.cat([parts[1], parts[0], *parts[2:]], -1), None
    parts = [points]
    for k in range(bands):
        angle = points * 2.0**k * (math.pi if name == "nerf" else 1)
        parts += [angle.sin(), angle.cos()]
    return torch.cat(parts, -1), None


def check_timm():
    """The layer of timm computes the same of its own grid."""
    layer = timm.FourierEmbed(num_bands=9)
    found = layer(torch.zeros(1, 1, 3, 5))[0, :, 1:]
    grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 5), indexing="ij"), -1)
    assert torch.equal(found, reference("timm", grid.reshape(-1, 2), 9, None)[0])


def main():
    check_timm()
    rng = random.Random(23)
    torch.manual_seed(23)
    cases, distances = [], {}
    for name, axes, bands in (("sam", 2, 6), ("sam", 3, 5), ("gaussian-projection", 1, 8), ("perceiver", 2, 7),
                              ("perceiver", 1, 64), ("gligen", 4, 8), ("nerf", 3, 10), ("nerf-pytorch", 3, 10),
                              ("timm", 2, 9), ("detr-box", 4, 16), ("detr-box", 2, 64)):
        low, high = (-1, 1) if name in ("perceiver", "nerf", "nerf-pytorch", "timm") else (0.002, 1)
        points = [[float(np.float32(rng.uniform(low, high))) for _ in range(axes)] for _ in range(4)]
        points += [[1.0] * axes, [0.5] * axes]
        if name != "gaussian-projection":
            points += [[0.0] * axes, [-0.25] * axes, [1 / 3] * axes, [1e-30] * axes]
        matrix = None
        if name in ("sam", "gaussian-projection"):
            matrix = torch.randn(axes, bands) * (16 if name == "gaussian-projection" else 1)
        given = matrix.double().tolist() if matrix is not None else None
        rows = [exact(name, point, bands, given) for point in points]
        values = np.array([[np.array(e[0], np.uint64).view(np.float64) for e in row] for row in rows])
        found = reference(name, torch.tensor(points, dtype=torch.float32), bands, matrix)[0].detach().double().numpy()
        distance = float(np.abs(found - values).max())
        # The gradient, in f64.
        x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
        wide = matrix.double() if matrix is not None else None
        out, parameter = reference(name, x, bands, wide)
        weight = torch.randn(out.shape, dtype=torch.float64)
        (out * weight).sum().backward()
        cases.append({
            "preset": name, "axes": axes, "bands": bands, "points": points, "matrix": given,
            "exact": [["/".join(f"{b:x}" for b in e) for e in row] for row in rows],
            "reference": found.tolist(), "distance": distance,
            "weight": weight.tolist(), "grad": x.grad.tolist(),
            "grad_matrix": parameter.grad.reshape(axes, bands).tolist() if parameter is not None else None,
        })
        # More points, against f64.
        many = torch.rand(2000, axes) * (high - low) + low
        m = torch.randn(axes, 64) * (16 if name == "gaussian-projection" else 1) if matrix is not None else None
        b = 64 if matrix is not None or name in ("perceiver", "timm") else bands
        near = reference(name, many, b, m)[0].detach().double()
        far = reference(name, many.double(), b, m.double() if m is not None else None)[0].detach()
        distances[name] = max(distances.get(name, 0), float((near - far).abs().max()), distance)
        print(name, distance, distances[name])
    import diffusers
    import transformers
    meta = {"with": f"{versions()}, torch {torch.__version__}, transformers {transformers.__version__}, "
                    f"diffusers {diffusers.__version__}", "distances": distances}
    (HERE / "fourier.json").write_text(json.dumps({"meta": meta, "cases": cases}, separators=(",", ":")) + "\n")


main()
