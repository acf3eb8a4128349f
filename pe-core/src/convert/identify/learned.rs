//! Statistics of tables that no formula gives.

use super::LearnedStatistics;
use super::view::View;

/// Returns the norms of the rows, and how alike neighboring and distant rows are.
pub(super) fn statistics(view: &View<'_>) -> LearnedStatistics {
    let rows = view.sample(512);
    let dot = |a: usize, b: usize| -> f64 {
        (0..view.width)
            .map(|column| view.at(a, column) * view.at(b, column))
            .sum()
    };
    let norms: Vec<f64> = rows.iter().map(|row| dot(*row, *row).sqrt()).collect();
    let cosine = |a: usize, b: usize| {
        let size = (dot(a, a) * dot(b, b)).sqrt();
        (size > 0.0).then(|| dot(a, b) / size)
    };
    let similarity = |distance: usize| {
        let pairs = rows.iter().map(|row| (*row, row + distance));
        mean(
            pairs
                .filter(|(_, b)| *b < view.rows)
                .filter_map(|(a, b)| cosine(a, b)),
        )
    };
    LearnedStatistics {
        least_norm: norms.iter().copied().fold(f64::INFINITY, f64::min),
        mean_norm: mean(norms.iter().copied()).unwrap_or(0.0),
        largest_norm: norms.iter().copied().fold(0.0, f64::max),
        neighbor_similarity: similarity(1),
        distant_similarity: similarity(view.rows / 2),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| {
        (sum + value, count + 1)
    });
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_two_directions_in_turn() {
        let values = [3.0, 4.0, 8.0, 6.0].repeat(4);
        let entry = |at: usize| values[at];
        let found = statistics(&View::new::<f64>(8, 2, &entry));
        assert_eq!(
            [found.least_norm, found.mean_norm, found.largest_norm],
            [5.0, 7.5, 10.0]
        );
        // Rows one apart have different directions, rows four apart the same.
        let near = |found: Option<f64>, expected: f64| {
            found.is_some_and(|found| (found - expected).abs() < 1e-12)
        };
        assert!(near(found.neighbor_similarity, 0.96), "{found:?}");
        assert!(near(found.distant_similarity, 1.0), "{found:?}");
    }
}
