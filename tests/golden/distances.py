"""Writes DISTANCES.md: how far the libraries' own arithmetic is from the exact values, preset by preset.

    python tests/golden/distances.py target/release/pe-demo

Reads the golden files, which hold the numbers of the libraries. Sinusoidal tables and grids are compared with those that
`pe-demo export` writes in f64. The other files state their distances, which their scripts measured against Arb.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from safetensors.numpy import load_file

HERE = Path(__file__).parent


def golden(name):
    return json.loads((HERE / name).read_text())


def exact(program, *options):
    """Returns the table that the program writes with these options."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.safetensors"
        subprocess.run([program, "-q", "export", *map(str, options), "--dtype", "f64", "-o", path], check=True)
        return load_file(path)["pe"]


def sinusoidal(program):
    for case in golden("presets.json")["cases"]:
        preset, positions = case["preset"], case["positions"]
        known = preset not in ("fairseq-forward", "fairseq-no-padding", "diffusers")
        if not known or case["columns"] is not None or any(int(position) != position for position in positions):
            continue
        table = exact(program, "--preset", preset, "--d-model", case["d"], "--max-seq-len", int(max(positions)) + 1)
        rows = table[[int(position) for position in positions]]
        yield preset, case["dtype"], f"positions up to {int(max(positions)):,}", numpy.abs(rows - case["values"]).max()


def grids(program):
    for case in golden("grids.json")["cases"]:
        # Masks and other sizes of the base have no option of the program.
        if "mask" in case or case.get("scale", 1.0) != 1.0 or case.get("base", 30) != max(case["sides"] + [30]):
            continue
        size = "x".join(map(str, case["sides"]))
        try:
            table = exact(program, "--scheme", "grid", "--preset", case["preset"], "--d-model", case["d"], "--size", size)
        except subprocess.CalledProcessError:
            continue
        rows = table[case["rows"]] if "rows" in case else table
        values = numpy.array(case["values"]).reshape(len(rows), -1)
        if values.shape == rows.shape:
            yield case["preset"], case["dtype"], "sides up to 30", numpy.abs(rows - values).max()


def timesteps():
    for name, distance in golden("timestep_presets.json")["meta"]["distances"].items():
        preset, _, dtype = name.partition(" in torch.")
        yield preset, dtype or "float32", "timesteps 0 to 999", distance


def fourier():
    for preset, distance in golden("fourier.json")["meta"]["distances"].items():
        yield preset, "float32", "the points of `make_fourier.py`", distance


def axial():
    for error in golden("rotary_axial.json")["errors"]:
        yield error["preset"], "the model's", f"{error['size'].removesuffix(' tokens')} tokens", error["largest_error"]


def resizing():
    for name, distance in golden("resize.json")["distances"].items():
        library, _, kernel = name.partition(" ")
        yield kernel, library, "grids of `make_resize.py`", distance


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/pe-demo"
    out = ["# Distances of the libraries' own arithmetic", "",
           "Largest absolute difference between the numbers of each library, as recorded in the golden files, and the exact values.",
           "`distances.py` writes this file."]
    parts = [
        ("Sinusoidal tables (`Preset`)", sinusoidal(program)), ("Grids (`GridPreset`)", grids(program)),
        ("Timesteps (`TimestepPreset`)", timesteps()), ("Fourier features (`FourierPreset`)", fourier()),
        ("Rotary embeddings over axes (`AxialRotaryPreset`)", axial()), ("Resized grids (kernels of `ResizePreset`)", resizing()),
    ]
    for title, rows in parts:
        largest = {}
        for preset, dtype, where, distance in rows:
            key = preset, dtype
            largest[key] = max(largest.get(key, (0.0, where)), (float(distance), where))
        out += ["", f"## {title}", "", "| preset | arithmetic | over | largest difference |", "|---|---|---|---|"]
        out += [f"| `{preset}` | {dtype} | {where} | {distance:.1e} |" for (preset, dtype), (distance, where) in largest.items()]
    (HERE / "DISTANCES.md").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
