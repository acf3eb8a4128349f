//! The diagnosis as a page.

use super::distinct::Distinct;
use super::document::{Diagnosis, Layer, Memory};
use super::recipes::{LARGE, Recipes, Way};
use super::schemes::{Buckets, Finding, Head, Learned, REACH, Scheme};
use super::waves::{Change, Effect, Waves};
use crate::terminal::numbers::{difference, short, thousands, three_digits, wavelength};
use crate::terminal::page::Page;
use crate::terminal::width::{clean, pad, pad_left};
use crate::words::lengths::ranges;
use crate::words::rotary::scaling;

pub(super) fn page(diagnosis: &Diagnosis) -> Page {
    let mut page = Page::new();
    page.wrap("", &clean(&diagnosis.file, usize::MAX));
    let of = match &diagnosis.model_type {
        Some(name) => format!("model_type {}", clean(name, 80)),
        None => "no model_type".to_owned(),
    };
    let length = match (diagnosis.length, &diagnosis.length_key) {
        (Some(length), Some(key)) => format!("{} positions ({key})", thousands(length)),
        (Some(length), None) => format!("{} positions (--length)", thousands(length)),
        (None, _) => "no key states the longest sequence (--length N does)".to_owned(),
    };
    page.wrap("  ", &format!("{of}; {length}, in {}", diagnosis.dtype));
    if let Some(distinct) = &diagnosis.positions
        && shows_positions(diagnosis)
    {
        positions(&mut page, distinct, diagnosis.dtype);
    }
    for layer in &diagnosis.layers {
        of_layer(&mut page, diagnosis, layer);
    }
    if diagnosis.unrotated_layers > 0 {
        page.heading("Layers without a rotary embedding");
        let count = diagnosis.unrotated_layers;
        page.line(format!("  {count} layers do not rotate"));
    }
    for scheme in &diagnosis.schemes {
        of_scheme(&mut page, diagnosis, scheme);
    }
    if !diagnosis.not_understood.is_empty() {
        page.heading("Keys not understood");
    }
    for warning in &diagnosis.not_understood {
        page.wrap("  - ", &clean(warning, 400));
    }
    page
}

/// Returns whether anything is computed from positions as numbers of the type.
fn shows_positions(diagnosis: &Diagnosis) -> bool {
    let computed = |scheme: &Scheme| {
        matches!(
            scheme.finding,
            Some(Finding::Sinusoidal(_) | Finding::Alibi(_))
        )
    };
    !diagnosis.layers.is_empty() || diagnosis.schemes.iter().any(computed)
}

fn positions(page: &mut Page, found: &Distinct, dtype: &str) {
    page.heading(&format!("Positions as numbers in {dtype}"));
    let (all, distinct) = (thousands(found.positions), thousands(found.distinct));
    let Some(lost) = &found.first_lost else {
        return page.line(format!("  all {all} positions are distinct"));
    };
    page.wrap(
        "  ",
        &format!(
            "{distinct} of {all} positions are distinct: {} becomes {}, and so on. Code that casts \
             positions to {dtype} before it multiplies them by frequencies or slopes cannot tell \
             the others apart.",
            thousands(lost.position),
            short(lost.becomes),
        ),
    );
    if let Some(from) = found.infinite_from {
        page.wrap(
            "  ",
            &format!("From {} on they are infinite.", thousands(from)),
        );
    }
}

fn of_layer(page: &mut Page, diagnosis: &Diagnosis, layer: &Layer) {
    let of = match &layer.layer_type {
        Some(name) => format!(" of {} layers", clean(name, 40)),
        None => String::new(),
    };
    let length = diagnosis.length.unwrap_or(0);
    turns(page, &of, &layer.waves, length);
    recipes(page, &layer.waves.recipes, diagnosis.dtype, length);
    changes(page, &layer.waves);
    memory(page, &layer.memory, diagnosis.dtype, length);
}

fn turns(page: &mut Page, of: &str, waves: &Waves, length: u64) {
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

fn recipes(page: &mut Page, found: &Recipes, dtype: &str, length: u64) {
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

fn changes(page: &mut Page, waves: &Waves) {
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

fn memory(page: &mut Page, memory: &Memory, dtype: &str, length: u64) {
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
fn size(bytes: u64) -> String {
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

fn of_scheme(page: &mut Page, diagnosis: &Diagnosis, scheme: &Scheme) {
    page.heading(&title(scheme.name));
    page.wrap(
        "  ",
        &format!("No rotary embedding: {}.", scheme.explanation),
    );
    if let Some(note) = diagnosis.note {
        page.wrap("  ", &format!("In this model {note}."));
    }
    let length = diagnosis.length.unwrap_or(0);
    match &scheme.finding {
        None => {}
        Some(Finding::Learned(found)) => learned(page, found, diagnosis),
        Some(Finding::Sinusoidal(found)) => {
            page.wrap(
                "  ",
                &format!(
                    "The convention {} with {} columns; the table has {} in {}.",
                    found.preset,
                    thousands(found.d_model),
                    size(found.bytes),
                    diagnosis.dtype
                ),
            );
            turns(page, "", &found.waves, length);
            recipes(page, &found.waves.recipes, diagnosis.dtype, length);
        }
        Some(Finding::Alibi(heads)) => alibi(page, heads, length),
        Some(Finding::Buckets(stacks)) => stacks.iter().for_each(|stack| buckets(page, stack)),
    }
}

/// Writes a name with a capital.
fn title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn learned(page: &mut Page, found: &Learned, diagnosis: &Diagnosis) {
    page.wrap(
        "  ",
        &format!(
            "The longest sequence has {} positions ({} {}). There is no extrapolation: position {} \
             has no row.",
            thousands(found.longest),
            found.key,
            thousands(found.stated),
            thousands(found.longest),
        ),
    );
    match found.missing {
        Some(missing @ 1..) => page.wrap(
            "  ",
            &format!(
                "{} of the {} positions have no row.",
                thousands(missing),
                thousands(diagnosis.length.unwrap_or(0))
            ),
        ),
        _ => {}
    }
    if let Some(bytes) = found.bytes {
        page.line(format!(
            "  The table has {} in {}.",
            size(bytes),
            diagnosis.dtype
        ));
    }
}

fn alibi(page: &mut Page, heads: &[Head], length: u64) {
    page.line("");
    page.line(format!(
        "  {:>4}  {:>10}  {:>19}  {:>17}",
        "head",
        "slope",
        format!("distance of -{}", short(REACH)),
        match length {
            0 => String::new(),
            length => format!("at {}", thousands(length - 1)),
        }
    ));
    for head in heads {
        page.line(format!(
            "  {:>4}  {:>10}  {:>19}  {:>17}",
            head.head,
            three_digits(head.slope),
            wavelength(head.reach),
            head.farthest
                .map_or(String::new(), |bias| format!("-{}", three_digits(-bias))),
        ));
    }
    page.line("");
    page.wrap(
        "  ",
        &format!(
            "A bias of -{} divides the weight of a key by e^{}, 22,026: a head sees little beyond \
             that distance. No distance is too large for the scheme.",
            short(REACH),
            short(REACH)
        ),
    );
}

fn buckets(page: &mut Page, found: &Buckets) {
    let of = found
        .stack
        .map_or(String::new(), |stack| format!("{stack}: "));
    page.wrap(
        "  ",
        &format!(
            "{of}{} buckets for keys before the query. Distances below {} have one each, distances of {} \
             and more share the last: the model cannot tell these apart.",
            thousands(found.buckets),
            thousands(found.exact_below),
            thousands(found.last_from)
        ),
    );
}
