"""Writes presets.json: the numbers that reference implementations produce for their own convention.

    python tests/golden/make_presets.py

Where a reference installs from PyPI it is imported and called. The others are restated here as formulas in NumPy,
and the note of the case says so.
"""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
POSITIONS = [0, 1, 2, 3, 49, 100, 1000, 4999]
EVEN = [4, 6, 8, 64, 512]
ODD = [5, 7, 65]
WIDE = [0, 1, 2, 3, 100, 101, 127, 128, 255, 256, 257, 300, 383, 384, 510, 511]


# Formulas ----------------------------------------------------------------------------------------------------

def paper(d, positions):
    if d % 2:
        raise ValueError("odd width")
    angle = np.array(positions)[:, None] * 10000.0 ** (-2 * np.arange(d // 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(positions), d)


def tf_tutorial(d, positions):
    column = np.arange(d)
    angle = np.array(positions)[:, None] * (1 / np.power(10000.0, 2 * (column // 2) / d))
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle)).astype(np.float32)


def tf_notebook(d, positions):
    if d % 2:
        raise ValueError("odd width")
    angle = np.array(positions)[:, None] * 1e-4 ** np.linspace(0, 1, d // 2)
    return np.concatenate([np.sin(angle), np.cos(angle)], 1)


def tensor2tensor(d, positions):
    n = d // 2
    angle = np.array(positions)[:, None] * np.exp(-np.arange(n) * (math.log(10000.0) / max(n - 1, 1)))
    return np.concatenate([np.sin(angle), np.cos(angle), np.zeros((len(positions), d % 2))], 1)


def pytorch_tutorial(d, positions):
    div_term = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    position = torch.tensor(positions).unsqueeze(1)
    out = torch.zeros(len(positions), d)
    out[:, 0::2] = torch.sin(position * div_term)
    out[:, 1::2] = torch.cos(position * div_term)
    return out.numpy()


# Packages ----------------------------------------------------------------------------------------------------

def labml(d, positions):
    from labml_nn.transformers.positional_encoding import get_positional_encoding
    return get_positional_encoding(d, max(positions) + 1)[positions, 0].numpy()


def fairseq(d, positions, padding_idx=1):
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as Reference
    return Reference.get_embedding(max(positions) + 1, d, padding_idx)[positions].numpy()


def fairseq_no_padding(d, positions):
    return fairseq(d, positions, None)


def whisper(d, positions):
    from transformers.models.whisper.modeling_whisper import sinusoids
    return sinusoids(max(positions) + 1, d)[positions].numpy()


def marian(d, positions):
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding as Reference
    return Reference(max(positions) + 1, d).create_weight()[positions].numpy()


def mimi(d, positions):
    from moshi.modules.transformer import create_sin_embedding
    return create_sin_embedding(torch.tensor(positions).view(1, -1, 1), d)[0].numpy()


def positional_encodings(d, positions):
    from positional_encodings.torch_encodings import PositionalEncoding1D
    return PositionalEncoding1D(d)(torch.zeros(1, max(positions) + 1, d))[0][positions].numpy()


def package(name):
    try:
        return version(name)
    except Exception:
        return None


PRESETS = [
    ("paper", paper, POSITIONS, "formula in NumPy f64: sin and cos of p * 10000^(-2i/d), alternating"),
    ("pytorch-tutorial", pytorch_tutorial, POSITIONS,
     "the tutorial's recipe in torch f32: exp(2i * (-ln(10000)/d)), angle and sine in f32"),
    ("labml", labml, POSITIONS, "labml-nn called: f32 by exp, angle and sine in f32"),
    ("tf-tutorial", tf_tutorial, POSITIONS,
     "formula in NumPy: angles and sines in f64, cast to f32; odd widths drop the last cosine, exponent 2i/d with odd d"),
    ("tf-notebook", tf_notebook, POSITIONS, "formula in NumPy f64: rates 1e-4^linspace(0, 1, n), [sines, cosines]"),
    ("tensor2tensor", tensor2tensor, POSITIONS,
     "formula in NumPy f64 (the reference computes in f32): [sines, cosines], end point included, odd widths end in 0"),
    ("fairseq", fairseq, POSITIONS,
     "M2M100SinusoidalPositionalEmbedding.get_embedding with padding_idx = 1: positions are rows of its table, row 1 is "
     "zero, the first token uses row padding_idx + 1 = 2; f32 by exp; odd widths end in 0"),
    ("fairseq-no-padding", fairseq_no_padding, POSITIONS, "the same with padding_idx None: no row is zero"),
    ("whisper", whisper, POSITIONS, "sinusoids() called: f32 by exp, [sines, cosines], end point included"),
    ("marian", marian, [0, 1, 2, 3, 49, 100, 511],
     "create_weight() called: f64, cast to f32; odd widths hold one more sine than cosines, exponent 2i/d with odd d"),
    ("mimi", mimi, POSITIONS, "create_sin_embedding called: f32, angle = p / 10000^(i/(n-1)), [cosines, sines]"),
    ("positional-encodings", positional_encodings, POSITIONS,
     "PositionalEncoding1D called: f32, 1 / 10000^(2i/c) with c = d rounded up to even; odd widths drop the last cosine"),
]


def plain(array, columns):
    array = np.asarray(array)
    if columns is not None:
        array = array[:, columns]
    return [[float(v) for v in row] for row in array]


def case(preset, d, positions, array, note, **more):
    columns = WIDE if d == 512 else None
    return {"preset": preset, "d": d, "positions": positions, "columns": columns, "dtype": str(np.asarray(array).dtype),
            **more, "values": plain(array, columns), "tolerance_note": note}


def fairseq_forward():
    """What a model sees: ids in, rows out. Padding (id 1) gives zeros and does not advance the position."""
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as Reference
    layer = Reference(20, 8, padding_idx=1)
    ids = [[5, 6, 7, 1, 1], [1, 1, 8, 9, 10]]
    out = layer(input_ids=torch.tensor(ids)).numpy()
    return [case("fairseq-forward", 8, list(range(5)), out[b],
                 "the layer called with token ids; 1 is padding; tokens count from row 2, padding is zero",
                 input_ids=ids[b]) for b in range(2)]


def diffusers_cases():
    from diffusers.models.embeddings import get_timestep_embedding
    steps = [0.0, 0.5, 1.0, 3.25, float(np.float32(0.1)), 10.0, 250.75, 999.0, 999.5]
    for d in (4, 6, 8, 64, 512, 5, 65):
        for flip in (False, True):
            for shift in (0, 1):
                out = get_timestep_embedding(torch.tensor(steps), d, flip_sin_to_cos=flip, downscale_freq_shift=shift)
                yield case("diffusers", d, steps, out.numpy(),
                           "get_timestep_embedding called: f32 by exp; odd widths end in 0", flip=flip, shift=shift)


def main():
    cases, refused = [], []
    for name, make, positions, note in PRESETS:
        for d in EVEN + ODD:
            try:
                out = make(d, positions)
                assert out.shape == (len(positions), d)
                cases.append(case(name, d, positions, out, note))
            except (ValueError, RuntimeError, AssertionError) as error:
                refused.append({"preset": name, "d": d, "error": type(error).__name__})
    cases += fairseq_forward()
    cases += diffusers_cases()
    meta = {
        "script": "make_presets.py",
        "python": sys.version.split()[0],
        "packages": {n: package(n) for n in ("numpy", "torch", "transformers", "diffusers", "moshi", "labml-nn",
                                             "positional-encodings")},
        "values": "f32 values are printed as the double of equal value",
        "refused": refused,
    }
    lines = [json.dumps(c) for c in cases]
    text = '{"meta": ' + json.dumps(meta) + ',\n"cases": [\n' + ",\n".join(lines) + "\n]}\n"
    json.loads(text)
    (HERE / "presets.json").write_text(text)
    print(len(cases), "cases,", len(text), "bytes; refused:", [(r["preset"], r["d"], r["error"]) for r in refused])


if __name__ == "__main__":
    main()
