//! Frequencies are computed where a specification is built, and never again.

use pe_candle::checkpoint::{RotarySpec, RotaryTables};
use pe_core::testing::frequencies_computed;
use pe_core::{RopeScaling, RotaryConfig};

use super::*;

/// Returns the number of sets of frequencies that a call computes, and its result.
fn counted<R>(call: impl FnOnce() -> R) -> (u64, R) {
    let before = frequencies_computed();
    let result = call();
    (frequencies_computed() - before, result)
}

#[test]
fn sinusoidal_specification_computes_its_frequencies_once() {
    let (_dir, path) = temp();
    let (built, spec) = counted(|| spec(64, 300));
    assert_eq!(built, 1);
    let (built, _) = counted(|| {
        checkpoint::export(&path, &spec).unwrap();
        checkpoint::compare(&path, &spec).unwrap();
        SaveOptions::default().export(&path, &spec).unwrap();
        let table = spec.scheme().table::<f32>(spec.positions()).unwrap();
        checkpoint::save(&path, &table, &spec).unwrap();
        spec.to_json().unwrap()
    });
    assert_eq!(built, 0);
    // Reading the specification in a file builds it; checking every entry, and requirements, do not.
    let options = LoadOptions {
        config: Some(*spec.config()),
        ..LoadOptions::default()
    };
    let (built, loaded) = counted(|| options.load(&path).unwrap());
    assert_eq!(built, 1);
    let (built, report) = counted(|| checkpoint::inspect(&path).unwrap());
    assert_eq!(built, 1);
    assert_eq!(
        report.spec,
        SpecStatus::Valid(AnySpec::Sinusoidal(loaded.spec.unwrap()))
    );
    // A file without one.
    fs::write(&path, foreign(&[("pe", &loaded.table)])).unwrap();
    assert_eq!(counted(|| options.load(&path).unwrap()).0, 1);
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
    let config = SinusoidalConfig::new(64);
    let (built, _) = counted(|| checkpoint::from_var_builder(&vb, "pe", &config, 9).unwrap());
    assert_eq!(built, 1);
}

#[test]
fn rotary_specification_computes_each_set_of_frequencies_once() {
    let (_dir, path) = temp();
    let linear = RopeScaling::Linear { factor: 4.0 };
    let dynamic = RopeScaling::Dynamic { factor: 2.0 };
    // Beyond 64 positions dynamic NTK has another set next to the first.
    for (scaling, sets) in [(linear, 1), (dynamic, 2)] {
        let config = RotaryConfig {
            scaling,
            max_position_embeddings: Some(64),
            ..RotaryConfig::new(16)
        };
        let new = || RotarySpec::new(config.clone(), 0, 300, DType::F32).unwrap();
        let (built, spec) = counted(new);
        assert_eq!(built, sets);
        let (built, _) = counted(|| {
            checkpoint::export(&path, &spec).unwrap();
            checkpoint::compare(&path, &spec).unwrap();
            let frequencies = spec.scheme().frequencies();
            let tables = frequencies.tables::<f32>(spec.positions()).unwrap();
            checkpoint::save(&path, &tables, &spec).unwrap();
            spec.to_json().unwrap()
        });
        assert_eq!(built, 0);
        let load = || checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu).unwrap();
        let (built, loaded) = counted(load);
        assert_eq!((built, loaded.spec), (sets, Some(spec)));
        assert_eq!(counted(|| checkpoint::inspect(&path).unwrap()).0, sets);
    }
}
