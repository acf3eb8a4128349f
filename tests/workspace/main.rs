//! Promises about the sources themselves: imports run down the rooms, and what users copy compiles.

mod readme;
mod rooms;
