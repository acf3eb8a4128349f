//! Addresses of the rows of a tensor of heads.

use candle_core::Layout;

use crate::tensors::axes::HeadOrder;

/// A tensor `[B, H, T, D]`, `[B, T, H, D]`, or `[T, B, H, D]` in memory, of any strides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) start: usize,
    order: HeadOrder,
    /// Sizes of the outer three axes, in their order.
    dims: [usize; 3],
    strides: [usize; 3],
    pub(super) width: usize,
    /// Stride between elements.
    pub(super) step: usize,
}

impl Heads {
    /// Returns `None` for other than four axes.
    pub(super) fn new(layout: &Layout, order: HeadOrder) -> Option<Self> {
        let (&[i, j, k, width], &[a, b, c, step]) = (layout.dims(), layout.stride()) else {
            return None;
        };
        // With one position, as in decoding, the order has no effect. Time-first rows
        // come in longer runs.
        let (order, dims, strides) = match order {
            HeadOrder::HeadFirst if k == 1 => (HeadOrder::TimeFirst, [i, 1, j], [a, c, b]),
            _ => (order, [i, j, k], [a, b, c]),
        };
        Some(Self {
            start: layout.start_offset(),
            order,
            dims,
            strides,
            width,
            step,
        })
    }

    /// Returns the number of rows, one for each token and head.
    pub(super) fn rows(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns whether the rows follow each other in memory.
    pub(super) fn contiguous(&self) -> bool {
        let ([_, j, k], row) = (self.dims, self.width);
        self.step == 1
            && self.strides[2] == row
            && (j == 1 || self.strides[1] == k * row)
            && self.strides[0] == j * k * row
    }

    /// Returns the number of rows for each index of the outermost axis, and the distance in memory from one
    /// index to the next, if the rows of an index lie before those of the next one.
    pub(super) fn blocks(&self) -> Option<(usize, usize)> {
        let outer = self.dims.iter().position(|dim| *dim > 1)?;
        let block: usize = self.dims[outer + 1..].iter().product();
        let inner = self.dims.iter().zip(&self.strides).skip(outer + 1);
        let width = self.width.saturating_sub(1) * self.step;
        let span: usize = inner
            .map(|(dim, stride)| dim.saturating_sub(1) * stride)
            .sum();
        let stride = self.strides[outer];
        (block > 0 && width + span < stride).then_some((block, stride))
    }

    /// Returns the length of the runs of rows along time, where heads lie closer together in memory than
    /// positions: as they do where a projection's result is seen head first.
    pub(super) fn scattered_runs(&self) -> Option<usize> {
        let ([_, heads, time], [_, of_head, of_time]) = (self.dims, self.strides);
        let scattered = self.order == HeadOrder::HeadFirst && of_head < of_time;
        (scattered && heads > 1).then_some(time)
    }

    /// Returns the length of the axis of time.
    pub(super) fn time(&self) -> usize {
        match self.order {
            HeadOrder::HeadFirst => self.dims[2],
            HeadOrder::TimeFirst => self.dims[1],
            HeadOrder::SequenceFirst => self.dims[0],
        }
    }

    /// Visits the rows `first .. end` in their order, with the index of the first element of each, its batch, its
    /// head, and its time.
    #[inline(always)]
    pub(super) fn visit(
        &self,
        first: usize,
        end: usize,
        mut f: impl FnMut(usize, [usize; 2], usize),
    ) {
        let ([_, middle, inner], [a, b, c]) = (self.dims, self.strides);
        let (run, mut from) = (first / inner, first % inner);
        let (mut i, mut j) = (run / middle, run % middle);
        let mut left = end - first;
        while left > 0 {
            let to = inner.min(from + left);
            let place = self.start + i * a + j * b;
            for k in from..to {
                let (of, time) = match self.order {
                    HeadOrder::HeadFirst => ([i, j], k),
                    HeadOrder::TimeFirst => ([i, k], j),
                    HeadOrder::SequenceFirst => ([j, k], i),
                };
                f(place + k * c, of, time);
            }
            left -= to - from;
            (from, j) = (0, j + 1);
            if j == middle {
                (i, j) = (i + 1, 0);
            }
        }
    }
}
