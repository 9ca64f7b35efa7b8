//! Labels of shapes that were not measured: where the cost model clearly predicts that another winner serves them better than the
//! tree's pick, that winner becomes the shape's label.
//!
//! A tree of measured shapes splits halfway between them, and goes on forever beyond the last. A micro-kernel whose
//! tile fits the smallest instance may then run one that is much smaller, nearly all of it padding. Padding and
//! occupancy need no measurement to be known.

use std::collections::BTreeSet;

use super::Tree;
#[cfg(feature = "tuner")]
use super::{Label, train};
#[cfg(feature = "tuner")]
use crate::Result;
use crate::config::{Config, WklInst};

/// A tree of measured shapes, the `labels`, and of what is predicted of the winners at shapes around the instances.
/// `throughput` says what to expect of one of them at a shape.
///
/// # Errors
/// If it cannot be trained again.
#[cfg(feature = "tuner")]
pub fn with_predicted_labels(
    tree: Tree,
    (config, vars): (&Config, &[String]),
    instances: &[WklInst],
    labels: &[Label<'_>],
    winners: &[String],
    throughput: impl Fn(&str, &[i64]) -> f64,
) -> Result<Tree> {
    let shapes = around(config, vars, instances);
    let predicted_labels = predicted_labels(&tree, vars, &shapes, winners, throughput);
    if predicted_labels.is_empty() {
        return Ok(tree);
    }
    let predicted_labels = predicted_labels.iter().map(|(shape, name)| (shape.as_slice(), name.as_str()));
    train(vars, &labels.iter().copied().chain(predicted_labels).collect::<Vec<Label<'_>>>())
}

/// How much better another winner must be predicted to be; the cost model's error and more.
const CLEARLY: f64 = 1.1;

/// Shapes around the instances, along each workload variable: halves below the smallest value, the middles between
/// neighbours, doubles above the largest.
pub(super) fn around(config: &Config, vars: &[String], instances: &[WklInst]) -> Vec<Vec<i64>> {
    let measured: BTreeSet<Vec<i64>> = instances.iter().filter_map(|wkl| config.shape_of(vars, wkl).ok()).collect();
    let mut shapes = BTreeSet::new();
    for name in instances.first().into_iter().flat_map(WklInst::keys) {
        let known: BTreeSet<i64> = instances.iter().filter_map(|wkl| wkl.get(name).copied()).collect();
        for value in unmeasured(&known.into_iter().collect::<Vec<i64>>()) {
            for wkl in instances {
                let wkl = WklInst::from_iter(wkl.clone().into_iter().chain([(name.clone(), value)]));
                shapes.extend(config.shape_of(vars, &wkl).ok().filter(|shape| !measured.contains(shape)));
            }
        }
    }
    shapes.into_iter().collect()
}

/// Values below, between and above some values in ascending order.
fn unmeasured(known: &[i64]) -> Vec<i64> {
    let (Some(&least), Some(&most)) = (known.first(), known.last()) else { return Vec::new() };
    let below = std::iter::successors(Some(least / 2), |value| Some(value / 2)).take_while(|value| *value >= 1);
    let between = known.windows(2).map(|pair| pair[0].midpoint(pair[1]));
    let above = [most.saturating_mul(2), most.saturating_mul(4)];
    below.chain(between).chain(above).collect()
}

/// What the tree should say of the shapes: its own pick, or the winner that is predicted to be clearly better there.
/// Nothing if the tree already says so.
pub(super) fn predicted_labels(
    tree: &Tree,
    vars: &[String],
    shapes: &[Vec<i64>],
    winners: &[String],
    throughput: impl Fn(&str, &[i64]) -> f64,
) -> Vec<(Vec<i64>, String)> {
    let predicted_label = |shape: &Vec<i64>| {
        let pick = tree.pick(vars, shape);
        let at = |name: &str| throughput(name, shape);
        let best = winners.iter().max_by(|a, b| at(a).total_cmp(&at(b))).filter(|best| at(best) > CLEARLY * at(pick));
        (shape.clone(), best.map_or(pick, |best| best.as_str()).to_owned())
    };
    let predicted_labels: Vec<(Vec<i64>, String)> = shapes.iter().map(predicted_label).collect();
    let news = predicted_labels.iter().any(|(shape, name)| tree.pick(vars, shape) != name);
    if news { predicted_labels } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_below_between_and_above() {
        assert_eq!(unmeasured(&[5, 24, 43]), [2, 1, 14, 33, 86, 172]);
        assert_eq!(unmeasured(&[]), Vec::<i64>::new());
    }

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
        let shapes = [vec![16], vec![160], vec![1600]];
        let predicted_labels = predicted_labels(&tree, &vars, &shapes, &winners, throughput);
        let names: Vec<&str> = predicted_labels.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["narrow", "wide", "wide"]);
        assert!(super::predicted_labels(&tree, &vars, &shapes[1..], &winners, throughput).is_empty());
    }
}
