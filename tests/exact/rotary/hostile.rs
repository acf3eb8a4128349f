//! Sizes that nobody means: rejected, or answered, before anything of that size is made or counted.

use pe_core::{
    AxialFrequencies, AxialRotary, Error, MAX_D_MODEL, Mrope, MropeArrangement, MropeSegment,
    PairLayout, PatchGrid, RotaryConfig, mrope_position_ids, permutation, permute_rows,
    vision_position_ids,
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
    for frequencies in [AxialFrequencies::Same, AxialFrequencies::Alternating] {
        for head_dim in [usize::MAX - 3, 1 << 62, 1 << 40] {
            let error = AxialRotary::new(head_dim, 10_000.0, frequencies).unwrap_err();
            assert!(matches!(error, Error::RotaryDim { .. }), "{error}");
        }
        for head_dim in [0, 1, 2, 3, 6, usize::MAX] {
            let config = RotaryConfig::new(head_dim);
            let error = AxialRotary::from_config(config, frequencies).unwrap_err();
            assert!(matches!(error, Error::AxialWidth { .. }), "{error}");
        }
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
