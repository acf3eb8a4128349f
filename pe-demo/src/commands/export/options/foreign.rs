//! Options of other kinds of tables, which would be ignored.

use crate::cli::{ExportArgs, TableArg};
use crate::terminal::outcome::BadUsage;

/// Checks that no option of another kind of table is given.
pub(super) fn check(args: &ExportArgs) -> Result<(), BadUsage> {
    use TableArg::{Alibi, Fourier, Grid, Rotary, Sinusoidal, Timestep};
    const WIDE: &[TableArg] = &[Sinusoidal, Timestep, Grid];
    const LONG: &[TableArg] = &[Sinusoidal, Rotary, Timestep, Alibi];
    let (rotary, tables) = (&args.rotary, &args.tables);
    let options: [(&str, bool, &[TableArg]); 23] = [
        ("--d-model", args.d_model.is_some(), WIDE),
        ("--max-seq-len", args.max_seq_len.is_some(), LONG),
        ("--start", args.start > 0, LONG),
        (
            "--preset",
            args.preset.is_some(),
            &[Sinusoidal, Timestep, Grid, Fourier],
        ),
        ("--base", args.base.is_some(), WIDE),
        ("--min-rate", args.min_rate.is_some(), &[Sinusoidal]),
        ("--layout", args.layout.is_some(), &[Sinusoidal]),
        ("--spacing", args.spacing.is_some(), &[Sinusoidal]),
        ("--odd-width", args.odd_width.is_some(), &[Sinusoidal]),
        (
            "--recipe",
            args.recipe.is_some(),
            &[Sinusoidal, Rotary, Timestep],
        ),
        ("--config", rotary.config.is_some(), &[Rotary]),
        ("--layer-type", rotary.layer_type.is_some(), &[Rotary]),
        ("--unknown-keys", rotary.unknown_keys.is_some(), &[Rotary]),
        ("--head-dim", rotary.head_dim.is_some(), &[Rotary]),
        ("--rotary-dim", rotary.rotary_dim.is_some(), &[Rotary]),
        ("--theta", rotary.theta.is_some(), &[Rotary]),
        ("--scaling", rotary.scaling.is_some(), &[Rotary]),
        ("--seq-len", rotary.seq_len.is_some(), &[Rotary]),
        ("--size", tables.size.is_some(), &[Grid, Fourier]),
        ("--bands", tables.bands.is_some(), &[Fourier]),
        ("--points", tables.points.is_some(), &[Fourier]),
        ("--heads", tables.heads.is_some(), &[Alibi]),
        ("--bias-max", tables.bias_max.is_some(), &[Alibi]),
    ];
    let given: Vec<_> = options
        .iter()
        .filter(|(_, given, of)| *given && !of.contains(&args.scheme))
        .collect();
    let groups = given.chunk_by(|a, b| a.2 == b.2).map(|group| {
        let names: Vec<&str> = group.iter().map(|(name, ..)| *name).collect();
        let schemes = group.first().map_or(&[][..], |(.., of)| of);
        let schemes: Vec<&str> = schemes.iter().map(|scheme| scheme.name()).collect();
        format!("{} (of --scheme {})", names.join(", "), schemes.join(", "))
    });
    match groups.collect::<Vec<_>>() {
        groups if groups.is_empty() => Ok(()),
        groups => Err(BadUsage(format!(
            "not with --scheme {}: {}",
            args.scheme.name(),
            groups.join("; ")
        ))),
    }
}
