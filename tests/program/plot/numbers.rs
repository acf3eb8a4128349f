//! The figures' numbers against the documents of `tests/ROWS.md`, mpmath, and pe-core.

use pe_core::{Preset, Similarity, Sinusoidal, binary_encoding};
use pe_tests::golden::{self, assert_near};
use pe_tests::tolerance;
use serde_json::Value;

use super::{FIGURES, fact, floats, numbers};
use crate::tolerance::{FIGURE_DEGREES, FIGURE_F64, FIGURE_FIT, SIX_DECIMALS_CUT};
use crate::util::{arg, run, run_usage};

/// Every figure at the places of `figures.json`.
#[test]
fn numbers_are_those_of_the_formulas() {
    let golden: Value = golden::json("figures.json");
    let golden = golden["numbers"].as_array().unwrap();
    for name in FIGURES {
        let entries: Vec<&Value> = golden.iter().filter(|e| e["figure"] == name).collect();
        assert!(entries.len() >= 3, "{name}: {} numbers", entries.len());
        let figure = numbers(name, "");
        for entry in entries {
            let at = |key: &str| entry[key].as_u64().map(|number| number as usize);
            let near = |found: f64, key: &str| {
                let expected = entry[key].as_f64().unwrap();
                let tolerance = match name {
                    "angle-map" => FIGURE_DEGREES,
                    "fourier-fit" => FIGURE_FIT,
                    _ => FIGURE_F64 * expected.abs().max(1.0),
                };
                assert_near(found, expected, tolerance);
            };
            let panel = &figure["panels"][at("panel").unwrap()];
            if let (Some(row), Some(column)) = (at("row"), at("column")) {
                let map = &panel["map"];
                let width = map["columns"].as_array().unwrap().len();
                near(
                    map["values"][row * width + column].as_f64().unwrap(),
                    "value",
                );
            } else if let (Some(curve), Some(index)) = (at("curve"), at("index")) {
                let curve = &panel["curves"][curve];
                assert_eq!(curve["x"][index].as_f64(), entry["x"].as_f64(), "{entry}");
                // Rates and wavelengths run over many powers of ten.
                let (found, expected) = (&curve["y"][index], &entry["y"]);
                let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
                let size = match name {
                    "angle-rates" | "rotary-frequencies" | "rotary-wavelengths" => expected.abs(),
                    _ => expected.abs().max(1.0),
                };
                assert_near(found, expected, FIGURE_F64 * size);
            } else {
                let (position, pair) = (at("position").unwrap(), at("pair").unwrap());
                let rings = &panel["rings"];
                let index = position * rings["pairs"].as_u64().unwrap() as usize + pair;
                near(rings["sines"][index].as_f64().unwrap(), "sine");
                near(rings["cosines"][index].as_f64().unwrap(), "cosine");
            }
        }
    }
}

#[test]
fn a2_a4_rates_and_angles() {
    let rates = numbers("angle-rates", "");
    assert_eq!(rates["panels"][0]["y"]["scale"], "logarithmic");
    assert_eq!(
        floats(&rates["panels"][0]["curves"][0]["y"]),
        Sinusoidal::new(Preset::TfNotebook.config(512))
            .unwrap()
            .inv_freq()
    );
    assert_near(
        fact(&rates, "rate of pair 1"),
        0.9645255256,
        tolerance::TEN_DECIMALS,
    );
    assert_eq!(fact(&rates, "rate of pair 255, tf-notebook"), 1e-4);
    let paper = fact(&rates, "rate of pair 255, paper");
    assert_near(paper, 1.036633e-4, tolerance::TEN_DECIMALS);

    // Whole degrees, not the document's half.
    let angles = numbers("angle-map", "");
    assert_near(
        fact(&angles, "degrees at [49, 0]"),
        287.49,
        tolerance::TWO_DECIMALS,
    );
    let map = &angles["panels"][0]["map"];
    let values = floats(&map["values"]);
    assert_eq!(values.len(), 512 * 256);
    assert!(values.iter().all(|angle| (0.0..360.0).contains(angle)));
}

#[test]
fn a4_maps_hold_the_entries_of_the_tables_bit_for_bit() {
    for (name, config, rows) in [
        ("encoding-map", Preset::TfNotebook.config(512), 50),
        ("encoding-matrix", Preset::Paper.config(512), 100),
        ("inverted-map", Preset::Paper.config(256), 50),
    ] {
        let table = Sinusoidal::new(config)
            .unwrap()
            .table::<f64>(0..rows)
            .unwrap();
        let map = &numbers(name, "")["panels"][0]["map"];
        assert_eq!(floats(&map["values"]), table.as_slice(), "{name}");
    }
    // On its side.
    let table = Sinusoidal::paper(500).unwrap().table::<f64>(0..64).unwrap();
    let map = &numbers("transposed-corner", "")["panels"][0]["map"];
    let values = floats(&map["values"]);
    for (column, row) in values.chunks_exact(64).enumerate() {
        for (position, value) in row.iter().enumerate() {
            assert_eq!(Some(*value), table.get(position, column));
        }
    }
}

#[test]
fn a5_a6_similarities_with_position_20() {
    let dots = numbers("dot-product", "");
    let sses = numbers("sse", "");
    for (position, dot, sse) in [
        (20, 256.0, 0.0),
        (19, 249.128125, 13.743750),
        (0, 157.956867, 196.086265),
        (49, 145.368452, 221.263096),
    ] {
        let what = format!("dot product at {position}");
        assert_near(fact(&dots, &what), dot, tolerance::SIX_DECIMALS);
        let what = format!("sum of squared differences at {position}");
        assert_near(fact(&sses, &what), sse, tolerance::SIX_DECIMALS);
    }
    let curve = |figure: &Value| floats(&figure["panels"][0]["curves"][0]["y"]);
    for (dot, sse) in curve(&dots).iter().zip(curve(&sses)) {
        assert_near(sse, 512.0 - 2.0 * dot, 512.0 * f64::EPSILON);
    }
}

#[test]
fn a7_rows_turned_back_are_the_rows_ten_before() {
    let figure = numbers("shifted-map", "");
    let largest = fact(&figure, "largest difference");
    assert!(
        largest > 0.0 && largest < tolerance::DOCUMENT_SHIFT,
        "{largest}"
    );
    let rows = |panel: usize| floats(&figure["panels"][panel]["map"]["rows"]);
    assert_eq!((rows(0)[0], rows(1)[0], rows(2)[0]), (10.0, 0.0, 0.0));
    assert_eq!((rows(0).len(), rows(1).len(), rows(2).len()), (40, 40, 40));
}

#[test]
fn b2_c3_c4_d1_numbers_of_the_documents() {
    let matrix = numbers("encoding-matrix", "");
    let longest = fact(&matrix, "longest wavelength, in positions");
    assert_near(longest, 60611.477, tolerance::THREE_DECIMALS);
    let whole = numbers("transposed", "");
    let neighbors = fact(&whole, "distance of neighbors");
    assert_near(neighbors, 3.671985659248809, tolerance::DOCUMENT_DISTANCE);
    let values = floats(&whole["panels"][0]["map"]["values"]);
    assert_eq!(values.len(), 500 * 1000);

    let distances = numbers("distances", "");
    for (what, expected) in [
        ("distance from 0 to 1", 3.671986),
        ("distance from 0 to 10", 12.673141),
        ("distance from 0 to 63", 16.006388),
        ("first lag after which it shrinks", 43.0),
    ] {
        assert_near(fact(&distances, what), expected, tolerance::SIX_DECIMALS);
    }
    let inverted = numbers("inverted-map", "");
    for (column, entry) in [-0.953753, 0.300593, 0.998991, -0.044921]
        .iter()
        .enumerate()
    {
        let found = fact(&inverted, &format!("entry [49, {column}]"));
        assert_near(found, *entry, SIX_DECIMALS_CUT);
    }
}

#[test]
fn c2_bits_and_d5_points_on_circles() {
    let figure = numbers("binary", "");
    let bits = floats(&figure["panels"][0]["map"]["values"]);
    for position in 0..128 {
        let found: Vec<f64> = bits.iter().skip(position).step_by(128).copied().collect();
        // The bits that are left out are 0.
        let bits = binary_encoding(position as u64).map(f64::from);
        let (expected, rest) = bits.split_at(8);
        assert_eq!(found, expected, "position {position}");
        assert!(rest.iter().all(|bit| *bit == 0.0));
    }
    let rings = &numbers("rings", "")["panels"][0]["rings"];
    let (sines, cosines) = (floats(&rings["sines"]), floats(&rings["cosines"]));
    assert_eq!((sines.len(), cosines.len()), (50 * 128, 50 * 128));
    for (sine, cosine) in sines.iter().zip(&cosines) {
        assert_near(sine * sine + cosine * cosine, 1.0, tolerance::PAIR_NORM);
    }
}

#[test]
fn options_stand_in_for_the_documents_numbers() {
    let options = "--d-model 8 --max-seq-len 5 --start 100 --base 100";
    let map = &numbers("encoding-matrix", options)["panels"][0]["map"];
    assert_eq!(floats(&map["rows"]), [100.0, 101.0, 102.0, 103.0, 104.0]);
    let config = pe_core::SinusoidalConfig {
        base: pe_core::Base::Value(100.0),
        ..pe_core::SinusoidalConfig::new(8)
    };
    let encoding = Sinusoidal::new(config).unwrap();
    let table = encoding.table::<f64>(100..105).unwrap();
    assert_eq!(floats(&map["values"]), table.as_slice());
    // Position 20 of the table, or its middle.
    let sse = numbers("sse", options);
    let encoding = Sinusoidal::new(pe_core::SinusoidalConfig {
        base: pe_core::Base::Value(100.0),
        ..Preset::TfNotebook.config(8)
    })
    .unwrap();
    let expected = encoding.similarity_to(Similarity::Sse, 102, 100..105);
    assert_eq!(
        floats(&sse["panels"][0]["curves"][0]["y"]),
        expected.unwrap()
    );
}

/// The figures that draw a table of sines and cosines, and whether with the notebook's rates.
const OF_TABLES: [(&str, bool); 16] = [
    ("angle-rates", true),
    ("angle-map", true),
    ("encoding-map", true),
    ("dot-product", true),
    ("sse", true),
    ("shifted-map", true),
    ("sinusoids", false),
    ("encoding-matrix", false),
    ("transposed", false),
    ("transposed-corner", false),
    ("tiles", false),
    ("distances", false),
    ("dimension-pairs", false),
    ("inverted-map", false),
    ("rings", false),
    ("dimensions", false),
];

/// Two conventions are on one page (249.128 here is 249.102 there): each figure names its own.
#[test]
fn figures_of_a_table_name_their_convention() {
    const NOTEBOOK: &str = "base^(\u{2212}i/(n\u{2212}1)), n = d/2 (tf-notebook)";
    const PAPER: &str = "base^(\u{2212}2i/d) (paper)";
    for (name, notebook) in OF_TABLES {
        let figure = numbers(name, "");
        let words = match name {
            "angle-rates" => figure["panels"][0]["curves"][0]["name"].as_str().unwrap(),
            _ => figure["note"].as_str().unwrap(),
        };
        assert!(
            words.contains(if notebook { NOTEBOOK } else { PAPER }),
            "{name}: {words}"
        );
        assert!(
            !words.contains(if notebook { PAPER } else { NOTEBOOK }),
            "{name}: {words}"
        );
    }
}

#[test]
fn preset_chooses_the_convention_of_every_figure_of_a_table() {
    let options = "--preset mimi --d-model 64";
    let rows = format!("{options} --max-seq-len 32");
    let encoding = Sinusoidal::new(Preset::Mimi.config(64)).unwrap();
    let table = encoding.table::<f64>(0..32).unwrap();
    for (name, _) in OF_TABLES {
        let figure = numbers(
            name,
            if name == "angle-rates" {
                options
            } else {
                &rows
            },
        );
        let words = match name {
            "angle-rates" => figure["panels"][0]["curves"][0]["name"].as_str().unwrap(),
            _ => figure["note"].as_str().unwrap(),
        };
        let convention = "base^(\u{2212}i/(n\u{2212}1)), n = d/2 (mimi)";
        assert!(words.contains(convention), "{name}: {words}");
        let panel = &figure["panels"][0];
        match name {
            "angle-rates" => assert_eq!(floats(&panel["curves"][0]["y"]), encoding.inv_freq()),
            "encoding-map" | "encoding-matrix" | "inverted-map" => {
                assert_eq!(floats(&panel["map"]["values"]), table.as_slice(), "{name}");
            }
            // Position 4, sines in the right half.
            "sinusoids" => {
                let sines = floats(&figure["panels"][1]["curves"][0]["y"]);
                assert_eq!(sines, table.row(4).unwrap()[32..]);
            }
            "rings" => {
                let rings = &panel["rings"];
                assert_eq!(
                    floats(&rings["cosines"])[32..64],
                    table.row(1).unwrap()[..32]
                );
                assert_eq!(floats(&rings["sines"])[32..64], table.row(1).unwrap()[32..]);
            }
            "dimensions" => {
                assert_eq!(panel["curves"][0]["name"], "column 4, a cosine");
                assert_eq!(
                    fact(&figure, "wavelength of column 4"),
                    encoding.wavelengths()[4]
                );
            }
            _ => {}
        }
    }
    assert_eq!(
        numbers("encoding-map", &rows)["title"],
        "Cosines on the left, sines on the right"
    );
    // The end point is the same for both, so that one curve is enough; a padding row is left out.
    let paper = numbers("angle-rates", "--preset marian");
    assert_eq!(paper["panels"][0]["curves"].as_array().unwrap().len(), 1);
    let fairseq = &numbers("encoding-map", "--preset fairseq --d-model 8")["panels"][0];
    let row = Sinusoidal::new(Preset::Whisper.config(8)).unwrap();
    let row = row.table::<f64>(1..2).unwrap();
    assert_eq!(floats(&fairseq["map"]["values"])[8..16], *row.as_slice());
    let error = run_usage("plot sse --preset tf-tutorial --d-model 7");
    assert_eq!(
        error,
        "--d-model 7 is odd, and figures show whole pairs of columns"
    );
    for name in ["binary", "rotary-frequencies", "rotary-wavelengths"] {
        let error = run_usage(&format!("plot {name} --preset paper"));
        assert_eq!(error, format!("--preset changes nothing in {name}"));
    }
}

/// Position 100,020 is not one of every third from 100,000 on.
#[test]
fn sampled_curve_holds_its_reference() {
    let options = "--d-model 64 --start 100000 --max-seq-len 6000";
    for (name, peak) in [("dot-product", 32.0), ("sse", 0.0)] {
        let figure = numbers(name, options);
        let curve = &figure["panels"][0]["curves"][0];
        let x = floats(&curve["x"]);
        let at = x
            .iter()
            .position(|position| *position == 100_020.0)
            .unwrap();
        assert_eq!(curve["y"][at].as_f64(), Some(peak));
        assert_eq!((x[at - 1], x[at + 1]), (100_018.0, 100_021.0));
        assert!(x.is_sorted());
        let note = figure["note"].as_str().unwrap();
        assert!(note.ends_with("; position 100,020 shown, too"), "{note}");
        assert!(note.contains("; every 3rd position shown; "), "{note}");
    }
}

/// The values that each kind of figure leaves out.
#[test]
fn sampled_figures_tell_what_they_leave_out() {
    for (name, options, words) in [
        // Bit b has a period of 2^(b + 1) positions.
        (
            "binary",
            "--max-seq-len 100000",
            "; every 98th position shown; bits 0 to 6 alias",
        ),
        (
            "rings",
            "--d-model 512 --max-seq-len 2",
            "(paper); every 2nd pair shown; blue",
        ),
        (
            "rings",
            "--max-seq-len 100",
            "; every 2nd position shown; blue",
        ),
        (
            "angle-map",
            "--d-model 4096",
            "; every 2nd pair shown; position times",
        ),
        // It shows the first 64 columns, and four columns, each of them.
        ("transposed-corner", "--d-model 4096", "(paper)"),
        ("dimensions", "--d-model 4096", "(paper)"),
        // A base below 1: pair 3 turns by 0.01^(-6/8) = 31.6 radians.
        (
            "dimensions",
            "--d-model 8 --base 0.01",
            "; pairs 1 to 3 alias (over half",
        ),
    ] {
        let figure = numbers(name, options);
        let note = figure["note"].as_str().unwrap();
        assert!(note.contains(words), "{name}: {note}");
        assert!(
            note.contains("every") == words.contains("every"),
            "{name}: {note}"
        );
    }
}

/// 256 pairs on 128 circles: the last one shown is pair 254.
#[test]
fn sampled_pairs_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    run(&format!(
        "plot rings --d-model 512 --max-seq-len 2 --format svg --data csv -o {}",
        arg(out)
    ));
    let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let (csv, svg) = (text("rings.csv"), text("rings.svg"));
    let last = csv.lines().last().unwrap();
    assert!(last.starts_with("0,1,254,"), "{last}");
    assert!(svg.contains(">pair 254<") && !svg.contains(">pair 127<"));
}

/// 131072 x 128: sampled, and said so.
#[test]
fn long_table_is_sampled_at_equal_steps() {
    let size = "--d-model 128 --max-seq-len 131072";
    let encoding = Sinusoidal::paper(128).unwrap();
    let figure = numbers("inverted-map", size);
    let map = &figure["panels"][0]["map"];
    // Pair 30 turns by 246 x 10000^(-60/128) = 3.28 radians from one row to the next, pair 31 by 2.84.
    let note = figure["note"].as_str().unwrap();
    let sampling = "; every 246th position shown; pairs 0 to 30 alias (over half a turn from one \
                    shown to the next)";
    assert!(note.ends_with(sampling), "{note}");
    let rows = floats(&map["rows"]);
    assert_eq!((rows.len(), rows[1], rows[532]), (533, 246.0, 130_872.0));
    let positions: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
    let table = encoding.table_at::<f64>(&positions).unwrap();
    assert_eq!(floats(&map["values"]), table.as_slice());

    let distances = &numbers("distances", size)["panels"][0]["map"];
    let found = distances["values"][5 * 698 + 600].as_f64().unwrap();
    let expected = encoding.similarity(Similarity::Distance, 940, 112_800);
    assert_eq!(found, expected.unwrap());
    let curve = &numbers("dimensions", size)["panels"][0]["curves"][0];
    assert_eq!(floats(&curve["x"]).len(), 2048);
    // A table as wide as there are: every column that is shown, and no other is kept.
    let wide = numbers("encoding-matrix", "--d-model 1048576 --max-seq-len 3");
    let columns = floats(&wide["panels"][0]["map"]["columns"]);
    assert_eq!((columns.len(), columns[1]), (1024, 1024.0));
}
