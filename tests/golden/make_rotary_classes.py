"""rotary_classes.json: what the rotary classes and attention layers of transformers do, one by one.

    pip install -r requirements.txt && python make_rotary_classes.py [--table | --varied | FOLDER ...]

For every class with a rotary embedding of text (or sound) the script builds its default configuration, the rotary class,
and one attention layer in which every linear layer is replaced by random outputs that do not depend on the
position. What reaches the attention function at position p is then a linear map of what reaches it at position 0. The
map is solved for and read: which columns of the projection form pairs, which way they rotate, by which angle, and which
of three coordinates each pair follows. Nothing is concluded from names or source text.
Layers that apply their rotation elsewhere are probed through the module's `apply_rotary_pos_emb` alone.

From the same runs it writes pe-core/src/convert/hf_config/classes.rs, the defaults of each model type. With --table
this file alone is written again, from the JSON; with names of folders only these are probed, and nothing is written.

`varied` has the frequencies of each class with one key more than its default configuration. A key that changes nothing
is one that the class ignores. The table lists the keys that it reads. With --varied only this part and the table are written again.

The JSON lists distinct frequencies once (`inv_freq`), and for each class: configuration, layer type, layout
(`half-split`, `interleaved`), first rotated column, number of pairs, width of the query, direction, layers and types of
layers that do not rotate.

`surveyed` lists every configuration class of transformers that has a key about rotary embeddings, itself or in a part,
with its default configuration: those above (`one position`), composite ones with what the rotary class makes of each
part (`parts`), those of images (`several coordinates`), and the few that no rotary class of their folder accepts
(`not probed`). The last lines that the script prints are their numbers.
"""

import copy
import importlib
import inspect
import json
import math
import os
import re
import sys
import typing
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import torch
import transformers
from torch import nn
from transformers import PreTrainedConfig
from transformers.modeling_utils import AttentionInterface

VERSION = "5.23.0"
HERE = Path(__file__).parent
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

# Positions of the tokens: small, large; with three coordinates also one coordinate alone.
PLAIN = torch.tensor([[0, 1, 4096]])
AXES = torch.tensor([[0, 1, 4096, 1, 0, 0], [0, 1, 4096, 0, 1, 0], [0, 1, 4096, 0, 0, 1]])

# Classes whose default configuration does not fit their own code; values of the released models.
RELEASED = {
    "glm4v_text": {"partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]},
    "glm4v_moe_text": {"partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]},
    "glm_image_text": {"partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]},
    "hunyuan_vl_text": {"mrope_section": [16, 16, 16, 16]},
    "cohere_compass_text": {"full_attention": {"rope_type": "default", "rope_theta": 50000.0}},
}
# Switches that are off by default. `families::on_request` has those that families.rs must not know without them.
SWITCHED_ON = {"zamba2": {"use_mem_rope": True}, "esm": {"position_embedding_type": "rotary"},
               "granitemoehybrid": {"position_embedding_type": "rope"}}
ON_REQUEST = ["zamba2", "esm"]
WIDTHS = {"qwen3_omni_moe_text": {"head_dim": 128}, "glm4v_moe_text": {"head_dim": 128}}


class Projection(nn.Module):
    """Random outputs, the same for every token of a sequence."""

    outputs = []

    def __init__(self, inputs, outputs, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = inputs, outputs
        self.weight, self.bias = nn.Parameter(torch.zeros(1, 1)), None

    def forward(self, x):
        if x.dim() != 3:
            return torch.randn([*x.shape[:-1], self.out_features], dtype=x.dtype)
        values = torch.randn([x.shape[0], 1, self.out_features], dtype=torch.float64)
        Projection.outputs.append(values[:, 0])
        return values.expand([*x.shape[:-1], self.out_features]).clone().to(x.dtype)


class Captured(Exception):
    pass


def capture(module, query, key, value, *args, **kwargs):
    raise Captured(query.detach().double())


AttentionInterface.get_interface = lambda self, *args, **kwargs: capture


def modules():
    root = Path(transformers.__file__).parent / "models"
    for path in sorted(root.glob("*/modeling_*.py")):
        if re.search("[Rr]otary", path.read_text()):
            yield path.parent.name, importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")


def config_class(cls):
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        for found in typing.get_args(parameter.annotation) or (parameter.annotation,):
            if inspect.isclass(found) and issubclass(found, PreTrainedConfig):
                return found
    return None


def classes(module, pattern, argument):
    for cls in list(vars(module).values()):
        if (inspect.isclass(cls) and cls.__module__ == module.__name__ and issubclass(cls, nn.Module)
                and re.search(pattern, cls.__name__) and "forward" in vars(cls)
                and argument in inspect.signature(cls.forward).parameters):
            yield cls


def configuration(cls, rotary):
    """The default configuration, or that of the part of a composite model that the rotary class belongs to."""
    config = cls()
    if getattr(cls, "sub_configs", None) and not hasattr(config, "max_position_embeddings"):
        parts = [getattr(config, name) for name in cls.sub_configs]
        parts = [part for part in parts if isinstance(part, PreTrainedConfig)]
        stem = rotary.__name__.removesuffix("RotaryEmbedding")
        fitting = [part for part in parts if type(part).__name__ in (stem + "Config", stem + "TextConfig")]
        fitting += [part for part in parts if re.search("Text|Decoder", type(part).__name__)]
        # As the class makes it, not as the composite model changes it.
        config = type((fitting or parts)[0])()
    name = type(config).model_type
    for key, value in {**WIDTHS.get(name, {}), **SWITCHED_ON.get(name, {})}.items():
        setattr(config, key, value)
    if name in RELEASED:
        config.rope_parameters = {**(config.rope_parameters or {}), **RELEASED[name]}
    for key, value in (("head_dim", lambda: config.hidden_size // config.num_attention_heads),
                       ("num_key_value_heads", lambda: config.num_attention_heads)):
        try:
            if getattr(config, key) is None:
                setattr(config, key, value())
        except Exception:
            # Not there, or one for each layer.
            pass
    return config


def embeddings(rotary, layer_type, axes):
    """Cosines and sines, in double precision, and the number of tokens."""
    words = {} if layer_type is None else {"layer_type": layer_type}
    forms = [PLAIN, AXES[:, None], torch.cat([AXES, AXES[:1]])[:, None]]
    error = None
    for form in forms[1:] if axes else forms[:1]:
        try:
            result = rotary(torch.zeros(1, form.shape[-1], 8, dtype=torch.float64), form, **words)
            if isinstance(result, tuple):
                return tuple(part.double() for part in result), form.shape[-1]
            return result.to(torch.complex128 if result.is_complex() else torch.float64), form.shape[-1]
        except Exception as failure:
            error = failure
    raise error


def solve(before, after):
    return torch.linalg.lstsq(before, after).solution.T


def read(maps, width):
    """Pairs of columns, their angles and directions, from the maps of positions 1, 4096 and of single coordinates."""
    try:
        return read_within(maps, width, 1e-9)
    except ValueError:
        # Functions that round to f32 in between.
        return read_within(maps, width, 1e-5)


def read_within(maps, width, noise):
    one, far, *single = maps
    off = lambda m: (m - torch.diag(torch.diagonal(m))).abs() > noise
    mixes, seen, pairs = off(far), set(), []
    for i in range(width):
        partners = mixes[i].nonzero().flatten().tolist()
        if i in seen or not partners:
            continue
        if len(partners) > 1:
            raise ValueError(f"column {i} depends on {partners}")
        j = partners[0]
        seen.add(j)
        angle = math.atan2(one[j, i], one[i, i])
        axis = [k for k, m in enumerate(single) if off(m)[i, j]]
        pairs.append((i, j, angle, axis))
    if not pairs:
        raise ValueError("nothing rotates")
    signs = {angle > 0 for _, _, angle, _ in pairs if abs(angle) > max(1e-6, 2 * noise)}
    first, gaps = pairs[0][0], {j - i for i, j, _, _ in pairs}
    if len(gaps) != 1 or len(signs) != 1:
        raise ValueError(f"gaps {gaps}, signs {signs}")
    gap = gaps.pop()
    interleaved = gap == 1 and len(pairs) > 1
    firsts = [i for i, *_ in pairs]
    expected = range(first, first + 2 * len(pairs), 2) if interleaved else range(first, first + len(pairs))
    if firsts != list(expected):
        raise ValueError(f"pairs begin at {firsts}")
    result = {
        "layout": "interleaved" if interleaved else "half-split",
        "first": first, "pairs": len(pairs), "gap": gap, "width": width,
        "direction": "forward" if signs.pop() else "reversed",
    }
    if any(axis for *_, axis in pairs):
        result["axes"] = "".join(str(axis[0]) if len(axis) == 1 else "?" for *_, axis in pairs)
    result["angles"] = [abs(angle) for _, _, angle, _ in pairs]
    return result


def by_attention(attention, config, rotary, layer_type, index, axes, mask):
    emb, tokens = embeddings(rotary, layer_type, axes)
    linear, nn.Linear = nn.Linear, Projection
    try:
        wanted = inspect.signature(attention.__init__).parameters
        known = {"layer_idx": index, "layer_type": layer_type, "is_causal": True,
                 "num_heads": getattr(config, "num_attention_heads", None),
                 "num_attention_heads": getattr(config, "num_attention_heads", None),
                 "num_key_value_heads": getattr(config, "num_key_value_heads", None)}
        layer = attention(config, **{k: v for k, v in known.items() if k in wanted}).double().eval()
    finally:
        nn.Linear = linear
    for path, child in list(layer.named_modules()):
        if path and "Norm" in type(child).__name__:
            parent, _, name = path.rpartition(".")
            setattr(layer.get_submodule(parent), name, nn.Identity())
    heads = getattr(config, "num_attention_heads", None) or 8
    batch = max(40, math.ceil(1100 / heads))
    spread = lambda t: t.expand(batch, *t.shape[1:]) if t.dim() == 3 and t.shape[0] == 1 else t
    emb = tuple(map(spread, emb)) if isinstance(emb, tuple) else spread(emb)
    by_type = {layer_type: emb} if layer_type else None
    wanted = inspect.signature(attention.forward).parameters
    values = {
        "hidden_states": torch.zeros(batch, tokens, getattr(config, "hidden_size", 8), dtype=torch.float64),
        "position_embeddings": emb, "rotary_pos_emb": emb,
        "position_ids": torch.arange(tokens).expand(batch, tokens), "attention_mask": mask and torch.zeros(1, 1, tokens, tokens, dtype=torch.float64),
        "cu_seqlens": torch.tensor([0, tokens], dtype=torch.int32), "shared_kv_states": {}, "alibi": None,
        "attention_scaling": 1.0, "max_seqlen": tokens, "layer_idx": index,
    }
    Projection.outputs.clear()
    torch.manual_seed(1)
    call = {k: v for k, v in values.items() if k in wanted}
    try:
        try:
            layer(**call)
        except TypeError:
            if by_type is None:
                raise
            Projection.outputs.clear()
            layer(**{**call, "position_embeddings": by_type})
        raise ValueError("the attention function was not called")
    except Captured as found:
        (query,) = found.args
    width = query.shape[-1]
    start = query[:, :, 0].reshape(-1, width)
    maps = [solve(start, query[:, :, t].reshape(-1, width)) for t in range(1, tokens)]
    # Which output of which projection each column of the query is.
    head = query[:, 0, 0] - query[:, 0, 0].mean(0)
    for outputs in Projection.outputs:
        if outputs.shape[0] != batch or outputs.shape[1] < width:
            continue
        outputs = outputs - outputs.mean(0)
        alike = ((head.T @ outputs) / (head.norm(dim=0)[:, None] * outputs.norm(dim=0) + 1e-30)).abs().max(1)
        if alike.values.min() > 0.999 and len(set(alike.indices.tolist())) == width:
            order = torch.argsort(alike.indices)
            return read([m[order][:, order] for m in maps], width)
    raise ValueError("the query's columns are of no single projection")


def by_function(module, rotary, layer_type):
    """The module's own function on random queries, for layers that do not call it themselves."""
    (cos, sin), tokens = embeddings(rotary, layer_type, False)
    name = next(n for n in vars(module) if n.startswith("apply_rotary_pos_emb") or n == "apply_rotary_emb")
    # Some functions rotate one tensor, and repeat the columns themselves.
    single = list(inspect.signature(vars(module)[name]).parameters)[1] == "cos"
    width = cos.shape[-1] * (1 + single)
    query = torch.randn(1, 2 * width + 8, 1, width, dtype=torch.float64).expand(-1, -1, tokens, -1)
    given = (query, cos, sin) if single else (query, query, cos, sin)
    out = vars(module)[name](*given)
    out = out[0] if single else out[0][0]
    base = solve(query[0, :, 0], out[:, 0])
    if not torch.allclose(base @ base.T, torch.eye(width, dtype=torch.float64), atol=1e-6):
        raise ValueError("position 0 is not a permutation")
    return read([base.T @ solve(query[0, :, 0], out[:, t]) for t in range(1, tokens)], width)


def frequencies(rotary, layer_type):
    buffers = {name: buffer for name, buffer in rotary.named_buffers() if "original" not in name}
    for name in (f"{layer_type}_inv_freq", "inv_freq"):
        if name in buffers:
            scaling = getattr(rotary, name.removesuffix("inv_freq") + "attention_scaling", 1.0)
            return [float(v) for v in buffers[name].flatten()], float(scaling)
    raise ValueError(f"no inv_freq among {sorted(buffers)}")


KEYS = re.compile(r"^(model_type|rope\w*|rotary\w*|partial_rotary_factor|head_dim|hidden_size|n_embd|d_model|dim|n_heads?|\w*num_attention_heads"
                  r"|num_heads|n_heads|kv_channels|qk_\w+_head_dim|max_position_embeddings|n_positions|max_seq_len|global_head_dim"
                  r"|original_max_position_embeddings|\w*rope_theta|rope_local_base_freq|mrope\w*|use_rope|use_mem_rope|attention_head_dim|position_embedding_type|per_layer_config)$")


HEAD = """//! What each model type of transformers {version} implies where its `config.json` is silent.
//!
//! Written by `tests/golden/make_rotary_classes.py`, which runs the classes.

use super::family::Unrotated::{{ByBase, Full, FullBesideSliding, Listed}};
use super::family::{{Family, PLAIN, Temper}};
use crate::families::rotary::MropeArrangement::{{Chunked, Interleaved, SpatialFirst}};

/// Sorted by name.
#[rustfmt::skip]
pub(super) const CLASSES: &[(&str, Family)] = &[
"""
ROW = """    ("{name}", PLAIN{calls}),
"""
AXIAL_HEAD = """];

/// Model types that rotate by several coordinates, such as those of patches. Sorted.
#[rustfmt::skip]
pub(super) const AXIAL: &[&str] = &[
"""
# Sections of M-RoPE, by the coordinates that the pairs follow.
SECTIONS = {
    "0" * 16 + "1" * 24 + "2" * 24: "[16, 24, 24], Chunked",
    "0" * 8 + "1" * 12 + "2" * 12: "[8, 12, 12], Chunked",
    "012" * 20 + "0000": "[24, 20, 20], Interleaved",
    "012" * 10 + "01": "[11, 11, 10], Interleaved",
    "12" * 22 + "0" * 20: "[20, 22, 22], SpatialFirst",
}
# Layers without a rotary embedding, from the configuration classes and the attention layers. The golden file has what
# the layers do.
UNROTATED = {
    "afmoe": 'Full { key: "global_attn_every_n_layers", period: 4 }',
    "cohere2": 'Full { key: "sliding_window_pattern", period: 4 }',
    "cohere2_moe": 'Full { key: "", period: 0 }',
    "exaone4": 'FullBesideSliding { key: "sliding_window_pattern", period: 4 }',
    "exaone_moe": 'FullBesideSliding { key: "sliding_window_pattern", period: 4 }',
    "flint": 'Full { key: "", period: 0 }',
    "kolibri1": 'FullBesideSliding { key: "", period: 5 }',
    "llama4_text": "Listed { period: 4 }",
    "mistral_large4_text": "Listed { period: 4 }",
    "smollm3": "Listed { period: 4 }",
    "granite_swa": "ByBase { period: 0 }",
    "granitemoe_swa": "ByBase { period: 0 }",
    "muse_glimmer_text": "ByBase { period: 4 }",
    "muse_spark_text": "ByBase { period: 4 }",
}
# Keys that a file may have and a class may ignore, with a value that no class has by default.
VARIED = [
    {"rope_theta": 54321.0}, {"partial_rotary_factor": 0.625}, {"rotary_pct": 0.625}, {"rotary_dim": 20},
    {"rotary_emb_base": 777.0}, {"rotary_embedding_base": 777.0}, {"kv_channels": 48}, {"head_dim": 48},
    {"attn_config": {"rope_theta": 777.0}}, {"rope_local_base_freq": 777.0}, {"local_rope_theta": 777.0},
    {"global_rope_theta": 777.0}, {"rope_parameters": {"rope_type": "default", "rope_theta": 999.0}},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 999.0, "partial_rotary_factor": 0.625}},
    {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    {"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 54321.0},
    {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}},
    {"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 1024, "rope_theta": 999.0}},
    {"rope_scaling": {"rope_type": "dynamic", "factor": 3.0}},
    {"rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}},
]
# Dictionaries of each type of layers, in classes that have several.
VARIED_TYPES = [{"rope_type": "default"}, {"rope_type": "linear", "factor": 3.0, "rope_theta": 999.0}]
# Keys that the code reads with which a model was released, and its class does not.
READ_BY_ORIGIN = {"dbrx": ["attn_config"]}


def vary(records, sets):
    """The frequencies of each class with more keys, and without. Every configuration is made anew."""
    named, found, seen = configurations(), dict(modules()), set()
    for record in records:
        name, cls = record["model_type"], named[record["class"]]
        if not name or cls in seen:
            continue
        seen.add(cls)
        rotary = [c for c in classes(found[cls.__module__.split(".")[2]], "Rotary", "position_ids") if not re.search("Vision", c.__name__)]
        rotary.sort(key=lambda c: config_class(c) is not cls)
        base, released = {**WIDTHS.get(name, {}), **SWITCHED_ON.get(name, {})}, dict(RELEASED.get(name, {}))
        if released:
            base.update({key: released.pop(key) for key in ["partial_rotary_factor"] if key in released})
            base["rope_parameters"] = released if "full_attention" in released else {"rope_type": "default", **released}
        own = sorted(k for k, v in (record["config"].get("rope_parameters") or {}).items() if isinstance(v, dict))
        typed = [{"rope_parameters": {layer_type: dict(values) for layer_type in own}} for values in VARIED_TYPES if own]
        for keys in [{}, *VARIED, *typed, {}]:
            given = {**base, **keys}
            if released and "rope_parameters" in keys:
                given["rope_parameters"] = {**base["rope_parameters"], **keys["rope_parameters"]}
            entry = {"class": record["class"], "keys": keys, **({} if given == keys else {"given": given})}
            try:
                config = cls(**copy.deepcopy(given))
                types, entry["layers"] = every_type(config), []
                module = rotary[0](config)
                for layer_type in types:
                    inv_freq, scaling = frequencies(module, layer_type)
                    if record["follows"] == "in another order":
                        inv_freq = sorted(inv_freq, reverse=True)
                    if inv_freq not in sets:
                        sets.append(inv_freq)
                    entry["layers"].append([layer_type, sets.index(inv_freq), scaling])
            except Exception:
                # Nothing to compare with.
                continue
            yield entry


def keys_read(entries):
    """The keys that change something, of one class, or None if the class does not take its own defaults."""
    of = {json.dumps(entry["keys"]): entry.get("layers") for entry in entries}
    result = lambda keys: of.get(json.dumps(keys))
    if not result({}):
        return None
    scaled, based, partial = VARIED[14], VARIED[15], VARIED[13]
    alone = [keys for keys in VARIED if len(keys) == 1 and not keys.keys() & {"rope_parameters", "rope_scaling"}]
    names = [next(iter(keys)) for keys in alone if result(keys) != result({})]
    if "rope_theta" not in names and result(scaled) and result(based) != result(scaled):
        names.append("rope_theta beside rope_scaling")
    if result(partial) is None or result(partial) != result(VARIED[12]):
        names.append("rope_parameters.partial_rotary_factor")
    return sorted(names)


def keys_ignored(entries, typed):
    """The dictionaries without types of layers that change nothing, or that a class with several types rejects."""
    of = {json.dumps(entry["keys"]): entry.get("layers") for entry in entries}
    result = lambda keys: of.get(json.dumps(keys))
    probes = {"rope_parameters": VARIED[12], "rope_scaling": VARIED[14]}
    return sorted(key for key, keys in probes.items() if result({}) and (result(keys) == result({}) or typed and result(keys) is None))


def defaults(cls):
    """The configuration of a class with 12 heads of 96 columns, or its default."""
    try:
        config = cls(hidden_size=12 * 96, num_attention_heads=12)
        return config, config.to_dict().get("head_dim")
    except Exception:
        return cls(), None


def temperatures(cls, found):
    """What the module of a class scales its scores with."""
    module = found[cls.__module__.split(".")[2]]
    has = {"Temper::Mscale": hasattr(module, "yarn_apply_mscale"), "Temper::Beta": hasattr(module, "get_llama_4_attn_scale"),
           "Temper::Unrotated": "attn_temperature_tuning" in cls().to_dict()}
    return [name for name, is_there in has.items() if is_there]


def table(records, surveyed, varied):
    """Writes the table that pe-core reads."""
    named, stack, of_folder = {}, [PreTrainedConfig], dict(modules())
    while stack:
        stack += (found := stack.pop()).__subclasses__()
        named[found.__name__] = found
    rows = {}
    for record in records:
        if record["model_type"] and record["model_type"] not in ON_REQUEST:
            rows.setdefault(record["model_type"], []).append(record)
    text = HEAD.format(version=VERSION)
    for name, group in sorted(rows.items()):
        cls = named[group[0]["class"]]
        config, head_dim = defaults(cls)
        parameters = config.to_dict().get("rope_parameters") or group[0]["config"].get("rope_parameters") or {}
        nested = {k: v for k, v in sorted(parameters.items()) if isinstance(v, dict)}
        main = nested.get("full_attention") or next(iter(nested.values()), parameters)
        calls = []
        entries = [entry for entry in varied if entry["class"] == group[0]["class"]]
        known = keys_read(entries)
        # The class has a dictionary of its own, and nothing of it is left if a file has one.
        whole_or_none = known is not None and "rope_theta beside rope_scaling" in known
        theta = main.get("rope_theta") or getattr(config, "rope_theta", None) or 10000.0
        if whole_or_none or nested and name not in RELEASED and isinstance(cls.default_theta, (int, float)):
            theta = cls.default_theta
        if theta != 10000.0:
            calls.append(f"theta({float(theta):_})")
        partial = RELEASED.get(name, main).get("partial_rotary_factor") or 1.0
        if partial != 1.0 and not nested and main.get("rope_type") == "default" and not whole_or_none:
            calls.append(f"partial({partial!r})")
        widths = {r["layer_type"]: r["width"] for r in group}
        part = config.to_dict().get("qk_rope_head_dim")
        if part:
            calls.append(f"part({part})")
        elif len(set(widths.values())) > 1:
            calls.append(f"head({widths['sliding_attention']})")
            calls.append(f"global_head({widths['full_attention']})")
        elif head_dim not in (None, 96):
            calls.append(f"head({head_dim})")
        elif {"hidden_size", "num_attention_heads"} <= (own := group[0]["config"]).keys():
            width = group[0]["width"] or own.get("head_dim") or own.get("kv_channels")
            if width and width != own["hidden_size"] // own["num_attention_heads"]:
                calls.append(f"head({width})")
        layouts, directions = {r["layout"] for r in group}, {r["direction"] for r in group}
        assert len(layouts) == 1 and len(directions) == 1, group
        if layouts == {"interleaved"}:
            calls.append("interleaved()")
        if name not in RELEASED and (nested or main.get("rope_type", "default") != "default" or whole_or_none):
            # None is a type of layers that does not rotate.
            types = {k: v for k, v in sorted(parameters.items()) if isinstance(v, dict) or v is None}
            whole = {k: v for k, v in (types if nested else parameters).items() if k != "rope_theta" or whole_or_none}
            calls.append(f"parameters(r#\"{json.dumps(whole)}\"#)")
        axes = group[0].get("axes", "")
        if axes in SECTIONS:
            calls.append(f"mrope({SECTIONS[axes]})")
        elif re.search("[12]", axes):
            calls.append('differs("the columns of a pair follow different coordinates")')
        if directions == {"reversed"}:
            calls.append("clockwise()")
        if 2 * group[0]["pairs"] > int((group[0]["width"] or 10**9) * partial):
            calls.append("odd()")
        if name in UNROTATED:
            calls.append(f"unrotated({UNROTATED[name]})")
        if tempers := temperatures(cls, of_folder):
            calls.append(f"tempers(&[{', '.join(tempers)}])")
        sizes = []
        for keys in (("hidden_size", "n_embd", "d_model", "dim"), ("num_attention_heads", "n_head", "n_heads"),
                     ("num_hidden_layers", "n_layers", "n_layer"), ("max_position_embeddings", "n_positions", "max_seq_len")):
            size = next((whole[name] for whole in [named[group[0]["class"]]().to_dict()] for name in keys if isinstance(whole.get(name), int)), 0)
            sizes.append(size)
        calls.append(f"sizes({sizes})")
        if ignored := keys_ignored(entries, bool(nested)):
            calls.append(f"ignores(&{json.dumps(ignored)})")
        if known is not None:
            calls.append(f"reads(&{json.dumps(sorted({*known, *READ_BY_ORIGIN.get(name, [])}))})")
        text += ROW.format(name=name, calls="".join(f".{call}" for call in calls))
    axial = sorted({s["model_type"] for s in surveyed if s["kind"] == "several coordinates" and s["model_type"] and s["model_type"] not in rows})
    path = HERE.parents[1] / "pe-core/src/convert/hf_config/classes.rs"
    text += AXIAL_HEAD + "".join(f"    {json.dumps(name)},\n" for name in axial) + "];\n"
    path.write_text(text)
    print(len(rows), "model types,", len(axial), "with several coordinates")


def configurations():
    """Every configuration class of transformers, by name."""
    root = Path(transformers.__file__).parent / "models"
    for path in sorted(root.glob("*/configuration_*.py")):
        importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
    found, stack = {}, [PreTrainedConfig]
    while stack:
        for cls in stack.pop().__subclasses__():
            if cls.__module__.startswith("transformers.models.") and cls.__name__ not in found:
                found[cls.__name__] = cls
            stack.append(cls)
    return dict(sorted(found.items()))


ROPE = re.compile("rope|rotary|theta")


def has_rope(cls):
    """Whether the class has a key about rotary embeddings, itself or in a part."""
    keys = {key for base in cls.__mro__ if base is not PreTrainedConfig for key in getattr(base, "__annotations__", {})}
    try:
        keys |= set(cls().to_dict())
    except Exception:
        pass
    own = any(ROPE.search(key) and not re.search("head_dim|relation_bias", key) for key in keys)
    return own or any(type(part) is not cls and has_rope(type(part)) for _, part in parts(cls))


def parts(cls):
    """The names and configurations of the parts of a composite model."""
    try:
        config = cls()
    except Exception:
        return []
    named = [(name, getattr(config, name, None)) for name in getattr(cls, "sub_configs", None) or {}]
    return [(name, part) for name, part in named if isinstance(part, PreTrainedConfig)]


# Positions of patches and the like, with several coordinates.
AXIAL = re.compile("(?<!Ocr2)Vision|ViT|Eomt|Sapiens|Sam2|Sam3(?!Lite)|EdgeTam|EfficientLoFTR")
# What the rotary embedding of other classes does that one specification cannot say.
OTHER = {
    "EsmFold2AtomEncoderConfig": "rotates by coordinates of atoms",
}


def nested(config):
    """The keys about rotary embeddings of a configuration and of its parts."""
    kept = {}
    for key, value in config.items():
        if isinstance(value, dict) and ("model_type" in value or key.endswith("_config")):
            kept[key] = nested(value)
        elif KEYS.match(key) and value is not None:
            kept[key] = value
    return kept


def every_type(config):
    """The types of layers with parameters of their own. The configuration gets layers of each."""
    parameters = getattr(config, "rope_parameters", None) or {}
    types = sorted(k for k, v in parameters.items() if isinstance(v, dict)) or [None]
    layers = getattr(config, "layer_types", None) or []
    if types != [None] and layers and not set(types) & {"main", "compress"} and not set(types) <= set(layers):
        # Types that the default configuration describes but has no layer of.
        config.layer_types = [types[i % len(types)] for i in range(len(layers))]
    return types


def rotations(module, rotary_class, config, attentions):
    """What the layers of each type do, and the failures."""
    types = every_type(config)
    layers = getattr(config, "layer_types", None) or []
    rotary = rotary_class(config)
    for layer_type in types:
        index = layers.index(layer_type) if layer_type in layers else 0
        found, errors = None, []
        attempts = [(a, axes, mask) for a in attentions[:3] for axes in (True, False) for mask in (False, True)]
        one = config.per_layer_config[index] if getattr(config, "is_heterogeneous", False) else config
        for attention, axes, mask in attempts:
            try:
                found = by_attention(attention, one, rotary, layer_type, index, axes, mask)
                break
            except Exception as error:
                errors.append(f"{attention.__name__}: {type(error).__name__}: {str(error)[:90]}")
        try:
            found = found or {**by_function(module, rotary, layer_type), "width": None}
            inv_freq, scaling = frequencies(rotary, layer_type)
        except Exception as error:
            yield layer_type, None, (f"{type(error).__name__}: {str(error)[:150]}", *dict.fromkeys(errors))
            continue
        angles = found.pop("angles")
        mod = [math.atan2(math.sin(f), math.cos(f)) for f in inv_freq]
        found["follows"] = len(mod) == len(angles) and all(abs(abs(a) - b) < 1e-6 for a, b in zip(mod, angles))
        if not found["follows"] and len(mod) == len(angles):
            # Frequencies that are arranged after they are stored.
            order = [min(range(len(mod)), key=lambda j: abs(mod[j] - abs(a))) for a in angles]
            if sorted(order) == list(range(len(mod))) and all(abs(mod[j] - abs(a)) < 1e-6 for j, a in zip(order, angles)):
                inv_freq = [inv_freq[j] for j in order]
                found["follows"] = "in another order"
        yield layer_type, {**found, "attention_factor": scaling, "inv_freq": inv_freq}, ()


def unrotated(config):
    """Indices of the layers that transformers does not rotate, as far as the configuration states them."""
    for key in ("layer_rope_theta", "no_rope_layers"):
        if getattr(config, key, None):
            return [i for i, value in enumerate(getattr(config, key)) if not value]
    return None


def unrotated_types(module, rotary_class, config, attentions):
    """The types of layers without a dictionary, or whose attention does not rotate its queries."""
    layers = getattr(config, "layer_types", None) or []
    parameters = getattr(config, "rope_parameters", None) or {}
    if any(isinstance(v, dict) for v in parameters.values()):
        return sorted(k for k, v in parameters.items() if v is None)
    if unrotated(config) is not None:
        return []
    out = []
    for layer_type in sorted(set(layers)):
        index = len(layers) - 1 - layers[::-1].index(layer_type)
        outcomes = []
        for attention in attentions[:3]:
            for axes in (True, False):
                for mask in (False, True):
                    try:
                        by_attention(attention, config, rotary_class(config), None, index, axes, mask)
                        outcomes.append("rotates")
                    except Exception as error:
                        outcomes.append(str(error))
        if "rotates" not in outcomes and "nothing rotates" in outcomes:
            out.append(layer_type)
    return out


def write(records, surveyed, sets):
    """Writes the JSON and the table, with the variations of the keys."""
    varied = []
    for entry in vary(records, sets):
        # Twice without more keys: nothing that a configuration left behind.
        same = [other for other in varied[-len(VARIED) - len(VARIED_TYPES) - 1:] if other["class"] == entry["class"] and other["keys"] == entry["keys"]]
        assert same in ([], [entry]), (same, entry)
        varied += [] if same else [entry]
    lines = ",\n".join(json.dumps(r) for r in records)
    freqs = ",\n".join(json.dumps(s) for s in sets)
    others = ",\n".join(json.dumps(s) for s in surveyed)
    more = ",\n".join(json.dumps(s) for s in varied)
    text = f'{{"transformers": "{VERSION}",\n"inv_freq": [\n{freqs}\n],\n"classes": [\n{lines}\n],\n"surveyed": [\n{others}\n],\n"varied": [\n{more}\n]}}\n'
    (HERE / "rotary_classes.json").write_text(text)
    table(records, surveyed, varied)


def main():
    assert transformers.__version__ == VERSION, transformers.__version__
    only, sets, records, failures, surveyed = sys.argv[1:], [], [], [], []
    if only in (["--table"], ["--varied"]):
        golden = json.loads((HERE / "rotary_classes.json").read_text())
        if only == ["--table"]:
            table(golden["classes"], golden["surveyed"], golden["varied"])
            return
        used = {entry[key] for part in ("classes", "surveyed") for one in golden[part] for key in ["inv_freq"]
                for entry in [one, *one.get("layers", [])] if key in entry}
        write(golden["classes"], golden["surveyed"], golden["inv_freq"][:max(used) + 1])
        return
    named, covered = configurations(), {}

    def probe(folder, module, rotary_class, config_type):
        try:
            config = configuration(config_type, rotary_class)
        except Exception as error:
            failures.append((folder, rotary_class.__name__, None, f"{type(error).__name__}: {error}"))
            return
        attentions = [c for c in classes(module, "Attention", "hidden_states") if "Cross" not in c.__name__]
        stem, own = rotary_class.__name__.removesuffix("RotaryEmbedding"), type(config).__name__.removesuffix("Config")
        attentions.sort(key=lambda c: (not c.__name__.startswith(own), config_class(c) is not config_type, not c.__name__.startswith(stem)))
        try:
            for layer_type, found, errors in rotations(module, rotary_class, config, attentions):
                if found is None:
                    failures.append((folder, rotary_class.__name__, layer_type, *errors))
                    continue
                inv_freq = found.pop("inv_freq")
                if inv_freq not in sets:
                    sets.append(inv_freq)
                whole = config.to_dict()
                kept = {k: v for k, v in sorted(whole.items()) if KEYS.match(k) and v is not None}
                if "per_layer_config" in kept:
                    kept["layer_types"] = getattr(config, "layer_types", None)
                record = {
                    "class": type(config).__name__, "model_type": type(config).model_type, "layer_type": layer_type, **found,
                    "inv_freq": sets.index(inv_freq), "config": kept,
                }
                left, left_types = unrotated(config), unrotated_types(module, rotary_class, config, attentions)
                if left:
                    record["unrotated"] = left
                if left_types:
                    record["unrotated_types"] = left_types
                if record not in records:
                    records.append(record)
                covered.setdefault(type(config).__name__, (module, rotary_class))
                print(folder, record["model_type"], layer_type, {k: v for k, v in record.items() if k != "config"}, flush=True)
        except Exception as error:
            failures.append((folder, rotary_class.__name__, type(config).__name__, f"{type(error).__name__}: {error}"))

    for folder, module in modules():
        if only and folder not in only:
            continue
        text = []
        for rotary_class in classes(module, "Rotary", "position_ids"):
            config_type = config_class(rotary_class)
            if config_type is None or re.search("[Vv]ision|ViT|Video(?!Encoder)|Audio$", rotary_class.__name__.replace("Text", "")) \
                    and not re.search("Text", rotary_class.__name__):
                continue
            text.append(rotary_class)
            probe(folder, module, rotary_class, config_type)
        # The other configurations of the folder that have the keys.
        for name, cls in named.items():
            if name in covered or AXIAL.search(name) or f".models.{folder}." not in cls.__module__ or cls.sub_configs or not has_rope(cls):
                continue
            stem = lambda c: len(os.path.commonprefix([c.__name__, name]))
            for rotary_class in sorted(text, key=stem, reverse=True):
                probe(folder, module, rotary_class, cls)
                if name in covered:
                    break
    # Every class with the keys, itself or in a part.
    for name, cls in named.items():
        folder = cls.__module__.split(".")[2]
        if only and folder not in only or not has_rope(cls):
            continue
        entry = {"class": name, "model_type": cls.model_type}
        try:
            entry["config"] = nested(json.loads(json.dumps(cls().to_dict(), default=str)))
        except Exception as error:
            entry["config"], entry["reason"] = None, f"no default configuration: {type(error).__name__}"
        if name in covered:
            entry["kind"] = "one position"
        elif AXIAL.search(name) and (not cls.sub_configs or re.search("(EdgeTam|Sam2|Sam3Tracker)Video|Sapiens", name)):
            entry["kind"] = "several coordinates"
        elif cls.sub_configs:
            entry["kind"] = "parts"
            for part, inner in parts(cls):
                if type(inner).__name__ not in covered:
                    continue
                module, rotary_class = covered[type(inner).__name__]
                try:
                    if inner.model_type in RELEASED:
                        inner.rope_parameters = {**(inner.rope_parameters or {}), **RELEASED[inner.model_type]}
                    for key, value in WIDTHS.get(inner.model_type, {}).items():
                        setattr(inner, key, value)
                    rotary = rotary_class(inner)
                    parameters = getattr(inner, "rope_parameters", None) or {}
                    for layer_type in sorted(k for k, v in parameters.items() if isinstance(v, dict)) or [None]:
                        inv_freq, scaling = frequencies(rotary, layer_type)
                        # Some frequencies are arranged after they are stored.
                        alike = [r["inv_freq"] for r in records if r["class"] == type(inner).__name__
                                 and r["follows"] == "in another order" and sorted(sets[r["inv_freq"]]) == sorted(inv_freq)]
                        inv_freq = sets[alike[0]] if alike else inv_freq
                        if inv_freq not in sets:
                            sets.append(inv_freq)
                        entry.setdefault("layers", []).append({"part": part, "class": type(inner).__name__, "layer_type": layer_type,
                                                               "inv_freq": sets.index(inv_freq), "attention_factor": scaling})
                except Exception as error:
                    entry["reason"] = f"{part}: {type(error).__name__}: {str(error)[:80]}"
        else:
            entry["kind"] = "not probed"
        surveyed.append(entry)
    for failure in failures:
        print("FAILED", *failure)
    counts = {}
    for entry in surveyed:
        counts[entry["kind"]] = counts.get(entry["kind"], 0) + 1
        if entry["kind"] == "not probed" or "reason" in entry:
            print("NOT PROBED", entry["class"], entry["model_type"], entry["kind"], entry.get("reason", ""))
    print(len(named), "configuration classes,", len(surveyed), "with keys about rotary embeddings:", counts)
    if only:
        return
    write(records, surveyed, sets)
    print(len(records), "records,", len(sets), "sets of frequencies,", len(failures), "failures")


if __name__ == "__main__":
    main()
