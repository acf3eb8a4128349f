//! Timestep embeddings in files: one tensor, `pe`, of shape `[rows, width]`. Row `i` is that of the timestep
//! `start + i`.

use std::ops::Range;

use candle_core::{DType, Result, Tensor, bail};
use half::f16;
use pe_core::{Element, Timestep, TimestepConfig};

use crate::checkpoint::file::read::DEFAULT_TENSOR;
use crate::checkpoint::scheme::{Rows, Scheme, Sealed};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;

/// Specification of a table of timestep embeddings.
///
/// ```
/// use candle_core::DType;
/// use pe_candle::TimestepPreset;
/// use pe_candle::checkpoint::TimestepSpec;
///
/// let spec = TimestepSpec::new(TimestepPreset::StableDiffusion.config(320), 0, 1000, DType::F32)?;
/// assert_eq!(TimestepSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub type TimestepSpec = Spec<Timestep>;

impl Sealed for Timestep {}

impl Scheme for Timestep {
    const NAME: &'static str = "timestep";
    const TABLES: &'static [&'static str] = &[DEFAULT_TENSOR];
    const WIDTH: &'static str = "width";
    type Config = TimestepConfig;
    type Fields = ConfigFields<TimestepConfig>;
    type Tensors = Tensor;

    fn build(config: TimestepConfig, _end: u64) -> Result<Self> {
        Ok(Self::new(config)?)
    }

    fn config(&self) -> &TimestepConfig {
        self.config()
    }

    fn width(config: &TimestepConfig) -> usize {
        config.width
    }

    fn check(&self, rows: &Rows) -> Result<()> {
        let amplitude = self.config().amplitude;
        let largest = match rows.dtype {
            DType::F16 => f16::from_f64(amplitude).to_f64(),
            DType::F32 | DType::BF16 => f64::from(amplitude as f32),
            _ => amplitude,
        };
        if !largest.is_finite() {
            let name = rows.dtype.as_str();
            bail!("the amplitude {amplitude:?} is beyond the range of {name}");
        }
        Ok(())
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
