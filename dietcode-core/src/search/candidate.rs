//! A candidate and what is known of it so far.

use crate::cost_model::{self, Adaptation, Observation};
use crate::measure::Unit;
use crate::sketch::Tiled;

/// A compiled micro-kernel with its figures, one for each number of threads and instance.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The schedule.
    pub tiled: Tiled,
    /// The compiled code.
    pub unit: Unit,
    /// How the instances fit it: `[threads][instance]`.
    pub adaptations: Vec<Vec<Adaptation>>,
    /// GFLOP/s where it was measured: `[threads][instance]`.
    pub gflops: Vec<Vec<Option<f64>>>,
    /// It failed somewhere, and serves nothing any more.
    pub failed: bool,
}

impl Candidate {
    /// One of which nothing is known.
    pub(super) fn new(tiled: Tiled, unit: Unit, adaptations: Vec<Vec<Adaptation>>) -> Candidate {
        let gflops = adaptations.iter().map(|row| vec![None; row.len()]).collect();
        Candidate { tiled, unit, adaptations, gflops, failed: false }
    }

    /// f_MK: its rate per core at a number of threads (its position). Cores that work together share caches and power, so
    /// other numbers of threads count only as long as this one was not measured.
    pub fn rate(&self, threads: usize) -> Option<f64> {
        let seen = |row: usize| {
            let pairs = self.gflops[row].iter().zip(&self.adaptations[row]);
            pairs.filter_map(|(g, a)| Some(Observation { gflops: (*g)?, adaptation: *a }))
        };
        let here: Vec<Observation> = seen(threads).collect();
        let anywhere = || (0..self.gflops.len()).flat_map(seen).collect::<Vec<Observation>>();
        cost_model::rate(&here).or_else(|| cost_model::rate(&anywhere()))
    }

    /// GFLOP/s at a number of threads (its position) on an instance: measured, or else predicted.
    pub fn expected(&self, threads: usize, instance: usize) -> f64 {
        if self.failed {
            return 0.0;
        }
        let predicted = || self.rate(threads).map_or(0.0, |rate| self.adaptations[threads][instance].throughput(rate));
        self.gflops[threads][instance].unwrap_or_else(predicted)
    }

    /// The geometric mean of its measured GFLOP/s over the numbers of threads; 0 unless all of them were measured.
    pub fn score(&self, instance: usize) -> f64 {
        if self.failed {
            return 0.0;
        }
        let logs: Option<Vec<f64>> = self.gflops.iter().map(|row| row[instance].map(f64::ln)).collect();
        logs.map_or(0.0, |logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}
