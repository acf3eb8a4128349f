//! A set of frequencies in words.

use crate::commands::diagnose::document::Memory;
use crate::commands::diagnose::recipes::{LARGE, Recipes, Way};
use crate::commands::diagnose::waves::{Change, Effect, Waves};
use crate::terminal::numbers::{difference, short, thousands, three_digits, wavelength};
use crate::terminal::page::Page;
use crate::terminal::width::{pad, pad_left};
use crate::words::lengths::ranges;
use crate::words::rotary::scaling;

pub(super) fn turns(page: &mut Page, of: &str, waves: &Waves, length: u64) {
    page.heading(&format!("Pairs{of} that never turn once"));
    let scaled = match waves.changes.is_empty() {
        true => "",
        false => "with the scaling, ",
    };
    if let Some(trained) = &waves.trained {
        page.wrap(
            "  ",
            &format!(
                "in training, within {} positions ({}): {}",
                thousands(trained.positions),
                trained.key,
                pairs(&trained.never_turn, waves.pairs)
            ),
        );
    }
    page.wrap(
        "  ",
        &format!(
            "{scaled}within {} positions: {}",
            thousands(length),
            pairs(&waves.never_turn, waves.pairs)
        ),
    );
    match (&waves.trained, &waves.unseen[..]) {
        (None, _) => page.wrap("  ", "The file does not state the trained length."),
        (Some(_), []) => page.wrap("  ", "No pair reaches an angle that training did not show."),
        (Some(_), unseen) => page.wrap(
            "  ",
            &format!(
                "Beyond the angles that training showed: {}.",
                pairs(unseen, waves.pairs)
            ),
        ),
    }
}

/// Writes `pairs 35 to 63 (29 of 64)`.
fn pairs(pairs: &[usize], all: usize) -> String {
    match pairs {
        [] => format!("none of {all} pairs"),
        [only] => format!("pair {only} (1 of {all})"),
        pairs => format!("pairs {} ({} of {all})", ranges(pairs), pairs.len()),
    }
}

pub(super) fn recipes(page: &mut Page, found: &Recipes, dtype: &str, length: u64) {
    page.heading("Largest error of cosines and sines");
    page.line(format!(
        "  {:<43}{:>9}  {:>13}  {:<9}",
        "computed", "error", "at position", "of pair"
    ));
    for recipe in &found.recipes {
        let name = match recipe.way {
            Way::Exact => format!("exactly, rounded once to {dtype} (pe)"),
            Way::F32 => "in f32 (transformers; Candle's llama)".to_owned(),
            Way::InType => format!("all in {dtype} (Candle's qwen2, gemma, phi3)"),
        };
        let (error, place) = match &recipe.largest_error {
            Some(worst) => (
                difference(worst.error),
                format!(
                    "{:>13}  {} {}",
                    thousands(worst.position),
                    worst.function,
                    worst.pair
                ),
            ),
            None => ("-".to_owned(), String::new()),
        };
        page.line(format!("  {name:<43}{error:>9}  {place}"));
    }
    for recipe in &found.recipes {
        let way = match recipe.way {
            Way::Exact => "Exactly",
            Way::F32 => "In f32",
            Way::InType => "All in the type",
        };
        if let Some(from) = recipe.first_large {
            let limit = short(LARGE);
            let text = format!(
                "{way}, errors first exceed {limit} at position {}.",
                thousands(from)
            );
            page.wrap("  ", &text);
        }
        if recipe.not_finite > 0 {
            let count = thousands(recipe.not_finite);
            page.wrap("  ", &format!("{way}, {count} entries are NaN."));
        }
    }
    if found.compared < length {
        page.wrap(
            "  ",
            &format!(
                "Compared: {} of the {} positions, in blocks that are equally far apart.",
                thousands(found.compared),
                thousands(length)
            ),
        );
    }
}

pub(super) fn changes(page: &mut Page, waves: &Waves) {
    if waves.changes.is_empty() {
        return;
    }
    page.heading("Effect of the scaling on each pair");
    page.wrap("  ", &scaling(&waves.config.scaling));
    if waves.attention_factor != 1.0 {
        let factor = short(waves.attention_factor);
        page.wrap(
            "  ",
            &format!("cosines and sines are multiplied by the attention factor {factor}"),
        );
    }
    page.line("");
    page.line(format!(
        "  {:<10}{:>20}  {:>20}  times as slow",
        "pairs", "positions per turn", "with the scaling"
    ));
    // Pairs with the same effect, but for those that have a divisor of their own.
    let runs = waves.changes.chunk_by(|a, b| {
        let alike = [Effect::Kept, Effect::Interpolated, Effect::Stopped];
        a.effect == b.effect && alike.contains(&a.effect)
    });
    for run in runs {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let numbers: Vec<usize> = run.iter().map(|change| change.pair).collect();
        let span = |of: fn(&Change) -> f64| match run.len() {
            1 => wavelength(of(first)),
            _ => format!("{} to {}", wavelength(of(first)), wavelength(of(last))),
        };
        let divisor = three_digits(first.wavelength_after / first.wavelength_before);
        let (after, effect) = match first.effect {
            Effect::Kept => ("the same".to_owned(), "1, kept".to_owned()),
            Effect::Stopped => ("-".to_owned(), "stopped".to_owned()),
            Effect::Interpolated => (
                span(|change| change.wavelength_after),
                format!("{divisor}, interpolated"),
            ),
            Effect::Blended => (
                span(|change| change.wavelength_after),
                format!("{divisor}, blended"),
            ),
            Effect::Divided => (span(|change| change.wavelength_after), divisor),
        };
        page.line(format!(
            "  {}{}  {}  {effect}",
            pad(&ranges(&numbers), 10),
            pad_left(&span(|change| change.wavelength_before), 20),
            pad_left(&after, 20),
        ));
    }
}

pub(super) fn memory(page: &mut Page, memory: &Memory, dtype: &str, length: u64) {
    page.heading("Memory of the tables");
    page.line(format!(
        "  {:<60}{:>10}",
        format!(
            "cosines and sines of {} positions in {dtype}, shared",
            thousands(length)
        ),
        size(memory.table)
    ));
    let (Some(layers), Some(all)) = (memory.layers, memory.one_per_layer) else {
        return page.line("  The file does not state the number of layers.");
    };
    page.line(format!(
        "  {:<60}{:>10}",
        format!("the same in each of {layers} layers"),
        size(all)
    ));
    page.wrap(
        "  ",
        "Candle's models compute the whole table when they load: falcon and phi one in each layer, \
         most others one for all. Layers of pe-candle share one, which grows with the positions used.",
    );
}

/// Writes a number of bytes: `1.50 GiB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut unit = 0;
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(number), UNITS[unit])
}
