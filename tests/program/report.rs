//! The page of `pe-demo report`, as far as it can be seen without a browser.
//! `pe-demo/tests/report/check.py` opens it in one.

use std::sync::OnceLock;

use pe_core::{Similarity, Sinusoidal};
use serde_json::Value;

use crate::plot::{FIGURES, numbers};
use crate::util::{arg, file, run, run_error, without_pictures};

/// The page, written once for all tests.
fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(write)
}

fn write() -> String {
    let (_guard, path) = file("report.html");
    let printed = run(&format!("report -o {}", arg(&path)));
    assert!(printed.starts_with("wrote "), "{printed}");
    std::fs::read_to_string(&path).unwrap()
}

/// The first part of a text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before}"));
    rest.split_once(after)
        .unwrap_or_else(|| panic!("no {after}"))
        .0
}

#[test]
fn page_is_one_file_and_the_same_twice() {
    let html = page();
    assert!(html == write());
    assert!(html.starts_with("<!doctype html>"));
    assert!(html.len() < 3 << 20, "{} bytes", html.len());
    // Nothing is loaded, and the page's own policy would not let it.
    let policy = between(html, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let words = without_pictures(html);
    let outside = words.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["http:", "https:", "src=\"", "@import", "url(", "fetch("] {
        assert!(!outside.contains(word), "{word}");
    }
    assert!(html.contains("<meta name=\"viewport\" content=\"width=device-width"));
    assert!(html.contains("@media (prefers-color-scheme: dark)"));
    assert!(!words.contains("{{") && !words.contains("NaN"));
}

#[test]
fn figures_are_on_the_page_once_with_their_numbers() {
    let html = page();
    for name in FIGURES {
        let figure = numbers(name, "");
        let start = format!("<figure id=\"{name}\">");
        assert_eq!(html.matches(&start).count(), 1, "{name}");
        let part = between(html, &start, "</figure>");
        assert!(part.contains("<svg "), "{name}");
        let shown: Vec<f64> = part
            .split("<data value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        let facts: Vec<f64> = figure["facts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fact| fact["value"].as_f64().unwrap())
            .collect();
        assert_eq!(shown, facts, "{name}");
    }
    assert_eq!(html.matches("<figure id=").count(), FIGURES.len());
}

/// Two things compute numbers on the page, in one notation.
#[test]
fn page_tells_which_numbers_come_from_where() {
    let html = page();
    let footer = between(html, "<footer>", "</footer>").replace('\n', " ");
    for words in [
        "The figures and the numbers below them are computed by pe-core: every entry of a table is \
         the number nearest to the true value.",
        "by this page's script in 64-bit arithmetic, and so are the numbers below them once a slider \
         has moved.",
    ] {
        assert!(footer.contains(words), "{footer}");
    }
    let source = between(html, "<p id=\"live-source\">", "</p>");
    assert_eq!(source, "These numbers: computed by pe-core.");
    let data = between(html, "id=\"data\">", "</script>");
    let data: Value = serde_json::from_str(data).unwrap();
    let computed = data["computed"].as_str().unwrap();
    assert!(computed.starts_with("These numbers: computed by this page's script"));
    // Powers of ten are letters, not markup, so that the script can write them as well.
    assert!(html.contains("const shortNumber = ") && !html.contains("<sup>\u{2212}"));
}

#[test]
fn figures_take_the_colors_of_the_page() {
    let html = page();
    let style = between(html, "<style>", "</style>");
    let (light, dark) = style.split_once("@media").unwrap();
    for (name, on_white, on_black) in [
        ("ink", "#1b212c", "#eceff4"),
        ("muted", "#596373", "#a6b0c0"),
        ("axis", "#9aa3b0", "#667184"),
        ("series-1", "#2f6fde", "#2f6fde"),
    ] {
        assert!(light.contains(&format!("--{name}: {on_white};")), "{name}");
        assert!(dark.contains(&format!("--{name}: {on_black};")), "{name}");
        assert!(html.contains(&format!("=\"var(--{name})\"")), "{name}");
    }
    // Figures have no color of their own, and no ground behind them.
    for property in ["fill", "stroke"] {
        assert!(!html.contains(&format!("{property}=\"#")), "{property}");
    }
}

#[test]
fn sliders_begin_where_the_numbers_are() {
    let html = page();
    for (name, low, high, value) in [
        ("position", 0, 127, 20),
        ("d_model", 4, 512, 128),
        ("base", 30, 700, 400),
    ] {
        let input = between(html, &format!("<input type=\"range\" id=\"{name}\""), ">");
        for (attribute, number) in [("min", low), ("max", high), ("value", value)] {
            assert!(
                input.contains(&format!(" {attribute}=\"{number}\"")),
                "{input}"
            );
        }
        assert!(html.contains(&format!("<label for=\"{name}\">")));
    }
    let encoding = Sinusoidal::paper(128).unwrap();
    let row = encoding.table::<f64>(20..21).unwrap().into_vec();
    for (name, expected) in [
        ("entry-0", row[0]),
        ("entry-1", row[1]),
        ("entry-2", row[2]),
        ("entry-last", row[127]),
        ("wavelength", encoding.wavelengths()[63]),
        (
            "dot-0",
            encoding.similarity(Similarity::Dot, 20, 0).unwrap(),
        ),
        ("dot-self", 64.0),
        ("neighbor", encoding.neighbor_distance().unwrap()),
    ] {
        let part = between(html, &format!("id=\"live-{name}\">"), "</dd>");
        let found: f64 = between(part, "<data value=\"", "\"").parse().unwrap();
        assert_eq!(found, expected, "{name}");
    }
    let data = between(
        html,
        "<script type=\"application/json\" id=\"data\">",
        "</script>",
    );
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["positions"], 128);
    let palette = data["palette"].as_array().unwrap();
    // Red at -1, gray at 0, blue at 1.
    assert_eq!(palette.len(), 256);
    assert_eq!(
        [&palette[1], &palette[128], &palette[255]],
        [0x67001f, 0xf7f7f7, 0x053061]
    );
}

#[test]
fn page_is_replaced_whole_or_not_at_all() {
    let (guard, path) = file("report.html");
    std::fs::create_dir(&path).unwrap();
    let error = run_error(&format!("report -o {}", arg(&path)));
    assert!(
        error.contains("cannot write") && error.contains("report.html"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(guard.path()).unwrap().count(), 1);
}
