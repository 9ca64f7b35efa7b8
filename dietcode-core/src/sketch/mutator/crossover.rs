//! Crossover: two traces of one sketch have a child with the tiles of one along some axes, and those of the other along the
//! rest.
//!
//! ```text
//! a: i_block, i_register = 8, 6    k_steps = 384              8, 6    k_steps = 96
//! b: i_block, i_register = 1, 12   k_steps = 96       →
//! ```
//!
//! An axis' tiles are not mixed, since they fit each other. Nor are children repaired: of all mixtures, one is taken that keeps
//! the limits.

use rand::RngExt;
use rand::rngs::StdRng;

use crate::schedule::Trace;
use crate::sketch::footprint::Footprint;
use crate::sketch::sample::Bounded;

/// The most parts that are chosen for themselves; further ones go with the last of these. All mixtures of so many are tried if
/// need be.
const MOST_PARTS: usize = 10;

pub(super) fn crossover(bounded: &Bounded, a: &Trace, b: &Trace, rng: &mut StdRng) -> Option<Trace> {
    let [a, b] = [a, b].map(|trace| bounded.is_of(trace).then(|| bounded.values(trace)).flatten());
    let (a, b) = (a?, b?);
    let mut parts = parts(&bounded.footprint);
    parts.retain(|part| part.iter().any(|var| a[*var] != b[*var]));
    if parts.len() > MOST_PARTS {
        let rest = parts.split_off(MOST_PARTS).concat();
        parts[MOST_PARTS - 1].extend(rest);
    }
    // All and nothing of `b` are no mixtures.
    let mixtures = (1usize << parts.len()) - 1;
    if mixtures < 2 {
        return None;
    }
    let first = rng.random_range(1..mixtures);
    let child = |mixture: usize| {
        let mut child = a.clone();
        let of_b = parts.iter().enumerate().filter(|(n, _)| mixture >> n & 1 == 1);
        of_b.flat_map(|(_, part)| part).for_each(|var| child[*var] = b[*var]);
        child
    };
    let mut children = (first..mixtures).chain(1..first).map(child);
    children.find(|child| bounded.holds(child)).map(|child| bounded.trace(&child))
}

/// What comes from one parent: the factors of an axis, or another variable.
fn parts(footprint: &Footprint) -> Vec<Vec<usize>> {
    let axes = footprint.axes.iter().map(|axis| axis.vars.clone());
    let others = (0..footprint.vars.len()).filter(|var| footprint.vars[*var].level().is_none()).map(|var| vec![var]);
    axes.chain(others).collect()
}
