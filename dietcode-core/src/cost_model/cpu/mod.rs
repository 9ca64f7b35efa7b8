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

use crate::cost_model::Adaptation;
use crate::machine::CpuTarget;
use crate::schedule::Schedule;
use crate::sketch::Lowered;
use compute::Work;
use core::{CLOCK, Core, EXPOSED, LAUNCH};
use leaf::Leaf;
use trips::Trips;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile<'a> {
    schedule: &'a Schedule,
    leaves: Vec<Leaf>,
}

impl<'a> Profile<'a> {
    /// Looks at what the main kernel's loops do.
    pub fn of(lowered: &'a Lowered) -> Profile<'a> {
        let schedule = lowered.schedule();
        Profile { schedule, leaves: leaf::leaves(schedule, lowered.nest()) }
    }

    /// Seconds of a call at a shape (the shape variables in declaration order) on `units` cores.
    pub fn seconds(&self, target: &CpuTarget, shape: &[i64], units: usize) -> f64 {
        let [seconds] = self.seconds_on(target, shape, [units]);
        seconds
    }

    /// The same for several numbers of cores.
    pub fn seconds_on<const N: usize>(&self, target: &CpuTarget, shape: &[i64], units: [usize; N]) -> [f64; N] {
        let value = |name: &str| self.schedule.program.value_at(shape, name).unwrap_or(0) as f64;
        let trips = Trips::of(self.schedule, &value);
        let core = Core::of(target);
        let clocks: f64 = self.leaves.iter().map(|leaf| self.clocks(leaf, &trips, &core, target)).sum();
        units.map(|units| {
            let adaptation = Adaptation::of_schedule(self.schedule, shape, units);
            clocks / CLOCK / (units.max(1) as f64 * adaptation.occupancy) + if units > 1 { LAUNCH } else { 0.0 }
        })
    }

    fn clocks(&self, leaf: &Leaf, trips: &Trips<'_>, core: &Core, target: &CpuTarget) -> f64 {
        let share = trips.share(leaf);
        if share <= 0.0 {
            return 0.0;
        }
        let trips = trips.around(leaf);
        let work = Work { leaf, trips: &trips };
        let [second, last, memory] = work.waiting(target);
        let times = [work.clocks(core, target), second, last, memory];
        let slowest = times.into_iter().fold(0.0, f64::max);
        share * (slowest + EXPOSED * (times.iter().sum::<f64>() - slowest))
    }
}

#[cfg(test)]
mod tests;
