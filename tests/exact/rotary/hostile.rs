//! Sizes that nobody means: rejected, or answered, before anything of that size is made or counted.

use pe_core::{
    AxialRotary, AxialRotaryConfig, AxialRotaryPreset, Error, MAX_D_MODEL, Mrope, MropeArrangement,
    MropeSegment, PairLayout, PatchGrid, PatchOrder, RotaryAxis, mrope_position_ids, permutation,
    permute_rows, vision_position_ids,
};
use pe_tests::watchdog::Watchdog;

#[test]
fn permutations_of_heads_that_no_memory_holds() {
    let (from, to) = (PairLayout::Interleaved, PairLayout::HalfSplit);
    for head_dim in [1 << 60, usize::MAX] {
        let error = permutation(from, to, 4, head_dim).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        let error = permute_rows(&[1, 2, 3, 4], from, to, 4, head_dim, 1).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    let error = permutation(from, to, usize::MAX - 1, 4).unwrap_err();
    assert!(error.to_string().contains("exceeds head_dim 4"), "{error}");
    assert!(permute_rows(&[1, 2, 3, 4], from, to, 4, 4, usize::MAX).is_err());
}

#[test]
fn axial_heads_of_any_width() {
    for preset in AxialRotaryPreset::ALL {
        for head_dim in [0, 1, 3, usize::MAX] {
            let config = preset.config(head_dim);
            let error = AxialRotary::new(config.clone()).unwrap_err();
            match head_dim {
                0 => assert!(config.axes.len() > 1),
                1 | 3 => assert!(matches!(error, Error::HeadWidth { .. }), "{error}"),
                _ => assert!(matches!(error, Error::DModel { .. }), "{error}"),
            }
        }
    }
    for width in [0, 1, 7, MAX_D_MODEL + 2, usize::MAX - 1] {
        let config = AxialRotaryConfig {
            head_dim: 64,
            ..AxialRotaryConfig::new([RotaryAxis::new(8, 1e4), RotaryAxis::new(width, 1e4)])
        };
        let error = AxialRotary::new(config).unwrap_err();
        assert!(matches!(error, Error::AxisWidth { axis: 1, .. }), "{error}");
    }
    let axes = |count| AxialRotaryConfig::new(vec![RotaryAxis::new(2, 1e4); count]);
    for count in [0, 257] {
        let error = AxialRotary::new(axes(count)).unwrap_err();
        assert!(matches!(error, Error::Axes { .. }), "{error}");
    }
    assert_eq!(AxialRotary::new(axes(256)).unwrap().pairs(), 256);
    for config in [
        AxialRotaryConfig {
            leading_pairs: usize::MAX,
            ..axes(2)
        },
        AxialRotaryConfig {
            head_dim: 3,
            ..axes(2)
        },
    ] {
        let error = AxialRotary::new(config).unwrap_err();
        assert!(matches!(error, Error::RotaryWidth { .. }), "{error}");
    }
    let wide = AxialRotaryConfig {
        head_dim: usize::MAX,
        ..axes(2)
    };
    assert!(matches!(AxialRotary::new(wide), Err(Error::DModel { .. })));
}

#[test]
fn axial_grids_of_any_size() {
    let most = usize::MAX;
    let wan = AxialRotary::new(AxialRotaryPreset::Wan.config(12)).unwrap();
    for sizes in [
        &[most, 1, 1][..],
        &[0, most, 0],
        &[most, most, most],
        &[1 << 20, 1 << 20, 1],
        &[1, 1 << 29, 1, 1],
    ] {
        let error = wan.grid_tables::<f32>(sizes).unwrap_err();
        let named = matches!(error, Error::TooManyTokens { .. } | Error::Grid { .. });
        assert!(named, "{sizes:?} {error}");
    }
    for sizes in [&[][..], &[3, 3], &[1; 5]] {
        let error = wan.grid_tables::<f32>(sizes).unwrap_err();
        assert!(matches!(error, Error::GridSizes { .. }), "{error}");
    }
    for sizes in [
        &[0, 3, 3][..],
        &[3, 3, 0],
        &[0, 3, 3, 3],
        &[1 << 28, 0, 1 << 28],
        &[1 << 28, 1 << 28, 1 << 28, 0],
    ] {
        assert_eq!(wan.grid_tables::<f32>(sizes).unwrap().first.cos.rows(), 0);
    }
    for prefix_tokens in [most, most / 2, 1 << 40] {
        let config = AxialRotaryConfig {
            prefix_tokens,
            suffix_tokens: prefix_tokens,
            ..AxialRotaryPreset::Wan.config(12)
        };
        let error = AxialRotary::new(config)
            .unwrap()
            .grid_tables::<f32>(&[1, 1, 1]);
        assert!(matches!(error, Err(Error::TooLarge { .. })), "{error:?}");
    }
    let squares = AxialRotary::new(AxialRotaryPreset::Qwen2VlVision.config(16)).unwrap();
    let error = squares.grid_tables::<f32>(&[4, 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a grid of 4 x 3 patches cannot be divided into squares of 2 x 2"
    );
    for window in [0, u32::MAX] {
        let config = AxialRotaryConfig {
            order: PatchOrder::Windows { merge: 1, window },
            ..AxialRotaryPreset::Qwen2VlVision.config(16)
        };
        let found = AxialRotary::new(config).unwrap().grid_positions(&[2, 3]);
        assert_eq!(found.is_ok(), window > 0);
    }
}

#[test]
fn sections_of_any_size() {
    for arrangement in [MropeArrangement::Chunked, MropeArrangement::Interleaved] {
        for sections in [
            [usize::MAX, 0, 0],
            [0, usize::MAX, 0],
            [1 << 62, 1 << 61, 1 << 61],
            [MAX_D_MODEL / 2, 1, 0],
        ] {
            let mrope = Mrope {
                sections,
                arrangement,
            };
            let pairs = sections.iter().sum();
            for error in [mrope.check(pairs).err(), mrope.axes(pairs).err()] {
                assert!(matches!(error, Some(Error::RotaryDim { .. })), "{error:?}");
            }
        }
        let most = Mrope {
            sections: [MAX_D_MODEL / 2, 0, 0],
            arrangement,
        };
        assert_eq!(
            most.axes(MAX_D_MODEL / 2).unwrap(),
            vec![0; MAX_D_MODEL / 2]
        );
    }
}

/// Four thousand million empty frames, rows or columns are nothing, at once.
#[test]
fn empty_grids_of_any_size() {
    let most = u32::MAX;
    let of = |frames, rows, columns| PatchGrid {
        frames,
        rows,
        columns,
    };
    for grid in [
        of(most, 0, most),
        of(most, most, 0),
        of(0, most, most),
        of(most, 0, 0),
    ] {
        let patches = vision_position_ids(&[grid], 1).unwrap();
        assert_eq!((patches.rows.len(), patches.columns.len()), (0, 0));
    }
    let _watchdog = Watchdog::new("axes of absurd sizes");
    let vision = |grid| MropeSegment::Vision {
        grid,
        merge: 1,
        time_interval: 0.0,
    };
    let text = MropeSegment::Text { tokens: 1 };
    let positions = mrope_position_ids(&[vision(of(most, 0, 3)), text]).unwrap();
    // The piece takes up its columns, whether there is anything in them.
    assert_eq!((positions.time, positions.delta), (vec![3], 3));
    assert!(mrope_position_ids(&[vision(of(most, most, 0)), text]).is_ok_and(|p| p.time == [most]));
    assert!(mrope_position_ids(&[vision(of(1, most, most))]).is_err());
    assert!(mrope_position_ids(&[MropeSegment::Text { tokens: most }]).is_err());
    assert!(vision_position_ids(&[of(most, most, most)], 1).is_err());
    assert!(vision_position_ids(&[of(1, 4, 4)], 0).is_err());
}
