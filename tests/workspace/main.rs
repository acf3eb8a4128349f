//! Promises about the sources themselves: imports run down the rooms, the public API does not change silently, and
//! what users copy compiles; the documents name files that exist; the index of the tests and their table of
//! tolerances are complete.

mod documents;
mod index;
mod names;
mod public_api;
mod readme;
mod rooms;
mod tolerances;
