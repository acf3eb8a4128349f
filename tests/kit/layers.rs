//! Cases of layers: types, orders of axes, layouts of memory, instruction sets. A new layer adds one closure.

use std::fmt::{self, Debug, Display};

use candle_core::{DType, Device, Result, Tensor};
use pe_candle::testing::{InstructionSet, Planned, Route};
use pe_candle::{AxisOrder, HeadOrder};

use crate::tensors::{TYPES, f64s, numbers};

/// An input of a layer, and the type of the layer's table.
pub struct Case<O> {
    pub dtype: DType,
    pub table: DType,
    pub order: O,
    pub view: &'static str,
    pub xs: Tensor,
}

impl<O: Debug> Display for Case<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, table, order, view) = (self.dtype, self.table, &self.order, self.view);
        write!(f, "{dtype:?} {table:?} {order:?} {view}")
    }
}

/// Returns the inputs of all pairs of types in all orders of axes. `views` returns those of one type and order.
pub fn cases<O: Copy, const N: usize>(
    orders: [O; N],
    views: impl Fn(O, DType) -> Vec<(&'static str, Tensor)>,
) -> Vec<Case<O>> {
    let mut all = Vec::new();
    for (dtype, table) in TYPES {
        for order in orders {
            let of = |(view, xs)| Case {
                dtype,
                table,
                order,
                view,
                xs,
            };
            all.extend(views(order, dtype).into_iter().map(of));
        }
    }
    all
}

/// Returns the layer on every instruction set of this machine.
pub fn on_each_set<L: Planned>(layer: &L) -> Vec<(&'static str, L)> {
    let on = |(name, set)| (name, layer.on(set));
    InstructionSet::available().into_iter().map(on).collect()
}

/// Compares the results of a layer's calls on every instruction set with those by its references, bit for bit.
pub fn assert_fused<L: Planned>(
    layer: &L,
    references: &[Route],
    about: impl Display,
    calls: impl Fn(&L) -> Result<Vec<Tensor>>,
) {
    let found = |layer: &L| -> Vec<(Vec<usize>, Vec<u64>)> {
        let found = calls(layer).unwrap_or_else(|error| panic!("{about}: {error}"));
        let found = found.iter();
        found.map(|ys| (ys.dims().to_vec(), bits(ys))).collect()
    };
    let sets = on_each_set(layer);
    let results: Vec<_> = sets
        .iter()
        .map(|(set, layer)| (set, found(layer)))
        .collect();
    for route in references {
        let wanted = found(&layer.by_reference(*route));
        assert!(!wanted.is_empty());
        for (set, found) in &results {
            for (call, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                assert!(found == wanted, "{about} {set} call {call}");
            }
        }
    }
}

/// Returns the bits of all elements, the same for every NaN.
pub fn bits(tensor: &Tensor) -> Vec<u64> {
    if tensor.elem_count() == 0 {
        return Vec::new();
    }
    let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    f64s(tensor).into_iter().map(bits).collect()
}

/// Returns the shape of activations.
pub fn activations(order: AxisOrder, batch: usize, time: usize, width: usize) -> Vec<usize> {
    match order {
        AxisOrder::BatchFirst => vec![batch, time, width],
        AxisOrder::SequenceFirst => vec![time, batch, width],
        AxisOrder::Unbatched => vec![time, width],
    }
}

/// Returns the shape of heads.
pub fn heads(
    order: HeadOrder,
    batch: usize,
    heads: usize,
    time: usize,
    width: usize,
) -> [usize; 4] {
    match order {
        HeadOrder::HeadFirst => [batch, heads, time, width],
        HeadOrder::TimeFirst => [batch, time, heads, width],
        HeadOrder::SequenceFirst => [time, batch, heads, width],
    }
}

/// Returns heads of one shape in several layouts of memory.
pub fn head_views(shape: [usize; 4], dtype: DType) -> Vec<(&'static str, Tensor)> {
    let [i, j, k, d] = shape;
    let of = |shape: [usize; 4], seed| numbers(&shape, dtype, seed);
    let wide = |tensor: Tensor| tensor.broadcast_as(shape.as_slice()).unwrap();
    let views = vec![
        ("contiguous", of(shape, 1)),
        ("offset", of([i + 2, j, k, d], 2).narrow(0, 2, i).unwrap()),
        ("transposed", of([i, k, j, d], 3).transpose(1, 2).unwrap()),
        (
            "part of qkv",
            of([i, j, k, 3 * d], 4).narrow(3, d, d).unwrap(),
        ),
        (
            "columns apart",
            of([i, j, d, k], 5).transpose(2, 3).unwrap(),
        ),
        (
            "all turned",
            of([d, k, j, i], 6).permute((3, 2, 1, 0)).unwrap(),
        ),
        ("broadcast", wide(of([1, j, 1, d], 7))),
        ("one column", wide(of([i, j, k, 1], 8))),
    ];
    for (name, view) in &views {
        assert_eq!(view.dims(), shape, "{name}");
    }
    views
}

/// Returns the positions `first..first + time` as ids.
pub fn steps(first: usize, time: usize) -> Tensor {
    let ids: Vec<u32> = (first..first + time).map(|id| id as u32).collect();
    Tensor::from_vec(ids, time, &Device::Cpu).unwrap()
}

/// Returns the same elements, as far apart from each other, in memory of their own.
pub fn copy_with_strides(xs: &Tensor) -> Tensor {
    if xs.elem_count() == 0 || xs.is_contiguous() {
        return xs.force_contiguous().unwrap();
    }
    // Transposed back and forth, or cut out of wider rows again.
    let last = xs.rank() - 1;
    if xs.stride()[last] == 1 {
        let wider = xs.pad_with_zeros(last, 3, 2).unwrap();
        return wider.narrow(last, 3, xs.dims()[last]).unwrap();
    }
    let transposed = xs.transpose(0, last).unwrap();
    let copy = transposed.force_contiguous().unwrap();
    copy.transpose(0, last).unwrap()
}

/// Returns the input after a pass in place.
pub fn changed(xs: Tensor, pass: impl FnOnce(&Tensor) -> Result<()>) -> Result<Tensor> {
    pass(&xs)?;
    Ok(xs)
}
