"""What all checks of the page share: their count, and the program with the tables that it exports."""

import json
import struct
import subprocess
from functools import lru_cache
from pathlib import Path

TOLERANCE = 1e-9
POSITIONS = 128
DISTANCES = 4096
failures = []
checks = 0


def check(right, what):
    global checks
    checks += 1
    if not right:
        failures.append(what)
        print("FAILED", what)


def near(found, expected):
    return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))


class Program:
    """pe-demo, and the tables that it exports."""

    def __init__(self, path, folder):
        self.path, self.folder = path, Path(folder)

    def run(self, *args):
        subprocess.run([self.path, *map(str, args)], check=True, stdout=subprocess.DEVNULL)

    def tensors(self, *args):
        """The f64 tensors of an exported file by name, from its bytes."""
        path = self.folder / "table.safetensors"
        self.run("export", "--dtype", "f64", *args, "-o", path)
        raw = path.read_bytes()
        start = 8 + struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:start])
        tensors = {}
        for name, tensor in header.items():
            if name != "__metadata__" and tensor["dtype"] == "F64":
                begin, end = tensor["data_offsets"]
                numbers = struct.unpack(f"<{(end - begin) // 8}d", raw[start + begin:start + end])
                width = tensor["shape"][-1]
                tensors[name] = [numbers[at:at + width] for at in range(0, len(numbers), width)]
        return tensors

    @lru_cache(maxsize=None)
    def rows(self, d_model, base):
        """Positions 0 to 127."""
        return self.tensors("--d-model", d_model, "--max-seq-len", POSITIONS, "--base", base)["pe"]

    @lru_cache(maxsize=None)
    def rotary(self, base, head_dim, scaling):
        """Cosines of distances 0 to 4096, and the frequencies."""
        tensors = self.tensors("--scheme", "rotary", "--head-dim", head_dim, "--theta", base, "--scaling", scaling,
                               "--max-seq-len", DISTANCES + 1)
        return tensors["cos"], tensors["inv_freq"][0]

    @lru_cache(maxsize=None)
    def longest_wavelength(self, d_model, base):
        self.run("plot", "encoding-matrix", "--d-model", d_model, "--base", base, "--max-seq-len", 1,
                 "--data", "json", "-o", self.folder)
        facts = json.loads((self.folder / "encoding-matrix.json").read_text())["facts"]
        return next(fact["value"] for fact in facts if fact["what"].startswith("longest"))

    def figures(self):
        folder = self.folder / "all"
        self.run("plot", "--data", "json", "--format", "svg", "-o", folder)
        return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
