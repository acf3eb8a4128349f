//! Many entries at once: rows, written by the method that suits their number.
//!
//! [`writer`] writes tables, single positions, and blocks. It chooses by [`plan`]: consecutive rows come from the [`recurrence`], and
//! others from polynomials ([`single`]). Either way [`lane`] rounds the values and tests them, and
//! [`sincos`](crate::sincos) computes the hard cases again. [`columns`] are the places of a pair in a row.

pub(crate) mod angles;
pub(crate) mod columns;
pub(crate) mod element;
pub(crate) mod f32_recipe;
pub(crate) mod lane;
pub(crate) mod plan;
pub(crate) mod real;
pub(crate) mod recurrence;
pub(crate) mod single;
pub(crate) mod threads;
pub(crate) mod writer;
