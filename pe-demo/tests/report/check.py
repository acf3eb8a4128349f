"""Opens the page of `pe-demo report` in a headless Chromium and checks what only a browser can.

    pip install playwright          # the Python package alone; no browser is downloaded
    python pe-demo/tests/report/check.py target/release/pe-demo [FOLDER]

Needs a Chromium on the PATH (or its path in CHROMIUM). Checks, on a phone and on a desktop, light and dark:

* no message on the console, no error, no request for anything but the page itself, nothing wider than the screen;
* every slider changes every picture that depends on it;
* the numbers next to the sliders equal pe-core's, taken from tables that `pe-demo export` writes, to 1e-9
  (relative above 1), and the page tells which of the two computed them;
* its script writes numbers and chooses ticks as pe-demo does (numbers.csv and ticks.csv, which unit tests of pe-demo read, too);
* the numbers next to the figures equal those of `pe-demo plot --data json`;
* scripts off: figures and numbers are still there.

With a FOLDER it leaves screenshots there.
"""

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

TOLERANCE = 1e-9
POSITIONS = 128
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

    def rows(self, d_model, base):
        """Positions 0 to 127 in f64, from the bytes of the file."""
        path = self.folder / "table.safetensors"
        self.run("export", "--d-model", d_model, "--max-seq-len", POSITIONS, "--base", base, "--dtype", "f64",
                 "-o", path)
        raw = path.read_bytes()
        start = 8 + struct.unpack("<Q", raw[:8])[0]
        numbers = struct.unpack(f"<{d_model * POSITIONS}d", raw[start:])
        return [numbers[k * d_model:(k + 1) * d_model] for k in range(POSITIONS)]

    def longest_wavelength(self, d_model, base):
        self.run("plot", "encoding-matrix", "--d-model", d_model, "--base", base, "--max-seq-len", 1,
                 "--data", "json", "-o", self.folder)
        facts = json.loads((self.folder / "encoding-matrix.json").read_text())["facts"]
        return next(fact["value"] for fact in facts if fact["what"].startswith("longest"))

    def figures(self):
        folder = self.folder / "all"
        self.run("plot", "--data", "json", "--format", "svg", "-o", folder)
        return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def expected_numbers(program, position, d_model, base):
    rows = program.rows(d_model, base)
    row = rows[position]
    dot = lambda a, b: math.fsum(x * y for x, y in zip(a, b))
    return {
        "entry-0": row[0], "entry-1": row[1], "entry-2": row[2], "entry-last": row[-1],
        "wavelength": program.longest_wavelength(d_model, base),
        "dot-0": dot(row, rows[0]), "dot-self": dot(row, row),
        "neighbor": math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(rows[0], rows[1]))),
    }


def live_numbers(page):
    found = page.eval_on_selector_all(
        "#live-numbers dd", "all => all.map(dd => [dd.id, dd.querySelector('data').value])")
    return {name.removeprefix("live-"): float(value) for name, value in found}


def pictures(page):
    return {name: page.eval_on_selector(f"#{name}", "canvas => canvas.toDataURL()") for name in ("map", "rings", "curve")}


def move(page, slider, value):
    page.eval_on_selector(f"#{slider}", "(input, value) => { input.value = value;"
                          " input.dispatchEvent(new Event('input', { bubbles: true })); }", str(value))
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def check_numbers(page, program, where):
    position = int(page.input_value("#position"))
    d_model = int(page.input_value("#d_model"))
    base = float(page.inner_text("#base-value"))
    found = live_numbers(page)
    for name, expected in expected_numbers(program, position, d_model, base).items():
        check(near(found[name], expected),
              f"{where}: {name} at position {position}, d_model {d_model}, base {base}: {found[name]} is not {expected}")


def check_words(page, where, by):
    found = page.eval_on_selector_all("#live-numbers data", "all => all.map(data => [Number(data.value), data.innerText])")
    for value, text in found:
        written = page.evaluate("value => shortNumber(value)", value)
        check(text == written, f"{where}: {value} stands there as {text}, not as {written}")
    source = page.inner_text("#live-source")
    check(f"computed by {by}" in source, f"{where}: {source}")


def check_sliders(page, program, where):
    opened = page.inner_html("#live-numbers")
    check_numbers(page, program, where + ", as opened")
    check_words(page, where + ", as opened", "pe-core")
    move(page, "position", 21)
    check_words(page, where + ", moved", "this page")
    move(page, "position", 20)
    check_words(page, where + ", moved back", "pe-core")
    check(page.inner_html("#live-numbers") == opened, f"{where}: moved back, the numbers are not those of the start")
    # What each slider must change; the table's own picture also shows the chosen row.
    for slider, values in (("position", (0, 1, 127, 64)), ("d_model", (4, 6, 512, 64)), ("base", (30, 700, 250))):
        for value in values:
            before = pictures(page)
            move(page, slider, value)
            after = pictures(page)
            for name in before:
                check(before[name] != after[name], f"{where}: {slider} = {value} does not change the {name}")
            check_numbers(page, program, f"{where}, {slider} = {value}")
    # A person's way: the keyboard.
    page.focus("#position")
    before = page.inner_text("#position-value")
    page.keyboard.press("ArrowLeft")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    check(int(page.inner_text("#position-value")) == int(before) - 1, f"{where}: the arrow key does not move the slider")


def check_figures(page, figures, where):
    for figure in figures:
        found = page.eval_on_selector_all(
            f"figure#{figure['figure']} dd data", "all => all.map(data => data.value)")
        check(len(found) == len(figure["facts"]), f"{where}: {figure['figure']} has {len(found)} numbers")
        for value, fact in zip(found, figure["facts"]):
            check(near(float(value), fact["value"]), f"{where}: {figure['figure']}: {fact['what']}: {value}")
        wide = page.eval_on_selector(f"figure#{figure['figure']} svg", "svg => svg.getBoundingClientRect().width")
        check(wide > 200, f"{where}: {figure['figure']} is {wide} pixels wide")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    shots = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        sys.exit("no chromium found; set CHROMIUM to its path")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = Program(sys.argv[1], folder)
        report = Path(folder) / "report.html"
        program.run("report", "-o", report)
        figures = program.figures()
        check(len(figures) >= 17, f"{len(figures)} figures")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for device, size, ratio in (("phone", (375, 812), 3), ("desktop", (1280, 900), 1)):
            for scheme in ("light", "dark"):
                where = f"{device}, {scheme}"
                context = browser.new_context(
                    viewport={"width": size[0], "height": size[1]}, device_scale_factor=ratio,
                    color_scheme=scheme, is_mobile=device == "phone", has_touch=device == "phone")
                page = context.new_page()
                page.on("console", lambda message: check(False, f"{where}: console: {message.text}"))
                page.on("pageerror", lambda error: check(False, f"{where}: error: {error}"))
                page.on("request", lambda request: check(
                    request.url.startswith(("file:", "data:")), f"{where}: asks for {request.url}"))
                page.goto(report.as_uri())
                over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                check(over <= 0, f"{where}: {over} pixels wider than the screen")
                check_figures(page, figures, where)
                if shots:
                    shots.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=shots / f"{device}-{scheme}.png", full_page=True)
                check_sliders(page, program, where)
                context.close()
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(report.as_uri())
        check(page.locator("figure svg").count() == len(figures), "without scripts figures are missing")
        numbers = page.locator("#live-numbers").inner_html()
        check(page.locator("#live-numbers data").first.inner_text() != "", "without scripts numbers are missing")
        page = browser.new_page()
        page.goto(report.as_uri())
        check(page.inner_html("#live-numbers") == numbers, "the script changes numbers before a slider is moved")
        lines = (Path(__file__).parent / "numbers.csv").read_text(encoding="utf-8").splitlines()[1:]
        for line in lines:
            value, text = line.split(",")
            written = page.evaluate("text => shortNumber(Number(text))", value)
            check(written == text, f"the script writes {value} as {written}, not as {text}")
        for line in (Path(__file__).parent / "ticks.csv").read_text(encoding="utf-8").splitlines()[1:]:
            low, high, wanted, expected = line.split(",")
            found = page.evaluate(f"ticks({low}, {high}, {wanted})")
            check(found == [float(tick) for tick in expected.split()], f"ticks from {low} to {high}, {wanted} wanted: {found}")
        browser.close()
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
