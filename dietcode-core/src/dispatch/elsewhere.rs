//! What contestants reach at shapes that are none of the instances.

use std::collections::BTreeMap;
use std::time::Duration;

use super::members::{Matrix, nearest};
use super::sampled::halton;
use crate::Result;
use crate::doing::doing;
use crate::measure::Instance;
use crate::search::{Candidate, Found, Part, Tuning};

/// Shapes at which the best is expected to take longer, in seconds, come last, and each contestant has one pair there.
const LONG: f64 = 0.02;

/// A contestant that is expected to take so many times as long as the best is not called: the nest as it stands may take minutes. It counts
/// as that far behind.
const HOPELESS: f64 = 8.0;

/// The most time for shapes that say which micro-kernels there are to be: so much of what has passed before, and so much in any case.
const SHARE: (f64, Duration) = (0.25, Duration::from_secs(10));

/// Adds to a matrix what its rows reach at shapes: measured as long as there is time, in an order in which few of them stand for all, and as
/// it is expected where nothing can be timed, or one row is the best everywhere; with `predicts`, also where the time is over, or others
/// took the cores: as far off as at the nearest shape that was measured. Whether there was time for all.
///
/// # Errors
/// If measuring is not possible at all, or records cannot be written.
pub(super) fn measure(
    part: Part,
    (tuning, found): (&mut Tuning<'_>, &Found),
    matrix: &mut Matrix,
    picks: &[usize],
    (shapes, predicts): (&[Vec<i64>], bool),
) -> Result<bool> {
    let rows = matrix.rows.clone();
    let expected: BTreeMap<usize, Vec<f64>> =
        rows.iter().map(|row| (*row, tuning.expected_at(&found.candidates[*row], shapes))).collect();
    let best = |at: usize| expected.values().map(|row| row[at]).fold(0.0, f64::max);
    let is_timed = !tuning.device.is_estimating() && rows.len() > 1;
    let mut order = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        let instance = Instance::of(tuning.device.def(), shape)?;
        let is_long = instance.flops * 1e-9 > LONG * best(at);
        if !instance.is_empty() {
            order.push((is_long, halton(at + 1, 0), at, instance));
        }
    }
    if is_timed {
        order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    }
    let _doing = doing("measuring other shapes of the range".to_owned());
    let begun = tuning.budget.elapsed();
    let end = match part {
        Part::Range => begun + begun.mul_f64(SHARE.0).max(SHARE.1),
        _ => Duration::MAX,
    };
    let (mut is_whole, mut left) = (true, Vec::new());
    // What is measured, and of each row by what factor it was expected wrongly there.
    let (mut known, mut factors): (Vec<Vec<i64>>, Vec<BTreeMap<usize, f64>>) = Default::default();
    for (_, _, at, instance) in order {
        // Nothing is known of one for which nothing is expected.
        let is_hopeful = |row: &usize| expected[row][at] == 0.0 || expected[row][at] * HOPELESS >= best(at);
        let hopeful: Vec<usize> = matrix.rows.iter().copied().filter(is_hopeful).collect();
        let is_over = tuning.budget.elapsed() > end || tuning.budget.is_over(part);
        is_whole &= !(is_timed && is_over);
        let reached = match is_timed && !is_over {
            true => {
                let candidates: Vec<&Candidate> = hopeful.iter().map(|row| &found.candidates[*row]).collect();
                tuning.measure_elsewhere(&candidates, &instance)?
            }
            false => None,
        };
        let Some(reached) = reached else {
            left.push(at);
            continue;
        };
        let reached: BTreeMap<usize, Option<f64>> = hopeful.into_iter().zip(reached).collect();
        let least = reached.values().flatten().copied().fold(0.0, f64::max) / HOPELESS;
        let figure = |row: &usize| reached.get(row).copied().unwrap_or(Some(least));
        matrix.add(&shapes[at], &matrix.rows.iter().map(figure).collect::<Vec<_>>(), picks, true);
        let factor = |(row, reached): (&usize, &Option<f64>)| {
            Some((*row, (*reached)? / expected[row][at])).filter(|(_, factor)| factor.is_finite())
        };
        known.push(shapes[at].clone());
        factors.push(reached.iter().filter_map(factor).collect());
    }
    if predicts || !is_timed {
        for at in left {
            let near = nearest(&shapes[at], &known).map(|near| &factors[near]);
            let factor = |row: &usize| near.and_then(|near| near.get(row)).copied().unwrap_or(1.0);
            let figure = |row: &usize| Some(expected[row][at] * factor(row));
            matrix.add(&shapes[at], &matrix.rows.iter().map(figure).collect::<Vec<_>>(), picks, !is_timed);
        }
    }
    Ok(is_whole)
}
