#!/usr/bin/env python3
"""Draws time per element against size, as an SVG for light and dark pages.

    python3 size_figure.py FOLDER FIGURE.svg
    python3 size_figure.py --measure FOLDER FIGURE.svg

FOLDER holds `one.json` and `all.json`, the benchmark on one thread and on all; only the rows
of the subject `size` are used. With --measure these rows alone are measured first, into FOLDER:
1 KiB to 2 GiB, some minutes, 12 GiB of memory, on a machine that does nothing else.
"""

import json
import math
import os
import subprocess
import sys

SERIES = [  # work, its name in the figure, colours on light and dark, dashes
    ("table", "table built", "#8250df", "#b083f0", ""),
    ("add", "addition, fresh result", "#0969da", "#539bf5", ""),
    ("copy", "limit: copy into fresh memory", "#0969da", "#539bf5", "5 4"),
    ("add in place", "addition in place", "#bc4c00", "#e0823d", ""),
    ("change", "limit: change in place", "#bc4c00", "#e0823d", "5 4"),
]
WIDTH, HEIGHT, TOP, BOTTOM, LEFT, GAP = 960, 430, 92, 58, 58, 46
PANEL = (WIDTH - LEFT - GAP - 16) / 2
LEAST, MOST = 10, 31  # powers of two: bytes


def measure(folder):
    """Runs the benchmark's rows of sizes on one thread and on all."""
    os.makedirs(folder, exist_ok=True)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    for name, threads in (("one", {"RAYON_NUM_THREADS": "1"}), ("all", {})):
        file = os.path.join(os.path.abspath(folder), name + ".json")
        command = ["cargo", "bench", "-p", "pe-tests", "--bench", "ratios", "--",
                   "--json", file, "size:"]
        subprocess.run(command, cwd=root, env={**os.environ, **threads}, check=True)


def load(folder, name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def points(run, work):
    """(bytes, nanoseconds per f32) of a work over all sizes."""
    found = []
    for row in run["rows"]:
        if row["subject"] == "size":
            for entry in row["works"]:
                if entry["name"] == work:
                    found.append((row["bytes"], entry["median"] * 1e9 / (row["bytes"] / 4)))
    return sorted(found)


def size(count):
    for unit, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << unit:
            return f"{count >> unit} {name}"
    return f"{count} B"


def guides(run):
    """Sizes at which something changes, with a word for each."""
    found = {}
    for cache in run["machine"].get("caches", []):
        if cache["level"] >= 2:
            found.setdefault(cache["bytes"], []).append(f"L{cache['level']}")
    found.setdefault(32 << 20, []).append("fresh pages")
    if run["threads"] > 1:
        found.setdefault(1 << 20, []).append("threads")
    return sorted((count, ", ".join(words)) for count, words in found.items())


class Figure:
    def __init__(self, low, high):
        self.low, self.high = low, high
        self.parts = []

    def x(self, panel, count):
        share = (math.log2(count) - LEAST) / (MOST - LEAST)
        return LEFT + panel * (PANEL + GAP) + share * PANEL

    def y(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" '
                          f'x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def text(self, x, y, words, kind="", anchor="middle", more=""):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" '
                          f'text-anchor="{anchor}"{more}>{words}</text>')

    def panel(self, panel, run):
        left, right = self.x(panel, 1 << LEAST), self.x(panel, 1 << MOST)
        threads = run["threads"]
        self.text(left, TOP - 24, f"{threads} thread{'s' * (threads > 1)}", "title", "start")
        for power in range(math.ceil(self.low), math.floor(self.high) + 1):
            for factor in (1, 2, 5):
                value = factor * 10.0 ** power
                if self.low <= math.log10(value) <= self.high + 1e-9:
                    y = self.y(value)
                    self.line(left, y, right, y, "grid")
                    if panel == 0:
                        self.text(left - 8, y + 4, f"{value:g}", "", "end")
        for power in range(LEAST, MOST + 1, 5):
            x = self.x(panel, 1 << power)
            self.line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5, "axis")
            self.text(x, HEIGHT - BOTTOM + 20, size(1 << power))
        self.line(left, HEIGHT - BOTTOM, right, HEIGHT - BOTTOM, "axis")
        for count, words in guides(run):
            x = self.x(panel, count)
            self.line(x, TOP - 4, x, HEIGHT - BOTTOM, "guide")
            self.text(x, TOP - 9, words, "small")
        for at, (work, _, _, _, dashes) in enumerate(SERIES):
            path = " ".join(f"{self.x(panel, count):.1f},{self.y(value):.1f}"
                            for count, value in points(run, work))
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            self.parts.append(f'<polyline class="s{at}" points="{path}"{dashed}/>')

    def legend(self):
        x = LEFT
        for at, (_, name, _, _, dashes) in enumerate(SERIES):
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            self.parts.append(f'<polyline class="s{at}" points="{x},40 {x + 24},40"{dashed}/>')
            self.text(x + 30, 44, name, "", "start")
            x += 48 + 6.4 * len(name)

    def svg(self):
        light = "".join(f".s{at}{{stroke:{s[2]}}}" for at, s in enumerate(SERIES))
        dark = "".join(f".s{at}{{stroke:{s[3]}}}" for at, s in enumerate(SERIES))
        style = (
            "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;font-size:14px}"
            ".small{font-size:11px}polyline{fill:none;stroke-width:2;stroke-linejoin:round}"
            ".grid{stroke:#57606a;stroke-opacity:.15}.axis{stroke:#57606a;stroke-opacity:.6}"
            ".guide{stroke:#57606a;stroke-opacity:.5;stroke-dasharray:2 3}" + light +
            "@media(prefers-color-scheme:dark){text{fill:#adbac7}.grid,.axis,.guide{stroke:#adbac7}"
            + dark + "}")
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'aria-label="Nanoseconds per f32 element against the size of the result, on one '
            'thread and on all">',
            f"<style>{style}</style>", *self.parts, "</svg>", ""])


def main():
    arguments = [word for word in sys.argv[1:] if word != "--measure"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    folder, drawing = arguments
    if "--measure" in sys.argv:
        measure(folder)
    runs = [load(folder, "one"), load(folder, "all")]
    values = [value for run in runs for work, *_ in SERIES for _, value in points(run, work)]
    if not values:
        sys.exit("no rows of the subject size: run the benchmark without words, or with size:")
    figure = Figure(math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05)
    figure.legend()
    figure.text(LEFT, 16, "nanoseconds per f32 element against the size of the result; less is "
                "better", "", "start")
    for panel, run in enumerate(runs):
        figure.panel(panel, run)
    with open(drawing, "w", encoding="utf-8") as file:
        file.write(figure.svg())


if __name__ == "__main__":
    main()
