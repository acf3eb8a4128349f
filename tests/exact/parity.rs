//! The fast paths against the slow one, exhaustively.

use pe_core::{
    Element, OddWidth, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing, bf16, f16,
    testing::{self, Backend, Method, Plan, Rungs, Threads},
};

fn table<T: Element>(
    encoding: &Sinusoidal,
    backend: Backend,
    method: Method,
    start: u64,
    rows: usize,
) -> Vec<T> {
    let mut out = vec![T::default(); rows * encoding.d_model()];
    testing::fill(encoding, Plan::on(backend, method), start, &mut out).unwrap();
    out
}

fn assert_same<T: Element>(found: &[T], expected: &[T], width: usize, what: &str) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(
            found.pattern(),
            expected.pattern(),
            "{what}, {}: row {}, column {}",
            T::NAME,
            index / width,
            index % width,
        );
    }
}

/// All rungs and backends of one table against the 320-bit path alone.
fn exhaustive<T: Element>(encoding: &Sinusoidal, start: u64, rows: usize) {
    let width = encoding.d_model();
    let full: Vec<T> = table(
        encoding,
        Backend::best(),
        Method::Entries(Rungs::Only320),
        start,
        rows,
    );
    for (name, backend) in Backend::available() {
        let ladder: Vec<T> = table(encoding, backend, Method::Auto, start, rows);
        assert_same(&ladder, &full, width, name);
    }
    let narrow: Vec<T> = table(
        encoding,
        Backend::best(),
        Method::Entries(Rungs::From128),
        start,
        rows,
    );
    assert_same(&narrow, &full, width, "narrow");
}

fn exhaustive_all(width: usize, start: u64, rows: usize) {
    let encoding = Sinusoidal::paper(width).unwrap();
    let encoding = &encoding;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            exhaustive::<f32>(encoding, start, rows);
            exhaustive::<f16>(encoding, start, rows);
        });
        exhaustive::<f64>(encoding, start, rows);
        exhaustive::<bf16>(encoding, start, rows);
    });
}

#[test]
fn exhaustive_4096_x_64_slow() {
    exhaustive_all(64, 0, 4096);
}

#[test]
fn exhaustive_1024_x_512_slow() {
    exhaustive_all(512, 0, 1024);
}

/// Hours of a single core; the scheduled form of the two tests above.
#[test]
#[ignore = "some 8 minutes in release: cargo test --release -p pe-tests --test exact -- --ignored"]
fn exhaustive_at_length() {
    for start in [0, 65_536, 1 << 24, (1 << 31) + 12_345, (1 << 32) - 131_072] {
        exhaustive_all(64, start, 131_072);
        exhaustive_all(512, start, 16_384);
    }
}

/// Every layout, odd width and spacing, with remainders of every vector width.
#[test]
fn specifications_of_every_kind_and_width() {
    let layouts = [
        SinusoidLayout::Interleaved,
        SinusoidLayout::Concatenated,
        SinusoidLayout::ConcatenatedCosFirst,
    ];
    let odd_widths = [OddWidth::Truncate, OddWidth::RoundUp, OddWidth::ZeroPad];
    let spacings = [Spacing::Paper, Spacing::Inclusive, Spacing::Shifted(0.25)];
    for width in (1..=40).chain([63, 64, 65, 127, 129]) {
        for layout in layouts {
            for odd_width in odd_widths {
                for spacing in spacings {
                    let config = SinusoidalConfig {
                        layout,
                        odd_width,
                        spacing,
                        padding_idx: Some(1003),
                        ..SinusoidalConfig::new(width)
                    };
                    let encoding = Sinusoidal::new(config).unwrap();
                    let narrow = |start, rows| {
                        table::<f32>(
                            &encoding,
                            Backend::best(),
                            Method::Entries(Rungs::From128),
                            start,
                            rows,
                        )
                    };
                    let expected = narrow(990, 70);
                    for (name, backend) in Backend::available() {
                        for rows in [1, 23, 31, 32, 33, 70] {
                            for method in [Method::Auto, Method::Recurrence] {
                                let found = table::<f32>(&encoding, backend, method, 990, rows);
                                let what = format!("{name}, {method:?}, {config:?}");
                                assert_same(&found, &expected[..rows * width], width, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Single rows, all types, on every instruction set, with every remainder of a run.
#[test]
fn single_rows() {
    fn check<T: Element>(encoding: &Sinusoidal, position: u64) {
        let width = encoding.d_model();
        let expected: Vec<T> = table(
            encoding,
            Backend::best(),
            Method::Entries(Rungs::From128),
            position,
            1,
        );
        for (name, backend) in Backend::available() {
            let found: Vec<T> = table(encoding, backend, Method::Auto, position, 1);
            assert_same(
                &found,
                &expected,
                width,
                &format!("{name}, position {position}"),
            );
        }
    }
    let positions = [
        0,
        1,
        2,
        77,
        65_535,
        1 << 24,
        (1 << 31) + 12_345,
        (1 << 32) - 1,
    ];
    for layout in [
        SinusoidLayout::Interleaved,
        SinusoidLayout::ConcatenatedCosFirst,
    ] {
        for width in (2..300).step_by(2) {
            let encoding = Sinusoidal::new(SinusoidalConfig {
                layout,
                ..SinusoidalConfig::new(width)
            })
            .unwrap();
            for position in positions {
                check::<f32>(&encoding, position);
                check::<f16>(&encoding, position);
                check::<bf16>(&encoding, position);
                check::<f64>(&encoding, position);
            }
        }
    }
    // Many positions at one width: every kind of value.
    let encoding = Sinusoidal::paper(64).unwrap();
    for step in 0..3_000u64 {
        let position = (step * 2_654_435_761) % (1 << 32);
        check::<f32>(&encoding, position);
        check::<f16>(&encoding, position);
        check::<bf16>(&encoding, position);
        check::<f64>(&encoding, position);
    }
}

/// Lists of positions, ranges, pieces on threads: the same bits.
#[test]
fn lists_ranges_and_threads_agree() {
    let encoding = Sinusoidal::paper(96).unwrap();
    let whole = encoding.table::<f32>(5_000..7_000).unwrap();
    let list: Vec<u32> = (5_000..7_000).collect();
    assert_eq!(whole, encoding.table_at(&list).unwrap());
    let reals: Vec<f64> = list.iter().map(|p| f64::from(*p)).collect();
    assert_eq!(whole, encoding.table_at_reals(&reals).unwrap());
    for threads in [2, 3, 7] {
        let mut out = vec![0f32; 2_000 * 96];
        let rows_each = 2_000usize.div_ceil(threads);
        std::thread::scope(|scope| {
            for (index, piece) in out.chunks_mut(rows_each * 96).enumerate() {
                let encoding = &encoding;
                scope.spawn(move || {
                    let start = 5_000 + (index * rows_each) as u64;
                    encoding.fill(start, piece).unwrap();
                });
            }
        });
        assert_eq!(whole.as_slice(), out, "{threads} threads");
    }
}

/// Blocks of any numbers of rows, by either method, complete and short, at the last position too.
#[test]
fn blocks_agree_with_the_table() {
    fn check<T: Element>(encoding: &Sinusoidal, start: u64, rows: usize) {
        let width = encoding.d_model();
        let positions = start..start + rows as u64;
        let table = encoding.table::<T>(positions.clone()).unwrap();
        for sizes in [&[rows][..], &[64], &[1, 2, 30, 33, 31, 16, 17, 100]] {
            let mut found = vec![T::default(); rows * width];
            let mut blocks = encoding.blocks::<T>(positions.clone()).unwrap();
            let (mut rest, mut sizes) = (&mut found[..], sizes.iter().cycle());
            while !rest.is_empty() {
                let entries = rest.len().min(sizes.next().unwrap() * width);
                let (block, more) = rest.split_at_mut(entries);
                blocks.write(block).unwrap();
                rest = more;
            }
            assert_same(&found, table.as_slice(), width, "blocks");
            assert!(blocks.write(&mut vec![T::default(); width]).is_err());
            assert!(blocks.write(&mut []).is_ok());
        }
    }
    for width in [2, 15, 130] {
        let encoding = Sinusoidal::new(SinusoidalConfig {
            odd_width: OddWidth::RoundUp,
            padding_idx: Some(1_050),
            ..SinusoidalConfig::new(width)
        })
        .unwrap();
        for (start, rows) in [(0, 1), (1_000, 40), (1_000, 501), ((1 << 32) - 700, 700)] {
            check::<f32>(&encoding, start, rows);
            check::<f64>(&encoding, start, rows);
            check::<f16>(&encoding, start, rows);
            check::<bf16>(&encoding, start, rows);
        }
    }
    let encoding = Sinusoidal::paper(4).unwrap();
    assert!(encoding.blocks::<f32>(0..1 << 33).is_err());
}

/// Tables made on rayon's pool, of any number of threads, inside it and outside.
#[test]
fn pool_threads_do_not_change_the_bits() {
    fn check<T: Element>(encoding: &Sinusoidal, start: u64, rows: usize) {
        let width = encoding.d_model();
        let mut alone = vec![T::default(); rows * width];
        let plan = |threads| Plan {
            threads,
            ..Plan::default()
        };
        testing::fill(encoding, plan(Threads::One), start, &mut alone).unwrap();
        for count in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count);
            let mut found = vec![T::default(); rows * width];
            pool.build().unwrap().install(|| {
                testing::fill(encoding, plan(Threads::Pool), start, &mut found).unwrap();
            });
            assert_same(&found, &alone, width, &format!("{count} threads"));
        }
        let table = encoding.table::<T>(start..start + rows as u64).unwrap();
        assert_same(table.as_slice(), &alone, width, "table");
    }
    let odd = SinusoidalConfig {
        odd_width: OddWidth::Truncate,
        padding_idx: Some(1_001),
        ..SinusoidalConfig::new(255)
    };
    for encoding in [
        Sinusoidal::paper(512).unwrap(),
        Sinusoidal::new(odd).unwrap(),
    ] {
        check::<f32>(&encoding, 1_000, 5_001);
        check::<f16>(&encoding, (1 << 32) - 9_000, 9_000);
        check::<bf16>(&encoding, 77, 9_000);
        check::<f64>(&encoding, 0, 2_100);
    }
}

/// Small and large bases, where sines stay tiny or frequencies exceed one turn.
#[test]
fn unusual_bases() {
    for base in [0.5, 1.0, 1.5, 1e12, 1e30, 1e300, f64::MAX, 2.4e-10] {
        let config = SinusoidalConfig {
            base: pe_core::Base::Value(base),
            spacing: Spacing::Inclusive,
            ..SinusoidalConfig::new(16)
        };
        let encoding = Sinusoidal::new(config).unwrap();
        exhaustive::<f32>(&encoding, 0, 300);
        exhaustive::<f64>(&encoding, 1_000_000, 64);
        exhaustive::<f16>(&encoding, 4_294_967_296 - 300, 300);
        exhaustive::<bf16>(&encoding, 7, 300);
    }
}
