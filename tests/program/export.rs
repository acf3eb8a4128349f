//! `pe-demo export` writes the table that its options specify.

use std::path::Path;

use candle_core::{DType, Device};
use pe_candle::checkpoint;
use pe_core::{
    Base, OddWidth, Preset, Recipe, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
};

use crate::tolerance::SIX_DECIMALS_CUT;
use crate::util::{arg, file, run};

fn export(path: &Path, options: &str) -> checkpoint::SinusoidalSpec {
    run(&format!("export -o {} {options}", arg(path)));
    checkpoint::load(path, &Device::Cpu).unwrap().spec.unwrap()
}

#[test]
fn d1_the_table_of_256_columns_and_50_positions() {
    let (_guard, path) = file("pe.safetensors");
    let spec = export(&path, "--d-model 256 --max-seq-len 50");
    assert_eq!(
        (spec.start(), spec.rows(), spec.dtype()),
        (0, 50, DType::F32)
    );
    assert_eq!(*spec.config(), SinusoidalConfig::new(256));
    let tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
    assert_eq!(tensors.keys().collect::<Vec<_>>(), ["pe"]);
    let table = tensors["pe"].to_vec2::<f32>().unwrap();
    assert_eq!((table.len(), table[0].len()), (50, 256));
    for (entry, expected) in table[49]
        .iter()
        .zip([-0.953753, 0.300593, 0.998991, -0.044921])
    {
        assert!(
            (f64::from(*entry) - expected).abs() <= SIX_DECIMALS_CUT,
            "{entry}"
        );
    }
}

#[test]
fn options_reach_the_table() {
    let (_guard, path) = file("pe.safetensors");
    let with = |options: &str| export(&path, &format!("--d-model 8 --max-seq-len 4 {options}"));
    let paper = SinusoidalConfig::new(8);
    assert_eq!(with("--start 4294967292").start(), (1 << 32) - 4);
    assert_eq!(
        with("--base 12345.678").config().base,
        Base::Value(12345.678)
    );
    assert_eq!(with("--min-rate 1e-4").config().base, Base::MinRate(1e-4));
    for (name, layout) in [
        ("interleaved", SinusoidLayout::Interleaved),
        ("concatenated", SinusoidLayout::Concatenated),
        (
            "concatenated-cos-first",
            SinusoidLayout::ConcatenatedCosFirst,
        ),
    ] {
        assert_eq!(
            *with(&format!("--layout {name}")).config(),
            SinusoidalConfig { layout, ..paper }
        );
    }
    for (name, spacing) in [
        ("paper", Spacing::Paper),
        ("inclusive", Spacing::Inclusive),
        ("shifted=0.5", Spacing::Shifted(0.5)),
    ] {
        assert_eq!(
            *with(&format!("--spacing {name}")).config(),
            SinusoidalConfig { spacing, ..paper }
        );
    }
    for (name, recipe) in [
        ("exact", Recipe::Exact),
        ("exp-f32", Recipe::ExpF32),
        ("pow-f32", Recipe::PowF32),
    ] {
        assert_eq!(
            *with(&format!("--recipe {name}")).config(),
            SinusoidalConfig { recipe, ..paper }
        );
    }
    for (name, dtype) in [
        ("f32", DType::F32),
        ("f64", DType::F64),
        ("f16", DType::F16),
        ("bf16", DType::BF16),
    ] {
        assert_eq!(with(&format!("--dtype {name}")).dtype(), dtype);
    }
    for preset in Preset::ALL {
        assert_eq!(
            *with(&format!("--preset {}", preset.name())).config(),
            preset.config(8)
        );
    }
}

#[test]
fn option_overrides_its_part_of_a_preset() {
    let (_guard, path) = file("pe.safetensors");
    let spec = export(
        &path,
        "--preset whisper --d-model 7 --max-seq-len 3 --layout interleaved --odd-width round-up",
    );
    let expected = SinusoidalConfig {
        layout: SinusoidLayout::Interleaved,
        odd_width: OddWidth::RoundUp,
        ..Preset::Whisper.config(7)
    };
    assert_eq!(*spec.config(), expected);
    assert_eq!(spec.config().spacing, Spacing::Inclusive);
}

#[test]
fn equal_options_give_equal_bytes_and_exact_entries() {
    let (_guard, path) = file("pe.safetensors");
    let options = "--d-model 64 --max-seq-len 100 --start 1000000";
    export(&path, options);
    let first = std::fs::read(&path).unwrap();
    export(&path, options);
    assert!(std::fs::read(&path).unwrap() == first);
    let table = Sinusoidal::paper(64)
        .unwrap()
        .table::<f32>(1_000_000..1_000_100)
        .unwrap();
    let bytes: Vec<u8> = table
        .as_slice()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    assert!(first.ends_with(&bytes));
}

#[test]
fn last_position_can_be_exported() {
    let (_guard, path) = file("pe.safetensors");
    let spec = export(&path, "--d-model 8 --max-seq-len 1 --start 4294967295");
    assert_eq!(spec.positions().end, 1 << 32);
}
