//! Seeded weights, some of them replaced.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};

use super::{Seeded, check_shape};

/// Seeded weights, some of them replaced by name.
///
/// ```
/// use std::collections::HashMap;
///
/// use candle_core::{DType, Device, Tensor};
/// use pe_demo::weights::Seeded;
///
/// let words = Tensor::ones((3, 4), DType::F32, &Device::Cpu)?;
/// let given = HashMap::from([("embedding.weight".to_owned(), words)]);
/// let vb = Seeded::new(7).with(given).var_builder(DType::F32, &Device::Cpu);
/// let embedding = candle_nn::embedding(3, 4, vb.pp("embedding"))?;
/// assert_eq!(embedding.embeddings().to_vec2::<f32>()?, [[1.0; 4]; 3]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Overlaid {
    seeded: Seeded,
    tensors: HashMap<String, Tensor>,
}

impl Overlaid {
    pub(super) fn new(seeded: Seeded, tensors: HashMap<String, Tensor>) -> Self {
        Self { seeded, tensors }
    }

    /// Returns a builder that hands out constants: nothing is trained through it.
    pub fn var_builder(self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self), dtype, device.clone())
    }
}

impl SimpleBackend for Overlaid {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let Some(tensor) = self.tensors.get(name) else {
            return self.seeded.get(shape, name, init, dtype, device);
        };
        check_shape(name, tensor, &shape)?;
        tensor.to_dtype(dtype)?.to_device(device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        match self.tensors.get(name) {
            Some(tensor) => tensor.to_dtype(dtype)?.to_device(device),
            None => self.seeded.get_unchecked(name, dtype, device),
        }
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}
