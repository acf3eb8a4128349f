//! The table as a map: one cell per position and column.

use anyhow::Result;
use pe_core::Preset;

use super::entry::Entry;
use super::source::MOST_CELLS;
use super::source::{COLUMN, PAIR, POSITION, Settings, Source};
use crate::chart::{Axis, Colors, Content, Fact, Figure, Map, Panel, Shape};

/// Builds a map of encodings, from -1 to 1.
fn values(columns: Vec<f64>, rows: Vec<f64>, values: Vec<f64>) -> Map {
    Map {
        label: "encoding".to_owned(),
        columns,
        rows,
        values,
        colors: Colors::Diverging,
        range: (-1.0, 1.0),
        ticks: vec![-1.0, -0.5, 0.0, 0.5, 1.0],
    }
}

fn floats<T: Copy + Into<f64>>(numbers: &[T]) -> Vec<f64> {
    numbers.iter().map(|number| (*number).into()).collect()
}

fn indices(numbers: &[usize]) -> Vec<f64> {
    numbers.iter().map(|number| *number as f64).collect()
}

/// Maps the table with a row per position.
fn table(source: &Source, (columns, rows): (u64, u64)) -> Result<Map> {
    let positions = source.positions(rows);
    let columns = source.columns(columns);
    let entries = source.entries(&positions, &columns)?;
    Ok(values(indices(&columns), floats(&positions), entries))
}

/// Maps the table with a column per position.
fn transposed_table(source: &Source, (columns, rows): (u64, u64)) -> Result<Map> {
    let map = table(source, (rows, columns))?;
    let width = map.columns.len();
    let turned = (0..width)
        .flat_map(|column| map.values.iter().skip(column).step_by(width))
        .copied()
        .collect();
    Ok(values(map.rows, map.columns, turned))
}

fn axes(map: &Map, x: &str, y: &str) -> (Axis, Axis) {
    (
        Axis::of_cells(x, &map.columns),
        Axis::of_cells(y, &map.rows),
    )
}

fn panel(map: Map, x: &str, y: &str) -> Panel {
    let (x, y) = axes(&map, x, y);
    Panel {
        title: None,
        x,
        y,
        content: Content::Map(map),
    }
}

fn wide() -> Shape {
    Shape {
        width: 860,
        columns: 1,
        aspect: 0.52,
    }
}

fn square() -> Shape {
    Shape {
        width: 620,
        columns: 1,
        aspect: 1.0,
    }
}

/// Maps the angles of the TensorFlow notebook in degrees, from 0 to 360. Over its 50 positions two thirds of the pairs
/// hardly move, so that there are more here.
pub(super) fn angle_map(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::TfNotebook, 512, 512)?;
    let rates = source.encoding.inv_freq();
    let shape = wide();
    let (most_pairs, most_positions) = shape.cells();
    let pairs = super::source::sampled(rates.len(), most_pairs);
    let positions = source.positions(most_positions);
    let degrees = |position: u32, pair: usize| {
        (f64::from(position) * rates[pair])
            .to_degrees()
            .rem_euclid(360.0)
    };
    let mut angles = Vec::with_capacity(positions.len() * pairs.len());
    for position in &positions {
        angles.extend(pairs.iter().map(|pair| degrees(*position, *pair)));
    }
    // The notebook's last position.
    let last = (source.first() + 49).min(source.last()) as u32;
    let slowest = rates.len() - 1;
    let map = Map {
        label: "angle in degrees".to_owned(),
        columns: indices(&pairs),
        rows: floats(&positions),
        values: angles,
        colors: Colors::Cyclic,
        range: (0.0, 360.0),
        ticks: (0..7).map(|tick| 60.0 * f64::from(tick)).collect(),
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "{}; position times rate, less whole turns",
            source.describe_pairs(most_positions, most_pairs)
        ),
        facts: vec![
            Fact::new(format!("degrees at [{last}, 0]"), degrees(last, 0)),
            Fact::new(
                format!("degrees at [{last}, {slowest}]"),
                degrees(last, slowest),
            ),
        ],
        panels: vec![panel(map, PAIR, POSITION)],
        shape,
    })
}

/// Maps the notebook's table: all sines, then all cosines, unless the settings name another preset.
pub(super) fn encoding_map(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::TfNotebook, 512, 50)?;
    let last = source.last() as u32;
    let half = source.d_model() / 2;
    let entries = source.entries(&[last], &[0, half])?;
    let shape = wide();
    let (columns, rows) = shape.cells();
    Ok(Figure {
        name: entry.name,
        title: match settings.preset {
            None => entry.title.to_owned(),
            Some(_) => source.arrangement().to_owned(),
        },
        note: source.describe(rows, columns),
        facts: [0, half]
            .into_iter()
            .zip(entries)
            .map(|(column, entry)| {
                let (_, kind) = source.at(column);
                Fact::new(format!("entry [{last}, {column}], a {kind}"), entry)
            })
            .collect(),
        panels: vec![panel(table(&source, (columns, rows))?, COLUMN, POSITION)],
        shape,
    })
}

/// Maps the rows rotated back by ten positions, and the rows they should equal.
pub(super) fn shifted_map(entry: &Entry, settings: &Settings) -> Result<Figure> {
    const STEPS: u32 = 10;
    let source = Source::new(settings, Preset::TfNotebook, 512, 50)?;
    let shift = source.encoding.shift(-i64::from(STEPS))?;
    let shape = Shape {
        aspect: 0.3,
        ..wide()
    };
    let (most_columns, most_rows) = shape.cells();
    let columns = source.columns(most_columns);
    // The positions that have another ten before them.
    let positions: Vec<u32> = source
        .positions(most_rows)
        .into_iter()
        .filter(|position| u64::from(*position) >= source.first() + u64::from(STEPS))
        .collect();
    if positions.is_empty() {
        anyhow::bail!(crate::terminal::outcome::BadUsage(format!(
            "--max-seq-len {} is too short for {}, which goes back {STEPS} positions",
            source.rows(),
            entry.name
        )));
    }
    let mut row = vec![0.0; source.d_model()];
    let mut expected = row.clone();
    let mut before = Vec::with_capacity(positions.len() * columns.len());
    let mut turned = Vec::with_capacity(before.capacity());
    let mut direct = Vec::with_capacity(turned.capacity());
    let mut largest = 0.0_f64;
    for position in &positions {
        source.encoding.fill_at(&[*position], &mut row)?;
        before.extend(columns.iter().map(|column| row[*column]));
        shift.apply(&mut row)?;
        source
            .encoding
            .fill_at(&[position - STEPS], &mut expected)?;
        for (a, b) in row.iter().zip(&expected) {
            largest = largest.max(f64::abs(a - b));
        }
        turned.extend(columns.iter().map(|column| row[*column]));
        direct.extend(columns.iter().map(|column| expected[*column]));
    }
    let rows = floats(&positions);
    let targets: Vec<f64> = rows.iter().map(|p| p - f64::from(STEPS)).collect();
    let titled = |title: String, rows: &[f64], entries| Panel {
        title: Some(title),
        ..panel(
            values(indices(&columns), rows.to_vec(), entries),
            COLUMN,
            POSITION,
        )
    };
    let range = |rows: &[f64]| {
        let ends = [rows.first(), rows.last()].map(|row| row.copied().unwrap_or_default() as u64);
        format!("{} to {}", ends[0], ends[1])
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "{}; rows turned by M(\u{2212}{STEPS}), and the rows they should be",
            source.describe(most_rows, most_columns)
        ),
        facts: vec![Fact::new("largest difference", largest)],
        panels: vec![
            titled(format!("Rows {}", range(&rows)), &rows, before),
            titled(
                "The same rows, turned back by ten positions".to_owned(),
                &targets,
                turned,
            ),
            titled(
                format!("Rows {}, computed directly", range(&targets)),
                &targets,
                direct,
            ),
        ],
        shape,
    })
}

/// Maps the tutorial's matrix of 100 positions.
pub(super) fn encoding_matrix(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 512, 100)?;
    let waves = source.encoding.wavelengths();
    let facts = vec![
        Fact::new("shortest wavelength, in positions", waves[0]),
        Fact::new("longest wavelength, in positions", waves[waves.len() - 1]),
    ];
    let mut figure = from_the_top(entry, &source, 0.42, facts)?;
    if settings.preset.is_some() {
        figure.title = source.arrangement().to_owned();
    }
    Ok(figure)
}

/// Maps a table with its first position at the top.
fn from_the_top(entry: &Entry, source: &Source, aspect: f64, facts: Vec<Fact>) -> Result<Figure> {
    let shape = Shape { aspect, ..wide() };
    let (columns, rows) = shape.cells();
    let mut panel = panel(table(source, (columns, rows))?, COLUMN, POSITION);
    panel.y = panel.y.backward();
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: source.describe(rows, columns),
        facts,
        panels: vec![panel],
        shape,
    })
}

/// Maps many positions, one column each.
pub(super) fn transposed(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 500, 1000)?;
    let shape = Shape {
        aspect: 0.62,
        ..wide()
    };
    let (columns, rows) = shape.cells();
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: source.describe(columns, rows),
        facts: vec![Fact::new(
            "distance of neighbors",
            source.encoding.neighbor_distance()?,
        )],
        panels: vec![panel(
            transposed_table(&source, (columns, rows))?,
            POSITION,
            COLUMN,
        )],
        shape,
    })
}

/// Maps the corner of that table with the fast columns.
pub(super) fn transposed_corner(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let whole = Source::new(settings, Preset::Paper, 500, 64)?;
    let shape = square();
    let (across, _) = shape.cells();
    let positions = whole.positions(across);
    let columns: Vec<usize> = (0..whole.d_model().min(64)).collect();
    let width = columns.len();
    let entries = whole.entries(&positions, &columns)?;
    let turned = (0..width)
        .flat_map(|column| entries.iter().skip(column).step_by(width))
        .copied()
        .collect();
    let waves = whole.encoding.wavelengths();
    let (last_pair, _) = whole.at(width - 1);
    Ok(Figure {
        name: entry.name,
        title: entry.title_with(width),
        note: whole.describe(across, u64::MAX),
        facts: vec![Fact::new(
            format!("wavelength of pair {last_pair}, in positions"),
            waves[last_pair],
        )],
        panels: vec![panel(
            values(floats(&positions), indices(&columns), turned),
            POSITION,
            COLUMN,
        )],
        shape,
    })
}

/// Wraps the encoding of each of the first positions into a tile.
pub(super) fn tiles(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 500, 8)?;
    let columns = source.columns(MOST_CELLS);
    // The tile nearest to a square that the columns fill.
    let height = (1..=columns.len())
        .take_while(|height| height * height <= columns.len())
        .filter(|height| columns.len().is_multiple_of(*height))
        .last()
        .unwrap_or(1);
    let width = columns.len() / height;
    let positions: Vec<u32> = source.positions(8);
    let panels = positions
        .iter()
        .map(|position| {
            let entries = source.entries(&[*position], &columns)?;
            let across: Vec<f64> = (0..width).map(|at| at as f64).collect();
            let down: Vec<f64> = (0..height).map(|at| (at * width) as f64).collect();
            let mut panel = panel(values(across, down, entries), "", "");
            panel.title = Some(format!("position {position}"));
            panel.x = panel.x.with_ticks([]);
            panel.y = panel.y.with_ticks([]).backward();
            Ok(panel)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "{}; {width} columns a line, {height} lines",
            source.describe(8, MOST_CELLS)
        ),
        facts: vec![Fact::new(
            "length of every tile's vector",
            source
                .encoding
                .similarity(pe_core::Similarity::Dot, positions[0], positions[0])?
                .sqrt(),
        )],
        panels,
        shape: Shape {
            width: 860,
            columns: 4,
            aspect: 0.92,
        },
    })
}

/// Maps positions from the top down.
pub(super) fn inverted_map(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 256, 50)?;
    let last = source.last() as u32;
    let columns: Vec<usize> = (0..source.d_model().min(4)).collect();
    let entries = source.entries(&[last], &columns)?;
    let fact = |(column, value)| Fact::new(format!("entry [{last}, {column}]"), value);
    let facts = columns.iter().zip(entries).map(fact).collect();
    from_the_top(entry, &source, 0.46, facts)
}
