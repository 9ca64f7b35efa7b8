//! Shapes far off all that a tree knows.

use super::Tree;
use crate::codegen::quantity::Quantity;

/// So many times as large or small as the shapes that are known an extent may be for a tree to lead it: micro-kernels that serve one do
/// not differ much within that.
const AROUND: i64 = 2;

/// Whether a shape is within twice the extents of one that is known and half of them.
pub(super) fn is_around(shape: &[i64], known: &[i64]) -> bool {
    shape.iter().zip(known).all(|(a, b)| *a <= b.saturating_mul(AROUND) && *b <= a.saturating_mul(AROUND))
}

/// A tree for shapes within twice the extents of those that are known and half of them, and another one beyond.
pub(super) fn outside(tree: Tree, vars: &[String], known: &[Vec<i64>], other: Tree) -> Tree {
    let bounds = vars.iter().enumerate().flat_map(|(at, var)| {
        let values = || known.iter().map(|shape| shape[at]);
        let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        let var = || Quantity::Var(var.clone());
        // By how much it is too small, which nothing can be below 1, and too large.
        let small = Some(least / AROUND).filter(|least| *least > 1).map(|least| Quantity::Int(least).minus(var()));
        small.into_iter().chain([var().minus(Quantity::Int(most.saturating_mul(AROUND)))])
    });
    match bounds.reduce(Quantity::max) {
        Some(by) if tree != other => Tree::split_by(by, 0, tree, other),
        _ => tree,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_off_has_the_other_tree() {
        let vars = ["M", "K"].map(str::to_owned);
        let [tuned, other] = ["tuned", "other"].map(|name| Tree::Leaf(name.to_owned()));
        let known = [vec![1, 768], vec![3200, 768]];
        let tree = outside(tuned.clone(), &vars, &known, other.clone());
        assert!(tree.text().starts_with("if max(max(M - 6400, 384 - K), K - 1536) <= 0\n"), "{}", tree.text());
        let pick = |m: i64, k: i64| tree.pick(&vars, &[m, k]);
        assert_eq!([pick(1, 768), pick(6400, 768), pick(7, 384), pick(7, 1536)], ["tuned"; 4]);
        assert_eq!([pick(6401, 768), pick(7, 383), pick(1, 1_000_000), pick(0, 0)], ["other"; 4]);
        let around = |m: i64, k: i64| known.iter().any(|known| is_around(&[m, k], known));
        assert_eq!([around(2, 384), around(1600, 1536), around(3, 768), around(1, 383)], [true, true, false, false]);
        assert_eq!(outside(tuned.clone(), &vars, &known, tuned.clone()), tuned);
        assert_eq!(outside(tuned.clone(), &[], &known, other), tuned, "a nest of one shape");
    }
}
