#!/usr/bin/env python3
"""Writes the speed tables from the benchmark's JSON files.

    python3 speed_table.py FOLDER [--write]

FOLDER holds `one.json` and `all.json` (the benchmark on one thread and on all), and perhaps
`rotary-one.json` and `rotary-all.json`, `torch-one.json`, `torch-all.json`, `mimalloc.json`, and `one-avx2.json`, `all-avx2.json`,
`one-portable.json`, `all-portable.json` with those instruction sets forced: see measure.py. With
--write the long table replaces the text between `<!-- speed:begin -->` and `<!-- speed:end -->`
in tests/benches/README.md, that of the rotary layer the text between `<!-- rotary:begin -->` and
`<!-- rotary:end -->`, and the short one that in the README of the repository; without it
all are printed.
"""

import json
import os
import sys
from datetime import datetime, timezone

LARGE = "(8, 2048, 1024)"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")

# Columns for the instruction sets that most processors have, where the best is another.
SETS = {"avx2": "here, AVX2", "portable": "here, portable"}
# The lines of the short table.
SHORT = ["exact table 5000 x 512", "exact table 32768 x 4096", "add [8, 2048, 1024], f32",
         "add [8, 2048, 1024], bf16", "add and drop, forward, f32",
         "load 8192 x 1024, f32, every entry checked"]

# What the table calls a work; on one thread or all; subject and name of the row; ours, the
# memory's limit, Candle's way.
LINES = [
    ("exact table 5000 x 512", "one", "table", "5000 x 512", "f32", "fresh fill", "candle"),
    ("exact table 8192 x 1024", "one", "table", "8192 x 1024", "f32", "fresh fill", "candle"),
    ("exact table 131072 x 128", "one", "table", "131072 x 128", "f32", "fresh fill", "candle"),
    ("exact table 32768 x 4096", "one", "table", "32768 x 4096", "f32", "fresh fill", "candle"),
    ("... in bf16", "one", "table", "32768 x 4096", "bf16", None, None),
    ("... in f16", "one", "table", "32768 x 4096", "f16", None, None),
    ("... in f64", "one", "table", "32768 x 4096", "f64", None, None),
    ("5000 x 512, memory reused", "one", "table", "5000 x 512, reused memory", "f32",
     "reused fill", None),
    ("one row of 512, no table", "one", "table", "one row of 512, no table", "f32", None, None),
] + [
    (f"{what}, {dtype}", "all", subject, f"{LARGE}, {dtype}, {row}", "ours", limit, candle)
    for what, subject, row, limit, candle in [
        ("add [8, 2048, 1024]", "add", "fresh result", "copy", "candle"),
        ("... in place", "add", "in place", "change", None),
        ("add and drop, forward", "add and drop", "forward", None, "candle"),
        ("... forward and backward", "add and drop", "forward and backward", None, "candle"),
    ]
    for dtype in ("f32", "bf16", "f16")
] + [
    (f"one token [1, 1, 4096], {dtype}", "one", "one token", f"[1, 1, 4096], {dtype}", "ours",
     "copy", "candle")
    for dtype in ("f32", "bf16", "f16")
] + [
    ("load 8192 x 1024, f32, every entry checked", "all", "file", "8192 x 1024, f32, load",
     "ours, verified", "raw read", "candle"),
    ("... not checked", "all", "file", "8192 x 1024, f32, load", "ours, not verified",
     "raw read", None),
    ("... built again instead", "all", "file", "8192 x 1024, f32, load", "rebuilt", None, None),
    ("save, synced to disk", "all", "file", "8192 x 1024, f32, save", "ours",
     "raw write and sync", None),
]

# What the table of the rotary layer calls a work; the name of the row; the limit, Candle's ways.
ROTARY = [
    ("packed q and k, [4096, 32, 128] each, bf16", "packed q and k [4096, 32, 128] bf16", "copy",
     ["candle, transposed", "candle, thd"]),
    ("... in place", "packed q and k in place [4096, 32, 128] bf16", "change", []),
] + [
    (f"learned, {name}, forward and backward, {shape}, {dtype}",
     f"learned, {name}, fwd+bwd {shape} {dtype}", "backward of a copy", ["composition"])
    for name, shape in (("mixed", "(32, 12, 196, 64)"), ("scaled", "(1, 32, 2048, 128)"))
    for dtype in ("f32", "bf16")
] + [
    ("tables of FLUX, 4608 tokens x 64, f32", "axes table flux 4608 x 64 f32", "copy", ["candle"]),
    ("tables of Wan, 21 x 45 x 80 tokens x 64, f32", "axes table wan 75600 x 64 f32", "copy",
     ["candle"]),
    ("tables of LTX, 7 x 16 x 24 tokens x 1024, f32", "axes table ltx 2688 x 1024 f32", "copy",
     ["candle"]),
    ("FLUX, (1, 24, 4608, 128), f32", "axes call flux (1, 24, 4608, 128) f32", "copy", ["candle"]),
    ("FLUX, (1, 24, 4608, 128), bf16", "axes call flux (1, 24, 4608, 128) bf16", "copy",
     ["candle"]),
    ("dynamic NTK, 64 steps of decoding (1, 32, 1, 128), f32",
     "64 steps (1, 32, 1, 128) f32 dynamic", "the same length", []),
    ("... 64 rows of 64 pairs, each with its frequencies", "64 rows of 64 pairs, dynamic",
     "one set", []),
]


def load(folder, name):
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def median(run, subject, name, work):
    """The median of a work, or None where it was not measured."""
    for row in run["rows"] if run and work else []:
        if (row["subject"], row["name"]) == (subject, name):
            for entry in row["works"]:
                if entry["name"] == work:
                    return entry["median"]
    return None


def words(seconds):
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000 or unit == "ms":
            value = seconds * factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2g} {unit}"
    return ""


def cell(seconds, ours):
    return "" if seconds is None else f"{words(seconds)} ({seconds / ours:.2g})"


def described(run):
    machine, versions = run["machine"], run["versions"]
    date = datetime.fromtimestamp(run["time"], timezone.utc)
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['instructions']}, "
            f"Rust {versions['rust']}, Candle {versions['candle']}, {run['allocator']} allocator, "
            f"{date.day} {date:%B %Y}")


def table(folder, short):
    runs = {name: load(folder, name) for name in ("one", "all", "mimalloc")}
    peers = {"one": load(folder, "torch-one"), "all": load(folder, "torch-all")}
    if not runs["one"] or not runs["all"]:
        sys.exit(f"{folder} must hold one.json and all.json")
    forced = {name: {threads: load(folder, f"{threads}-{name}") for threads in ("one", "all")}
              for name in SETS}
    forced = {} if short else {name: of for name, of in forced.items() if any(of.values())}
    mimalloc = None if short else runs["mimalloc"]
    columns = ["work", "threads", "here", "limit", "Candle"]
    columns += ["torch"] if any(peers.values()) else []
    columns += [SETS[name] for name in forced]
    columns += ["here, mimalloc"] if mimalloc else []
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for what, threads, subject, name, ours, limit, candle in LINES:
        run = runs[threads]
        here = median(run, subject, name, ours)
        if here is None or short and what not in SHORT:
            continue
        cells = [what, str(run["threads"]), words(here),
                 cell(median(run, subject, name, limit), here),
                 cell(median(run, subject, name, candle), here)]
        if "torch" in columns:
            # f32 alone has torch's table and files.
            first = ours in ("f32", "ours", "ours, not verified")
            peer = median(peers[threads], subject, name, "torch") if first else None
            cells.append(cell(peer, here))
        for of in forced.values():
            cells.append(cell(median(of[threads], subject, name, ours), here))
        if mimalloc:
            other = median(mimalloc, subject, name, ours)
            cells.append(cell(other if threads == "all" else None, here))
        lines.append("| " + " | ".join(cells) + " |")
    notes = [f"Medians, in brackets how many times ours. {described(runs['all'])}."]
    peer = peers["all"] or peers["one"]
    if peer:
        versions = peer["versions"]
        notes.append(f"torch {versions['torch'].split('+')[0]} ran by itself, before or after, "
                     "with as many threads.")
    return "\n".join(lines + ["", " ".join(notes)])


def rotary_table(folder):
    """The table of the rotary layer, or None where it was not measured."""
    runs = [run for run in (load(folder, f"rotary-{name}") for name in ("all", "one")) if run]
    lines = ["| work | threads | here | limit | Candle |", "|---|---|---|---|---|"]
    for run in runs:
        for what, name, limit, ways in ROTARY:
            here = median(run, "rotary", name, "ours")
            if here is None:
                continue
            candle = [cell(median(run, "rotary", name, way), here) for way in ways]
            cells = [what, str(run["threads"]), words(here),
                     cell(median(run, "rotary", name, limit), here), "; `rope_thd` ".join(candle)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if runs else None


def replace(path, text, name="speed"):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    with open(path, encoding="utf-8") as file:
        readme = file.read()
    if readme.count(begin) != 1 or readme.count(end) != 1:
        sys.exit(f"{path} must hold {begin} and {end} once each")
    before, rest = readme.split(begin)
    after = rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n{text}\n{end}{after}")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    short, long = (table(sys.argv[1], short) for short in (True, False))
    rotary = rotary_table(sys.argv[1])
    if len(sys.argv) == 2:
        print(short, long, rotary or "", sep="\n\n")
        return
    benches = os.path.join(ROOT, "tests", "benches", "README.md")
    replace(os.path.join(ROOT, "README.md"), short)
    replace(benches, long)
    if rotary:
        replace(benches, rotary, "rotary")


if __name__ == "__main__":
    main()
