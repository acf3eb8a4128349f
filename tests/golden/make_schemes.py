"""Writes schemes.csv: which positional encodings the modeling code of each of transformers' model types mentions.

    python tests/golden/make_schemes.py [FOLDER OF transformers/models]

Read as text, nothing is imported. A folder's code is searched for the names of classes, attributes and settings that a
scheme cannot do without; comments, docstrings and bare definitions of functions are left out. Each model type that the
folder's configuration classes name gets all marks of the folder (CLIP's text model those of its image model, too).
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "5.23.0"

MARKS = {
    "rotary": r"RotaryEmbedding|RotaryPositionalEmbedding|[^_f] apply_rotary|= apply_rotary",
    "learned": r"LearnedPositionalEmbedding|(?<!Sinusoidal)PositionalEmbeddings?\(nn\.Embedding"
               r"|position\w* ?= ?(nn\.|Quant)Embedding|positions_embed ?= ?nn\.Embedding|wpe ?= ?nn\.Embedding"
               r"|position_embeds_layer ?= ?nn\.Embedding|AxialPositionEmbeddings|BertModel\(",
    "learned-grid": r"position_embeddings? ?= ?nn\.(Parameter|Embedding\(self\.num_(positions|patches))",
    "sinusoidal": r"[Ss]inusoid|positional_encoding\(",
    "alibi": r"alibi",
    "relative-buckets": r"relative_attention_bias|rel_attn_embed|relative_pos_embeddings|rel_pos_bias",
    "relative-vectors": r"distance_embedding",
    "disentangled": r"disentangled|Disentangled",
    "relative-sinusoidal": r"rel_shift|relative_shift|_apply_relative_position_encoding|relative_k",
    "relative-grid": r"relative_position_bias_table|relative_position_bias",
    "convolution": r"PositionalConv|pos_conv_embed",
}


def main():
    if len(sys.argv) > 1:
        root = Path(sys.argv[1])
    else:
        import transformers
        assert transformers.__version__ == VERSION, transformers.__version__
        root = Path(transformers.__file__).parent / "models"
    found = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        configs = "".join(path.read_text() for path in sorted(folder.glob("configuration_*.py")))
        # Names in strings, as defaults of parts, belong to other folders.
        types = re.findall(r"^    model_type\s*(?::\s*\w+\s*)?=\s*\"([^\"]+)\"", configs, re.M)
        code = ""
        for path in sorted(folder.glob("modeling_*.py")):
            text = re.sub(r'"""(.|\n)*?"""', "", path.read_text())
            code += re.sub(r"#.*|@.*|^\s*def .*", "", text, flags=re.M)
        if not types or not code:
            continue
        marks = [name for name, pattern in MARKS.items() if re.search(pattern, code)]
        for model_type in types:
            found.setdefault(model_type, set()).update(marks)
    lines = [f"{name},{' '.join(mark for mark in MARKS if mark in marks)}" for name, marks in sorted(found.items())]
    head = f"# transformers {VERSION}, by make_schemes.py\nmodel_type,marks\n"
    (HERE / "schemes.csv").write_text(head + "\n".join(lines) + "\n")
    print(len(lines), "model types")


if __name__ == "__main__":
    main()
