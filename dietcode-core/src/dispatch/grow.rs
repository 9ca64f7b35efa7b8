//! Grows a decision tree by one rule: split where what is left becomes purest.
//!
//! It needs no library, so a build script can do it; and it mends the trees of the one that trains on measurements.

use std::collections::BTreeMap;

use super::Tree;

/// A shape (one value per shape variable) and the name of the micro-kernel that is to run it.
pub type Label<'a> = (&'a [i64], &'a str);

/// A tree that gives each of these shapes its micro-kernel; of two for one shape, the first. None without a shape.
pub fn grow(shape_vars: &[String], labels: &[Label<'_>]) -> Option<Tree> {
    let mut by_shape: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (shape, name) in labels {
        by_shape.entry(shape).or_insert(name);
    }
    let labels: Vec<Label<'_>> = by_shape.into_iter().collect();
    let (_, first) = labels.first()?;
    Some(mend(Tree::Leaf((*first).to_owned()), shape_vars, &labels))
}

/// A trainer stops where no single split makes the shapes purer, as in a chequered pattern; the shapes that it gives to
/// the wrong leaf are split further here.
pub(super) fn mend(tree: Tree, shape_vars: &[String], labels: &[Label<'_>]) -> Tree {
    match tree {
        Tree::Split(split) => {
            let at = shape_vars.iter().position(|var| *var == split.condition.var).unwrap_or(0);
            let (low, high): (Vec<_>, Vec<_>) = labels.iter().partition(|(s, _)| s[at] <= split.condition.at_most);
            let (then, otherwise) = (mend(split.then, shape_vars, &low), mend(split.otherwise, shape_vars, &high));
            Tree::split(split.condition.var, split.condition.at_most, then, otherwise)
        }
        Tree::Leaf(name) if labels.iter().all(|(_, label)| *label == name) => Tree::Leaf(name),
        Tree::Leaf(name) => {
            let Some((at, middle)) = divide(labels) else { return Tree::Leaf(name) };
            let (low, high): (Vec<_>, Vec<_>) = labels.iter().partition(|(s, _)| s[at] <= middle);
            let leaf = |of: &[Label<'_>]| mend(Tree::Leaf(of[0].1.to_owned()), shape_vars, of);
            Tree::split(&shape_vars[at], middle, leaf(&low), leaf(&high))
        }
    }
}

/// The split, a variable and its largest value below, whose sides are purest; of equally pure ones that with the most even
/// sides. None if all shapes are the same.
fn divide(labels: &[Label<'_>]) -> Option<(usize, i64)> {
    let mut splits = Vec::new();
    for at in 0..labels.first()?.0.len() {
        let mut values: Vec<i64> = labels.iter().map(|(shape, _)| shape[at]).collect();
        values.sort_unstable();
        values.dedup();
        splits.extend(values.windows(2).map(|pair| (at, pair[0].midpoint(pair[1]))));
    }
    let cost = |(at, middle): &(usize, i64)| {
        let (low, high): (Vec<_>, Vec<_>) = labels.iter().partition(|(shape, _)| shape[*at] <= *middle);
        (impurity(&low) + impurity(&high), low.len().abs_diff(high.len()))
    };
    splits.into_iter().min_by(|a, b| {
        let (a, b) = (cost(a), cost(b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    })
}

/// Gini's, times the number of shapes.
fn impurity(labels: &[Label<'_>]) -> f64 {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    labels.iter().for_each(|(_, name)| *counts.entry(name).or_default() += 1.0);
    let all = labels.len() as f64;
    all - counts.values().map(|count| count * count).sum::<f64>() / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_reads_like_the_shapes() {
        let vars = ["M".to_string(), "N".to_string()];
        let labels: [Label<'_>; 4] =
            [(&[80, 7], "small"), (&[384, 7], "small"), (&[688, 7], "large"), (&[16, 9], "small")];
        let tree = grow(&vars, &labels).unwrap();
        assert_eq!(tree, Tree::split("M", 536, Tree::Leaf("small".into()), Tree::Leaf("large".into())));
        assert_eq!(grow(&vars, &[]), None);
    }

    #[test]
    fn every_shape_has_its_own_and_the_first_of_two() {
        let vars = ["M".to_string(), "N".to_string()];
        let name = |x: i64, y: i64| ["a", "b", "c"][((x * y + x) % 3) as usize];
        let shapes: Vec<[i64; 2]> = (1..8).flat_map(|x| (1..8).map(move |y| [x, y])).collect();
        let mut labels: Vec<Label<'_>> = shapes.iter().map(|s| (&s[..], name(s[0], s[1]))).collect();
        labels.push((&[1, 1], "late"));
        let tree = grow(&vars, &labels).unwrap();
        for shape in &shapes {
            assert_eq!(tree.pick(&vars, shape), name(shape[0], shape[1]), "{shape:?}");
        }
    }
}
