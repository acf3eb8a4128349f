//! Encodings of grids: sinusoidal ones, and learned ones, resized to the size of each image.

pub(crate) mod add;
pub(crate) mod config;
pub(crate) mod fixed;
pub(crate) mod learned;
pub(crate) mod reference;
mod requests;
