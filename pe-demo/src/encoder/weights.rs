//! Weights before any training, the same for the same seed on every machine.

mod overlaid;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{DType, Device, Result, Shape, Tensor, Var, bail};
use candle_nn::Init;
use candle_nn::VarBuilder;
use candle_nn::var_builder::SimpleBackend;
use pe_candle::philox4x32_10;

pub use overlaid::Overlaid;

/// A source of initial weights for a [`VarBuilder`].
///
/// Candle's generator for the CPU cannot be seeded. Here every weight is a function
/// of the seed, the tensor's name and the weight's index alone: Philox4x32-10
/// with the seed as key and (index / 4, hash of the name) as counter. Where a layer
/// asks for a normal distribution it gets the uniform one of the same mean and
/// standard deviation, which needs no logarithm.
///
/// ```
/// use candle_core::{DType, Device};
/// use pe_demo::weights::Seeded;
///
/// let vb = Seeded::new(7).var_builder(DType::F32, &Device::Cpu);
/// let layer = candle_nn::linear(8, 8, vb.pp("layer"))?;
/// let again = candle_nn::linear(8, 8, vb.pp("layer"))?;
/// assert_eq!(layer.weight().to_vec2::<f32>()?, again.weight().to_vec2::<f32>()?);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Seeded {
    seed: u64,
}

impl Seeded {
    /// Returns the weights of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns a builder that hands out constants: nothing is trained through it.
    pub fn var_builder(self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self), dtype, device.clone())
    }

    /// Returns the same weights as variables.
    pub fn trainable(self) -> Trainable {
        Trainable {
            seeded: self,
            vars: Arc::default(),
        }
    }

    /// Replaces the weights of these names.
    pub fn with(self, tensors: HashMap<String, Tensor>) -> Overlaid {
        Overlaid::new(self, tensors)
    }

    /// Returns the values of a tensor.
    fn values(self, name: &str, count: usize, init: Distribution) -> Vec<f32> {
        let (mean, half_width) = match init {
            Distribution::Constant(value) => return vec![value as f32; count],
            Distribution::Uniform { mean, half_width } => (mean, half_width),
        };
        let stream = fnv1a(name);
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let mut values = Vec::with_capacity(count.next_multiple_of(4));
        for block in 0..count.div_ceil(4) as u64 {
            let counter = [
                block as u32,
                (block >> 32) as u32,
                stream as u32,
                (stream >> 32) as u32,
            ];
            values.extend(philox4x32_10(counter, key).map(|word| {
                // The middle of the word's 2^-31 wide part of -1..1.
                let unit = (f64::from(word) + 0.5) / f64::from(1u32 << 31) - 1.0;
                (mean + half_width * unit) as f32
            }));
        }
        values.truncate(count);
        values
    }
}

/// Seeded weights as variables, like a `VarMap`, but repeatable.
///
/// ```
/// use candle_core::{DType, Device};
/// use pe_demo::weights::Seeded;
///
/// let source = Seeded::new(7).trainable();
/// let vb = source.var_builder(DType::F32, &Device::Cpu);
/// let layer = candle_nn::linear(8, 8, vb.pp("layer"))?;
/// let loss = layer.weight().sqr()?.sum_all()?;
/// let gradients = loss.backward()?;
/// let vars = source.vars();
/// assert_eq!(vars.keys().collect::<Vec<_>>(), ["layer.bias", "layer.weight"]);
/// assert!(gradients.get(&vars["layer.weight"]).is_some());
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trainable {
    seeded: Seeded,
    vars: Arc<Mutex<BTreeMap<String, Var>>>,
}

impl Trainable {
    /// Returns a builder that creates a variable for each weight that it is asked for.
    pub fn var_builder(&self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), dtype, device.clone())
    }

    /// Returns the variables created so far.
    pub fn vars(&self) -> BTreeMap<String, Var> {
        let vars = self.vars.lock().unwrap_or_else(PoisonError::into_inner);
        vars.clone()
    }
}

impl SimpleBackend for Trainable {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let mut vars = self.vars.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(var) = vars.get(name) {
            check_shape(name, var, &shape)?;
            return Ok(var.as_tensor().clone());
        }
        let initial = self.seeded.get(shape, name, init, dtype, device)?;
        let var = Var::from_tensor(&initial)?;
        let weight = var.as_tensor().clone();
        vars.insert(name.to_owned(), var);
        Ok(weight)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.seeded.get_unchecked(name, dtype, device)
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// A distribution that needs no function of the platform's mathematics library.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Constant(f64),
    Uniform { mean: f64, half_width: f64 },
}

impl Distribution {
    fn of(init: Init, shape: &Shape) -> Self {
        let with_stdev = |mean, stdev: f64| Self::Uniform {
            mean,
            half_width: 3f64.sqrt() * stdev,
        };
        match init {
            Init::Const(value) => Self::Constant(value),
            Init::Uniform { lo, up } => Self::Uniform {
                mean: (lo + up) / 2.0,
                half_width: (up - lo) / 2.0,
            },
            Init::Randn { mean, stdev } => with_stdev(mean, stdev),
            Init::Kaiming {
                fan, non_linearity, ..
            } => {
                let fan = fan.for_shape(shape) as f64;
                with_stdev(0.0, non_linearity.gain() / fan.sqrt())
            }
        }
    }
}

impl SimpleBackend for Seeded {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let distribution = Distribution::of(init, &shape);
        let values = self.values(name, shape.elem_count(), distribution);
        Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        bail!("the shape of {name} is not known: seeded weights have no file")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// Returns an error if the tensor of a name has another shape.
fn check_shape(name: &str, tensor: &Tensor, shape: &Shape) -> Result<()> {
    if tensor.shape() != shape {
        bail!("{name} has shape {:?}, not {shape:?}", tensor.shape());
    }
    Ok(())
}

/// Computes the 64-bit FNV-1a hash.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
