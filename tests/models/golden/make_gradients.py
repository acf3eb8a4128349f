"""Writes gradients.json: losses and gradients of PyTorch for checkpoints of `make_text.py` and `make_vision.py`, before and after a step.

    python tests/models/golden/make_gradients.py

Each gradient is stored as two numbers, its norm and its product with `pattern`.
"""

import json
import pathlib
import tempfile

import torch
import transformers
from common import GOLDEN, wide
from safetensors.torch import load_file

transformers.logging.set_verbosity_error()
RATE = 0.1


def pattern(like):
    """Returns multiples of 1/50 of -1 to 1 that look random."""
    index = torch.arange(like.numel(), dtype=torch.int64)
    return ((index * 7919 % 101 - 50).double() / 50).reshape(like.shape).to(like.dtype)


TOKENS = load_file(GOLDEN / "llama" / "expected.safetensors")["tokens"][None]
PIXELS = load_file(GOLDEN / "vit" / "expected.safetensors")["larger.pixel_values"]


def next_token(model):
    return torch.nn.functional.cross_entropy(model(TOKENS, use_cache=False).logits[0, :-1], TOKENS[0, 1:])


def distance(hidden):
    return (hidden - pattern(hidden)).square().mean()


MODELS = {
    "llama": (transformers.LlamaForCausalLM, next_token),
    "bert": (transformers.BertModel, lambda model: distance(model(TOKENS).last_hidden_state)),
    "vit": (transformers.ViTModel, lambda model: distance(
        model(PIXELS.to(model.dtype), interpolate_pos_encoding=True).last_hidden_state
    )),
}


def step(name):
    cls, loss = MODELS[name]
    extra = {} if name == "llama" else {"add_pooling_layer": False}
    model = cls.from_pretrained(GOLDEN / name, dtype=torch.get_default_dtype(), attn_implementation="eager", **extra)
    before = loss(model)
    before.backward()
    with torch.no_grad():
        gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
        missing = [key for key, value in model.named_parameters() if value.grad is None]
        assert all("mask_token" in key or "pooler" in key for key in missing), missing
        for key, value in model.named_parameters():
            value -= RATE * gradients[key]
        after = loss(model)
        # In the names of files.
        for key, value in model.named_parameters():
            value.copy_(gradients[key])
    return before.item(), after.item(), model


def parts(model):
    """Returns both numbers of each parameter, under its name in files."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        (path,) = pathlib.Path(folder).glob("*.safetensors")
        named = load_file(path)
    return {key: [value.norm().item(), (value * pattern(value)).sum().item()] for key, value in sorted(named.items())}


def main():
    found = {}
    for name in MODELS:
        with wide():
            before, after, model = step(name)
        found[name] = {"before": before, "after": after, "gradients": parts(model)}
        narrow = parts(step(name)[2])
        apart = max(abs(a - b) / n for key, (n, a) in found[name]["gradients"].items() for b in [narrow[key][1]] if n > 1e-9)
        print(f"{name}: loss {found[name]['before']:.6f} to {found[name]['after']:.6f}, f32 {apart:.1e} from f64")
    (GOLDEN / "gradients.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
