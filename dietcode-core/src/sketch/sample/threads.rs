//! The threads of a block: first how many, then along which axes.
//!
//! ```text
//! i_thread, j_thread = _, _  →  256 threads: of 1·256, 2·128, 4·64, … 256·1 one that keeps all limits: 8, 32
//! ```
//!
//! Source: DietCode (MLSys 2022), section 4.2.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::bounded::{Bounded, PartialAssignment};
use super::size::pick;
use super::tiles::most;
use crate::schedule::Level;
use crate::sketch::footprint::divisors;

/// Threads of a warp, and warps of the largest block, on every GPU.
const WARP: i64 = 32;

/// The levels whose iterations are threads, or warps.
const LEVELS: [Level; 3] = [Level::Thread, Level::Warp, Level::Cross];

/// Whether iterations of a level are threads, or warps.
pub(crate) fn is_bound_to_threads(level: Level) -> bool {
    LEVELS.contains(&level)
}

/// Decides the factors that are threads: whole warps, fewer threads only where the extents have no place for a warp.
pub(super) fn draw(bounded: &Bounded, assignment: &mut PartialAssignment, perfect: &[bool], rng: &mut StdRng) {
    let all: Vec<usize> = LEVELS.iter().flat_map(|level| bounded.footprint.of_level(*level)).collect();
    let decided = all.iter().filter(|var| assignment.decided[**var]);
    let decided = decided.fold(1i64, |product, var| product.saturating_mul(assignment.values[*var]));
    let open: Vec<usize> = all.iter().copied().filter(|var| !assignment.decided[*var]).collect();
    if open.is_empty() {
        return;
    }
    // More threads can be what makes room, where each has a part of the next tile in its registers.
    let most: Vec<i64> = match bounded.holds(&assignment.values) {
        true => open.iter().map(|var| most(bounded, assignment, *var)).collect(),
        false => vec![i64::MAX; open.len()],
    };
    let unit = if bounded.footprint.of_level(Level::Warp).next().is_some() { 1 } else { WARP };
    // As often from 2 to 4 warps as from 4 to 8; powers of two are the likeliest.
    let warps = (1..=WARP).map(|warps| (warps * unit, f64::from(1 + warps.trailing_zeros()) / warps as f64));
    let threads = (1..unit).map(|threads| (threads, (threads * threads) as f64));
    for totals in [warps.collect::<Vec<_>>(), threads.collect()] {
        let mut weights: Vec<f64> = totals.iter().map(|(t, w)| if t % decided == 0 { *w } else { 0.0 }).collect();
        while let Some(n) = pick(&weights, rng) {
            let mut found = factorisations(totals[n].0 / decided, &most);
            found.shuffle(rng);
            if let Some(factors) = choose(bounded, assignment, &open, found, perfect) {
                open.iter().zip(factors).for_each(|(var, factor)| assignment.decide(*var, factor));
                return;
            }
            weights[n] = 0.0;
        }
    }
}

/// The first that keeps all limits; those that divide the extents where they shall come first.
fn choose(
    bounded: &Bounded,
    assignment: &PartialAssignment,
    open: &[usize],
    mut found: Vec<Vec<i64>>,
    perfect: &[bool],
) -> Option<Vec<i64>> {
    let leaves_a_rest = |(var, factor): (&usize, &i64)| {
        let axis = bounded.footprint.axis_of(*var);
        let tile = bounded.footprint.axes[axis].grain.value(&assignment.values).saturating_mul(*factor);
        perfect[axis] && bounded.footprint.axes[axis].shared % tile != 0
    };
    found.sort_by_cached_key(|factors| open.iter().zip(factors).any(leaves_a_rest));
    found.into_iter().find(|factors| {
        let mut values = assignment.values.clone();
        open.iter().zip(factors).for_each(|(var, factor)| values[*var] = *factor);
        bounded.holds(&values)
    })
}

/// So many ways are listed: all of them along as many axes as an output has, and a sum.
const MOST_WAYS: usize = 1 << 16;

/// The ways to write a number as a product of factors, each up to its most.
pub(crate) fn factorisations(total: i64, most: &[i64]) -> Vec<Vec<i64>> {
    let Some((first, rest)) = most.split_first() else {
        return if total == 1 { vec![Vec::new()] } else { Vec::new() };
    };
    let mut all = Vec::new();
    for factor in divisors(total).into_iter().take_while(|factor| factor <= first) {
        for others in factorisations(total / factor, rest) {
            all.push([&[factor], &others[..]].concat());
        }
        if all.len() >= MOST_WAYS {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use dietcode_syntax::MAX_RANK;

    use super::*;

    #[test]
    fn every_factorisation_is_found_once() {
        assert_eq!(factorisations(8, &[2, 8]), [[1, 8], [2, 4]]);
        assert_eq!(factorisations(1, &[1]), [[1]]);
        assert!(factorisations(7, &[6, 6]).is_empty());
        // A power of two over axes: as many as there are ways to share its exponent.
        assert_eq!(factorisations(1024, &[1024; 3]).len(), 66);
        assert_eq!(factorisations(1024, &[1024; MAX_RANK + 1]).len(), 43_758);
    }

    #[test]
    fn of_very_many_factorisations_some_are_listed() {
        let some = factorisations(1024, &[1024; 64]);
        assert!((MOST_WAYS..=2 * MOST_WAYS).contains(&some.len()), "{}", some.len());
        assert!(some.iter().all(|factors| factors.iter().product::<i64>() == 1024));
    }
}
