//! Query and key weights of a checkpoint in the other pair layout.

use anyhow::Result;
use pe_candle::checkpoint::{PairConversion, convert_pairs};

use super::options::Weights;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// Permutes the weights and reports how many tensors had a new order of columns.
pub(super) fn convert(options: &Weights) -> Result<Page> {
    let done = convert_pairs(&options.file, &options.output, &options.heads)?;
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(&options.output));
    let PairConversion {
        from,
        to,
        num_heads,
        num_kv_heads,
        head_dim,
        rotary_dim,
    } = options.heads;
    page.wrap(
        "  ",
        &format!(
            "{} tensors of queries and keys, from {} to {}: {num_heads} and {num_kv_heads} heads of \
             {head_dim}, of which {rotary_dim} columns rotate",
            done.permuted.len(),
            from.name(),
            to.name()
        ),
    );
    page.line(format!("  unchanged: {} other tensors", done.others));
    Ok(page)
}
