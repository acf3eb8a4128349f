//! Pictures in every format and theme, read without the crates that write them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::{Drawn, FIGURES, all, all_others, draw};
use crate::util::{arg, run, run_json, run_usage};

/// One figure of each kind: curves, a map, several panels, circles.
const KINDS: [&str; 4] = ["alibi-slopes", "angle-map", "sinusoids", "rings"];

/// Draws one figure of each kind. The animation of the circles has 3 frames, because each costs as much as a figure.
fn kinds(options: &str, ending: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = pictures(&format!("{} {options}", KINDS[..3].join(" ")), ending);
    all.extend(pictures(
        &format!("rings --max-seq-len 3 {options}"),
        ending,
    ));
    all
}

/// Draws figures and returns those with an ending, by name.
fn pictures(options: &str, ending: &str) -> BTreeMap<String, Vec<u8>> {
    of_kind(&draw(options), ending)
}

fn of_kind(drawn: &Drawn, ending: &str) -> BTreeMap<String, Vec<u8>> {
    let files = drawn.files.iter().filter_map(|(file, bytes)| {
        let (name, own) = file.rsplit_once('.')?;
        (own == ending).then(|| (name.to_owned(), bytes.clone()))
    });
    files.collect()
}

/// Checks the chunks of a PNG and returns their types and data.
fn chunks(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
            })
        })
    };
    bytes = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let end = 8 + number(0) as usize;
        assert_eq!(number(end), crc(&bytes[4..end]));
        let kind = String::from_utf8(bytes[4..8].to_vec()).unwrap();
        all.push((kind, bytes[8..end].to_vec()));
        bytes = &bytes[end + 4..];
    }
    all
}

/// Returns the texts of a PNG by keyword.
fn texts(chunks: &[(String, Vec<u8>)]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for (kind, data) in chunks {
        if !["tEXt", "iTXt"].contains(&kind.as_str()) {
            continue;
        }
        let keyword = data.split(|byte| *byte == 0).next().unwrap();
        let keyword = String::from_utf8(keyword.to_vec()).unwrap();
        let text = match kind.as_str() {
            "tEXt" => data[keyword.len() + 1..]
                .iter()
                .map(|b| char::from(*b))
                .collect(),
            // No compression, no language, no translated keyword.
            _ => {
                assert_eq!(&data[keyword.len()..keyword.len() + 5], [0; 5]);
                String::from_utf8(data[keyword.len() + 5..].to_vec()).unwrap()
            }
        };
        texts.insert(keyword, text);
    }
    texts
}

#[test]
fn png_states_its_size_on_paper_and_its_words() {
    let pictures = of_kind(all(), "png");
    assert_eq!(pictures.len(), FIGURES.len());
    for (name, bytes) in &pictures {
        let chunks = chunks(bytes);
        let data = |kind: &str| {
            let found = chunks.iter().find(|(own, _)| own == kind);
            &found.unwrap_or_else(|| panic!("{name} has no {kind}")).1
        };
        // 192 pixels per inch are 7559 per meter.
        assert_eq!(
            data("pHYs")[..],
            [0, 0, 0x1d, 0x87, 0, 0, 0x1d, 0x87, 1],
            "{name}"
        );
        let texts = texts(&chunks);
        assert!(texts["Software"].starts_with("pe-demo "), "{name}");
        assert!(texts["Title"].len() > 8, "{name}");
        assert!(
            texts["Description"].len() > 100,
            "{name}: {}",
            texts["Description"]
        );
        // Before the pixels, so that readers of the beginning find them.
        let place = |kind: &str| chunks.iter().position(|(own, _)| own == kind).unwrap();
        assert!(place("pHYs") < place("IDAT"));
    }
    let texts = texts(&chunks(&pictures["angle-rates"]));
    assert_eq!(texts["Title"], "Rotation rate of each pair");
    let description = &texts["Description"];
    assert!(
        description.contains("rate of pair 1: 0.964526"),
        "{description}"
    );
    assert!(
        description.contains("\u{d7} 10\u{207b}\u{2074}"),
        "{description}"
    );
}

#[test]
fn themes_have_their_ground_and_colors() {
    let mut seen: Vec<BTreeMap<String, Vec<u8>>> = Vec::new();
    for (theme, corner, channels) in [
        ("light", vec![255, 255, 255], 3),
        ("dark", vec![0x12, 0x16, 0x1d], 3),
        ("transparent", vec![0, 0, 0, 0], 4),
    ] {
        let pictures = kinds(&format!("--theme {theme}"), "png");
        if theme == "light" {
            let again = of_kind(all(), "png");
            assert!(
                KINDS[..3]
                    .iter()
                    .all(|name| pictures[*name] == again[*name])
            );
        }
        for (name, bytes) in &pictures {
            let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
                .read_info()
                .unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(pixels[..channels], corner, "{name} {theme}");
            let inked = pixels
                .chunks_exact(channels)
                .filter(|pixel| **pixel != corner[..]);
            assert!(inked.count() > 10_000, "{name} {theme}");
        }
        assert!(
            seen.iter()
                .all(|others| KINDS.iter().all(|name| others[*name] != pictures[*name]))
        );
        seen.push(pictures);
    }
    for (theme, ground) in [
        ("light", Some("#ffffff")),
        ("dark", Some("#12161d")),
        ("transparent", None),
    ] {
        let pictures = self::pictures(&format!("sse --format svg --theme {theme}"), "svg");
        let svg = String::from_utf8(pictures["sse"].clone()).unwrap();
        let rect = svg.split("<rect ").nth(1);
        assert_eq!(rect.is_some(), ground.is_some(), "{theme}");
        if let (Some(rect), Some(ground)) = (rect, ground) {
            assert!(rect.contains(&format!("fill=\"{ground}\"")), "{theme}");
        }
    }
}

/// Checks that each element is closed where it should be, and returns the texts of some.
fn elements(svg: &str, wanted: &[&str]) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(
            !text.contains('>') && tag.matches('"').count().is_multiple_of(2),
            "{part}"
        );
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
            if wanted.contains(&name) {
                texts.push(text.to_owned());
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    texts
}

#[test]
fn svg_is_well_formed_with_title_and_description() {
    for theme in ["light", "dark", "transparent"] {
        let (pictures, count) = match theme {
            "light" => (of_kind(all_others(), "svg"), FIGURES.len()),
            _ => (kinds(&format!("--format svg --theme {theme}"), "svg"), 4),
        };
        assert_eq!(pictures.len(), count);
        for (name, bytes) in pictures {
            let svg = String::from_utf8(bytes).unwrap();
            let texts = elements(&svg, &["title", "desc"]);
            assert_eq!(texts.len(), 2, "{name}");
            assert!(
                texts[0].len() > 8 && texts[1].len() > 100,
                "{name}: {texts:?}"
            );
            let root = svg.split('>').next().unwrap();
            let labels = format!("role=\"img\" aria-labelledby=\"{name}-title {name}-desc\"");
            assert!(root.ends_with(&labels), "{root}");
            for id in ["title", "desc"] {
                assert_eq!(
                    svg.matches(&format!(" id=\"{name}-{id}\"")).count(),
                    1,
                    "{name}"
                );
            }
        }
    }
}

/// Curves of one figure differ by their dashes as well as by their colors.
#[test]
fn curves_are_distinct_without_color() {
    let pictures = pictures("alibi-slopes --format svg", "svg");
    let svg = String::from_utf8(pictures["alibi-slopes"].clone()).unwrap();
    let lines = svg
        .lines()
        .filter(|line| line.contains("stroke-width=\"1.8\""));
    let dashes = lines.map(|line| {
        line.split("stroke-dasharray=\"")
            .nth(1)
            .unwrap_or("\"")
            .split('"')
            .next()
            .unwrap()
    });
    let dashes: std::collections::BTreeSet<&str> = dashes.collect();
    assert_eq!(dashes.len(), 8, "{dashes:?}");
}

/// Returns the objects of a PDF by number, at the places that its table names.
fn objects(pdf: &[u8]) -> BTreeMap<usize, &[u8]> {
    let find = |from: usize, words: &[u8]| {
        let at = pdf[from..]
            .windows(words.len())
            .position(|part| part == words);
        from + at.unwrap_or_else(|| panic!("no {}", String::from_utf8_lossy(words)))
    };
    assert!(pdf.starts_with(b"%PDF-1.7\n") && pdf.ends_with(b"%%EOF"));
    let start = find(0, b"startxref\n");
    let table: usize = line(&pdf[start + 10..]).parse().unwrap();
    assert_eq!(line(&pdf[table..]), "xref");
    let head = line(&pdf[table + 5..]);
    let count: usize = head.split(' ').nth(1).unwrap().parse().unwrap();
    let rows = table + 5 + head.len() + 1;
    // Each row has 20 bytes; the first is free.
    let entries = (1..count).map(|number| {
        let row = std::str::from_utf8(&pdf[rows + 20 * number..rows + 20 * number + 20]).unwrap();
        assert!(
            row.ends_with(" 00000 n\r\n") || row.ends_with(" 00000 n \n"),
            "{row:?}"
        );
        let at: usize = row[..10].parse().unwrap();
        let begin = format!("{number} 0 obj\n");
        assert!(pdf[at..].starts_with(begin.as_bytes()), "object {number}");
        (number, &pdf[at + begin.len()..find(at, b"\nendobj")])
    });
    entries.collect()
}

fn line(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    std::str::from_utf8(&bytes[..end]).unwrap().trim_end()
}

/// Returns the content of a compressed stream.
fn inflated(object: &[u8]) -> Vec<u8> {
    let at = object
        .windows(8)
        .position(|part| part == b"\nstream\n")
        .unwrap()
        + 8;
    let mut content = Vec::new();
    flate2::read::ZlibDecoder::new(&object[at..])
        .read_to_end(&mut content)
        .unwrap();
    content
}

/// `pe-demo/src/chart` was looked at with two readers of PDF. This reads the structure, and counts what is drawn.
#[test]
fn pdf_has_a_page_with_the_drawing_and_its_words() {
    let mut grounds = Vec::new();
    for theme in ["light", "dark", "transparent"] {
        let options = format!("--format pdf --theme {theme}");
        let mut pictures = kinds(&options, "pdf");
        if theme == "light" {
            let others = FIGURES.iter().filter(|name| !KINDS.contains(name));
            let others: Vec<&str> = others.copied().collect();
            pictures.extend(self::pictures(
                &format!("{} {options}", others.join(" ")),
                "pdf",
            ));
            assert_eq!(pictures.len(), FIGURES.len());
        }
        for (name, bytes) in &pictures {
            let objects = objects(bytes);
            let text = |number: usize| String::from_utf8_lossy(objects[&number]).into_owned();
            assert!(
                text(1).contains("/Type /Catalog") && text(1).contains("/Lang (en)"),
                "{name}"
            );
            assert!(text(3).contains("/MediaBox [0 0 "), "{name}: {}", text(3));
            assert!(
                text(5).contains("/Creator (pe-demo ") && !text(5).contains("Date"),
                "{name}"
            );
            assert!(
                text(8).contains("/S /Figure") && text(8).contains("/Alt "),
                "{name}"
            );
            let drawn = String::from_utf8(inflated(objects[&4])).unwrap();
            assert!(
                drawn.starts_with("/Figure <<\n  /MCID 0\n>> BDC\n") && drawn.ends_with("EMC"),
                "{name}"
            );
            let count = |operator: &str| {
                drawn
                    .lines()
                    .filter(|line| line.ends_with(operator))
                    .count()
            };
            assert!(
                count(" m") > 20 && count(" c") > 100 && count(" l") > 20,
                "{name}"
            );
            assert_eq!(count(" Do"), objects.len() - 8, "{name}");
            assert_eq!(count("q"), count("Q"), "{name}");
            for number in 9..=objects.len() {
                assert!(text(number).contains("/Subtype /Image"), "{name}");
                let sides = ["/Width ", "/Height "].map(|side| -> usize {
                    let text = text(number);
                    let rest = text.split(side).nth(1).unwrap();
                    rest.split(|c: char| !c.is_ascii_digit())
                        .next()
                        .unwrap()
                        .parse()
                        .unwrap()
                });
                assert_eq!(
                    inflated(objects[&number]).len(),
                    sides[0] * sides[1],
                    "{name}"
                );
            }
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{name}");
        }
        let again = self::pictures(&format!("rings --max-seq-len 3 {options}"), "pdf");
        assert!(again["rings"] == pictures["rings"]);
        let drawn = inflated(objects(&pictures["rings"])[&4]);
        let drawn = String::from_utf8(drawn).unwrap();
        grounds.push(
            drawn
                .lines()
                .find(|line| line.ends_with(" rg"))
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(grounds[..2], ["1 1 1 rg", "0.0706 0.0863 0.1137 rg"]);
    assert_ne!(grounds[2], grounds[0]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn one_figure_goes_into_the_file_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pdf", "b.SVG", "c.png"] {
        let printed = run(&format!("plot sse -o {}", arg(&folder.path().join(name))));
        assert!(printed.contains(name), "{printed}");
    }
    assert_eq!(names(folder.path()), ["a.pdf", "b.SVG", "c.png"]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("a.pdf").starts_with(b"%PDF") && read("b.SVG").starts_with(b"<svg"));
    assert!(read("c.png").starts_with(b"\x89PNG"));
    let rings = arg(&folder.path().join("d.pdf")).to_owned();
    let printed = run(&format!("plot rings --max-seq-len 3 --data csv -o {rings}"));
    assert!(printed.contains(" points)"), "{printed}");
    assert_eq!(names(folder.path())[3..], ["d.csv", "d.gif", "d.pdf"]);
    // A folder may have any name.
    std::fs::create_dir(folder.path().join("e.png")).unwrap();
    run(&format!(
        "plot sse -o {}",
        arg(&folder.path().join("e.png"))
    ));
    assert_eq!(names(&folder.path().join("e.png")), ["sse.png"]);

    let error = run_usage("plot -o new.pdf");
    let expected = format!(
        "--output new.pdf is one picture, and there are {} figures; name one of them, or a folder",
        FIGURES.len()
    );
    assert_eq!(error, expected);
    let error = run_usage("plot sse -o new.pdf --format svg");
    assert_eq!(
        error,
        "--output new.pdf does not end in .svg, as --format states"
    );
}

#[test]
fn list_has_every_figure_once_with_a_line_about_it() {
    let list = run("plot --list");
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    for name in FIGURES {
        let start = format!("  {name} ");
        assert_eq!(
            list.lines().filter(|line| line.starts_with(&start)).count(),
            1,
            "{name}"
        );
    }
    let document = run_json("plot --list");
    let figures = document["figures"].as_array().unwrap();
    assert_eq!(figures.len(), FIGURES.len());
    for figure in figures {
        assert!(FIGURES.contains(&figure["name"].as_str().unwrap()));
        assert!(list.contains(figure["group"].as_str().unwrap()));
        let words = figure["summary"]
            .as_str()
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        assert!(list.contains(words));
    }
    assert_eq!(figures[0]["name"], "binary");
    assert_eq!(
        figures[0]["options"],
        serde_json::json!(["--max-seq-len", "--start"])
    );
    assert_eq!(run("plot --list sse binary").lines().count(), 5);
    assert!(run_usage("plot --json").contains("required"));
}
