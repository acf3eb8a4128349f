//! Attention factors that are real numbers: f64 tables are nearest to the product with the number
//! itself, on every path.

use pe_core::{
    Element, LongRopeScaling, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, YarnScaling,
    bf16, f16,
    testing::{Backend, Method, Plan, Rungs, fill_cos_sin},
};
use pe_tests::golden;
use pe_tests::rotary::{Case, cases};

/// Sets with derived factors: below 1, just above 1, and up to 2.
fn sets() -> Vec<(String, RotaryFrequencies)> {
    let yarn = |factor, mscale, mscale_all_dim| {
        RopeScaling::Yarn(YarnScaling {
            mscale,
            mscale_all_dim,
            ..YarnScaling::new(factor, 4096)
        })
    };
    let longrope = |factor| {
        RopeScaling::LongRope(LongRopeScaling {
            factor: Some(factor),
            ..LongRopeScaling::new(vec![1.5; 40], vec![30.0; 40], 4096)
        })
    };
    let settings = [
        yarn(40.0, None, None),
        yarn(1.0000001, None, None),
        yarn(7.0, Some(0.5), Some(0.75)),
        yarn(16000.0, Some(1.0), None),
        yarn(40.0, Some(3.0), Some(0.25)),
        longrope(32.0),
        longrope(1.5),
    ];
    let set = |scaling: RopeScaling| {
        let rotary = Rotary::new(RotaryConfig {
            scaling: scaling.clone(),
            ..RotaryConfig::new(80)
        });
        (
            format!("{scaling:?}"),
            rotary.unwrap().frequencies(0).unwrap(),
        )
    };
    settings.into_iter().map(set).collect()
}

fn patterns<T: Element>(
    set: &RotaryFrequencies,
    plan: Plan,
    start: u64,
    rows: usize,
) -> [Vec<u64>; 2] {
    let len = rows * set.pairs();
    let (mut cos, mut sin) = (vec![T::default(); len], vec![T::default(); len]);
    fill_cos_sin(set, plan, start, &mut cos, &mut sin).unwrap();
    [cos, sin].map(|table| table.iter().map(|entry| entry.pattern()).collect())
}

#[test]
fn every_path_rounds_the_product_with_a_derived_factor_once() {
    fn check<T: Element>(name: &str, set: &RotaryFrequencies, start: u64) {
        let rows = 100;
        let slow = Plan::on(Backend::best(), Method::Entries(Rungs::Only320));
        let wanted = patterns::<T>(set, slow, start, rows);
        for (backend_name, backend) in Backend::available() {
            for method in [
                Method::Auto,
                Method::Recurrence,
                Method::Entries(Rungs::Ladder),
                Method::Entries(Rungs::From128),
            ] {
                let found = patterns::<T>(set, Plan::on(backend, method), start, rows);
                assert!(
                    found == wanted,
                    "{} {backend_name} {method:?} {start} {name}",
                    T::NAME
                );
            }
            // Rows in lanes, one by one.
            for row in [0, 1, 7, 99] {
                let plan = Plan::on(backend, Method::Auto);
                let found = patterns::<T>(set, plan, start + row, 1);
                let part = row as usize * set.pairs()..(row as usize + 1) * set.pairs();
                let wanted = wanted.each_ref().map(|table| table[part.clone()].to_vec());
                assert!(
                    found == wanted,
                    "{} {backend_name} row {row} {name}",
                    T::NAME
                );
            }
        }
    }
    for (name, set) in sets() {
        for start in [0, 131_000, (1 << 32) - 100] {
            check::<f64>(&name, &set, start);
            check::<f32>(&name, &set, start);
            check::<f16>(&name, &set, start);
            check::<bf16>(&name, &set, start);
        }
    }
}

/// The f64 entries of the golden file, which are those of the real formula, differ in many places from
/// entries with the factor rounded to f64 first. A caller's own factor is an f64, used unchanged.
#[test]
fn factors_that_are_rounded_first_give_other_f64_entries() {
    let rows = golden::rows("rotary_entries.csv");
    for (model, least) in [
        ("Qwen2.5-7B-Instruct with yarn", 10),
        ("gpt-oss-20b", 10),
        ("Phi-3.5-mini-instruct", 10),
    ] {
        let case = cases()
            .into_iter()
            .find(|case: &Case| case.name.starts_with(model) && case.attention_factor_exact != 1.0);
        let case = case.unwrap();
        let rounded = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Custom {
                inv_freq: case.inv_freq_exact.clone(),
                attention_factor: case.attention_factor_exact,
            },
            ..RotaryConfig::new(case.rotary_dim)
        })
        .unwrap()
        .frequencies(0)
        .unwrap();
        // At positions up to 2 the rounding of the frequencies hardly matters.
        let rows = rows
            .iter()
            .filter(|row| row[0].starts_with(model) && ["0", "1", "2"].contains(&row[3].as_str()));
        let (mut differing, mut all) = (0, 0);
        for row in rows {
            let (pair, position): (usize, u32) = (row[2].parse().unwrap(), row[3].parse().unwrap());
            let table = rounded.tables_at::<f64>(&[position]).unwrap();
            let bits = golden::hex(&row[5]);
            differing += usize::from(table.cos.row(0).unwrap()[pair].to_bits() != bits);
            all += 1;
        }
        assert!(
            differing >= least && differing < all,
            "{model}: {differing} of {all}"
        );
    }
}

/// Ratios of equal terms are exactly one, not one within an error, as are factors that do not scale.
#[test]
fn factors_of_one_are_exact() {
    let yarn = |factor, mscale| YarnScaling {
        mscale: Some(mscale),
        mscale_all_dim: Some(mscale),
        ..YarnScaling::new(factor, 4096)
    };
    let plain = RotaryConfig::new(64);
    for scaling in [yarn(40.0, 1.0), yarn(40.0, 0.707), yarn(0.5, 1.0)] {
        let rotary = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Yarn(scaling),
            ..plain.clone()
        });
        let derived = rotary.unwrap().frequencies(0).unwrap();
        let stated = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Yarn(YarnScaling {
                attention_factor: Some(1.0),
                ..scaling
            }),
            ..plain.clone()
        });
        assert!(
            derived == stated.unwrap().frequencies(0).unwrap(),
            "{scaling:?}"
        );
    }
}
