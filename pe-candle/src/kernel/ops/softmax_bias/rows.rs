//! Rows of scores: biased, masked, and converted to weights.

use std::ops::Range;

use super::exp::Real;
use super::image::Image;
use super::rules::Rules;
use super::terms::Terms;
use super::tile::Tile;
use crate::kernel::element::Activation;
use crate::kernel::isa::{CHUNK, Isa, Level, Ops, Work, each};
use crate::kernel::raw::{Stream, fresh, share_out, threads};

/// Number of elements at which a second thread pays: an exponential costs more than an addition.
const PARALLEL: usize = 1 << 17;

/// Factor of the scores, and the bounds `cap tanh(z / cap)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale<C> {
    pub(super) factor: C,
    /// The cap of the scores, and that of their sums with the bias.
    pub(super) caps: [Option<C>; 2],
}

/// Result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The sum itself, and minus infinity for excluded keys.
    Scores,
    /// The softmax, and zero for excluded keys. A row without keys is zero.
    Weights,
}

/// Returns the factor of the terms in a row: the value of the term that is a gate, or 1.
#[inline(always)]
pub(super) fn gate<C: Real>(terms: &Terms<'_, C>, [batch, head, query]: [usize; 3]) -> C {
    let gates = terms.iter().flatten().filter(|(term, _)| term.is_gate());
    gates.fold(C::ONE, |factor, (term, data)| {
        factor * term.part(data, [batch, head])[query]
    })
}

/// Returns a tile for each term.
pub(super) fn tiles<C: Real>(terms: &Terms<'_, C>, kv_len: usize) -> [Tile<C>; 2] {
    terms.each_ref().map(|term| match term {
        Some((term, _)) => term.tile(kv_len),
        None => Tile::new(false, kv_len),
    })
}

/// Adds the terms to a row, times their gate.
#[inline(always)]
pub(super) fn add<C: Real>(
    terms: &Terms<'_, C>,
    tiles: &mut [Tile<C>; 2],
    (place, q_len): ([usize; 3], usize),
    keys: &Range<usize>,
    z: &mut [C],
) {
    let ([batch, head, query], factor) = (place, gate(terms, place));
    for (term, tile) in terms.iter().zip(tiles) {
        if let Some((term, data)) = term
            && !term.is_gate()
        {
            let owner = [batch, head];
            let part = term.part(data, owner);
            let place = (owner, query, q_len);
            term.add(tile, part, factor, place, keys.clone(), z);
        }
    }
}

/// A pass over the scores `[batch, heads, q_len, kv_len]`.
pub(super) struct Pass<'a, C> {
    pub(super) level: Level,
    pub(super) dims: [usize; 4],
    pub(super) scale: Scale<C>,
    pub(super) rules: &'a Rules,
    pub(super) terms: Terms<'a, C>,
    pub(super) outcome: Outcome,
}

/// Returns how many rows a thread takes at a time.
pub(super) fn share(rows: usize, width: usize) -> usize {
    if rows * width < PARALLEL {
        return rows.max(1);
    }
    match threads() {
        0 | 1 => rows,
        threads => rows.div_ceil(8 * threads),
    }
}

/// Returns sequence, head, and query of a row.
#[inline(always)]
pub(super) fn place([_, heads, q_len, _]: [usize; 4], row: usize) -> [usize; 3] {
    [row / q_len / heads, row / q_len % heads, row % q_len]
}

impl<C: Real> Pass<'_, C> {
    /// Returns the rows in new memory.
    pub(super) fn map<T: Activation<Compute = C>>(&self, xs: &[T]) -> Vec<T> {
        let [batch, heads, q_len, width] = self.dims;
        let rows = batch * heads * q_len;
        fresh(
            xs,
            xs.len(),
            share(rows, width) * width.max(1),
            &|first, stream| {
                let rows = stream.room().checked_div(width).unwrap_or(0);
                self.level.run_apart(Rows {
                    pass: self,
                    first: first.checked_div(width).unwrap_or(0),
                    rows,
                    target: Target::New(xs, stream),
                });
            },
        )
    }

    /// Replaces the rows where they are.
    pub(super) fn map_in_place<T: Activation<Compute = C>>(&self, xs: &mut [T]) {
        let [batch, heads, q_len, width] = self.dims;
        if xs.is_empty() {
            return;
        }
        let rows = batch * heads * q_len;
        let share = share(rows, width);
        share_out(xs.chunks_mut(share * width).enumerate(), |(index, xs)| {
            self.level.run_apart(Rows {
                pass: self,
                first: index * share,
                rows: xs.len() / width,
                target: Target::InPlace(xs),
            });
        });
    }

    /// Computes a row into `z`.
    #[inline(always)]
    fn row<I: Isa, T: Activation<Compute = C>>(
        &self,
        isa: I,
        tiles: &mut [Tile<C>; 2],
        row: usize,
        xs: &[T],
        z: &mut [C],
    ) {
        let at @ [batch, _, query] = place(self.dims, row);
        let width = xs.len();
        let keys = self.rules.keys(query, width);
        let outside = match self.outcome {
            Outcome::Scores => C::MINUS_INFINITY,
            Outcome::Weights => C::ZERO,
        };
        z[..keys.start].fill(outside);
        z[keys.end..].fill(outside);
        let z = &mut z[keys.clone()];
        let ([of_scores, of_sums], xs) = (self.scale.caps, &xs[keys.clone()]);
        match Image::of(&self.terms, at) {
            Some(image) if of_scores.is_none() => {
                image.add_scaled(isa, xs, self.scale.factor, &keys, z);
            }
            _ => {
                scaled(isa, xs, self.scale.factor, z);
                bound(of_scores, z);
                add(&self.terms, tiles, (at, self.dims[2]), &keys, z);
            }
        }
        bound(of_sums, z);
        if let Some(padding) = self.rules.padding(batch, width) {
            for (z, kept) in z.iter_mut().zip(&padding[keys]) {
                *z = if *kept == 0 { C::MINUS_INFINITY } else { *z };
            }
        }
        if self.outcome == Outcome::Weights {
            softmax(isa, z);
        }
    }
}

/// Bounds values by a cap.
#[inline(always)]
fn bound<C: Real>(cap: Option<C>, z: &mut [C]) {
    if let Some(cap) = cap {
        for z in z {
            *z = C::tanh(*z / cap) * cap;
        }
    }
}

/// Writes the elements times a factor.
#[inline(always)]
pub(super) fn scaled<I: Isa, T: Activation>(
    isa: I,
    xs: &[T],
    factor: T::Compute,
    z: &mut [T::Compute],
) where
    T::Compute: Real,
{
    let ops = <T::Compute as crate::kernel::element::Compute>::ops(isa);
    let factors = ops.splat(factor);
    let ((xs, few), (z, others)) = (xs.as_chunks::<CHUNK>(), z.as_chunks_mut::<CHUNK>());
    for (x, z) in xs.iter().zip(z) {
        *z = ops.array(ops.mul(T::load(isa, *x), factors));
    }
    for (x, z) in few.iter().zip(others) {
        *z = x.widen() * factor;
    }
}

/// Returns the sum of the values, in lanes: the same additions in the same order on every instruction set.
#[inline(always)]
pub(super) fn sum<I: Isa, C: Real>(isa: I, z: &[C]) -> C {
    let ops = C::ops(isa);
    let (chunks, few) = z.as_chunks::<CHUNK>();
    let mut lanes = ops.splat(C::ZERO);
    for chunk in chunks {
        lanes = ops.add(lanes, ops.load(*chunk));
    }
    let mut lanes = ops.array(lanes);
    for (lane, value) in lanes.iter_mut().zip(few) {
        *lane += *value;
    }
    let mut half = CHUNK / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Returns the largest of the values that is not NaN, or minus infinity.
#[inline(always)]
fn largest<C: Real>(z: &[C]) -> C {
    let (chunks, few) = z.as_chunks::<CHUNK>();
    let mut lanes = [C::MINUS_INFINITY; CHUNK];
    for chunk in chunks {
        let before = lanes;
        lanes = each(|lane| {
            if chunk[lane] > before[lane] {
                chunk[lane]
            } else {
                before[lane]
            }
        });
    }
    let larger = |most: C, z: &C| if *z > most { *z } else { most };
    let most = lanes.iter().fold(C::MINUS_INFINITY, larger);
    few.iter().fold(most, larger)
}

/// Replaces values by their softmax. Without a value above minus infinity the weights are zero. A NaN, and plus infinity, make
/// all of them NaN.
#[inline(always)]
fn softmax<I: Isa, C: Real>(isa: I, z: &mut [C]) {
    let most = largest(z);
    let most = if most == C::MINUS_INFINITY {
        C::ZERO
    } else {
        most
    };
    for z in &mut *z {
        *z = C::exp(*z - most);
    }
    let sum = sum(isa, z);
    if sum == C::ZERO {
        return;
    }
    for z in &mut *z {
        *z /= sum;
    }
}

/// Source and destination of rows.
pub(super) enum Target<'a, 's, T> {
    New(&'a [T], &'a mut Stream<'s, T>),
    InPlace(&'a mut [T]),
}

/// The rows starting at `first`.
struct Rows<'a, 's, T, C> {
    pass: &'a Pass<'a, C>,
    first: usize,
    rows: usize,
    target: Target<'a, 's, T>,
}

impl<T: Activation<Compute = C>, C: Real> Work for Rows<'_, '_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let width = self.pass.dims[3];
        let mut z = vec![C::ZERO; width];
        let mut tiles = tiles(&self.pass.terms, width);
        match self.target {
            Target::New(xs, stream) => {
                for row in self.first..self.first + self.rows {
                    let xs = &xs[row * width..][..width];
                    self.pass.row(isa, &mut tiles, row, xs, &mut z);
                    stream.select(row * width, width);
                    write(isa, &z, stream);
                }
            }
            Target::InPlace(xs) => {
                for (row, xs) in (self.first..).zip(xs.chunks_exact_mut(width)) {
                    self.pass.row(isa, &mut tiles, row, xs, &mut z);
                    write(isa, &z, &mut Stream::in_place(xs));
                }
            }
        }
    }
}

/// Rounds a row into the run that a stream has selected.
#[inline(always)]
pub(super) fn write<I: Isa, T: Activation>(isa: I, z: &[T::Compute], stream: &mut Stream<'_, T>)
where
    T::Compute: Real,
{
    let ops = <T::Compute as crate::kernel::element::Compute>::ops(isa);
    let (chunks, few) = z.as_chunks::<CHUNK>();
    stream.replace(
        chunks.iter(),
        #[inline(always)]
        |_: [T; CHUNK], z| T::store(isa, ops.load(*z)),
    );
    stream.replace(
        few.iter(),
        #[inline(always)]
        |_: [T; 1], z| [T::round(*z)],
    );
}
