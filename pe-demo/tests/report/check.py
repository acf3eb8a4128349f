"""Opens the page of `pe-demo report` in a headless Chromium and checks what only a browser can.

    pip install playwright          # the Python package alone; no browser is downloaded
    python pe-demo/tests/report/check.py target/release/pe-demo [FOLDER]

Needs a Chromium on the PATH (or its path in CHROMIUM). Checks, on a wide screen (1600 pixels) and on a narrow one
(390), in light and in dark colors, with the machine's fonts and with DejaVu alone (if fontconfig has it):

* no message on the console, no error, no request for anything but the page itself, nothing wider than the screen;
* each figure is shown once, drawn for the width of the screen, and none of its words leaves its picture;
* the fonts of the page are its own, so that no word is stretched, and colors have enough contrast;
* headings are in order, links of the page lead somewhere, controls have labels and say their values.

And once on each screen:

* every control changes every picture that depends on it;
* the numbers next to the controls equal pe-core's, taken from tables that `pe-demo export` writes, to 1e-9
  (relative above 1), and the page tells which of the two computed them;
* the values under the pointer, the play buttons, the colors, and the address, which restores the view;
* its script writes numbers and chooses ticks as pe-demo does (numbers.csv and ticks.csv, which unit tests of pe-demo read, too);
* the numbers next to the figures equal those of `pe-demo plot --data json`;
* scripts off: figures and numbers are still there, and the page tells what is missing.

With a FOLDER it leaves screenshots there.
"""

import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from playwright.sync_api import sync_playwright

TOLERANCE = 1e-9
POSITIONS = 128
DISTANCES = 4096
SCREENS = {"wide": (1600, 1000), "narrow": (390, 844)}
TABLE, ROTARY = "#table-sheet", "#rotary-sheet"
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


def table_numbers(program, values):
    position, d_model, base = int(values["position"]), int(values["d_model"]), float(values["base"])
    rows = program.rows(d_model, base)
    row = rows[position]
    dot = lambda a, b: math.fsum(x * y for x, y in zip(a, b))
    return {
        "entry-0": row[0], "entry-1": row[1], "entry-2": row[2], "entry-last": row[-1],
        "wavelength": program.longest_wavelength(d_model, base),
        "dot-0": dot(row, rows[0]), "dot-self": dot(row, row),
        "neighbor": math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(rows[0], rows[1]))),
    }


def rotary_numbers(program, values):
    base, head_dim, trained, factor = (float(values["rope_theta"]), int(values["head_dim"]), int(values["trained"]),
                                       int(values["factor"]))
    scaling = {
        "none": "default", "linear": f"linear:factor={factor}",
        "yarn": f"yarn:factor={factor},original_max_position_embeddings={trained}",
        "llama3": f"llama3:factor={factor},low_freq_factor=1,high_freq_factor=4,"
                  f"original_max_position_embeddings={trained}",
    }[values["scaling"]]
    cos, rates = program.rotary(base, head_dim, scaling)
    _, before = program.rotary(base, head_dim, "default")
    attention = cos[0][0]  # the cosine of 0, times the factor
    score = lambda distance: attention * math.fsum(cos[distance])
    return {
        "score-0": score(0), "score": score(int(values["distance"])), "attention": attention,
        "slow": sum(2 * math.pi / rate > trained for rate in before),
        "longest": 2 * math.pi / rates[-1], "longest-before": 2 * math.pi / before[-1],
    }


NUMBERS = {TABLE: table_numbers, ROTARY: rotary_numbers}
CANVASES = {TABLE: ("map", "circles", "curve"), ROTARY: ("scores", "waves")}


def values_of(page, sheet):
    return page.eval_on_selector_all(f"{sheet} .control input, {sheet} .control select",
                                     "all => Object.fromEntries(all.map(each => [each.id, valueOf(each)]))")


def live_numbers(page, sheet):
    found = page.eval_on_selector_all(
        f"{sheet} dd", "all => all.map(dd => [dd.id, dd.querySelector('data').value])")
    return {name.removeprefix("live-"): float(value) for name, value in found}


def pictures(page, sheet):
    return {name: page.eval_on_selector(f"#{name}", "canvas => canvas.toDataURL()") for name in CANVASES[sheet]}


def two_frames(page):
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move(page, control, value):
    page.eval_on_selector(f"#{control}", "(input, value) => { input.value = value;"
                          " input.dispatchEvent(new Event('input', { bubbles: true })); }", str(value))
    two_frames(page)


def check_numbers(page, program, sheet, where):
    values = values_of(page, sheet)
    found = live_numbers(page, sheet)
    expected = NUMBERS[sheet](program, values)
    check(found.keys() == expected.keys(), f"{where}: numbers {sorted(found)}")
    for name, number in expected.items():
        check(near(found[name], number), f"{where}: {name} at {values}: {found[name]} is not {number}")


def check_words(page, sheet, where, by):
    found = page.eval_on_selector_all(f"{sheet} dl data", "all => all.map(data => [Number(data.value), data.innerText])")
    for value, text in found:
        written = page.evaluate("value => shortNumber(value)", value)
        check(text == written, f"{where}: {value} stands there as {text}, not as {written}")
    source = page.inner_text(f"{sheet} .source")
    check(f"computed by {by}" in source, f"{where}: {source}")


def check_controls(page, program, sheet, where):
    opened = page.inner_html(f"{sheet} dl")
    check_numbers(page, program, sheet, where + ", as opened")
    check_words(page, sheet, where + ", as opened", "pe-core")
    first, start = {TABLE: ("position", 20), ROTARY: ("distance", 2048)}[sheet]
    move(page, first, start + 1)
    check_words(page, sheet, where + ", moved", "this page")
    move(page, first, start)
    check_words(page, sheet, where + ", moved back", "pe-core")
    check(page.inner_html(f"{sheet} dl") == opened, f"{where}: moved back, the numbers are not those of the start")
    # What each control must change; the table's own picture also shows the chosen row.
    everything = CANVASES[sheet]
    moves = {
        TABLE: (("position", (0, 1, 127, 64), everything), ("d_model", (4, 6, 512, 64), everything),
                ("base", (30, 700, 250), everything)),
        ROTARY: (("distance", (0, 1, 4096, 777), ("scores",)), ("rope_theta", (200, 700, 570), everything),
                 ("head_dim", (4, 256, 64), everything), ("scaling", ("linear", "llama3", "none", "yarn"), everything),
                 ("factor", (1, 16, 3), everything), ("trained", (7, 12, 11), everything),
                 ("scaling", ("llama3",), everything), ("factor", (1, 8), everything), ("trained", (7, 9), everything)),
    }[sheet]
    for control, values, changed in moves:
        for value in values:
            before = pictures(page, sheet)
            move(page, control, value)
            after = pictures(page, sheet)
            for name in changed:
                check(before[name] != after[name], f"{where}: {control} = {value} does not change the {name}")
            check_numbers(page, program, sheet, f"{where}, {control} = {value}")
            spoken = page.get_attribute(f"#{control}", "aria-valuetext")
            if spoken is not None:
                check(spoken == page.inner_text(f"#{control}-value"), f"{where}: {control} says {spoken}")
                number = page.eval_on_selector(f"#{control}", "each => valueOf(each)")
                check(float(spoken.replace(",", "")) == float(number), f"{where}: {control} says {spoken}")
    # A person's way: the keyboard.
    page.focus(f"#{first}")
    before = values_of(page, sheet)[first]
    page.keyboard.press("ArrowLeft")
    two_frames(page)
    check(int(values_of(page, sheet)[first]) == int(before) - 1, f"{where}: the arrow key does not move the slider")


def check_pointer(page, where):
    """Values under the pointer: those of the place that they name."""
    for name, sheet in (("map", TABLE), ("curve", TABLE), ("circles", TABLE), ("scores", ROTARY), ("waves", ROTARY)):
        page.locator(f"#{name}-box").scroll_into_view_if_needed()
        box = page.locator(f"#{name}").bounding_box()
        tip = page.locator(f"#{name}-box .tip")
        check(not tip.is_visible(), f"{where}: {name} shows a value without a pointer")
        if name == "circles":
            # The points of the slow pairs are at the right; one of them is under a pointer that goes down there.
            for share in range(5, 100, 3):
                page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + share / 100 * box["height"])
                if tip.is_visible():
                    break
            found = re.fullmatch(r"pair (\d+): sine (\S+), cosine (\S+)", tip.inner_text())
            check(found is not None, f"{where}: circles: {tip.inner_text()}")
            if found:
                sine = page.evaluate("([pair, p]) => table.sin[p * table.pairs + pair]",
                                     [int(found[1]), int(values_of(page, TABLE)["position"])])
                check(abs(float(found[2].replace("\u2212", "-")) - sine) < 1e-6, f"{where}: {found[0]}, not {sine}")
            page.mouse.move(0, 0)
            continue
        for share in (0.3, 0.7):
            page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
            check(tip.is_visible(), f"{where}: no value under the pointer of {name}")
            words = tip.inner_text()
            numbers = [float(n.replace(",", "").replace("\u2212", "-")) for n in re.findall(r"\u2212?\d[\d,]*(?:\.\d+)?", words)]
            if "×" in words:
                continue
            values = values_of(page, sheet)
            if name == "map":
                row, column, value = numbers
                expected = page.evaluate(
                    "([row, column]) => (column % 2 ? table.cos : table.sin)[row * table.pairs + (column >> 1)]",
                    [int(row), int(column)])
            elif name == "curve":
                other, value = numbers
                expected = page.evaluate("([p, q]) => dot(table, p, q)", [int(values["position"]), int(other)])
            elif name == "scores":
                n, value = numbers[:2]
                expected = page.evaluate("n => study.of.after[n]", int(n))
            else:
                pair, value = numbers[:2]
                expected = page.evaluate("pair => study.of.wavesAfter[pair]", int(pair))
            check(abs(value - expected) <= 1e-5 * max(1, abs(expected)), f"{where}: {name}: {words}, not {expected}")
            edges = page.eval_on_selector(f"#{name}-box", """box => { const tip = box.querySelector('.tip').getBoundingClientRect();
                const around = box.getBoundingClientRect(); return tip.left >= around.left - 1 && tip.right <= around.right + 1; }""")
            check(edges, f"{where}: the value of {name} leaves its box: {words}")
        page.mouse.move(0, 0)
        check(not tip.is_visible(), f"{where}: {name} shows a value after the pointer has left")


def check_play(page, where):
    for slider in ("position", "distance"):
        button = page.locator(f"button[data-slider={slider}]")
        before = page.input_value(f"#{slider}")
        button.click()
        check(button.inner_text() == "Pause", f"{where}: the button of {slider} plays and is named {button.inner_text()}")
        page.wait_for_function("([id, before]) => document.getElementById(id).value !== before", arg=[slider, before])
        button.click()
        two_frames(page)
        check(button.inner_text() == "Play", f"{where}: the button of {slider} is paused and named {button.inner_text()}")
        stopped = page.input_value(f"#{slider}")
        page.wait_for_timeout(150)
        check(page.input_value(f"#{slider}") == stopped, f"{where}: {slider} moves on after the pause")


def check_address(browser, report, options, where):
    """A copied address and a reload show the same view, and links of the contents keep it."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(report.as_uri())
    opened = {sheet: values_of(page, sheet) for sheet in (TABLE, ROTARY)}
    check("#" not in page.url, f"{where}: an address from the start: {page.url}")
    for control, value in (("position", 77), ("base", 250), ("scaling", "linear"), ("trained", 12), ("rope_theta", 570)):
        move(page, control, value)
    if page.get_attribute("#theme", "aria-pressed") == "false":
        page.click("#theme")
    page.wait_for_function("() => location.hash.includes('rope_theta=')")
    moved = {sheet: values_of(page, sheet) for sheet in (TABLE, ROTARY)}
    check(moved != opened, f"{where}: no control moved")
    check("position=77" in page.url and "trained=4096" in page.url and "d_model" not in page.url, f"{where}: {page.url}")
    numbers = [page.inner_html(f"{sheet} dl") for sheet in (TABLE, ROTARY)]
    dark = page.evaluate("color('paper')")
    address = page.url
    page.reload()
    copied = context.new_page()
    copied.goto(address)
    for which, each in (("reload", page), ("copied address", copied)):
        found = {sheet: values_of(each, sheet) for sheet in (TABLE, ROTARY)}
        check(found == moved, f"{where}, {which}: {found}")
        check([each.inner_html(f"{sheet} dl") for sheet in (TABLE, ROTARY)] == numbers, f"{where}, {which}: other numbers")
        check(each.evaluate("color('paper')") == dark, f"{where}, {which}: other colors")
        check(each.evaluate("document.getElementById('scores-by-distance').getBoundingClientRect().top") < 900
              or which == "reload", f"{where}, {which}: another place")
    page.eval_on_selector("nav a[href='#sources']", "link => link.click()")
    page.wait_for_function("() => location.hash.startsWith('#sources&')")
    check({sheet: values_of(page, sheet) for sheet in (TABLE, ROTARY)} == moved, f"{where}: a link changes the view")
    # Values that no control has change nothing.
    page.goto(report.as_uri() + "#nowhere&position=x&d_model=&base=-1&scaling=other&trained=NaN&=&%ZZ")
    page.reload()
    found = {sheet: values_of(page, sheet) for sheet in (TABLE, ROTARY)}
    check(found == opened, f"{where}, odd address: {found}")
    page.goto(report.as_uri() + "#position=1e9&factor=1e-3")
    page.reload()
    found = {**values_of(page, TABLE), **values_of(page, ROTARY)}
    check((found["position"], found["factor"]) == ("127", "1"), f"{where}, values beyond the ends: {found}")
    context.close()


def luminance(color):
    channels = [int(color.strip()[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_colors(page, where):
    series = page.evaluate("""[...document.querySelector('style').textContent.matchAll(/--(series-\\d+):/g)].map(m => m[1])""")
    names = {"ink": 7, "muted": 4.5, "accent": 3, "positive": 3, "negative": 3}
    # Curves differ in more than their color; on a dark page all of them are light.
    dark = luminance(page.evaluate("color('paper')")) < 0.5
    names.update({name: 3 if dark else 2 for name in series})
    check(len(series) >= 7, f"{where}: {len(series)} colors of curves")
    for name, least in names.items():
        for ground in ("paper", "card"):
            found = contrast(*page.evaluate("names => names.map(color)", [name, ground]))
            check(found >= least, f"{where}: contrast of {name} on {ground} is {found:.2f}")


def check_figures(page, figures, where, screen):
    for figure in figures:
        name = figure["figure"]
        found = page.eval_on_selector_all(f"figure#{name} dd data", "all => all.map(data => data.value)")
        check(len(found) == len(figure["facts"]), f"{where}: {name} has {len(found)} numbers")
        for value, fact in zip(found, figure["facts"]):
            check(near(float(value), fact["value"]), f"{where}: {name}: {fact['what']}: {value}")
        title, note = page.inner_text(f"figure#{name} h3"), page.inner_text(f"figure#{name} .note")
        check((title, note) == (figure["title"], figure["note"]), f"{where}: {name} is named {title}, {note}")
    # One of the two drawings, near its own size, and each word inside it.
    for name, drawn, scale, outside in page.evaluate("""[...document.querySelectorAll('figure')].map(figure => {
        const drawings = [...figure.querySelectorAll('svg')].filter(svg => svg.getClientRects().length);
        const svg = drawings[0];
        const around = svg.getBoundingClientRect();
        const outside = [...svg.querySelectorAll('text')].filter(text => {
          const box = text.getBoundingClientRect();
          return box.left < around.left - 1 || box.right > around.right + 1 || box.top < around.top - 1 || box.bottom > around.bottom + 1;
        });
        return [figure.id, drawings.length, around.width / svg.viewBox.baseVal.width, outside.map(text => text.textContent)];
      })"""):
        check(drawn == 1, f"{where}: {name} is shown {drawn} times")
        check(0.8 <= scale <= (1.02 if screen == "wide" else 1.2), f"{where}: {name} is drawn at {scale:.2f} of its size")
        check(not outside, f"{where}: words of {name} leave it: {outside}")


def check_layout(page, where, screen):
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(over <= 0, f"{where}: {over} pixels wider than the screen")
    clipped = page.evaluate("""[...document.querySelectorAll('h1, h2, h3, p, dt, dd, label, output, button, li, a')]
        .filter(each => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline')
        .map(each => each.textContent.trim().slice(0, 40))""")
    check(not clipped, f"{where}: clipped: {clipped}")
    # Words have the width that the program computed: the font is the page's own.
    page.evaluate("document.fonts.ready")
    fonts = page.evaluate("[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family + font.weight)")
    check(fonts == ["Roboto400", "Roboto500"], f"{where}: fonts {fonts}")
    stretched = page.evaluate("""[...document.querySelectorAll('svg text[textLength]')].filter(text => text.getClientRects().length)
        .map(text => { const stated = Number(text.getAttribute('textLength')); const copy = text.cloneNode(true);
          copy.removeAttribute('textLength'); text.after(copy); const own = copy.getComputedTextLength(); copy.remove();
          return [text.textContent, stated, own]; }).filter(([, stated, own]) => Math.abs(stated - own) > 0.01 * stated + 0.5)""")
    check(not stretched, f"{where}: stretched words: {stretched[:3]}")
    # Side by side where there is room.
    if screen == "wide":
        beside = page.evaluate("""[...document.querySelectorAll('figure.half')].map(each => each.getBoundingClientRect().top)""")
        check(beside and all(beside[at] == beside[at + 1] for at in range(0, len(beside), 2)),
              f"{where}: figures are not side by side: {beside}")
        nav = page.evaluate("document.querySelector('nav').getBoundingClientRect().right <= document.querySelector('main').getBoundingClientRect().left")
        check(nav, f"{where}: the contents are not next to the figures")


def check_names(page, where):
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(each => Number(each.tagName[1]))")
    check(levels[0] == 1 and levels.count(1) == 1, f"{where}: headings {levels}")
    check(all(after <= before + 1 for before, after in zip(levels, levels[1:])), f"{where}: headings {levels}")
    lost = page.evaluate("""[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1))
        .filter(id => !document.getElementById(id))""")
    check(not lost, f"{where}: links to nothing: {lost}")
    contents = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))")
    places = page.evaluate("[...document.querySelectorAll('main section, main figure, main .try')].map(each => each.id)")
    check(contents == places, f"{where}: contents {contents} and places {places}")
    twice = page.evaluate("""{ const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
        ids.filter((id, at) => ids.indexOf(id) !== at); }""")
    check(not twice, f"{where}: twice: {twice}")
    nameless = page.evaluate("""[...document.querySelectorAll('input, select, button, canvas, svg, nav')].filter(each =>
        !(each.labels?.length || each.getAttribute('aria-label') || each.textContent.trim())).map(each => each.outerHTML.slice(0, 80))""")
    check(not nameless, f"{where}: without a name: {nameless}")
    silent = page.evaluate("[...document.querySelectorAll('input[type=range]')].filter(each => !each.getAttribute('aria-valuetext')).map(each => each.id)")
    check(not silent, f"{where}: sliders without aria-valuetext: {silent}")
    papers = page.evaluate("[...document.querySelectorAll('.sources li')].map(each => each.textContent)")
    check(len(papers) >= 10, f"{where}: {len(papers)} sources")
    for paper in papers:
        check(re.fullmatch(r".+ \((19|20)\d\d\)\. .+\. (.*arXiv:\d{4}\.\d{5}|IEEE .+)\.", paper) is not None, f"{where}: {paper}")
    cited = page.evaluate("""[...document.querySelectorAll('.sources li')].filter(each =>
        !document.querySelector(`main a[href="#${each.id}"]`)).map(each => each.id)""")
    check(not cited, f"{where}: not cited: {cited}")


def dejavu_alone(folder):
    """A configuration of fontconfig that knows DejaVu Sans and nothing else, or None without it.

    Without hinting, so that letters have the widths that the program computes with.
    """
    if not shutil.which("fc-match"):
        return None
    file = subprocess.run(["fc-match", "-f", "%{file}", "DejaVu Sans"], capture_output=True, text=True).stdout
    if "DejaVuSans" not in file:
        return None
    fonts = Path(folder) / "fonts"
    fonts.mkdir()
    shutil.copy(file, fonts)
    config = Path(folder) / "fonts.conf"
    config.write_text(f"<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'fonts.dtd'><fontconfig><dir>{fonts}</dir>"
                      f"<cachedir>{folder}/fontcache</cachedir><match target='font'><edit name='hinting'><bool>false</bool>"
                      "</edit></match></fontconfig>")
    return {**os.environ, "FONTCONFIG_FILE": str(config)}


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
        environments = {"own fonts": None, "DejaVu alone": dejavu_alone(folder)}
        if environments["DejaVu alone"] is None:
            print("skipped: DejaVu alone, because fontconfig does not have it")
            del environments["DejaVu alone"]
        for fonts, environment in environments.items():
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"], env=environment)
            for screen, (width, height) in SCREENS.items():
                for scheme in ("light", "dark"):
                    where = f"{screen}, {scheme}, {fonts}"
                    options = {"viewport": {"width": width, "height": height}, "color_scheme": scheme,
                               "device_scale_factor": 1 if screen == "wide" else 3,
                               "is_mobile": screen == "narrow", "has_touch": screen == "narrow"}
                    check_page(browser, report, options, where, screen, figures, shots)
                    if environment is None and (screen == "wide") == (scheme == "light"):
                        check_use(browser, report, options, where, program)
            if environment is None:
                check_without_scripts(browser, report, figures)
            browser.close()
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


def open_page(browser, report, options, where):
    context = browser.new_context(**options)
    page = context.new_page()
    page.on("console", lambda message: check(False, f"{where}: console: {message.text}"))
    page.on("pageerror", lambda error: check(False, f"{where}: error: {error}"))
    page.on("request", lambda request: check(
        request.url.startswith(("file:", "data:")), f"{where}: asks for {request.url}"))
    page.goto(report.as_uri())
    page.evaluate("document.fonts.ready")
    return context, page


def check_page(browser, report, options, where, screen, figures, shots):
    """What can be seen before anything is moved."""
    context, page = open_page(browser, report, options, where)
    check_layout(page, where, screen)
    check_figures(page, figures, where, screen)
    check_colors(page, where)
    check_names(page, where)
    # The other colors by the button, and back.
    for _ in range(2):
        page.click("#theme")
        check_colors(page, where + ", switched")
    check(page.evaluate("location.hash") == "", f"{where}: the colors of the system stay in the address")
    print(f"{where}: {page.evaluate('document.documentElement.scrollHeight')} pixels high")
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=shots / (where.replace(", ", "-").replace(" ", "-") + ".png"), full_page=True)
    context.close()


def check_use(browser, report, options, where, program):
    """Sliders, pointer, play, and address."""
    context, page = open_page(browser, report, options, where)
    for sheet in (TABLE, ROTARY):
        check_controls(page, program, sheet, where)
    check_pointer(page, where)
    check_play(page, where)
    context.close()
    check_address(browser, report, options, where)


def check_without_scripts(browser, report, figures):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    check(page.locator("figure svg").count() == 2 * len(figures), "without scripts figures are missing")
    numbers = [page.locator(f"{sheet} dl").inner_html() for sheet in (TABLE, ROTARY)]
    for sheet in (TABLE, ROTARY):
        check(page.locator(f"{sheet} dl data").first.inner_text() != "", "without scripts numbers are missing")
        check(page.locator(f"{sheet} noscript p").is_visible(), "without scripts the page does not tell what is missing")
        check(not page.locator(f"{sheet} .controls").is_visible(), "without scripts there are controls")
    context.close()
    page = browser.new_page()
    page.goto(report.as_uri())
    found = [page.inner_html(f"{sheet} dl") for sheet in (TABLE, ROTARY)]
    check(found == numbers, "the script changes numbers before a control is moved")
    lines = (Path(__file__).parent / "numbers.csv").read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        value, text = line.split(",")
        written = page.evaluate("text => shortNumber(Number(text))", value)
        check(written == text, f"the script writes {value} as {written}, not as {text}")
    for line in (Path(__file__).parent / "ticks.csv").read_text(encoding="utf-8").splitlines()[1:]:
        low, high, wanted, expected = line.split(",")
        found = page.evaluate(f"ticks({low}, {high}, {wanted})")
        check(found == [float(tick) for tick in expected.split()], f"ticks from {low} to {high}, {wanted} wanted: {found}")


if __name__ == "__main__":
    main()
