//! The toy encoder: embedding, positional encoding, layers of attention and
//! feed-forward with residual connections and layer norm.

pub mod attention;
mod batch;
mod config;
pub(crate) mod device;
mod layer;
mod linear;
pub mod mask;
mod positions;
mod scheme;
mod stack;
pub(crate) mod trained;
pub mod weights;

pub use batch::Batch;
pub use config::{EncoderConfig, MAX_PARAMETERS, Mode, Norm, Residual};
pub use scheme::Scheme;
pub use stack::{Encoder, EncoderOutput};

pub(crate) use config::{DEFAULT_HEADS, DEFAULT_LAYERS, DEFAULT_ROWS, MAX_TOKENS, check_widths};
pub(crate) use scheme::{Adds, Biases};
