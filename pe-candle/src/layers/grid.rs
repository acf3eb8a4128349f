//! Encodings of grids: learned ones, resized to the size of each image.

pub(crate) mod config;
pub(crate) mod learned;
pub(crate) mod reference;
mod requests;
