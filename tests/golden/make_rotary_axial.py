"""Writes rotary_axial.json: rotary embeddings over several axes, by the code of the models that the presets name.

    python tests/golden/make_rotary_axial.py

For each preset: what the model's own code makes of queries at small sizes, entries of the tables as the nearest floats of
four types (interval arithmetic, from formulas written down here once more), and how far the model's cosines and sines are
from the real ones at a released size. The last part is the table in the documentation of pe_candle::rotary, which this
script prints.
"""

import importlib
import json
import logging
import math
import sys
import types
from fractions import Fraction
from importlib.metadata import distribution, version
from pathlib import Path

import diffusers
import numpy as np
import torch
import transformers
from diffusers.models import embeddings as dif
from diffusers.models.transformers import (
    transformer_cosmos, transformer_flux, transformer_hunyuan_video, transformer_ltx, transformer_lumina2,
    transformer_qwenimage, transformer_wan, transformer_z_image)
from flint import arb, ctx, fmpq
from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3
from transformers.models.ernie4_5_vl_moe import modeling_ernie4_5_vl_moe as ernie
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.glm4v import modeling_glm4v as glm4v
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan_vl
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen25
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3
from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2
from transformers.vision_utils import get_vision_position_ids, get_vision_window_index

from exact import DIGITS, ORDER, round_ball, versions

HERE = Path(__file__).parent
logging.getLogger("transformers").setLevel(logging.ERROR)


def timm_module(name):
    """A module of timm.layers without the rest of timm, which needs torchvision."""
    for package in ("timm", "timm.layers"):
        if package not in sys.modules:
            module = types.ModuleType(package)
            module.__path__ = [str(Path(distribution("timm").locate_file(package.replace(".", "/"))))]
            sys.modules[package] = module
    return importlib.import_module(f"timm.layers.{name}")


sincos = timm_module("pos_embed_sincos")


def rounded(value, form):
    """Bits of the float nearest to the real number that `value` computes at the precision in force."""
    bits = 160
    while True:
        ctx.prec = bits
        found = round_ball(value(), form)
        if found is not None:
            return found
        bits *= 2


class Config:
    """A configuration with nothing but the given attributes."""

    def __init__(self, **given):
        self.__dict__.update(given)

    def __getattr__(self, name):
        if name == "head_dim":
            return None
        raise AttributeError(name)


def rope(base, **more):
    return {"rope_theta": base, "rope_type": "default", **more}


def axial(base):
    return {"rope_theta": base, "rope_type": "axial"}


# What a model's code makes of one size: cosines and sines of the first column of each pair, [tokens, pairs], and a function
# that rotates [tokens, width]. `doubled` says how the code repeats its cosines.
def result(cos, sin, rotate, doubled):
    if doubled == "interleaved":
        cos, sin = cos[:, ::2], sin[:, ::2]
    elif doubled == "halves":
        cos, sin = cos[:, : cos.shape[1] // 2], sin[:, : sin.shape[1] // 2]
    return cos.double().numpy(), sin.double().numpy(), rotate


def diffusers_apply(cos, sin, dim=-1):
    return lambda x: dif.apply_rotary_emb(x[None, None], (cos, sin), use_real_unbind_dim=dim)[0, 0]


def complex_apply(freqs):
    def rotate(x):
        pairs = torch.view_as_complex(x.float().reshape(len(x), -1, 2))
        return torch.view_as_real(pairs * freqs).flatten(1).type_as(x)
    return rotate


def flux(d, ids, **_):
    e = [d // 8, d * 7 // 16, d * 7 // 16]
    cos, sin = transformer_flux.FluxPosEmbed(10000, e)(torch.tensor(ids))
    return result(cos, sin, diffusers_apply(cos, sin), "interleaved")


def qwen_image(d, sizes, **_):
    f, h, w = sizes
    model = transformer_qwenimage.QwenEmbedRope(10000, [d // 8, d * 7 // 16, d * 7 // 16], scale_rope=True)
    freqs, _ = model([(f, h, w)], torch.device("cpu"), 1)
    apply = transformer_qwenimage.apply_rotary_emb_qwen
    return result(freqs.real, freqs.imag, lambda x: apply(x[None, :, None], freqs, use_real=False)[0, :, 0], None)


def wan(d, sizes, **_):
    cos, sin = transformer_wan.WanRotaryPosEmbed(d, (1, 1, 1), 1024)(torch.zeros(1, 1, *sizes))
    cos, sin = cos[0, :, 0], sin[0, :, 0]

    def rotate(x):  # WanAttnProcessor.__call__
        x1, x2 = x.unflatten(-1, (-1, 2)).unbind(-1)
        out = torch.empty_like(x)
        out[..., 0::2] = x1 * cos[..., 0::2] - x2 * sin[..., 1::2]
        out[..., 1::2] = x1 * sin[..., 1::2] + x2 * cos[..., 0::2]
        return out.type_as(x)
    return result(cos, sin, rotate, "interleaved")


def hunyuan_video(d, sizes, **_):
    e = [d // 8, d * 7 // 16, d * 7 // 16]
    cos, sin = transformer_hunyuan_video.HunyuanVideoRotaryPosEmbed(1, 1, e, 256.0)(torch.zeros(1, 1, *sizes))
    return result(cos, sin, diffusers_apply(cos, sin), "interleaved")


def ltx(d, sizes, **_):
    f, h, w = sizes
    model = transformer_ltx.LTXVideoRotaryPosEmbed(d)
    cos, sin = model(torch.zeros(1, 1), f, h, w, (8 / 25, 32, 32))
    apply = transformer_ltx.apply_rotary_emb
    return result(cos[0], sin[0], lambda x: apply(x[None], (cos, sin))[0], "interleaved")


def cogvideox(d, sizes, **_):
    f, h, w = sizes
    cos, sin = dif.get_3d_rotary_pos_embed(d, ((0, 0), (30, 45)), (h, w), f)
    return result(cos, sin, diffusers_apply(cos, sin), "interleaved")


def z_image(d, ids, **_):
    model = transformer_z_image.RopeEmbedder(256.0, [d // 4, d * 3 // 8, d * 3 // 8], [1024, 512, 512])
    freqs = model(torch.tensor(ids))
    return result(freqs.real, freqs.imag, complex_apply(freqs), None)


def lumina2(d, ids, **_):
    model = transformer_lumina2.Lumina2RotaryPosEmbed(10000, [d // 3] * 3, [300, 512, 512])
    freqs = model._get_freqs_cis(torch.tensor([ids]))
    rotate = lambda x: dif.apply_rotary_emb(x[None, :, None], freqs, use_real=False)[0, :, 0]
    return result(freqs[0].real, freqs[0].imag, rotate, None)


def cosmos(d, sizes, **_):
    model = transformer_cosmos.CosmosRotaryPosEmbed(d, patch_size=(1, 1, 1))
    cos, sin = model(torch.zeros(1, 1, *sizes))
    return result(cos, sin, diffusers_apply(cos, sin, -2), "halves")


def dino(d, sizes, **_):
    h, w = sizes
    config = Config(rope_theta=100.0, hidden_size=2 * d, num_attention_heads=2, image_size=224, patch_size=16)
    cos, sin = dinov3.DINOv3ViTRopePositionEmbedding(config).eval()(torch.zeros(1, 3, 16 * h, 16 * w))

    def rotate(x):
        return dinov3.apply_rotary_pos_emb(x[None, None], x[None, None], cos, sin)[0][0, 0]
    return result(cos, sin, rotate, "halves")


def timm_cat(d, sizes, prefix, **given):
    emb = sincos.RotaryEmbeddingCat(d, feat_shape=sizes, **given).get_embed()
    sin, cos = emb.chunk(2, -1)

    def rotate(x):
        return torch.cat([x[:prefix], sincos.apply_rot_embed_cat(x[prefix:], emb)])
    return result(cos, sin, rotate, "interleaved")


def eva02(d, sizes, **_):
    return timm_cat(d, sizes, 1, in_pixels=False, ref_feat_shape=[16, 16])


def timm_pixel(d, sizes, **_):
    return timm_cat(d, sizes, 0)


def llama(module, cos, sin, doubled="halves"):
    def rotate(x):
        return module.apply_rotary_pos_emb(x[None, None], x[None, None], cos, sin)[0][0, 0]
    return result(cos[0], sin[0], rotate, doubled)


def pixtral_vision(d, sizes, **_):
    config = Config(rope_parameters=axial(10000.0), hidden_size=2 * d, num_attention_heads=2)
    ids = get_vision_position_ids(torch.tensor([[1, *sizes]]), 1)
    cos, sin = pixtral.PixtralVisionRotaryEmbedding(config)(torch.zeros(1), ids)
    return llama(pixtral, cos[None], sin[None])


def llama4_vision(d, sizes, **_):
    assert sizes[0] == sizes[1]
    config = Config(rope_parameters=rope(10000.0), hidden_size=2 * d, num_attention_heads=2, image_size=14 * sizes[0],
                    patch_size=14)
    freqs = llama4.Llama4VisionRotaryEmbedding(config)(torch.zeros(1))

    def rotate(x):
        return llama4.vision_apply_rotary_emb(x[None, :, None], x[None, :, None], freqs)[0][0, :, 0]
    return result(freqs[:-1, 0].real, freqs[:-1, 0].imag, rotate, None)


def gemma4_vision(d, sizes, **_):
    config = Config(rope_parameters=axial(100.0), hidden_size=2 * d, num_attention_heads=2)
    ids = get_vision_position_ids(torch.tensor([[1, *sizes]]), 1).flip(-1)[None]  # (x, y)
    cos, sin = gemma4.Gemma4VisionRotaryEmbedding(config)(torch.zeros(1), ids)

    def rotate(x):
        return gemma4.apply_multidimensional_rope(x[None, :, None], cos, sin, ids)[0, :, 0]
    halves = [c for c in range(d) if c % (d // 2) < d // 4]
    return result(cos[0][:, halves], sin[0][:, halves], rotate, None)


def qwen_vision(module, name, windows=False, config_dim="hidden_size"):
    def of(d, sizes, **_):
        config = Config(rope_parameters=axial(10000.0), num_attention_heads=2, **{config_dim: 2 * d})
        grid = torch.tensor([sizes])
        ids = get_vision_position_ids(grid, 2)
        if windows:
            index, _ = get_vision_window_index(grid, 2, 112, 14)
            ids = ids.reshape(len(ids) // 4, 4, 2)[index].reshape(-1, 2)
        cos, sin = getattr(module, name)(config)(torch.zeros(1), ids)

        def rotate(x):
            return module.apply_rotary_pos_emb_vision(x[:, None], x[:, None], cos, sin)[0][:, 0]
        return result(cos, sin, rotate, "halves")
    return of


def text(module, name, base, doubled, **more):
    def of(d, ids, **_):
        config = Config(rope_parameters=rope(base, **{k: v(d) for k, v in more.items()}), hidden_size=2 * d,
                        num_attention_heads=2, max_position_embeddings=4096)
        if "alpha" in more:
            config.rope_parameters["rope_type"] = "dynamic"
            config.head_dim = d
        axes = torch.tensor(ids).T[:, None]
        cos, sin = getattr(module, name)(config)(torch.zeros(1), axes)
        return llama(module, cos, sin, doubled)
    return of


def sections(*shares):
    return lambda d: [d * share // 128 for share in shares]


def vjepa(d, sizes, **_):
    config = Config(crop_size=16 * sizes[1], patch_size=16, frames_per_clip=2 * sizes[0], tubelet_size=2, qkv_bias=False,
                    attention_probs_dropout_prob=0.0)
    model = vjepa2.VJEPA2RopeAttention(config, 2 * d, 2)
    ids = model.get_position_ids(torch.zeros(1, math.prod(sizes), 1))
    rotate = lambda x: model.apply_rotary_embeddings(x[None, None], ids)[0, 0]
    return None, None, rotate


# The formulas once more: for each rotated pair its axis and frequency, as arb, and those of the second column where they
# differ. Frequencies are functions, so that they can be computed with more bits.
def power(base, exponent, unit=lambda: arb(1)):
    return lambda: unit() / arb(base) ** arb(fmpq(exponent.numerator, exponent.denominator))


def own(base, widths, unit=lambda: arb(1)):
    return [(a, power(base, Fraction(2 * i, w), unit)) for a, w in enumerate(widths) for i in range(w // 2)]


def shared(base, axes):
    return [(a, power(base, Fraction(i, len(axes)))) for i, a in enumerate(axes)]


def between(last, n, unit):
    return [power(last, Fraction(-i, n - 1), unit) for i in range(n)]


def half(d):
    return [d // 2] * 2


def turn():
    return 2 * arb.pi()


def ltx_pairs(d):
    rates = between(10000, d // 6, lambda: arb.pi() / 2)
    return [None] * (d % 6 // 2) + [(a, rate) for rate in rates for a in range(3)]


def chunks(d, *shares):
    return [a for a, share in enumerate(shares) for _ in range(d * share // 128)]


def qwen3_axes(d):
    section = d * 20 // 128
    axes = [0] * (d // 2)
    for a in (1, 2):
        for i in range(a, 3 * section, 3):
            axes[i] = a
    return axes


def ernie_axes(d):
    side = d * 44 // 128
    return [1 + i % 2 if i < side else 0 for i in range(d // 2)]


def sevenths(d):
    return [d // 8, d * 7 // 16, d * 7 // 16]


def sixths(d):
    s = d // 6 * 2
    return [d - 2 * s, s, s]


def cosmos_pairs(d):
    t, h, w = sixths(d)
    first = own(base_of(10000, 2, t), [t])
    return first + [(a + 1, f) for a, f in own(10000, [h, w])]


def base_of(base, factor, width):
    """base x factor^(width / (width - 2)), as the nearest f64."""
    ctx.prec = 200
    bits = rounded(lambda: arb(base) * arb(factor) ** arb(fmpq(width, width - 2)), ORDER[0])
    return float(np.uint64(bits).view(np.float64))


def vjepa_pairs(d, add):
    n = d // 6
    return [(a, power(10000, Fraction((2 * i + add) % n, n))) for a in range(3) for i in range(n)]


def hunyuan_pairs(d, add):
    base = base_of(10000, 1000, d)
    return [((i + add * d // 2) // (d // 4), power(base, Fraction(2 * i, d))) for i in range(d // 2)]


PAIRS = {
    "flux": lambda d: own(10000, sevenths(d)),
    "qwen-image": lambda d: own(10000, sevenths(d)),
    "wan": lambda d: own(10000, sixths(d)),
    "hunyuan-video": lambda d: own(256, sevenths(d)),
    "ltx-video": ltx_pairs,
    "cogvideox": lambda d: own(10000, [d // 4, d // 8 * 3, d // 8 * 3]),
    "z-image": lambda d: own(256, [d // 4, d // 8 * 3, d // 8 * 3]),
    "lumina2": lambda d: own(10000, [d // 3] * 3),
    "cosmos": cosmos_pairs,
    "dinov3": lambda d: own(100, half(d), turn),
    "eva02": lambda d: own(10000, half(d)),
    "timm-pixel": lambda d: [(a, f) for a in range(2) for f in between(112, d // 4, arb.pi)],
    "pixtral": lambda d: [(a, power(10000, Fraction(2 * (2 * i + a), d))) for a in range(2) for i in range(d // 4)],
    "llama4-vision": lambda d: own(10000, half(d)),
    "gemma4-vision": lambda d: own(100, half(d)),
    "qwen2-vl-vision": lambda d: own(10000, half(d)),
    "qwen2.5-vl-vision": lambda d: own(10000, half(d)),
    "qwen2-vl": lambda d: shared(1000000, chunks(d, 16, 24, 24)),
    "qwen3-vl": lambda d: shared(5000000, qwen3_axes(d)),
    "glm4v": lambda d: shared(10000, chunks(d, 8, 12, 12)),
    "ernie4.5-vl": lambda d: shared(500000, ernie_axes(d)),
    "hunyuan-vl": lambda d: hunyuan_pairs(d, 0),
    "v-jepa2": lambda d: vjepa_pairs(d, 0),
}
SECOND = {"hunyuan-vl": lambda d: hunyuan_pairs(d, 1), "v-jepa2": lambda d: vjepa_pairs(d, 1)}


# Positions of a grid, as exact fractions, by the model's formula; rounded to f64 once.
def indexes(n):
    return list(range(n))


COORDINATES = {
    "qwen-image": [indexes] + [lambda n: [i - (n - n // 2) for i in range(n)]] * 2,
    "ltx-video": [lambda n, s=s: [Fraction(s) * i - 1 for i in range(n)]
                  for s in (2 * (8.0 / 25.0 / 20.0), 2 * 32 / 2048, 2 * 32 / 2048)],
    "cogvideox": [indexes] + [lambda n, stop=stop: [Fraction(i * stop, n) for i in range(n)] for stop in (30, 45)],
    "dinov3": [lambda n: [Fraction(2 * i + 1, n) - 1 for i in range(n)]] * 2,
    "eva02": [lambda n: [Fraction(16 * i, n) for i in range(n)]] * 2,
    "timm-pixel": [lambda n: [Fraction(2 * i, n - 1) - 1 for i in range(n)]] * 2,
    "llama4-vision": [lambda n: [i + 1 for i in range(n)]] * 2,
}
SWAPPED = {"llama4-vision", "gemma4-vision"}
REPEATED = {"qwen2-vl-vision", "qwen2.5-vl-vision"}


def positions(preset, sizes):
    """One list of f64 for each token."""
    if preset in REPEATED:
        grid = torch.tensor([sizes])
        ids = get_vision_position_ids(grid, 2)
        if preset == "qwen2.5-vl-vision":
            index, _ = get_vision_window_index(grid, 2, 112, 14)
            ids = ids.reshape(len(ids) // 4, 4, 2)[index].reshape(-1, 2)
        return ids.double().tolist()
    of_axes = COORDINATES.get(preset, [indexes] * len(sizes))
    lists = [[float(Fraction(p)) for p in of(n)] for of, n in zip(of_axes, sizes)]
    mesh = np.meshgrid(*lists, indexing="ij")
    tokens = np.stack([axis.ravel() for axis in mesh], -1)
    return (tokens[:, ::-1] if preset in SWAPPED else tokens).tolist()


def queries(tokens, width):
    t, c = np.meshgrid(np.arange(tokens), np.arange(width), indexing="ij")
    return torch.tensor(((7 * t + 3 * c + 5) % 11 - 5) / 4, dtype=torch.float32)


IDS2 = [[0, 0, 0], [0, 3, 1], [1, 0, 7], [2, 40, 63], [5, 127, 4]]
TEXT3 = [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 3, 2], [4, 4, 4], [700, 711, 750]]
TEXT4 = [[0, 0, 0, 0], [1, 1, 1, 1], [2, 3, 1, 0], [3, 2, 7, 1], [900, 17, 5, 2]]

# preset, reference, width of the small case, its sizes or ids, prefix and suffix tokens, width and sizes or ids of the
# released size, as words for the table.
CASES = [
    ("flux", flux, 32, IDS2, 0, 128, [1, 64, 64], "64 x 64"),
    ("qwen-image", qwen_image, 32, [2, 3, 4], 0, 128, [1, 64, 64], "64 x 64"),
    ("qwen-image", qwen_image, 32, [1, 5, 2], 0, None, None, None),
    ("wan", wan, 32, [2, 3, 2], 0, 128, [21, 45, 80], "21 x 45 x 80"),
    ("hunyuan-video", hunyuan_video, 32, [2, 3, 2], 0, 128, [33, 45, 80], "33 x 45 x 80"),
    ("ltx-video", ltx, 32, [2, 3, 2], 0, 2048, [16, 15, 22], "16 x 15 x 22"),
    ("ltx-video", ltx, 36, [3, 1, 2], 0, None, None, None),
    ("cogvideox", cogvideox, 32, [2, 3, 2], 0, 64, [13, 30, 45], "13 x 30 x 45"),
    ("z-image", z_image, 32, IDS2, 0, 128, [1, 64, 64], "64 x 64"),
    ("lumina2", lumina2, 24, IDS2, 0, 96, [1, 64, 64], "64 x 64"),
    ("cosmos", cosmos, 32, [2, 3, 2], 0, 128, [16, 44, 80], "16 x 44 x 80"),
    ("dinov3", dino, 16, [2, 3], 5, 64, [14, 14], "14 x 14"),
    ("eva02", eva02, 16, [2, 3], 1, 64, [32, 32], "32 x 32"),
    ("timm-pixel", timm_pixel, 16, [2, 3], 0, 64, [14, 14], "14 x 14"),
    ("pixtral", pixtral_vision, 16, [2, 3], 0, 64, [64, 64], "64 x 64"),
    ("llama4-vision", llama4_vision, 16, [3, 3], 0, 88, [24, 24], "24 x 24"),
    ("gemma4-vision", gemma4_vision, 32, [2, 3], 0, 64, [48, 48], "48 x 48"),
    ("qwen2-vl-vision", qwen_vision(qwen2, "Qwen2VLVisionRotaryEmbedding", config_dim="embed_dim"), 16, [1, 4, 6], 0,
     80, [1, 64, 64], "64 x 64"),
    ("qwen2-vl-vision", qwen_vision(qwen3, "Qwen3VLVisionRotaryEmbedding"), 16, [2, 4, 2], 0, None, None, None),
    ("qwen2-vl-vision", qwen_vision(glm4v, "Glm4vVisionRotaryEmbedding"), 16, [1, 2, 4], 0, None, None, None),
    ("qwen2-vl-vision", qwen_vision(ernie, "Ernie4_5_VLMoeVisionRotaryEmbedding"), 16, [1, 2, 2], 0, None, None, None),
    ("qwen2.5-vl-vision", qwen_vision(qwen25, "Qwen2_5_VLVisionRotaryEmbedding", True), 16, [1, 10, 12], 0,
     80, [1, 64, 64], "64 x 64"),
    ("qwen2-vl", text(qwen2, "Qwen2VLRotaryEmbedding", 1e6, "halves", mrope_section=sections(16, 24, 24)), 32, TEXT3, 0,
     128, 4096, "4,096 tokens"),
    ("qwen3-vl", text(qwen3, "Qwen3VLTextRotaryEmbedding", 5e6, "halves", mrope_section=sections(24, 20, 20)), 32, TEXT3, 0,
     128, 4096, "4,096 tokens"),
    ("glm4v", text(glm4v, "Glm4vTextRotaryEmbedding", 1e4, "interleaved", mrope_section=sections(8, 12, 12),
                   partial_rotary_factor=lambda d: 0.5), 32, TEXT3, 0, 128, 4096, "4,096 tokens"),
    ("ernie4.5-vl", text(ernie, "Ernie4_5_VLMoeTextRotaryEmbedding", 5e5, "interleaved",
                         mrope_section=sections(22, 22, 20)), 64, TEXT3, 0, 128, 4096, "4,096 tokens"),
    ("hunyuan-vl", text(hunyuan_vl, "HunYuanVLRotaryEmbedding", 1e4, "halves", mrope_section=sections(16, 16, 16, 16),
                        alpha=lambda d: 1000.0), 32, TEXT4, 0, 128, 4096, "4,096 tokens"),
    ("v-jepa2", vjepa, 32, [2, 3, 3], 0, None, None, None),
    ("v-jepa2", vjepa, 64, [1, 2, 2], 0, None, None, None),
]


def given(where):
    """The arguments of a reference, and the positions of each token."""
    if where and isinstance(where[0], list):
        return {"ids": where}, [[float(p) for p in token] for token in where]
    return {"sizes": where}, None


def entries(preset, d, tokens):
    """Some cosines and sines: token, pair, column of the pair, and bits of four types each."""
    out = []
    both = [PAIRS[preset](d)] + ([SECOND[preset](d)] if preset in SECOND else [])
    for column, pairs in enumerate(both):
        for pair, of in enumerate(pairs):
            for token in {(3 * pair) % len(tokens), (5 * pair + 2) % len(tokens)}:
                if of is None:
                    continue
                axis, rate = of
                numerator, denominator = tokens[token][axis].as_integer_ratio()
                angle = lambda: rate() * arb(fmpq(numerator, denominator))
                bits = []
                for function in (arb.cos, arb.sin):
                    # Rational numbers of half turns have exact sines, which no number of bits tells from their neighbors.
                    bits.append([f"{exact_or_rounded(function, angle, form):0{DIGITS[form.name]}x}" for form in ORDER])
                out.append([token, pair, column, *bits])
    return out


def exact_or_rounded(function, angle, form):
    ctx.prec = 400
    value = function(angle())
    for rational in (-1, Fraction(-1, 2), 0, Fraction(1, 2), 1):
        near = fmpq(Fraction(rational).numerator, Fraction(rational).denominator)
        if value.contains(near) and float(value.rad()) < 2.0**-300:
            return int(np.array(float(rational), "f8").view("u8")) if form.name == "f64" else small(float(rational), form)
    return rounded(lambda: function(angle()), form)


def small(value, form):
    """Bits of a number that every type holds exactly."""
    if form.name == "bf16":
        return int(np.array(value, "f4").view("u4")) >> 16
    kind = {"f32": ("f4", "u4"), "f16": ("f2", "u2")}[form.name]
    return int(np.array(value, kind[0]).view(kind[1]))


def distance(preset, reference, d, where):
    """Largest absolute error of the reference's cosines and sines, measured in extended precision."""
    if isinstance(where, int):
        axes = {"hunyuan-vl": 4}.get(preset, 3)
        where = [[i] * axes for i in range(where)]
    arguments, tokens = given(where)
    if tokens is None:
        if preset in ("flux", "z-image", "lumina2"):
            tokens = positions(preset, where)
            arguments = {"ids": [[int(p) for p in token] for token in tokens]}
        else:
            tokens = positions(preset, where)
    cos, sin, _ = reference(d, **arguments)
    ctx.prec = 120
    pairs = [(a, np.longdouble(str(f().mid().str(30, radius=False)))) if f else None for a, f in
             [of or (0, None) for of in PAIRS[preset](d)]]
    tokens = np.array(tokens, np.longdouble)
    worst = 0.0
    for pair, of in enumerate(pairs):
        if of is None:
            continue
        axis, rate = of
        angles = tokens[:, axis] * rate
        worst = max(worst, float(np.abs(np.cos(angles) - cos[:, pair]).max()),
                    float(np.abs(np.sin(angles) - sin[:, pair]).max()))
    return worst


def main():
    assert np.finfo(np.longdouble).nmant >= 63, "needs extended precision"
    out, table = [], []
    for preset, reference, d, where, prefix, width, released, words in CASES:
        arguments, tokens = given(where)
        _, _, rotate = reference(d, **arguments)
        tokens = tokens or positions(preset, where)
        suffix = 1 if preset == "llama4-vision" else 0
        rotated = rotate(queries(prefix + len(tokens) + suffix, d))
        case = {"preset": preset, "head_dim": d, **arguments, "rotated": [round_all(row) for row in rotated.tolist()],
                "positions": tokens, "entries": entries(preset, d, tokens)}
        out.append(case)
        if released is not None:
            worst = distance(preset, reference, width, released)
            table.append({"preset": preset, "head_dim": width, "size": words, "largest_error": worst})
            figure, power = f"{worst:.1e}".split("e")
            print(f"/// | `{preset}` | {words} | {figure}e{int(power)} |", flush=True)
    windows = []
    for grids in [[[1, 4, 12]], [[1, 10, 12], [2, 6, 6]], [[3, 16, 8]], [[1, 2, 2]]]:
        index, cu_seqlens = get_vision_window_index(torch.tensor(grids), 2, 112, 14)
        windows.append({"grids": grids, "index": index.tolist(), "cu_seqlens": cu_seqlens.tolist()})
    meta = {"made by": f"make_rotary_axial.py with transformers {transformers.__version__}, diffusers "
                       f"{diffusers.__version__}, timm {version('timm')}, torch {torch.__version__}, {versions()}",
            "cases": len(out)}
    print(json.dumps(meta))
    lines = ",\n".join(json.dumps(x) for x in out)
    errors = ",\n".join(json.dumps(x) for x in table)
    (HERE / "rotary_axial.json").write_text(
        f'{{"meta": {json.dumps(meta)},\n"errors": [\n{errors}\n],\n"windows": {json.dumps(windows)},\n"cases": [\n{lines}\n]}}\n')


def round_all(row):
    return [float(np.float32(x)) if x else 0.0 for x in row]


if __name__ == "__main__":
    main()
