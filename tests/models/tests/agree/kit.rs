//! Golden cases, and the comparisons that all decoders share.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use candle_core::{DType, Device, Error, Module, Result, Tensor, safetensors};
use candle_nn::VarBuilder;
use pe_models::bias::{deberta::Deberta, jina_bert::JinaBert, mpt::Mpt};
use pe_models::learned::{LearnedDecoder, bert::Bert};
use pe_models::{Batch, Decoder, config, decoder};
use serde_json::Value;

pub(crate) const CPU: &Device = &Device::Cpu;

/// Bounds on the largest difference from PyTorch in f64, relative to the largest output. In f64 both sides use the same formulas in
/// different orders. In f32 two layers of sums over up to 48 products remain, and PyTorch's own f32 has the same errors.
pub(crate) const F64: f64 = 2e-14;
pub(crate) const F32: f64 = 5e-6;

/// A folder of `golden`: a checkpoint of a few ten KB, inputs, and what PyTorch computes from them.
pub(crate) struct Golden {
    pub(crate) name: &'static str,
    pub(crate) config: Value,
    folder: PathBuf,
    expected: HashMap<String, Tensor>,
}

impl Golden {
    pub(crate) fn load(name: &'static str) -> Result<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("golden")
            .join(name);
        let config = fs::read(folder.join("config.json"))?;
        Ok(Self {
            name,
            config: serde_json::from_slice(&config).map_err(Error::wrap)?,
            expected: safetensors::load(folder.join("expected.safetensors"), CPU)?,
            folder,
        })
    }

    /// Returns the weights of the checkpoint in a type. They are stored in bf16, so every type holds them exactly.
    pub(crate) fn vb(&self, dtype: DType) -> Result<VarBuilder<'static>> {
        let bytes = fs::read(self.folder.join("model.safetensors"))?;
        VarBuilder::from_buffered_safetensors(bytes, dtype, CPU)
    }

    /// Reads keys of the configuration, such as the configuration of a model of candle-transformers.
    pub(crate) fn config<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        config::read(&self.config)
    }

    /// Returns a tensor of `expected.safetensors`.
    pub(crate) fn expected(&self, name: &str) -> &Tensor {
        self.get(name)
            .unwrap_or_else(|| panic!("{}: no tensor {name}", self.name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tensor> {
        self.expected.get(name)
    }

    /// Returns the largest difference, relative to the largest value of the golden tensor.
    pub(crate) fn error(&self, found: &Tensor, wanted: &Tensor) -> Result<f64> {
        assert_eq!(found.dims(), wanted.dims(), "{}", self.name);
        let (found, wanted) = (found.to_dtype(DType::F64)?, wanted.to_dtype(DType::F64)?);
        let largest = |xs: Tensor| xs.abs()?.flatten_all()?.max(0)?.to_scalar::<f64>();
        let error = largest((found - &wanted)?)?;
        // A maximum passes over NaN.
        let sum = wanted.sum_all()?.to_scalar::<f64>()?;
        assert!(
            sum.is_finite(),
            "{}: the golden values are not finite",
            self.name
        );
        Ok(error / largest(wanted)?)
    }

    /// Returns PyTorch's own error in f32.
    pub(crate) fn torch_error(&self) -> Result<f64> {
        self.error(self.expected("f32"), self.expected("f64"))
    }

    /// Returns the sequences of a text model, each `[1, T]`.
    pub(crate) fn sequences(&self) -> Result<Vec<Tensor>> {
        self.split(&self.expected("tokens").unsqueeze(0)?, 1)
    }

    fn lengths(&self) -> Result<Vec<usize>> {
        let lengths = self.expected("lengths").to_vec1::<i64>()?;
        Ok(lengths.into_iter().map(|len| len as usize).collect())
    }

    /// Divides an axis among the sequences.
    fn split(&self, xs: &Tensor, axis: usize) -> Result<Vec<Tensor>> {
        let mut first = 0;
        let lengths = self.lengths()?;
        let part = |len: usize| {
            first += len;
            xs.narrow(axis, first - len, len)
        };
        lengths.into_iter().map(part).collect()
    }
}

/// What was measured of a model: errors relative to the largest output of PyTorch in f64.
pub(crate) struct Row {
    pub(crate) model: &'static str,
    pub(crate) part: &'static str,
    pub(crate) cases: &'static str,
    pub(crate) f64: f64,
    pub(crate) f32: f64,
    pub(crate) torch: f64,
    /// Error of the model of candle-transformers in f32, if it has one.
    pub(crate) upstream: Option<f64>,
}

impl Row {
    /// Asserts the bounds.
    pub(crate) fn check(self) -> Self {
        let Self {
            model,
            f64,
            f32,
            torch,
            ..
        } = &self;
        // Phases of timesteps up to 1000 magnify the rounding in both types, and so in PyTorch's f64.
        let bound = F64.max(8.0 * torch * f64::EPSILON / f64::from(f32::EPSILON));
        assert!(*f64 <= bound, "{model}: error {f64:e} in f64");
        assert!(*f32 <= F32, "{model}: error {f32:e} in f32");
        self
    }
}

/// A model of token ids.
pub(crate) trait Model {
    fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor>;
}

macro_rules! called_by_tokens {
    ($($model:ty),*) => {
        $(impl Model for $model {
            fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
                <$model>::forward(self, tokens, batch)
            }
        })*
    };
}

called_by_tokens!(Bert, LearnedDecoder, Mpt, JinaBert, Deberta);

impl<L: decoder::Layer, N: Module> Model for Decoder<L, N> {
    fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        Decoder::forward(self, tokens, batch)
    }
}

/// A decoder of candle-transformers: the logits of the last token for tokens and an offset.
pub(crate) type Upstream = Box<dyn FnMut(&Tensor, usize) -> Result<Tensor>>;

/// A way to call a model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Case {
    Alone,
    Steps,
    Left,
    LeftSteps,
    Right,
    Packed,
}

pub(crate) const DECODER: &[Case] = &[
    Case::Alone,
    Case::Steps,
    Case::Left,
    Case::LeftSteps,
    Case::Right,
    Case::Packed,
];
pub(crate) const ENCODER: &[Case] = &[Case::Alone, Case::Left, Case::Right, Case::Packed];

/// Runs a model in all ways of `cases`.
pub(crate) fn text<M: Model>(
    name: &'static str,
    part: &'static str,
    cases: &[Case],
    load: impl Fn(&Value, VarBuilder<'_>) -> Result<M>,
    upstream: Option<fn(&Golden) -> Result<f64>>,
) -> Result<Row> {
    let golden = Golden::load(name)?;
    let error = |dtype| {
        let text = Text {
            golden: &golden,
            load: &|| load(&golden.config, golden.vb(dtype)?),
        };
        let mut largest = 0f64;
        for case in cases {
            let error = match case {
                Case::Alone => text.alone(),
                Case::Steps => text.steps(),
                Case::Left => text.padded("left", 0),
                Case::LeftSteps => text.padded("left", STEPS),
                Case::Right => text.padded("right", 0),
                Case::Packed => text.packed(),
            }?;
            println!("{name} {dtype:?} {case:?}: {error:.1e}");
            largest = largest.max(error);
        }
        Ok::<_, Error>(largest)
    };
    let row = Row {
        model: name,
        part,
        cases: match cases.len() {
            4 => "whole, padded left and right, packed",
            _ => "whole, steps, padded left and right, packed",
        },
        f64: error(DType::F64)?,
        f32: error(DType::F32)?,
        torch: golden.torch_error()?,
        upstream: upstream.map(|run| run(&golden)).transpose()?,
    };
    Ok(row.check())
}

/// Tokens that are decoded one by one.
const STEPS: usize = 3;

/// A text model and its sequences.
struct Text<'a, F> {
    golden: &'a Golden,
    load: &'a F,
}

impl<M: Model, F: Fn() -> Result<M>> Text<'_, F> {
    /// Each sequence in one call.
    fn alone(&self) -> Result<f64> {
        let outputs = self.golden.sequences()?.into_iter().map(|tokens| {
            (self.load)()?
                .forward(&tokens, &Batch::default())?
                .squeeze(0)
        });
        self.error(outputs.collect::<Result<_>>()?, "f64")
    }

    /// Each sequence as a prompt and steps.
    fn steps(&self) -> Result<f64> {
        let outputs = self.golden.sequences()?.into_iter().map(|tokens| {
            self.cut(&tokens, STEPS, |offset, _| Ok(Batch::at(offset)))?
                .squeeze(0)
        });
        self.error(outputs.collect::<Result<_>>()?, "f64")
    }

    /// All sequences in a padded batch, the last tokens in steps.
    fn padded(&self, side: &str, steps: usize) -> Result<f64> {
        let sequences = self.golden.sequences()?;
        let longest = sequences
            .iter()
            .map(|tokens| tokens.dims()[1])
            .max()
            .unwrap_or(0);
        let pad = |xs: &Tensor| match side {
            "left" => xs.pad_with_zeros(1, longest - xs.dim(1)?, 0),
            _ => xs.pad_with_zeros(1, 0, longest - xs.dim(1)?),
        };
        let rows = |of: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let rows = sequences.iter().map(|tokens| pad(&of(tokens)?));
            Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 0)
        };
        let tokens = rows(&|tokens| Ok(tokens.clone()))?;
        let mask = rows(&Tensor::ones_like)?;
        let outputs = self.cut(&tokens, steps, |offset, end| {
            Batch::padded(&mask.narrow(1, 0, end)?, offset)
        })?;
        let outputs = sequences.iter().enumerate().map(|(row, tokens)| {
            let len = tokens.dim(1)?;
            let first = if side == "left" { longest - len } else { 0 };
            outputs.get(row)?.narrow(0, first, len)
        });
        self.error(outputs.collect::<Result<_>>()?, side)
    }

    /// All sequences in one row.
    fn packed(&self) -> Result<f64> {
        let tokens = self.golden.expected("tokens").unsqueeze(0)?;
        let batch = Batch::packed(&self.golden.lengths()?, CPU)?;
        self.error(
            vec![(self.load)()?.forward(&tokens, &batch)?.squeeze(0)?],
            "packed",
        )
    }

    /// Runs a prompt, and then the last `steps` tokens one by one.
    fn cut(
        &self,
        tokens: &Tensor,
        steps: usize,
        batch: impl Fn(usize, usize) -> Result<Batch>,
    ) -> Result<Tensor> {
        let (mut model, time) = ((self.load)()?, tokens.dim(1)?);
        let mut outputs = Vec::new();
        let mut run = |from, end| {
            let tokens = tokens.narrow(1, from, end - from)?;
            outputs.push(model.forward(&tokens, &batch(from, end)?)?);
            Ok::<_, Error>(())
        };
        run(0, time - steps)?;
        (time - steps..time).try_for_each(|at| run(at, at + 1))?;
        Tensor::cat(&outputs, 1)
    }

    /// The error of the outputs of all sequences. A padded batch has golden values of its own where PyTorch's differ.
    fn error(&self, outputs: Vec<Tensor>, name: &str) -> Result<f64> {
        let wanted = self
            .golden
            .get(name)
            .unwrap_or_else(|| self.golden.expected("f64"));
        self.golden.error(&Tensor::cat(&outputs, 0)?, wanted)
    }
}

/// The error of a decoder of candle-transformers at the last tokens of each sequence: as one prompt, and as a prompt and steps.
pub(crate) fn upstream_decoder(
    golden: &Golden,
    load: impl Fn(&Golden) -> Result<Upstream>,
) -> Result<f64> {
    let mut largest = 0f64;
    let wanted = golden.split(golden.expected("f64"), 0)?;
    for (tokens, wanted) in golden.sequences()?.iter().zip(wanted) {
        let time = tokens.dim(1)?;
        let mut check = |found: Tensor, at: usize| {
            let found = found.flatten_all()?.unsqueeze(0)?;
            largest = largest.max(golden.error(&found, &wanted.narrow(0, at, 1)?)?);
            Ok::<_, Error>(())
        };
        check(load(golden)?(tokens, 0)?, time - 1)?;
        let mut model = load(golden)?;
        let prompt = time - STEPS;
        check(model(&tokens.narrow(1, 0, prompt)?, 0)?, prompt - 1)?;
        for at in prompt..time {
            check(model(&tokens.narrow(1, at, 1)?, at)?, at)?;
        }
    }
    Ok(largest)
}

/// The error of an encoder of candle-transformers: each sequence in one call.
pub(crate) fn upstream_encoder(
    golden: &Golden,
    mut run: impl FnMut(&Tensor) -> Result<Tensor>,
) -> Result<f64> {
    let outputs = golden.sequences()?;
    let outputs = outputs.iter().map(|tokens| run(tokens)?.squeeze(0));
    let outputs = Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 0)?;
    golden.error(&outputs, golden.expected("f64"))
}
