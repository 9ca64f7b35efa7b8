//! What contestants reach at shapes that are none of the instances.

use std::time::Duration;

use super::members::Matrix;
use super::sampled::halton;
use crate::Result;
use crate::doing::doing;
use crate::measure::Instance;
use crate::search::{Candidate, Found, Part, Tuning};

/// A shape at which the best is expected to take longer, in seconds, is not measured.
const LONGEST: f64 = 0.02;

/// The most time for shapes that say which micro-kernels there are to be: so much of what has passed before, and so much in any case.
const SHARE: (f64, Duration) = (0.25, Duration::from_secs(10));

/// How far the time went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Whether it was enough for all shapes.
    pub(super) is_whole: bool,
    /// Shapes that were passed over, as a call takes too long.
    pub(super) too_long: usize,
}

/// Adds to a matrix what its rows reach at shapes: measured as long as there is time, in an order in which few of them stand for all, or as
/// it is expected where nothing can be timed, or one row is the best everywhere.
///
/// # Errors
/// If measuring is not possible at all, or records cannot be written.
pub(super) fn measure(
    part: Part,
    (tuning, found): (&mut Tuning<'_>, &Found),
    matrix: &mut Matrix,
    picks: &[usize],
    shapes: &[Vec<i64>],
) -> Result<Reach> {
    let expected = |row: &usize| tuning.expected_at(&found.candidates[*row], shapes);
    let expected: Vec<Vec<f64>> = matrix.rows.iter().map(expected).collect();
    if tuning.device.is_estimating() || matrix.rows.len() == 1 {
        for (at, shape) in shapes.iter().enumerate() {
            matrix.add(shape, &expected.iter().map(|row| Some(row[at])).collect::<Vec<_>>(), picks);
        }
        return Ok(Reach { is_whole: true, too_long: 0 });
    }
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    order.sort_by(|a, b| halton(a + 1, 0).total_cmp(&halton(b + 1, 0)));
    let _doing = doing("measuring other shapes of the range".to_owned());
    let begun = tuning.budget.elapsed();
    let end = match part {
        Part::Range => begun + begun.mul_f64(SHARE.0).max(SHARE.1),
        _ => Duration::MAX,
    };
    let mut too_long = 0;
    for at in order {
        if tuning.budget.elapsed() > end || tuning.budget.is_over(part) {
            return Ok(Reach { is_whole: false, too_long });
        }
        let instance = Instance::of(tuning.device.def(), &shapes[at])?;
        let best = expected.iter().map(|row| row[at]).fold(0.0, f64::max);
        if instance.is_empty() || instance.flops * 1e-9 > LONGEST * best {
            too_long += 1;
            continue;
        }
        let candidates: Vec<&Candidate> = matrix.rows.iter().map(|row| &found.candidates[*row]).collect();
        if let Some(reached) = tuning.measure_elsewhere(&candidates, &instance)? {
            matrix.add(&shapes[at], &reached, picks);
        }
    }
    Ok(Reach { is_whole: true, too_long })
}
