//! Compares search strategies on measurements that are on record, without measuring.
//!
//! ```text
//! records of a run ──► pool: its candidates, with their figures
//!                        ▲ │
//!      a strategy picks ─┘ └─► figures, which it sees ──► the best so far after each trial
//! ```
//!
//! The space is what is on record, as if nothing else existed: a strategy picks among the candidates of the pool, and a
//! [`SimulatedDevice`](crate::measure::SimulatedDevice) measures of them what is on record. So strategies are compared by how soon they
//! find the pool's best, and none sees more than it would have measured.
//!
//! | strategy    | picks                                                                                           |
//! |-------------|-------------------------------------------------------------------------------------------------|
//! | `random`    | any                                                                                             |
//! | `evolution` | what the model predicts to be the fastest of the pool, as evolution chooses among its generations |
//! | `nearest`   | the nearest in the pool of what evolution proposes from the whole space: same sketch, not selected |
//!
//! Two things limit what that says. The pool has to come of an exploration without preferences (random draws of the whole
//! space): one that a strategy chose favours that strategy. And it is thin where the space is large: what no draw came to
//! is not there for `evolution`, and what `nearest` is answered may be far from what was proposed.
//!
//! A candidate without a figure at an instance was not measured there because it could not win; it does not win here either.
mod evolution;
mod guide;
mod nearest;
mod pool;
mod proposed;
mod random;
mod summary;
#[cfg(test)]
mod tests;

pub use evolution::Evolved;
pub use guide::Guide;
pub use pool::{Goal, Pool, Recorded};
pub use proposed::Proposed;
pub use random::Random;
pub use summary::{CHECKPOINTS, Checkpoint, Curve, Simulated};

use crate::Result;
use crate::measure::{Code, Device, Timing};

/// What a strategy sees.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The candidates. What is not in `selected` has not been measured yet: its figures are none of a strategy's business.
    pub pool: &'a Pool,
    /// Those that were selected, in order.
    pub selected: &'a [usize],
    /// The best figure so far of each goal, in GFLOP/s.
    pub best: &'a [f64],
}

impl Seen<'_> {
    /// The candidates that were not selected, in the pool's order.
    pub fn left(&self) -> Vec<usize> {
        let mut left = vec![true; self.pool.candidates.len()];
        self.selected.iter().for_each(|at| left[*at] = false);
        (0..left.len()).filter(|at| left[*at]).collect()
    }
}

/// Picks from a pool.
pub trait Strategy {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// At most `want` candidates (positions in the pool) that were not selected, each once; none if it has no more.
    ///
    /// # Errors
    /// If it cannot pick from such a pool.
    fn pick(&mut self, seen: &Seen<'_>, want: usize) -> Result<Vec<usize>>;
}

/// What is on record is the same each time.
const ONCE: Timing = Timing::warm(1, 0.0, f64::MAX);

/// Lets a strategy pick, in rounds of `per_round`, until `trials` are used up or it has no more, and measures what it picks on the
/// [pool's device](Pool::device). Gives the weighted geometric mean over the goals of the best GFLOP/s before the first trial and
/// after each.
///
/// # Errors
/// What the strategy returns; a shape on record that is none of the kernel.
pub fn simulate(
    pool: &Pool,
    device: &mut dyn Device,
    strategy: &mut dyn Strategy,
    trials: usize,
    per_round: usize,
) -> Result<Vec<f64>> {
    let instances = pool.goals.iter().map(|goal| goal.instance(device.def())).collect::<Result<Vec<_>>>()?;
    let (mut selected, mut best) = (Vec::new(), pool.start.clone());
    let mut curve = vec![pool.mean(&best)];
    while selected.len() < trials {
        let want = per_round.clamp(1, trials - selected.len());
        let round = strategy.pick(&Seen { pool, selected: &selected, best: &best }, want)?;
        if round.is_empty() {
            break;
        }
        for at in round {
            let code = Code::Simulated(pool.candidates[at].name.clone());
            for ((goal, instance), best) in pool.goals.iter().zip(&instances).zip(&mut best) {
                let implementation = device.implementation(&code, instance)?;
                for sample in device.measure(instance, vec![implementation], goal.threads, ONCE)?.into_iter().flatten()
                {
                    *best = best.max(sample.gflops(instance.flops).median);
                }
            }
            selected.push(at);
            curve.push(pool.mean(&best));
        }
    }
    Ok(curve)
}
