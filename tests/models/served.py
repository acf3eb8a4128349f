"""Counts the files of candle-transformers with positional code, and which of them MIGRATING.md serves.

    python tests/models/served.py           # prints, and fails if a file is neither named nor explained
    python tests/models/served.py --write   # writes the table in MIGRATING.md

A file has positional code if it matches PATTERN. MIGRATING.md names the files in its tables, by family.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODELS = next((Path.home() / ".cargo/registry/src").glob("*/candle-transformers-0.11.1")) / "src/models"
PATTERN = re.compile(
    r"rotary|rope\b|rope_i|rope_theta|inv_freq|\.cos\(\)|\.sin\(\)|pos(ition)?_?(al)?_?embed|pos_emb|embed_pos|wpe|alibi"
    r"|relative_(attention|position)|position_ids|timestep_embed|sinusoid|rel_pos",
    re.IGNORECASE,
)
#: What is not served, and why.
NOTHING = {
    "fastvit.rs": "convolutions see the order",
    "segformer.rs": "convolutions see the order",
    "snac.rs": "a stub without positions",
}
#: Matches without positional code of their own.
OTHERS = {
    "configurations": ["gemma4/config.rs", "llava/config.rs", "paddleocr_vl/config.rs", "qwen3_vl/config.rs"],
    "callers of files above": [
        "llama2_c_weights.rs", "mimi/encodec.rs", "mmdit/model.rs", "paddleocr_vl/mod.rs", "paligemma.rs", "segment_anything/sam.rs",
        "smol/mod.rs",
    ],
    "other sines and cosines": ["dac.rs", "whisper/audio.rs", "wuerstchen/ddpm.rs"],
}
BEGIN, END = "<!-- served:begin -->", "<!-- served:end -->"


def main():
    path = ROOT / "MIGRATING.md"
    text = path.read_text()
    lines = text[text.index("## The lines that go"):text.index("## Servers with packed tokens")]
    families, tested, named = {}, set(), set()
    for part in lines.split("\n### ")[1:]:
        title, _, body = part.partition("\n")
        for bold, name in re.findall(r"(\*\*)?`([a-z0-9_/]+\.rs)`", body.split(BEGIN)[0]):
            if name not in named and name not in NOTHING:
                families.setdefault(title, []).append(name)
            named.add(name)
            if bold:
                tested.add(name)
    found = {str(file.relative_to(MODELS)) for file in MODELS.rglob("*.rs") if PATTERN.search(file.read_text())}
    explained = {name for names in OTHERS.values() for name in names}
    missing = sorted(name for name in named if not (MODELS / name).exists())
    assert not missing, f"no such file: {missing}"
    open_ = sorted(found - named - explained - set(NOTHING))
    assert not open_, f"neither named nor explained: {open_}"
    table = ["| family, by the section above that replaces it | files | with a model in `tests/models` |", "|---|---|---|"]
    table += [f"| {title} | {len(names)} | {len(tested & set(names))} |" for title, names in families.items()]
    served = [name for names in families.values() for name in names]
    table += [f"| all | {len(served)} | {len(tested)} |", "", "Not served: " + ", ".join(
        f"`{name}` ({why})" for name, why in NOTHING.items()) + ". A file of several families counts once. The words of positions also occur in "
        + "; ".join(f"{why} ({', '.join(f'`{name}`' for name in names)})" for why, names in OTHERS.items()) + "."]
    print("\n".join(table))
    if "--write" in sys.argv:
        head, rest = text.split(BEGIN)
        path.write_text(head + BEGIN + "\n" + "\n".join(table) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
