//! Tests of pe-demo, in process.

mod diagnose;
mod embeddings;
mod encode;
mod encoder;
mod export;
mod hub;
mod identify;
mod inspect;
mod plot;
mod refusals;
mod report;
mod resize;
mod rotary;
mod schemes;
mod shell;
mod studies;
mod text;
mod train;
mod vectors;

use pe_tests::{program as util, tolerance};
