//! Distances limited to a window.

/// Returns the row of a table for a distance limited to `least ..= most`: 0 for `least`.
///
/// Shaw, Uszkoreit, Vaswani ("Self-Attention with Relative Position Representations", 2018) limit to `-k ..= k`, with
/// `2 k + 1` rows. SpeechT5 (`encoder_max_relative_position` 160) limits `query - key` to `-160 ..= 159`.
///
/// # Examples
/// ```
/// use pe_core::clipped_index;
///
/// assert_eq!([-9, -1, 0, 2, 9].map(|d| clipped_index(d, -2, 2)), [0, 1, 2, 4, 4]);
/// assert_eq!([-200, 0, 200].map(|d| clipped_index(d, -160, 159)), [0, 160, 319]);
/// ```
pub fn clipped_index(distance: i64, least: i64, most: i64) -> u64 {
    distance.min(most).max(least).abs_diff(least)
}

/// Returns the row of a table of `2 window + 1` rows for a distance within the window, and `None` beyond it: the keys and
/// values of VITS (`window_size` 4) have no relative part there.
///
/// # Examples
/// ```
/// use pe_core::windowed_index;
///
/// assert_eq!([-5, -4, 0, 4, 5].map(|d| windowed_index(d, 4)), [None, Some(0), Some(4), Some(8), None]);
/// ```
pub fn windowed_index(distance: i64, window: u32) -> Option<u64> {
    let window = i64::from(window);
    (-window..=window)
        .contains(&distance)
        .then(|| distance.abs_diff(-window))
}
