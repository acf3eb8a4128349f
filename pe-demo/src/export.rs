//! `pe-demo export`: a table in a safetensors file.

use std::io::Write;

use anyhow::Result;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, TableSpec};
use pe_core::{Base, SinusoidalConfig};

use crate::cli::ExportArgs;
use crate::console::Outcome;
use crate::page::{self, Page};

pub(crate) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<Outcome> {
    let spec = TableSpec::new(
        config(args),
        args.start,
        args.max_seq_len,
        args.dtype.into(),
    );
    spec.check()?;
    checkpoint::export(&args.output, &spec)?;

    let mut page = Page::new();
    page.wrap("wrote ", &page::path(&args.output));
    page.line(format!(
        "  tensor {DEFAULT_TENSOR} [{}, {}] {}, {} bytes of numbers",
        spec.rows,
        spec.config.d_model,
        spec.dtype.as_str(),
        page::thousands(spec.bytes().unwrap_or(0)),
    ));
    page.wrap("  ", &describe(&spec));
    out.write_all(page.text().as_bytes())?;
    Ok(Outcome::Success)
}

/// The preset's parts, or the paper's, where no option says otherwise.
fn config(args: &ExportArgs) -> SinusoidalConfig {
    let mut config = match args.preset {
        Some(preset) => preset.config(args.d_model),
        None => SinusoidalConfig::new(args.d_model),
    };
    if let Some(base) = args.base {
        config.base = Base::Value(base);
    }
    if let Some(rate) = args.min_rate {
        config.base = Base::MinRate(rate);
    }
    if let Some(layout) = args.layout {
        config.layout = layout.into();
    }
    if let Some(spacing) = args.spacing {
        config.spacing = spacing;
    }
    if let Some(odd) = args.odd_width {
        config.odd_width = odd.into();
    }
    if let Some(recipe) = args.recipe {
        config.recipe = recipe.into();
    }
    config
}

/// A specification in words.
pub(crate) fn describe(spec: &TableSpec) -> String {
    let config = &spec.config;
    let positions = match spec.positions() {
        range if range.is_empty() => "no positions".to_owned(),
        range => format!("positions {} to {}", range.start, range.end - 1),
    };
    let base = match config.base {
        Base::Value(base) => format!("base {base}"),
        Base::MinRate(rate) => format!("min_rate {rate}"),
    };
    let layout = page::kebab(&config.layout);
    let spacing = match config.spacing {
        pe_core::Spacing::Shifted(shift) => format!("spacing shifted={shift}"),
        spacing => format!("{} spacing", spacing.name()),
    };
    let mut text = format!("{positions}; {base}, {layout} columns, {spacing}");
    if config.d_model % 2 == 1 {
        text += &format!(", odd width: {}", page::kebab(&config.odd_width));
    }
    if let Some(padding) = config.padding_idx {
        text += &format!(", zeros at position {padding}");
    }
    text + &match config.recipe {
        pe_core::Recipe::Exact => "; every entry the nearest number of its type".to_owned(),
        recipe => format!("; entries of the recipe {}", recipe.name()),
    }
}
