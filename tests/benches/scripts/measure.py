#!/usr/bin/env python3
"""Measures everything and makes the README's table and the figure: one command.

    python3 tests/benches/scripts/measure.py [--torch PYTHON] [--readme README.md]

Runs the benchmark on one thread, on all threads, and on all threads with mimalloc, into
target/speed; with --torch the same works in the torch and NumPy of that Python. Takes about
fifteen minutes, 8 GiB of memory for the largest sizes, and a machine that does nothing else.
"""

import argparse
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
    parser.add_argument("--readme", help="the file whose speed table is replaced")
    parser.add_argument("--folder", default=os.path.join(ROOT, "target", "speed"))
    parser.add_argument("--only", nargs="*", default=[], help="words for the benchmark's rows")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.folder)
    os.makedirs(folder, exist_ok=True)
    json = lambda name: os.path.join(folder, name + ".json")
    bench = lambda name, *more: ["cargo", "bench", "-p", "pe-tests", *more, "--",
                                 "--json", json(name), *arguments.only]
    run(bench("one"), RAYON_NUM_THREADS="1")
    run(bench("all"))
    mimalloc = [word for word in arguments.only] or ["add:", "add and drop:", "one token:", "file:"]
    run(["cargo", "bench", "-p", "pe-tests", "--features", "mimalloc", "--",
         "--json", json("mimalloc"), *mimalloc])
    if arguments.torch:
        peer = [arguments.torch, os.path.join(HERE, "torch_peer.py"), "--threads"]
        run([*peer, "1", "--json", json("torch-one"), "tables", "tokens"])
        run([*peer, str(os.cpu_count()), "--json", json("torch-all")])
    table = [sys.executable, os.path.join(HERE, "speed_table.py"), folder]
    run(table + ([os.path.abspath(arguments.readme)] if arguments.readme else []))
    run([sys.executable, os.path.join(HERE, "size_figure.py"), folder,
         os.path.join(ROOT, "tests", "benches", "size.svg")])


if __name__ == "__main__":
    main()
