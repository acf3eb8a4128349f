//! Files and their parts, whatever they hold: reading within limits, replacing in one step, elements as bytes.

pub(crate) mod blocks;
pub(crate) mod element;
pub(crate) mod header;
pub(crate) mod message;
pub(crate) mod object;
pub(crate) mod read;
pub(crate) mod replace;
