//! What came of a strategy from several seeds.

use serde::Serialize;

/// The numbers of trials after which strategies are compared.
pub const CHECKPOINTS: [usize; 5] = [16, 32, 64, 128, 256];

/// A run of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Where its random choices started.
    pub seed: u64,
    /// The weighted geometric mean of the best GFLOP/s before the first trial and after each.
    pub gflops: Vec<f64>,
}

/// The runs of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// The strategy.
    pub strategy: String,
    /// What came of them after some numbers of trials.
    pub checkpoints: Vec<Checkpoint>,
    /// Each of them.
    pub curves: Vec<Curve>,
}

/// The runs after a number of trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checkpoint {
    /// So many trials.
    pub trials: usize,
    /// The mean over the seeds, in GFLOP/s.
    pub mean: f64,
    /// The standard deviation between seeds (of a sample: n − 1), in GFLOP/s; 0 for a single one.
    pub deviation: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Simulated {
    /// Of runs; numbers of trials that not all of them came to are left out.
    pub fn of(strategy: &str, curves: Vec<Curve>) -> Simulated {
        let shortest = curves.iter().map(|curve| curve.gflops.len()).min().unwrap_or(0);
        let checkpoints = CHECKPOINTS.iter().filter(|trials| **trials < shortest);
        let checkpoints = checkpoints.map(|trials| Checkpoint::of(*trials, &curves)).collect();
        Simulated { strategy: strategy.to_owned(), checkpoints, curves }
    }
}

impl Checkpoint {
    fn of(trials: usize, curves: &[Curve]) -> Checkpoint {
        let figures: Vec<f64> = curves.iter().map(|curve| curve.gflops[trials]).collect();
        let mean = figures.iter().sum::<f64>() / figures.len() as f64;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        Checkpoint {
            trials,
            mean,
            deviation: (squares / (figures.len() - 1).max(1) as f64).sqrt(),
            min: figures.iter().copied().fold(f64::INFINITY, f64::min),
            max: figures.iter().copied().fold(0.0, f64::max),
        }
    }
}
