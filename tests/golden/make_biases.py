"""Writes biases.json: attention biases of transformers' own functions and classes, and exact slopes.

    python tests/golden/make_biases.py

Slopes as bit patterns (hex): the nearest floats by Arb, and those that BLOOM, MPT, and Falcon compute. Buckets as the first
distance of each run, over all distances to 4,096. Index tables as they are. Scores and biases are f32, printed as the double of
equal value; inputs are small multiples of 1/16, so that both sides read the same numbers.
"""

import json
import math
import struct
from pathlib import Path
from types import SimpleNamespace

import torch
from flint import arb, ctx, fmpq
from transformers import (
    BeitConfig, DebertaV2Config, Gemma4AudioConfig, LayoutLMv3Config, LevitConfig, MPNetConfig, MT5Config,
    ParakeetEncoderConfig, SamVisionConfig, Swinv2Config, T5Config, UMT5Config, Wav2Vec2ConformerConfig, WavLMConfig,
    XLNetConfig,
)
from transformers.models.beit import modeling_beit as beit
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.layoutlmv3 import modeling_layoutlmv3 as layoutlmv3
from transformers.models.levit import modeling_levit as levit
from transformers.models.mpnet import modeling_mpnet as mpnet
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.mt5 import modeling_mt5 as mt5
from transformers.models.parakeet import modeling_parakeet as parakeet
from transformers.models.sam import modeling_sam as sam
from transformers.models.swin import modeling_swin as swin
from transformers.models.swinv2 import modeling_swinv2 as swinv2
from transformers.models.t5 import modeling_t5 as t5
from transformers.models.umt5 import modeling_umt5 as umt5
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
from transformers.models.wavlm import modeling_wavlm as wavlm
from transformers.models.xlnet import modeling_xlnet as xlnet
from x_transformers import x_transformers

from exact import BF16, DIGITS, F16, F32, F64, round_dyadic

HERE = Path(__file__).parent
FAR = 4096


def f32_hex(x):
    return struct.pack(">f", x).hex()


def drawn(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def numbers(tensor):
    return {"shape": list(tensor.shape), "values": tensor.detach().double().flatten().tolist()}


def exact_slopes(heads, bias_max):
    """The slopes as bit patterns in all formats; the exponent is a rational number."""
    lower = 2 ** math.floor(math.log2(heads))
    exponents = [(h, lower) for h in range(1, lower + 1)] + [(h, 2 * lower) for h in range(1, 2 * lower, 2)]
    out = {f.name: [] for f in (F64, F32, F16, BF16)}
    ctx.prec = 400
    for num, den in exponents[:heads]:
        value = fmpq(-num * bias_max, den)
        ball = (arb(value) * arb(2).log()).exp()
        if value.q == 1:
            ball = arb(2) ** int(value.p)
        man, exp = ball.mid().man_exp()
        for f in (F64, F32, F16, BF16):
            out[f.name].append(f"{round_dyadic(int(man), int(exp), f):0{DIGITS[f.name]}x}")
    return out


def slopes():
    cases = []
    for heads in [*range(1, 17), 20, 24, 25, 32, 40, 48, 64, 71, 96, 112, 128]:
        mask = torch.ones(1, 2, dtype=torch.long)
        of_bloom = bloom.build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1]
        of_falcon = falcon.build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1]
        case = {"heads": heads, "bias_max": 8, "exact": exact_slopes(heads, 8)}
        case["bloom"] = [f32_hex(x) for x in of_bloom.tolist()]
        case["falcon_bf16"] = [f32_hex(x)[:4] for x in of_falcon.tolist()]
        case["mpt"] = [f32_hex(-x) for x in mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, 0].tolist()]
        cases.append(case)
    for heads, bias_max in [(8, 16), (12, 4), (7, 3)]:
        of_mpt = mpt.build_mpt_alibi_tensor(heads, 2, bias_max)[:, 0, 0]
        cases.append({"heads": heads, "bias_max": bias_max, "exact": exact_slopes(heads, bias_max),
                      "mpt": [f32_hex(-x) for x in of_mpt.tolist()]})
    return cases


def runs(function):
    """[first distance, bucket] of each run, over all distances."""
    distances = torch.arange(-FAR, FAR + 1)
    found, last = [], None
    for distance, bucket in zip(distances.tolist(), function(distances).long().tolist()):
        if bucket != last:
            found.append([distance, bucket])
        last = bucket
    return found


def buckets():
    wavlm_like = lambda n, m: SimpleNamespace(num_buckets=n, max_distance=m)
    bucket_of = t5.T5Attention._relative_position_bucket
    cases = []
    for n, m in [(32, 128), (64, 256), (320, 800), (16, 64), (32, 512), (12, 40), (40, 128), (256, 8192)]:
        for both in (True, False):
            case = {"model": "t5", "num_buckets": n, "max_distance": m, "bidirectional": both}
            cases.append(case | {"runs": runs(lambda d: bucket_of(d, both, n, m))})
    layout = layoutlmv3.LayoutLMv3Encoder.relative_position_bucket
    for n, m in [(32, 128), (64, 256)]:
        case = {"model": "layoutlmv3", "num_buckets": n, "max_distance": m, "bidirectional": True}
        cases.append(case | {"runs": runs(lambda d: layout(None, d, num_buckets=n, max_distance=m))})
    case = {"model": "mpnet", "num_buckets": 32, "max_distance": 128, "bidirectional": True}
    cases.append(case | {"runs": runs(mpnet.MPNetEncoder.relative_position_bucket)})
    of_wavlm = wavlm.WavLMAttention._relative_positions_bucket
    case = {"model": "wavlm", "num_buckets": 320, "max_distance": 800, "bidirectional": True}
    cases.append(case | {"runs": runs(lambda d: of_wavlm(wavlm_like(320, 800), d))})
    umt = umt5.UMT5Attention(UMT5Config(d_model=8, num_heads=2, d_kv=4), has_relative_attention_bias=True)
    case = {"model": "umt5", "num_buckets": 32, "max_distance": 128, "bidirectional": True}
    cases.append(case | {"runs": runs(umt._relative_position_bucket)})
    return cases


def deberta_buckets():
    cases = []
    for n, m in [(256, 512), (32, 128), (8, 40), (64, 64), (16, 1024)]:
        cases.append({"position_buckets": n, "max_relative_positions": m,
                      "runs": runs(lambda d: deberta.make_log_bucket_position(d, n, m))})
    return cases


def indices():
    cases = []
    for window in [(7, 7), (2, 3), (1, 4)]:
        coords = swinv2_layer(window).relative_position_index
        cases.append({"kind": "swin", "height": window[0], "width": window[1], "index": coords.tolist()})
    for window in [(2, 3), (4, 4)]:
        index = beit.BeitRelativePositionBias.generate_relative_position_index(window)
        cases.append({"kind": "beit", "height": window[0], "width": window[1], "index": index.tolist()})
    attention = levit.LevitAttention(16, 4, 2, 2, 4)
    cases.append({"kind": "levit", "q": 4, "kv": 4, "stride": 1, "index": attention.attention_bias_idxs.tolist()})
    sub = levit.LevitAttentionSubsample(16, 16, 4, 2, 2, 2, 5, 3)
    cases.append({"kind": "levit", "q": 3, "kv": 5, "stride": 2, "index": sub.attention_bias_idxs.tolist()})
    return cases


def swinv2_layer(window, pretrained=(0, 0)):
    return swinv2.Swinv2SelfAttention(Swinv2Config(), 8, 2, window, pretrained)


def swinv2_coordinates():
    cases = []
    for window, pretrained in [((8, 8), (0, 0)), ((3, 5), (0, 0)), ((6, 6), (12, 12))]:
        table = swinv2_layer(window, pretrained).relative_coords_table
        cases.append({"window": window, "pretrained": pretrained, "table": numbers(table.reshape(-1, 2))})
    return cases


def sam_layer(table_rows):
    layer = sam.SamVisionAttention(SamVisionConfig(hidden_size=8, num_attention_heads=2, image_size=64), window_size=4)
    return layer


def sam_indices():
    layer, cases = sam_layer(4), []
    for q, k in [(1, 1), (4, 4), (14, 14), (8, 2), (2, 8), (6, 3), (3, 12), (5, 3), (3, 5), (7, 4), (14, 10)]:
        rows = 2 * max(q, k) - 1
        table = torch.arange(rows, dtype=torch.float32)[:, None]
        cases.append({"q": q, "kv": k, "index": layer.get_rel_pos(q, k, table)[..., 0].long().tolist()})
    return cases


def sam_disagreements():
    """How many index entries differ from the integer formula, by kind of sizes up to 128."""
    layer = sam_layer(4)
    differ, count = {"multiples": 0, "others": 0}, {"multiples": 0, "others": 0}
    sizes = [*range(1, 33), 48, 64, 100, 128]
    for q in sizes:
        for k in sizes:
            rows = 2 * max(q, k) - 1
            table = torch.arange(rows, dtype=torch.float32)[:, None]
            found = layer.get_rel_pos(q, k, table)[..., 0].long()
            i, j = torch.arange(q)[:, None], torch.arange(k)[None]
            wanted = (i * k + (k - 1 - j) * q) // min(q, k)
            kind = "multiples" if max(q, k) % min(q, k) == 0 else "others"
            differ[kind] += int((found != wanted).sum())
            count[kind] += q * k
    return {"differ": differ, "of": count}


def softmax(scores):
    return torch.softmax(scores, dim=-1)


def layers():
    """Whole biases and scores of the classes, with what they were made from."""
    torch.manual_seed(0)
    out = {}
    # BLOOM: two sequences, one padded left; causal.
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    scores = drawn(2, 3, 5, 5, seed=1)
    alibi = bloom.build_alibi_tensor(mask, 3, torch.float32).view(2, 3, 1, 5)
    causal = torch.ones(5, 5).tril().bool() & mask[:, None, None, :].bool()
    probs = softmax((scores * 0.5 + alibi).masked_fill(~causal, -math.inf))
    out["bloom"] = {"mask": mask.tolist(), "scale": 0.5, "scores": numbers(scores), "alibi": numbers(alibi),
                    "probs": numbers(torch.nan_to_num(probs))}
    out["mpt"] = {"heads": 5, "kv_len": 7, "alibi": numbers(mpt.build_mpt_alibi_tensor(5, 7))}
    out["falcon"] = {"heads": 3, "alibi": numbers(falcon.build_alibi_tensor(mask, 3, torch.float32).view(2, 3, 1, 5))}
    # Jina: -m |i - j|, as in its modeling code.
    slope = torch.tensor([2.0 ** (-8 * (h + 1) / 4) for h in range(4)])
    distance = (torch.arange(6)[:, None] - torch.arange(6)[None]).abs()
    out["jina"] = {"heads": 4, "bias": numbers(-slope[:, None, None] * distance)}
    # T5: encoder, decoder, one token, more keys than queries.
    for name, decoder in [("t5_encoder", False), ("t5_decoder", True)]:
        config = T5Config(d_model=8, num_heads=2, d_kv=4, is_decoder=decoder)
        layer = t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
        table = drawn(32, 2, seed=2)
        layer.relative_attention_bias.weight.data = table
        cases = [{"q": q, "kv": k, "offset": o, "bias": numbers(layer.compute_bias(q, k, past_seen_tokens=o))}
                 for q, k, o in [(4, 4, 0), (3, 9, 6), (1, 40, 39), (5, 2, 0)]]
        out[name] = {"table": numbers(table), "cases": cases}
    # LayoutLMv3: tokens and boxes.
    encoder = layoutlmv3.LayoutLMv3Encoder(LayoutLMv3Config(
        hidden_size=8, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8))
    tables = [drawn(2, n, seed=s) for n, s in [(32, 3), (64, 4), (64, 5)]]
    for layer, table in zip([encoder.rel_pos_bias, encoder.rel_pos_x_bias, encoder.rel_pos_y_bias], tables):
        layer.weight.data = table
    ids = torch.tensor([[0, 1, 2, 3, 3]])
    boxes = torch.tensor([[[0, 0, 10, 12], [40, 3, 90, 30], [300, 200, 310, 500], [999, 0, 1000, 1000], [0, 7, 9, 8]]])
    out["layoutlmv3"] = {
        "tables": [numbers(t) for t in tables], "ids": ids.tolist(), "x": boxes[:, :, 0].tolist(),
        "y": boxes[:, :, 3].tolist(), "one": numbers(encoder._cal_1d_pos_emb(ids)),
        "two": numbers(encoder._cal_2d_pos_emb(boxes))}
    # WavLM: the bias and its gate.
    config = WavLMConfig(hidden_size=8, num_attention_heads=2)
    layer = wavlm.WavLMAttention(8, 2, num_buckets=320, max_distance=800)
    layer.rel_attn_embed.weight.data = drawn(320, 2, seed=6)
    out["wavlm"] = {"table": numbers(layer.rel_attn_embed.weight), "bias": numbers(layer.compute_bias(4, 4))}
    # DeBERTa: scores of content to position and position to content.
    config = DebertaV2Config(hidden_size=8, num_attention_heads=2, relative_attention=True, position_buckets=4,
                             max_relative_positions=9, pos_att_type=["c2p", "p2c"], share_att_key=True)
    layer = deberta.DisentangledSelfAttention(config).eval()
    q, k, rel = drawn(4, 7, 4, seed=7), drawn(4, 7, 4, seed=8), drawn(8, 8, seed=9)
    with torch.no_grad():
        bias = layer.disentangled_attention_bias(q, k, None, rel, 3)
        pos = [layer.transpose_for_scores(p(rel[None]), 2) for p in (layer.query_proj, layer.key_proj)]
    out["deberta"] = {"q": numbers(q.view(2, 2, 7, 4)), "k": numbers(k.view(2, 2, 7, 4)), "pos_query": numbers(pos[0]),
                      "pos_key": numbers(pos[1]), "bias": numbers(bias.view(2, 2, 7, 7))}
    # SAM: a window, and queries and keys of different sizes with resized tables.
    layer = sam_layer(4)
    cases = []
    for (q_size, k_size, lengths) in [((3, 4), (3, 4), (5, 7)), ((4, 4), (2, 2), (7, 7)), ((3, 3), (3, 3), (9, 4))]:
        query = drawn(2, q_size[0] * q_size[1], 4, seed=10)
        rel = [drawn(n, 4, seed=11) for n in lengths]
        bias = layer.get_decomposed_rel_pos(query, rel[0], rel[1], q_size, k_size)
        cases.append({"q": q_size, "kv": k_size, "query": numbers(query), "rel_h": numbers(rel[0]),
                      "rel_w": numbers(rel[1]),
                      "bias": numbers(bias.reshape(2, q_size[0] * q_size[1], k_size[0] * k_size[1]))})
    out["sam"] = cases
    # BEiT and LeViT: table to bias.
    # (A square: the class swaps width and height when it resizes, which it does to the same size too.)
    layer = beit.BeitRelativePositionBias(BeitConfig(image_size=(48, 48), patch_size=16, num_attention_heads=2))
    layer.relative_position_bias_table.data = drawn(5 * 5 + 3, 2, seed=12)
    out["beit"] = {"height": 3, "width": 3, "table": numbers(layer.relative_position_bias_table),
                   "bias": numbers(layer((3, 3)))}
    layer = levit.LevitAttentionSubsample(16, 16, 4, 2, 2, 2, 5, 3)
    layer.attention_biases.data = drawn(*layer.attention_biases.shape, seed=13)
    out["levit"] = {"table": numbers(layer.attention_biases), "bias": numbers(layer.get_attention_biases("cpu"))}
    # XLNet and Conformer: the shift, with more keys than queries.
    scores = drawn(2, 2, 3, 8, seed=14)
    out["xlnet"] = {"kv_len": 5, "scores": numbers(scores),
                    "shifted": numbers(xlnet.XLNetRelativeAttention.rel_shift_bnij(scores, klen=5))}
    model = xlnet.XLNetModel(XLNetConfig(d_model=8, n_head=2, n_layer=1, d_inner=8, vocab_size=4))
    out["xlnet"]["encoding"] = numbers(model.relative_positional_encoding(3, 5)[:, 0])
    config = Wav2Vec2ConformerConfig(hidden_size=8, num_attention_heads=2, max_source_positions=9)
    encoding = conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)(torch.zeros(1, 4, 8))
    module = SimpleNamespace(head_size=4, linear_pos=torch.nn.Identity(), scaling=1.0,
                             pos_bias_u=torch.zeros(2, 4), pos_bias_v=drawn(2, 4, seed=15))
    query = drawn(2, 2, 4, 4, seed=16)
    _, shifted = conformer._apply_relative_position_encoding(module, query, query, encoding)
    out["conformer"] = {"encoding": numbers(encoding[0]), "query": numbers(query), "bias_v": numbers(module.pos_bias_v),
                        "shifted": numbers(shifted)}
    return out


def attention():
    """Whole attention weights of newer classes: gated, relative to sinusoids, and capped with their bias."""
    out = {}
    # WavLM: the bias times a gate of the hidden states. Its attention averages the weights over heads.
    torch.manual_seed(1)
    layer = wavlm.WavLMAttention(8, 2, num_buckets=32, max_distance=40)
    layer.rel_attn_embed.weight.data = drawn(32, 2, seed=30)
    layer.gru_rel_pos_const.data = drawn(1, 2, 1, 1, seed=31)
    hidden, caught = drawn(2, 5, 8, seed=32), []
    layer.torch_multi_head_self_attention = lambda h, mask, bias: caught.append(bias) or (h, None)
    layer(hidden)
    scores = drawn(2, 2, 5, 5, seed=33)
    gated = caught[0].view(2, 2, 5, 5)
    out["wavlm"] = {
        "hidden": numbers(hidden), "const": numbers(layer.gru_rel_pos_const), "weight": numbers(layer.gru_rel_pos_linear.weight),
        "bias": numbers(layer.gru_rel_pos_linear.bias), "table": numbers(layer.rel_attn_embed.weight), "gated": numbers(gated),
        "scores": numbers(scores), "probs": numbers(softmax(scores * 0.5 + gated))}
    # Parakeet: two sequences, one padded right.
    config = ParakeetEncoderConfig(hidden_size=8, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=1,
                                   intermediate_size=8, attn_implementation="eager")
    layer = parakeet.ParakeetEncoderAttention(config, 0).eval()
    layer.bias_u.data, layer.bias_v.data = drawn(2, 4, seed=34), drawn(2, 4, seed=35)
    hidden = drawn(2, 6, 8, seed=36)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    encoding = parakeet.ParakeetEncoderRelPositionalEncoding(config)(hidden)
    heads = lambda xs: xs.view(2, 6, 2, 4).transpose(1, 2)
    with torch.no_grad():
        _, probs = layer(hidden, encoding, mask[:, None, None, :].bool().expand(2, 1, 6, 6))
        q, k = heads(layer.q_proj(hidden)), heads(layer.k_proj(hidden))
    out["parakeet"] = {
        "encoding": numbers(encoding[0]), "weight": numbers(layer.relative_k_proj.weight), "bias_u": numbers(layer.bias_u),
        "bias_v": numbers(layer.bias_v), "q": numbers(q), "k": numbers(k), "mask": mask.tolist(), "probs": numbers(probs)}
    # Gemma 4's audio encoder: blocks of 4 with a context of 4 before, bounded with the bias.
    config = Gemma4AudioConfig(hidden_size=8, num_attention_heads=2, attention_chunk_size=4, attention_context_left=5,
                               attention_context_right=0, attention_logit_cap=2.0)
    layer = gemma4.Gemma4AudioAttention(config, 0).eval()
    layer.relative_k_proj.weight.data = drawn(8, 8, seed=37)
    layer.q_proj = layer.k_proj = layer.v_proj = layer.post = torch.nn.Identity()
    hidden, length = drawn(1, 10, 8, seed=38), 10
    encoding = gemma4.Gemma4AudioRelPositionalEncoding(config)(hidden)
    near = gemma4.sliding_window_mask_function((config.attention_context_left - 1, config.attention_context_right))
    at = torch.arange(length)
    allowed = near(0, 0, at[:, None], at[None])
    additive = torch.zeros(1, 1, length, length).masked_fill(~allowed, torch.finfo(torch.float32).min)
    blocked = gemma4.Gemma4AudioModel._convert_4d_mask_to_blocked_5d(SimpleNamespace(config=config), additive)
    with torch.no_grad():
        _, weights = layer(hidden, encoding, blocked)
    probs = torch.zeros(1, 2, length, length)
    for query in range(length):
        for index in range(layer.context_size):
            key = query // 4 * 4 + index - layer.max_past_horizon
            if 0 <= key < length:
                probs[:, :, query, key] = weights[:, :, query // 4, query % 4, index]
    split = lambda xs: xs.view(1, length, 2, 4).transpose(1, 2)
    q = split(hidden) * layer.q_scale * torch.nn.functional.softplus(layer.per_dim_scale)
    out["gemma4_audio"] = {
        "encoding": numbers(encoding), "weight": numbers(layer.relative_k_proj.weight), "q": numbers(q),
        "k": numbers(split(hidden) * layer.k_scale), "cap": 2.0, "before": int(allowed[9].sum()) - 1, "probs": numbers(probs)}
    return out


def more_biases():
    """Biases of further classes: mT5, UMT5, MPNet, Swin, Swin v2, and x-transformers."""
    out = {}
    for name, of, config in [
        ("mt5", mt5.MT5Attention, MT5Config(d_model=8, num_heads=2, d_kv=4, is_decoder=True)),
        ("umt5", umt5.UMT5Attention, UMT5Config(d_model=8, num_heads=2, d_kv=4)),
    ]:
        layer = of(config, has_relative_attention_bias=True, layer_idx=0)
        layer.relative_attention_bias.weight.data = drawn(32, 2, seed=40)
        out[name] = {"table": numbers(layer.relative_attention_bias.weight),
                     "bias": numbers(layer.compute_bias(3, 40, past_seen_tokens=37))}
    layer = mpnet.MPNetEncoder(MPNetConfig(hidden_size=8, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8))
    layer.relative_attention_bias.weight.data = drawn(32, 2, seed=41)
    out["mpnet"] = {"table": numbers(layer.relative_attention_bias.weight),
                    "bias": numbers(layer.compute_position_bias(torch.zeros(1, 9, 8)))}
    layer = swin.SwinRelativePositionBias(2, (2, 3))
    layer.relative_position_bias_table.data = drawn(15, 2, seed=42)
    out["swin"] = {"table": numbers(layer.relative_position_bias_table), "bias": numbers(layer())}
    torch.manual_seed(2)
    layer = swinv2_layer((3, 2))
    with torch.no_grad():
        table = 16 * torch.sigmoid(layer.continuous_position_bias_mlp(layer.relative_coords_table).view(-1, 2))
    # Queries of zeros have cosines of zero, so the scores are the bias.
    for linear in (layer.query, layer.key, layer.value):
        linear.weight.data.zero_()
        if linear.bias is not None:
            linear.bias.data.zero_()
    with torch.no_grad():
        probs = layer(torch.zeros(1, 6, 8), output_attentions=True)[1]
    out["swinv2"] = {"table": numbers(table), "probs": numbers(probs)}
    layer = x_transformers.AlibiPositionalBias(6)
    out["x_transformers_alibi"] = {"heads": 6, "cases": [{"q": i, "kv": j, "bias": numbers(layer(i, j))} for i, j in [(5, 5), (2, 7), (1, 9)]]}
    out["x_transformers_t5"] = []
    for causal in (False, True):
        layer = x_transformers.RelativePositionBias(scale=0.5, causal=causal, heads=2)
        layer.relative_attention_bias.weight.data = drawn(32, 2, seed=43)
        out["x_transformers_t5"].append({"causal": causal, "scale": 0.5, "table": numbers(layer.relative_attention_bias.weight),
                                         "bias": numbers(layer(3, 150))})
    return out


def gradients():
    """softmax((cap tanh(scale s / cap)) + bias) and its gradients, in f64; a row that is masked as a whole gives zeros."""
    scores = drawn(2, 2, 3, 5, seed=20).double().requires_grad_()
    bias = drawn(1, 2, 3, 5, seed=21).double().requires_grad_()
    up = drawn(2, 2, 3, 5, seed=22).double()
    cases = []
    for scale, cap, of in [(0.25, None, None), (1.5, 2.0, "scores"), (1.5, 2.0, "sums")]:
        z = scores * scale
        if of == "scores":
            z = cap * torch.tanh(z / cap)
        z = z + bias
        if of == "sums":
            z = cap * torch.tanh(z / cap)
        z = z.masked_fill(~torch.ones(3, 5).tril(1).bool(), -math.inf)
        y = softmax(z)
        grads = torch.autograd.grad(y, [scores, bias], up)
        cases.append({"scale": scale, "cap": cap, "of": of, "y": numbers(y), "scores": numbers(grads[0]), "bias": numbers(grads[1])})
    return {"scores": numbers(scores), "bias": numbers(bias), "up": numbers(up), "offset": 1, "cases": cases}


def main():
    out = {
        "slopes": slopes(), "buckets": buckets(), "deberta_buckets": deberta_buckets(), "indices": indices(),
        "swinv2": swinv2_coordinates(), "sam_indices": sam_indices(), "layers": layers(), "gradients": gradients(),
        "attention": attention(), "more": more_biases(),
    }
    print("SAM index entries that differ from the integers:", sam_disagreements())
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in out.items())
    (HERE / "biases.json").write_text("{\n" + lines + "\n}\n")


main()
