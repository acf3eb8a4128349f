//! Tables that grow, and layers that share one.

use super::*;

#[test]
fn growing_keeps_every_bit_and_stops_at_its_limit() -> Result<()> {
    for (dtype, table) in TYPES {
        let config = PositionalEncodingConfig {
            max_seq_len: 10,
            growth: Growth::Grow { limit: 70 },
            table_dtype: Some(table),
            ..config(6)
        };
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        assert_eq!(layer.max_seq_len(), 10);
        let old = layer.table()?;
        let xs = |time| numbers(&[1, time, 6], dtype, 8);
        let mut sizes = Vec::new();
        for time in [10, 11, 12, 21, 45, 70] {
            let ys = layer.forward_t(&xs(time), false)?;
            let positions = [(0..time as u32).collect()];
            assert_eq!(
                f64s(&ys),
                oracle(&config, table, &xs(time), &positions, None)
            );
            sizes.push(layer.max_seq_len());
        }
        assert_eq!(sizes, [10, 20, 20, 40, 70, 70]); // doubled, not row by row
        assert_eq!(f64s(&layer.encoding(0, 10)?), f64s(&old));
        assert_eq!(
            error_of(layer.forward_t(&xs(71), false)),
            "positions 0..71 were asked for, but the table may grow to 70 rows at most"
        );
        let ids = Tensor::new(&[70u32], CPU)?;
        assert_eq!(
            error_of(layer.forward_with_positions(&xs(1), &ids, false)),
            "position id 70 at [0] is not below the limit of 70 rows"
        );
        assert_eq!(layer.config().max_seq_len, 10);

        // A far position needs more than twice the rows; ids grow the table too.
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        let ids = Tensor::new(&[3i64, 55], CPU)?;
        let ys = layer.forward_with_positions(&xs(2), &ids, false)?;
        assert_eq!(
            f64s(&ys),
            oracle(&config, table, &xs(2), &[vec![3, 55]], None)
        );
        assert_eq!(layer.max_seq_len(), 56);
    }
    Ok(())
}

#[test]
fn a_growing_layer_serves_many_threads() {
    let config = PositionalEncodingConfig {
        max_seq_len: 1,
        growth: Growth::Grow { limit: 3000 },
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
                    let rows = layer.max_seq_len();
                    assert!(rows >= seen && rows >= offset + 3);
                    seen = rows;
                }
            });
        }
    });
    assert!(shared.max_seq_len() <= 3000);
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
        max_seq_len: 2,
        growth: Growth::Grow { limit: 50 },
        dropout: 0.5,
        ..config(4)
    });
    let clone = layer.clone();
    let xs = Tensor::ones((1, 20, 4), DType::F32, CPU)?;
    let first = f64s(&layer.forward_t(&xs, true)?);
    assert_eq!(clone.max_seq_len(), 20);
    assert_eq!(clone.dropout().step(), 1);
    assert_ne!(f64s(&clone.forward_t(&xs, true)?), first);
    layer.dropout().set_step(0);
    assert_eq!(f64s(&clone.forward_t(&xs, true)?), first);
    Ok(())
}
