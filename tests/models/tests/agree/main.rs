//! Models agree with PyTorch: prompts, steps of decoding, padded batches, packed sequences, images of any size.

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

mod images;
mod kit;
mod table;
mod text;
