"""Writes learned.json: learned tables of torch and transformers with their gradients, in f64.

    python tests/golden/make_learned.py

`embedding`: x * scale + torch.nn.Embedding(ids), with padding_idx and without. `opt`: OPTLearnedPositionalEmbedding.
`roberta`: the position ids and rows of RobertaEmbeddings. `grad_*` are the gradients of sum(y * weight).
"""

import json
from pathlib import Path

import torch
import transformers
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

HERE = Path(__file__).parent
torch.manual_seed(17)
torch.set_default_dtype(torch.float64)


def case(kind, x, table, y, **more):
    weight = torch.randn(y.shape)
    (y * weight).sum().backward()
    return {"kind": kind, "x": x.tolist(), "table": table.tolist(), "weight": weight.tolist(), "y": y.tolist(),
            "grad_x": x.grad.tolist(), "grad_table": table.grad.tolist(), **more}


def draw(batch, time, width):
    return torch.randn(batch, time, width, requires_grad=True)


def main():
    cases = []
    for padding in (None, 1):
        embedding = torch.nn.Embedding(9, 5, padding_idx=padding)
        x = draw(2, 4, 5)
        ids = torch.tensor([[0, 3, 3, 8], [1, 3, 0, 1]])
        y = x * 1.5 + embedding(ids)
        cases.append(case("embedding", x, embedding.weight, y, ids=ids.tolist(), padding=padding, scale=1.5))
    opt = OPTLearnedPositionalEmbedding(6, 3)
    x = draw(2, 4, 3)
    y = x + opt(torch.ones(2, 6, dtype=torch.long), past_key_values_length=2)
    cases.append(case("opt", x, opt.weight, y, offset=2))
    table = torch.nn.Embedding(12, 3, padding_idx=1)
    tokens = torch.tensor([[0, 713, 2, 1, 1], [5, 6, 7, 8, 2]])
    ids = RobertaEmbeddings.create_position_ids_from_input_ids(tokens, 1)
    x = draw(2, 5, 3)
    y = x + table(ids)
    cases.append(case("roberta", x, table.weight, y, tokens=tokens.tolist(), ids=ids.tolist()))
    meta = {"with": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    (HERE / "learned.json").write_text(json.dumps({"meta": meta, "cases": cases}, separators=(",", ":")) + "\n")


main()
