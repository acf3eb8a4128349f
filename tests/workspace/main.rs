//! Promises about the sources themselves: imports run down the rooms, the public API does not change silently, and
//! what users copy compiles.

mod public_api;
mod readme;
mod rooms;
