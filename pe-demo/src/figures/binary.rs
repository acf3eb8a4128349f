//! Positions as binary numbers.

use anyhow::Result;
use pe_core::{Preset, binary_encoding};

use super::entry::Entry;
use super::source::{MOST_CELLS, ordinal};
use super::source::{POSITION, Settings, Source};
use crate::chart::{Axis, Colors, Content, Fact, Figure, Map, Panel, Shape, step};

/// Maps the bits of every position, least significant first. The bits that are 0 at all positions are left out, but
/// for those of the first byte.
pub(super) fn binary(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 64, 128)?;
    let positions = source.positions(MOST_CELLS);
    let bits: Vec<[u8; 64]> = positions
        .iter()
        .map(|position| binary_encoding(u64::from(*position)))
        .collect();
    let shown = source
        .last()
        .checked_ilog2()
        .map_or(0, |bit| bit as usize + 1)
        .max(8);
    let values = (0..shown)
        .flat_map(|bit| bits.iter().map(move |bits| f64::from(bits[bit])))
        .collect();
    let used = (0..64)
        .filter(|bit| bits.iter().any(|bits| bits[*bit] == 1))
        .count();
    let every = step(source.rows(), MOST_CELLS);
    let sampling = match every {
        1 => String::new(),
        _ => format!("; every {} position shown", ordinal(every)),
    };
    // Bit b has a wavelength of 2^(b + 1) positions, and two of them must be shown.
    let aliasing = match (0..64).take_while(|bit| 1_u64 << bit < every).count() {
        0 => String::new(),
        1 => "; bit 0 aliases".to_owned(),
        count => format!("; bits 0 to {} alias", count - 1),
    };
    let map = Map {
        label: "bit".to_owned(),
        columns: positions.iter().map(|p| f64::from(*p)).collect(),
        rows: (0..shown).map(|bit| bit as f64).collect(),
        values,
        colors: Colors::Bits,
        range: (0.0, 1.0),
        ticks: vec![0.0, 1.0],
    };
    let bits = Axis::of_cells("bit", &map.rows);
    // More labels than these would touch each other on a phone.
    let bits = match shown {
        8 => bits.with_ticks(map.rows.clone()),
        _ => bits,
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "bits 0 to {} of positions {} to {}, least significant at the bottom; bits {shown} to 63 \
             are 0{sampling}{aliasing}",
            shown - 1,
            source.first(),
            source.last()
        ),
        facts: vec![
            Fact::new("bits that are ever 1", used as f64),
            Fact::new("wavelength of bit 0, in positions", 2.0),
            Fact::new("wavelength of bit 5, in positions", 64.0),
        ],
        panels: vec![Panel {
            title: None,
            x: Axis::of_cells(POSITION, &map.columns),
            y: bits,
            content: Content::Map(map),
        }],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.3,
        },
    })
}
