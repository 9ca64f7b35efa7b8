//! Which micro-kernels there are to be: a small set that loses little over all shapes of a range.
//!
//! The *regret* of a set at a shape is the time of its fastest micro-kernel there over the time of the fastest candidate, 1 or more. A set
//! grows by the candidate that leaves the smallest weighted mean regret over all shapes; where that is a near-tie, by one that is
//! there already.

use std::collections::BTreeSet;

use super::fit::Known;
use super::outside::is_around;
use super::select::Scores;
use crate::search::{Found, Tuning};

/// The regret where nothing of a set can be used, so that what serves at all comes first.
const NONE: f64 = 1000.0;

/// A micro-kernel that was selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    /// Its row, or position.
    pub at: usize,
    /// The weighted mean regret of it and of those that were selected before it.
    pub regret: f64,
}

/// At most so many of some rows, in the order in which they are selected; those in `first` are there already.
///
/// Where all of those fit, they come before others. Others, where there is room, are added as long as each lowers the mean regret by more
/// than the tolerance.
fn members(scores: Scores<'_>, (first, rows): (&BTreeSet<usize>, &BTreeSet<usize>), most: usize) -> Vec<Member> {
    let regrets = Regrets::of(&scores);
    let mut members: Vec<Member> = Vec::new();
    while members.len() < most {
        let chosen: Vec<usize> = members.iter().map(|member| member.at).collect();
        let best = |of: &BTreeSet<usize>| {
            let left = of.iter().filter(|row| !chosen.contains(row));
            let with =
                |row: &usize| Member { at: *row, regret: regrets.mean([&chosen[..], &[*row]].concat().as_slice()) };
            left.map(with).min_by(|a, b| a.regret.total_cmp(&b.regret))
        };
        let Some(any) = best(rows) else { break };
        let next = match best(first) {
            Some(there) if first.len() <= most || there.regret <= any.regret * (1.0 + scores.tolerance) => there,
            _ => any,
        };
        let lowers = members.last().is_none_or(|last| last.regret > next.regret * (1.0 + scores.tolerance));
        if !lowers && !first.contains(&next.at) {
            break;
        }
        members.push(next);
    }
    members
}

/// The regrets of rows at shapes.
struct Regrets<'a> {
    /// `[row][shape]`.
    regrets: Vec<Vec<f64>>,
    weights: &'a [f64],
}

impl Regrets<'_> {
    fn of<'a>(scores: &Scores<'a>) -> Regrets<'a> {
        let best = |shape: usize| scores.scores.iter().map(|row| row[shape]).fold(0.0, f64::max);
        let bests: Vec<f64> = (0..scores.weights.len()).map(best).collect();
        let row = |row: &Vec<f64>| row.iter().zip(&bests).map(|(score, best)| regret(*score, *best)).collect();
        let regrets = scores.scores.iter().map(row).collect();
        Regrets { regrets, weights: scores.weights }
    }

    /// The weighted mean of the smallest of some rows.
    fn mean(&self, rows: &[usize]) -> f64 {
        let least = |shape: usize| rows.iter().map(|row| self.regrets[*row][shape]).fold(NONE, f64::min);
        let sum: f64 = self.weights.iter().enumerate().map(|(shape, weight)| weight * least(shape)).sum();
        sum / self.weights.iter().sum::<f64>()
    }
}

/// What candidates reach at the instances, as a search expects it, and behind them at other shapes.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    /// The candidates, by their positions among what was found.
    pub rows: Vec<usize>,
    /// The shapes, those of the instances first.
    pub shapes: Vec<Vec<i64>>,
    /// `[row][shape]`.
    pub scores: Vec<Vec<f64>>,
    /// Of the instances, and of other shapes those of their nearest instances.
    pub weights: Vec<f64>,
    /// How many of the shapes are those of instances.
    instances: usize,
    /// Candidates that are no rows any more, since they failed at another shape.
    failed: BTreeSet<usize>,
    /// Candidates that are rows to be compared with, and no members: they won no duel.
    compared: BTreeSet<usize>,
    /// Whether figures were measured, or estimated where nothing can be, at each of the other shapes; else they are predicted.
    measured: Vec<bool>,
}

impl Matrix {
    /// At the instances alone. Who was decided for at one at which duels told something, and time ended none that was due, is the best there:
    /// no figure of a search overrules a verdict. Elsewhere figures, or what is expected, are all that is known.
    pub(super) fn of(
        tuning: &Tuning<'_>,
        found: &Found,
        rows: Vec<usize>,
        picks: &[usize],
        told: &BTreeSet<usize>,
    ) -> Matrix {
        let row = |candidate: &usize| (0..picks.len()).map(|at| found.expected_score(*candidate, at)).collect();
        let mut scores: Vec<Vec<f64>> = rows.iter().map(row).collect();
        for (at, pick) in picks.iter().enumerate().filter(|(at, _)| told.contains(at)) {
            let best = scores.iter().map(|row| row[at]).fold(0.0, f64::max);
            rows.iter().zip(&mut scores).filter(|(row, _)| *row == pick).for_each(|(_, scores)| scores[at] = best);
        }
        let shapes: Vec<Vec<i64>> = tuning.workloads.iter().map(|workload| workload.instance.shape.clone()).collect();
        let weights = tuning.workloads.iter().map(|workload| workload.weight).collect();
        let (measured, failed, compared) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Matrix { rows, instances: shapes.len(), shapes, scores, weights, measured, failed, compared }
    }

    /// The same, with some rows that become no members.
    pub(super) fn compared_with(self, compared: BTreeSet<usize>) -> Matrix {
        Matrix { compared, ..self }
    }

    /// With no shape yet.
    #[cfg(test)]
    pub(super) fn of_rows(rows: Vec<usize>) -> Matrix {
        let scores = vec![Vec::new(); rows.len()];
        let (shapes, weights, measured, failed) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        Matrix { rows, shapes, scores, weights, instances: 0, measured, failed, compared: BTreeSet::new() }
    }

    /// Adds what the rows reach at another shape, as it was measured or as it is predicted. Who fails there (`None`) is no row any more,
    /// unless it was picked.
    pub(super) fn add(&mut self, shape: &[i64], reached: &[Option<f64>], picks: &[usize], is_measured: bool) {
        self.measured.push(is_measured);
        self.weights.push(nearest(shape, &self.shapes[..self.instances]).map_or(1.0, |at| self.weights[at]));
        self.shapes.push(shape.to_vec());
        let with = |(mut scores, figure): (Vec<f64>, &Option<f64>)| {
            scores.push(figure.unwrap_or(0.0));
            scores
        };
        let scores = std::mem::take(&mut self.scores).into_iter().zip(reached).map(with);
        let rows = std::mem::take(&mut self.rows).into_iter().zip(scores).zip(reached);
        let (stays, failed): (Vec<_>, Vec<_>) =
            rows.partition(|((row, _), figure)| figure.is_some() || picks.contains(row));
        self.failed.extend(failed.into_iter().map(|((row, _), _)| row));
        (self.rows, self.scores) = stays.into_iter().map(|(row, _)| row).unzip();
    }

    /// Whether a candidate failed at another shape.
    pub(super) fn has_failed(&self, candidate: usize) -> bool {
        self.failed.contains(&candidate)
    }

    /// Notes that a candidate won an instance: it is the best there. Of one that was no row, nothing is known elsewhere but these
    /// expectations of all shapes, by which it is the best of none.
    pub(super) fn won(&mut self, candidate: usize, instance: usize, expected: &[f64]) {
        let best = |scores: &[Vec<f64>], shape: usize| scores.iter().map(|row| row[shape]).fold(0.0, f64::max);
        let row = self.rows.iter().position(|row| *row == candidate).unwrap_or_else(|| {
            let row =
                expected.iter().enumerate().map(|(shape, gflops)| gflops.min(best(&self.scores, shape))).collect();
            self.rows.push(candidate);
            self.scores.push(row);
            self.rows.len() - 1
        });
        self.scores[row][instance] = best(&self.scores, instance);
    }

    /// The same without its last shapes.
    pub(super) fn without_last(&self, shapes: usize) -> Matrix {
        let left = self.shapes.len() - shapes;
        let scores = self.scores.iter().map(|row| row[..left].to_vec()).collect();
        let (shapes, weights) = (self.shapes[..left].to_vec(), self.weights[..left].to_vec());
        let measured = self.measured[..left - self.instances].to_vec();
        let (rows, failed) = (self.rows.clone(), self.failed.clone());
        Matrix { shapes, weights, scores, rows, failed, measured, compared: self.compared.clone(), ..*self }
    }

    /// The shapes that are none of the instances'.
    pub(super) fn others(&self) -> &[Vec<i64>] {
        &self.shapes[self.instances..]
    }

    /// What some candidates, by their positions among what was found, reach at those, and behind them the one that `default` says of a shape,
    /// if it does. Far off all that was measured others than that one count as slower by the doubt of both, so that the default loses nothing
    /// within that. `is_estimated`: nothing can be timed.
    pub(super) fn known(
        &self,
        candidates: &[usize],
        default: impl Fn(&[i64]) -> Option<usize>,
        is_estimated: bool,
    ) -> Vec<Known> {
        let of = |(at, is_measured): (usize, &bool)| {
            let column = self.instances + at;
            let (shape, weight) = (self.shapes[column].clone(), self.weights[column]);
            let default = default(&shape);
            let (doubt, slower) = match *is_measured && !is_estimated {
                true => (0.0, 1.0),
                false if default.is_some() && self.is_far(column) => (0.0, (-2.0 * Known::PREDICTED).exp()),
                false => (Known::PREDICTED, 1.0),
            };
            let slower = |candidate: usize| if default == Some(candidate) { 1.0 } else { slower };
            let reached = candidates.iter().map(|at| self.score_at(*at, column) * slower(*at));
            let throughput = reached.chain(default.map(|default| self.score_at(default, column))).collect();
            Known { shape, throughput, weight, doubt }
        };
        self.measured.iter().enumerate().map(of).collect()
    }

    /// Whether no figures were measured at a shape or around it.
    fn is_far(&self, shape: usize) -> bool {
        let is_near = |other: usize| self.is_measured(other) && is_around(&self.shapes[shape], &self.shapes[other]);
        !(0..self.shapes.len()).any(is_near)
    }

    /// Whether figures at a shape are more than predictions.
    pub(super) fn is_measured(&self, shape: usize) -> bool {
        shape.checked_sub(self.instances).is_none_or(|other| self.measured[other])
    }

    /// How many of those have predicted figures.
    pub(super) fn predicted(&self) -> usize {
        self.measured.iter().filter(|is_measured| !**is_measured).count()
    }

    /// The micro-kernels that there are to be, by their positions among what was found; see [`members`].
    pub(super) fn members(&self, picks: &[usize], most: usize, tolerance: f64) -> Vec<Member> {
        let all = || 0..self.rows.len();
        let first = all().filter(|row| picks.contains(&self.rows[*row])).collect();
        let rows = all().filter(|row| !self.compared.contains(&self.rows[*row])).collect();
        let members = members(self.scores(tolerance), (&first, &rows), most);
        members.into_iter().map(|Member { at, regret }| Member { at: self.rows[at], regret }).collect()
    }

    /// The same with all that are picked, also where these are too many.
    pub(super) fn with_picks(&self, mut members: Vec<Member>, picks: &[usize]) -> Vec<Member> {
        for pick in picks {
            if !members.iter().any(|member| member.at == *pick) {
                let all: Vec<usize> = members.iter().map(|member| member.at).chain([*pick]).collect();
                members.push(Member { at: *pick, regret: self.regret(&all) });
            }
        }
        members
    }

    fn scores(&self, tolerance: f64) -> Scores<'_> {
        Scores { scores: &self.scores, weights: &self.weights, tolerance }
    }

    /// The weighted mean regret of candidates, by their positions among what was found.
    fn regret(&self, candidates: &[usize]) -> f64 {
        let rows: Vec<usize> = (0..self.rows.len()).filter(|row| candidates.contains(&self.rows[*row])).collect();
        Regrets::of(&self.scores(0.0)).mean(&rows)
    }

    /// What a candidate, by its position among what was found, reaches at a shape; 0 if it is none of the rows.
    pub(super) fn score_at(&self, candidate: usize, shape: usize) -> f64 {
        let row = self.rows.iter().position(|row| *row == candidate);
        row.map_or(0.0, |row| self.scores[row][shape])
    }

    /// The regret of a candidate, by its position among what was found, at a shape; none: of one that cannot be used.
    pub(super) fn regret_at(&self, candidate: Option<usize>, shape: usize) -> f64 {
        let best = self.scores.iter().map(|row| row[shape]).fold(0.0, f64::max);
        candidate.map_or(NONE, |candidate| regret(self.score_at(candidate, shape), best))
    }
}

/// Where nothing is known of anybody, nobody loses.
fn regret(score: f64, best: f64) -> f64 {
    if best > 0.0 { (best / score).min(NONE) } else { 1.0 }
}

/// The position of the shape that is nearest to one: by the ratios of extents, which are 1 or more.
pub(super) fn nearest(shape: &[i64], to: &[Vec<i64>]) -> Option<usize> {
    let distance = |other: &Vec<i64>| -> f64 {
        shape.iter().zip(other).map(|(a, b)| ((*a).max(1) as f64 / (*b).max(1) as f64).ln().powi(2)).sum()
    };
    (0..to.len()).min_by(|a, b| distance(&to[*a]).total_cmp(&distance(&to[*b])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Tree;
    use crate::dispatch::fit::fit;
    use crate::dispatch::grow::variables;

    fn chosen(scores: &[Vec<f64>], weights: &[f64], first: &[usize], most: usize) -> Vec<usize> {
        let scores = Scores { scores, weights, tolerance: 0.02 };
        let rows = (0..scores.scores.len()).collect();
        members(scores, (&first.iter().copied().collect(), &rows), most).iter().map(|member| member.at).collect()
    }

    #[test]
    fn weights_alone_flip_a_choice() {
        let scores = [vec![100.0, 50.0], vec![50.0, 100.0]];
        assert_eq!(chosen(&scores, &[2.0, 1.0], &[0, 1], 1), [0]);
        assert_eq!(chosen(&scores, &[1.0, 2.0], &[0, 1], 1), [1]);
        assert_eq!(chosen(&scores, &[1.0, 2.0], &[0, 1], 2), [1, 0], "the first is the one that gains most");
    }

    #[test]
    fn what_is_nowhere_the_best_is_taken_if_it_loses_least() {
        let scores = [vec![100.0, 20.0, 20.0], vec![20.0, 100.0, 20.0], vec![90.0, 90.0, 90.0]];
        assert_eq!(chosen(&scores, &[1.0; 3], &[0, 1], 1), [2]);
        assert_eq!(chosen(&scores, &[1.0; 3], &[0, 1], 8), [0, 1, 2], "who won comes first where there is room");
    }

    #[test]
    fn a_near_tie_is_for_what_is_there_and_adds_nothing() {
        let scores = [vec![99.0, 99.0], vec![100.0, 100.0], vec![100.0, 50.0]];
        assert_eq!(chosen(&scores, &[1.0; 2], &[0], 8), [0]);
        assert_eq!(chosen(&scores, &[1.0; 2], &[0, 2], 1), [0]);
        assert_eq!(chosen(&scores, &[1.0; 2], &[2], 8), [2, 1]);
    }

    #[test]
    fn each_member_lowers_the_mean_regret_which_a_brute_force_does_no_better_with_one() {
        let scores = [vec![10.0, 80.0, 0.0, 30.0], vec![100.0, 10.0, 40.0, 30.0], vec![30.0, 100.0, 70.0, 0.0]];
        let of = Scores { scores: &scores, weights: &[1.0, 2.0, 3.0, 4.0], tolerance: 0.02 };
        let regrets = Regrets::of(&of);
        let rows = (0..of.scores.len()).collect();
        let members = members(of, (&BTreeSet::new(), &rows), 3);
        assert!(members.windows(2).all(|pair| pair[0].regret > 1.02 * pair[1].regret), "{members:?}");
        let best = (0..3).map(|row| regrets.mean(&[row])).fold(f64::INFINITY, f64::min);
        assert_eq!(members[0].regret, best);
        assert_eq!(members.last().unwrap().regret, 1.0);
    }

    #[test]
    fn who_is_only_compared_with_is_no_member_and_shows_what_is_lost() {
        let mut matrix = Matrix::of_rows(vec![4, 7]);
        matrix.add(&[16], &[Some(100.0), Some(300.0)], &[], true);
        let members = |matrix: &Matrix| matrix.members(&[4], 8, 0.02).iter().map(|of| of.at).collect::<Vec<_>>();
        assert_eq!(members(&matrix), [4, 7]);
        let compared = matrix.compared_with([7].into());
        assert_eq!(members(&compared), [4]);
        assert_eq!(compared.regret_at(Some(4), 0), 3.0);
    }

    /// A tile was measured to be ahead of the default where shapes are small, and is predicted to be ahead of it by so much elsewhere.
    #[test]
    fn far_off_all_that_was_measured_the_default_loses_nothing_within_the_doubt_of_both() {
        let picks = |ahead: f64| {
            let mut matrix = Matrix::of_rows(vec![0, 1]);
            for m in [64, 96, 128] {
                matrix.add(&[m], &[Some(150.0), Some(100.0)], &[], true);
            }
            for m in [200, 250, 2000, 3000, 4000] {
                matrix.add(&[m], &[Some(100.0 * ahead), Some(100.0)], &[], false);
            }
            let vars = ["M".to_owned()];
            let choices = ["tile", "default"].map(|name| Tree::Leaf(name.to_owned()));
            let known = matrix.known(&[0], |_| Some(1), false);
            let tree = fit((&vars, &variables(&vars)), &choices, &[], &known);
            [64, 250, 3000].map(|m| tree.pick(&vars, &[m]).to_owned())
        };
        assert_eq!(picks(1.15), ["tile", "tile", "default"]);
        assert_eq!(picks(1.5), ["tile"; 3]);
        // The default's own micro-kernel, as a choice by itself, counts as what it is.
        let mut far = Matrix::of_rows(vec![0, 1]);
        far.add(&[2000], &[Some(110.0), Some(100.0)], &[], false);
        let known = far.known(&[0, 1], |_| Some(1), false).swap_remove(0).throughput;
        assert!(known[1..] == [100.0; 2] && known[0] < 100.0, "{known:?}");
    }

    #[test]
    fn the_nearest_is_so_by_ratios() {
        let to = [vec![16, 16], vec![512, 16], vec![16, 1024]];
        let of = |shape: [i64; 2]| nearest(&shape, &to);
        assert_eq!([of([80, 1]), of([100, 16]), of([16, 200]), of([0, 0])], [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(nearest(&[1], &[]), None);
    }
}
