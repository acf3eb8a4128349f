//! The page of `pe-demo report`, as far as it can be seen without a browser.
//! `pe-demo/tests/report/check.py` opens it in one.

use std::sync::OnceLock;

use pe_core::{RopeScaling, Rotary, RotaryConfig, Similarity, Sinusoidal, YarnScaling};
use serde_json::{Value, json};

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
    // Nothing is loaded, and the page's own policy would not let it. Papers are links.
    let policy = between(html, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let words = without_pictures(html);
    let outside = words
        .replace("xmlns=\"http://www.w3.org/2000/svg\"", "")
        .replace("<a href=\"https://arxiv.org/abs/", "")
        .replace("src: url(data:font/ttf;base64,", "");
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
        let start = format!("<figure id=\"{name}\" ");
        assert_eq!(html.matches(&start).count(), 1, "{name}");
        let part = between(html, &start, "</figure>");
        // Drawn for a wide screen and for a narrow one; the words are the page's.
        let drawings: Vec<&str> = part.split("<svg ").skip(1).collect();
        let width = |svg: &str| between(svg, " width=\"", "\"").parse::<u32>().unwrap();
        let widths: Vec<u32> = drawings.iter().map(|svg| width(svg)).collect();
        assert!(matches!(widths[..], [576..=860, 410]), "{name}: {widths:?}");
        for (before, words) in [("<h3><a href=\"#", "title"), ("<p class=\"note\">", "note")] {
            let found = between(part, before, "</").rsplit('>').next().unwrap();
            let expected = figure[words].as_str().unwrap();
            let escaped = expected.replace('&', "&amp;").replace('<', "&lt;");
            assert_eq!(found, escaped, "{name}: {words}");
            assert!(
                !drawings[1].contains(&format!(">{escaped}</text>")),
                "{name}"
            );
        }
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
    let sources: Vec<&str> = html.split("<p class=\"source\">").skip(1).collect();
    let computed = "These numbers: computed by pe-core.</p>";
    let found = sources.iter().filter(|rest| rest.starts_with(computed));
    assert_eq!(found.count(), 2);
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
    let (light, dark) = style.split_once(":root[data-theme=\"dark\"]").unwrap();
    // As the system has them, and as the reader chooses.
    let (chosen, preferred) = dark
        .split_once("@media (prefers-color-scheme: dark)")
        .unwrap();
    for (name, on_white, on_black) in [
        ("ink", "#1b212c", "#eceff4"),
        ("muted", "#596373", "#a6b0c0"),
        ("axis", "#9aa3b0", "#667184"),
        ("series-1", "#0072b2", "#56b4e9"),
    ] {
        assert!(light.contains(&format!("--{name}: {on_white};")), "{name}");
        for dark in [chosen, preferred] {
            assert!(dark.contains(&format!("--{name}: {on_black};")), "{name}");
        }
        assert!(html.contains(&format!("=\"var(--{name})\"")), "{name}");
    }
    // Figures have no color of their own, and no ground behind them.
    for property in ["fill", "stroke"] {
        assert!(!html.contains(&format!("{property}=\"#")), "{property}");
    }
}

/// The number of a sheet with a name.
fn live(html: &str, name: &str) -> f64 {
    let part = between(html, &format!("id=\"live-{name}\">"), "</dd>");
    between(part, "<data value=\"", "\"").parse().unwrap()
}

/// The names of the page's places, in their order.
fn places(html: &str) -> Vec<String> {
    let main = between(html, "<main id=\"main\">", "</main>");
    let words = without_pictures(main);
    let tags = words.split('<').skip(1);
    let places = tags.filter(|tag| {
        tag.starts_with("section ")
            || tag.starts_with("figure ")
            || tag.starts_with("div class=\"try\"")
    });
    places
        .map(|tag| between(tag, "id=\"", "\"").to_owned())
        .collect()
}

/// The contents lead to every section, sheet, and figure, in the order of the page.
#[test]
fn contents_are_the_structure_of_the_page() {
    let html = page();
    let contents = between(html, "<nav aria-label=\"Contents\">", "</nav>");
    let links: Vec<&str> = contents
        .split("<a href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(links, places(html));
    assert_eq!((links[0], links[links.len() - 1]), ("table", "sources"));
    assert!(links.contains(&"scores-by-distance"));
    // Headings without a gap.
    let mut levels = vec![];
    for (at, _) in html.match_indices("<h") {
        levels.extend(html[at + 2..].chars().next().and_then(|c| c.to_digit(10)));
    }
    assert_eq!(levels[0], 1);
    assert!(
        levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
        "{levels:?}"
    );
}

#[test]
fn figures_cite_papers_by_name_year_and_number() {
    let html = page();
    let sources = between(html, "<ul class=\"sources\">", "</ul>");
    for paper in [
        "<li id=\"paper-transformer\">Vaswani et al. (2017). <cite>Attention Is All You Need</cite>. \
         <a href=\"https://arxiv.org/abs/1706.03762\" rel=\"noreferrer\">arXiv:1706.03762</a>.</li>",
        "<li id=\"paper-keys\">Keys (1981). <cite>Cubic Convolution Interpolation for Digital Image \
         Processing</cite>. IEEE Transactions on Acoustics, Speech, and Signal Processing 29(6).</li>",
    ] {
        assert!(sources.contains(paper), "{sources}");
    }
    for (figure, papers) in [
        (
            "alibi-slopes",
            "<a href=\"#paper-alibi\">Press et al., 2021</a>",
        ),
        (
            "t5-buckets",
            "<a href=\"#paper-t5\">Raffel et al., 2019</a>",
        ),
    ] {
        let part = between(html, &format!("<figure id=\"{figure}\""), "</figure>");
        assert_eq!(between(part, "<p class=\"papers\">", "</p>"), papers);
    }
    for source in sources.split("<li id=\"").skip(1) {
        let id = source.split('"').next().unwrap();
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
}

#[test]
fn sliders_begin_where_the_numbers_are() {
    let html = page();
    for (name, low, high, value, text) in [
        ("position", 0, 127, 20, "20"),
        ("d_model", 4, 512, 128, "128"),
        ("base", 30, 700, 400, "10,000"),
        ("distance", 0, 4096, 2048, "2,048"),
        ("rope_theta", 200, 700, 400, "10,000"),
        ("head_dim", 4, 256, 128, "128"),
        ("factor", 1, 16, 4, "4"),
        ("trained", 7, 12, 10, "1,024"),
    ] {
        let input = between(html, &format!("<input type=\"range\" id=\"{name}\""), ">");
        for (attribute, number) in [("min", low), ("max", high), ("value", value)] {
            assert!(
                input.contains(&format!(" {attribute}=\"{number}\"")),
                "{input}"
            );
        }
        assert!(
            input.contains(&format!(" aria-valuetext=\"{text}\"")),
            "{input}"
        );
        assert!(html.contains(&format!("<label for=\"{name}\">")));
        assert!(html.contains(&format!(" for=\"{name}\">{text}</output>")));
    }
    assert!(html.contains("<option value=\"yarn\" selected>YaRN</option>"));
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
        assert_eq!(live(html, name), expected, "{name}");
    }
    // Rotary scores: with YaRN's factor a, the sum of a^2 cos(n f) over the pairs.
    let config = RotaryConfig::new(128);
    let before = Rotary::new(config.clone()).unwrap();
    let before = before.frequencies(0).unwrap().wavelengths();
    let scaling = RopeScaling::Yarn(YarnScaling::new(4.0, 1024));
    let rotary = Rotary::new(RotaryConfig { scaling, ..config }).unwrap();
    let rates = rotary.frequencies(0).unwrap();
    let factor = rates.attention_factor();
    let score = |distance: u64| {
        let cosines = rates.tables::<f64>(distance..distance + 1).unwrap().cos;
        cosines.into_vec().iter().sum::<f64>() * factor
    };
    let slow = before.iter().filter(|wave| **wave > 1024.0).count();
    for (name, expected) in [
        ("score-0", score(0)),
        ("score", score(2048)),
        ("attention", factor),
        ("slow", slow as f64),
        ("longest", rates.wavelengths()[63]),
        ("longest-before", before[63]),
    ] {
        assert_eq!(live(html, name), expected, "{name}");
    }
    let data = between(
        html,
        "<script type=\"application/json\" id=\"data\">",
        "</script>",
    );
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        (&data["positions"], &data["distances"]),
        (&json!(128), &json!(4096))
    );
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
