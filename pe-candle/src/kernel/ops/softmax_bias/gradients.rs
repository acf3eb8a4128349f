//! The way back: gradients of scores, and of what was added to them.

use super::exp::Real;
use super::rows::{Outcome, Scale, Terms, add, gate, place, scaled, share, sum, write};
use super::rules::Rules;
use super::terms::Term;
use crate::kernel::element::Activation;
use crate::kernel::isa::{Isa, Level, Work};
use crate::kernel::raw::{Stream, fresh, share_out};

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

    /// Returns the gradient with respect to the scores. `xs` are the scores, or their bounded sums with the bias if these have a cap.
    pub(super) fn to_scores(&self, xs: &[T], scale: Scale<T::Compute>) -> Vec<T> {
        let [batch, heads, q_len, width] = self.dims;
        let share = share(batch * heads * q_len, width) * width.max(1);
        fresh(xs, xs.len(), share, &|first, stream| {
            self.level.run(ToScores {
                back: self,
                first: first.checked_div(width).unwrap_or(0),
                rows: stream.room().checked_div(width).unwrap_or(0),
                xs,
                scale,
                stream,
            });
        })
    }

    /// Returns the gradient with respect to the values of a term. The other term is a gate, or what this one is the gate of, or has no
    /// influence. Sequences and heads are added up in their order, by one thread for each part of the values: the bits do not
    /// depend on the threads.
    pub(super) fn to_term(
        &self,
        term: &Term,
        other: Terms<'_, T::Compute>,
        count: usize,
    ) -> Vec<T::Compute> {
        let mut sums = vec![<T::Compute as Real>::ZERO; count];
        let [batch, heads, q_len, width] = self.dims;
        let part = |(index, sums): (usize, &mut [T::Compute])| {
            self.level.run(ToTerm {
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
        sums
    }
}

struct ToScores<'a, 's, T: Activation> {
    back: &'a Back<'a, T>,
    first: usize,
    rows: usize,
    xs: &'a [T],
    scale: Scale<T::Compute>,
    stream: &'a mut Stream<'s, T>,
}

impl<T: Activation> Work for ToScores<'_, '_, T>
where
    T::Compute: Real,
{
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let width = self.back.dims[3];
        let (one, zero) = (<T::Compute as Real>::ONE, <T::Compute as Real>::ZERO);
        let (mut y, mut dz) = (vec![zero; width], vec![zero; width]);
        let Scale { factor, caps } = self.scale;
        for row in self.first..self.first + self.rows {
            let keys = self.back.row(isa, row, &mut y, &mut dz);
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
    /// The values from `first` on.
    first: usize,
    sums: &'a mut [T::Compute],
}

impl<T: Activation> Work for ToTerm<'_, T>
where
    T::Compute: Real,
{
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let [batch, heads, q_len, width] = self.back.dims;
        let zero = <T::Compute as Real>::ZERO;
        let (mut y, mut dz) = (vec![zero; width], vec![zero; width]);
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
                    add(&self.other, at, &keys, values);
                    values.iter_mut().zip(dz).for_each(|(y, dz)| *y *= *dz);
                    self.sums[query] += sum(isa, values);
                } else {
                    let factor = gate(&self.other, at);
                    dz.iter_mut().for_each(|dz| *dz *= factor);
                    self.term.collect(self.sums, query, keys, dz);
                }
            }
        }
    }
}
