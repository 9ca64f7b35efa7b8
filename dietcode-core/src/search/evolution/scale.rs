//! What a model says on the scale of what was measured.
//!
//! Where a candidate was measured, that counts and not what the model says of it. A model that is off by a factor is so for all
//! candidates: what it says of those that were not measured is compared with measurements after the median of that factor, for
//! each instance, was taken out. What is left is how far the model is off.

use crate::paired::median;

/// By how much a model is off, as far as was measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// Measured over predicted at each instance; none: nothing was measured there.
    factors: Vec<Option<f64>>,
    /// The spread of the rest, as a share of a figure: of a logistic distribution.
    pub(super) error: f64,
}

/// The least spread of a model's error: a model that has learned from the measurements meets these better than what is new.
pub(super) const LEAST_ERROR: f64 = 0.1;

/// As long as there are fewer figures, nobody knows a spread.
const FEWEST: usize = 8;

impl Scale {
    /// Of rows of candidates over instances: what the model says, and what was measured.
    pub(super) fn of(predicted: &[&[f64]], measured: &[&[Option<f64>]], instances: usize) -> Scale {
        let ratios = |at: usize| -> Vec<f64> {
            let pairs = predicted.iter().zip(measured).filter_map(|(row, seen)| Some((row[at], seen[at]?)));
            pairs.filter(|(predicted, seen)| *predicted > 0.0 && *seen > 0.0).map(|(p, seen)| (seen / p).ln()).collect()
        };
        let ratios: Vec<Vec<f64>> = (0..instances).map(ratios).collect();
        let medians: Vec<Option<f64>> = ratios.iter().map(|ratios| median(ratios.clone())).collect();
        let off = ratios
            .iter()
            .zip(&medians)
            .flat_map(|(ratios, median)| ratios.iter().map(move |ratio| (ratio - median.unwrap_or_default()).abs()));
        let off: Vec<f64> = off.collect();
        // Half of a logistic distribution is within ln 3 times its scale.
        let error = if off.len() < FEWEST { None } else { median(off).map(|off| off / 3f64.ln()) };
        Scale {
            factors: medians.into_iter().map(|median| median.map(f64::exp)).collect(),
            error: error.unwrap_or_default().max(LEAST_ERROR),
        }
    }

    /// What is expected of a candidate: what was measured, or else what the model says on that scale.
    pub(super) fn expected(&self, predicted: &[f64], measured: &[Option<f64>]) -> Vec<f64> {
        let scaled = predicted.iter().zip(&self.factors).map(|(row, factor)| row * factor.unwrap_or(1.0));
        scaled.enumerate().map(|(at, scaled)| measured.get(at).copied().flatten().unwrap_or(scaled)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_taken_out_and_what_was_measured_stands() {
        let predicted: Vec<Vec<f64>> = (1..=9).map(|n| vec![f64::from(n), 10.0]).collect();
        let measured: Vec<[Option<f64>; 2]> = (1..=9).map(|n| [Some(3.0 * f64::from(n)), None]).collect();
        let rows: Vec<&[Option<f64>]> = measured.iter().map(|row| &row[..]).collect();
        let predicted: Vec<&[f64]> = predicted.iter().map(Vec::as_slice).collect();
        let scale = Scale::of(&predicted, &rows, 2);
        assert_eq!(scale.error, LEAST_ERROR);
        let close = |found: Vec<f64>, expected: [f64; 2]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close(scale.expected(&[5.0, 7.0], &[]), [15.0, 7.0]));
        assert!(close(scale.expected(&[5.0, 7.0], &[Some(2.0), None]), [2.0, 7.0]));
    }

    #[test]
    fn the_spread_is_of_what_the_factor_leaves() {
        let predicted: Vec<Vec<f64>> = (0..12).map(|_| vec![10.0]).collect();
        // Half is twice as fast as the model says, half is half as fast.
        let measured: Vec<[Option<f64>; 1]> = (0..12).map(|n| [Some(if n % 2 == 0 { 20.0 } else { 5.0 })]).collect();
        let rows: Vec<&[Option<f64>]> = measured.iter().map(|row| &row[..]).collect();
        let predicted: Vec<&[f64]> = predicted.iter().map(Vec::as_slice).collect();
        assert!(Scale::of(&predicted, &rows, 1).error > 0.3);
        assert_eq!(Scale::of(&predicted[..4], &rows[..4], 1).error, LEAST_ERROR, "four are not enough");
        assert_eq!(Scale::of(&[], &[], 1).expected(&[4.0], &[]), [4.0]);
    }
}
