"""Writes the cases of the text models, with the classes of transformers 5.23 and torch 2.15:

    python tests/models/golden/make_text.py [NAME ...]
"""

import copy
import sys

import torch
import transformers
from common import models, relative, save, wide

transformers.logging.set_verbosity_error()

#: Three sequences. Token 0 is padding.
LENGTHS = [12, 7, 5]
TOKENS = torch.randint(1, 32, (sum(LENGTHS),), generator=torch.Generator().manual_seed(7))
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
        padding = torch.zeros(longest - len(tokens), dtype=torch.long)
        parts = {"left": lambda middle: [padding, middle], "right": lambda middle: [middle, padding]}[side]
        rows.append(torch.cat(parts(tokens)))
        masks.append(torch.cat(parts(torch.ones_like(tokens))))
    mask = torch.stack(masks)
    inputs = {"input_ids": torch.stack(rows), "attention_mask": mask}
    if positions:
        inputs["position_ids"] = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
    return logits(model, **inputs)[mask.bool()]


@torch.no_grad()
def text(config, cls, *, positions=True, packed=None):
    """Writes the case of a model. Padded outputs are written where they are not those of the sequences alone. `packed` names those that
    packed sequences have."""
    name = config["model_type"]
    narrow, double = models(lambda: cls(configured(config)), seed=len(name))
    with wide():
        wanted = apart(double)
    expected = {"tokens": TOKENS, "lengths": torch.tensor(LENGTHS), "f64": wanted, "f32": apart(narrow)}
    for side in "left", "right":
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


if __name__ == "__main__":
    for name in sys.argv[1:] or [name[5:] for name in list(globals()) if name.startswith("make_")]:
        globals()[f"make_{name}"]()
