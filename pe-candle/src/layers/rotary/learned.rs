//! Frequencies that learn: rotation by angles that gradients flow to, and the layers of RoPE-Mixed and
//! LeRoPE.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{D, DType, Device, IndexOp, Result, Tensor, Var, bail};
use candle_nn::{Init, VarBuilder};
use pe_core::{PairLayout, Rotary, RotaryConfig, cos_sin_of_angles};

use super::tables::Angles;
use crate::kernel::philox::philox4x32_10;
use crate::kernel::{AngleRotation, Plan, Rotation, TokenRows};
use crate::layers::reference::Paths;
use crate::tensors::axes::HeadOrder;
use crate::tensors::memory;

/// Rotates pairs of columns by given angles, with gradients to the input and to the angles.
///
/// ```text
/// (a, b) -> (a cos - b sin, a sin + b cos)
/// ```
///
/// `angles` has shape `[T, pairs]` for all heads, `[B, T, pairs]` for each sequence, or `[1, H, T, pairs]`
/// for each head, and the type `f64` for inputs of `f64`, otherwise `f32`. Inputs are those of
/// [`rotate`](super::rotate). Columns after the first `2 * pairs` pass unchanged.
///
/// On the CPU cosines and sines are those nearest to the real ones of the given angles, computed once per
/// call and kept for the backward pass. Forward and backward passes are one pass over the activations each.
/// Gradients of angles are summed in f64 over the heads and sequences that share them. The gradient of the
/// input can be differentiated again, to any order. The gradient of the angles cannot. On other devices, Candle's
/// operations compute all of it.
///
/// # Examples
/// ```
/// use candle_core::{D, DType, Device, Tensor, Var};
/// use pe_candle::{HeadOrder, PairLayout, rotary};
///
/// let inv_freq = Var::new(&[1f32, 0.5, 0.1, 0.02], &Device::Cpu)?; // learns
/// let positions = Tensor::arange(0u32, 10, &Device::Cpu)?.to_dtype(DType::F32)?;
/// let angles = positions.unsqueeze(1)?.broadcast_mul(&inv_freq)?; // [T, pairs]
/// let q = Tensor::randn(0f32, 1., (2, 3, 10, 8), &Device::Cpu)?;
/// let q = rotary::rotate_by_angles(&q, &angles, PairLayout::HalfSplit, HeadOrder::HeadFirst)?;
/// let gradients = q.narrow(3, 0, 3)?.sum_all()?.backward()?;
/// assert_eq!(gradients.get(&inv_freq).map(Tensor::dims), Some(&[4][..]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the shapes, types, or devices do not match.
pub fn rotate_by_angles(
    xs: &Tensor,
    angles: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<Tensor> {
    rotate(xs, angles, layout, order, Plan::best())
}

fn rotate(
    xs: &Tensor,
    angles: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
    plan: Plan,
) -> Result<Tensor> {
    let Some((batch, time)) = order.read(xs.dims()) else {
        bail!("the input: {}, got {:?}", order.describe(), xs.dims());
    };
    memory::declared("the input", xs)?;
    memory::for_result("the angles", angles)?;
    let heads = xs.dim(match order {
        HeadOrder::HeadFirst => 1,
        HeadOrder::TimeFirst | HeadOrder::SequenceFirst => 2,
    })?;
    let width = xs.dim(D::Minus1)?;
    let (rows, pairs) = match *angles.dims() {
        [t, pairs] if t == time => (TokenRows::From(0), pairs),
        [b, t, pairs] if (b, t) == (batch, time) => (TokenRows::Each, pairs),
        [1, h, t, pairs] if (h, t) == (heads, time) => (TokenRows::PerHead, pairs),
        ref dims => bail!(
            "angles must have shape [{time}, pairs], [{batch}, {time}, pairs] or [1, {heads}, {time}, \
             pairs], got {dims:?}"
        ),
    };
    if pairs == 0 || pairs > width / 2 {
        let most = width / 2;
        bail!("angles have {pairs} columns: the input of head_dim {width} takes 1..={most}");
    }
    let wanted = match xs.dtype() {
        DType::F64 => DType::F64,
        DType::F32 | DType::F16 | DType::BF16 => DType::F32,
        other => bail!(
            "the input must be f32, f64, f16 or bf16, not {}",
            other.as_str()
        ),
    };
    if angles.dtype() != wanted {
        let (input, found) = (xs.dtype().as_str(), angles.dtype().as_str());
        bail!(
            "the input is {input}: angles must be {}, not {found}",
            wanted.as_str()
        );
    }
    if !xs.device().same_device(angles.device()) {
        let (input, other) = (xs.device().location(), angles.device().location());
        bail!("the input is on {input:?}, but the angles are on {other:?}");
    }
    memory::for_result("the result", xs)?;
    if xs.elem_count() == 0 {
        return Ok(xs.clone());
    }
    // A row for each head has no batch.
    let shape: Vec<usize> = match rows {
        TokenRows::PerHead => vec![heads, time, pairs],
        _ => angles.dims().to_vec(),
    };
    let rotation = |cos: Tensor, sin: Tensor| {
        let angles = Angles { start: 0, cos, sin };
        Rotation::new(angles, rows.clone(), (layout, order), plan)
    };
    if !plan.has_kernel(xs) {
        let angles = angles.reshape(shape)?;
        return (Paths::get(&plan)?.by_angles)(&rotation(angles.clone(), angles), xs);
    }
    let [cos, sin] = AngleRotation::cos_sin(&angles.detach(), &shape)?;
    AngleRotation(rotation(cos, sin)).apply(xs, angles)
}

/// Frequencies that a [`LearnedRotary`] trains.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LearnedFrequencies {
    /// RoPE-Mixed (B. Heo et al.: "Rotary Position Embedding for Vision Transformer", 2024): two components
    /// of each frequency, one for each coordinate of a patch, per block and head. The tensor `freqs` of
    /// shape `[2, depth, num_heads, head_dim / 2]`, as in timm and rope-vit.
    ///
    /// ```text
    /// angle = x freqs[0] + y freqs[1]
    /// ```
    Mixed {
        /// Number of blocks.
        depth: usize,
        /// Number of heads.
        num_heads: usize,
        /// Width of a head, a multiple of 4.
        head_dim: usize,
        /// Base of the first values (`temperature`); 10 in timm.
        base: f64,
        /// Seed of the first directions.
        seed: u64,
    },
    /// LeRoPE: a factor of each frequency, all blocks and heads alike. The tensor `alpha` of shape
    /// `[rotary_dim / 2]`, 0 at first, as in transformers' mistral_large4.
    ///
    /// ```text
    /// angle = position (inv_freq exp(alpha))
    /// ```
    Scaled {
        /// The frequencies that are scaled. They must not depend on the length.
        rotary: RotaryConfig,
    },
}

/// Configuration of a [`LearnedRotary`].
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedRotaryConfig {
    /// The frequencies.
    pub frequencies: LearnedFrequencies,
    /// Pairs of columns. timm's are interleaved.
    pub layout: PairLayout,
    /// Order of the axes of queries and keys.
    pub axis_order: HeadOrder,
}

impl LearnedRotaryConfig {
    /// Creates the configuration of timm's `RotaryEmbeddingMixed`: interleaved pairs, base 10.
    pub const fn mixed(depth: usize, num_heads: usize, head_dim: usize) -> Self {
        Self {
            frequencies: LearnedFrequencies::Mixed {
                depth,
                num_heads,
                head_dim,
                base: 10.0,
                seed: 0,
            },
            layout: PairLayout::Interleaved,
            axis_order: HeadOrder::HeadFirst,
        }
    }

    /// Creates the configuration of LeRoPE: half-split pairs, scaled frequencies.
    pub const fn scaled(rotary: RotaryConfig) -> Self {
        Self {
            frequencies: LearnedFrequencies::Scaled { rotary },
            layout: PairLayout::HalfSplit,
            axis_order: HeadOrder::HeadFirst,
        }
    }
}

/// A rotary embedding with frequencies that learn, under the names of the references.
///
/// # Examples
/// ```
/// use candle_core::{D, DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{LearnedRotary, LearnedRotaryConfig};
///
/// let variables = VarMap::new();
/// let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// let rope = LearnedRotary::new(LearnedRotaryConfig::mixed(12, 3, 64), vb.pp("rope"))?; // rope.freqs
/// let patches = Tensor::new(&[[0f32, 0.], [1., 0.], [0., 1.], [1., 1.]], &Device::Cpu)?; // x, y
/// let q = Tensor::randn(0f32, 1., (2, 3, 4, 64), &Device::Cpu)?; // [B, H, patches, head_dim]
/// let k = Tensor::randn(0f32, 1., (2, 3, 4, 64), &Device::Cpu)?;
/// let (q, k) = rope.apply_qkv(&q, &k, &rope.angles(5, &patches)?)?; // block 5
/// # assert_eq!((q.dims(), k.dims()), (&[2, 3, 4, 64][..], &[2, 3, 4, 64][..]));
/// # assert_eq!(variables.all_vars().len(), 1);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LearnedRotary {
    config: LearnedRotaryConfig,
    weights: Tensor,
    /// The frequencies that `alpha` scales, in f32.
    inv_freq: Option<Tensor>,
    pub(crate) plan: Plan,
}

impl LearnedRotary {
    /// Loads the tensor `freqs` or `alpha`, or creates it as a variable if the builder is that of a
    /// `VarMap` without it: random directions with the seed of the configuration, as timm draws them, or
    /// zeros.
    ///
    /// # Errors
    /// Returns an error if
    /// - `head_dim` is 0 or not a multiple of 4, a number of blocks or heads is 0, or the base is not
    ///   positive and finite,
    /// - the rotary embedding is invalid or depends on the length (see [`Rotary::new`]),
    /// - the tensor is missing or has another shape.
    pub fn new(config: LearnedRotaryConfig, vb: VarBuilder<'_>) -> Result<Self> {
        let (name, shape) = match &config.frequencies {
            LearnedFrequencies::Mixed {
                depth,
                num_heads,
                head_dim,
                base,
                ..
            } => {
                if *head_dim == 0 || head_dim % 4 != 0 || *depth == 0 || *num_heads == 0 {
                    bail!(
                        "mixed frequencies need blocks, heads, and a head_dim that is a multiple of 4, got \
                         depth {depth}, num_heads {num_heads}, head_dim {head_dim}"
                    );
                }
                if !(base.is_finite() && *base > 0.0) {
                    bail!("base {base:?} is not a positive finite number");
                }
                ("freqs", vec![2, *depth, *num_heads, head_dim / 2])
            }
            LearnedFrequencies::Scaled { rotary } => ("alpha", vec![rotary.rotary_dim / 2]),
        };
        let inv_freq = match &config.frequencies {
            LearnedFrequencies::Scaled { rotary } => {
                let rotary = Rotary::new(rotary.clone())?;
                if rotary.depends_on_seq_len() {
                    let scaling = rotary.config().scaling.name();
                    bail!("learned frequencies are not defined for {scaling} scaling");
                }
                let inv_freq = rotary.frequencies(0)?.inv_freq_f32();
                Some(Tensor::new(inv_freq, vb.device())?)
            }
            LearnedFrequencies::Mixed { .. } => None,
        };
        let is_new = !vb.contains_tensor(name);
        let weights = vb.get_with_hints(shape, name, Init::Const(0.0))?;
        if is_new && weights.is_variable() && inv_freq.is_none() {
            let first = first_frequencies(&config.frequencies)?;
            let first = first
                .to_dtype(weights.dtype())?
                .to_device(weights.device())?;
            Var::from_tensor(&weights)?.set(&first)?;
        }
        Ok(Self {
            config,
            weights,
            inv_freq,
            plan: Plan::best(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &LearnedRotaryConfig {
        &self.config
    }

    /// Returns the trained tensor, `freqs` or `alpha`.
    pub fn weights(&self) -> &Tensor {
        &self.weights
    }

    /// Computes the angles of a block for [`apply_qkv`](Self::apply_qkv) and [`rotate_by_angles`], in f32.
    /// Gradients flow to the weights.
    ///
    /// For mixed frequencies `positions` has shape `[patches, 2]`, the coordinates x and y, and the angles
    /// `[1, num_heads, patches, head_dim / 2]`. For scaled ones it has shape `[T]` or `[B, T]`, and the
    /// angles have an axis more for the pairs. The block is not used.
    ///
    /// # Errors
    /// Returns an error if the block does not exist, or `positions` has another shape.
    pub fn angles(&self, block: usize, positions: &Tensor) -> Result<Tensor> {
        let positions = positions.to_dtype(DType::F32)?;
        let weights = self.weights.to_dtype(DType::F32)?;
        if let Some(inv_freq) = &self.inv_freq {
            if !matches!(positions.rank(), 1 | 2) {
                bail!(
                    "positions must have shape [T] or [B, T], got {:?}",
                    positions.dims()
                );
            }
            let scaled = inv_freq.mul(&weights.exp()?)?;
            let last = positions.rank();
            return positions.unsqueeze(last)?.broadcast_mul(&scaled);
        }
        let depth = weights.dim(1)?;
        if block >= depth {
            bail!("block {block} does not exist: the table has {depth}");
        }
        if !matches!(positions.dims(), [_, 2]) {
            bail!(
                "positions must have shape [patches, 2], got {:?}",
                positions.dims()
            );
        }
        // [num_heads, 1, pairs] times [patches, 1].
        let along = |axis: usize| {
            let frequencies = weights.i((axis, block))?.unsqueeze(1)?;
            positions.narrow(1, axis, 1)?.broadcast_mul(&frequencies)
        };
        along(0)?.add(&along(1)?)?.unsqueeze(0)
    }

    /// Rotates queries and keys by angles of [`angles`](Self::angles).
    ///
    /// # Errors
    /// Returns the errors of [`rotate_by_angles`].
    pub fn apply_qkv(&self, q: &Tensor, k: &Tensor, angles: &Tensor) -> Result<(Tensor, Tensor)> {
        let LearnedRotaryConfig {
            layout, axis_order, ..
        } = self.config;
        let of = |xs| rotate(xs, angles, layout, axis_order, self.plan);
        Ok((of(q)?, of(k)?))
    }
}

/// Draws mixed frequencies as timm does: magnitudes `base^(-4 i / head_dim)`, a random direction for each
/// block and head, and the direction at a right angle to it for the second half of the columns.
fn first_frequencies(frequencies: &LearnedFrequencies) -> Result<Tensor> {
    let LearnedFrequencies::Mixed {
        depth,
        num_heads,
        head_dim,
        base,
        seed,
    } = *frequencies
    else {
        bail!("scaled frequencies are not drawn");
    };
    let half = head_dim / 4;
    let magnitudes = Rotary::new(RotaryConfig {
        base,
        ..RotaryConfig::new(head_dim / 2)
    })?;
    let magnitudes = magnitudes.frequencies(0)?.inv_freq_f32();
    let count = depth.saturating_mul(num_heads);
    let key = [seed as u32, (seed >> 32) as u32];
    let directions: Vec<f32> = (0..count as u64)
        .map(|head| {
            let [word, ..] = philox4x32_10([head as u32, (head >> 32) as u32, 0, 0], key);
            word as f32 / 4_294_967_296.0 * std::f32::consts::TAU
        })
        .collect();
    let (mut cos, mut sin) = (vec![0f32; count], vec![0f32; count]);
    cos_sin_of_angles(&directions, &mut cos, &mut sin)?;
    let mut out = [Vec::new(), Vec::new()];
    for (cos, sin) in cos.into_iter().zip(sin) {
        // A quarter turn later: (-sin, cos).
        for (axis, [first, second]) in out.iter_mut().zip([[cos, -sin], [sin, cos]]) {
            for component in [first, second] {
                axis.extend(magnitudes.iter().take(half).map(|size| size * component));
            }
        }
    }
    Tensor::from_vec(
        out.concat(),
        (2, depth, num_heads, head_dim / 2),
        &Device::Cpu,
    )
}
