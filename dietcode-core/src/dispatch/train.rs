//! Trains the decision tree from shapes to micro-kernels.

use std::collections::BTreeMap;

use linfa::Dataset;
use linfa::traits::Fit;
use linfa_trees::{DecisionTree, SplitQuality, TreeNode};
use ndarray_of_linfa::{Array1, Array2};

use super::Tree;
use super::grow::{Label, mend};
use crate::{Error, Result};

/// A tree that gives each of these shapes its micro-kernel. Others go the way of the shapes they lie next to.
///
/// # Errors
///
/// If there is no shape, or one shape is to have two micro-kernels.
pub fn train(shape_vars: &[String], labels: &[Label<'_>]) -> Result<Tree> {
    let mut by_shape: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (shape, name) in labels {
        if by_shape.insert(shape, name).is_some_and(|other| other != *name) {
            return Err(Error::check(format!("the shape {shape:?} is to have two micro-kernels")));
        }
    }
    let labels: Vec<Label<'_>> = by_shape.into_iter().collect();
    let mut names: Vec<&str> = labels.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => Err(Error::check("there is no shape to train a decision tree with")),
        [name] => Ok(Tree::Leaf(name.to_owned())),
        _ => {
            let root = fit(&labels, &names)?;
            Ok(mend(tree_of(root.root_node(), shape_vars, &names), shape_vars, &labels))
        }
    }
}

fn fit(labels: &[Label<'_>], names: &[&str]) -> Result<DecisionTree<f64, usize>> {
    let width = labels[0].0.len();
    let values = labels.iter().flat_map(|(shape, _)| shape.iter().map(|n| *n as f64)).collect();
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("the decision tree cannot be trained: {e}"));
    let records = Array2::from_shape_vec((labels.len(), width), values).map_err(|e| failed(&e))?;
    let targets: Array1<usize> =
        labels.iter().map(|(_, name)| names.iter().position(|n| n == name).unwrap_or(0)).collect();
    let parameters =
        DecisionTree::params().split_quality(SplitQuality::Gini).min_weight_split(2.0).min_weight_leaf(1.0);
    parameters.fit(&Dataset::new(records, targets)).map_err(|e| failed(&e))
}

/// Splits lie halfway between two shapes; `<=` on whole numbers is `<=` on the number below.
fn tree_of(node: &TreeNode<f64, usize>, shape_vars: &[String], names: &[&str]) -> Tree {
    let (var, threshold, _) = node.split();
    match node.children()[..] {
        [Some(then), Some(otherwise)] if !node.is_leaf() => Tree::split(
            &shape_vars[var],
            threshold.floor() as i64,
            tree_of(then, shape_vars, names),
            tree_of(otherwise, shape_vars, names),
        ),
        _ => Tree::Leaf(node.prediction().map_or(names[0], |class| names[class]).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn reproduces(labels: &[(Vec<i64>, String)]) {
        let vars: Vec<String> = (0..labels[0].0.len()).map(|at| format!("V{at}")).collect();
        let borrowed: Vec<Label<'_>> = labels.iter().map(|(shape, name)| (&shape[..], &name[..])).collect();
        let tree = train(&vars, &borrowed).unwrap();
        for (shape, name) in &borrowed {
            assert_eq!(tree.pick(&vars, shape), *name, "{labels:?} {tree:?}");
        }
    }

    #[test]
    fn random_labels_are_reproduced() {
        let mut rng = StdRng::seed_from_u64(2);
        for _ in 0..300 {
            let vars = rng.random_range(1..4);
            let mut labels: BTreeMap<Vec<i64>, String> = BTreeMap::new();
            for _ in 0..rng.random_range(1..30) {
                let shape = (0..vars).map(|_| rng.random_range(1..40)).collect();
                labels.insert(shape, format!("kernel{}", rng.random_range(0..4)));
            }
            reproduces(&labels.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_chequered_pattern_is_reproduced() {
        let label = |x: i64, y: i64| (vec![x, y], format!("kernel{}", (x + y) % 2));
        reproduces(&[label(1, 1), label(1, 2), label(2, 1), label(2, 2)]);
    }

    #[test]
    fn the_tree_reads_like_the_shapes() {
        let vars = ["M".to_string()];
        let tree = train(&vars, &[(&[80], "small"), (&[384], "small"), (&[688], "large")]).unwrap();
        assert_eq!(tree, Tree::split("M", 536, Tree::Leaf("small".into()), Tree::Leaf("large".into())));
        assert_eq!(tree.pick(&vars, &[100_000]), "large");
    }

    #[test]
    fn contradictions_and_nothing_are_errors() {
        let vars = ["M".to_string()];
        assert!(train(&vars, &[]).is_err());
        assert!(train(&vars, &[(&[1], "a"), (&[1], "b")]).is_err());
        assert_eq!(train(&vars, &[(&[1], "a"), (&[2], "a")]).unwrap(), Tree::Leaf("a".into()));
    }
}
