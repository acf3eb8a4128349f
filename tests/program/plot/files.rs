//! The files: their sizes, their bytes, their being whole.

use std::io::Cursor;
use std::path::Path;

use super::{Drawn, FIGURES, all, all_others, draw, floats};
use crate::util::{arg, run_error, without_pictures};

#[test]
fn figures_are_written_with_their_numbers_and_the_same_bytes_twice() {
    let Drawn { printed, files } = all();
    // The animation is drawn twice by another test, and PNG files by `pictures.rs`.
    let still = FIGURES.iter().filter(|name| **name != "rings");
    let still: Vec<&str> = still.copied().collect();
    let again = draw(&format!("{} --data json --format svg", still.join(" ")));
    assert_eq!(again.files.len(), 2 * still.len());
    for (file, bytes) in &again.files {
        let first = files.get(file).unwrap_or_else(|| &all_others().files[file]);
        assert!(bytes == first, "{file}");
    }
    let mut expected: Vec<String> = FIGURES
        .iter()
        .flat_map(|name| [format!("{name}.json"), format!("{name}.png")])
        .chain(["rings.gif".to_owned()])
        .collect();
    expected.sort();
    assert_eq!(files.keys().cloned().collect::<Vec<_>>(), expected);

    for name in FIGURES {
        let bytes = &files[&format!("{name}.png")];
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        // As large as the program says.
        let words: Vec<&str> = printed.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| word.ends_with(&format!("/{name}.png")));
        let stated = words[at.unwrap() + 1..at.unwrap() + 4].concat();
        assert_eq!(
            stated,
            format!("({}x{})", info.width, info.height),
            "{name}"
        );
        // White at the corner, and a good deal of ink.
        assert_eq!(&pixels[..3], [255, 255, 255], "{name}");
        let inked = pixels
            .chunks_exact(3)
            .filter(|p| **p != [255, 255, 255])
            .count();
        let share = inked as f64 / (info.width * info.height) as f64;
        assert!((0.01..0.95).contains(&share), "{name}: {share}");
        assert!(bytes.len() < 1 << 20, "{name}: {} bytes", bytes.len());
    }
}

#[test]
fn d5_the_rings_move_through_fifty_positions() {
    let bytes = &all().files["rings.gif"];
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    let mut decoder = options.read_info(&bytes[..]).unwrap();
    let mut frames = 0;
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert!(frame.delay > 0);
        // Something moves from each frame to the next.
        assert!(
            frame
                .buffer
                .iter()
                .any(|index| Some(*index) != frame.transparent)
        );
        frames += 1;
    }
    assert_eq!(frames, 50);
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
}

#[test]
fn svg_files_hold_text_and_nothing_from_elsewhere() {
    let drawn = all_others();
    assert!(drawn.files["rings.gif"] == all().files["rings.gif"]);
    for name in FIGURES {
        let svg = drawn.text(&format!("{name}.svg"));
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
        assert!(svg.ends_with("</svg>\n"), "{name}");
        assert!(svg.contains("<text "), "{name}");
        let words = without_pictures(svg);
        assert!(!words.contains("NaN") && !words.contains("inf"), "{name}");
        assert_eq!(words.matches("http").count(), 1, "{name}");
        for image in svg.split("<image ").skip(1) {
            assert!(
                image.contains("href=\"data:image/png;base64,iVBOR"),
                "{name}"
            );
        }
    }
}

#[test]
fn csv_and_json_hold_the_same_numbers() {
    let lines = |name: &str| -> Vec<String> {
        let text = all_others().text(&format!("{name}.csv"));
        text.lines().map(str::to_owned).collect()
    };
    let last = |lines: &[String]| -> Vec<f64> {
        let last = |line: &String| line.rsplit(',').next().unwrap().parse().unwrap();
        lines[1..].iter().map(last).collect()
    };
    let json = |name: &str| all().json(name);

    let curves = lines("dimensions");
    assert_eq!(curves[0], "panel,curve,x,y");
    assert!(
        curves[1].starts_with("0,\"column 4, a sine\",0,"),
        "{}",
        curves[1]
    );
    // Four columns, and the lines through their points.
    let expected: Vec<f64> = (0..8)
        .flat_map(|curve| floats(&json("dimensions")["panels"][0]["curves"][curve]["y"]))
        .collect();
    assert_eq!(last(&curves), expected);

    let tiles = lines("tiles");
    assert_eq!(tiles[0], "panel,row,column,value");
    let expected: Vec<f64> = (0..8)
        .flat_map(|panel| floats(&json("tiles")["panels"][panel]["map"]["values"]))
        .collect();
    assert_eq!(last(&tiles), expected);

    let rings = lines("rings");
    assert_eq!(rings[0], "panel,position,pair,sine,cosine");
    assert_eq!(
        last(&rings),
        floats(&json("rings")["panels"][0]["rings"]["cosines"])
    );
}

#[test]
fn files_are_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let error = run_error(&format!("plot sse -o {}", arg(&file)));
    assert!(error.contains("cannot make the folder"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    // A folder where the picture should be.
    std::fs::create_dir(folder.path().join("sse.png")).unwrap();
    let error = run_error(&["plot", "sse", "-o", arg(folder.path())]);
    assert!(
        error.contains("cannot write") && error.contains("sse.png"),
        "{error}"
    );
    assert_eq!(all_names(folder.path()), ["file", "sse.png"]);
}

fn all_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_str().unwrap().to_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}
