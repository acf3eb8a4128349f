//! Promises about the sources themselves: imports run down the rooms, no change of the public API is silent, and what users copy compiles.

mod public_api;
mod readme;
mod rooms;
