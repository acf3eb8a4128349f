#!/usr/bin/env python3
"""Times torch's `interpolate` on the grids and sizes of `ratios/added.rs`.

    python torch_resize.py --threads 2 --json torch-resize.json

Needs torch and NumPy; see README.md here. `measure` of torch_peer.py times the works. The rows are the ones that
the table's models compute: "torch" with both permutations and the class row, "torch, interpolate alone" without
them, on the view that the permutation gives, and "torch, channels first" on a contiguous grid of [1, width, rows,
columns], which torch sums in another loop.
"""

import argparse

import torch
import torch.nn.functional as F

from torch_peer import Report, write

SIDE, WIDTH = 37, 1024
SIZES = [(16, 16), (20, 15), (24, 24), (28, 21), (21, 28), (32, 32), (37, 28), (37, 50),
         (42, 42), (30, 45), (45, 30), (48, 36), (50, 50), (56, 42), (64, 48), (64, 64)]
IMAGES = [(6 + 2 * (image % 8), 6 + 3 * (image // 8)) for image in range(64)]


def resized(report, antialias):
    table = torch.randn(1, 1 + SIDE * SIDE, WIDTH)
    view = table[:, 1:].reshape(1, SIDE, SIDE, WIDTH).permute(0, 3, 1, 2)
    first = view.contiguous(memory_format=torch.contiguous_format)
    options = {"mode": "bicubic", "align_corners": False, "antialias": antialias}

    def whole():
        for size in SIZES:
            grid = table[:, 1:].reshape(1, SIDE, SIDE, WIDTH).permute(0, 3, 1, 2)
            grid = F.interpolate(grid, size=size, **options)
            grid = grid.permute(0, 2, 3, 1).reshape(1, -1, WIDTH)
            torch.cat((table[:, :1], grid), dim=1)

    def alone(grid):
        for size in SIZES:
            F.interpolate(grid, size=size, **options)

    kind = "bicubic with antialias" if antialias else "bicubic"
    report.row("resize", f"[1 + {SIDE} x {SIDE}, {WIDTH}] to 16 sizes, {kind}", {
        "torch": whole,
        "torch, interpolate alone": lambda: alone(view),
        "torch, channels first": lambda: alone(first),
    }, budget=5.0, rounds=3)


def packed(report):
    """As in transformers' SigLIP 2, without the padding."""
    table = torch.randn(256, 768)

    def images():
        grid = table.reshape(16, 16, 768).permute(2, 0, 1).unsqueeze(0)
        rows = []
        for size in IMAGES:
            image = F.interpolate(grid, size=size, mode="bilinear", align_corners=False,
                                  antialias=True)
            rows.append(image.reshape(768, -1).transpose(0, 1))
        torch.cat(rows)

    report.row("resize", "[16 x 16, 768] to 64 images, packed", {"torch": images}, budget=3.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    report = Report()
    with torch.no_grad():
        resized(report, False)
        resized(report, True)
        packed(report)
    write(report, arguments)


if __name__ == "__main__":
    main()
