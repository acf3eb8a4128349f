//! The diagnosis as a page.

mod waves;

use self::waves::{changes, memory, recipes, size, turns};
use super::distinct::Distinct;
use super::document::{Diagnosis, Layer};
use super::schemes::{Buckets, Finding, Head, Learned, REACH, Scheme};
use crate::terminal::numbers::{short, thousands, three_digits, wavelength};
use crate::terminal::page::Page;
use crate::terminal::width::clean;

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
    if let Some(missing @ 1..) = found.missing {
        let all = thousands(diagnosis.length.unwrap_or(0));
        let text = format!("{} of the {all} positions have no row.", thousands(missing));
        page.wrap("  ", &text);
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
