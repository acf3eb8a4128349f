"""Writes rotary_axes.json: positions with several coordinates, and the tables made of them, by transformers.

    python tests/golden/make_rotary_axes.py

M-RoPE: get_rope_index of Qwen2-VL and Qwen2.5-VL and of Qwen3-VL on sequences of text, images and videos, and which
coordinate each pair follows. Vision: the position ids of patches and the rotary modules of Qwen2-VL and Pixtral.
"""

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import torch
import transformers
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.pixtral.configuration_pixtral import PixtralVisionConfig
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen25
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig, Qwen2VLVisionConfig
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig
from transformers.vision_utils import get_vision_position_ids

HERE = Path(__file__).parent
logging.getLogger("transformers").setLevel(logging.ERROR)

# Pieces: ("text", tokens) or ("image" or "video", [t, h, w] in patches). Adjacent pieces of one kind would be
# one run of token types, so text stands between them.
SEQUENCES = [
    [("text", 3), ("image", [1, 4, 6]), ("text", 5)],
    [("image", [1, 2, 2]), ("text", 1), ("image", [1, 8, 4]), ("text", 2), ("video", [3, 4, 8]), ("text", 7)],
    [("text", 10), ("video", [6, 4, 4]), ("text", 1), ("image", [1, 6, 10])],
    [("text", 1), ("video", [2, 2, 2])],
]
MERGE = 2


def token_types(pieces):
    types, images, videos = [], [], []
    for kind, size in pieces:
        if kind == "text":
            types += [0] * size
        else:
            t, h, w = size
            types += [1 if kind == "image" else 2] * (t * h * w // MERGE**2)
            (images if kind == "image" else videos).append(size)
    return types, images, videos


def rope_index(model, pieces, tokens_per_second=None, **more):
    types, images, videos = token_types(pieces)
    vision = SimpleNamespace(spatial_merge_size=MERGE, tokens_per_second=tokens_per_second)
    this = SimpleNamespace(config=SimpleNamespace(vision_config=vision))
    this.get_vision_position_ids = lambda *a, **k: model.get_vision_position_ids(this, *a, **k)
    ids, deltas = model.get_rope_index(
        this, torch.zeros(1, len(types), dtype=torch.long), torch.tensor([types], dtype=torch.int32),
        torch.tensor(images) if images else None, torch.tensor(videos) if videos else None, **more)
    return ids[:, 0].tolist(), int(deltas[0, 0])


def axes(rotary, pairs):
    """Which coordinate each pair follows: cosines at 1 in one coordinate and 0 in the others."""
    found = [None] * pairs
    for axis in range(3):
        ids = torch.zeros(3, 1, 1, dtype=torch.long)
        ids[axis] = 1
        sin = rotary(torch.zeros(1), ids)[1][0, 0, :pairs]
        for pair in range(pairs):
            if sin[pair] != 0:
                assert found[pair] is None
                found[pair] = axis
    return found


def main():
    out = {"meta": {"made by": f"make_rotary_axes.py with transformers {transformers.__version__}, "
                               f"torch {torch.__version__}", "merge": MERGE}}
    out["sequences"] = []
    for pieces in SEQUENCES:
        positions, delta = rope_index(qwen2.Qwen2VLModel, pieces)
        out["sequences"].append({"model": "qwen2_vl", "pieces": pieces, "positions": positions, "delta": delta,
                                 "time_interval": 1.0})
        videos = sum(kind == "video" for kind, _ in pieces)
        for seconds in (1.0, 0.7):
            if not videos:
                continue
            positions, delta = rope_index(qwen25.Qwen2_5_VLModel, pieces, tokens_per_second=4,
                                          second_per_grid_ts=torch.tensor([seconds] * videos))
            out["sequences"].append({"model": "qwen2_5_vl", "pieces": pieces, "positions": positions, "delta": delta,
                                     "time_interval": 4 * float(torch.tensor(seconds))})
    out["axes"] = []
    for sections in ([16, 24, 24], [8, 12, 12], [20, 20, 24]):
        config = Qwen2VLTextConfig(hidden_size=4 * 2 * sum(sections), num_attention_heads=4, rope_parameters={
            "rope_type": "default", "rope_theta": 1e6, "mrope_section": sections})
        out["axes"].append({"arrangement": "chunked", "sections": sections,
                            "axes": axes(qwen2.Qwen2VLRotaryEmbedding(config), sum(sections))})
    for sections in ([24, 20, 20], [11, 11, 10], [16, 8, 8]):
        config = Qwen3VLTextConfig(head_dim=2 * sum(sections), rope_parameters={
            "rope_type": "default", "rope_theta": 5e6, "mrope_section": sections, "mrope_interleaved": True})
        out["axes"].append({"arrangement": "interleaved", "sections": sections,
                            "axes": axes(qwen3.Qwen3VLTextRotaryEmbedding(config), sum(sections))})
    out["patches"] = []
    for grids, merge in (([[1, 4, 6]], 2), ([[1, 4, 4], [2, 2, 6]], 2), ([[1, 3, 5]], 1), ([[3, 6, 3]], 3)):
        ids = get_vision_position_ids(torch.tensor(grids), merge)
        out["patches"].append({"grids": grids, "merge": merge, "rows": ids[:, 0].tolist(),
                               "columns": ids[:, 1].tolist()})
    out["vision"] = []
    ids = get_vision_position_ids(torch.tensor([[1, 14, 10]]), 2)
    config = Qwen2VLVisionConfig(embed_dim=1280, num_heads=16)
    cases = [("same", 80, qwen2.Qwen2VLVisionRotaryEmbedding(config), ids)]
    config = PixtralVisionConfig(hidden_size=1024, num_attention_heads=16)
    cases.append(("alternating", 64, pixtral.PixtralVisionRotaryEmbedding(config),
                  get_vision_position_ids(torch.tensor([[1, 9, 7]]), 1)))
    for name, head_dim, rotary, ids in cases:
        cos, sin = rotary(torch.zeros(1), ids)
        assert cos.shape[-1] == head_dim and torch.equal(cos[:, : head_dim // 2], cos[:, head_dim // 2 :])
        out["vision"].append({
            "frequencies": name, "head_dim": head_dim, "rows": ids[:, 0].tolist(), "columns": ids[:, 1].tolist(),
            "base": rotary.config.rope_parameters["rope_theta"],
            "cos": cos[:, : head_dim // 2].tolist(), "sin": sin[:, : head_dim // 2].tolist()})
    (HERE / "rotary_axes.json").write_text(
        "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}\n")


if __name__ == "__main__":
    main()
