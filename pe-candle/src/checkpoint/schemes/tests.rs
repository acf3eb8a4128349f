//! A scheme with one table of trained values.

use std::ops::Range;

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{Element, Error};
use serde::{Deserialize, Serialize};

use crate::checkpoint::compare::compare;
use crate::checkpoint::load::{LoadOptions, load, load_as};
use crate::checkpoint::pass::NonFinite;
use crate::checkpoint::save::{SaveOptions, export, save};
use crate::checkpoint::scheme::{Scheme, Sealed};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;

#[derive(Debug, Clone, PartialEq)]
struct Learned(Config);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Config {
    d_model: usize,
}

impl Sealed for Learned {}

impl Scheme for Learned {
    const NAME: &'static str = "learned";
    const TABLES: &'static [&'static str] = &["weight"];
    const WIDTH: &'static str = "d_model";
    const COMPUTED: bool = false;
    type Config = Config;
    type Fields = ConfigFields<Config>;
    type Tensors = Tensor;

    fn build(config: Config, _end: u64) -> Result<Self> {
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn width(config: &Config) -> usize {
        config.d_model
    }

    fn writer<T: Element>(
        &self,
        _positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        Err::<fn(&mut [Vec<T>]) -> pe_core::Result<()>, _>(Error::OutOfMemory { bytes: 0 })
    }
}

#[test]
fn trained_values_are_saved_and_loaded_and_compared_with_nothing() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("table.safetensors");
    let spec = Spec::<Learned>::new(Config { d_model: 3 }, 0, 2, DType::F32)?;
    let table = Tensor::new(&[[1f32, 2., 3.], [4., 5., f32::NAN]], &Device::Cpu)?;
    let options = SaveOptions {
        tensor_names: vec!["model.positions.weight".to_owned()],
    };
    options.save(&path, &table, &spec)?;

    let error = |result: Result<()>| result.map_err(|e| e.to_string()).err().unwrap_or_default();
    let loaded = load_as::<Learned>(&path, &Device::Cpu).map(drop);
    assert!(error(loaded).contains("row 1, column 2 is NaN"));
    let accepting = LoadOptions {
        non_finite: NonFinite::Accept,
        dtype: Some(DType::F16),
        config: Some(Config { d_model: 3 }),
        ..LoadOptions::<Learned>::default()
    };
    let loaded = accepting.load_as(&path)?;
    assert_eq!(loaded.names, options.tensor_names);
    assert_eq!(loaded.spec.as_ref(), Some(&spec));
    assert_eq!(
        loaded.table.to_dtype(DType::F32)?.to_vec2::<f32>()?[0],
        [1., 2., 3.]
    );

    let words = "the scheme is \"learned\", \"sinusoidal\" was asked for";
    assert!(error(load(&path, &Device::Cpu).map(drop)).contains(words));
    let words = "learned tables cannot be computed";
    assert!(error(compare(&path, &spec).map(drop)).contains(words));
    assert!(error(export(&path, &spec)).contains(words));
    let short = table.narrow(0, 0, 1)?;
    let words = "the table has shape [1, 3], the specification [2, 3]";
    assert!(error(save(&path, &short, &spec)).contains(words));
    Ok(())
}
