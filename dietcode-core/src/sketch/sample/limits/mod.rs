//! What the hardware has, and how much of it values of a sketch's variables take.
//!
//! Each limit has a name, a measure that does not shrink when a variable grows, and what is allowed. So the values of some
//! variables are possible if they hold all limits with all others at their least, and a draw that takes one variable after the
//! other never has to go back. One does shrink, with the threads that share the loads under way: these are drawn first.

mod cpu;
mod cuda;

use super::assignment::Assignment;
use super::footprint::Footprint;
use super::variable::SampledAxis;
use crate::machine::Target;
use crate::schedule::Level;
use crate::sketch::Bounds;

type Measure = Box<dyn Fn(&Assignment<'_>) -> i64 + Send + Sync>;

/// One limit.
pub(crate) struct Limit {
    /// What is counted, for messages.
    pub(crate) name: String,
    /// The most of it.
    pub(crate) allowed: i64,
    /// How much values take.
    pub(crate) measure: Measure,
}

impl Limit {
    fn new(
        name: impl Into<String>,
        allowed: i64,
        measure: impl Fn(&Assignment<'_>) -> i64 + Send + Sync + 'static,
    ) -> Limit {
        Limit { name: name.into(), allowed, measure: Box::new(measure) }
    }
}

/// The limits of a sketch: those of its extents and of the target.
pub(crate) fn limits(footprint: &Footprint, bounds: &Bounds) -> Vec<Limit> {
    let extents = footprint.axes.iter().map(|axis| extent(footprint, axis));
    let target = match &bounds.target {
        Target::Cpu(target) => cpu::limits(footprint, target),
        Target::Cuda(device) => cuda::limits(footprint, device),
    };
    extents.chain(target).collect()
}

/// A tile is no larger than the largest extent rounded up to whole vectors, or pieces of a matrix instruction: the last of them
/// begins inside.
fn extent(footprint: &Footprint, axis: &SampledAxis) -> Limit {
    let is_lanes = |var: &usize| footprint.vars[*var].level() == Some(Level::Lanes);
    let (lanes, factors): (Vec<usize>, Vec<usize>) = axis.vars.iter().copied().partition(is_lanes);
    let grain = axis.grain.clone();
    Limit::new(format!("elements of the tile along `{}`", axis.name), axis.most, move |assignment| {
        let product =
            |vars: &[usize], of: i64| vars.iter().fold(of, |all, var| all.saturating_mul(assignment.values[*var]));
        (product(&factors, 1) - 1).saturating_mul(product(&lanes, grain.value(assignment.values))).saturating_add(1)
    })
}
