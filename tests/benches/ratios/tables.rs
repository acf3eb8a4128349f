//! Building tables: every size and type, set-up included, on memory that is fresh or reused.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{Error, Result};
use pe_core::testing::{Plan, Threads};
use pe_core::{Element, Sinusoidal, bf16, f16};
use pe_tests::peers;

use crate::harness::{Bound, Caches, Row};
use crate::limits;
use crate::report::Report;

const SUBJECT: &str = "table";

/// Rows, width, how near to a fill of fresh memory, and how far from Candle's way.
const SIZES: [(usize, usize, f64, f64); 4] = [
    (5_000, 512, 2.3, 15.0),
    (8_192, 1_024, 1.3, 7.0),
    (131_072, 128, 1.3, 7.0),
    (32_768, 4_096, 1.5, 7.0),
];

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for (rows, width, near, far) in SIZES {
        fresh(report, rows, width, (near, far))?;
        reused(report, rows, width)?;
    }
    for mib in [1, 2, 4, 8, 16, 32] {
        threads(report, mib)?;
    }
    single_row(report)
}

fn fresh(report: &mut Report, rows: usize, width: usize, (near, far): (f64, f64)) -> Result<()> {
    let name = format!("{rows} x {width}");
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    Row::new(SUBJECT, name, Caches::Cold)
        .budget(Duration::from_secs(4))
        .with("f32", || build::<f32>(rows, width))
        .bound("f32", Bound::AtMost(near, "fresh fill"))
        .bound("f32", Bound::Faster(far, "candle"))
        .with("fresh fill", || limits::fresh_fill(rows * width))
        .with("bf16", || build::<bf16>(rows, width))
        .bound("bf16", Bound::AtMost(1.0, "f32"))
        .with("f16", || build::<f16>(rows, width))
        .bound("f16", Bound::AtMost(1.0, "f32"))
        .with("f64", || build::<f64>(rows, width))
        .bound("f64", Bound::AtMost(6.0, "f32"))
        .with("candle", || peers::candle_table(rows, width).map(drop))
        .run(report)
}

/// A table, frequencies included.
fn build<T: Element>(rows: usize, width: usize) -> Result<()> {
    let encoding = Sinusoidal::paper(black_box(width)).map_err(Error::wrap)?;
    black_box(encoding.table::<T>(0..rows as u64).map_err(Error::wrap)?);
    Ok(())
}

fn reused(report: &mut Report, rows: usize, width: usize) -> Result<()> {
    let name = format!("{rows} x {width}, reused memory");
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let encoding = Sinusoidal::paper(width).map_err(Error::wrap)?;
    let mut ours = vec![0f32; rows * width];
    let mut filled = vec![0f32; rows * width];
    let row = Row::new(SUBJECT, name, Caches::Cold)
        .with("f32", || encoding.fill(0, &mut ours).map_err(Error::wrap))
        .bound("f32", Bound::AtMost(2.5, "reused fill"))
        .with("reused fill", || limits::reused_fill(&mut filled));
    // Set-up is what the first of a program's tables costs once: at most a tenth of a table.
    if rows == 5_000 {
        return row
            .with("set-up", || {
                let made = Sinusoidal::paper(black_box(width));
                made.map(drop).map_err(Error::wrap)
            })
            .bound("set-up", Bound::AtMost(0.1, "f32"))
            .run(report);
    }
    row.run(report)
}

/// The size from which a table that grows is worth the threads' start: both ways into new memory, as growth has it.
fn threads(report: &mut Report, mib: usize) -> Result<()> {
    let name = format!("{mib} MiB, on threads");
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let encoding = Sinusoidal::paper(512).map_err(Error::wrap)?;
    let grown = |threads: Threads| {
        let mut table = vec![0f32; black_box(mib << 18)];
        let plan = Plan {
            threads,
            ..Plan::default()
        };
        pe_core::testing::fill(&encoding, plan, 0, &mut table).map_err(Error::wrap)?;
        black_box(table);
        Ok(())
    };
    Row::new(SUBJECT, name, Caches::Cold)
        .with("as chosen", || grown(Threads::Auto))
        .with("one thread", || grown(Threads::One))
        .with("all threads", || grown(Threads::Pool))
        .run(report)
}

/// As a decoder without a table would make them.
fn single_row(report: &mut Report) -> Result<()> {
    for width in [512, 4_096] {
        let name = format!("one row of {width}, no table");
        if !report.wants(SUBJECT, &name) {
            continue;
        }
        let encoding = Sinusoidal::paper(width).map_err(Error::wrap)?;
        let mut memory = vec![0f32; width];
        let mut position = 0u32;
        let mut row = Row::new(SUBJECT, name, Caches::Warm)
            .budget(Duration::from_millis(300))
            .with("f32", || {
                position = position.wrapping_add(7919);
                let done = encoding.fill_at(&[position], &mut memory);
                done.map_err(Error::wrap)
            });
        if width == 512 {
            row = row.bound("f32", Bound::Within(3e-6));
        }
        row.run(report)?;
    }
    Ok(())
}
