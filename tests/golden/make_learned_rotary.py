"""Writes learned_rotary.json: rotations by learned frequencies and their gradients, in f64, by torch.

    python tests/golden/make_learned_rotary.py

`mixed` is timm's `get_mixed_freqs` and `apply_rot_embed` (interleaved pairs), `scaled` the forward pass of
transformers' MistralLarge4TextRotaryEmbedding with half-split pairs, both restated in f64 here, since they compute in f32.
"""

import json
from pathlib import Path

import torch


def interleaved(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def half_split(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def flat(x):
    return x.detach().flatten().tolist()


def case(name, shape, weights, angles_of, positions, apply):
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    angles = angles_of(weights, positions)
    y = apply(x, angles.cos(), angles.sin())
    loss = torch.randn(shape, dtype=torch.float64)
    (y * loss).sum().backward()
    return {"name": name, "shape": list(shape), "weights_shape": list(weights.shape), "weights": flat(weights),
            "positions": positions.tolist(), "x": flat(x), "loss": flat(loss), "y": flat(y), "x_grad": flat(x.grad),
            "weights_grad": flat(weights.grad)}


def main():
    torch.manual_seed(7)
    heads, depth, dim = 3, 2, 8
    freqs = torch.randn(2, depth, heads, dim // 2, dtype=torch.float64, requires_grad=True)
    patches = torch.tensor([[x, y] for y in range(2) for x in range(3)], dtype=torch.float64)

    def mixed(freqs, positions):
        t_x, t_y = positions[:, 0], positions[:, 1]
        return (t_x[:, None] * freqs[0, 1][:, None] + t_y[:, None] * freqs[1, 1][:, None])

    alpha = torch.randn(4, dtype=torch.float64, requires_grad=True)
    inv_freq = 1.0 / (10000.0 ** (torch.arange(0, 8, 2, dtype=torch.float64) / 8))
    steps = torch.tensor([0.0, 1.0, 2.0, 50.0, 7.0], dtype=torch.float64)
    cases = [
        case("mixed", (2, heads, 6, dim), freqs, mixed, patches, interleaved),
        case("scaled", (2, 3, 5, 8), alpha, lambda a, p: p[:, None] * (inv_freq * a.exp()), steps, half_split),
    ]
    made = f"make_learned_rotary.py with torch {torch.__version__}"
    path = Path(__file__).parent / "learned_rotary.json"
    path.write_text(json.dumps({"meta": {"made by": made}, "cases": cases}) + "\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
