//! Pictures one after another, as GIF.

use anyhow::{Context, Result, ensure};
use gif::{DisposalMethod, Encoder, Frame, Repeat};

use super::color::Rgb;
use super::raster::Raster;

/// The index of unchanged pixels, through which the previous frame shows.
const UNCHANGED: u8 = 255;

/// Encodes an endless animation on one palette of at most 255 colors.
pub(crate) fn animation(
    frames: impl Iterator<Item = Result<Raster>>,
    hundredths: u16,
    palette: &[Rgb],
) -> Result<Vec<u8>> {
    ensure!(
        !palette.is_empty() && palette.len() <= usize::from(UNCHANGED),
        "a palette of {} colors; from 1 to {UNCHANGED} are possible",
        palette.len()
    );
    let colors: Vec<u8> = palette.iter().flat_map(|c| [c.0, c.1, c.2]).collect();
    let mut nearest = Nearest::new(palette);
    let mut bytes = Vec::new();
    let mut frames = frames.peekable();
    let (width, height) = match frames.peek() {
        Some(Ok(first)) => (first.width, first.height),
        _ => (1, 1),
    };
    let side = |pixels: u32| u16::try_from(pixels).context("an animation this large");
    let (width, height) = (side(width)?, side(height)?);
    let mut encoder = Encoder::new(&mut bytes, width, height, &colors)?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut before: Vec<u8> = Vec::new();
    for raster in frames {
        let raster = raster?;
        let now: Vec<u8> = raster
            .bytes
            .chunks_exact(3)
            .map(|pixel| nearest.of(Rgb(pixel[0], pixel[1], pixel[2])))
            .collect();
        let pixels: Vec<u8> = if before.is_empty() {
            now.clone()
        } else {
            let changed = |(old, new): (&u8, &u8)| if old == new { UNCHANGED } else { *new };
            before.iter().zip(&now).map(changed).collect()
        };
        before = now;
        let mut frame = Frame::from_indexed_pixels(width, height, pixels, Some(UNCHANGED));
        frame.delay = hundredths;
        frame.dispose = DisposalMethod::Keep;
        encoder.write_frame(&frame)?;
    }
    drop(encoder);
    Ok(bytes)
}

/// The nearest colors of a palette, each found once.
struct Nearest<'a> {
    palette: &'a [Rgb],
    known: Vec<Option<u8>>,
}

impl<'a> Nearest<'a> {
    fn new(palette: &'a [Rgb]) -> Self {
        Self {
            palette,
            known: vec![None; 1 << 15],
        }
    }

    /// Returns the color that is nearest to the upper five bits of each channel.
    fn of(&mut self, color: Rgb) -> u8 {
        let five = |channel: u8| usize::from(channel >> 3);
        let slot = five(color.0) << 10 | five(color.1) << 5 | five(color.2);
        *self.known[slot].get_or_insert_with(|| {
            let middle = |five: usize| (five << 3 | five >> 2) as i32;
            let wanted = [slot >> 10, slot >> 5 & 31, slot & 31].map(middle);
            let apart = |c: &Rgb| {
                let have = [c.0, c.1, c.2].map(i32::from);
                (0..3).map(|k| (wanted[k] - have[k]).pow(2)).sum::<i32>()
            };
            let best = self
                .palette
                .iter()
                .enumerate()
                .min_by_key(|(_, c)| apart(c));
            best.map_or(0, |(index, _)| index as u8)
        })
    }
}
