//! The letters: two weights of one font, in the program itself.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, OutlineCurve};
use anyhow::{Result, anyhow};

/// Thickness of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Medium,
}

/// The height of capitals, in ems.
pub(crate) const CAPITALS: f64 = 0.711;

/// The fonts' files, each with its weight in style sheets.
pub(crate) const FACES: [(u32, &[u8]); 2] = [
    (
        400,
        include_bytes!("../../../assets/fonts/Roboto-Regular.subset.ttf"),
    ),
    (
        500,
        include_bytes!("../../../assets/fonts/Roboto-Medium.subset.ttf"),
    ),
];

impl Weight {
    fn font(self) -> Result<&'static FontRef<'static>> {
        static REGULAR: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
        static MEDIUM: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
        let (slot, bytes) = match self {
            Self::Regular => (&REGULAR, FACES[0].1),
            Self::Medium => (&MEDIUM, FACES[1].1),
        };
        slot.get_or_init(|| FontRef::try_from_slice(bytes).ok())
            .as_ref()
            .ok_or_else(|| anyhow!("the program's own font cannot be read"))
    }

    /// Returns the width of a text in ems.
    pub(crate) fn width(self, text: &str) -> Result<f64> {
        let font = self.font()?;
        let em = font.units_per_em().unwrap_or(2048.0);
        let units: f32 = text
            .chars()
            .map(|c| font.h_advance_unscaled(font.glyph_id(c)))
            .sum();
        Ok(f64::from(units / em))
    }

    /// Returns the outlines of a text, one list of curves per letter, in ems from the start of
    /// the baseline. The y axis points up.
    pub(crate) fn outlines(self, text: &str) -> Result<Vec<(f32, Vec<OutlineCurve>)>> {
        let font = self.font()?;
        let em = font.units_per_em().unwrap_or(2048.0);
        let mut at = 0.0;
        let mut letters = Vec::new();
        for c in text.chars() {
            let glyph = font.glyph_id(c);
            if let Some(outline) = font.outline(glyph) {
                let scale = |p: ab_glyph::Point| ab_glyph::point(p.x / em, p.y / em);
                let curves = outline.curves.into_iter().map(|curve| match curve {
                    OutlineCurve::Line(a, b) => OutlineCurve::Line(scale(a), scale(b)),
                    OutlineCurve::Quad(a, b, c) => OutlineCurve::Quad(scale(a), scale(b), scale(c)),
                    OutlineCurve::Cubic(a, b, c, d) => {
                        OutlineCurve::Cubic(scale(a), scale(b), scale(c), scale(d))
                    }
                });
                letters.push((at, curves.collect()));
            }
            at += font.h_advance_unscaled(glyph) / em;
        }
        Ok(letters)
    }

    /// Returns whether the font has every character of a text.
    #[cfg(test)]
    pub(crate) fn covers(self, text: &str) -> bool {
        self.font().is_ok_and(|font| {
            text.chars()
                .all(|c| c == ' ' || c == '\n' || font.glyph_id(c).0 != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_has_the_letters_that_figures_use() {
        for weight in [Weight::Regular, Weight::Medium] {
            assert!(weight.covers("Position p = 0 ... 4,095 × θ π λ Δ − 10⁻³ √ °"));
            assert!(!weight.covers("語"));
            let narrow = weight.width("iiii").unwrap();
            let wide = weight.width("WWWW").unwrap();
            assert!(narrow < 0.6 * wide, "{narrow} {wide}");
            assert_eq!(weight.outlines("a b").unwrap().len(), 2);
        }
    }
}
