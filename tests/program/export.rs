//! `pe-demo export` writes what its options say.

use std::path::Path;

use candle_core::{DType, Device};
use pe_candle::checkpoint;
use pe_core::{
    Base, OddWidth, Preset, Recipe, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
};

use crate::tolerance::SIX_DECIMALS_CUT;
use crate::util::{arg, file, run, run_error, run_usage};

fn export(path: &Path, options: &[&str]) -> checkpoint::SinusoidalSpec {
    let args: Vec<&str> = ["export", "-o", arg(path)]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    run(&args);
    checkpoint::load(path, &Device::Cpu).unwrap().spec.unwrap()
}

#[test]
fn d1_the_table_of_256_columns_and_50_positions() {
    let (_guard, path) = file("pe.safetensors");
    let spec = export(&path, &["--d-model", "256", "--max-seq-len", "50"]);
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
fn every_option_reaches_the_table() {
    let (_guard, path) = file("pe.safetensors");
    let size = ["--d-model", "8", "--max-seq-len", "4"];
    let with = |options: &[&str]| {
        let all: Vec<&str> = size.iter().chain(options).copied().collect();
        export(&path, &all)
    };
    let paper = SinusoidalConfig::new(8);
    assert_eq!(with(&["--start", "4294967292"]).start(), (1 << 32) - 4);
    assert_eq!(
        with(&["--base", "12345.678"]).config().base,
        Base::Value(12345.678)
    );
    assert_eq!(
        with(&["--min-rate", "1e-4"]).config().base,
        Base::MinRate(1e-4)
    );
    for (name, layout) in [
        ("interleaved", SinusoidLayout::Interleaved),
        ("concatenated", SinusoidLayout::Concatenated),
        (
            "concatenated-cos-first",
            SinusoidLayout::ConcatenatedCosFirst,
        ),
    ] {
        assert_eq!(
            *with(&["--layout", name]).config(),
            SinusoidalConfig { layout, ..paper }
        );
    }
    for (name, spacing) in [
        ("paper", Spacing::Paper),
        ("inclusive", Spacing::Inclusive),
        ("shifted=0.5", Spacing::Shifted(0.5)),
    ] {
        assert_eq!(
            *with(&["--spacing", name]).config(),
            SinusoidalConfig { spacing, ..paper }
        );
    }
    for (name, recipe) in [
        ("exact", Recipe::Exact),
        ("exp-f32", Recipe::ExpF32),
        ("pow-f32", Recipe::PowF32),
    ] {
        assert_eq!(
            *with(&["--recipe", name]).config(),
            SinusoidalConfig { recipe, ..paper }
        );
    }
    for (name, dtype) in [
        ("f32", DType::F32),
        ("f64", DType::F64),
        ("f16", DType::F16),
        ("bf16", DType::BF16),
    ] {
        assert_eq!(with(&["--dtype", name]).dtype(), dtype);
    }
    for preset in Preset::ALL {
        assert_eq!(
            *with(&["--preset", preset.name()]).config(),
            preset.config(8)
        );
    }
}

#[test]
fn an_option_overrides_its_part_of_a_preset() {
    let (_guard, path) = file("pe.safetensors");
    let spec = export(
        &path,
        &[
            "--preset",
            "whisper",
            "--d-model",
            "7",
            "--max-seq-len",
            "3",
            "--layout",
            "interleaved",
            "--odd-width",
            "round-up",
        ],
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
    let options = [
        "--d-model",
        "64",
        "--max-seq-len",
        "100",
        "--start",
        "1000000",
    ];
    export(&path, &options);
    let first = std::fs::read(&path).unwrap();
    export(&path, &options);
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

/// Exports with further options over a file that must stay as it is.
fn refused(options: &[&str], run: fn(&[&str]) -> String) -> String {
    let (_guard, path) = file("pe.safetensors");
    std::fs::write(&path, "precious").unwrap();
    let args: Vec<&str> = ["export", "-o", arg(&path)]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let error = run(&args);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    error
}

#[test]
fn too_large_a_table_is_refused_before_the_file_is_touched() {
    let wide = ["--d-model", "65536", "--max-seq-len", "4000000000"];
    let error = refused(&wide, run_error);
    assert!(
        error.contains("4000000000 rows x 65536 columns of f32"),
        "{error}"
    );
}

#[test]
fn values_that_are_wrong_in_themselves_are_bad_usage() {
    let size = ["--d-model", "8", "--max-seq-len", "3"];
    for (option, value) in [
        ("--d-model", "0"),
        ("--d-model", "-5"),
        ("--d-model", "8.0"),
        ("--d-model", "1048577"),
        ("--max-seq-len", "0"),
        ("--max-seq-len", "-1"),
        ("--max-seq-len", "4294967297"),
        ("--max-seq-len", "1000000000000"),
        ("--max-seq-len", "99999999999999999999"),
        ("--start", "-1"),
        ("--start", "4294967296"),
        ("--base", "0"),
        ("--base", "-3"),
        ("--base", "-1e-3"),
        ("--base", "nan"),
        ("--base", "inf"),
        ("--base", "-inf"),
        ("--base", "abc"),
        ("--min-rate", "-0.5"),
        ("--min-rate", "nan"),
        ("--spacing", "shifted=nan"),
        ("--spacing", "shifted=inf"),
        ("--spacing", "shifted"),
        ("--layout", "zigzag"),
        ("--odd-width", "hope"),
        ("--recipe", "f32"),
        ("--dtype", "i8"),
        ("--preset", "nobody"),
        ("--output", "-"),
    ] {
        let mut options = Vec::new();
        // The option under test takes the place of the one that is given already.
        for pair in size.chunks(2).filter(|pair| pair[0] != option) {
            options.extend_from_slice(pair);
        }
        options.extend([option, value]);
        let error = match option {
            "--output" => run_usage(&[&["export"], &options[..]].concat()),
            _ => refused(&options, run_usage),
        };
        assert!(
            error.contains(&format!("invalid value '{value}' for '{option}")),
            "{error}"
        );
    }
    assert!(!Path::new("-").exists());
}

#[test]
fn values_that_are_wrong_together_are_bad_usage_in_the_options_words() {
    for (options, words) in [
        (
            &["--d-model", "7"][..],
            "--d-model 7 is odd, and sine and cosine columns come in pairs: choose --odd-width \
             truncate, round-up or zero-pad",
        ),
        (
            &["--d-model", "2", "--preset", "diffusers"],
            "the spacing shifted=1 of --preset diffusers needs more pairs of columns than 1, and \
             --d-model 2 has 1",
        ),
        (
            &["--d-model", "8", "--spacing", "shifted=4.5"],
            "--spacing shifted=4.5 needs more pairs of columns than 4.5, and --d-model 8 has 4",
        ),
        (
            &["--d-model", "8", "--spacing", "shifted=1e-300"],
            "--spacing shifted=1e-300: ",
        ),
        (
            &["--d-model", "8", "--base", "1e-300"],
            "--base 1e-300 gives a frequency outside",
        ),
        (
            &["--d-model", "8", "--min-rate", "1e300"],
            "--min-rate 1e300 gives a frequency outside",
        ),
        (
            &[
                "--d-model",
                "8",
                "--recipe",
                "pow-f32",
                "--preset",
                "whisper",
            ],
            "--recipe pow-f32 is not defined for the spacing inclusive of --preset whisper",
        ),
        (
            &["--d-model", "8", "--start", "4294967294"],
            "--start 4294967294 and --max-seq-len 3 ask for positions 4294967294..4294967297, \
             which run past 4294967296",
        ),
    ] {
        let options = [&["--max-seq-len", "3"], options].concat();
        let error = refused(&options, run_usage);
        assert!(error.starts_with(words), "{error}");
    }
    // The last position there is can be had.
    let (_guard, path) = file("pe.safetensors");
    let last = [
        "--d-model",
        "8",
        "--max-seq-len",
        "1",
        "--start",
        "4294967295",
    ];
    assert_eq!(export(&path, &last).positions().end, 1 << 32);
}
