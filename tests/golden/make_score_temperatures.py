"""score_temperatures.json: by what transformers' attention layers multiply queries and the softmax scale.

    pip install -r requirements.txt && python make_score_temperatures.py

Each layer runs with linear layers of the same random outputs for every token (`make_rotary_classes.py`) and with cosines
of 1 and sines of 0. A query divided by that of position 0 is the factor of its position. `scaling` times the square root
of the width of a head is the factor of the softmax scale.
"""

import inspect
import json
from pathlib import Path

import torch
import transformers
from torch import nn

from make_rotary_classes import Captured, Projection, VERSION, classes, config_class, modules

HERE = Path(__file__).parent
POSITIONS = [0, 1, 8190, 8191, 8192, 16383, 16384, 100000]
YARN = {"rope_theta": 10000.0, "factor": 40.0, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
DEEPSEEK = [
    {"rope_parameters": {"rope_type": "yarn", **YARN, "mscale": 0.707, "mscale_all_dim": 0.707}},
    {"rope_scaling": {"type": "yarn", **YARN, "mscale": 1.0, "mscale_all_dim": 1.0}},
    {"rope_parameters": {"rope_type": "yarn", **YARN}},
    {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0, "mscale_all_dim": 1.0}},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mscale_all_dim": 1.0}},
]
CASES = {
    "llama4": [{}, {"attn_temperature_tuning": False}, {"attn_scale": 0.3, "floor_scale": 100}],
    "ministral3": [{}, {"rope_parameters": {"rope_type": "yarn", **YARN, "llama_4_scaling_beta": 0.25}}],
    "mistral4": [{}, {"rope_parameters": {"rope_type": "yarn", **YARN, "llama_4_scaling_beta": 0.25, "mscale_all_dim": 1.0, "mscale": 1.0}}],
    "deepseek_v2": DEEPSEEK, "deepseek_v3": DEEPSEEK, "axk1": DEEPSEEK[:1], "glm4_moe_lite": DEEPSEEK[:1],
    "minicpm3": DEEPSEEK[:1], "youtu": DEEPSEEK[:1],
    # A model type that has none.
    "llama": [{"rope_parameters": {"rope_type": "yarn", **YARN, "mscale": 1.0, "mscale_all_dim": 1.0}}],
}


class Cache:
    """Position of the first token, for layers that count from their cache."""

    def __init__(self, offset):
        self.offset = offset

    def get_seq_length(self, *_):
        return self.offset

    def update(self, keys, values, *_):
        return keys, values



def factor(attention, config, index, position):
    """The query at a position, by its value before."""
    linear, nn.Linear = nn.Linear, Projection
    try:
        known = {"layer_idx": index, "config": config}
        layer = attention(**{k: v for k, v in known.items() if k in inspect.signature(attention.__init__).parameters}).double().eval()
    finally:
        nn.Linear = linear
    width = getattr(config, "qk_rope_head_dim", None) or getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    torch.manual_seed(7)
    cos, sin = torch.ones(1, 1, width, dtype=torch.float64), torch.zeros(1, 1, width, dtype=torch.float64)
    complex_ = "apply_rotary_emb" in vars(inspect.getmodule(attention))
    embeddings = torch.ones(1, 1, width // 2, dtype=torch.complex128) if complex_ else (cos, sin)
    wanted = inspect.signature(attention.forward).parameters
    values = {"hidden_states": torch.zeros(1, 1, config.hidden_size, dtype=torch.float64), "position_embeddings": embeddings,
              "attention_mask": None, "position_ids": torch.tensor([[position]]), "past_key_values": Cache(position)}
    try:
        layer(**{k: v for k, v in values.items() if k in wanted})
    except Captured as found:
        heads = getattr(config, "qk_head_dim", None) or width
        return found.args[0], layer.scaling * heads**0.5
    raise ValueError("the attention function was not called")


def main():
    assert transformers.__version__ == VERSION, transformers.__version__
    records, found = [], dict(modules())
    for folder, cases in CASES.items():
        module = found[folder]
        attention = next(c for c in classes(module, "Attention", "hidden_states") if "Vision" not in c.__name__)
        cls = config_class(attention)
        for keys in cases:
            config = cls(**json.loads(json.dumps(keys)))
            # Of the layers of Llama 4 each fourth does not rotate.
            for index in [0, 3]:
                config._attn_implementation = "eager"
                start, scale = factor(attention, config, index, 0)
                factors = []
                for position in POSITIONS:
                    query, _ = factor(attention, config, index, position)
                    ratio = (query / start).flatten()
                    # Some layers round to f32 before they multiply.
                    assert (ratio - ratio[0]).abs().max() < 1e-6, ratio
                    factors.append(float(ratio.double().median()))
                records.append({"model_type": config.model_type, "keys": keys, "layer": index, "softmax": scale, "queries": factors})
                print(folder, keys, index, scale, factors)
    lines = ",\n".join(json.dumps(record) for record in records)
    (HERE / "score_temperatures.json").write_text(
        f'{{"transformers": "{VERSION}", "positions": {json.dumps(POSITIONS)},\n"layers": [\n{lines}\n]}}\n')
    print(len(records), "layers")


if __name__ == "__main__":
    main()
