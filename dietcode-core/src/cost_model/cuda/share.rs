//! How many of a block's threads carry out what stands under a condition on their numbers: the half of them that takes a part of a
//! shared sum, the first that stores it, those for which a tile has elements.

use crate::cost_model::count;
use crate::ir::{Expr, Name};

/// The share of threads for which a condition holds, given the loops over threads and their extents; 1 for a condition on
/// anything else, which is taken to hold. A block has 1024 threads at most, so that all are tried.
pub(super) fn share(condition: &Expr, loops: &[(Name, i64)]) -> f64 {
    let mut other = false;
    condition.visit(&mut |e| match e {
        Expr::Var(name) => other |= loops.iter().all(|(own, _)| own != name),
        Expr::Load(..) => other = true,
        _ => {}
    });
    let used: Vec<&(Name, i64)> = loops.iter().filter(|(name, _)| condition.uses(name)).collect();
    if other || used.is_empty() {
        return 1.0;
    }
    let all: i64 = used.iter().map(|(_, extent)| extent).product();
    let holds = |thread: &i64| count(condition, &|name| part(*thread, &used, name) as f64) != 0.0;
    (0..all).filter(holds).count() as f64 / all as f64
}

/// What a loop counts of a thread's number, the first loop fastest.
fn part(thread: i64, loops: &[&(Name, i64)], name: &str) -> i64 {
    let mut left = thread;
    for (own, extent) in loops {
        if **own == *name {
            return left % extent;
        }
        left /= extent;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::CompareOp;

    #[test]
    fn conditions_on_threads_hold_for_some() {
        let loops = [(Name::from("t"), 8), (Name::from("k_c"), 5)];
        let k = || Expr::var("k_c");
        let upper = Expr::compare(CompareOp::Ge, k(), Expr::Int(3));
        assert_eq!(share(&upper, &loops), 0.4);
        assert_eq!(share(&upper.and(k().lt(Expr::Int(4))), &loops), 0.2);
        assert_eq!(share(&(Expr::var("t") * Expr::Int(5) + k()).lt(Expr::Int(16)), &loops), 0.4);
        assert_eq!(share(&k().lt(Expr::var("M")), &loops), 1.0);
    }
}
