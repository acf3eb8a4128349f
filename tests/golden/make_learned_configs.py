"""Writes learned_configs.csv: the learned tables of transformers' classes, their first rows, and the keys of config.json that state them.

    python tests/golden/make_learned_configs.py

Each class is built from its own configuration with two layers, 64 tokens, and the padding token 3, and run on three tokens. Recorded
are the table that the first of them reads (the decoder's, if there are two), its shape, and the row.
"""

import csv
import importlib
import json
import warnings
from pathlib import Path

import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

TYPES = """
albert align_text_model bart bert bert-generation big_bird bigbird_pegasus biogpt blenderbot blenderbot-small blip_text_model
bridgetower_text_model bros camembert chinese_clip_text_model clap_text_model clip_text_model clipseg_text_model convbert data2vec-text
deberta deberta-v2 distilbert dpr electra ernie flaubert flava_text_model fnet git gpt2 gpt_bigcode gpt_neo groupvit_text_model ibert
imagegpt layoutlm layoutlmv3 lilt longformer luke markuplm mbart megatron-bert metaclip_2_text_model mobilebert mpnet mra mvp
nystromformer openai-gpt opt owlv2_text_model owlvit_text_model plbart rembert roberta roberta-prelayernorm roc_bert siglip2_text_model
siglip_text_model splinter squeezebert tapas trocr visual_bert whisper xclip_text_model xlm xlm-roberta xlm-roberta-xl xmod yoso
altclip_text_model
""".split()
KEYS = ["hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "input_embedding_size", "max_position_embeddings",
        "n_positions", "max_target_positions", "pad_token_id", "position_biased_input", "use_learned_position_embeddings"]
LAYERS = ["num_hidden_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "num_layers"]
IDS = torch.tensor([[10, 11, 12]])
SEEN = {}


def embedding(ids, weight, *args, **kwargs):
    SEEN.setdefault(id(weight), ids.flatten()[0].item())
    return EMBEDDING(ids, weight, *args, **kwargs)


EMBEDDING = torch.nn.functional.embedding
torch.nn.functional.embedding = embedding


def build(name):
    cls = CONFIG_MAPPING[name]
    config = cls(vocab_size=64)
    for key in LAYERS:
        if isinstance(config.to_dict().get(key), int):
            setattr(config, key, 2)
    for key in ["bos_token_id", "eos_token_id", "decoder_start_token_id"]:
        if isinstance(getattr(config, key, None), int):
            setattr(config, key, 2)
    if "pad_token_id" in config.to_dict() and config.pad_token_id is not None:
        config.pad_token_id = 3
    module = importlib.import_module(cls.__module__.replace("configuration", "modeling"))
    found = MODEL_MAPPING.get(type(config), None) or MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    found = found[0] if isinstance(found, tuple) else found
    model = (found or getattr(module, cls.__name__.replace("Config", "Model")))(config).eval()
    if name == "xmod":
        model.set_default_language("en_XX")
    return config, model


def run(name, model):
    if name == "whisper":
        # It slices its table.
        embedding = model.decoder.embed_positions
        equal = (embedding.weight == embedding(IDS)[0]).all(1)
        SEEN[id(embedding.weight)] = equal.nonzero()[0].item()
        return None
    if name == "bros":
        return model(input_ids=IDS, bbox=torch.zeros(1, 3, 4))
    try:
        return model(input_ids=IDS)
    except (TypeError, ValueError):
        return model(input_ids=IDS, decoder_input_ids=IDS)


def main():
    rows = []
    for name in sorted(TYPES):
        config, model = build(name)
        SEEN.clear()
        with torch.no_grad():
            run(name, model)
        tables = {key: value for key, value in model.named_parameters() if id(value) in SEEN and "token" not in key}
        last = [key for key in tables if key.split(".")[-2] in ("position_embeddings", "position_embedding", "embed_positions", "wpe",
                                                                "positions_embed") and "image_encoder" not in key][-1]
        stated = {key: value for key, value in config.to_dict().items() if key in KEYS and value is not None}
        table = tables[last]
        rows.append([name, ".".join(last.split(".")[-2:]), *table.shape, SEEN[id(table)], json.dumps(stated)])
        print(rows[-1])
    with open(Path(__file__).parent / "learned_configs.csv", "w", newline="") as file:
        file.write(f"# transformers {transformers.__version__}, by make_learned_configs.py\n")
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        writer.writerow(["model_type", "tensor", "rows", "width", "first_row", "keys"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
