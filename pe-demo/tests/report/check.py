"""Opens the page of `pe-demo report` in a headless Chromium and checks what only a browser can.

    pip install playwright          # the Python package alone; no browser is downloaded
    python pe-demo/tests/report/check.py target/release/pe-demo [FOLDER]

Needs a Chromium on the PATH (or its path in CHROMIUM). Checks, on a wide screen (1600 pixels), a middle
one (1024), and a narrow one (390), in light and in dark colors, with the machine's fonts and with DejaVu alone (if fontconfig has it):

* no message on the console, no error, no request for anything but the page itself, nothing wider than the screen;
* each figure is shown once, drawn for the width of the screen, and none of its words leaves its picture;
* the fonts of the page are its own, so that no word is stretched, and colors have enough contrast;
* headings are in order, links of the page lead somewhere, controls have labels and say their values.

And on the wide screen and the narrow one:

* every control changes every picture that depends on it;
* the numbers next to the controls equal pe-core's, taken from tables that `pe-demo export` writes, to 1e-9
  (relative above 1), and the page tells which of the two computed them;
* the values under the pointer, the play buttons, the colors, and the address, which restores the view;
* its script writes numbers and chooses ticks as pe-demo does (numbers.csv and ticks.csv, which unit tests of pe-demo read, too);
* the numbers next to the figures equal those of `pe-demo plot --data json`;
* scripts off: figures and numbers are still there, and the page tells what is missing.

With a FOLDER it leaves screenshots there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # no folder next to the sources

import program as kit
from playwright.sync_api import sync_playwright
from program import Program, check, near
from use import ROTARY, TABLE, check_use

SCREENS = {"wide": (1600, 1000), "middle": (1024, 800), "narrow": (390, 844)}
# The screens on which controls are moved.
USED = {("wide", "light"), ("narrow", "dark")}


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
        check(0.8 <= scale <= (1.2 if screen == "narrow" else 1.02), f"{where}: {name} is drawn at {scale:.2f} of its size")
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
                               "device_scale_factor": 3 if screen == "narrow" else 1,
                               "is_mobile": screen == "narrow", "has_touch": screen == "narrow"}
                    check_page(browser, report, options, where, screen, figures, shots)
                    if environment is None and (screen, scheme) in USED:
                        check_use(browser, report, options, where, program, open_page)
            if environment is None:
                check_without_scripts(browser, report, figures)
            browser.close()
    print(f"{kit.checks - len(kit.failures)} passed, {len(kit.failures)} failed")
    sys.exit(1 if kit.failures else 0)


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
