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
def text(config, cls, *, positions=True):
    """Writes the case of a model. Padded outputs are written where they are not those of the sequences alone."""
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
    print(f"{name}: f32 {relative(expected['f32'], wanted):.1e}, largest {wanted.abs().max():.1f}")
    save(name, config, narrow, expected)


def make_llama():
    config = {
        **SMALL, "model_type": "llama", "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
        "hidden_act": "silu", "attention_bias": False, "tie_word_embeddings": False,
    }
    text(config, transformers.LlamaForCausalLM)


if __name__ == "__main__":
    for name in sys.argv[1:] or [name[5:] for name in list(globals()) if name.startswith("make_")]:
        globals()[f"make_{name}"]()
