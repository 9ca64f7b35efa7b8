//! The interface between a search and a cost model.

use dietcode_syntax::KernelDef;

use crate::sketch::Lowered;

/// Says how fast candidates are, without running them.
pub trait CostModel: Send + Sync {
    /// Its name, for people and configs.
    fn name(&self) -> &'static str;

    /// GFLOP/s of each candidate on each instance (the shape variables in declaration order) on so many cores or
    /// multiprocessors: `[candidate][instance]`, 0 for one that cannot run. What it says of a candidate does not depend on the
    /// others, nor on the number of threads that call it.
    fn predict(&self, def: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>>;

    /// Whether it is a model that learns; one that does not need not be told what was measured.
    fn learns(&self) -> bool {
        false
    }

    /// Learns from what was measured, if it is a model that learns.
    fn update(&mut self, _seen: &[Observed<'_>]) {}
}

/// What was measured of a candidate on an instance.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The kernel.
    pub def: &'a KernelDef,
    /// The candidate: its features are those of `nests`, its share on an instance that of
    /// [`Adaptation::of_schedule`](super::Adaptation::of_schedule).
    pub candidate: &'a Lowered,
    /// The shape variables, in declaration order.
    pub instance: &'a [i64],
    /// Cores or multiprocessors.
    pub units: usize,
    /// The throughput; none: it failed.
    pub gflops: Option<f64>,
}
