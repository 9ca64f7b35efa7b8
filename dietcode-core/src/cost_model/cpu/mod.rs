//! What a micro-kernel costs on a CPU, before anything was measured.
//!
//! f_MK is a roofline of one core. In the loops before they are unrolled, each statement has a time in which the core could
//! compute it (see `compute.rs`) and times in which its data could come from the caches (see `memory.rs`): packing and its reuse,
//! small tiles and their loops, sums that wait for themselves, all follow from the loops, whatever they compute. f_adapt
//! follows from the grid: the last wave of blocks may leave cores without work; padding is in the loops.
//!
//! ```text
//! clocks = Σ over statements of the slowest of compute, L1 ← L2, L2 ← L3, L3 ← memory, and a part of the others
//! seconds = clocks / (units · f_occupancy) / clock
//! ```
mod compute;
mod core;
mod leaf;
mod memory;
mod trips;

use crate::cost_model::{Adaptation, count};
use crate::ir::Buffer;
use crate::machine::CpuTarget;
use crate::schedule::Schedule;
use crate::sketch::Lowered;
use compute::Work;
use core::{ASK, CLOCK, Core, EXPOSED, LAUNCH, LINE, SHARE};
use leaf::{Leaf, Leaves};
use trips::Trips;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile<'a> {
    /// Of each phase.
    phases: Vec<(&'a Schedule, Leaves)>,
}

impl<'a> Profile<'a> {
    /// Looks at what the loops do.
    pub fn of(lowered: &'a Lowered) -> Profile<'a> {
        let phases = lowered.schedules.iter().zip(&lowered.nests);
        Profile { phases: phases.map(|(schedule, nest)| (schedule, leaf::leaves(schedule, nest))).collect() }
    }

    /// Seconds of a call at a shape (the shape variables in declaration order) on `units` cores.
    pub fn seconds(&self, target: &CpuTarget, shape: &[i64], units: usize) -> f64 {
        let [seconds] = self.seconds_on(target, shape, [units]);
        seconds
    }

    /// The same for several numbers of cores.
    pub fn seconds_on<const N: usize>(&self, target: &CpuTarget, shape: &[i64], units: [usize; N]) -> [f64; N] {
        let core = Core::of(target);
        self.phases.iter().fold([0.0; N], |before, (schedule, leaves)| {
            let value = |name: &str| schedule.value_at(shape, name).unwrap_or(0) as f64;
            let trips = Trips::of(schedule, leaves, &value);
            let asking = asking(schedule, &trips, &value);
            let clocks: f64 = leaves.all.iter().map(|leaf| clocks(leaf, &trips, &core, target, asking > 0.0)).sum();
            let clocks = clocks + asking;
            std::array::from_fn(|at| {
                let occupancy = Adaptation::of_schedule(schedule, shape, units[at]).occupancy;
                let launch = if units[at] > 1 { LAUNCH } else { 0.0 };
                before[at] + clocks / CLOCK / (units[at].max(1) as f64 * occupancy) + launch
            })
        })
    }
}

/// Of the statements by which tiles ask for what later tasks read and write.
fn asking(schedule: &Schedule, trips: &Trips, value: &impl Fn(&str) -> f64) -> f64 {
    let asked = schedule.prefetches.iter().filter(|asked| asked.ahead > 0 && schedule.is_of_tasks(&asked.at));
    let tensors = asked.filter_map(|asked| schedule.slices(&asked.buffer, &asked.at));
    let tiles = trips.product(schedule.loops[..schedule.tile_depth()].iter().map(|l| &l.name));
    let lines = |tensor: &Buffer| {
        let elements: f64 = tensor.shape.iter().map(|extent| count(extent, value)).product();
        elements * tensor.dtype.bytes() as f64 / LINE
    };
    tensors.map(|(tensor, ..)| lines(&tensor) * ASK + tiles * SHARE).sum()
}

/// Of a statement. What is asked for arrives while the core computes.
fn clocks(leaf: &Leaf, trips: &Trips, core: &Core, target: &CpuTarget, asked: bool) -> f64 {
    let around = trips.around(leaf);
    let share = trips.share(leaf, &around);
    if share <= 0.0 {
        return 0.0;
    }
    let work = Work { leaf, trips: &around };
    let [second, last, memory] = work.waiting(target);
    let times = [work.clocks(core, target), second, last, memory];
    let slowest = times.into_iter().fold(0.0, f64::max);
    let hidden = if asked { last + memory } else { 0.0 };
    share * (slowest + EXPOSED * (times.iter().sum::<f64>() - slowest - hidden).max(0.0))
}

#[cfg(test)]
mod tests;
