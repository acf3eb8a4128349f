//! Models agree with PyTorch: prompts, steps of decoding, padded batches, packed sequences, images of any size.

mod images;
mod kit;
mod table;
mod text;
