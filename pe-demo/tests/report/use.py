"""Checks of what a reader does with the page: sliders, pointer, play, address."""

import math
import re

from program import check, near

TABLE, ROTARY = "#table-sheet", "#rotary-sheet"


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


def check_use(browser, report, options, where, program, open_page):
    """Sliders, pointer, play, and address."""
    context, page = open_page(browser, report, options, where)
    for sheet in (TABLE, ROTARY):
        check_controls(page, program, sheet, where)
    check_pointer(page, where)
    check_play(page, where)
    context.close()
    check_address(browser, report, options, where)
