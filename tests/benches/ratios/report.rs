//! Measurements: a table for people, and JSON for the scripts.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use candle_core::{Error, Result};
use pe_core::testing::Backend;
use pe_tests::isa;
use serde_json::{Value, json};

use crate::harness::{Bound, Row, Times};

/// Rows in the order of the run.
pub(crate) struct Report {
    filters: Vec<String>,
    json: Option<PathBuf>,
    rows: Vec<Value>,
    isa: String,
    versions: Value,
    missed: Vec<String>,
    judged: usize,
}

impl Report {
    /// Reads the arguments: words that a row must contain one of, `--json FILE`, and `--isa NAME`
    /// for another instruction set than the best.
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut report = Self {
            filters: Vec::new(),
            json: None,
            rows: Vec::new(),
            isa: isa::available().pop().unwrap_or_default().to_owned(),
            versions: versions(),
            missed: Vec::new(),
            judged: 0,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo's own.
                "--bench" => {}
                "--json" => match arguments.next() {
                    Some(file) => report.json = Some(file.into()),
                    None => return Err(Error::Msg("--json needs the name of a file".to_owned())),
                },
                "--isa" => {
                    report.isa = arguments.next().unwrap_or_default();
                    isa::force(&report.isa)?;
                }
                flag if flag.starts_with('-') => {
                    let reason = format!(
                        "{flag} is not known: [--json FILE] [--isa NAME] [WORD IN A ROW ...]"
                    );
                    return Err(Error::Msg(reason));
                }
                _ => report.filters.push(argument),
            }
        }
        if let Some(path) = &report.json {
            // Before hours of measuring, not after them; figures that are there stay until there are new ones.
            OpenOptions::new().create(true).append(true).open(path)?;
        }
        println!(
            "{}, {}, {} threads, allocator: {}\n",
            processor(),
            report.isa,
            rayon::current_num_threads(),
            allocator()
        );
        println!("| work | contestant | median | spread | x first | asked for |");
        println!("|---|---|---|---|---|---|");
        Ok(report)
    }

    /// Whether a row is to be measured: ask before making its inputs.
    pub(crate) fn wants(&self, subject: &str, name: &str) -> bool {
        let label = format!("{subject}: {name}");
        self.filters.is_empty() || self.filters.iter().any(|word| label.contains(word))
    }

    /// Prints a row and keeps it.
    pub(crate) fn enter(&mut self, row: &Row<'_>, times: &[Times]) -> Result<()> {
        let median = |name: &str| times.iter().find(|t| t.name == name).map(|t| t.median);
        let label = format!("{}: {}", row.subject, row.name);
        let mut bounds = Vec::new();
        for (at, t) in times.iter().enumerate() {
            let mut cells = Vec::new();
            for (_, bound) in row.bounds.iter().filter(|(name, _)| *name == t.name) {
                let Some((measured, met)) = bound.judge(t.median, median) else {
                    continue;
                };
                let words = bound.words(measured, met);
                self.judged += 1;
                if !met {
                    self.missed.push(format!("{label}, {}: {words}", t.name));
                }
                cells.push(words);
                bounds.push(bound.json(t.name, measured, met));
            }
            println!(
                "| {} | {} | {} | {} | {:.2} | {} |",
                if at == 0 { &label } else { "" },
                t.name,
                time(t.median),
                spread(t),
                t.median / times[0].median,
                cells.join("; ")
            );
        }
        let works: Vec<Value> = times
            .iter()
            .map(|t| {
                json!({
                    "name": t.name, "median": t.median, "least": t.least,
                    "quartiles": t.quartiles, "count": t.count,
                })
            })
            .collect();
        self.rows.push(json!({
            "subject": row.subject, "name": row.name, "bytes": row.bytes,
            "works": works, "bounds": bounds,
        }));
        self.save()
    }

    /// Prints the requirements that were missed.
    ///
    /// # Errors
    /// Returns an error if no row contains one of the words.
    pub(crate) fn finish(self) -> Result<()> {
        if self.rows.is_empty() {
            return Err(Error::Msg(format!(
                "no row contains {}",
                self.filters.join(" or ")
            )));
        }
        let met = self.judged - self.missed.len();
        println!("\n{met} of {} bounds met", self.judged);
        for missed in &self.missed {
            println!("missed: {missed}");
        }
        Ok(())
    }

    /// Writes the JSON file: after each row, so that a run that is cut short leaves the rows
    /// that it measured.
    fn save(&self) -> Result<()> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(&json!({
            "format": 1,
            "time": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
            "machine": machine(),
            "isa": self.isa,
            "threads": rayon::current_num_threads(),
            "allocator": allocator(),
            "versions": self.versions,
            "rows": self.rows,
        }));
        Ok(std::fs::write(path, text.map_err(Error::wrap)? + "\n")?)
    }
}

impl Bound {
    fn words(self, measured: f64, met: bool) -> String {
        let verdict = if met { "met" } else { "MISSED" };
        match self {
            Self::AtMost(most, other) => {
                format!("{measured:.2} x {other} (at most {most}: {verdict})")
            }
            Self::Faster(least, other) => {
                format!("{measured:.1} x as fast as {other} (at least {least}: {verdict})")
            }
            Self::Within(most) => {
                format!("{} (at most {}: {verdict})", time(measured), time(most))
            }
        }
    }

    fn json(self, name: &str, measured: f64, met: bool) -> Value {
        let (kind, value, against) = match self {
            Self::AtMost(value, other) => ("at most", value, Some(other)),
            Self::Faster(value, other) => ("faster", value, Some(other)),
            Self::Within(value) => ("within", value, None),
        };
        json!({
            "work": name, "kind": kind, "value": value, "against": against,
            "measured": measured, "met": met,
        })
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-4 => format!("{:.2} us", s * 1e6),
        s if s < 1e-2 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} ms", s * 1e3),
    }
}

/// Half of the distance between the quartiles.
fn spread(times: &Times) -> String {
    let [low, high] = times.quartiles;
    format!("±{:.0} %", (high - low) / 2.0 / times.median * 100.0)
}

fn allocator() -> &'static str {
    if cfg!(feature = "mimalloc") {
        "mimalloc"
    } else if cfg!(target_env = "gnu") {
        "glibc"
    } else {
        "the system's"
    }
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn machine() -> Value {
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned())
    };
    let caches: Vec<Value> = (0..8)
        .filter_map(|index| {
            let of = |what: &str| {
                read(&format!(
                    "/sys/devices/system/cpu/cpu0/cache/index{index}/{what}"
                ))
            };
            let kibi: u64 = of("size")?.strip_suffix('K')?.parse().ok()?;
            let level: u64 = of("level")?.parse().ok()?;
            (of("type")? != "Instruction").then(|| json!({"level": level, "bytes": kibi << 10}))
        })
        .collect();
    json!({
        "processor": processor(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "instructions": Backend::available().last().map(|(name, _)| *name),
        "sets": isa::available(),
        "caches": caches,
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "system": std::env::consts::OS,
    })
}

fn versions() -> Value {
    let rust = Command::new("rustc").arg("--version").output().ok();
    let rust = rust.and_then(|output| String::from_utf8(output.stdout).ok());
    let rust = rust.and_then(|text| text.split(' ').nth(1).map(str::to_owned));
    let lock = include_str!("../../../Cargo.lock");
    let of = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        rest.split('"').next()
    };
    json!({
        "pe": env!("CARGO_PKG_VERSION"), "rust": rust,
        "candle": of("candle-core"), "mimalloc": of("mimalloc"),
    })
}
