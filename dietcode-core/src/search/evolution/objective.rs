//! What a candidate is worth: how much it would improve the weighted set of instances over the best found.

/// The instances that count.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The shape variables of each instance, in declaration order.
    pub instances: Vec<Vec<i64>>,
    /// How much each instance counts; positive.
    pub weights: Vec<f64>,
    /// Cores or multiprocessors that a call has.
    pub units: usize,
}

/// What was found, while candidates are selected.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    weights: Vec<f64>,
    /// The logarithm of the throughput to be improved on.
    best: Vec<f64>,
    /// The spread of what is expected, as a share of it.
    error: f64,
}

impl Goal {
    /// `known` and `found` are what is expected of candidates that were measured, and of others. What was measured is to be
    /// improved on; only where nothing was, what the model says.
    pub(super) fn of<'a>(
        objective: &Objective,
        error: f64,
        known: &(impl Iterator<Item = &'a [f64]> + Clone),
        found: &(impl Iterator<Item = &'a [f64]> + Clone),
    ) -> Goal {
        let whole: f64 = objective.weights.iter().sum();
        let top = |rows: &mut dyn Iterator<Item = &'a [f64]>, at: usize| rows.map(|row| row[at]).fold(0.0f64, f64::max);
        let best = (0..objective.instances.len()).map(|at| {
            let choices = [top(&mut known.clone(), at), top(&mut found.clone(), at)];
            choices.into_iter().find(|best| *best > 0.0).unwrap_or(1.0).ln()
        });
        Goal { best: best.collect(), weights: objective.weights.iter().map(|weight| weight / whole).collect(), error }
    }

    /// The expected gain in the weighted mean of the logarithms of throughputs, given figures whose error is spread like the
    /// logistic distribution. Also what is somewhat slower than the best is worth something, the closer the more: so that
    /// early rounds have a direction, and late ones try what the model may be wrong about.
    ///
    /// Source: expected improvement, Jones, Schonlau and Welch, *Efficient Global Optimization of Expensive Black-Box
    /// Functions* (Journal of Global Optimization 1998).
    pub(super) fn gain(&self, figures: &[f64]) -> f64 {
        let gains = figures.iter().zip(&self.best).map(|(gflops, best)| expected(gflops.ln() - best, self.error));
        gains.zip(&self.weights).map(|(gain, weight)| gain * weight).sum()
    }

    /// Counts a candidate as found: others that serve the same instances gain less after it.
    pub(super) fn take(&mut self, figures: &[f64]) {
        for (best, gflops) in self.best.iter_mut().zip(figures) {
            *best += expected(gflops.ln() - *best, self.error);
        }
    }
}

/// E[max(0, x + error)]; 0 for what cannot run.
fn expected(x: f64, error: f64) -> f64 {
    let z = x / error;
    // Beyond this the sum is the larger term, to the last bit.
    if z > 40.0 { x } else { error * z.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::super::scale::LEAST_ERROR;
    use super::*;

    impl Goal {
        /// Of instances of equal weights where so much was measured.
        pub(in crate::search::evolution) fn to_improve_on(best: &[f64]) -> Goal {
            let weights = vec![1.0 / best.len() as f64; best.len()];
            Goal { weights, best: best.iter().map(|best| best.ln()).collect(), error: LEAST_ERROR }
        }
    }

    #[test]
    fn faster_is_worth_more_and_what_cannot_run_nothing() {
        let goal = Goal::to_improve_on(&[100.0, 50.0]);
        let rows = [[0.0, 0.0], [10.0, 10.0], [99.0, 49.0], [101.0, 49.0], [200.0, 49.0], [1e9, 1e9]];
        let gains: Vec<f64> = rows.iter().map(|row| goal.gain(row)).collect();
        assert_eq!(gains[0], 0.0);
        assert!(gains.is_sorted() && gains[1] > 0.0 && gains[5].is_finite(), "{gains:?}");
        assert!((gains[4] - 0.5 * 2f64.ln()).abs() < 0.04, "{gains:?}");
    }

    #[test]
    fn after_one_was_taken_another_instance_is_worth_more() {
        let mut goal = Goal::to_improve_on(&[100.0, 100.0]);
        let (first, twin, other) = ([160.0, 50.0], [158.0, 50.0], [50.0, 140.0]);
        assert!(goal.gain(&twin) > goal.gain(&other));
        goal.take(&first);
        assert!(goal.gain(&twin) < goal.gain(&other));
    }

    #[test]
    fn what_was_measured_is_to_be_improved_on_and_only_else_what_the_model_hopes_for() {
        let objective = Objective { instances: vec![vec![1]], weights: vec![3.0], units: 1 };
        let of = |known: &[Vec<f64>]| {
            let found = [vec![1200.0]];
            Goal::of(&objective, LEAST_ERROR, &known.iter().map(Vec::as_slice), &found.iter().map(Vec::as_slice))
        };
        assert!(of(&[]).gain(&[1000.0]) < 0.05);
        assert!(of(&[vec![900.0], vec![10.0]]).gain(&[1000.0]) > 0.1);
    }
}
