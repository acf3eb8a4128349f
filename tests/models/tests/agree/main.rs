//! Models agree with PyTorch: prompts, steps of decoding, padded batches, packed sequences.

mod kit;
mod table;
mod text;
