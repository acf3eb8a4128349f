"""gguf.json: GGUF headers as bytes, with the angles that llama.cpp's formulas give for them.

    pip install -r requirements.txt && python make_gguf.py

The bytes follow the specification of GGUF (ggml's docs/gguf.md), and the angles the functions rope_yarn,
rope_yarn_ramp, ggml_rope_yarn_corr_dim, and ggml_rope_cache_init of ggml-cpu/ops.cpp with the parameters that
llama-context.cpp derives, in 60 digits instead of f32. Values of the metadata are f32, as in the files.
"""

import json
import struct
from pathlib import Path

from mpmath import ceil, floor, log, mp, mpf, pi

mp.dps = 60
HERE = Path(__file__).parent


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value(item):
    """The type and the bytes of a value: f32, u32, text, or a list of i32."""
    if isinstance(item, float):
        return struct.pack("<If", 6, item)
    if isinstance(item, bool):
        return struct.pack("<IB", 7, item)
    if isinstance(item, int):
        return struct.pack("<II", 4, item)
    if isinstance(item, str):
        return struct.pack("<I", 8) + text(item)
    if item and isinstance(item[0], str):
        return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(text, item))
    return struct.pack("<IIQ", 9, 5, len(item)) + struct.pack(f"<{len(item)}i", *item)


def file(version, keys, tensors):
    """A file with tensors of f32 or f16 values, aligned to 32 bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for key, item in keys.items():
        head += text(key) + value(item)
    data = b""
    for name, (kind, values) in tensors.items():
        data += b"\0" * (-len(data) % 32)
        head += text(name) + struct.pack("<IQIQ", 1, len(values), {"f": 0, "e": 1}[kind], len(data))
        data += struct.pack(f"<{len(values)}{kind}", *values)
    return head + b"\0" * (-len(head) % 32) + data


def angles(width, base, factor=1.0, yarn=None, divisors=None):
    """Radians per position of each pair."""
    out = []
    for i in range(width // 2):
        extrapolated = mpf(base) ** (-mpf(2 * i) / width) / (mpf(divisors[i]) if divisors else 1)
        interpolated = extrapolated / mpf(factor)
        if yarn:
            context, fast, slow = yarn
            dim = lambda turns: width * log(context / (mpf(turns) * 2 * pi)) / (2 * log(mpf(base)))
            low, high = max(mpf(0), floor(dim(fast))), min(mpf(width - 1), ceil(dim(slow)))
            ramp = (i - low) / max(mpf("0.001"), high - low)
            mix = 1 - min(mpf(1), max(mpf(0), ramp))
            out.append(interpolated * (1 - mix) + extrapolated * mix)
        else:
            out.append(interpolated)
    return [float(v) for v in out]


def mscale(factor, m=1):
    return mpf(1) if factor <= 1 else mpf("0.1") * mpf(m) * log(mpf(factor)) + 1


def sizes(arch, width, heads, context=4096):
    return {"general.architecture": arch, f"{arch}.block_count": 4, f"{arch}.context_length": context,
            f"{arch}.embedding_length": width, f"{arch}.attention.head_count": heads,
            "tokenizer.ggml.tokens": ["<s>", "</s>", "a"], "tokenizer.ggml.add_bos_token": True}


def layer(inv_freq, attention=1.0, **more):
    return {"inv_freq": inv_freq, "attention_factor": float(attention), **more}


def cases():
    llama = sizes("llama", 512, 8)
    yield "llama", 3, llama, {}, [layer(angles(64, 10000.0), layout="interleaved", head_dim=64)]
    keys = {**llama, "llama.rope.freq_base": 500000.0, "llama.rope.dimension_count": 64}
    freqs = [f32(v) for v in [1.0] * 20 + [1.37 + 0.31 * i for i in range(8)] + [8.0] * 4]
    for kind in "fe":
        kept = freqs if kind == "f" else [struct.unpack("<e", struct.pack("<e", v))[0] for v in freqs]
        yield f"llama 3.1, {kind}", 3, keys, {"rope_freqs.weight": (kind, freqs), "output.weight": ("f", [0.5] * 3)}, [
            layer(angles(64, 500000.0, divisors=kept), layout="interleaved", head_dim=64)]
    keys = {**llama, "llama.rope.scaling.factor": 4.0}
    yield "linear without a type", 2, keys, {}, [layer(angles(64, 10000.0, 4.0), layout="interleaved", head_dim=64)]
    yield "none", 2, {**keys, "llama.rope.scaling.type": "none"}, {}, [
        layer(angles(64, 10000.0), layout="interleaved", head_dim=64)]
    keys = {**sizes("gptneox", 512, 8), "gptneox.rope.dimension_count": 16}
    yield "gptneox", 2, keys, {}, [layer(angles(16, 10000.0), layout="half-split", head_dim=64)]
    keys = {**sizes("qwen2", 896, 14, 131072), "qwen2.rope.freq_base": 1000000.0, "qwen2.rope.scaling.type": "yarn",
            "qwen2.rope.scaling.factor": 4.0, "qwen2.rope.scaling.original_context_length": 32768}
    yield "qwen2 yarn", 3, keys, {}, [
        layer(angles(64, 1000000.0, 4.0, (32768, 32, 1)), mscale(4), layout="half-split", head_dim=64)]
    divided = {**keys, "qwen2.rope.scaling.attn_factor": f32(1.19)}
    yield "qwen2 yarn, attention factor", 3, divided, {}, [
        layer(angles(64, 1000000.0, 4.0, (32768, 32, 1)), mscale(4) * mpf(f32(1.19)), layout="half-split", head_dim=64)]
    yield "qwen2 yarn, factors of each pair", 3, divided, {"rope_freqs.weight": ("f", freqs)}, [
        layer(angles(64, 1000000.0, 4.0, (32768, 32, 1), freqs), mscale(4) * mpf(f32(1.19)), layout="half-split", head_dim=64)]
    linear = {**divided, "qwen2.rope.scaling.yarn_ext_factor": 0.0}
    yield "qwen2 yarn without a ramp", 3, linear, {"rope_freqs.weight": ("f", freqs)}, [
        layer(angles(64, 1000000.0, 4.0, divisors=freqs), f32(1.19), layout="half-split", head_dim=64)]
    keys = {**sizes("gpt-oss", 2880, 64, 131072), "gpt-oss.attention.key_length": 64, "gpt-oss.rope.freq_base": 150000.0,
            "gpt-oss.rope.scaling.type": "yarn", "gpt-oss.rope.scaling.factor": 32.0,
            "gpt-oss.rope.scaling.original_context_length": 4096, "gpt-oss.rope.scaling.yarn_beta_fast": 24.0}
    yield "gpt-oss", 3, keys, {}, [
        layer(angles(64, 150000.0, 32.0, (4096, 24, 1)), mscale(32), layout="half-split", head_dim=64)]
    multiplier = f32(0.0707)
    keys = {**sizes("deepseek2", 2048, 16, 163840), "deepseek2.attention.key_length": 192, "deepseek2.attention.kv_lora_rank": 512,
            "deepseek2.rope.dimension_count": 64, "deepseek2.rope.scaling.type": "yarn", "deepseek2.rope.scaling.factor": 40.0,
            "deepseek2.rope.scaling.original_context_length": 4096, "deepseek2.rope.scaling.yarn_log_multiplier": multiplier}
    yield "deepseek2", 3, keys, {}, [
        layer(angles(64, 10000.0, 40.0, (4096, 32, 1)), 1, layout="interleaved", head_dim=64)]
    short, long = [f32(1 + 0.01 * i) for i in range(48)], [f32(1 + 1.3 * i) for i in range(48)]
    keys = {**sizes("phi3", 3072, 32, 131072), "phi3.rope.dimension_count": 96, "phi3.rope.scaling.attn_factor": f32(1.19),
            "phi3.rope.scaling.original_context_length": 4096}
    tensors = {"rope_factors_long.weight": ("f", long), "rope_factors_short.weight": ("f", short)}
    yield "phi3", 3, keys, tensors, [
        layer(angles(96, 10000.0, divisors=short), f32(1.19), layout="half-split", head_dim=96, seq_len=4096),
        layer(angles(96, 10000.0, divisors=long), f32(1.19), layout="half-split", head_dim=96, seq_len=4097)]
    keys = {**sizes("gemma3", 1152, 4), "gemma3.attention.key_length": 256, "gemma3.rope.freq_base": 1000000.0,
            "gemma3.rope.scaling.type": "linear", "gemma3.rope.scaling.factor": 8.0, "gemma3.attention.sliding_window": 512}
    yield "gemma3", 3, keys, {}, [
        layer(angles(256, 1000000.0, 8.0), layout="half-split", head_dim=256, layer_type="full_attention"),
        layer(angles(256, 10000.0), layout="half-split", head_dim=256, layer_type="sliding_attention")]
    keys = {**sizes("granite", 512, 8), "granite.rope.scaling.attn_factor": 1.5, "granite.rope.scaling.factor": 2.0}
    yield "attention factor alone", 3, keys, {}, [
        layer(angles(64, 10000.0, 2.0), 1.5, layout="interleaved", head_dim=64)]
    keys = {**sizes("qwen2vl", 1536, 12), "qwen2vl.rope.freq_base": 1000000.0, "qwen2vl.rope.dimension_sections": [16, 24, 24, 0]}
    yield "qwen2vl", 3, keys, {}, [layer(angles(128, 1000000.0), layout="half-split", head_dim=128, sections=[16, 24, 24])]


def main():
    out = []
    for name, version, keys, tensors, layers in cases():
        out.append({"name": name, "bytes": file(version, keys, tensors).hex(), "layers": layers})
    text = "[\n" + ",\n".join(map(json.dumps, out)) + "\n]\n"
    (HERE / "gguf.json").write_text(text)
    print(len(out), "files")


if __name__ == "__main__":
    main()
