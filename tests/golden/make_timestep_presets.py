"""Writes timestep_presets.json: timestep embeddings of each preset, exactly rounded and by their references.

    python tests/golden/make_timestep_presets.py

`exact` holds bit patterns of f64, f32, f16 and bf16 per entry, by Arb: amplitude * sin or cos(scale * t * w), everything
the exact value of a double, w = max_period^(-i / (n - shift)). `reference` holds what the library computes in f32:
diffusers' get_timestep_embedding; Wuerstchen's get_timestep_ratio_embedding (diffusers); for MLX, which is not installed
here, its formula in NumPy. `distance` is the largest distance of the reference from the exact value over all timesteps of
the case; timesteps are drawn over the range that the model uses.
"""

import json
import math
import random
from pathlib import Path

import numpy as np
import torch
from diffusers.models.embeddings import get_timestep_embedding
from flint import arb, ctx, fmpq

from exact import ORDER, round_ball_all, versions

HERE = Path(__file__).parent
MAX_PERIOD = 10000.0

PRESETS = {
    # scale, cosines first, shift, largest timestep
    "diffusers": (1.0, False, 1.0, 1000),
    "stable-diffusion": (1.0, True, 0.0, 1000),
    "sd3": (1.0, True, 0.0, 1000),
    "flux": (1000.0, True, 0.0, 1),
    "wuerstchen": (10000.0, False, 1.0, 1),
    "mlx": (1.0, False, 1.0, 2048),
}


def exact(t, dim, scale, flip, shift, amplitude):
    n = dim // 2
    row = []
    sines, cosines = [], []
    for i in range(n):
        ctx.prec = 200
        while True:
            w = (-(arb(MAX_PERIOD).log() * arb(fmpq(i) / (fmpq(n) - fmpq(*shift.as_integer_ratio()))))).exp()
            s, c = (w * arb(t) * arb(scale)).sin_cos()
            a, b = (round_ball_all(x * arb(amplitude), ORDER) for x in (s, c))
            if a and b:
                break
            ctx.prec *= 2
        sines.append(a)
        cosines.append(b)
    row = cosines + sines if flip else sines + cosines
    return row + [[0] * 4] * (dim % 2)


def ratio_embedding(t, dim):
    """StableCascadeUNet.get_timestep_ratio_embedding, by diffusers."""
    from types import SimpleNamespace

    from diffusers.models.unets.unet_stable_cascade import StableCascadeUNet
    this = SimpleNamespace(config=SimpleNamespace(timestep_ratio_embedding_dim=dim))
    return StableCascadeUNet.get_timestep_ratio_embedding(this, t)


def mlx(t, dim):
    """mlx.nn.SinusoidalPositionalEncoding(dim, cos_first=False) with its defaults, in f32."""
    one_zero = 1 - np.arange(0, dim // 2, dtype=np.float32) / (dim // 2 - 1)
    low, high = math.log(0.0001), math.log(1)
    sigmas = np.exp(one_zero * np.float32(high - low) + np.float32(low))
    y = t.numpy()[:, None] * sigmas
    return torch.from_numpy(np.concatenate([np.sin(y), np.cos(y)], -1) * np.float32((2 / dim) ** 0.5))


def reference(name, t, dim):
    scale, flip, shift, _ = PRESETS[name]
    if name == "wuerstchen":
        return ratio_embedding(t, dim)
    if name == "mlx":
        return mlx(t, dim)
    return get_timestep_embedding(t, dim, flip_sin_to_cos=flip, downscale_freq_shift=shift, scale=scale)


def timesteps(rng, most):
    if most == 1:
        values = [0.0, 1.0, 0.5, 2.0**-24] + [rng.random() for _ in range(4)]
    else:
        values = [0.0, 1.0, float(most - 1), 0.5] + [rng.uniform(0, most) for _ in range(2)] + [
            float(rng.randrange(most)) for _ in range(2)]
    return [float(np.float32(v)) for v in values] + [-3.25, float(np.float32(1e-6))]


def value(bits):
    return np.array(bits, np.uint64).view(np.float64)


def main():
    rng = random.Random(17)
    cases = []
    for name, (scale, flip, shift, most) in PRESETS.items():
        for dim in (8, 64, 320) + (() if name in ("mlx",) else (5, 33)):
            ts = timesteps(rng, most)
            amplitude = math.sqrt(2 / dim) if name == "mlx" else 1.0
            rows = [exact(t, dim, scale, flip, shift, amplitude) for t in ts]
            found = reference(name, torch.tensor(ts, dtype=torch.float32), dim).double().numpy()
            wanted = np.array([value([e[0] for e in row]) for row in rows])
            few = ts if dim < 40 else ts[:4] if dim < 300 else ts[2:3]
            cases.append({
                "preset": name,
                "dim": dim,
                "timesteps": few,
                "exact": [["/".join(f"{b:x}" for b in e) for e in row] for row, t in zip(rows, ts) if t in few],
                "reference": [row for row, t in zip(found.tolist(), ts) if t in few],
                "distance": float(np.abs(found - wanted).max()),
            })
            print(name, dim, cases[-1]["distance"])
    # The largest distance of each preset at the width of its model, over many timesteps, against float64, whose own
    # distance is below 1e-12.
    distances = {}
    for name, (scale, flip, shift, most) in PRESETS.items():
        dim = 256 if most == 1 else 320
        ts = torch.arange(0, 1000, dtype=torch.float32) if most > 1 else torch.linspace(0, 1, 1001)
        n = dim // 2
        w = MAX_PERIOD ** (-np.arange(n) / (n - shift))
        angle = ts.double().numpy()[:, None] * scale * w
        parts = [np.cos(angle), np.sin(angle)] if flip else [np.sin(angle), np.cos(angle)]
        amplitude = math.sqrt(2 / dim) if name == "mlx" else 1.0
        wanted = np.concatenate(parts, -1) * amplitude
        distances[name] = float(np.abs(reference(name, ts, dim).double().numpy() - wanted).max())
        for dtype in (torch.float16, torch.bfloat16):
            # As Candle's models compute: frequencies, product, and functions in the model's type.
            low = (ts[:, None].to(dtype) * scale * torch.from_numpy(w).to(dtype)[None]).double().numpy()
            parts = [np.cos(low), np.sin(low)] if flip else [np.sin(low), np.cos(low)]
            distances[f"{name} in {dtype}"] = float(np.abs(np.concatenate(parts, -1) * amplitude - wanted).max())
    print(distances)
    # diffusers' own f32 bits at integer and fractional timesteps.
    recipe = []
    for dim, shift, scale in ((320, 0.0, 1.0), (320, 1.0, 1.0), (256, 0.0, 1000.0), (64, 0.5, 3.7)):
        ts = [0.0, 1.0, 17.0, 499.5, 999.0, 0.123456789]
        ts = [float(np.float32(t)) for t in ts]
        out = get_timestep_embedding(torch.tensor(ts), dim, True, shift, scale)
        n = dim // 2
        freq = torch.exp(-math.log(10000) * torch.arange(0, n, dtype=torch.float32) / (n - shift))
        bits = lambda x: [f"{int(b):08x}" for b in x.contiguous().view(-1).numpy().view(np.uint32)]
        recipe.append({"dim": dim, "shift": shift, "scale": scale, "timesteps": ts,
                       "inv_freq": bits(freq), "rows": bits(out)})
    import diffusers
    meta = {"with": f"{versions()}, torch {torch.__version__}, diffusers {diffusers.__version__}", "distances": distances}
    text = json.dumps({"meta": meta, "cases": cases, "recipe": recipe}, separators=(",", ":"))
    (HERE / "timestep_presets.json").write_text(text + "\n")


main()
