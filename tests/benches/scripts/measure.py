#!/usr/bin/env python3
"""Measures everything and makes the speed tables and the figure: one command.

    python3 tests/benches/scripts/measure.py [--torch PYTHON] [--write]

Runs the benchmark on one thread, on all threads, on all threads with mimalloc, the lines of the
table again with AVX2 and with the portable code where the processor has better, and the rotary
layer's benchmark on one thread and on all, into target/speed; with --torch the same works in the torch and NumPy of that Python. With --write the
tables of README.md and tests/benches/README.md are replaced. Takes about 25 minutes, 8 GiB of
memory for the largest sizes, and a machine that does nothing else.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


def run(command, **environment):
    print("==", *command, *(f"{k}={v}" for k, v in environment.items()), flush=True)
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", help="a Python that has torch and NumPy")
    parser.add_argument("--write", action="store_true", help="replace the speed tables")
    parser.add_argument("--folder", default=os.path.join(ROOT, "target", "speed"))
    parser.add_argument("--only", nargs="*", default=[], help="words for the benchmark's rows")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.folder)
    os.makedirs(folder, exist_ok=True)
    file = lambda name: os.path.join(folder, name + ".json")
    bench = lambda name, *more: ["cargo", "bench", "-p", "pe-tests", "--bench", "ratios", "--",
                                 "--json", file(name), *more]
    run(bench("one", *arguments.only), RAYON_NUM_THREADS="1")
    run(bench("all", *arguments.only))
    with open(file("one"), encoding="utf-8") as measured:
        sets = json.load(measured)["machine"]["sets"]
    for name in ("avx2", "portable"):
        if name in sets[:-1]:
            forced = lambda threads, *rows: bench(f"{threads}-{name}", "--isa", name,
                                                  *(arguments.only or rows))
            run(forced("one", "table:", "one token:"), RAYON_NUM_THREADS="1")
            run(forced("all", "add:", "add and drop:", "file:"))
    if not arguments.only:
        rotary = ["packed", "learned", "axes", "dynamic"]
        for name, threads in (("one", {"RAYON_NUM_THREADS": "1"}), ("all", {})):
            run(["cargo", "bench", "-p", "pe-tests", "--bench", "rotary", "--", "--json",
                 file(f"rotary-{name}"), *rotary], **threads)
    mimalloc = [word for word in arguments.only] or ["add:", "add and drop:", "one token:", "file:"]
    run(["cargo", "bench", "-p", "pe-tests", "--bench", "ratios", "--features", "mimalloc", "--",
         "--json", file("mimalloc"), *mimalloc])
    if arguments.torch:
        peer = [arguments.torch, os.path.join(HERE, "torch_peer.py"), "--threads"]
        run([*peer, "1", "--json", file("torch-one"), "tables", "tokens"])
        run([*peer, str(os.cpu_count()), "--json", file("torch-all")])
    table = [sys.executable, os.path.join(HERE, "speed_table.py"), folder]
    run(table + (["--write"] if arguments.write else []))
    run([sys.executable, os.path.join(HERE, "size_figure.py"), folder,
         os.path.join(ROOT, "tests", "benches", "size.svg")])


if __name__ == "__main__":
    main()
