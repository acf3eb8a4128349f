"""Writes grids.json: sinusoidal encodings of small grids, as libraries compute them.

    python tests/golden/make_grids.py
"""

import importlib.metadata
import json
import math
from pathlib import Path

import torch
from diffusers.models.embeddings import get_2d_sincos_pos_embed, get_3d_sincos_pos_embed
from positional_encodings.torch_encodings import PositionalEncoding1D, PositionalEncoding2D, PositionalEncoding3D
from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding
from transformers.models.omdet_turbo import modeling_omdet_turbo
from transformers.models.rt_detr.modeling_rt_detr import build_2d_sinusoidal_position_embedding

from make_resize import timm_modules

HERE = Path(__file__).parent


def vit_mae(d, h, w):
    """The table of ViT-MAE: the halves of transformers' function change places, as ViTMAEPreTrainedModel has them."""
    table = build_2d_sinusoidal_position_embedding(height=h, width=w, embed_dim=d, cls_token=True)
    return torch.cat([table[:, d // 2 :], table[:, : d // 2]], dim=-1)


def detr(d, h, w, normalize, dtype, mask=None):
    shape = torch.Size((1, 1, h, w))
    build = DetrSinePositionEmbedding.build_sine_position_embedding
    out = build(shape, "cpu", dtype, d // 2, normalize=normalize, scale=2 * math.pi, mask=mask)
    return out[0].permute(1, 2, 0).reshape(h * w, d)


def omdet(d, w, h):
    for name in dir(modeling_omdet_turbo):
        found = getattr(getattr(modeling_omdet_turbo, name), "build_2d_sincos_position_embedding", None)
        if found is not None:
            return found(w, h, d)[0]
    raise ValueError("OmDet-Turbo has no such function")


def cases():
    [timm] = timm_modules("pos_embed_sincos")
    for d, h, w in [(16, 3, 5), (96, 30, 30), (8, 4, 2)]:
        yield dict(preset="vit-mae", d=d, sides=[h, w]), vit_mae(d, h, w)
        yield dict(preset="rt-detr", d=d, sides=[h, w]), build_2d_sinusoidal_position_embedding(h, w, d)
        yield dict(preset="omdet", d=d, sides=[w, h]), omdet(d, w, h)
        yield dict(preset="timm", d=d, sides=[h, w]), timm.build_sincos2d_pos_embed([h, w], d)
        for base, scale in [(h, 1.0), (16, 2.0)] if h == w else [(16, 1.5)]:
            table = get_2d_sincos_pos_embed(d, (h, w), base_size=base, interpolation_scale=scale)
            yield dict(preset="dit", d=d, sides=[h, w], base=base, scale=scale), table.float()
        for dtype in (torch.float32, torch.float64):
            yield dict(preset="detr", d=d, sides=[h, w]), detr(d, h, w, True, dtype)
            yield dict(preset="detr-count", d=d, sides=[h, w]), detr(d, h, w, False, dtype)
            mask = torch.ones(1, h, w, dtype=torch.bool)
            mask[:, -1:] = False
            mask[:, :, -1:] = False
            flat = [int(m) for m in mask.flatten()]
            yield dict(preset="detr", d=d, sides=[h, w], mask=flat), detr(d, h, w, True, dtype, mask)
            yield dict(preset="detr-count", d=d, sides=[h, w], mask=flat), detr(d, h, w, False, dtype, mask)
    for d, t, h, w in [(16, 3, 2, 4), (64, 2, 6, 5)]:
        table = get_3d_sincos_pos_embed(d, (w, h), t, 1.875, 1.0)
        yield dict(preset="cogvideox", d=d, sides=[t, h, w]), table.reshape(-1, d).float()
    for d in (4, 6, 7, 8, 12, 13, 24):
        for cls, sides in ((PositionalEncoding1D, [9]), (PositionalEncoding2D, [4, 5]), (PositionalEncoding3D, [2, 3, 4])):
            table = cls(d)(torch.zeros(1, *sides, d))
            yield dict(preset=f"positional-encodings-{len(sides)}d", d=d, sides=sides), table.reshape(-1, d)


def main():
    lines = []
    for case, table in cases():
        case |= {"dtype": str(table.dtype).removeprefix("torch.")}
        if table.shape[0] > 100:
            case["rows"] = [1, table.shape[0] // 2 - 3, table.shape[0] - 1]
            table = table[case["rows"]]
        values = ",".join(repr(x) if x % 1 else str(int(x)) for x in table.double().flatten().tolist())
        assert table.shape[1] == case["d"]
        lines.append(json.dumps(case)[:-1] + f', "values": [{values}]}}')
    meta = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "diffusers", "positional-encodings", "timm")}
    body = ",\n".join(lines)
    (HERE / "grids.json").write_text(f'{{\n"meta": {json.dumps(meta)},\n"cases": [\n{body}\n]\n}}\n')


if __name__ == "__main__":
    main()
