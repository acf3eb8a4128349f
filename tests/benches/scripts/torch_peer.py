#!/usr/bin/env python3
"""The benchmark's works in torch and NumPy, in the JSON form of `cargo bench`'s `--json`.

    python torch_peer.py --threads 2 --json torch.json

Needs torch and NumPy; see README.md here. As there, contestants take turns in an order that
moves on, a turn begins with a repetition that is not timed, and large works find the caches
filled with something else. It is a run of its own: compare ratios, not times, unless the
machine was as quiet for both.
"""

import argparse
import json
import math
import os
import platform
import tempfile
import time

import numpy as np
import torch

LARGE = (8, 2048, 1024)
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
EVICTION = np.ones((64 << 20) // 8, dtype=np.int64)


def measure(works, budget=2.0, cold=True, rounds=5):
    """Times of each work, all in turns: {name: sorted seconds}."""
    plans = []
    for name, work in works.items():
        work()
        start = time.perf_counter()
        work()
        once = max(time.perf_counter() - start, 1e-7)
        repeats = min(max(int(100e-6 / once), 1), 10_000)
        timings = min(max(int(40e-3 / once / repeats), 1), 16)
        plans.append((name, work, repeats, timings, []))
    start, done = time.perf_counter(), 0
    while done < rounds or time.perf_counter() - start < budget:
        for at in range(len(plans)):
            _, work, repeats, timings, times = plans[(done + at) % len(plans)]
            for _ in range(repeats):
                work()
            for _ in range(timings):
                if cold:
                    EVICTION.sum()
                begin = time.perf_counter()
                for _ in range(repeats):
                    work()
                times.append((time.perf_counter() - begin) / repeats)
        done += 1
    return {name: sorted(times) for name, _, _, _, times in plans}


class Report:
    def __init__(self):
        self.rows = []

    def row(self, subject, name, works, **options):
        entries = []
        for work, times in measure(works, **options).items():
            at = lambda quarter: times[(len(times) - 1) * quarter // 4]
            entries.append({
                "name": work, "median": at(2), "least": at(0),
                "quartiles": [at(1), at(3)], "count": len(times),
            })
            print(f"{subject}: {name} | {work} | {at(2) * 1e3:.4g} ms", flush=True)
        self.rows.append({"subject": subject, "name": name, "bytes": None,
                          "works": entries, "bounds": []})


def torch_table(rows, width):
    """As in PyTorch's tutorial, without its dropout and module."""
    position = torch.arange(rows).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    pe = torch.zeros(rows, width)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def numpy_table(rows, width):
    angles = np.arange(rows)[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    pe = np.empty((rows, width), dtype=np.float32)
    pe[:, 0::2] = np.sin(angles)
    pe[:, 1::2] = np.cos(angles)
    return pe


def tables(report):
    for rows, width in [(5_000, 512), (8_192, 1_024), (131_072, 128), (32_768, 4_096)]:
        report.row("table", f"{rows} x {width}", {
            "torch": lambda: torch_table(rows, width),
            "numpy": lambda: numpy_table(rows, width),
            "fresh fill": lambda: torch.full((rows, width), 1.5),
        }, budget=3.0, rounds=3)


def tokens(report):
    for name, dtype in TYPES.items():
        for width in [512, 1_024, 2_048, 4_096, 8_192]:
            xs = torch.randn(1, 1, width).to(dtype)
            pe = torch_table(64, width).to(dtype)
            report.row("one token", f"[1, 1, {width}], {name}", {
                "torch": lambda: xs + pe[40:41],
                "copy": lambda: xs.clone(),
            }, budget=0.4, cold=False)


def additions(report):
    for name, dtype in TYPES.items():
        xs = torch.randn(LARGE).to(dtype)
        own = xs.clone()
        turned = xs.transpose(0, 1).contiguous().transpose(0, 1)
        pe = torch_table(LARGE[1], LARGE[2]).to(dtype)
        report.row("add", f"{LARGE}, {name}, fresh result", {
            "torch": lambda: xs + pe,
            "torch, transposed input": lambda: turned + pe,
            "copy": lambda: xs.clone(),
        })
        report.row("add", f"{LARGE}, {name}, in place", {"torch": lambda: own.add_(pe)})


def dropout(report):
    drop = torch.nn.functional.dropout
    for name, dtype in TYPES.items():
        xs = torch.randn(LARGE).to(dtype)
        pe = torch_table(LARGE[1], LARGE[2]).to(dtype)
        report.row("add and drop", f"{LARGE}, {name}, forward", {
            "torch": lambda: drop(xs + pe, 0.1, True),
        })
        var = xs.clone().requires_grad_()
        grad = torch.ones_like(xs)

        def step():
            var.grad = None
            drop(var + pe, 0.1, True).backward(grad)

        report.row("add and drop", f"{LARGE}, {name}, forward and backward", {"torch": step})


def files(report):
    table = torch_table(8_192, 1_024)
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        path = lambda name: os.path.join(folder, name)
        raw = table.numpy().tobytes()

        def write():
            with open(path("raw"), "wb") as file:
                file.write(raw)
                os.fsync(file.fileno())

        def read():
            with open(path("raw"), "rb", buffering=0) as file:
                return file.read()

        report.row("file", "8192 x 1024, f32, save", {
            "torch": lambda: torch.save(table, path("t.pt")),
            "numpy": lambda: np.save(path("n.npy"), table.numpy()),
            "raw write and sync": write,
        })
        report.row("file", "8192 x 1024, f32, load", {
            "torch": lambda: torch.load(path("t.pt"), weights_only=True),
            "numpy": lambda: np.load(path("n.npy")),
            "raw read": read,
        })


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def write(report, arguments):
    result = {
        "format": 1,
        "time": int(time.time()),
        "machine": {"processor": processor(), "cores": os.cpu_count()},
        "threads": arguments.threads,
        "allocator": "torch's and NumPy's own",
        "versions": {"torch": torch.__version__, "numpy": np.__version__,
                     "python": platform.python_version()},
        "rows": report.rows,
    }
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", required=True)
    parser.add_argument("subjects", nargs="*", help="tables, tokens, additions, dropout, files")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    report = Report()
    for work in (tables, tokens, additions, dropout, files):
        if not arguments.subjects or work.__name__ in arguments.subjects:
            work(report)
    write(report, arguments)


if __name__ == "__main__":
    main()
