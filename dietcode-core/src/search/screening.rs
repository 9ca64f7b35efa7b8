//! The first look: a candidate is checked on ragged instances, and timed at two points or three, at the first number of threads.
//!
//! What it does there, and what the model says of how instances differ, is what is expected of it everywhere, see
//! [`Calibration`](crate::cost_model::Calibration).

use super::Tuning;
use crate::Result;
use crate::measure::{Purpose, Timing};

/// Enough to tell a candidate that is much slower.
pub(super) const BRIEF: Timing = Timing::warm(2, 0.005, 0.5).unchecked();

/// A candidate is not called again after two calls that take so many times as long as the best's, and longer than [`SHORT`].
const GIVEN_UP: f64 = 3.0;

/// In seconds: a call that is shorter is timed in any case, which takes no more than a few such calls. The first calls take several times as
/// long as later ones, for what they are the first to touch.
const SHORT: f64 = 5e-3;

/// Screens candidates.
pub(super) fn screen(tuning: &mut Tuning<'_>, batch: &[usize]) -> Result<()> {
    let cores = std::sync::Arc::clone(tuning.device.cores());
    let _alone = cores.reserve(tuning.threads[0]);
    for at in batch {
        if !tuning.was_screened(*at) {
            tuning.check(*at, Purpose::Screening)?;
        }
        for point in 0..tuning.points.timed.len() {
            if !tuning.candidates[*at].failed {
                let alive = tuning.candidates.iter().filter(|candidate| !candidate.failed);
                let best = alive.filter_map(|candidate| candidate.seconds[point]);
                let timing = timing(BRIEF, best.reduce(f64::min));
                tuning.time(*at, point, timing)?;
            }
        }
    }
    Ok(())
}

/// A timing that ends early where the first calls take so much longer than the best, if there is one.
pub(super) fn timing(timing: Timing, best: Option<f64>) -> Timing {
    let slow_seconds = best.map_or(timing.slow_seconds, |best| timing.slow_seconds.min((GIVEN_UP * best).max(SHORT)));
    Timing { slow_seconds, ..timing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_long_is_given_up_after_its_first_calls() {
        let given_up_after = |best| timing(BRIEF, best).slow_seconds;
        assert_eq!(given_up_after(None), BRIEF.slow_seconds);
        assert_eq!(given_up_after(Some(4e-7)), SHORT);
        assert_eq!(given_up_after(Some(0.01)), GIVEN_UP * 0.01);
        assert_eq!(given_up_after(Some(10.0)), BRIEF.slow_seconds);
    }
}
