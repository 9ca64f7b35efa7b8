//! What a candidate is worth: how much it would improve the weighted set of instances over the best found.

/// The instances, and what was found for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The shape variables of each instance, in declaration order.
    pub instances: Vec<Vec<i64>>,
    /// How much each instance counts; positive.
    pub weights: Vec<f64>,
    /// Cores or multiprocessors that a call has.
    pub units: usize,
    /// The best throughput found for each instance, in GFLOP/s; 0: none.
    pub best: Vec<f64>,
}

/// The spread of a model's error, as a share of what it says.
const ERROR: f64 = 0.1;

/// What was found, on the scale of a model, while a round is selected.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    weights: Vec<f64>,
    /// The logarithm of the throughput to be improved on.
    best: Vec<f64>,
}

impl Goal {
    /// `known` and `found` are what the model says of what was measured, and of the candidates. A model that is off by a factor is
    /// off for both: where something was measured, candidates are compared with what the model says of that.
    pub(super) fn of<'a>(
        objective: &Objective,
        known: &(impl Iterator<Item = &'a [f64]> + Clone),
        found: &(impl Iterator<Item = &'a [f64]> + Clone),
    ) -> Goal {
        let whole: f64 = objective.weights.iter().sum();
        let top = |rows: &mut dyn Iterator<Item = &'a [f64]>, at: usize| rows.map(|row| row[at]).fold(0.0f64, f64::max);
        let best = objective.best.iter().enumerate().map(|(at, measured)| {
            let choices = [top(&mut known.clone(), at), *measured, top(&mut found.clone(), at)];
            choices.into_iter().find(|best| *best > 0.0).unwrap_or(1.0).ln()
        });
        Goal { best: best.collect(), weights: objective.weights.iter().map(|weight| weight / whole).collect() }
    }

    /// The expected gain in the weighted mean of the logarithms of throughputs, given a model whose error is spread like the
    /// logistic distribution. Also what is somewhat slower than the best is worth something, the closer the more: so that
    /// early rounds have a direction, and late ones try what the model may be wrong about.
    ///
    /// Source: expected improvement, Jones, Schonlau and Welch, *Efficient Global Optimization of Expensive Black-Box
    /// Functions* (Journal of Global Optimization 1998).
    pub(super) fn gain(&self, predicted: &[f64]) -> f64 {
        let gains = predicted.iter().zip(&self.best).map(|(gflops, best)| expected(gflops.ln() - best));
        gains.zip(&self.weights).map(|(gain, weight)| gain * weight).sum()
    }

    /// Counts a candidate as found: others that serve the same instances gain less after it.
    pub(super) fn take(&mut self, predicted: &[f64]) {
        for (best, gflops) in self.best.iter_mut().zip(predicted) {
            *best += expected(gflops.ln() - *best);
        }
    }
}

/// E[max(0, x + error)]; 0 for what cannot run.
fn expected(x: f64) -> f64 {
    let z = x / ERROR;
    // Beyond this the sum is the larger term, to the last bit.
    if z > 40.0 { x } else { ERROR * z.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(best: &[f64]) -> Goal {
        let objective = Objective {
            instances: vec![vec![1]; best.len()],
            weights: vec![1.0; best.len()],
            units: 1,
            best: best.to_vec(),
        };
        Goal::of(&objective, &std::iter::empty(), &std::iter::empty())
    }

    #[test]
    fn faster_is_worth_more_and_what_cannot_run_nothing() {
        let goal = goal(&[100.0, 50.0]);
        let rows = [[0.0, 0.0], [10.0, 10.0], [99.0, 49.0], [101.0, 49.0], [200.0, 49.0], [1e9, 1e9]];
        let gains: Vec<f64> = rows.iter().map(|row| goal.gain(row)).collect();
        assert_eq!(gains[0], 0.0);
        assert!(gains.is_sorted() && gains[1] > 0.0 && gains[5].is_finite(), "{gains:?}");
        assert!((gains[4] - 0.5 * 2f64.ln()).abs() < 0.04, "{gains:?}");
    }

    #[test]
    fn after_one_was_taken_another_instance_is_worth_more() {
        let mut goal = goal(&[100.0, 100.0]);
        let (first, twin, other) = ([160.0, 50.0], [158.0, 50.0], [50.0, 140.0]);
        assert!(goal.gain(&twin) > goal.gain(&other));
        goal.take(&first);
        assert!(goal.gain(&twin) < goal.gain(&other));
    }

    #[test]
    fn candidates_are_compared_on_the_scale_of_the_model() {
        let objective = Objective { instances: vec![vec![1]], weights: vec![3.0], units: 1, best: vec![1000.0] };
        let (known, found) = ([vec![10.0]], [vec![12.0]]);
        let goal = Goal::of(&objective, &known.iter().map(Vec::as_slice), &found.iter().map(Vec::as_slice));
        assert!(goal.gain(&[12.0]) > 0.15, "{goal:?}");
    }
}
