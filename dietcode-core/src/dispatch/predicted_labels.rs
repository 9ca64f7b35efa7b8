//! Labels of shapes that are none of the instances: where another micro-kernel is clearly faster, as measured or as the cost model
//! predicts, it becomes the shape's label.
//!
//! A tree of measured shapes splits halfway between them, and goes on forever beyond the last. A micro-kernel whose
//! tile fits the smallest instance may then run one that is much smaller, nearly all of it padding. Padding and
//! occupancy need no measurement to be known.

#[cfg(feature = "tuner")]
use dietcode_syntax::KernelDef;

use super::{Label, Tree};
use crate::Result;
#[cfg(feature = "tuner")]
use crate::config::{Config, WklInst};
#[cfg(feature = "tuner")]
use crate::measure::Instance;

/// A tree of measured shapes, the `labels`, and of what is predicted of the winners at shapes that stand for the range of the instances.
/// `throughput` says what to expect of one of them at a shape.
///
/// # Errors
/// If it cannot be trained again.
#[cfg(feature = "tuner")]
pub fn with_predicted_labels(
    tree: Tree,
    (config, def): (&Config, &KernelDef),
    instances: &[WklInst],
    labels: &[Label<'_>],
    winners: &[String],
    throughput: impl Fn(&str, &[i64]) -> f64,
) -> Result<Tree> {
    let vars = &Config::shape_vars(def);
    let shapes = super::sampled::sampled(config, vars, instances, |shape| Instance::of(def, shape).is_ok());
    let throughput = (throughput, Clearly::PREDICTED);
    extended(tree, vars, (labels, &shapes), winners, throughput, |labels| super::train(vars, labels))
}

/// How much better another micro-kernel must be than what a shape would have otherwise. The next counts where a tree of all that is better
/// by that much would be too deep.
pub(super) struct Clearly<'a> {
    levels: &'static [f64],
    /// What a shape would have otherwise; none: what the tree of the measured shapes leads it to.
    otherwise: Option<&'a str>,
}

impl<'a> Clearly<'a> {
    /// Of predictions: the cost model's error and more.
    pub(super) const PREDICTED: Clearly<'a> = Clearly { levels: &[1.1, 1.25, 1.5, 2.0], otherwise: None };

    /// Of measurements, otherwise what loses least over all of the range: who has an instance by a little may lose much elsewhere.
    #[cfg(feature = "tuner")]
    pub(super) fn measured(otherwise: &'a str) -> Clearly<'a> {
        Clearly { levels: &[1.05, 1.1, 1.25, 1.5, 2.0], otherwise: Some(otherwise) }
    }
}

/// The deepest tree that other shapes may lead to.
const DEEPEST: usize = 10;

/// The tree that `fit` makes of `labels`, of measured shapes, and of what is known or predicted at others; what it was where that says
/// nothing else than it does.
pub(super) fn extended(
    tree: Tree,
    vars: &[String],
    (labels, shapes): (&[Label<'_>], &[Vec<i64>]),
    winners: &[String],
    (throughput, clearly): (impl Fn(&str, &[i64]) -> f64, Clearly<'_>),
    fit: impl Fn(&[Label<'_>]) -> Result<Tree>,
) -> Result<Tree> {
    let mut rivals = Vec::new();
    for shape in shapes {
        let pick = clearly.otherwise.unwrap_or_else(|| tree.pick(vars, shape));
        let all = winners.iter().map(|winner| (winner.as_str(), throughput(winner, shape)));
        let (best, most) = all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((pick, 0.0));
        rivals.push((shape.as_slice(), pick, best, most / throughput(pick, shape)));
    }
    for level in clearly.levels {
        let label = |(shape, pick, best, gain): &(_, _, _, f64)| (*shape, if *gain > *level { *best } else { *pick });
        if rivals.iter().map(label).all(|(shape, name)| tree.pick(vars, shape) == name) {
            break;
        }
        let extended = fit(&labels.iter().copied().chain(rivals.iter().map(label)).collect::<Vec<Label<'_>>>())?;
        if extended.depth() <= tree.depth().max(DEEPEST) {
            return Ok(extended);
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::grow;

    /// A tile of 80 rows is right for 80 and more, and wrong for 16.
    #[test]
    fn only_what_is_clearly_better_becomes_a_predicted_label() {
        let vars = ["M".to_owned()];
        let winners = ["wide".to_owned(), "narrow".to_owned()];
        let padded = |tile: i64, m: i64| m as f64 / ((m + tile - 1) / tile * tile) as f64;
        let throughput = |name: &str, shape: &[i64]| match name {
            "wide" => 105.0 * padded(80, shape[0]),
            _ => 100.0 * padded(6, shape[0]),
        };
        let tree = Tree::Leaf("wide".into());
        let extended = |shapes: &[Vec<i64>]| {
            let fit = |labels: &[Label<'_>]| Ok(grow(&vars, labels).unwrap());
            let labels: [Label<'_>; 1] = [(&[80], "wide")];
            extended(tree.clone(), &vars, (&labels, shapes), &winners, (throughput, Clearly::PREDICTED), fit).unwrap()
        };
        let of = extended(&[vec![16], vec![160], vec![1600]]);
        let names: Vec<&str> = [16, 80, 160, 1600].iter().map(|m| of.pick(&vars, &[*m])).collect();
        assert_eq!(names, ["narrow", "wide", "wide", "wide"]);
        assert_eq!(extended(&[vec![160], vec![1600]]), tree);
    }

    /// Each second of many shapes is better off with another one, but a few are by far.
    #[test]
    fn a_tree_that_would_be_too_deep_has_what_is_most_in_it() {
        let vars = ["M".to_owned()];
        let winners = ["even".to_owned(), "odd".to_owned()];
        let throughput = |name: &str, shape: &[i64]| match name {
            "odd" if shape[0] < 4 => 300.0,
            "odd" if shape[0] % 2 == 1 => 120.0,
            _ => 100.0,
        };
        let shapes: Vec<Vec<i64>> = (1..120).map(|m| vec![m]).collect();
        let fit = |labels: &[Label<'_>]| Ok(grow(&vars, labels).unwrap());
        let of =
            extended(Tree::Leaf("even".into()), &vars, (&[], &shapes), &winners, (throughput, Clearly::PREDICTED), fit)
                .unwrap();
        assert_eq!(of, Tree::split("M", 3, Tree::Leaf("odd".into()), Tree::Leaf("even".into())));
    }

    /// One wins its instance by a little, and loses by far around it.
    #[cfg(feature = "tuner")]
    #[test]
    fn what_loses_least_serves_what_nobody_else_clearly_does() {
        let vars = ["M".to_owned()];
        let winners = ["narrow".to_owned(), "robust".to_owned()];
        let throughput = |name: &str, shape: &[i64]| match (name, shape[0]) {
            ("narrow", 32) => 104.0,
            ("narrow", 40) => 120.0,
            ("narrow", _) => 30.0,
            _ => 100.0,
        };
        let labels: [Label<'_>; 2] = [(&[33], "narrow"), (&[1000], "robust")];
        let shapes = [20, 31, 32, 40, 64].map(|m| vec![m]);
        let fit = |labels: &[Label<'_>]| Ok(grow(&vars, labels).unwrap());
        let tree = grow(&vars, &labels).unwrap();
        let clearly = Clearly::measured("robust");
        let of = extended(tree, &vars, (&labels, &shapes), &winners, (throughput, clearly), fit).unwrap();
        let names = [20, 32, 33, 40, 64, 1000].map(|m| of.pick(&vars, &[m]).to_owned());
        assert_eq!(names, ["robust", "robust", "narrow", "narrow", "robust", "robust"]);
    }
}
