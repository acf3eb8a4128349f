//! Counts the f32 entries of a table that are not the nearest float, by recipe:
//! `cargo run --release -p pe-core --example accuracy`.
//!
//! The exact table is the truth. `f64` is position x frequency in f64 with the platform's
//! functions, rounded once. `f32 exp` and `f32 pow` are the common recipes with everything in f32.

// This example measures the platform's functions.
#![allow(clippy::disallowed_methods)]

use pe_core::Sinusoidal;

const D_MODEL: usize = 128;
const BASE: f64 = 10000.0;
const ROWS: u64 = 4096;

/// Computes the sine and cosine of a pair at a position.
type Way = fn(u64, usize) -> [f32; 2];

fn in_f64(position: u64, pair: usize) -> [f32; 2] {
    let inv_freq = BASE.powf(-2.0 * pair as f64 / D_MODEL as f64);
    let (sine, cosine) = (position as f64 * inv_freq).sin_cos();
    [sine as f32, cosine as f32]
}

fn in_f32_exp(position: u64, pair: usize) -> [f32; 2] {
    let inv_freq = ((2 * pair) as f32 * (-BASE.ln() / D_MODEL as f64) as f32).exp();
    let (sine, cosine) = (position as f32 * inv_freq).sin_cos();
    [sine, cosine]
}

fn in_f32_pow(position: u64, pair: usize) -> [f32; 2] {
    let inv_freq = 1.0 / (BASE as f32).powf((2 * pair) as f32 / D_MODEL as f32);
    let (sine, cosine) = (position as f32 * inv_freq).sin_cos();
    [sine, cosine]
}

fn main() -> Result<(), pe_core::Error> {
    let encoding = Sinusoidal::paper(D_MODEL)?;
    println!(
        "f32 entries that are not the nearest float, and the largest error; d_model {D_MODEL}, base {BASE}\n"
    );
    println!(
        "{:>24}  {:>20}  {:>20}  {:>20}",
        "positions", "f64", "f32 exp", "f32 pow"
    );
    for start in [
        0,
        65_536 - ROWS,
        131_072,
        (1 << 24) - ROWS,
        (1 << 32) - ROWS,
    ] {
        let exact = encoding.table::<f32>(start..start + ROWS)?;
        let truth = encoding.table::<f64>(start..start + ROWS)?;
        print!("{:>24}", format!("{start}..{}", start + ROWS));
        for way in [in_f64, in_f32_exp, in_f32_pow] as [Way; 3] {
            let (mut wrong, mut worst) = (0u64, 0f64);
            for (position, (exact, truth)) in
                (start..).zip(exact.iter_rows().zip(truth.iter_rows()))
            {
                for pair in 0..D_MODEL / 2 {
                    for (entry, column) in way(position, pair).into_iter().zip(2 * pair..) {
                        wrong += u64::from(entry != exact[column]);
                        worst = worst.max((f64::from(entry) - truth[column]).abs());
                    }
                }
            }
            let share = 100.0 * wrong as f64 / (ROWS * D_MODEL as u64) as f64;
            print!("  {:>20}", format!("{share:.4}% {worst:.1e}"));
        }
        println!();
    }
    println!("\nExact table: 0% wrong by construction, largest error 3.0e-8 (half an ulp).");
    Ok(())
}
