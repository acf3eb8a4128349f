//! Tests of pe-demo, in process.

mod encoder;
mod export;
mod inspect;
mod page;
mod plot;
mod report;
mod rotary;
mod schemes;
mod studies;
mod text;
mod tolerance;
mod train;
mod util;
