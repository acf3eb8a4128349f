//! `pe-demo export` writes the table that its options specify.

use std::path::Path;

use candle_core::{DType, Device};
use pe_candle::checkpoint::{
    self, AlibiSpec, AnySpec, CellPoints, FourierTableConfig, GridTableConfig, SpecStatus,
    TimestepSpec,
};
use pe_core::{
    AlibiConfig, Base, FourierPreset, GridPreset, OddWidth, Preset, Recipe, SinusoidLayout,
    Sinusoidal, SinusoidalConfig, Spacing, TimestepConfig, TimestepPreset,
};
use pe_demo::{Outcome, Terminal};

use crate::tolerance::SIX_DECIMALS_CUT;
use crate::util::{arg, file, run, run_json};

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

/// Exports a table of any scheme, and returns its specification and the report of `inspect`.
fn inspected(options: &str) -> (String, AnySpec, String) {
    let (_guard, path) = file("table.safetensors");
    let said = run(&format!("export -o {} {options}", arg(&path)));
    let SpecStatus::Valid(spec) = checkpoint::inspect(&path).unwrap().spec else {
        panic!("{options}");
    };
    let report = run_json(&format!("inspect {}", arg(&path)));
    assert_eq!(report["table"]["status"], "right", "{options}");
    let text = spec.to_json().unwrap();
    assert_eq!(report["table"]["specification"].to_string(), sorted(&text));
    let single = spec.tensors().len() == 1;
    assert_eq!(report["table"]["tensor"].is_string(), single);
    assert_eq!(report["table"]["tensors"].is_array(), !single);
    let found = run(&format!("inspect {}", arg(&path)));
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    (unwrapped(&said), spec, unwrapped(&found))
}

fn sorted(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text)
        .unwrap()
        .to_string()
}

#[test]
fn presets_of_each_scheme_reach_the_table_and_inspect() {
    for preset in TimestepPreset::ALL {
        let options = format!("--scheme timestep --preset {preset} --d-model 32 --max-seq-len 9");
        let (said, spec, found) = inspected(&options);
        let wanted = TimestepSpec::new(preset.config(32), 0, 9, DType::F32).unwrap();
        assert_eq!(spec, AnySpec::Timestep(wanted));
        assert!(
            said.contains("tensor pe [9, 32] f32, 1,152 bytes"),
            "{said}"
        );
        assert!(
            found.contains("specification: timestep; timesteps 0 to 8;"),
            "{found}"
        );
    }
    for preset in GridPreset::ALL {
        let config = preset.config(32);
        let side = ["5", "5x3", "5x3x2"][config.num_sides - 1];
        let options = format!("--scheme grid --preset {preset} --d-model 32 --size {side}");
        let (_, spec, found) = inspected(&options);
        let size = [5, 3, 2][..config.num_sides].to_vec();
        let AnySpec::Grid(spec) = spec else { panic!() };
        assert_eq!(*spec.config(), GridTableConfig { grid: config, size });
        assert_eq!(spec.rows() as u64, spec.scheme().rows());
        let sides = side.replace('x', " x ");
        assert!(found.contains(&format!("of a grid of {sides}")), "{found}");
    }
    for preset in FourierPreset::ALL {
        let features = preset.config(2, 4);
        if features.has_matrix() {
            continue;
        }
        let options = format!("--scheme fourier --preset {preset} --bands 4 --size 5x3");
        let (_, spec, found) = inspected(&options);
        let points = match preset {
            FourierPreset::Perceiver => CellPoints::Ends,
            _ => CellPoints::Centers,
        };
        let size = vec![5, 3];
        let AnySpec::Fourier(spec) = spec else {
            panic!()
        };
        assert_eq!(
            *spec.config(),
            FourierTableConfig {
                features,
                size,
                points
            }
        );
        assert!(
            found.contains("fourier; cells 0 to 14 of a grid of 5 x 3"),
            "{found}"
        );
    }
}

#[test]
fn options_reach_the_tables_of_other_schemes() {
    let options = "--scheme timestep --d-model 8 --max-seq-len 4 --base 123 --start 7 --dtype bf16 \
                   --recipe diffusers-f32";
    let config = TimestepConfig {
        max_period: 123.0,
        recipe: Recipe::DiffusersF32,
        ..TimestepConfig::new(8)
    };
    let (_, spec, found) = inspected(options);
    assert_eq!(
        spec,
        AnySpec::Timestep(TimestepSpec::new(config, 7, 4, DType::BF16).unwrap())
    );
    assert!(
        found.contains("entries of the recipe diffusers-f32"),
        "{found}"
    );

    let (_, spec, _) = inspected("--scheme grid --d-model 12 --size 2x3x2 --base 77 --dtype f64");
    let AnySpec::Grid(spec) = spec else { panic!() };
    let grid = &spec.config().grid;
    assert_eq!(
        (grid.num_sides, spec.rows(), spec.dtype()),
        (3, 12, DType::F64)
    );
    assert!(
        grid.axes
            .iter()
            .all(|axis| axis.sinusoidal.base == Base::Value(77.0))
    );

    let options = "--scheme fourier --preset nerf --bands 4 --size 5 --points ends";
    let (_, spec, found) = inspected(options);
    let AnySpec::Fourier(spec) = spec else {
        panic!()
    };
    assert_eq!(spec.config().points, CellPoints::Ends);
    assert!(found.contains("4 octaves from 1 half turns"), "{found}");

    let options = "--scheme alibi --heads 3 --bias-max 4 --max-seq-len 5 --start 2 --dtype f16";
    let (said, spec, found) = inspected(options);
    let config = AlibiConfig {
        bias_max: 4.0,
        ..AlibiConfig::new(3)
    };
    assert_eq!(
        spec,
        AnySpec::Alibi(AlibiSpec::new(config, 2, 5, DType::F16).unwrap())
    );
    assert!(
        said.contains("tensors bias [5, 3] f16, slopes [3] f32, 42 bytes"),
        "{said}"
    );
    assert!(
        found.contains("alibi; distances 2 to 6; 3 heads, slopes from 0.500 to 6.25e-2"),
        "{found}"
    );
    assert!(found.contains("right: all 18 entries"), "{found}");

    let (_guard, path) = file("pe.safetensors");
    let options = "--d-model 8 --max-seq-len 4 --spacing shifted=1 --recipe diffusers-f32";
    assert_eq!(export(&path, options).config().recipe, Recipe::DiffusersF32);
}

/// Exports to standard output: the outcome, its bytes, and the messages.
fn to_stdout(terminal: Terminal, line: &str) -> (Outcome, Vec<u8>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = format!("pe-demo {line} -o -");
    let outcome = pe_demo::run_in(
        terminal,
        args.split(' '),
        &mut std::io::empty(),
        &mut out,
        &mut err,
    );
    (outcome, out, String::from_utf8(err).unwrap())
}

#[test]
fn standard_output_gets_the_bytes_of_the_file_and_nothing_else() {
    for options in [
        "--d-model 8 --max-seq-len 300",
        "--scheme rotary --head-dim 64 --max-seq-len 9 --dtype bf16",
        "--scheme alibi --heads 12 --max-seq-len 20",
    ] {
        let (_guard, path) = file("table.safetensors");
        run(&format!("export {options} -o {}", arg(&path)));
        let expected = std::fs::read(&path).unwrap();
        for line in [format!("export {options}"), format!("-q export {options}")] {
            let (outcome, out, err) = to_stdout(Terminal::default(), &line);
            assert_eq!((outcome, err.as_str()), (Outcome::Success, ""), "{line}");
            assert!(out == expected, "{line}");
        }
    }
}

#[test]
fn standard_output_that_is_a_terminal_gets_no_bytes() {
    let terminal = Terminal {
        columns: Some(80),
        ..Terminal::default()
    };
    let (outcome, out, err) = to_stdout(terminal, "export --d-model 8 --max-seq-len 3");
    assert_eq!((outcome, out.len()), (Outcome::Usage, 0));
    assert!(
        err.contains("standard output, which is a terminal"),
        "{err}"
    );
    // A file is written as ever.
    let (_guard, path) = file("table.safetensors");
    let args = [
        "pe-demo",
        "export",
        "--d-model",
        "8",
        "--max-seq-len",
        "3",
        "-o",
        arg(&path),
    ];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = pe_demo::run_in(terminal, args, &mut std::io::empty(), &mut out, &mut err);
    assert_eq!(outcome, Outcome::Success);
    assert!(path.exists());
}
