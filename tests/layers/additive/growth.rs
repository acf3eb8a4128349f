//! Tables that grow, and layers that share one.

use super::*;
use pe_candle::testing::Grown;

#[test]
fn growing_keeps_every_bit_and_stops_at_max_seq_len() -> Result<()> {
    for (dtype, table) in TYPES {
        let config = PositionalEncodingConfig {
            max_seq_len: 1300,
            table_dtype: Some(table),
            ..config(6)
        };
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        assert_eq!((layer.max_seq_len(), layer.rows_built()), (1300, 0));
        let old = layer.encoding(0, 10)?;
        let xs = |time| numbers(&[1, time, 6], dtype, 8);
        let mut sizes = Vec::new();
        for time in [10, 512, 513, 600, 1025, 1300] {
            let ys = layer.forward_t(&xs(time), false)?;
            let positions = [(0..time as u32).collect()];
            assert_eq!(
                f64s(&ys),
                oracle(&config, table, &xs(time), &positions, None)
            );
            sizes.push(layer.rows_built());
        }
        assert_eq!(sizes, [512, 512, 1024, 1024, 1300, 1300]); // doubled, not row by row
        assert_eq!(f64s(&layer.encoding(0, 10)?), f64s(&old));
        assert_eq!(
            error_of(layer.forward_t(&xs(1301), false)),
            "positions 0..1301 were asked for, but the table holds 1300 rows (max_seq_len 1300)"
        );
        let ids = Tensor::new(&[1300u32], CPU)?;
        assert_eq!(
            error_of(layer.forward_with_positions(&xs(1), &ids, false)),
            "position id 1300 at [0] is not below the limit of 1300 rows"
        );
        // The whole table, whatever was built of it.
        assert_eq!(layer.table()?.dims(), [1300, 6]);

        // A far position needs more than twice the rows; ids grow the table too.
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        let ids = Tensor::new(&[3i64, 555], CPU)?;
        let ys = layer.forward_with_positions(&xs(2), &ids, false)?;
        assert_eq!(
            f64s(&ys),
            oracle(&config, table, &xs(2), &[vec![3, 555]], None)
        );
        assert_eq!(layer.rows_built(), 1024);
    }
    Ok(())
}

#[test]
fn growing_layer_serves_many_threads() {
    let config = PositionalEncodingConfig {
        max_seq_len: 3000,
        ..config(8)
    };
    let shared = layer(config);
    let exact = Sinusoidal::paper(8).unwrap().table::<f32>(0..3000).unwrap();
    let threads = 8;
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (layer, start, exact) = (shared.clone(), &start, &exact);
            scope.spawn(move || {
                start.wait();
                let mut seen = 0;
                for step in 0..60 {
                    let offset = (step * 50 + thread * 7) % 2990;
                    let xs = Tensor::zeros((1, 3, 8), DType::F32, CPU).unwrap();
                    let ys = layer.forward_at(&xs, offset, false).unwrap();
                    let ys = ys.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    assert_eq!(ys, exact.as_slice()[offset * 8..][..24]);
                    // The table never shrinks, and always holds what was served.
                    let rows = layer.rows_built();
                    assert!(rows >= seen && rows >= offset + 3);
                    seen = rows;
                }
            });
        }
    });
    assert!(shared.rows_built() <= 3000);
}

#[test]
fn layers_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}
    shareable::<PositionalEncoding>();
    shareable::<pe_candle::Dropout>();
    shareable::<PositionalEncodingConfig>();
}

#[test]
fn clones_share_table_and_dropout_counter() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        max_seq_len: 50,
        dropout: 0.5,
        ..config(4)
    });
    let clone = layer.clone();
    let xs = Tensor::ones((1, 20, 4), DType::F32, CPU)?;
    let first = f64s(&layer.forward_t(&xs, true)?);
    assert_eq!(clone.rows_built(), 50);
    assert_eq!(clone.dropout().step(), 1);
    assert_ne!(f64s(&clone.forward_t(&xs, true)?), first);
    layer.dropout().set_step(0);
    assert_eq!(f64s(&clone.forward_t(&xs, true)?), first);
    Ok(())
}
