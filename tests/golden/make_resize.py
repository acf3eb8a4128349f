"""Writes resize.json: weights of resized axes, and grids that libraries have resized.

    python tests/golden/make_resize.py

`weights`: for each kernel, option and pair of sizes the weights as the nearest f64 to the fraction, computed here with
Python's fractions from the definition of the kernel; `distance` tells how far the matrices of torch (f64 and f32), JAX
and PIL are from them. `presets`: a small table, resized by the library that a preset is named after.
"""

import importlib
import json
import struct
import sys
import types
from fractions import Fraction
from math import floor
from pathlib import Path

import jax
import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

jax.config.update("jax_enable_x64", True)
HERE = Path(__file__).parent
SIZES = [(1, 1), (1, 4), (5, 1), (2, 3), (3, 2), (4, 9), (9, 4), (7, 7), (14, 16), (16, 14), (37, 16), (16, 37), (24, 5), (13, 50)]
FACTORS = [(16, Fraction(11, 10)), (37, Fraction(221, 370)), (5, Fraction(2)), (8, Fraction(1, 2)), (10, Fraction(3, 7))]


def cubic(a):
    def kernel(x):
        x = abs(x)
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return a * (((x - 5) * x + 8) * x - 4) if x < 2 else Fraction(0)

    return kernel


def linear(x):
    return max(1 - abs(x), Fraction(0))


def weights(kernel, antialias, align, n, m, scale):
    """One list of (source, weight) for each of the m positions; `scale` is the distance of two of them."""
    if align:
        scale = Fraction(n - 1, m - 1) if m > 1 else Fraction(0)
    rows = []
    for i in range(m):
        if kernel == "nearest":
            rows.append([(min(floor(i * scale), n - 1), Fraction(1))])
            continue
        if kernel == "nearest-exact":
            rows.append([(min(floor((i + Fraction(1, 2)) * scale), n - 1), Fraction(1))])
            continue
        keys = kernel == "bicubic-keys" or antialias
        function = linear if kernel == "bilinear" else cubic(Fraction(-1, 2) if keys else Fraction(-3, 4))
        x = i * scale if align and not antialias else (i + Fraction(1, 2)) * scale - Fraction(1, 2)
        row = {}
        if antialias or kernel == "bicubic-keys":
            stretch = max(scale, Fraction(1)) if antialias else Fraction(1)
            for j in range(n):
                w = function((j - x) / stretch)
                if w:
                    row[j] = w
            total = sum(row.values())
            row = {j: w / total for j, w in row.items()}
        else:
            for j in range(floor(x) - 1, floor(x) + 3):
                w = function(x - j)
                if w:
                    k = min(max(j, 0), n - 1)
                    row[k] = row.get(k, Fraction(0)) + w
            assert sum(row.values()) == 1
        rows.append(sorted(row.items()))
    return rows


def matrix(rows, n):
    out = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        for j, w in row:
            out[i, j] = float(w)
    return out


def by_torch(kernel, antialias, align, n, m, factor, dtype):
    eye = torch.eye(n, dtype=dtype).reshape(1, n, 1, n)
    options = {} if kernel.startswith("nearest") else {"align_corners": align, "antialias": antialias}
    size = {"size": (1, m)} if factor is None else {"scale_factor": (1.0, float(factor))}
    return F.interpolate(eye, mode=kernel, **size, **options)[0, :, 0, :].T.double().numpy()


def by_jax(kernel, antialias, n, m):
    method = {"bicubic-keys": "cubic", "bilinear": "linear", "nearest-exact": "nearest"}[kernel]
    return np.asarray(jax.image.resize(np.eye(n), (m, n), method, antialias=antialias))


def by_pil(kernel, n, m):
    method = {"bicubic-keys": Image.BICUBIC, "bilinear": Image.BILINEAR}[kernel]
    return np.array(Image.fromarray(np.eye(n, dtype=np.float32)).resize((n, m), method), dtype=np.float64)


def bits(value):
    return struct.pack(">d", float(value)).hex()


def all_weights():
    cases = []
    distances = {}

    def note(name, kernel, antialias, align, found, rows, n):
        key = f"{name} {kernel}{' antialias' * antialias}{' align_corners' * align}"
        distances[key] = max(distances.get(key, 0.0), float(np.abs(found - matrix(rows, n)).max()))

    kernels = [(k, aa, al) for k in ("bicubic", "bicubic-keys", "bilinear") for aa in (False, True) for al in (False, True)]
    kernels += [("nearest", False, False), ("nearest-exact", False, False)]
    for kernel, antialias, align in kernels:
        for n, m in SIZES:
            rows = weights(kernel, antialias, align, n, m, Fraction(n, m))
            if kernel != "bicubic-keys":
                for name, dtype in (("torch-f64", torch.float64), ("torch-f32", torch.float32)):
                    found = by_torch(kernel, antialias, align, n, m, None, dtype)
                    note(name, kernel, antialias, align, found, rows, n)
            if not align and kernel in ("bicubic-keys", "bilinear", "nearest-exact"):
                note("jax-f64", kernel, antialias, align, by_jax(kernel, antialias, n, m), rows, n)
                if antialias:
                    note("pil", kernel, antialias, align, by_pil(kernel, n, m), rows, n)
            cases.append(dict(kernel=kernel, antialias=antialias, align_corners=align, by="size", **{"from": n}, to=m, rows=rows))
        if align or kernel == "bicubic-keys":
            continue
        for n, factor in FACTORS:
            m = floor(n * factor)
            rows = weights(kernel, antialias, align, n, m, 1 / factor)
            found = by_torch(kernel, antialias, align, n, m, factor, torch.float64)
            note("torch-f64 factor", kernel, antialias, align, found, rows, n)
            cases.append(dict(kernel=kernel, antialias=antialias, align_corners=align, by=f"{factor.numerator}/{factor.denominator}", **{"from": n}, to=m, rows=rows))
    for case in cases:
        case["rows"] = [[[j, bits(w)] for j, w in row] for row in case["rows"]]
    return cases, distances


def table(rows, width):
    """Entries within -1..=1, exact in f16."""
    return torch.tensor([[((31 * (r * width + c) + 7 * c * c) % 129 - 64) / 64 for c in range(width)] for r in range(rows)])


def timm_modules(*names):
    """Modules of timm alone: the package needs torchvision."""
    root = Path(importlib.util.find_spec("timm").submodule_search_locations[0])
    for name, path in (("timm", root), ("timm.layers", root / "layers")):
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    for name in ("torchvision", "torchvision.models", "torchvision.models.feature_extraction", "torchvision.ops", "torchvision.ops.misc"):
        sys.modules.setdefault(name, types.ModuleType(name))
    found = [importlib.import_module(f"timm.layers.{name}") for name in names]
    # transformers looks for these packages.
    for name in [name for name in sys.modules if name.split(".")[0] in ("timm", "torchvision")]:
        del sys.modules[name]
    return found


WIDTH = 3




def vit_like(path, cls, config, n, h, w, prefix):
    module = importlib.import_module(f"transformers.models.{path}.modeling_{path}")
    configs = importlib.import_module(f"transformers.models.{path}.configuration_{path}")
    layer = getattr(module, cls)(getattr(configs, config)(hidden_size=WIDTH, image_size=n * 2, patch_size=2, num_attention_heads=1))
    layer.position_embeddings.data = table(prefix + n * n, WIDTH)[None]
    return layer.interpolate_pos_encoding(torch.zeros(1, prefix + h * w, WIDTH), h * 2, w * 2)[0]


def dinov2_offset(n, h, w):
    """dinov2/models/vision_transformer.py, interpolate_pos_encoding with interpolate_offset 0.1."""
    pos = table(1 + n * n, WIDTH)[None]
    sx, sy = float(h + 0.1) / n, float(w + 0.1) / n
    patch = F.interpolate(pos[:, 1:].reshape(1, n, n, WIDTH).permute(0, 3, 1, 2), mode="bicubic", antialias=False, scale_factor=(sx, sy))
    assert patch.shape[-2:] == (h, w)
    return torch.cat((pos[:, :1], patch.permute(0, 2, 3, 1).reshape(1, -1, WIDTH)), 1)[0]


def siglip(n, h, w):
    from transformers.models.siglip.configuration_siglip import SiglipVisionConfig
    from transformers.models.siglip.modeling_siglip import SiglipVisionEmbeddings

    layer = SiglipVisionEmbeddings(SiglipVisionConfig(hidden_size=WIDTH, image_size=n * 2, patch_size=2))
    layer.position_embedding.weight.data = table(n * n, WIDTH)
    return layer.interpolate_pos_encoding(torch.zeros(1, h * w, WIDTH), h * 2, w * 2)[0]


def siglip2(n, h, w):
    from transformers.models.siglip2.modeling_siglip2 import Siglip2VisionEmbeddings

    grid = table(n * n, WIDTH).reshape(n, n, WIDTH)
    return Siglip2VisionEmbeddings.resize_positional_embeddings(grid, torch.tensor([[h, w]]), h * w)[0]


def packed(n, h, w, merge, **options):
    from transformers.vision_utils import get_vision_interpolation_indices_and_weights

    indices, factors = get_vision_interpolation_indices_and_weights(
        torch.tensor([[1, h, w]]), n, spatial_merge_size=merge, **options
    )
    return (table(n * n, WIDTH)[indices] * factors[:, :, None]).sum(1)


def glm4v(n, h, w):
    from transformers.models.glm4v.configuration_glm4v import Glm4vVisionConfig
    from transformers.models.glm4v.modeling_glm4v import Glm4vVisionEmbeddings
    from transformers.vision_utils import get_vision_position_ids

    layer = Glm4vVisionEmbeddings(Glm4vVisionConfig(hidden_size=WIDTH, image_size=n * 2, patch_size=2))
    layer.position_embedding.weight.data = table(n * n, WIDTH)
    sizes = torch.tensor([[1, h, w]])
    ids = get_vision_position_ids(sizes, 2)
    return layer(torch.zeros(h * w, WIDTH), [h * w], sizes, ids[:, 0], ids[:, 1])


def sam2(n, h, w):
    from transformers.models.sam2.modeling_sam2 import Sam2HieraDetModel

    stub = types.SimpleNamespace(
        pos_embed=table(n * n, WIDTH).reshape(1, n, n, WIDTH).permute(0, 3, 1, 2), pos_embed_window=torch.zeros(1, WIDTH, 1, 1)
    )
    return Sam2HieraDetModel._get_pos_embed(stub, (h, w)).reshape(-1, WIDTH)


def beit(n, h, w):
    """`n` is the window's rows, the window has n + 1 columns; h and w are the sides of the new window."""
    from transformers.models.beit.configuration_beit import BeitConfig
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    layer = BeitRelativePositionBias(BeitConfig(image_size=(n * 2, n * 2 + 2), patch_size=2, num_attention_heads=WIDTH))
    layer.relative_position_bias_table.data = table((2 * n - 1) * (2 * n + 1) + 3, WIDTH)
    bias = layer((h, w))[0].permute(1, 2, 0).reshape(-1, WIDTH)
    index = layer.generate_relative_position_index((h, w)).reshape(-1)
    out = torch.zeros((2 * h - 1) * (2 * w - 1) + 3, WIDTH)
    out[index] = bias.detach()
    return out


def jax_resize(n, h, w):
    grid = np.array(table(n * n, WIDTH), dtype=np.float32).reshape(n, n, WIDTH)
    return torch.tensor(np.asarray(jax.image.resize(grid, (h, w, WIDTH), "cubic"))).reshape(-1, WIDTH)


def presets():
    pos_embed, pos_embed_rel = timm_modules("pos_embed", "pos_embed_rel")
    timm = lambda n, h, w: pos_embed.resample_abs_pos_embed(table(1 + n * n, WIDTH)[None], [h, w])[0]
    swin = lambda n, h, w: pos_embed_rel.resize_rel_pos_bias_table_simple(
        table(n * n, WIDTH), ((h + 1) // 2, (h + 1) // 2), (h * w, WIDTH)
    )
    levit = lambda n, h, w: pos_embed_rel.resize_rel_pos_bias_table_levit(table(n * n, WIDTH), (h * w, WIDTH))
    registers = lambda *a: vit_like("dinov2_with_registers", "Dinov2WithRegistersEmbeddings", "Dinov2WithRegistersConfig", *a, 1)
    usual = [(14, 16, 16), (16, 14, 14), (6, 9, 5), (9, 4, 12), (5, 1, 3)]
    even = [(14, 16, 16), (16, 14, 10), (6, 10, 4), (9, 4, 12)]
    odd = [(13, 15, 15), (15, 7, 7), (7, 13, 13)]
    runs = [
        ("vit", lambda *a: vit_like("dinov2", "Dinov2Embeddings", "Dinov2Config", *a, 1), usual),
        ("timm", timm, usual),
        ("dinov2-offset", dinov2_offset, usual),
        ("dinov2-registers", registers, usual),
        ("siglip", siglip, usual),
        ("siglip2", siglip2, usual),
        ("qwen3-vl", lambda *a: packed(*a, 2, mode="bilinear", align_corners=True), even),
        ("paddleocr-vl", lambda *a: packed(*a, 1, mode="bilinear", align_corners=False), usual),
        ("glm4v", glm4v, even),
        ("sam2", sam2, usual),
        ("beit", beit, [(4, 6, 5), (7, 3, 4)]),
        ("swin", swin, odd),
        ("levit", levit, odd),
        ("jax", jax_resize, usual),
    ]
    for name, run, sizes in runs:
        for n, h, w in sizes:
            out = run(n, h, w).detach()
            assert out.shape[1] == WIDTH and out.dtype == torch.float32
            sides, to = ([n, n], [h, w]) if name != "beit" else ([2 * n - 1, 2 * n + 1], [2 * h - 1, 2 * w - 1])
            values = out.reshape(-1).numpy().view(np.uint32)
            yield dict(preset=name, sides=sides, to=to, values=" ".join(f"{v:08x}" for v in values))


def main():
    cases, distances = all_weights()
    for key, distance in sorted(distances.items()):
        print(f"{key:50} {distance:.2e}")
    meta = {"torch": torch.__version__, "jax": jax.__version__, "numpy": np.__version__}
    meta |= {name: importlib.metadata.version(name) for name in ("transformers", "timm", "pillow")}
    lines = ["{", f'"meta": {json.dumps(meta)},', f'"width": {WIDTH},', f'"distances": {json.dumps(distances)},', '"weights": [']
    lines.append(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases))
    lines += ["],", '"presets": [']
    lines.append(",\n".join(json.dumps(case, separators=(",", ":")) for case in presets()))
    lines += ["]", "}"]
    (HERE / "resize.json").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
