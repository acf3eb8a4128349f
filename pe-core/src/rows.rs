//! Many entries at once: rows, written by the method that suits their number.

pub(crate) mod angles;
pub(crate) mod columns;
pub(crate) mod element;
pub(crate) mod f32_recipe;
pub(crate) mod lane;
pub(crate) mod plan;
pub(crate) mod recurrence;
pub(crate) mod single;
pub(crate) mod threads;
pub(crate) mod writer;
