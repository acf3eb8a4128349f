//! Tests of pe-demo, in process.

mod embeddings;
mod encoder;
mod export;
mod hub;
mod inspect;
mod page;
mod plot;
mod report;
mod rotary;
mod schemes;
mod shell;
mod studies;
mod text;
mod tolerance;
mod train;
mod util;
mod vectors;
