//! Sinusoidal tables in files: one tensor, `pe`, of shape `[rows, d_model]`.

use std::ops::Range;

use candle_core::{Result, Tensor};
use pe_core::{Element, Sinusoidal, SinusoidalConfig};

use crate::checkpoint::file::message::{error, quoted};
use crate::checkpoint::file::read::DEFAULT_TENSOR;
use crate::checkpoint::load::{Loaded, differences};
use crate::checkpoint::scheme::{Scheme, Sealed};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;
use crate::layers::additive::PositionalEncoding;
use crate::layers::config::PositionalEncodingConfig;

/// Specification of a sinusoidal table.
pub type SinusoidalSpec = Spec<Sinusoidal>;

impl Sealed for Sinusoidal {}

impl Scheme for Sinusoidal {
    const NAME: &'static str = "sinusoidal";
    const TABLES: &'static [&'static str] = &[DEFAULT_TENSOR];
    const WIDTH: &'static str = "d_model";
    type Config = SinusoidalConfig;
    type Fields = ConfigFields<SinusoidalConfig>;
    type Tensors = Tensor;

    fn build(config: SinusoidalConfig, _end: u64) -> Result<Self> {
        Ok(Self::new(config)?)
    }

    fn config(&self) -> &SinusoidalConfig {
        self.config()
    }

    fn width(config: &SinusoidalConfig) -> usize {
        config.d_model
    }

    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        let mut blocks = self.blocks(positions)?;
        Ok(
            move |tables: &mut [Vec<T>]| {
                tables.iter_mut().try_for_each(|table| blocks.write(table))
            },
        )
    }
}

impl Loaded<Sinusoidal> {
    /// Builds a layer with this table, of its dtype and on its device.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("table.safetensors");
    /// use candle_core::{DType, Device};
    /// use pe_candle::PositionalEncodingConfig;
    /// use pe_candle::checkpoint::{self, SinusoidalSpec};
    ///
    /// let config = PositionalEncodingConfig::new(64);
    /// checkpoint::export(&path, &SinusoidalSpec::new(config.sinusoidal, 0, 100, DType::F32)?)?;
    /// let layer = checkpoint::load(&path, &Device::Cpu)?.into_layer(config)?;
    /// assert_eq!(layer.max_seq_len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file states another encoding than the configuration's or positions
    /// that do not begin at 0. Also returns the errors of [`PositionalEncoding::from_table`].
    pub fn into_layer(self, config: PositionalEncodingConfig) -> Result<PositionalEncoding> {
        if let Some(spec) = &self.spec {
            let name = || quoted(self.names.first().map_or("", String::as_str));
            if *spec.config() != config.sinusoidal {
                let reason = differences(spec.config(), &config.sinusoidal);
                return Err(error(format_args!("table {}: {reason}", name())));
            }
            if spec.start() != 0 {
                return Err(error(format_args!(
                    "table {} begins at position {}, the table of a layer at 0",
                    name(),
                    spec.start()
                )));
            }
        }
        PositionalEncoding::from_table(config, self.table)
    }
}
