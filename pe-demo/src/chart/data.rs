//! A figure's numbers as a file.

use anyhow::Result;

use super::figure::{Content, Figure};

/// Writes a JSON document, with the shortest numbers that are read back exactly.
pub(crate) fn json(figure: &Figure) -> Result<String> {
    let mut text = serde_json::to_string(figure)?;
    text.push('\n');
    Ok(text)
}

/// Writes a line per number, with its coordinates before it, below a line of names.
pub(crate) fn csv(figure: &Figure) -> String {
    let mut text = String::new();
    for (index, panel) in figure.panels.iter().enumerate() {
        match &panel.content {
            Content::Curves(curves) => {
                head(&mut text, "panel,curve,x,y");
                for curve in curves {
                    let name = quoted(&curve.name);
                    for (x, y) in curve.x.iter().zip(&curve.y) {
                        text += &format!("{index},{name},{x},{y}\n");
                    }
                }
            }
            Content::Map(map) => {
                head(&mut text, "panel,row,column,value");
                let places = map
                    .rows
                    .iter()
                    .flat_map(|row| map.columns.iter().map(move |column| (row, column)));
                for ((row, column), value) in places.zip(&map.values) {
                    text += &format!("{index},{row},{column},{value}\n");
                }
            }
            Content::Rings(rings) => {
                head(&mut text, "panel,position,pair,sine,cosine");
                let places = rings.positions.iter().flat_map(|position| {
                    (0..rings.pairs).map(move |pair| (position, pair * rings.pair_step))
                });
                let numbers = rings.sines.iter().zip(&rings.cosines);
                for ((position, pair), (sine, cosine)) in places.zip(numbers) {
                    text += &format!("{index},{position},{pair},{sine},{cosine}\n");
                }
            }
        }
    }
    text
}

fn head(text: &mut String, names: &str) {
    if text.is_empty() {
        *text = format!("{names}\n");
    }
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
