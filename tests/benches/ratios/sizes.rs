//! Cost against size, from 1 KiB to 2 GiB of f32: where caches end, new pages are mapped and
//! threads begin to pay.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Error, ModuleT, Result, Tensor};
use pe_core::Sinusoidal;

use crate::harness::{Caches, Row};
use crate::report::Report;
use crate::{CPU, layer, limits};

const SUBJECT: &str = "size";

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for log in 10..=31 {
        let bytes = 1usize << log;
        let name = name(bytes);
        if !report.wants(SUBJECT, &name) {
            continue;
        }
        // Input, result, and the limits' two.
        if available().is_some_and(|available| available / 6 < bytes as u64) {
            println!("| {SUBJECT}: {name} | left out: too little memory | | | | |");
            continue;
        }
        let count = bytes / size_of::<f32>();
        let width = count.min(1024);
        let time = (count / width).min(2048);
        let batch = count / width / time;
        let layer = layer(width, time, 0.0, DType::F32)?;
        // Random numbers would take longer than the measurements.
        let xs = Tensor::ones((batch, time, width), DType::F32, CPU)?;
        let pe = layer.encoding(0, time)?;
        let mut words = vec![1u32; count];
        let encoding = Sinusoidal::paper(width).map_err(Error::wrap)?;
        let rows = (batch * time) as u64;
        Row::new(SUBJECT, name, Caches::Warm)
            .bytes(bytes)
            .budget(Duration::from_millis(500))
            .with("add", || layer.forward_t(&xs, false).map(drop))
            .with("copy", limits::fresh_copy(DType::F32, count))
            .with("add in place", || layer.forward_inplace(&xs, 0))
            .with("change", || limits::change(&mut words))
            .with("table", || {
                let table = encoding.table::<f32>(0..rows);
                black_box(table.map_err(Error::wrap)?);
                Ok(())
            })
            .with("fresh fill", || limits::fresh_fill(count))
            .with("candle", || xs.broadcast_add(&pe).map(drop))
            .run(report)?;
    }
    Ok(())
}

fn name(bytes: usize) -> String {
    match bytes {
        b if b < 1 << 20 => format!("{} KiB", b >> 10),
        b if b < 1 << 30 => format!("{} MiB", b >> 20),
        b => format!("{} GiB", b >> 30),
    }
}

/// Bytes of memory available to programs, where the system reports them.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibi: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibi << 10)
}
