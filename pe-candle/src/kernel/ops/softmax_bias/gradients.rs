//! The backward pass: gradients of scores, and of the terms that were added to them.

use std::mem::take;
use std::sync::{Mutex, PoisonError};

use candle_core::{Result, bail};

use super::exp::Real;
use super::rows::{Outcome, Scale, add, gate, place, scaled, share, sum, tiles, write};
use super::rules::Rules;
use super::terms::{Term, Terms};
use super::tile::Tile;
use crate::kernel::element::Activation;
use crate::kernel::isa::{Isa, Level, Work};
use crate::kernel::raw::{Stream, fresh, share_out, threads, zeros};

/// The gradient with respect to the sums of one row, from that of the result:
/// `y (g - sum(g y))` for weights `y`, and `g` for scores.
pub(super) struct Back<'a, T: Activation> {
    pub(super) level: Level,
    pub(super) dims: [usize; 4],
    pub(super) rules: &'a Rules,
    pub(super) outcome: Outcome,
    /// The results, and their gradient.
    pub(super) ys: &'a [T],
    pub(super) gs: &'a [T],
}

impl<T: Activation> Back<'_, T>
where
    T::Compute: Real,
{
    /// Computes the gradient of a row into `dz`, and returns the keys that have one. `y` is memory for a row.
    #[inline(always)]
    fn row<I: Isa>(
        &self,
        isa: I,
        row: usize,
        y: &mut [T::Compute],
        dz: &mut [T::Compute],
    ) -> std::ops::Range<usize> {
        let (width, [batch, _, query]) = (self.dims[3], place(self.dims, row));
        let keys = self.rules.keys(query, width);
        let of_row = row * width + keys.start..row * width + keys.end;
        let (one, zero) = (<T::Compute as Real>::ONE, <T::Compute as Real>::ZERO);
        let gradient = &mut dz[keys.clone()];
        scaled(isa, &self.gs[of_row.clone()], one, gradient);
        match self.outcome {
            Outcome::Weights => {
                let y = &mut y[keys.clone()];
                scaled(isa, &self.ys[of_row.clone()], one, y);
                for (dz, y) in gradient.iter_mut().zip(&*y) {
                    *dz *= *y;
                }
                let dot = sum(isa, gradient);
                scaled(isa, &self.gs[of_row], one, gradient);
                for (dz, y) in gradient.iter_mut().zip(&*y) {
                    *dz = (*dz - dot) * *y;
                }
            }
            Outcome::Scores => {
                if let Some(padding) = self.rules.padding(batch, width) {
                    for (dz, kept) in gradient.iter_mut().zip(&padding[keys.clone()]) {
                        *dz = if *kept == 0 { zero } else { *dz };
                    }
                }
            }
        }
        keys
    }

    /// Returns the gradient with respect to the scores, and those of the values of `owned` terms, with their counts. `xs` are the
    /// scores, or their bounded sums with the bias if these have a cap.
    ///
    /// A term is owned if each sequence and head has values of its own ([`Self::owns`]): their gradients are added up in the order of
    /// the queries, by the thread that has the sequence and head.
    pub(super) fn to_scores(
        &self,
        xs: &[T],
        scale: Scale<T::Compute>,
        owned: [Option<(&Term, usize)>; 2],
    ) -> Result<Gradients<T>> {
        let [batch, heads, q_len, width] = self.dims;
        let rows = batch * heads * q_len;
        let mut share = share(rows, width);
        if owned.iter().any(Option::is_some) {
            share = share.next_multiple_of(q_len.max(1));
        }
        let of = |term: Option<(_, usize)>| sums(term.map_or(0, |(_, count)| count));
        let [mut first, mut second] = [of(owned[0])?, of(owned[1])?];
        let owned = owned.map(|term| term.map(|(term, _)| term));
        // The values of each sequence and head in turn, which are not always next to each other.
        let mut parts: Vec<[&mut [_]; 2]> = Vec::new();
        parts.resize_with(batch * heads, Default::default);
        for (index, (term, sums)) in owned.iter().zip([&mut first, &mut second]).enumerate() {
            if let Some(term) = term {
                for (at, sums) in sums.chunks_mut(term.len.max(1)).enumerate() {
                    parts[term.owner(at, [batch, heads])][index] = sums;
                }
            }
        }
        let parts = Mutex::new(parts);
        let dx = fresh(xs, xs.len(), share * width.max(1), &|first, stream| {
            let first = first.checked_div(width).unwrap_or(0);
            let rows = stream.room().checked_div(width).unwrap_or(0);
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            let own = parts.iter_mut().skip(first / q_len.max(1));
            let own = own.take(rows.div_ceil(q_len.max(1))).map(take).collect();
            drop(parts);
            self.level.run_apart(ToScores {
                back: self,
                first,
                rows,
                xs,
                scale,
                owned,
                parts: own,
                stream,
            });
        });
        drop(parts);
        Ok((dx, [first, second]))
    }

    /// Returns whether a term has values of its own for each sequence and head, and there are enough of them to keep all threads busy.
    pub(super) fn owns(&self, term: &Term, count: usize) -> bool {
        let [batch, heads, q_len, width] = self.dims;
        let (owners, rows) = (batch * heads, batch * heads * q_len);
        let enough = share(rows, width) == rows || owners >= 4 * threads();
        enough && !term.is_gate() && owners * term.len == count
    }

    /// Returns the gradient with respect to the values of a term. The other term is its gate, or is gated by it, or has no
    /// influence. Sequences and heads are added up in their order, by one thread for each part of the values: the bits do not
    /// depend on the threads.
    pub(super) fn to_term(
        &self,
        term: &Term,
        other: Terms<'_, T::Compute>,
        count: usize,
    ) -> Result<Vec<T::Compute>> {
        let mut sums = sums(count)?;
        let [batch, heads, q_len, width] = self.dims;
        let part = |(index, sums): (usize, &mut [T::Compute])| {
            self.level.run_apart(ToTerm {
                back: self,
                term,
                other,
                first: index * term.len,
                sums,
            });
        };
        let parts = sums.chunks_mut(term.len.max(1)).enumerate();
        let rows = batch * heads * q_len;
        if share(rows, width) < rows {
            share_out(parts, part);
        } else {
            parts.for_each(part);
        }
        Ok(sums)
    }
}

/// The gradient of the scores, and those of the values of two terms.
pub(super) type Gradients<T> = (Vec<T>, [Vec<<T as Activation>::Compute>; 2]);

/// Returns zeros in memory that has not been touched yet: reading it first would cost two faults for each page.
fn sums<C: Real>(count: usize) -> Result<Vec<C>> {
    match zeros(count) {
        Some(zeros) => Ok(zeros),
        None => bail!("no memory for the gradient of a bias of {count} values"),
    }
}

struct ToScores<'a, 'v, 's, T: Activation> {
    back: &'a Back<'a, T>,
    first: usize,
    rows: usize,
    xs: &'a [T],
    scale: Scale<T::Compute>,
    owned: [Option<&'a Term>; 2],
    /// The values of each sequence and head.
    parts: Vec<[&'v mut [T::Compute]; 2]>,
    stream: &'a mut Stream<'s, T>,
}

impl<T: Activation> Work for ToScores<'_, '_, '_, T>
where
    T::Compute: Real,
{
    type Output = ();

    /// Measured: 3 to 6 % faster at most, for 60 kB of code.
    const AVX512: bool = false;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let [_, _, q_len, width] = self.back.dims;
        let (one, zero) = (<T::Compute as Real>::ONE, <T::Compute as Real>::ZERO);
        let (mut y, mut dz) = (vec![zero; width], vec![zero; width]);
        let Scale { factor, caps } = self.scale;
        let mut tiles = self.owned.map(|term| match term {
            Some(term) => term.tile(width),
            None => Tile::new(false, width),
        });
        let mut parts = self.parts.into_iter();
        let mut part = Default::default();
        for row in self.first..self.first + self.rows {
            let (query, keys) = (row % q_len, self.back.row(isa, row, &mut y, &mut dz));
            if query == 0 {
                part = parts.next().unwrap_or_default();
            }
            let own = self.owned.iter().zip(&mut part).zip(&mut tiles);
            for ((term, part), tile) in own {
                if let Some(term) = term {
                    term.collect(tile, part, query, keys.clone(), &dz[keys.clone()]);
                    if query + 1 == q_len {
                        term.empty(tile, part);
                    }
                }
            }
            dz[..keys.start].fill(zero);
            dz[keys.end..].fill(zero);
            let xs = &self.xs[row * width..][keys.clone()];
            let dz_of_keys = dz[keys].iter_mut().zip(xs);
            match caps {
                [Some(cap), _] => dz_of_keys.for_each(|(dz, x)| {
                    let tanh = <T::Compute as Real>::tanh(x.widen() * factor / cap);
                    *dz *= (one - tanh * tanh) * factor;
                }),
                [None, Some(cap)] => dz_of_keys.for_each(|(dz, sum)| {
                    let tanh = sum.widen() / cap;
                    let slope = (one - tanh * tanh) * factor;
                    // The sum of a key of padding is minus infinity.
                    *dz = if *dz == zero { zero } else { *dz * slope };
                }),
                [None, None] => dz_of_keys.for_each(|(dz, _)| *dz *= factor),
            }
            self.stream.select(row * width, width);
            write(isa, &dz, self.stream);
        }
    }
}

struct ToTerm<'a, T: Activation> {
    back: &'a Back<'a, T>,
    term: &'a Term,
    other: Terms<'a, T::Compute>,
    /// The values starting at `first`.
    first: usize,
    sums: &'a mut [T::Compute],
}

impl<T: Activation> Work for ToTerm<'_, T>
where
    T::Compute: Real,
{
    type Output = ();

    /// As for [`ToScores`].
    const AVX512: bool = false;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let [batch, heads, q_len, width] = self.back.dims;
        let zero = <T::Compute as Real>::ZERO;
        let (mut y, mut dz) = (vec![zero; width], vec![zero; width]);
        let mut tile = self.term.tile(width);
        let mut others = tiles(&self.other, width);
        let steps = self.term.steps;
        let owners = (0..batch).flat_map(|batch| (0..heads).map(move |head| [batch, head]));
        let own = owners.filter(|[batch, head]| batch * steps[0] + head * steps[1] == self.first);
        for [batch, head] in own {
            for query in 0..q_len {
                let row = (batch * heads + head) * q_len + query;
                let keys = self.back.row(isa, row, &mut y, &mut dz);
                let (at, dz) = ([batch, head, query], &mut dz[keys.clone()]);
                if self.term.is_gate() {
                    let values = &mut y[keys.clone()];
                    values.fill(zero);
                    add(&self.other, &mut others, (at, q_len), &keys, values);
                    values.iter_mut().zip(dz).for_each(|(y, dz)| *y *= *dz);
                    self.sums[query] += sum(isa, values);
                } else {
                    let factor = gate(&self.other, at);
                    dz.iter_mut().for_each(|dz| *dz *= factor);
                    self.term.collect(&mut tile, self.sums, query, keys, dz);
                }
            }
            self.term.empty(&mut tile, self.sums);
        }
    }
}
