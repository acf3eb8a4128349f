//! `pe-demo diagnose`: what a model's positional encoding is worth at a length and in a type.

mod distinct;
mod document;
mod facts;
mod options;
mod recipes;
mod schemes;
mod waves;
mod words;

use std::io::Write;

use anyhow::{Result, bail};
use candle_core::DType;
use pe_core::{bf16, f16};

use self::document::Diagnosis;
use self::facts::Facts;
use crate::terminal::emit::emit;
use crate::terminal::outcome::Outcome;

pub(crate) use options::Options;

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    let (path, length) = (&options.config, options.length);
    let facts = &Facts::read(path)?;
    let diagnosis = match options.dtype {
        DType::F32 => Diagnosis::of::<f32>(path, facts, length)?,
        DType::F64 => Diagnosis::of::<f64>(path, facts, length)?,
        DType::F16 => Diagnosis::of::<f16>(path, facts, length)?,
        DType::BF16 => Diagnosis::of::<bf16>(path, facts, length)?,
        other => bail!("no positions have the type {other:?}"),
    };
    emit(out, options.json, &diagnosis, || {
        Ok(words::page(&diagnosis))
    })?;
    Ok(Outcome::Success)
}
