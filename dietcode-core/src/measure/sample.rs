//! Times, and the figures made of them.

use serde::{Deserialize, Serialize};

/// What was measured of one implementation on one instance: warm caches, wall clock (`CLOCK_MONOTONIC`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds per call, one entry per round.
    pub seconds: Vec<f64>,
    /// Largest deviation from the reference, relative to the reference's largest element; 0 where there is nothing to
    /// compare.
    #[serde(with = "super::number")]
    pub rel_err: f64,
    /// The element that comes nearest to its bound; none where nothing was compared, and on a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// What a GPU was like in each round, null in those in which its driver did not say it; none where it never does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Option<Conditions>>,
}

/// What a device was like when the first sample of a round had been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The clock of its multiprocessors in MHz.
    pub sm_mhz: u32,
    /// The clock of its memory in MHz.
    pub memory_mhz: u32,
    /// Its temperature in degrees Celsius.
    pub celsius: u32,
}

/// An element of an output beside its bound: of all that were compared, the one whose error is the largest share of what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nearest {
    /// How far it is from the reference's value.
    pub error: f64,
    /// How far it may be, which follows from the element types and the length of the reduction.
    #[serde(with = "super::number")]
    pub bound: f64,
}

/// The median of repeats and their spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle one.
    pub median: f64,
    /// Third quartile less first quartile.
    pub iqr: f64,
    /// Of how many.
    pub repeats: usize,
}

impl Sample {
    /// Puts later rounds behind the first so many.
    pub fn extend(&mut self, rounds: usize, more: &Sample) {
        self.seconds.truncate(rounds);
        self.seconds.extend(&more.seconds);
        self.conditions.truncate(rounds);
        self.conditions.extend(&more.conditions);
    }
}

impl Nearest {
    /// The error over the bound; 0 where there is none.
    pub fn share(&self) -> f64 {
        if self.error == 0.0 { 0.0 } else { self.error / self.bound }
    }
}

impl Sample {
    /// Median and spread of the seconds per call.
    pub fn seconds(&self) -> Summary {
        Summary::of(&self.seconds)
    }

    /// Median and spread of the throughput at `flops` operations per call, in GFLOP/s.
    pub fn gflops(&self, flops: f64) -> Summary {
        let rates: Vec<f64> = self.seconds.iter().map(|s| flops / s / 1e9).collect();
        Summary::of(&rates)
    }
}

impl Summary {
    /// Of any values; NaN of none.
    pub fn of(values: &[f64]) -> Summary {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary {
            median: quantile(&sorted, 0.5),
            iqr: quantile(&sorted, 0.75) - quantile(&sorted, 0.25),
            repeats: sorted.len(),
        }
    }
}

/// Linear between the two neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_stay_beside_the_samples_that_they_are_of() {
        let of = |seconds: &[f64], mhz: &[u32]| Sample {
            seconds: seconds.to_vec(),
            rel_err: 0.0,
            nearest: None,
            conditions: mhz.iter().map(|mhz| Some(Conditions { sm_mhz: *mhz, memory_mhz: 1, celsius: 1 })).collect(),
        };
        let mut sample = of(&[1.0, 2.0, 3.0], &[10, 20, 30]);
        sample.extend(2, &of(&[4.0], &[40]));
        assert_eq!(sample, of(&[1.0, 2.0, 4.0], &[10, 20, 40]));
    }

    #[test]
    fn a_summary_is_median_and_quartiles() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(summary, Summary { median: 3.0, iqr: 2.0, repeats: 5 });
        assert_eq!(Summary::of(&[1.0, 2.0]).median, 1.5);
        assert!(Summary::of(&[]).median.is_nan());
    }
}
