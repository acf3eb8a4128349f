//! wip
#![forbid(unsafe_code)]
mod columns; mod elementary; mod error; mod fixed; mod frequency; mod recipe; mod rotate; mod round; mod sincos; mod sinusoidal; mod table; mod turn; mod wide; mod preset;
pub use columns::{OddWidth, SinusoidLayout};
pub use error::{Error, Result};
pub use frequency::{Base, Spacing};
pub use preset::Preset;
pub use recipe::Recipe;
pub use round::Element;
pub use sinusoidal::{MAX_D_MODEL, POSITIONS, Sinusoidal, SinusoidalConfig};
#[doc(hidden)]
pub use sinusoidal::Backend;
#[doc(hidden)]
pub use sincos::Rungs;
pub use table::{MAX_TABLE_BYTES, Table};
pub use half::{bf16, f16};
