//! `sample_target_constrained_tiles`: the tiles of all axes, drawn together.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::bounded::{Bounded, PartialAssignment};
use super::size::{pick, size};
use super::threads;
use crate::schedule::Level;
use crate::sketch::footprint::{LANES, SampledAxis};

/// How often tiles divide the extents, along axes that have enough factors for it.
const PERFECT: f64 = 0.75;

/// What is drawn after threads, in this order: what is scarce first. On a CPU vectors and the register tile share the vector
/// registers, on a GPU virtual threads and inner tiles the registers of a thread; what the caches or shared memory hold of the
/// reduction comes next, and what only orders the grid last.
const ORDER: [Level; 11] = [
    Level::Lanes,
    Level::Register,
    Level::Vthread,
    Level::Inner,
    Level::Outer,
    Level::Fragment,
    Level::Unroll,
    Level::Steps,
    Level::Split,
    Level::Block,
    Level::Task,
];

/// Decides all factors that are open.
pub(super) fn draw(bounded: &Bounded, assignment: &mut PartialAssignment, rng: &mut StdRng) {
    let axes = bounded.footprint.axes.iter();
    let perfect: Vec<bool> = axes.map(|axis| axis.has_perfect_tiles() && rng.random_bool(PERFECT)).collect();
    threads::draw(bounded, assignment, &perfect, rng);
    for level in ORDER {
        let mut vars: Vec<usize> = bounded.footprint.of_level(level).filter(|var| !assignment.decided[*var]).collect();
        // No axis always has the first choice.
        vars.shuffle(rng);
        for var in vars {
            let axis = bounded.footprint.axis_of(var);
            let whole = perfect.get(axis).is_some_and(|perfect| *perfect);
            let whole = whole.then(|| perfect_sizes(&bounded.footprint.axes[axis], assignment, var)).flatten();
            let value = match level {
                Level::Lanes => lanes(bounded, assignment, var, whole.as_deref(), rng),
                _ => factor(bounded, assignment, var, whole.as_deref(), rng),
            };
            assignment.decide(var, value);
        }
    }
}

/// The sizes of a factor with which the tile, as far as it is decided, divides the extents; none: no size does.
pub(super) fn perfect_sizes(axis: &SampledAxis, assignment: &PartialAssignment, var: usize) -> Option<Vec<i64>> {
    let others = axis.vars.iter().filter(|other| **other != var);
    let tile =
        others.fold(axis.grain.value(&assignment.values), |tile, other| tile.saturating_mul(assignment.values[*other]));
    let left = axis.shared / tile;
    (axis.shared % tile == 0).then(|| axis.divisors.iter().copied().filter(|size| left % size == 0).collect())
}

/// The largest size of a factor that keeps all limits: measures do not shrink where a factor grows.
pub(super) fn most(bounded: &Bounded, assignment: &mut PartialAssignment, var: usize) -> i64 {
    const BEYOND: i64 = 1 << 31;
    let mut holds = assignment.values[var];
    let mut breaks = holds + 1;
    while breaks < BEYOND && bounded.holds_with(assignment, var, breaks) {
        (holds, breaks) = (breaks, 2 * breaks);
    }
    while breaks - holds > 1 {
        let middle = holds + (breaks - holds) / 2;
        match bounded.holds_with(assignment, var, middle) {
            true => holds = middle,
            false => breaks = middle,
        }
    }
    holds
}

/// A size: of those that divide the extents each as likely, else as [`size`] has it.
fn factor(
    bounded: &Bounded,
    assignment: &mut PartialAssignment,
    var: usize,
    whole: Option<&[i64]>,
    rng: &mut StdRng,
) -> i64 {
    let most = most(bounded, assignment, var);
    let value = match whole {
        Some(whole) => whole[rng.random_range(0..whole.partition_point(|size| *size <= most).max(1))],
        None => size(most, rng),
    };
    // Where a constant extent is rounded up, a measure may shrink by a little after all.
    if bounded.holds_with(assignment, var, value) { value } else { most }
}

/// Lanes: the more the likelier, but not so many that half of them have nothing to do at any instance.
fn lanes(
    bounded: &Bounded,
    assignment: &mut PartialAssignment,
    var: usize,
    whole: Option<&[i64]>,
    rng: &mut StdRng,
) -> i64 {
    let axis = &bounded.footprint.axes[bounded.footprint.axis_of(var)];
    let useful = LANES.map(|lanes| lanes < 2 * axis.most && bounded.holds_with(assignment, var, lanes));
    let divides = LANES.map(|lanes| whole.is_none_or(|whole| whole.contains(&lanes)));
    let weight = |n: usize, wanted: bool| if wanted { (LANES[n] * LANES[n]) as f64 } else { 0.0 };
    let perfect: Vec<f64> = (0..LANES.len()).map(|n| weight(n, useful[n] && divides[n])).collect();
    let any: Vec<f64> = (0..LANES.len()).map(|n| weight(n, useful[n])).collect();
    pick(&perfect, rng).or_else(|| pick(&any, rng)).map_or(LANES[0], |n| LANES[n])
}
