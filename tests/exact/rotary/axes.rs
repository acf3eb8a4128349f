//! Positions with several coordinates, against transformers.

use pe_core::{
    AxialRotary, AxialRotaryConfig, AxialRotaryPreset, AxisFrequencies, Error, Mrope,
    MropeArrangement, MropeSegment, PatchGrid, Rotary, RotaryAxis, RotaryConfig, RotaryRecipe,
    mrope_position_ids, vision_position_ids,
};
use pe_tests::{golden, tolerance};
use serde_json::Value;

fn all(key: &str) -> Vec<Value> {
    let all: Value = golden::json("rotary_axes.json");
    all[key].as_array().unwrap().clone()
}

fn list<T: serde::de::DeserializeOwned>(value: &Value) -> Vec<T> {
    serde_json::from_value(value.clone()).unwrap()
}

fn grid(value: &Value) -> PatchGrid {
    let size: Vec<u32> = list(value);
    PatchGrid {
        frames: size[0],
        rows: size[1],
        columns: size[2],
    }
}

#[test]
fn position_ids_of_mixed_sequences() {
    let sequences = all("sequences");
    assert!(sequences.len() >= 8);
    for sequence in &sequences {
        let interval = sequence["time_interval"].as_f64().unwrap();
        let segments: Vec<MropeSegment> = sequence["pieces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|piece| match piece[0].as_str().unwrap() {
                "text" => MropeSegment::Text {
                    tokens: piece[1].as_u64().unwrap() as u32,
                },
                kind => MropeSegment::Vision {
                    grid: grid(&piece[1]),
                    merge: 2,
                    time_interval: if kind == "video" { interval } else { 1.0 },
                },
            })
            .collect();
        let found = mrope_position_ids(&segments).unwrap();
        let expected: Vec<Vec<u32>> = list(&sequence["positions"]);
        let lists = found.lists().map(<[u32]>::to_vec);
        assert_eq!(lists.to_vec(), expected, "{sequence}");
        assert_eq!(found.delta, sequence["delta"].as_i64().unwrap());
    }
}

#[test]
fn pairs_follow_the_coordinates_of_the_reference() {
    for case in all("axes") {
        let sections: Vec<usize> = list(&case["sections"]);
        let mrope = Mrope {
            sections: sections.try_into().unwrap(),
            arrangement: serde_json::from_value(case["arrangement"].clone()).unwrap(),
        };
        let expected: Vec<u8> = list(&case["axes"]);
        assert_eq!(mrope.axes(expected.len()).unwrap(), expected, "{case}");
    }
}

#[test]
fn patches_stand_in_the_order_of_the_reference() {
    for case in all("patches") {
        let grids: Vec<PatchGrid> = case["grids"].as_array().unwrap().iter().map(grid).collect();
        let merge = case["merge"].as_u64().unwrap() as u32;
        let found = vision_position_ids(&grids, merge).unwrap();
        assert_eq!(found.rows, list::<u32>(&case["rows"]), "{case}");
        assert_eq!(found.columns, list::<u32>(&case["columns"]), "{case}");
    }
}

#[test]
fn vision_tables_are_those_of_the_reference() {
    for case in all("vision") {
        let preset = match case["frequencies"].as_str().unwrap() {
            "same" => AxialRotaryPreset::Qwen2VlVision,
            _ => AxialRotaryPreset::Pixtral,
        };
        let head_dim = case["head_dim"].as_u64().unwrap() as usize;
        let config = preset.config(head_dim);
        let base = case["base"].as_f64().unwrap();
        let axis = RotaryAxis::with(
            head_dim / 2,
            match config.axes[0].frequencies {
                AxisFrequencies::Own { .. } => AxisFrequencies::Own { base },
                _ => AxisFrequencies::Alternating { base },
            },
        );
        let rotary = AxialRotary::new(AxialRotaryConfig {
            axes: vec![axis.clone(), axis],
            recipe: RotaryRecipe::HfF32,
            ..config
        })
        .unwrap();
        let (rows, columns): (Vec<f64>, Vec<f64>) = (list(&case["rows"]), list(&case["columns"]));
        let found = rotary
            .tables_at_reals::<f32>(&[&rows, &columns])
            .unwrap()
            .first;
        for (found, key) in [(&found.cos, "cos"), (&found.sin, "sin")] {
            let expected: Vec<Vec<f64>> = list(&case[key]);
            assert_eq!(found.rows(), expected.len());
            assert_eq!(found.width(), head_dim / 2);
            for (found, expected) in found.iter_rows().zip(&expected) {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error <= tolerance::AXIAL_TABLE, "{found} {expected}");
                }
            }
        }
    }
}

/// Tokens whose coordinates agree have ordinary rows; the others mix rows pair by pair.
#[test]
fn tables_by_axis_pick_each_pair_at_its_coordinate() {
    let frequencies = Rotary::new(RotaryConfig::new(12)).unwrap();
    let frequencies = frequencies.frequencies(0).unwrap();
    let axes = [0, 1, 2, 2, 1, 0];
    let positions: [&[u32]; 3] = [&[5, 7, 9, 1_000_000], &[5, 8, 9, 3], &[5, 70, 10, 3]];
    let mixed = frequencies
        .tables_by_axis::<f32>(&axes, &positions)
        .unwrap();
    for (token, pair) in (0..4).flat_map(|token| (0..6).map(move |pair| (token, pair))) {
        let position = positions[usize::from(axes[pair])][token];
        let row = frequencies.tables_at::<f32>(&[position]).unwrap();
        assert_eq!(mixed.cos.get(token, pair), row.cos.get(0, pair));
        assert_eq!(mixed.sin.get(token, pair), row.sin.get(0, pair));
    }
    let text: [&[u32]; 3] = [&[0, 1, 2]; 3];
    assert_eq!(
        frequencies.tables_by_axis::<f32>(&axes, &text).unwrap(),
        frequencies.tables::<f32>(0..3).unwrap()
    );
}

/// An axis that all pairs follow, and one that none does.
#[test]
fn tables_by_one_axis_are_those_of_its_positions() {
    let frequencies = Rotary::new(RotaryConfig::new(6)).unwrap();
    let frequencies = frequencies.frequencies(0).unwrap();
    let positions: [&[u32]; 3] = [&[5, 70], &[8, 70], &[11, 9]];
    for axis in 0..3 {
        let found = frequencies.tables_by_axis::<f32>(&[axis; 3], &positions);
        let expected = frequencies.tables_at::<f32>(positions[usize::from(axis)]);
        assert_eq!(found.unwrap(), expected.unwrap());
    }
}

/// In turn, time has the places that height and width leave, and these have as many as their
/// sections say; sections for which there is no such order are rejected.
#[test]
fn interleaved_sections_have_their_places_or_are_refused() {
    let mut refused = 0;
    for pairs in 0..14 {
        // Places 1, 4, 7 ... and 2, 5, 8 ...
        let places = |first: usize| (first..pairs).step_by(3).count();
        for (height, width) in (0..=pairs).flat_map(|h| (0..=pairs - h).map(move |w| (h, w))) {
            let sections = [pairs - height - width, height, width];
            let arrangement = MropeArrangement::Interleaved;
            let mrope = Mrope {
                sections,
                arrangement,
            };
            if height > places(1) || width > places(2) {
                refused += 1;
                assert_eq!(
                    mrope.axes(pairs).unwrap_err().to_string(),
                    format!(
                        "mrope_section {sections:?} cannot be interleaved: height or width \
                         extends past pair {pairs}"
                    )
                );
                continue;
            }
            let axes = mrope.axes(pairs).unwrap();
            let counts = [0, 1, 2].map(|axis| axes.iter().filter(|a| **a == axis).count());
            assert_eq!(counts, sections);
        }
    }
    assert!(refused > 100);
}

/// The delta is the largest coordinate plus one less the number of tokens, and 0 where there are
/// none; pieces without tokens have no part in it, though text after them starts later.
#[test]
fn pieces_without_tokens_leave_the_delta_alone() {
    let text = |tokens| MropeSegment::Text { tokens };
    let vision = |frames, rows, columns| MropeSegment::Vision {
        grid: PatchGrid {
            frames,
            rows,
            columns,
        },
        merge: 1,
        time_interval: 1.0,
    };
    let sequences: [&[MropeSegment]; 8] = [
        &[text(0)],
        &[vision(0, 3, 4)],
        &[vision(1, 0, 5), text(0)],
        &[text(2), vision(1, 0, 5)],
        &[text(2), vision(0, 7, 3), text(0)],
        &[text(2), vision(7, 0, 0), text(1)],
        &[vision(1, 2, 3), vision(2, 3, 0), text(2), text(0)],
        &[text(0), vision(3, 1, 1)],
    ];
    for segments in sequences {
        let found = mrope_position_ids(segments).unwrap();
        let largest = found.lists().concat().into_iter().max();
        let tokens = found.time.len() as i64;
        let expected = largest.map_or(0, |largest| i64::from(largest) + 1 - tokens);
        assert_eq!(found.delta, expected, "{segments:?}");
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let mrope = |sections, arrangement| Mrope {
        sections,
        arrangement,
    };
    use MropeArrangement::{Chunked, Interleaved};
    let message = |error: Error| error.to_string();
    assert_eq!(
        message(mrope([16, 24, 24], Chunked).check(32).unwrap_err()),
        "mrope_section [16, 24, 24] does not sum to 32 pairs"
    );
    assert!(mrope([usize::MAX, 1, 1], Chunked).check(1).is_err());
    assert!(mrope([2, 6, 4], Interleaved).check(12).is_err());
    assert!(mrope([2, 6, 4], Chunked).check(12).is_ok());
    let set = Rotary::new(RotaryConfig::new(4)).unwrap();
    let set = set.frequencies(0).unwrap();
    assert!(set.tables_by_axis::<f32>(&[0], &[&[1]]).is_err());
    assert_eq!(
        message(set.tables_by_axis::<f32>(&[0, 1], &[&[1]]).unwrap_err()),
        "axis 1 has no positions: 1 lists were given"
    );
    assert!(
        set.tables_by_axis::<f32>(&[0, 1], &[&[1], &[1, 2]])
            .is_err()
    );
    assert!(set.tables_by_axis::<f32>(&[0, 1], &[]).is_err());
    let grid = |rows, columns| PatchGrid {
        frames: 1,
        rows,
        columns,
    };
    for merge in [0, 3] {
        let error = vision_position_ids(&[grid(4, 6)], merge).unwrap_err();
        assert_eq!(
            message(error),
            format!("a grid of 4 x 6 patches cannot be divided into squares of {merge} x {merge}")
        );
    }
    // Nothing in squares of nothing.
    let error = vision_position_ids(&[grid(0, 0)], 0).unwrap_err();
    assert!(
        message(error).ends_with("a grid of 0 x 0 patches cannot be divided into squares of 0 x 0")
    );
    let huge = [grid(u32::MAX - 1, u32::MAX - 1)];
    assert!(vision_position_ids(&huge, 2).is_err());
    let vision = |grid, time_interval| MropeSegment::Vision {
        grid,
        merge: 2,
        time_interval,
    };
    assert!(mrope_position_ids(&[vision(huge[0], 1.0)]).is_err());
    for interval in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(mrope_position_ids(&[vision(grid(2, 2), interval)]).is_err());
    }
    let late = PatchGrid {
        frames: 3,
        ..grid(2, 2)
    };
    assert!(mrope_position_ids(&[vision(late, 3e9)]).is_err());
    assert!(mrope_position_ids(&[MropeSegment::Text { tokens: u32::MAX }]).is_err());
    assert_eq!(mrope_position_ids(&[]).unwrap().delta, 0);
}
