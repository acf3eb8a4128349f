//! Consecutive rows of an encoding, by the way that suits their number.

use crate::families::sinusoidal::{Inner, Sinusoidal, Source};
use crate::rows::element::Element;
use crate::rows::recurrence::{self, Rotation};
use crate::sincos::Rungs;
use crate::sincos::backend::Backend;
use crate::turns::position::Position;

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
        let many = rows >= recurrence::few_rows::<T>() as u64;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, SinusoidalConfig, f16};

    fn rotates<T: Element>(config: SinusoidalConfig, rungs: Rungs, rows: u64) -> bool {
        let encoding = Sinusoidal::new(config).unwrap();
        let writer = encoding.writer::<T>(Backend::best(), rungs, 7, rows);
        writer.rotation.is_some()
    }

    /// Either way makes the same bits; tests that force the rotation would test nothing if they did
    /// not get it.
    #[test]
    fn many_rows_are_rotated_and_those_that_a_test_wants_so() {
        fn check<T: Element>() {
            let many = recurrence::few_rows::<T>() as u64;
            assert!(many > 2);
            for (rungs, rows, expected) in [
                (Rungs::Ladder, 0, false),
                (Rungs::Ladder, 1, false),
                (Rungs::Ladder, many - 1, false),
                (Rungs::Ladder, many, true),
                (Rungs::Ladder, many + 1, true),
                (Rungs::Rotation, 0, false),
                (Rungs::Rotation, 1, true),
                (Rungs::Rotation, many, true),
                (Rungs::NarrowUp, 1, false),
                (Rungs::NarrowUp, many, false),
                (Rungs::FullOnly, many, false),
            ] {
                let found = rotates::<T>(SinusoidalConfig::new(6), rungs, rows);
                assert_eq!(found, expected, "{}, {rungs:?}, {rows} rows", T::NAME);
            }
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
    }

    #[test]
    fn what_has_no_whole_pairs_or_no_exact_frequencies_is_not_rotated() {
        let paper = SinusoidalConfig::new(6);
        let lone = SinusoidalConfig {
            odd_width: crate::OddWidth::Truncate,
            ..SinusoidalConfig::new(1)
        };
        let recipe = SinusoidalConfig {
            recipe: Recipe::ExpF32,
            ..paper
        };
        let found = [lone, recipe, paper].map(|config| rotates::<f32>(config, Rungs::Rotation, 99));
        assert_eq!(found, [false, false, true]);
    }
}
