//! Parts of diffusion models.

mod flux;
mod timestep;

pub use flux::Flux;
pub use timestep::TimeEmbedding;
