//! Consecutive rows of an encoding, by the way that suits their number.

use crate::backend::Backend;
use crate::rotate::{self, Rotation};
use crate::round::Element;
use crate::sincos::{Position, Rungs};
use crate::sinusoidal::{Inner, Sinusoidal, Source};

impl Sinusoidal {
    /// The maker of `rows` consecutive rows, by the way that suits their number.
    pub(crate) fn writer<T: Element>(
        &self,
        backend: Backend,
        rungs: Rungs,
        start: u64,
        rows: u64,
    ) -> Writer<'_, T> {
        let Inner {
            columns, source, ..
        } = self.inner.as_ref();
        let many = rows >= rotate::few_rows::<T>() as u64;
        let rotation = match source {
            Source::Exact { frequencies, .. }
                if columns.whole_pairs() > 0
                    && rows > 0
                    && (rungs == Rungs::Rotation || rungs == Rungs::Ladder && many) =>
            {
                let start = start as u32;
                Some(Rotation::new(backend.arch(), frequencies, columns, start))
            }
            _ => None,
        };
        Writer {
            encoding: self,
            backend,
            rungs,
            position: start,
            rotation,
        }
    }
}

/// Makes consecutive rows, block after block.
pub(crate) struct Writer<'a, T> {
    encoding: &'a Sinusoidal,
    backend: Backend,
    rungs: Rungs,
    /// The position of the next row.
    position: u64,
    rotation: Option<Rotation<'a, T>>,
}

impl<T: Element> Writer<'_, T> {
    /// Writes the next [`BLOCK`] rows, or fewer for the last block.
    pub(crate) fn write(&mut self, block: &mut [T]) {
        if let Some(rotation) = &mut self.rotation {
            rotation.write(block);
        }
        for row in block.chunks_exact_mut(self.encoding.d_model()) {
            let position = Position::Whole(self.position as u32);
            self.position += 1;
            if self.rotation.is_some() {
                self.encoding.finish_row(position, self.rungs, row);
            } else {
                self.encoding
                    .fill_row(self.backend, position, self.rungs, row);
            }
        }
    }
}
