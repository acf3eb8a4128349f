//! Configurations that are wrong in one place, for every type, next to those that are right.

use candle_core::{DType, ModuleT, Result, Tensor};
use pe_candle::{
    AxisOrder, Dropout, EmbeddingScale, Growth, PositionalEncoding, PositionalEncodingConfig,
    RotaryEmbedding, RotaryEmbeddingConfig,
};
use pe_core::{
    Base, Llama3Scaling, LongRopeScaling, OddWidth, RopeScaling, RotaryConfig, Spacing, YarnScaling,
};

use super::{CPU, Tally};

const NONE_OF_THEM: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0];

type Poison<C> = (String, Box<dyn Fn(&mut C)>);

fn poison<C>(what: impl Into<String>, how: impl Fn(&mut C) + 'static) -> Poison<C> {
    (what.into(), Box::new(how))
}

pub(super) fn run() -> Tally {
    let mut tally = Tally::default();
    let taken = [DType::F32, DType::F64, DType::F16, DType::BF16];
    for dtype in taken {
        for (what, how) in additive() {
            let mut config = PositionalEncodingConfig::new(8);
            how(&mut config);
            tally.refused(format!("{what} {dtype:?}"), || {
                PositionalEncoding::new(config, dtype, CPU)?.table()
            });
        }
        for (what, how) in rotary() {
            let mut config = RotaryEmbeddingConfig {
                max_seq_len: Some(16),
                ..RotaryEmbeddingConfig::of(RotaryConfig::new(8), 8)
            };
            how(&mut config);
            let made = |config: RotaryEmbeddingConfig| -> Result<Tensor> {
                // Frequencies that depend on the length are made when it is known.
                Ok(RotaryEmbedding::new(config, dtype, CPU)?.cos_sin(0, 16)?.0)
            };
            tally.refused(format!("{what} {dtype:?}"), || made(config));
        }
        tables(&mut tally, dtype);
        right(&mut tally, dtype);
    }
    for dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
        tally.refused(format!("additive {dtype:?}"), || {
            PositionalEncoding::new(PositionalEncodingConfig::new(8), dtype, CPU)?.table()
        });
        tally.refused(format!("rotary {dtype:?}"), || {
            let config = RotaryEmbeddingConfig::new(8);
            Ok(RotaryEmbedding::new(config, dtype, CPU)?.cos_sin(0, 1)?.0)
        });
    }
    for p in [f32::NAN, f32::INFINITY, -0.1, 1.0, 1.1, f32::NEG_INFINITY] {
        tally.refused(format!("dropout {p}"), || {
            Dropout::new(p, 0)?.forward_t(&Tensor::ones(3, DType::F32, CPU)?, true)
        });
    }
    tally
}

fn additive() -> Vec<Poison<PositionalEncodingConfig>> {
    let plain = |what: &str, how: fn(&mut PositionalEncodingConfig)| poison(what, how);
    let mut all = vec![
        plain("width 0", |c| c.sinusoidal.d_model = 0),
        plain("odd width", |c| c.sinusoidal.d_model = 7),
        plain("width 2^20 + 2", |c| c.sinusoidal.d_model = (1 << 20) + 2),
        plain("largest width", |c| {
            c.sinusoidal.d_model = usize::MAX;
            c.sinusoidal.odd_width = OddWidth::ZeroPad;
        }),
        plain("no rows", |c| c.max_seq_len = 0),
        plain("most rows", |c| c.max_seq_len = usize::MAX),
        plain("2^32 + 1 rows", |c| c.max_seq_len = (1 << 32) + 1),
        plain("2^32 wide rows", |c| c.max_seq_len = 1 << 32),
        plain("a table of integers", |c| c.table_dtype = Some(DType::U32)),
        plain("a shift as large as the pairs", |c| {
            c.sinusoidal.spacing = Spacing::Shifted(4.0)
        }),
    ];
    for dropout in [f32::NAN, f32::INFINITY, 1.0, -0.5] {
        all.push(poison(
            format!("dropout {dropout}"),
            move |c: &mut PositionalEncodingConfig| c.dropout = dropout,
        ));
    }
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        all.push(poison(
            format!("scale {factor}"),
            move |c: &mut PositionalEncodingConfig| c.scale = EmbeddingScale::Factor(factor),
        ));
        all.push(poison(
            format!("shift {factor}"),
            move |c: &mut PositionalEncodingConfig| {
                c.sinusoidal.spacing = Spacing::Shifted(factor);
            },
        ));
    }
    for base in NONE_OF_THEM {
        all.push(poison(
            format!("base {base}"),
            move |c: &mut PositionalEncodingConfig| c.sinusoidal.base = Base::Value(base),
        ));
        all.push(poison(
            format!("rate {base}"),
            move |c: &mut PositionalEncodingConfig| c.sinusoidal.base = Base::MinRate(base),
        ));
    }
    all
}

fn scaled(scaling: RopeScaling) -> impl Fn(&mut RotaryEmbeddingConfig) + 'static {
    move |config| config.rotary.scaling = scaling.clone()
}

fn rotary() -> Vec<Poison<RotaryEmbeddingConfig>> {
    let plain = |what: &str, how: fn(&mut RotaryEmbeddingConfig)| poison(what, how);
    let mut all = vec![
        plain("no width", |c| c.rotary.rotary_dim = 0),
        plain("odd width", |c| c.rotary.rotary_dim = 7),
        plain("wider than the head", |c| c.rotary.rotary_dim = 10),
        plain("largest width", |c| {
            c.rotary.rotary_dim = usize::MAX - 1;
            c.head_dim = Some(usize::MAX);
        }),
        plain("no head", |c| c.head_dim = Some(0)),
        plain("no rows", |c| c.max_seq_len = Some(0)),
        plain("most rows", |c| c.max_seq_len = Some(usize::MAX)),
        plain("2^32 wide rows", |c| {
            c.rotary.rotary_dim = 1 << 10;
            c.head_dim = Some(1 << 10);
            c.max_seq_len = Some(1 << 32);
        }),
        plain("tables of integers", |c| c.table_dtype = Some(DType::I64)),
        poison(
            "dynamic without a length",
            scaled(RopeScaling::Dynamic { factor: 2.0 }),
        ),
        poison(
            "longrope with too few factors",
            scaled(RopeScaling::LongRope(LongRopeScaling::new(
                vec![1.0; 3],
                vec![1.0; 4],
                8,
            ))),
        ),
        poison(
            "longrope with too many factors",
            scaled(RopeScaling::LongRope(LongRopeScaling::new(
                vec![1.0; 4],
                vec![1.0; 5],
                8,
            ))),
        ),
        poison(
            "too few frequencies",
            scaled(RopeScaling::Custom {
                inv_freq: vec![1.0; 3],
                attention_factor: 1.0,
            }),
        ),
        poison(
            "a frequency beyond 2^32",
            scaled(RopeScaling::Custom {
                inv_freq: vec![5e9; 4],
                attention_factor: 1.0,
            }),
        ),
        poison(
            "yarn without a length",
            scaled(RopeScaling::Yarn(YarnScaling::new(2.0, 0))),
        ),
    ];
    for value in NONE_OF_THEM {
        let mut longrope = LongRopeScaling::new(vec![1.0; 4], vec![1.0; 4], 8);
        longrope.long_factor[2] = value;
        longrope.factor = Some(2.0);
        let llama3 = Llama3Scaling {
            factor: value,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8,
        };
        let scalings = [
            RopeScaling::Linear { factor: value },
            RopeScaling::Dynamic { factor: value },
            RopeScaling::Yarn(YarnScaling::new(value, 8)),
            RopeScaling::LongRope(longrope),
            RopeScaling::Llama3(llama3),
            RopeScaling::Proportional {
                partial_rotary_factor: 0.5,
                factor: value,
            },
        ];
        for scaling in scalings {
            all.push(poison(
                format!("{} with {value}", scaling.name()),
                move |c: &mut RotaryEmbeddingConfig| {
                    c.rotary.max_position_embeddings = Some(8);
                    c.rotary.scaling = scaling.clone();
                },
            ));
        }
        all.push(poison(
            format!("base {value}"),
            move |c: &mut RotaryEmbeddingConfig| {
                c.rotary.base = value;
            },
        ));
    }
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        all.push(poison(
            format!("frequency {value}"),
            scaled(RopeScaling::Custom {
                inv_freq: vec![value; 4],
                attention_factor: 1.0,
            }),
        ));
    }
    all
}

/// Tables from elsewhere.
fn tables(tally: &mut Tally, dtype: DType) {
    let config = || PositionalEncodingConfig {
        dropout: 0.0,
        ..PositionalEncodingConfig::new(8)
    };
    let of = |shape: &[usize], dtype| Tensor::ones(shape, dtype, CPU).unwrap();
    for shape in [
        &[][..],
        &[8],
        &[0, 8],
        &[3, 7],
        &[3, 9],
        &[1, 3, 8],
        &[3, 0],
    ] {
        tally.refused(format!("table {shape:?}"), || {
            PositionalEncoding::from_table(config(), of(shape, dtype))?.table()
        });
    }
    for other in [DType::U8, DType::U32, DType::I64] {
        tally.refused(format!("table {other:?}"), || {
            PositionalEncoding::from_table(config(), of(&[3, 8], other))?.table()
        });
    }
    for rows in [1 << 40, usize::MAX] {
        tally.refused(format!("table of {rows} rows"), || {
            PositionalEncoding::from_table(config(), super::declared(&[rows, 8], dtype))?.table()
        });
    }
    // Anything goes into a table that is taken as it is, NaN too.
    for value in [f64::NAN, f64::INFINITY, 1e300] {
        let table = (of(&[3, 8], DType::F64) * value)
            .unwrap()
            .to_dtype(dtype)
            .unwrap();
        let (xs, again) = (of(&[1, 3, 8], dtype), table.clone());
        let wanted = xs.broadcast_add(&table);
        tally.right(format!("table of {value}"), wanted, || {
            PositionalEncoding::from_table(config(), again)?.forward_t(&xs, false)
        });
    }
}

/// Neighbors of the wrong ones.
fn right(tally: &mut Tally, dtype: DType) {
    let width_one = PositionalEncodingConfig {
        max_seq_len: 3,
        axis_order: AxisOrder::Unbatched,
        dropout: 0.999_999,
        growth: Growth::AtOnce,
        scale: EmbeddingScale::Factor(-0.0),
        ..PositionalEncodingConfig::new(2)
    };
    let xs = Tensor::ones((3, 2), dtype, CPU).unwrap();
    let wanted =
        pe_candle::sinusoidal_tensor(&pe_core::Sinusoidal::paper(2).unwrap(), 0..3, dtype, CPU);
    tally.right(format!("narrow {dtype:?}"), wanted, || {
        PositionalEncoding::new(width_one, dtype, CPU)?.forward_t(&xs, false)
    });
    // Frequencies of 0 turn nothing.
    let still = RotaryEmbeddingConfig {
        max_seq_len: Some(16),
        ..RotaryEmbeddingConfig::of(
            RotaryConfig {
                scaling: RopeScaling::Custom {
                    inv_freq: vec![0.0; 4],
                    attention_factor: 1.0,
                },
                ..RotaryConfig::new(8)
            },
            8,
        )
    };
    let xs = Tensor::ones((1, 2, 16, 8), dtype, CPU).unwrap();
    tally.right(format!("still {dtype:?}"), Ok(xs.clone()), || {
        RotaryEmbedding::new(still, dtype, CPU)?.apply(&xs, 0)
    });
}
