"""Seeded checkpoints of a few ten KB, and their files.

A case is a folder with three files: `config.json` in the form of released models, `model.safetensors` (bf16, with the names of released
files), and `expected.safetensors`: inputs, and what PyTorch computes from them in f64 and f32.
"""

import contextlib
import json
import pathlib
import tempfile

import torch
from safetensors.torch import save_file

GOLDEN = pathlib.Path(__file__).parent


@contextlib.contextmanager
def wide():
    """Makes f64 of everything that a model would compute in f32: frequencies, cosines, norms, softmax."""
    kept = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = kept
        torch.set_default_dtype(torch.float32)


def fill(model, seed):
    """Draws weights that bf16 represents, large enough for attention to depend on positions."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in sorted(model.named_parameters()):
        drawn = torch.randn(weight.shape, generator=generator)
        if weight.dim() == 1:
            drawn = 0.2 * drawn + (1 if "norm" in name.lower() and name.endswith("weight") else 0)
        elif not ("embed" in name or "wte" in name or "wpe" in name or "shared" in name):
            drawn *= 1.5 / weight[0].numel() ** 0.5
            # The scores of T5 are not scaled.
            drawn *= 0.3 if name.endswith("Attention.q.weight") else 1
        weight.data.copy_(drawn.bfloat16())


def models(build, seed):
    """Returns the model in f32 and in f64 with the same weights. `build` is called for each."""
    narrow = build().eval()
    fill(narrow, seed)
    with wide():
        double = build().double().eval()
    double.load_state_dict({name: value.double() for name, value in narrow.state_dict().items()})
    return narrow, double


def save(name, config, model, expected):
    """Writes the three files of a case."""
    folder = GOLDEN / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    with tempfile.TemporaryDirectory() as scratch:
        model.bfloat16().save_pretrained(scratch)
        (folder / "model.safetensors").write_bytes((pathlib.Path(scratch) / "model.safetensors").read_bytes())
    save_file({name: value.contiguous() for name, value in expected.items()}, folder / "expected.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{name}: {size / 1024:.0f} KB")


def relative(found, wanted):
    """Returns the largest difference, relative to the largest value."""
    return ((found - wanted).abs().max() / wanted.abs().max()).item()
