//! Promises about the sources themselves: imports run down the rooms, the public API does not change silently,
//! what users copy compiles, and the documents name files that exist.

mod documents;
mod public_api;
mod readme;
mod rooms;
