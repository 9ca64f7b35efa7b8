//! The tree of what is known of some shapes, and measured or predicted at others.
//!
//! A tree of the tuned shapes alone would split halfway between them, and go on forever beyond the last: a micro-kernel whose tile fits the
//! smallest instance may then run one that is much smaller, nearly all of it padding. So splits are where least is lost over all
//! shapes, by a shape variable or by what follows of several: how many tiles there are, how much of them is padding, how well they share
//! the cores, how many bytes are read and written.

#[cfg(feature = "tuner")]
use dietcode_syntax::KernelDef;

use super::grow::{Grower, Limits, MUST, Sample};
use super::{Label, Tree};
use crate::codegen::quantity::Quantity;
#[cfg(feature = "tuner")]
use crate::config::{Config, WklInst};
#[cfg(feature = "tuner")]
use crate::measure::Instance;

/// The deepest tree that other shapes than the tuned ones may lead to.
const DEEPEST: usize = 10;

/// How much less all shapes have to lose by a split, in the mean, as a natural logarithm.
const WORTH: f64 = 0.0005;

/// A leaf has a 64th of all shapes at the least, and at most so many: what is best at one shape may be far from that at the next ones, and there
/// are as many leaves as a few shapes can ask for.
const FEWEST: usize = 4;

/// Where nobody is known to be faster, all lose so much, in the place of a logarithm.
const NONE: f64 = 7.0;

/// What is known of the micro-kernels at a shape.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The shape.
    pub(super) shape: Vec<i64>,
    /// How fast each choice is there, in any unit; 0: it cannot be used, or nothing is known of it.
    pub(super) throughput: Vec<f64>,
    /// How much the shape counts.
    pub(super) weight: f64,
    /// As a natural logarithm, how much faster another one has to be there to count.
    pub(super) doubt: f64,
}

impl Known {
    /// The doubt of what a model predicts: its error and more. That of what was measured is none.
    pub(super) const PREDICTED: f64 = 0.1;

    fn costs(&self) -> Vec<f64> {
        let best = self.throughput.iter().copied().fold(0.0, f64::max);
        let cost = |own: &f64| match *own > 0.0 {
            true => ((best / own).ln() - self.doubt).clamp(0.0, NONE),
            false => NONE,
        };
        self.throughput.iter().map(|own| self.weight * cost(own)).collect()
    }
}

/// The tree between choices, micro-kernels or trees of such, that loses least at some shapes, of equal ones by the first. Those in `labels`
/// have what they are labelled with, whatever is lost.
pub(super) fn fit(
    (vars, quantities): (&[String], &[Quantity<String>]),
    choices: &[Tree],
    labels: &[Label<'_>],
    known: &[Known],
) -> Tree {
    let values = |shape: &[i64]| -> Vec<i64> {
        let value = |name: &String| vars.iter().position(|var| var == name).map_or(i64::MAX, |at| shape[at]);
        quantities.iter().map(|quantity| quantity.value(&value)).collect()
    };
    let must = |(shape, label): &Label<'_>| {
        let cost = |choice: &Tree| if choice.pick(vars, shape) == *label { 0.0 } else { MUST };
        let costs = choices.iter().map(cost).collect();
        Sample { values: values(shape), costs }
    };
    let may = |known: &Known| Sample { values: values(&known.shape), costs: known.costs() };
    let samples: Vec<Sample> = labels.iter().map(must).chain(known.iter().map(may)).collect();
    let weights: f64 = known.iter().map(|known| known.weight).sum();
    let fewest = (samples.len() / 64).clamp(1, FEWEST);
    let limits = Limits { depth: DEEPEST, worth: WORTH * weights, fewest };
    Grower { quantities, choices, limits }.tree(&samples).pruned()
}

/// The tree between winners of some instances, in which each of the `labels`, the instances' shapes, has its own, of what is predicted at
/// shapes that stand for the range of the instances. `throughput` says what to expect of a winner at a shape.
#[cfg(feature = "tuner")]
pub fn predicted_tree(
    (config, def): (&Config, &KernelDef),
    instances: &[WklInst],
    labels: &[Label<'_>],
    winners: &[String],
    throughput: impl Fn(&str, &[i64]) -> f64,
) -> Tree {
    let vars = &Config::shape_vars(def);
    let shapes = super::sampled::sampled(config, vars, instances, |shape| Instance::of(def, shape).is_ok());
    let known = |shape: Vec<i64>| {
        let throughput = winners.iter().map(|winner| throughput(winner, &shape)).collect();
        Known { shape, throughput, weight: 1.0, doubt: Known::PREDICTED }
    };
    let known: Vec<Known> = shapes.into_keys().map(known).collect();
    let winners: Vec<Tree> = winners.iter().cloned().map(Tree::Leaf).collect();
    fit((vars, &super::grow::variables(vars)), &winners, labels, &known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::grow::variables;

    fn fitted(labels: &[Label<'_>], known: &[Known], names: &[String]) -> Tree {
        let vars = ["M".to_owned()];
        let choices: Vec<Tree> = names.iter().cloned().map(Tree::Leaf).collect();
        fit((&vars, &variables(&vars)), &choices, labels, known)
    }

    fn known(m: i64, throughput: [f64; 2], doubt: f64) -> Known {
        Known { shape: vec![m], throughput: throughput.into(), weight: 1.0, doubt }
    }

    /// A tile of 80 rows is right for 80 and more, and wrong for 16.
    #[test]
    fn only_what_is_clearly_better_counts_where_it_is_predicted() {
        let names = ["wide".to_owned(), "narrow".to_owned()];
        let padded = |tile: i64, m: i64| m as f64 / ((m + tile - 1) / tile * tile) as f64;
        let throughput = |m: i64| [105.0 * padded(80, m), 100.0 * padded(6, m)];
        let tree = |shapes: &[i64]| {
            let all: Vec<Known> = shapes.iter().map(|m| known(*m, throughput(*m), Known::PREDICTED)).collect();
            fitted(&[(&[80], "wide")], &all, &names)
        };
        let of = tree(&[16, 160, 1600]);
        let picks: Vec<&str> = [16, 80, 160, 1600].iter().map(|m| of.pick(&["M".to_owned()], &[*m])).collect();
        assert_eq!(picks, ["narrow", "wide", "wide", "wide"]);
        assert_eq!(tree(&[160, 1600]), Tree::Leaf("wide".into()));
    }

    /// Each second of many shapes is better off with another one, but a few are by far: a tree that has room for some has these.
    #[test]
    fn a_tree_that_would_be_too_deep_has_what_is_most_in_it() {
        let names = ["even".to_owned(), "odd".to_owned()];
        let throughput = |m: i64| match m {
            ..9 => [100.0, 300.0],
            _ if m % 2 == 1 => [100.0, 120.0],
            _ => [100.0, 70.0],
        };
        let all: Vec<Known> = (1..4000).map(|m| known(m, throughput(m), 0.0)).collect();
        let of = fitted(&[], &all, &names);
        let vars = ["M".to_owned()];
        assert!(of.depth() <= DEEPEST, "{of:?}");
        assert_eq!([1, 8, 10, 3998].map(|m| of.pick(&vars, &[m])), ["odd", "odd", "even", "even"]);
    }

    /// One wins its instance by a little, and loses by far around it.
    #[test]
    fn what_loses_least_serves_what_nobody_else_clearly_does() {
        let names = ["robust".to_owned(), "narrow".to_owned()];
        let throughput = |m: i64| match m {
            32 => [100.0, 104.0],
            40 => [100.0, 120.0],
            _ => [100.0, 30.0],
        };
        let all: Vec<Known> = [20, 31, 32, 40, 64].iter().map(|m| known(*m, throughput(*m), 0.0)).collect();
        let of = fitted(&[(&[33], "narrow"), (&[1000], "robust")], &all, &names);
        let picks = [20, 31, 33, 40, 64, 1000].map(|m| of.pick(&["M".to_owned()], &[m]).to_owned());
        assert_eq!(picks, ["robust", "robust", "narrow", "narrow", "robust", "robust"]);
    }

    /// The last of many shapes is one for a micro-kernel that loses by far at all others, also those behind it.
    #[test]
    fn what_is_best_at_one_of_many_shapes_has_no_leaf_but_where_it_is_labelled() {
        let names = ["robust".to_owned(), "narrow".to_owned()];
        let at = |m: i64| if m == 256 { [100.0, 150.0] } else { [100.0, 20.0] };
        let all: Vec<Known> = (1..=256).map(|m| known(m, at(m), 0.0)).collect();
        assert_eq!(fitted(&[], &all, &names), Tree::Leaf("robust".into()));
        let labels: [Label<'_>; 2] = [(&[256], "narrow"), (&[80], "robust")];
        for labels in [&labels[..], &labels[..1]] {
            let of = fitted(labels, &all, &names);
            assert_eq!([80, 255, 256].map(|m| of.pick(&["M".to_owned()], &[m])), ["robust", "robust", "narrow"]);
        }
    }

    #[test]
    fn who_cannot_be_used_at_a_shape_loses_most_there() {
        let names = ["a".to_owned(), "b".to_owned()];
        let of = fitted(&[], &[known(1, [0.0, 1.0], 0.0), known(9, [0.0, 0.0], 0.0)], &names);
        assert_eq!(of, Tree::Leaf("b".into()));
    }
}
