"""Writes the cases of the text models, with the classes of transformers 5.23 and torch 2.15:

    python tests/models/golden/make_text.py [NAME ...]
"""

import copy
import functools
import math
import sys
import types

import torch
import transformers
from common import models, relative, save, wide
from safetensors.torch import save_file

transformers.logging.set_verbosity_error()

#: Three sequences, without special tokens.
LENGTHS = [12, 7, 5]
TOKENS = torch.randint(3, 32, (sum(LENGTHS),), generator=torch.Generator().manual_seed(7))
#: What most of the configurations share.
SMALL = {
    "vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}


def configured(config):
    """Returns the configuration of transformers for a `config.json`."""
    # A copy: transformers changes the value of `rope_scaling`.
    found = transformers.AutoConfig.for_model(**copy.deepcopy(config))
    found._attn_implementation = "eager"
    return found


def logits(model, **inputs):
    output = model(use_cache=False, **inputs)
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


def apart(model):
    """Returns the outputs of the sequences, each alone, one after the other: `[24, V]`."""
    return torch.cat([logits(model, input_ids=tokens[None])[0] for tokens in TOKENS.split(LENGTHS)])


def padded(model, side, positions):
    """Returns the outputs of a batch padded on one side, without those of the padding."""
    rows, masks, longest = [], [], max(LENGTHS)
    for tokens in TOKENS.split(LENGTHS):
        padding = torch.full((longest - len(tokens),), model.config.get_text_config().pad_token_id)
        parts = {"left": lambda middle: [padding, middle], "right": lambda middle: [middle, padding]}[side]
        rows.append(torch.cat(parts(tokens)))
        masks.append(torch.cat([torch.full_like(part, part is tokens) for part in parts(tokens)]))
    mask = torch.stack(masks)
    inputs = {"input_ids": torch.stack(rows), "attention_mask": mask}
    if positions:
        inputs["position_ids"] = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
    return logits(model, **inputs)[mask.bool()]


@torch.no_grad()
def text(config, cls, *, sides=("left", "right"), positions=True, packed=None, name=None):
    """Writes the case of a model. Padded outputs are written where they are not those of the sequences alone. `packed` names those that
    packed sequences have."""
    name = name or config["model_type"].replace("-", "_")
    narrow, double = models(lambda: cls(configured(config)), seed=len(name))
    with wide():
        wanted = apart(double)
    expected = {"tokens": TOKENS, "lengths": torch.tensor(LENGTHS), "f64": wanted, "f32": apart(narrow)}
    for side in sides:
        with wide():
            found = padded(double, side, positions)
        if relative(found, wanted) > 1e-12:
            print(f"{name}: {side} {relative(found, wanted):.1e} from the sequences alone")
            expected[side] = found
    if packed:
        expected["packed"] = expected[packed].clone()
    print(f"{name}: f32 {relative(expected['f32'], wanted):.1e}, largest {wanted.abs().max():.1f}")
    save(name, config, narrow, expected)


#: What most decoders with rotary embeddings share.
ROTARY = {**SMALL, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": False, "tie_word_embeddings": False}


def make_llama():
    scaling = {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }
    config = {**ROTARY, "model_type": "llama", "rope_theta": 500000.0, "rope_scaling": scaling}
    text(config, transformers.LlamaForCausalLM)


def make_qwen2():
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    config = {
        **ROTARY, "model_type": "qwen2", "rope_theta": 1000000.0, "rope_scaling": scaling, "tie_word_embeddings": True,
        "sliding_window": 256, "use_sliding_window": False, "max_window_layers": 2,
    }
    text(config, transformers.Qwen2ForCausalLM)


def make_qwen3():
    config = {
        **ROTARY, "model_type": "qwen3", "head_dim": 16, "rope_theta": 1000000.0,
        "sliding_window": None, "use_sliding_window": False, "max_window_layers": 2,
    }
    text(config, transformers.Qwen3ForCausalLM)


def make_mistral():
    text({**ROTARY, "model_type": "mistral", "sliding_window": 4}, transformers.MistralForCausalLM)


def make_gemma3():
    config = {
        **ROTARY, "model_type": "gemma3_text", "head_dim": 16, "num_key_value_heads": 1, "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 24, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window": 4, "sliding_window_pattern": 2,
        "final_logit_softcapping": None, "attn_logit_softcapping": None, "tie_word_embeddings": True,
    }
    del config["hidden_act"]
    text(config, transformers.Gemma3ForCausalLM)


def make_phi():
    config = {
        **ROTARY, "model_type": "phi", "hidden_act": "gelu_new", "partial_rotary_factor": 0.5, "layer_norm_eps": 1e-5,
        "qk_layernorm": False,
    }
    del config["rms_norm_eps"]
    text(config, transformers.PhiForCausalLM)


def make_phi3():
    scaling = {"type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.7], "long_factor": [1.0, 2.0, 7.0, 19.0]}
    config = {
        **ROTARY, "model_type": "phi3", "rope_scaling": scaling, "max_position_embeddings": 64,
        "original_max_position_embeddings": 8, "sliding_window": None,
    }
    # The longest sequence of a batch decides about the frequencies of all.
    text(config, transformers.Phi3ForCausalLM, packed="left")


def make_deepseek_v2():
    scaling = {
        "type": "yarn", "factor": 40.0, "original_max_position_embeddings": 64, "beta_fast": 32, "beta_slow": 1,
        "mscale": 0.707, "mscale_all_dim": 1.0,
    }
    config = {
        **ROTARY, "model_type": "deepseek_v2", "num_key_value_heads": 4, "rope_scaling": scaling, "max_position_embeddings": 2560,
        "q_lora_rank": None, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
        "first_k_dense_replace": 2, "moe_layer_freq": 1, "moe_intermediate_size": 16, "n_routed_experts": 4, "n_shared_experts": 1,
        "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "topk_method": "greedy", "norm_topk_prob": False,
        "scoring_func": "softmax", "routed_scaling_factor": 1.0,
    }
    text(config, transformers.DeepseekV2ForCausalLM)


def make_glm4():
    config = {**ROTARY, "model_type": "glm4", "head_dim": 16, "partial_rotary_factor": 0.5, "attention_bias": True}
    text(config, transformers.Glm4ForCausalLM)


def make_cohere():
    config = {
        **ROTARY, "model_type": "cohere", "layer_norm_eps": 1e-5, "logit_scale": 0.25, "use_qk_norm": False,
        "tie_word_embeddings": True,
    }
    del config["rms_norm_eps"]
    text(config, transformers.CohereForCausalLM)


def make_granite():
    config = {
        **ROTARY, "model_type": "granite", "embedding_multiplier": 6.0, "attention_multiplier": 0.25,
        "residual_multiplier": 0.5, "logits_scaling": 4.0,
    }
    text(config, transformers.GraniteForCausalLM)


def make_smollm3():
    config = {**ROTARY, "model_type": "smollm3", "no_rope_layers": [1, 0], "no_rope_layer_interval": 2, "tie_word_embeddings": True}
    text(config, transformers.SmolLM3ForCausalLM)


def make_qwen2_vl_text():
    """M-RoPE: positions of an image of 2 x 3 merged patches between text."""
    scaling = {"type": "mrope", "mrope_section": [1, 1, 2]}
    vision = {"depth": 1, "embed_dim": 16, "num_heads": 2, "hidden_size": 32, "patch_size": 2, "mlp_ratio": 1}
    config = {
        **ROTARY, "model_type": "qwen2_vl", "rope_theta": 1000000.0, "rope_scaling": scaling, "vision_config": vision,
        "vision_start_token_id": 28, "vision_end_token_id": 29, "image_token_id": 30, "video_token_id": 31,
    }
    narrow, double = models(lambda: transformers.Qwen2VLForConditionalGeneration(configured(config)), seed=5)
    tokens = torch.tensor([[5, 6, 28] + 6 * [30] + [29, 7, 8, 9]])
    kinds = (tokens == 30).int()
    grid = torch.tensor([[1, 4, 6]])
    positions, _ = narrow.model.get_rope_index(tokens, mm_token_type_ids=kinds, image_grid_thw=grid)

    def run(model):
        embeddings = model.get_input_embeddings()(tokens)
        with torch.no_grad():
            return logits(model, inputs_embeds=embeddings, position_ids=positions)[0]

    with wide():
        wanted = run(double)
    del narrow.model.visual
    save("qwen2_vl_text", config, narrow, {"tokens": tokens, "positions": positions, "f64": wanted, "f32": run(narrow)})


def bert(config, cls, **options):
    """Encoders with learned positions."""
    shared = {
        **SMALL, "hidden_act": "gelu", "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.02, "position_embedding_type": "absolute",
    }
    del shared["num_key_value_heads"]
    text({**shared, **config}, lambda config: cls(config, add_pooling_layer=False), **options)


def make_bert():
    # Without position ids it counts padding on the left.
    bert({"model_type": "bert"}, transformers.BertModel)


def make_roberta():
    bert({"model_type": "roberta", "pad_token_id": 1, "layer_norm_eps": 1e-5}, transformers.RobertaModel, positions=False)


def make_opt():
    config = {
        "model_type": "opt", "vocab_size": 32, "hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 64, "do_layer_norm_before": True, "activation_function": "relu",
        "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2, "tie_word_embeddings": True,
    }
    text(config, transformers.OPTForCausalLM, positions=False)


def make_gpt2():
    config = {
        "model_type": "gpt2", "vocab_size": 32, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_inner": None,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "tie_word_embeddings": True,
    }
    text(config, transformers.GPT2LMHeadModel)


def make_mpt():
    """ALiBi with a number of heads that is no power of two."""
    config = {
        "model_type": "mpt", "vocab_size": 32, "d_model": 48, "n_heads": 6, "n_layers": 2, "expansion_ratio": 4, "max_seq_len": 64,
        "attn_config": {"attn_type": "multihead_attention", "alibi": True, "alibi_bias_max": 8, "attn_pdrop": 0, "clip_qkv": None,
                        "softmax_scale": None, "prefix_lm": False, "qk_ln": False, "attn_uses_sequence_id": False},
        "layer_norm_epsilon": 1e-5, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": True,
    }
    text(config, transformers.MptForCausalLM, positions=False)


def make_deberta_v2():
    config = {
        **SMALL, "model_type": "deberta-v2", "hidden_act": "gelu", "max_position_embeddings": 16, "relative_attention": True,
        "position_buckets": 4, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
        "max_relative_positions": -1, "position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.02,
    }
    del config["num_key_value_heads"]
    text(config, transformers.DebertaV2Model, positions=False)


class JinaBert(torch.nn.Module):
    """The encoder of jina-embeddings-v2, whose classes are not in transformers: symmetric ALiBi, gated feed-forward parts, norms after.
    Slopes are those of the original code of ALiBi."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden, inner, nn = config.hidden_size, config.intermediate_size, torch.nn
        norm = functools.partial(nn.LayerNorm, hidden, eps=config.layer_norm_eps)
        parts = {"word_embeddings": nn.Embedding(config.vocab_size, hidden), "token_type_embeddings": nn.Embedding(2, hidden)}
        self.embeddings = nn.ModuleDict({**parts, "LayerNorm": norm()})

        def layer():
            projections = nn.ModuleDict({name: nn.Linear(hidden, hidden) for name in ("query", "key", "value")})
            output = nn.ModuleDict({"dense": nn.Linear(hidden, hidden), "LayerNorm": norm()})
            mlp = {"gated_layers": nn.Linear(hidden, 2 * inner, bias=False), "wo": nn.Linear(inner, hidden), "layernorm": norm()}
            attention = nn.ModuleDict({"self": projections, "output": output})
            return nn.ModuleDict({"attention": attention, "mlp": nn.ModuleDict(mlp)})

        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layer() for _ in range(config.num_hidden_layers))})

    @staticmethod
    def slopes(n):
        if math.log2(n).is_integer():
            return [2 ** (-(2 ** -(math.log2(n) - 3)) * (i + 1)) for i in range(n)]
        closest = 2 ** math.floor(math.log2(n))
        return JinaBert.slopes(closest) + JinaBert.slopes(2 * closest)[0::2][: n - closest]

    def forward(self, input_ids, attention_mask=None, use_cache=None):
        heads, (batch, time) = self.config.num_attention_heads, input_ids.shape
        xs = self.embeddings.word_embeddings(input_ids) + self.embeddings.token_type_embeddings.weight[0]
        xs = self.embeddings.LayerNorm(xs)
        steps = torch.arange(time)
        bias = -torch.tensor(self.slopes(heads))[:, None, None] * (steps[None] - steps[:, None]).abs()
        if attention_mask is not None:
            bias = bias + torch.where(attention_mask.bool(), 0.0, -torch.inf)[:, None, None]
        for layer in self.encoder.layer:
            project, output, mlp = layer.attention.self, layer.attention.output, layer.mlp
            q, k, v = (project[name](xs).view(batch, time, heads, -1).transpose(1, 2) for name in ("query", "key", "value"))
            weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + bias).softmax(-1)
            xs = output.LayerNorm(output.dense((weights @ v).transpose(1, 2).flatten(2)) + xs)
            gate, up = mlp.gated_layers(xs).chunk(2, -1)
            xs = mlp.layernorm(mlp.wo(torch.nn.functional.gelu(gate) * up) + xs)
        return types.SimpleNamespace(last_hidden_state=xs)

    def save_pretrained(self, folder):
        save_file(self.state_dict(), f"{folder}/model.safetensors")


def make_jina_bert():
    config = {
        **SMALL, "model_type": "bert", "hidden_size": 48, "num_attention_heads": 6, "hidden_act": "gelu", "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "position_embedding_type": "alibi", "initializer_range": 0.02,
    }
    del config["num_key_value_heads"]
    text(config, JinaBert, positions=False, name="jina_bert")


@torch.no_grad()
def make_t5():
    """Encoder and decoder, each with its buckets. The decoder's tokens are those of the next sequence."""
    config = {
        "model_type": "t5", "vocab_size": 32, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10, "dropout_rate": 0.0, "layer_norm_epsilon": 1e-6,
        "initializer_factor": 1.0, "feed_forward_proj": "relu", "is_encoder_decoder": True, "tie_word_embeddings": True, "use_cache": True,
        "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
    }
    narrow, double = models(lambda: transformers.T5ForConditionalGeneration(configured(config)), seed=2)
    sequences = TOKENS.split(LENGTHS)
    pairs = list(zip(sequences, sequences[1:] + sequences[:1]))

    def run(model):
        outputs = [logits(model, input_ids=tokens[None], decoder_input_ids=others[None])[0] for tokens, others in pairs]
        return torch.cat(outputs)

    with wide():
        wanted = run(double)
    inputs = {"tokens": TOKENS, "lengths": torch.tensor(LENGTHS)}
    print(f"t5: f32 {relative(run(narrow), wanted):.1e}")
    save("t5", config, narrow, {**inputs, "f64": wanted, "f32": run(narrow)})


if __name__ == "__main__":
    for name in sys.argv[1:] or [name[5:] for name in list(globals()) if name.startswith("make_")]:
        globals()[f"make_{name}"]()
