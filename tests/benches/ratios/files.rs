//! Tables in files, against the same bytes read and written raw. What is read is in the
//! system's cache; what is written is synced to disk.

use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use candle_core::{DType, Result};
use pe_candle::checkpoint::{self, LoadOptions, SinusoidalSpec, Verify};
use pe_candle::sinusoidal_tensor;
use pe_core::SinusoidalConfig;

use crate::CPU;
use crate::harness::{Bound, Caches, Row};
use crate::report::Report;

const SUBJECT: &str = "file";
const ROWS: usize = 8_192;
const WIDTH: usize = 1_024;

pub(crate) fn run(report: &mut Report) -> Result<()> {
    // Next to the build: a temporary folder may be in memory, where a sync costs nothing.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    for dtype in [DType::F32, DType::BF16] {
        let spec = SinusoidalSpec::new(SinusoidalConfig::new(WIDTH), 0, ROWS, dtype)?;
        let path = dir.path().join("table.safetensors");
        let name = format!("{ROWS} x {WIDTH}, {}, load", dtype.as_str());
        if report.wants(SUBJECT, &name) {
            checkpoint::export(&path, &spec)?;
            let encoding = spec.scheme().clone();
            let unverified = LoadOptions {
                verify: Verify::None,
                ..LoadOptions::default()
            };
            let row = Row::new(SUBJECT, name, Caches::Cold)
                .budget(Duration::from_secs(3))
                .with("ours, verified", || checkpoint::load(&path, CPU).map(drop))
                .with("ours, not verified", || unverified.load(&path).map(drop));
            // 16 MiB of bf16 the allocator has at hand: reading them raw is one copy from cache
            // to cache, and takes a third of what it takes to make them.
            let row = match dtype {
                DType::F32 => row
                    .bound("ours, verified", Bound::AtMost(1.2, "raw read"))
                    .bound("ours, not verified", Bound::AtMost(1.2, "raw read")),
                _ => row,
            };
            row.with("raw read", || {
                drop(fs::read(&path)?);
                Ok(())
            })
            .with("candle", || {
                candle_core::safetensors::load(&path, CPU).map(drop)
            })
            .with("rebuilt", || {
                sinusoidal_tensor(&encoding, spec.positions(), dtype, CPU).map(drop)
            })
            .run(report)?;
        }
        let name = format!("{ROWS} x {WIDTH}, {}, save", dtype.as_str());
        if report.wants(SUBJECT, &name) {
            let encoding = spec.scheme().clone();
            let table = sinusoidal_tensor(&encoding, spec.positions(), dtype, CPU)?;
            checkpoint::save(&path, &table, &spec)?;
            let bytes = fs::read(&path)?;
            let raw = dir.path().join("raw");
            let theirs = dir.path().join("candle.safetensors");
            Row::new(SUBJECT, name, Caches::Cold)
                .budget(Duration::from_secs(5))
                .with("ours", || checkpoint::save(&path, &table, &spec))
                .bound("ours", Bound::AtMost(1.3, "raw write and sync"))
                .with("raw write and sync", || {
                    let mut file = File::create(&raw)?;
                    file.write_all(&bytes)?;
                    Ok(file.sync_all()?)
                })
                .with("ours, rebuilt meanwhile", || {
                    checkpoint::export(&path, &spec)
                })
                .with("candle, no sync", || table.save_safetensors("pe", &theirs))
                .run(report)?;
        }
    }
    Ok(())
}
