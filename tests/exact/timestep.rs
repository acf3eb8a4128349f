//! Timestep embeddings against Arb, against their references, and against single entries.

use pe_core::testing::{Rungs, entry_pair};
use pe_core::{
    Element, Error, Preset, Recipe, SinusoidLayout, Sinusoidal, Timestep, TimestepConfig,
    TimestepPreset, bf16, f16,
};
use pe_tests::golden::{self, numbers};
use pe_tests::tolerance;
use serde_json::Value;

fn file() -> Value {
    golden::json("timestep_presets.json")
}

/// Compares rows in one type with the bits that a file states in this type, `index` among four.
fn same_bits<T: Element>(timestep: &Timestep, timesteps: &[f64], exact: &Value, index: usize) {
    let rows = timestep.table_at_reals::<T>(timesteps).unwrap();
    for (row, (wanted, t)) in exact.as_array().unwrap().iter().zip(timesteps).enumerate() {
        for (column, wanted) in wanted.as_array().unwrap().iter().enumerate() {
            let wanted = wanted.as_str().unwrap().split('/').nth(index).unwrap();
            let wanted = golden::hex(wanted);
            let found = rows.get(row, column).unwrap();
            let config = timestep.config();
            assert_eq!(
                found.pattern(),
                wanted,
                "{config:?} t {t:?} column {column}"
            );
        }
    }
}

#[test]
fn every_entry_of_every_preset_is_the_nearest_float() {
    let file = file();
    let mut seen = std::collections::BTreeSet::new();
    for case in file["cases"].as_array().unwrap() {
        let preset: TimestepPreset = case["preset"].as_str().unwrap().parse().unwrap();
        seen.insert(preset.name());
        let config = preset.config(case["dim"].as_u64().unwrap() as usize);
        let timestep = Timestep::new(config).unwrap();
        let timesteps = numbers(&case["timesteps"]);
        same_bits::<f64>(&timestep, &timesteps, &case["exact"], 0);
        same_bits::<f32>(&timestep, &timesteps, &case["exact"], 1);
        same_bits::<f16>(&timestep, &timesteps, &case["exact"], 2);
        same_bits::<bf16>(&timestep, &timesteps, &case["exact"], 3);
        // The reference's own f32 arithmetic stays as near as the file's head says.
        let distance = case["distance"].as_f64().unwrap();
        let rows = timestep.table_at_reals::<f64>(&timesteps).unwrap();
        for (row, wanted) in rows.iter_rows().zip(case["reference"].as_array().unwrap()) {
            for (found, wanted) in row.iter().zip(numbers(wanted)) {
                let gap = (found - wanted).abs();
                assert!(
                    gap <= distance + tolerance::F64_HALF_ULP_OF_ONE,
                    "{preset} {gap:e}"
                );
            }
        }
    }
    assert!(TimestepPreset::ALL.iter().all(|p| seen.contains(p.name())));
}

#[test]
fn diffusers_own_f32_values_are_a_recipe() {
    let bits = |value: &Value| -> Vec<f32> {
        let bits = |bits: &Value| u32::from_str_radix(bits.as_str().unwrap(), 16).unwrap();
        let values = value.as_array().unwrap().iter();
        values.map(|value| f32::from_bits(bits(value))).collect()
    };
    let ulps = |a: f32, b: f32| (a.to_bits() as i32).abs_diff(b.to_bits() as i32);
    for case in file()["recipe"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let dim = number("dim") as usize;
        let config = TimestepConfig {
            scale: number("scale"),
            layout: SinusoidLayout::ConcatenatedCosFirst,
            downscale_freq_shift: number("shift"),
            recipe: Recipe::DiffusersF32,
            ..TimestepConfig::new(dim)
        };
        let timestep = Timestep::new(config).unwrap();
        let unscaled = Timestep::new(TimestepConfig {
            scale: 1.0,
            ..config
        })
        .unwrap();
        let frequencies = bits(&case["inv_freq"]);
        let mut same = 0;
        let pairs = dim / 2;
        let rows = bits(&case["rows"]);
        let timesteps = numbers(&case["timesteps"]);
        let found = timestep.table_at_reals::<f32>(&timesteps).unwrap();
        for (pair, (mine, theirs)) in unscaled.inv_freq().iter().zip(&frequencies).enumerate() {
            assert!(ulps(*mine as f32, *theirs) <= tolerance::RECIPE_INV_FREQ_ULP_TORCH);
            if *mine as f32 != *theirs {
                continue;
            }
            same += 1;
            for (row, found) in found.iter_rows().enumerate() {
                for column in [pair, pairs + pair] {
                    let (found, wanted) = (found[column], rows[row * dim + column]);
                    let near = (found - wanted).abs() <= f32::EPSILON / 2.0
                        || ulps(found, wanted) <= tolerance::RECIPE_FUNCTION_ULP;
                    assert!(
                        near,
                        "{config:?} {pair} {}: {found} {wanted}",
                        timesteps[row]
                    );
                }
            }
        }
        assert!(
            same * 10 >= pairs * 9,
            "{same} of {pairs} frequencies agree"
        );
    }
    // The recipe exists for the encoding of positions too.
    let config = pe_core::SinusoidalConfig {
        recipe: Recipe::DiffusersF32,
        ..Preset::StableDiffusion.config(64)
    };
    let same = TimestepConfig {
        recipe: Recipe::DiffusersF32,
        ..TimestepPreset::StableDiffusion.config(64)
    };
    assert_eq!(
        Sinusoidal::new(config).unwrap().table::<f32>(0..9).unwrap(),
        Timestep::new(same).unwrap().table::<f32>(0..9).unwrap()
    );
}

/// A normal power of two.
fn power_of_two(power: i64) -> f64 {
    f64::from_bits(((1023 + power) as u64) << 52)
}

/// Positions with few and many significant bits, of either sign, tiny and large.
fn positions() -> Vec<f64> {
    let mut all = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        999.0,
        1e-9,
        -1e-30,
        1e-300,
        4294967295.0,
        4294967296.0,
        1e15,
        -12345.678,
        0.1,
        1.0 / 3.0,
        16777215.0 / 65536.0,
        power_of_two(-95),
        power_of_two(-97),
    ];
    let mut state = 7u64;
    for _ in 0..60 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        let power = power_of_two((state >> 8 & 63) as i64 - 40);
        all.push(f64::from((unit * power) as f32));
        all.push(-unit * power / 3.0);
    }
    all
}

#[test]
fn every_layout_has_the_same_entries() {
    let config = TimestepPreset::Mlx.config(7);
    let table = |layout| {
        let timestep = Timestep::new(TimestepConfig { layout, ..config }).unwrap();
        timestep.table_at_reals::<f32>(&[2.5]).unwrap().into_vec()
    };
    let [s0, s1, s2, c0, c1, c2, zero] = table(SinusoidLayout::Concatenated)[..] else {
        panic!("seven entries");
    };
    assert_eq!(zero, 0.0);
    let cosines_first = table(SinusoidLayout::ConcatenatedCosFirst);
    assert_eq!(cosines_first, [c0, c1, c2, s0, s1, s2, zero]);
    let interleaved = table(SinusoidLayout::Interleaved);
    assert_eq!(interleaved, [s0, c0, s1, c1, s2, c2, zero]);
}

/// Rows at real positions come from lanes; the single entries from the last rung.
fn rows_match_single_entries<T: Element>() {
    for dim in [2, 7, 64, 130] {
        let encoding = Sinusoidal::new(Preset::StableDiffusion.config(dim)).unwrap();
        let timestep = Timestep::new(TimestepPreset::StableDiffusion.config(dim)).unwrap();
        let pairs = dim / 2;
        let rows = timestep.table_at_reals::<T>(&positions()).unwrap();
        for (row, position) in rows.iter_rows().zip(positions()) {
            for pair in 0..pairs {
                let (sine, cosine) = entry_pair::<T>(&encoding, pair, position, Rungs::Only320);
                assert_eq!(row[pair].pattern(), cosine.pattern(), "{position:e} {pair}");
                // A zero has the sign of its position or none.
                let same = row[pairs + pair].pattern() == sine.pattern();
                assert!(same || position == 0.0, "{position:e} {pair}");
            }
            assert!(dim % 2 == 0 || row[dim - 1] == T::default());
        }
    }
}

#[test]
fn rows_at_real_timesteps_match_single_entries_in_all_types() {
    rows_match_single_entries::<f32>();
    rows_match_single_entries::<f64>();
    rows_match_single_entries::<f16>();
    rows_match_single_entries::<bf16>();
}

/// A scale by a power of two moves the binary point of the timestep, and no bit of a row.
#[test]
fn scales_multiply_exactly() {
    let one = Timestep::new(TimestepConfig::new(64)).unwrap();
    for power in [1.0 / 1024.0, 0.5, 2.0, 65536.0] {
        let config = TimestepConfig {
            scale: power,
            ..TimestepConfig::new(64)
        };
        let scaled = Timestep::new(config).unwrap();
        let timesteps: Vec<f64> = positions().into_iter().filter(|t| t.abs() < 1e9).collect();
        let moved: Vec<f64> = timesteps.iter().map(|t| t * power).collect();
        assert_eq!(
            scaled.table_at_reals::<f32>(&timesteps).unwrap(),
            one.table_at_reals::<f32>(&moved).unwrap()
        );
    }
    // Integer rows are those at the same reals, with the padding column too.
    let flux = Timestep::new(TimestepPreset::Flux.config(33)).unwrap();
    let reals: Vec<f64> = (0..100).map(f64::from).collect();
    assert_eq!(
        flux.table::<f32>(0..100).unwrap(),
        flux.table_at_reals::<f32>(&reals).unwrap()
    );
}

/// 4 MiB and more are written by several threads.
#[test]
fn large_batches_have_the_rows_of_small_ones() {
    let timestep = Timestep::new(TimestepPreset::StableDiffusion.config(1024)).unwrap();
    let timesteps: Vec<f64> = (0..4200).map(|i| f64::from(i) * 0.37).collect();
    let all = timestep.table_at_reals::<f32>(&timesteps).unwrap();
    for row in [0, 1, 2047, 2048, 4199] {
        let alone = timestep
            .table_at_reals::<f32>(&timesteps[row..=row])
            .unwrap();
        assert_eq!(all.row(row), alone.row(0), "{row}");
    }
}

#[test]
fn invalid_specifications_are_errors_with_their_values() {
    let of = |change: fn(&mut TimestepConfig)| {
        let mut config = TimestepConfig::new(8);
        change(&mut config);
        Timestep::new(config).unwrap_err().to_string()
    };
    for (error, wanted) in [
        (of(|c| c.width = 0), "width 0 is outside 1..=1048576"),
        (
            of(|c| c.width = 1 << 21),
            "width 2097152 is outside 1..=1048576",
        ),
        (
            of(|c| c.scale = 0.0),
            "scale 0.0 is not a positive finite number",
        ),
        (
            of(|c| c.scale = f64::NAN),
            "scale NaN is not a positive finite number",
        ),
        (
            of(|c| c.amplitude = -1.0),
            "amplitude -1.0 is not a positive finite number",
        ),
        (
            of(|c| c.max_period = f64::INFINITY),
            "max_period inf is not a positive finite number",
        ),
        (
            of(|c| c.scale = 4294967297.0),
            "base 10000.0 gives pair 0 a frequency outside the supported range \
             (at most 2^32 radians per position, at least 2^-1500000)",
        ),
        (
            of(|c| c.recipe = Recipe::ExpF32),
            "the recipe exp-f32 is not defined for shifted spacing",
        ),
    ] {
        assert_eq!(error, wanted);
    }
    assert!(of(|c| c.downscale_freq_shift = 4.0).starts_with("downscale_freq_shift 4.0"));
    let largest = TimestepConfig {
        scale: 4294967296.0,
        ..TimestepConfig::new(8)
    };
    let timestep = Timestep::new(largest).unwrap();
    let error = timestep
        .table_at_reals::<f32>(&[1.0, f64::NAN])
        .unwrap_err();
    assert!(matches!(error, Error::Timestep { index: 1, .. }), "{error}");
    assert!(timestep.table_at_reals::<f32>(&[9.1e15]).is_err());
    assert!("none".parse::<TimestepPreset>().is_err());
}
