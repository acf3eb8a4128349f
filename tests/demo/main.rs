//! Tests of pe-demo, in process.

mod encoder;
mod export;
mod inspect;
mod report;
mod studies;
mod text;
mod tolerance;
mod util;
