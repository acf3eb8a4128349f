//! The options of `pe-demo train`, checked.

use std::path::PathBuf;

use serde::Serialize;

use crate::cli::TrainArgs;
use crate::encoder::device::DeviceName;
use crate::encoder::{Scheme, check_widths};
use crate::terminal::outcome::BadUsage;

/// The training, and its files.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) schemes: Vec<Scheme>,
    pub(super) settings: Settings,
    pub(super) output: PathBuf,
    pub(super) resume: bool,
    pub(super) device: DeviceName,
    pub(super) json: bool,
}

/// The settings of each training run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Settings {
    pub(super) steps: u64,
    pub(super) batch: usize,
    pub(super) seed: u64,
    /// Tokens of the longest sentence.
    pub(super) length: usize,
    pub(super) d_model: usize,
    pub(super) heads: usize,
    pub(super) layers: usize,
    pub(super) learning_rate: f64,
    pub(super) dropout: f32,
}

impl Options {
    /// Checks the arguments together.
    pub(crate) fn new(args: TrainArgs) -> Result<Self, BadUsage> {
        let TrainArgs { d_model, heads, .. } = args;
        let schemes = args.schemes();
        check_widths(d_model, heads, schemes.iter().copied()).map_err(|error| {
            BadUsage(error.of(&format!("--d-model {d_model}"), &format!("--heads {heads}")))
        })?;
        Ok(Self {
            schemes,
            settings: Settings {
                steps: args.steps,
                batch: args.batch,
                seed: args.seed,
                length: args.length,
                d_model,
                heads,
                layers: args.layers,
                learning_rate: args.learning_rate,
                dropout: args.dropout,
            },
            output: args.output,
            resume: args.resume,
            device: args.device,
            json: args.json,
        })
    }
}
