"""families.csv: what a model type of transformers implies where its config.json is silent.

    pip install -r requirements.txt && python make_families.py

The model types are those that pe-core/src/convert/hf_config/families.rs names and transformers has. Each
configuration class is made with 12 heads of 96 columns and nothing else, as a config.json with these
keys and the model type would be read. `pairs` is read off the modelling file: whether its rotation takes
columns in turns (`::2`, complex numbers, `rotate_every_two`) or in halves; `?` where it does neither in
those words.
"""

import importlib.util
import logging
import pathlib
import re
import sys

logging.disable(logging.CRITICAL)
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def pairs(cls):
    name = cls.__module__.replace("configuration_", "modeling_")
    spec = importlib.util.find_spec(name)
    if spec is None:
        return "?"
    text = open(spec.origin).read()
    body = re.search(r"def rotate_half\(x\):.*?return[^\n]*", text, re.S)
    if "rotate_every_two" in text or "view_as_complex" in text:
        return "interleaved"
    if "rope_interleave" in text or "apply_rotary_pos_emb_interleave" in text:
        return "interleaved"
    if body is None:
        return "?"
    return "interleaved" if "::2" in body.group(0) else "half-split"


def named_here():
    source = pathlib.Path(__file__).parents[2] / "pe-core/src/convert/hf_config/families.rs"
    text = source.read_text()
    return set(re.findall(r'"([a-z0-9_-]+)"', text[text.index("match model_type") :]))


def main(out):
    here = named_here()
    print(f"# transformers {transformers.__version__}; see make_families.py", file=out)
    print("model_type,layer_type,rope_theta,partial_rotary_factor,head_dim,pairs", file=out)
    for model_type in sorted(here & set(CONFIG_MAPPING.keys())):
        try:
            cls = CONFIG_MAPPING[model_type]
            config = cls(hidden_size=12 * 96, num_attention_heads=12)
            parameters = config.rope_parameters
            if not parameters:
                continue
            try:
                head_dim = config.head_dim or 96
            except AttributeError:
                # None there is (the width is that of the heads), or one for each layer: the class has it.
                head_dim = getattr(cls, "head_dim", None) or 96
        except Exception as error:
            print(model_type, type(error).__name__, file=sys.stderr)
            continue
        sets = parameters if all(isinstance(v, dict) for v in parameters.values()) else {"": parameters}
        for layer_type, values in sorted(sets.items()):
            theta = values["rope_theta"]
            partial = values.get("partial_rotary_factor") or 1.0
            numbers = f"{float(theta)!r},{float(partial)!r},{head_dim}"
            print(f"{model_type},{layer_type},{numbers},{pairs(cls)}", file=out)


with open(pathlib.Path(__file__).parent / "families.csv", "w") as file:
    main(file)
