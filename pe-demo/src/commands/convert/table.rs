//! A table of one convention in another.

use anyhow::{Result, anyhow, bail, ensure};
use candle_core::{Device, Tensor, WithDType};
use pe_candle::checkpoint::{SaveOptions, SinusoidalSpec};
use pe_core::{
    Agreement, Element, Identified, Recipe, RotaryColumns, Sinusoidal, SinusoidalConfig,
    convert_columns,
};

use super::options::{Table, Target};
use crate::sources::tensors::{self, Entries, Wanted, each_type};
use crate::sources::write::write;
use crate::terminal::outcome::BadUsage;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};

/// A table with the convention that its numbers have.
struct Found {
    name: String,
    shape: Vec<usize>,
    entries: Entries,
    convention: Identified,
    agreement: Option<Agreement>,
}

/// Converts the table and reports what was written.
pub(super) fn convert(options: &Table) -> Result<Page> {
    let found = only_table(options)?;
    each_type!(&found.entries, entries => of(options, &found, entries))
}

/// Reads the tensor that is named, or the only one that can be converted.
fn only_table(options: &Table) -> Result<Found> {
    let (mut tables, mut others) = (Vec::new(), Vec::new());
    let wanted = Wanted {
        name: options.tensor.as_deref(),
        most_bytes: Wanted::MOST,
    };
    tensors::read(&options.file, wanted, &mut |tensor| {
        let Some(entries) = tensor.entries else {
            others.push((tensor.name, "unknown".to_owned()));
            return Ok(());
        };
        let found = entries.identify(&tensor.name, &tensor.shape)?;
        match found.found {
            Identified::Sinusoidal { .. } | Identified::Rotary { .. } => tables.push(Found {
                name: tensor.name,
                shape: tensor.shape,
                entries,
                convention: found.found,
                agreement: found.agreement,
            }),
            other => others.push((tensor.name, other.name().to_owned())),
        }
        Ok(())
    })?;
    let file = clean_path(&options.file);
    if tables.len() > 1 {
        let names: Vec<String> = tables
            .iter()
            .take(8)
            .map(|table| clean(&table.name, 80))
            .collect();
        bail!(
            "{file}: several tables; name one with --tensor: {}",
            names.join(", ")
        );
    }
    tables.pop().ok_or_else(|| match others.first() {
        Some((name, scheme)) if others.len() == 1 => anyhow!(
            "{file}: the tensor \"{}\" is {scheme}, which has no other convention",
            clean(name, 200)
        ),
        Some(_) => {
            anyhow!("{file}: no sinusoidal table and no cosines or sines of a rotary embedding")
        }
        None => match &options.tensor {
            Some(name) => anyhow!("{file}: no tensor \"{}\"", clean(name, 200)),
            None => anyhow!("{file}: no tensors"),
        },
    })
}

fn of<T: Element + WithDType>(options: &Table, found: &Found, entries: &[T]) -> Result<Page> {
    match &found.convention {
        Identified::Sinusoidal {
            config,
            start,
            step,
            scale,
            ..
        } => sinusoidal(options, found, entries, config, [*start, *step, *scale]),
        Identified::Rotary { columns, .. } => rotary(options, found, entries, *columns),
        _ => bail!("no convention"),
    }
}

fn sinusoidal<T: Element + WithDType>(
    options: &Table,
    found: &Found,
    entries: &[T],
    from: &SinusoidalConfig,
    [start, step, scale]: [f64; 3],
) -> Result<Page> {
    let mut to = target(options, from)?;
    let rows = entries.len() / from.d_model;
    let permutation = convert_columns(from, &to).map_err(|error| anyhow!("{error}"))?;
    let counted = step == 1.0 && scale == 1.0 && start >= 0.0 && start.fract() == 0.0;
    let (values, how) = match permutation {
        Some(columns) => {
            to.recipe = from.recipe;
            let row = |row: &[T]| -> Vec<T> {
                columns
                    .iter()
                    .map(|column| column.map_or(T::default(), |at| row[at]))
                    .collect()
            };
            let values: Vec<T> = entries.chunks(from.d_model).flat_map(row).collect();
            (values, "columns permuted; every entry keeps its bits")
        }
        None => {
            ensure!(
                counted,
                "the table has positions from {start} in steps of {step}, times {scale}; only a \
                 permutation of its columns keeps that, and the conventions have other columns"
            );
            to.recipe = Recipe::Exact;
            let encoding = Sinusoidal::new(to).map_err(|error| anyhow!("{error}"))?;
            let positions = start as u64..(start as u64).saturating_add(rows as u64);
            let table = encoding
                .table::<T>(positions)
                .map_err(|error| anyhow!("{error}"))?;
            (
                table.into_vec(),
                "computed again: every entry is the nearest to the true value",
            )
        }
    };
    let mut shape = found.shape.clone();
    if let Some(width) = shape.last_mut() {
        *width = to.d_model;
    }
    let exact = how.starts_with("computed")
        || found
            .agreement
            .is_some_and(|agreement| agreement.equal_share == 1.0);
    let spec = (exact && counted && shape.len() == 2).then_some((to, start as u64, rows));
    save(options, found, values, shape, spec)?;
    Ok(wrote(
        options,
        &[
            format!(
                "{}: {} rows from position {start}, base {}, from {}, spacing {}, to {}, spacing {}",
                clean(&found.name, 200),
                rows,
                from.base.value(),
                from.layout.name(),
                from.spacing.name(),
                to.layout.name(),
                to.spacing.name()
            ),
            how.to_owned(),
        ],
    ))
}

/// Returns the convention that the options name, with the base of the table.
fn target(options: &Table, from: &SinusoidalConfig) -> Result<SinusoidalConfig> {
    match options.target {
        Target::Preset(preset) => Ok(SinusoidalConfig {
            base: from.base,
            ..preset.config(from.d_model)
        }),
        Target::Layout {
            columns: Some(layout),
            ..
        } => Ok(SinusoidalConfig { layout, ..*from }),
        Target::Layout { columns: None, .. } => Err(BadUsage(
            "--layout of a sinusoidal table is interleaved, concatenated, or concatenated-cos-first"
                .to_owned(),
        )
        .into()),
    }
}

fn rotary<T: Element + WithDType>(
    options: &Table,
    found: &Found,
    entries: &[T],
    from: RotaryColumns,
) -> Result<Page> {
    let Target::Layout {
        pairs: Some(to), ..
    } = options.target
    else {
        return Err(BadUsage(
            "a table of cosines or sines of a rotary embedding is converted with --layout half-split \
             or --layout interleaved"
                .to_owned(),
        )
        .into());
    };
    let width = *found.shape.last().unwrap_or(&1);
    let pairs = match from {
        RotaryColumns::Once => width,
        _ => width / 2,
    };
    let row = |row: &[T]| -> Vec<T> {
        let entry = |pair: usize| match from {
            RotaryColumns::Repeated => row[2 * pair],
            _ => row[pair],
        };
        let mut out = vec![T::default(); 2 * pairs];
        for pair in 0..pairs {
            let (a, b) = to.columns(pair, pairs);
            (out[a], out[b]) = (entry(pair), entry(pair));
        }
        out
    };
    let values: Vec<T> = entries.chunks(width).flat_map(row).collect();
    let mut shape = found.shape.clone();
    if let Some(width) = shape.last_mut() {
        *width = 2 * pairs;
    }
    save(options, found, values, shape, None)?;
    Ok(wrote(
        options,
        &[format!(
            "{}: columns for {} pairs; every entry keeps its bits",
            clean(&found.name, 200),
            to.name()
        )],
    ))
}

/// Reports the file that was written.
fn wrote(options: &Table, lines: &[String]) -> Page {
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(&options.output));
    for line in lines {
        page.wrap("  ", line);
    }
    page
}

/// Writes a table, with its specification where all its entries are exact.
fn save<T: Element + WithDType>(
    options: &Table,
    found: &Found,
    values: Vec<T>,
    shape: Vec<usize>,
    spec: Option<(SinusoidalConfig, u64, usize)>,
) -> Result<()> {
    let dtype = T::DTYPE;
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?;
    if let Some((config, start, rows)) = spec {
        let spec = SinusoidalSpec::new(config, start, rows, dtype)?;
        let named = SaveOptions {
            tensor_names: vec![found.name.clone()],
        };
        named.save(&options.output, &tensor, &spec)?;
        return Ok(());
    }
    let bytes = safetensors::serialize([(found.name.as_str(), &tensor)], None)?;
    write(&options.output, &bytes)
}
