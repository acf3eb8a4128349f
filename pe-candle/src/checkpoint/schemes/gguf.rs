//! Rotary layers of GGUF files, by their paths.

use std::path::Path;

use candle_core::{DType, Device, Result};

use crate::checkpoint::file::message::{error, quoted, reason};
use crate::checkpoint::file::open::open_regular;
use crate::layers::rotary::RotaryEmbedding;
use crate::layers::rotary::config::RotaryEmbeddingConfig;

impl RotaryEmbeddingConfig {
    /// Reads the GGUF file at a path. [`from_gguf`](Self::from_gguf) does the same for a file that is open.
    ///
    /// # Errors
    /// Returns an error if the path cannot be opened or leads to anything but a regular file. Also returns the errors of
    /// [`from_gguf`](Self::from_gguf). All of them name the path.
    pub fn from_gguf_file(path: impl AsRef<Path>, layer_type: Option<&str>) -> Result<Self> {
        let path = path.as_ref();
        let named = |problem: String| {
            let path = quoted(&path.to_string_lossy());
            error(format!("{path}: {problem}"))
        };
        let mut file = open_regular(path).map_err(|problem| named(problem.to_string()))?;
        Self::from_gguf(&mut file, layer_type).map_err(|problem| named(reason(&problem)))
    }
}

impl RotaryEmbedding {
    /// Creates the layer of the GGUF file at a path. Combines [`RotaryEmbeddingConfig::from_gguf_file`] and [`new`](Self::new).
    ///
    /// # Examples
    /// ```no_run
    /// use candle_core::{DType, Device};
    /// use pe_candle::RotaryEmbedding;
    ///
    /// let rotary = RotaryEmbedding::from_gguf_file("model.gguf", None, DType::F32, &Device::Cpu)?;
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`RotaryEmbeddingConfig::from_gguf_file`] and of [`new`](Self::new).
    pub fn from_gguf_file(
        path: impl AsRef<Path>,
        layer_type: Option<&str>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let config = RotaryEmbeddingConfig::from_gguf_file(path, layer_type)?;
        Self::new(config, dtype, device)
    }
}
