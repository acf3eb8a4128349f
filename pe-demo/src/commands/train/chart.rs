//! Curves in a terminal.

use crate::terminal::page::Page;

const COLUMNS: usize = 64;
const LINES: usize = 14;

/// A curve and the letter that draws it.
pub(super) struct Curve<'a> {
    pub(super) letter: char,
    pub(super) name: &'a str,
    pub(super) values: &'a [f32],
}

/// Draws curves over a common axis of steps: each column is the mean of its steps. Where two
/// curves meet is a `*`.
pub(super) fn draw(page: &mut Page, curves: &[Curve<'_>]) {
    let steps = curves.iter().map(|curve| curve.values.len()).max();
    let Some(steps) = steps.filter(|steps| *steps > 0) else {
        return;
    };
    let columns = COLUMNS.min(steps);
    let means: Vec<Vec<Option<f32>>> = curves
        .iter()
        .map(|curve| {
            (0..columns)
                .map(|at| mean(curve.values, at, columns, steps))
                .collect()
        })
        .collect();
    let all = means.iter().flatten().flatten().copied();
    let top = all.fold(0.0f32, f32::max).max(f32::MIN_POSITIVE);
    let mut grid = [[' '; COLUMNS]; LINES];
    for (curve, means) in curves.iter().zip(&means) {
        for (column, mean) in means.iter().enumerate() {
            if let Some(mean) = mean {
                let height = (mean / top * (LINES - 1) as f32).round() as usize;
                let cell = &mut grid[LINES - 1 - height.min(LINES - 1)][column];
                *cell = if *cell == ' ' { curve.letter } else { '*' };
            }
        }
    }
    for (line, cells) in grid.iter().enumerate() {
        let height = top * (LINES - 1 - line) as f32 / (LINES - 1) as f32;
        let label = match line % 3 == 0 || line == LINES - 1 {
            true => format!("{height:>6.2}"),
            false => " ".repeat(6),
        };
        page.line(format!("  {label} | {}", cells.iter().collect::<String>()));
    }
    page.line(format!("         +{}", "-".repeat(columns + 1)));
    // A single step is at both ends.
    let last = if steps > 1 {
        steps.to_string()
    } else {
        String::new()
    };
    let room = columns.saturating_sub(1).max(last.len() + 1);
    page.line(format!("  steps    1{last:>room$}"));
    let names: Vec<String> = curves
        .iter()
        .map(|curve| format!("{} {}", curve.letter, curve.name))
        .collect();
    page.wrap("           ", &format!("{}   * several", names.join("   ")));
}

fn mean(values: &[f32], at: usize, columns: usize, steps: usize) -> Option<f32> {
    let (start, end) = (at * steps / columns, (at + 1) * steps / columns);
    let part = values.get(start..end.min(values.len()))?;
    (!part.is_empty()).then(|| part.iter().sum::<f32>() / part.len() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_stand_at_their_heights() {
        let mut page = Page::new();
        let falling: Vec<f32> = (0..128).map(|x| 2.0 - x as f32 / 64.0).collect();
        let flat = vec![1.0; 64];
        let curve = |letter, values| Curve {
            letter,
            name: "curve",
            values,
        };
        draw(&mut page, &[curve('f', &falling), curve('c', &flat)]);
        let lines: Vec<&str> = page.text().lines().collect();
        assert!(lines[0].starts_with("    1.99 | f"), "{}", lines[0]);
        assert!(lines[13].ends_with('f'));
        let crosses = |letter: char| {
            page.text()
                .lines()
                .take(14)
                .flat_map(move |l| l.chars())
                .filter(move |c| *c == letter)
                .count()
        };
        // Half as many steps are half as many columns.
        assert_eq!(crosses('c') + crosses('*'), 32);
        assert_eq!(crosses('f') + crosses('*'), 64);
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn numbers_of_few_steps_do_not_run_together() {
        for (steps, labels) in [
            (1, "  steps    1"),
            (2, "  steps    1 2"),
            (3, "  steps    1 3"),
        ] {
            let mut page = Page::new();
            let values = vec![1.0; steps];
            let curve = Curve {
                letter: 'c',
                name: "curve",
                values: &values,
            };
            draw(&mut page, &[curve]);
            assert!(
                page.text().lines().any(|line| line == labels),
                "{}",
                page.text()
            );
        }
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let mut page = Page::new();
        draw(&mut page, &[]);
        assert_eq!(page.text(), "");
    }
}
