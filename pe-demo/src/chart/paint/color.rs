//! Colors, and the maps from numbers to colors.

use std::sync::LazyLock;

/// Red, green, blue of sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Rgb {
    /// Splits a number 0xrrggbb into its channels.
    const fn new(number: u32) -> Self {
        let [_, r, g, b] = number.to_be_bytes();
        Self(r, g, b)
    }

    /// Formats the color as style sheets write it.
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Ground of a picture, and the colors that are legible on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Dark on white.
    Light,
    /// Light on black.
    Dark,
    /// No ground; colors that are legible on white and on black.
    Transparent,
}

/// A color by its role, for each theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tone {
    /// The page's variable of this color.
    pub(crate) name: &'static str,
    light: Rgb,
    dark: Rgb,
    /// On a ground that is not known.
    clear: Rgb,
}

impl Tone {
    const fn new(name: &'static str, light: u32, dark: u32, clear: u32) -> Self {
        Self {
            name,
            light: Rgb::new(light),
            dark: Rgb::new(dark),
            clear: Rgb::new(clear),
        }
    }

    /// Returns the color in a theme.
    pub(crate) fn of(self, theme: Theme) -> Rgb {
        match theme {
            Theme::Light => self.light,
            Theme::Dark => self.dark,
            Theme::Transparent => self.clear,
        }
    }

    /// Returns the opacity in a theme. Lines of the grid are faint on any ground.
    pub(crate) fn opacity(self, theme: Theme) -> f64 {
        match theme {
            Theme::Transparent if self == GRID => 0.25,
            _ => 1.0,
        }
    }
}

/// Behind everything. The theme without a ground never draws it.
pub(crate) const PAPER: Tone = Tone::new("paper", 0xff_ff_ff, 0x12_16_1d, 0xff_ff_ff);
/// Titles.
pub(crate) const INK: Tone = Tone::new("ink", 0x1b_21_2c, 0xec_ef_f4, 0x73_79_83);
/// Labels and notes.
pub(crate) const MUTED: Tone = Tone::new("muted", 0x59_63_73, 0xa6_b0_c0, 0x75_7b_85);
/// Axes and frames.
pub(crate) const AXIS: Tone = Tone::new("axis", 0x9a_a3_b0, 0x66_71_84, 0x80_88_94);
/// Lines of the grid.
pub(crate) const GRID: Tone = Tone::new("grid", 0xe4_e8_ed, 0x2a_31_3d, 0x80_88_94);

/// Values above zero, and below: the ends of [`Colors::Diverging`], a little lighter.
pub(crate) const POSITIVE: Tone = Tone::new("positive", 0x2b_74_b8, 0x5b_a7_ee, 0x3d_89_cf);
pub(crate) const NEGATIVE: Tone = Tone::new("negative", 0xc9_3a_3f, 0xf2_70_6f, 0xdb_52_55);

/// The curves of a figure, in their order: the colors of Okabe and Ito, distinct for people who
/// see red and green alike. On black the lighter ones come first, and green is lighter. Yellow is
/// left out on white, where it is not legible.
pub(crate) const SERIES: [Tone; 7] = [
    Tone::new("series-1", 0x00_72_b2, 0x56_b4_e9, 0x00_72_b2),
    Tone::new("series-2", 0xd5_5e_00, 0xe6_9f_00, 0xd5_5e_00),
    Tone::new("series-3", 0x00_9e_73, 0x2c_c8_9b, 0x00_9e_73),
    Tone::new("series-4", 0xcc_79_a7, 0xcc_79_a7, 0xcc_79_a7),
    Tone::new("series-5", 0xe6_9f_00, 0xf0_e4_42, 0xe6_9f_00),
    Tone::new("series-6", 0x56_b4_e9, 0xd5_5e_00, 0x56_b4_e9),
    Tone::new("series-7", 0x00_00_00, 0xff_ff_ff, 0x75_7b_85),
];

/// Lengths of dashes and gaps, so that curves are distinct without color. A dash of no length
/// is a dot, because the ends of strokes are round.
pub(crate) type Dash = &'static [f64];

/// A line without gaps.
pub(crate) const SOLID: Dash = &[];

/// The dashes of a figure's curves, in their order.
pub(crate) const DASHES: [Dash; 10] = [
    SOLID,
    &[6.0, 5.0],
    &[0.0, 4.0],
    &[9.0, 5.0, 0.0, 5.0],
    &[14.0, 6.0],
    &[9.0, 5.0, 0.0, 4.5, 0.0, 5.0],
    &[2.0, 5.0],
    &[12.0, 5.0, 3.0, 5.0],
    &[4.0, 5.0, 0.0, 5.0],
    &[12.0, 5.0, 3.0, 5.0, 3.0, 5.0],
];

/// Returns every tone of the figures.
pub(crate) fn tones() -> impl Iterator<Item = Tone> {
    [PAPER, INK, MUTED, AXIS, GRID, POSITIVE, NEGATIVE]
        .into_iter()
        .chain(SERIES)
}

/// A map from numbers to colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colors {
    /// Angles: the end of the range is its beginning.
    Cyclic,
    /// Values around zero.
    Diverging,
    /// Sizes.
    Sequential,
    /// 0 and 1.
    Bits,
}

/// The eleven colors of ColorBrewer's RdBu: red below zero, blue above.
const RED_BLUE: [u32; 11] = [
    0x67001f, 0xb2182b, 0xd6604d, 0xf4a582, 0xfddbc7, 0xf7f7f7, 0xd1e5f0, 0x92c5de, 0x4393c3,
    0x2166ac, 0x053061,
];

/// Every sixteenth color of viridis.
const VIRIDIS: [u32; 17] = [
    0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c,
    0x1fa088, 0x28ae80, 0x3fbc73, 0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219, 0xfde725,
];

/// Once around the hues of Oklch in 24 steps: equal steps of the angle look equally large.
/// Hue 20 + h degrees, lightness 0.68 + 0.11 sin(h + 1.2), chroma 0.17 or what sRGB has there.
const HUES: [u32; 24] = [
    0xff9697, 0xfe9d84, 0xfe9f68, 0xff9e24, 0xe7a504, 0xcbaa06, 0xabac06, 0x84ad11, 0x52ab3d,
    0x06a55f, 0x069a78, 0x019186, 0x018b90, 0x05869c, 0x0983ad, 0x0780c9, 0x3c7ae2, 0x6977e9,
    0x8d75eb, 0xad75e7, 0xcb76de, 0xe578d0, 0xfb7cbd, 0xff8aa7,
];

/// A one is dark, a zero light.
const BITS: [u32; 2] = [0xdfe6ef, 0x24477d];

impl Colors {
    /// Returns the map in 256 steps.
    pub(crate) fn palette(self) -> &'static [Rgb; 256] {
        static CYCLIC: LazyLock<[Rgb; 256]> = LazyLock::new(|| steps(&HUES, 0, 256));
        static DIVERGING: LazyLock<[Rgb; 256]> = LazyLock::new(|| steps(&RED_BLUE, 1, 254));
        static SEQUENTIAL: LazyLock<[Rgb; 256]> = LazyLock::new(|| steps(&VIRIDIS, 0, 255));
        static TWO: LazyLock<[Rgb; 256]> = LazyLock::new(|| steps(&BITS, 0, 255));
        match self {
            Self::Cyclic => &CYCLIC,
            Self::Diverging => &DIVERGING,
            Self::Sequential => &SEQUENTIAL,
            Self::Bits => &TWO,
        }
    }

    /// Returns the step of a value in a range. Values outside the range get the nearest end.
    pub(crate) fn level(self, value: f64, (low, high): (f64, f64)) -> u8 {
        let share = (value - low) / (high - low);
        match self {
            // The step after the last is the first.
            Self::Cyclic => (((share * 256.0).round() as i64).rem_euclid(256)) as u8,
            // The middle has a step of its own, the 128th of 1 to 255, and steps on both
            // sides are alike, ties included.
            Self::Diverging => {
                let from_middle = (2.0 * share - 1.0).clamp(-1.0, 1.0);
                (128.0 + (from_middle * 127.0).round()) as u8
            }
            Self::Sequential | Self::Bits => (share * 255.0).round() as u8,
        }
    }
}

/// Interpolates 256 colors between the stops, starting at step `first`. The last stop is `whole` steps
/// later. With `whole` 256 the first stop follows the last color again.
fn steps(stops: &[u32], first: usize, whole: usize) -> [Rgb; 256] {
    let channel = |stop: u32, shift: u32| f64::from((stop >> shift) & 0xff);
    let spans = if whole == 256 {
        stops.len()
    } else {
        stops.len() - 1
    };
    std::array::from_fn(|step| {
        let at = (step.saturating_sub(first) * spans) as f64 / whole as f64;
        let index = (at as usize).min(stops.len() - 1);
        let (from, to) = (stops[index], stops[(index + 1) % stops.len()]);
        let rest = at - index as f64;
        let mix = |shift| {
            let (from, to) = (channel(from, shift), channel(to, shift));
            (from + (to - from) * rest).round() as u8
        };
        Rgb(mix(16), mix(8), mix(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contrast of two colors, from 1 to 21, as WCAG defines it.
    #[expect(clippy::disallowed_methods, reason = "compared with a bound")]
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |channel: u8| match f64::from(channel) / 255.0 {
            low if low <= 0.03928 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        let light = |c: Rgb| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2);
        let (a, b) = (light(a) + 0.05, light(b) + 0.05);
        (a / b).max(b / a)
    }

    #[test]
    fn words_and_curves_are_legible_on_the_ground_of_their_theme() {
        let grounds = |theme| match theme {
            Theme::Transparent => vec![PAPER.of(Theme::Light), PAPER.of(Theme::Dark)],
            theme => vec![PAPER.of(theme)],
        };
        for theme in [Theme::Light, Theme::Dark, Theme::Transparent] {
            for ground in grounds(theme) {
                let least = if theme == Theme::Transparent {
                    4.0
                } else {
                    4.5
                };
                for tone in [INK, MUTED] {
                    let found = contrast(tone.of(theme), ground);
                    assert!(found >= least, "{} {theme:?}: {found}", tone.name);
                }
                for tone in SERIES {
                    let found = contrast(tone.of(theme), ground);
                    assert!(found >= 2.2, "{} {theme:?}: {found}", tone.name);
                }
            }
        }
    }

    #[test]
    fn zero_is_the_middle_of_the_diverging_map_and_its_ends_are_as_far_away() {
        let level = |value| Colors::Diverging.level(value, (-1.0, 1.0));
        assert_eq!([level(-1.0), level(0.0), level(1.0)], [1, 128, 255]);
        for value in [0.1, 0.25, 0.5, 0.99] {
            let (above, below) = (i32::from(level(value)), i32::from(level(-value)));
            assert_eq!(above - 128, 128 - below, "{value}");
        }
        // Blue above, red below, gray between.
        let palette = Colors::Diverging.palette();
        assert!(palette[250].2 > palette[250].0);
        assert!(palette[5].0 > palette[5].2);
        assert_eq!(palette[128], Rgb(0xf7, 0xf7, 0xf7));
    }

    #[test]
    fn cyclic_map_has_no_seam() {
        let level = |value| Colors::Cyclic.level(value, (0.0, 360.0));
        assert_eq!(level(0.0), level(360.0));
        assert_eq!(level(359.9), level(0.1));
        let palette = Colors::Cyclic.palette();
        for (step, color) in palette.iter().enumerate() {
            let next = palette[(step + 1) % 256];
            let apart = color.0.abs_diff(next.0) as u32
                + u32::from(color.1.abs_diff(next.1))
                + u32::from(color.2.abs_diff(next.2));
            assert!(apart <= 24, "step {step}: {color:?} {next:?}");
        }
    }

    #[test]
    fn sizes_run_from_the_first_color_to_the_last() {
        let level = |value| Colors::Sequential.level(value, (0.0, 16.0));
        assert_eq!([level(0.0), level(16.0), level(99.0)], [0, 255, 255]);
        assert_eq!(Colors::Sequential.palette()[0], Rgb(0x44, 0x01, 0x54));
        assert_eq!(Colors::Sequential.palette()[255], Rgb(0xfd, 0xe7, 0x25));
        let bits = Colors::Bits.palette();
        assert_eq!(
            (bits[0], bits[255]),
            (Rgb(0xdf, 0xe6, 0xef), Rgb(0x24, 0x47, 0x7d))
        );
    }
}
