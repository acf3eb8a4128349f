//! Text models.

mod upstream;

use candle_core::Result;
use pe_models::rotary;

use crate::kit::{Row, decoder};

/// Makes a test of each model, and a list of all of them for the table of MIGRATING.md.
macro_rules! models {
    ($($name:ident: $run:expr;)*) => {
        pub(crate) const ALL: &[fn() -> Result<Row>] = &[$(|| $run),*];
        $(#[test]
        fn $name() -> Result<()> {
            $run.map(drop)
        })*
    };
}

models! {
    llama: decoder("llama", "rotary, `llama3`", rotary::llama::load, Some(upstream::llama));
}
