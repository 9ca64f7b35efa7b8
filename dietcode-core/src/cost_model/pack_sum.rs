//! PackSum: a program's score is the sum of what is predicted of its stores, and is learned as that sum.
//!
//! Source: L. Zheng et al., "Ansor", OSDI 2020, section 5.2; TVM's `PackSum` (`python/tvm/meta_schedule/cost_model/xgb_model.py`).
//! The label y is the best time of the nest over the program's: in (0, 1], 0 of one that failed; more is better. With s the sum over
//! a program's rows of their predictions, the loss is Σ over programs of ½ · y · (s − y)², so that of each of its rows
//!
//! ```text
//! gradient = (s − y) · y        hessian = y
//! ```
//!
//! A program may have a score beforehand, its *base margin*, of which each of its rows has an equal part.

use std::ops::Range;

/// The rows of programs, one after the other: where each program's are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    ends: Vec<usize>,
}

impl Pack {
    /// Of programs with so many rows.
    pub fn of(rows: impl IntoIterator<Item = usize>) -> Pack {
        let mut end = 0;
        let ends = rows.into_iter().map(|rows| {
            end += rows;
            end
        });
        Pack { ends: ends.collect() }
    }

    /// How many programs.
    pub fn programs(&self) -> usize {
        self.ends.len()
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The rows of a program.
    pub fn of_program(&self, program: usize) -> Range<usize> {
        program.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[program]
    }

    /// What is predicted of each program, from what is predicted of each row.
    pub fn sums(&self, predictions: &[f32]) -> Vec<f32> {
        (0..self.programs()).map(|program| predictions[self.of_program(program)].iter().sum()).collect()
    }

    /// For each row its part of what its program has.
    pub fn spread(&self, of_programs: &[f32]) -> Vec<f32> {
        let rows = |(program, value): (usize, &f32)| {
            let rows = self.of_program(program).len();
            std::iter::repeat_n(*value / rows.max(1) as f32, rows)
        };
        of_programs.iter().enumerate().flat_map(rows).collect()
    }

    /// Gradient and hessian of each row.
    pub fn gradients(&self, predictions: &[f32], labels: &[f32]) -> Vec<(f32, f32)> {
        let sums = self.sums(predictions);
        let rows = |program: usize| {
            let (sum, y) = (sums[program], labels[program]);
            std::iter::repeat_n(((sum - y) * y, y), self.of_program(program).len())
        };
        (0..self.programs()).flat_map(rows).collect()
    }

    /// The root of the mean over rows of the squared error of their program.
    pub fn p_rmse(&self, predictions: &[f32], labels: &[f32]) -> f64 {
        let sums = self.sums(predictions);
        let squares = (0..self.programs()).map(|program| {
            let error = f64::from(sums[program]) - f64::from(labels[program]);
            self.of_program(program).len() as f64 * error * error
        });
        (squares.sum::<f64>() / (self.rows().max(1)) as f64).sqrt()
    }

    /// a-peak@n: how good the best found is after one program was tried, two, … n, in the order of their scores, relative to the best
    /// of all; the mean of that. Of equal scores the later program is tried first.
    pub fn a_peak(&self, predictions: &[f32], labels: &[f32], n: usize) -> f64 {
        a_peak(&self.sums(predictions), labels, n)
    }
}

/// The same of programs' scores.
pub fn a_peak(scores: &[f32], labels: &[f32], n: usize) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(b.cmp(a)));
    let best = labels.iter().copied().fold(0.0f32, f32::max);
    let n = n.min(order.len());
    if n == 0 || best <= 0.0 {
        return 0.0;
    }
    let mut peak = 0.0f32;
    let tried = order[..n].iter().map(|program| {
        peak = peak.max(labels[*program]);
        f64::from(peak) / f64::from(best)
    });
    tried.sum::<f64>() / n as f64
}

/// The share of pairs of programs with different labels whose scores are in the same order.
pub fn pairwise_accuracy(scores: &[f32], labels: &[f32]) -> f64 {
    let (mut right, mut pairs) = (0.0, 0.0);
    for a in 0..scores.len() {
        for b in 0..a {
            if labels[a] != labels[b] {
                pairs += 1.0;
                let same = (labels[a] > labels[b]) == (scores[a] > scores[b]);
                right += if scores[a] == scores[b] { 0.5 } else { f64::from(u8::from(same)) };
            }
        }
    }
    if pairs == 0.0 { 0.0 } else { right / pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three programs of 4, 2 and 3 stores.
    const PREDICTIONS: [f32; 9] = [0.2, 0.3, 0.15, 0.25, 0.5, 0.4, 0.1, 0.2, 0.3];
    const LABELS: [f32; 3] = [1.5, 2.7, 0.9];

    fn close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
    }

    #[test]
    fn the_worked_case() {
        let pack = Pack::of([4, 2, 3]);
        assert_eq!((pack.programs(), pack.rows(), pack.of_program(1)), (3, 9, 4..6));
        close(&pack.sums(&PREDICTIONS), &[0.9, 0.9, 0.6]);
        assert!((pack.p_rmse(&PREDICTIONS, &LABELS) - 0.953_939).abs() < 1e-6);
        let (gradients, hessians): (Vec<f32>, Vec<f32>) = pack.gradients(&PREDICTIONS, &LABELS).into_iter().unzip();
        close(&gradients, &[-0.9, -0.9, -0.9, -0.9, -4.86, -4.86, -0.27, -0.27, -0.27]);
        close(&hessians, &[1.5, 1.5, 1.5, 1.5, 2.7, 2.7, 0.9, 0.9, 0.9]);
        // The first two have the same score: the second one, which is the best, is tried first.
        assert_eq!(pack.a_peak(&PREDICTIONS, &LABELS, 1), 1.0);
    }

    #[test]
    fn a_margin_is_divided_by_the_rows_of_its_program() {
        close(&Pack::of([4, 0, 2]).spread(&[1.0, 7.0, 0.5]), &[0.25, 0.25, 0.25, 0.25, 0.25, 0.25]);
    }

    #[test]
    fn a_peak_is_the_mean_of_the_best_so_far() {
        let labels = [0.2, 1.0, 0.5, 0.0];
        assert!((a_peak(&[4.0, 2.0, 3.0, 1.0], &labels, 3) - (0.2 + 0.5 + 1.0) / 3.0).abs() < 1e-7);
        assert!((a_peak(&[4.0, 2.0, 3.0, 1.0], &labels, 99) - (0.2 + 0.5 + 1.0 + 1.0) / 4.0).abs() < 1e-7);
        // Equal scores: the later one first.
        assert!((a_peak(&[0.0; 4], &labels, 2) - 0.25).abs() < 1e-7);
        assert_eq!((a_peak(&[], &[], 3), a_peak(&[1.0], &[0.0], 1)), (0.0, 0.0));
        assert_eq!(pairwise_accuracy(&[4.0, 2.0, 3.0, 1.0], &labels), 3.0 / 6.0);
        assert_eq!(pairwise_accuracy(&[0.0; 4], &labels), 0.5);
    }
}
