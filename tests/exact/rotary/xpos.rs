//! xPos: tables against rigorously rounded ones, scores that depend on the distance alone, and the
//! limits of its range.

use std::collections::HashMap;

use pe_core::{
    CosSin, Element, RopeScaling, RotaryConfig, RotaryRecipe, Xpos, XposConfig, YarnScaling, bf16,
    f16,
};
use pe_tests::{golden, tolerance};

#[test]
fn entries_are_the_nearest_floats() {
    type Tables<T> = (CosSin<T>, CosSin<T>);
    fn check<T: Element>(known: &mut HashMap<Vec<String>, Tables<T>>, xpos: &Xpos, row: &[String]) {
        let (pair, position): (usize, u32) = (row[5].parse().unwrap(), row[6].parse().unwrap());
        let (q, k) = known.entry(row[..5].to_vec()).or_insert_with(|| {
            let range = 0..4096;
            // The scales of f16 end before; those that are not reached are rows of zeros.
            let range = if T::NAME == "f16" { 0..1026 } else { range };
            let tables = (xpos.query_tables(range.clone()), xpos.key_tables(range));
            (tables.0.unwrap(), tables.1.unwrap())
        });
        let at = |tables: &CosSin<T>, row: usize| {
            [&tables.cos, &tables.sin].map(|table| table.get(row, pair).unwrap().pattern())
        };
        let wanted: Vec<u64> = row[8..].iter().map(|bits| golden::hex(bits)).collect();
        if (position as usize) < q.cos.rows() {
            let found = [at(q, position as usize), at(k, position as usize)].concat();
            assert_eq!(found, wanted, "{row:?}");
        }
        let positions = [position];
        if let (Ok(q), Ok(k)) = (
            xpos.query_tables_at(&positions),
            xpos.key_tables_at(&positions),
        ) {
            assert_eq!([at(&q, 0), at(&k, 0)].concat(), wanted, "{row:?}");
        }
    }
    let (mut f64s, mut f32s) = (HashMap::new(), HashMap::new());
    let (mut f16s, mut bf16s) = (HashMap::new(), HashMap::new());
    let rows = golden::rows("xpos.csv");
    assert!(rows.len() >= 390, "{}", rows.len());
    for row in &rows {
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        let xpos = Xpos::new(XposConfig {
            rotary: RotaryConfig {
                base: number(1),
                ..RotaryConfig::new(row[0].parse().unwrap())
            },
            gamma: number(2),
            scale_base: number(3),
            center: number(4),
        })
        .unwrap();
        match row[7].as_str() {
            "f64" => check::<f64>(&mut f64s, &xpos, row),
            "f32" => check::<f32>(&mut f32s, &xpos, row),
            "f16" => check::<f16>(&mut f16s, &xpos, row),
            "bf16" => check::<bf16>(&mut bf16s, &xpos, row),
            other => panic!("{other}"),
        }
    }
}

/// A range, a list, and a list in another order have the same rows.
#[test]
fn ranges_and_lists_agree() {
    let xpos = Xpos::new(XposConfig::new(24)).unwrap();
    let whole = xpos.query_tables::<f64>(0..700).unwrap();
    for start in [0, 1, 333] {
        let part = xpos.query_tables::<f64>(start..start + 50).unwrap();
        let rows = start as usize * 12..(start as usize + 50) * 12;
        assert_eq!(part.cos.as_slice(), &whole.cos.as_slice()[rows.clone()]);
        assert_eq!(part.sin.as_slice(), &whole.sin.as_slice()[rows]);
    }
    let list = [5u32, 6, 3, 699, 0, 1];
    let listed = xpos.query_tables_at::<f64>(&list).unwrap();
    for (row, position) in list.iter().enumerate() {
        assert_eq!(listed.cos.row(row), whole.cos.row(*position as usize));
    }
    // At the center, a query is that of the rotary embedding alone.
    let plain = xpos.frequencies().tables::<f64>(0..1).unwrap();
    assert_eq!(plain.cos.row(0), whole.cos.row(0));
}

/// The product of query and key depends on the distance alone, and not on the center: a cache of keys
/// stays valid.
#[test]
fn scores_depend_on_the_distance_alone() {
    let score = |center: f64, p: u32, q: u32| {
        let xpos = Xpos::new(XposConfig {
            center,
            ..XposConfig::new(8)
        })
        .unwrap();
        let (q_table, k_table) = (
            xpos.query_tables_at::<f64>(&[p]).unwrap(),
            xpos.key_tables_at::<f64>(&[q]).unwrap(),
        );
        let at = |tables: &CosSin<f64>, pair| {
            [&tables.cos, &tables.sin].map(|table| table.get(0, pair).unwrap())
        };
        // The score of (1, 0) and (1, 0) in each pair.
        (0..4)
            .map(|pair| {
                let ([c, s], [d, t]) = (at(&q_table, pair), at(&k_table, pair));
                c * d + s * t
            })
            .sum::<f64>()
    };
    let wanted = score(0.0, 100, 40);
    for (center, p, q) in [(0.0, 60, 0), (512.0, 1060, 1000), (-7.25, 2060, 2000)] {
        let found = score(center, p, q);
        assert!(
            (found - wanted).abs() < tolerance::XPOS_SCORE,
            "{found} {wanted}"
        );
    }
    assert!(score(0.0, 600, 0).abs() < score(0.0, 0, 0));
}

#[test]
fn scales_beyond_the_range_of_the_type_are_errors() {
    let xpos = Xpos::new(XposConfig::new(64)).unwrap();
    assert!(xpos.key_tables_at::<f32>(&[35_900]).is_ok());
    let error = xpos.key_tables_at::<f32>(&[3, 36_100]).unwrap_err();
    let wanted =
        "position 36100 is too far from the center 0.0: its scale is beyond the range of f32";
    assert_eq!(error.to_string(), wanted);
    assert!(xpos.key_tables::<f16>(0..5000).is_err());
    assert!(xpos.key_tables::<f64>(0..300_000).is_err());
    // Those of queries vanish instead.
    let far = xpos.query_tables_at::<f32>(&[1_000_000]).unwrap();
    assert_eq!(far.cos.get(0, 0), Some(0.0));
    assert!(xpos.query_tables_at::<f64>(&[u32::MAX]).is_err());
    assert!(
        xpos.query_tables::<f32>(0..0)
            .unwrap()
            .cos
            .as_slice()
            .is_empty()
    );
}

#[test]
fn invalid_specifications_are_named() {
    let plain = XposConfig::new(8);
    let rotary = |rotary| XposConfig {
        rotary,
        ..plain.clone()
    };
    let base = || RotaryConfig::new(8);
    for (config, wanted) in [
        (
            XposConfig {
                gamma: 0.0,
                ..plain.clone()
            },
            "gamma 0.0 is not a positive finite number",
        ),
        (
            XposConfig {
                scale_base: f64::NAN,
                ..plain.clone()
            },
            "scale_base NaN is not a positive finite number",
        ),
        (
            XposConfig {
                center: f64::INFINITY,
                ..plain.clone()
            },
            "center inf is not finite",
        ),
        (
            rotary(RotaryConfig {
                recipe: RotaryRecipe::HfF32,
                ..base()
            }),
            "xPos is not defined for an f32 recipe",
        ),
        (
            rotary(RotaryConfig {
                scaling: RopeScaling::Dynamic { factor: 2.0 },
                max_position_embeddings: Some(64),
                ..base()
            }),
            "xPos is not defined for dynamic scaling: its frequencies depend on the length",
        ),
    ] {
        let error = Xpos::new(config).map(drop).unwrap_err().to_string();
        assert_eq!(error, wanted);
    }
    // With an attention factor, the entries contain it.
    let yarn = RotaryConfig {
        scaling: RopeScaling::Yarn(YarnScaling::new(40.0, 4096)),
        ..base()
    };
    let xpos = Xpos::new(rotary(yarn)).unwrap();
    let factor = xpos.frequencies().attention_factor();
    assert_eq!(
        xpos.query_tables::<f64>(0..1).unwrap().cos.get(0, 0),
        Some(factor)
    );
}
