//! Files and their parts, whatever they hold: reading within limits, replacing atomically, elements as bytes.

pub(crate) mod blocks;
pub(crate) mod element;
pub(crate) mod header;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod message;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod replace;
