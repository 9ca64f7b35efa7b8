//! What a micro-kernel costs on a CPU, before anything was measured.
//!
//! f_MK is a roofline of one core. In the loops before they are unrolled, each statement has a time in which the core could
//! compute it (see `compute.rs`) and times in which its data could come from the caches (see `memory.rs`): packing and its reuse,
//! small tiles and their loops, sums that wait for themselves, all follow from the loops, whatever they compute. f_adapt
//! follows from the grid (see `grid.rs`): the last wave of blocks may leave cores without work; padding is in the loops.
//!
//! ```text
//! clocks = Σ over statements of the slowest of compute, L1 ← L2, L2 ← L3, L3 ← memory, and a part of the others
//! seconds = clocks / (units · f_occupancy) / clock
//! ```
mod compute;
mod core;
mod grid;
mod leaf;
mod memory;
mod trips;

use std::sync::Arc;

use crate::cost_model::{Adaptation, count};
use crate::ir::Buffer;
use crate::machine::CpuTarget;
use crate::schedule::Schedule;
use crate::sketch::{Lowered, Remainder};
use compute::Work;
use core::{ASK, CLOCK, Core, EXPOSED, FILLED, LAUNCH, LINE, SHARE};
use grid::Tiles;
use leaf::{Leaf, Leaves};
use trips::Trips;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile<'a> {
    /// Of each phase.
    phases: Vec<(&'a Schedule, Leaves, Vec<Slices>)>,
    /// What covers the rest, and what it is.
    rest: Option<(&'a Remainder, Box<Profile<'a>>)>,
}

/// A tensor of which tiles ask ahead for slices.
#[derive(Clone, Debug)]
struct Slices {
    tensor: Arc<Buffer>,
    /// The dimension along which they lie.
    dim: usize,
    /// How many of them ahead.
    ahead: i64,
}

impl<'a> Profile<'a> {
    /// Looks at what the loops do.
    pub fn of(lowered: &'a Lowered) -> Profile<'a> {
        let phases = lowered.schedules.iter().zip(&lowered.nests);
        let phase = |(schedule, nest)| (schedule, leaf::leaves(schedule, nest), Slices::of(schedule));
        let rest = lowered.cover.as_deref().map(|cover| (cover, Box::new(Profile::of(&cover.rest))));
        Profile { phases: phases.map(phase).collect(), rest }
    }

    /// Seconds of a call at a shape (the shape variables in declaration order) on `units` cores.
    pub fn seconds(&self, target: &CpuTarget, shape: &[i64], units: usize) -> f64 {
        let [seconds] = self.seconds_on(target, shape, [units]);
        seconds
    }

    /// The same for several numbers of cores. The two parts of a cover share their phases: threads carry out the tiles of both.
    pub fn seconds_on<const N: usize>(&self, target: &CpuTarget, shape: &[i64], units: [usize; N]) -> [f64; N] {
        let parts: Vec<Vec<Tiles>> = match &self.rest {
            None => vec![self.phases(target, shape)],
            Some((cover, rest)) => {
                let parts = [self, rest].into_iter().zip(cover.parts(shape));
                parts.filter_map(|(part, shape)| Some(part.phases(target, &shape?))).collect()
            }
        };
        let phases = parts.iter().map(Vec::len).max().unwrap_or(0);
        let phase = |at: usize| parts.iter().filter_map(|part| part.get(at)).copied().collect::<Vec<Tiles>>();
        let phases: Vec<Vec<Tiles>> = (0..phases).map(phase).collect();
        units.map(|units| phases.iter().map(|phase| launch(units) + grid::seconds(phase, units)).sum())
    }

    /// The tiles of each phase.
    fn phases(&self, target: &CpuTarget, shape: &[i64]) -> Vec<Tiles> {
        let core = Core::of(target);
        let phase = |(schedule, leaves, slices): &(&Schedule, Leaves, Vec<Slices>)| {
            let value = |name: &str| schedule.value_at(shape, name).unwrap_or(0) as f64;
            let trips = Trips::of(schedule, leaves, &value);
            let tiles = trips.product(schedule.loops[..schedule.tile_depth()].iter().map(|l| &l.name));
            let asked = Asked::of(slices, tiles, target, &value);
            let clocks = leaves.all.iter().map(|leaf| clocks(leaf, &trips, &core, target, &asked));
            let [here, meanwhile] = clocks.fold([0.0; 2], |sum, clocks| [sum[0] + clocks[0], sum[1] + clocks[1]]);
            let clocks = (here + asked.clocks).max(meanwhile);
            Tiles { number: Adaptation::of_schedule(schedule, shape, 1).grid as f64, seconds: clocks / CLOCK }
        };
        self.phases.iter().map(phase).collect()
    }
}

/// What it takes to begin a phase on so many cores.
fn launch(units: usize) -> f64 {
    if units > 1 { LAUNCH } else { 0.0 }
}

/// What tiles ask for ahead.
struct Asked {
    /// Clocks that it takes.
    clocks: f64,
    /// The shares of what comes from the last-level cache and from memory that have arrived before they are waited for.
    arrived: [f64; 2],
}

impl Slices {
    fn of(schedule: &Schedule) -> Vec<Slices> {
        let asked = schedule.prefetches.iter().filter(|asked| asked.ahead > 0);
        let slices = asked.filter_map(|asked| {
            let (tensor, _, dim) = schedule.slices(&asked.buffer, &asked.at)?;
            Some(Slices { tensor, dim, ahead: asked.ahead })
        });
        slices.collect()
    }
}

impl Asked {
    /// By so many tiles.
    fn of(all: &[Slices], tiles: f64, target: &CpuTarget, value: &impl Fn(&str) -> f64) -> Asked {
        let (mut clocks, mut slices, mut asking) = (0.0, 0.0, 0.0f64);
        for Slices { tensor, dim, ahead } in all {
            let extents: Vec<f64> = tensor.shape.iter().map(|extent| count(extent, value)).collect();
            let slice = extents[dim + 1..].iter().product::<f64>() * tensor.dtype.bytes() as f64;
            clocks += extents[..=*dim].iter().product::<f64>() * slice / LINE * ASK + tiles * SHARE;
            slices += slice;
            // The first iterations find nothing that was asked for.
            asking = asking.max(1.0 - *ahead as f64 / extents[*dim].max(1.0));
        }
        // Slices of which a cache does not keep all until they are used have gone on to the next one.
        let keeps = |bytes: i64, filled: f64| if slices <= bytes as f64 * filled { asking.max(0.0) } else { 0.0 };
        Asked { clocks, arrived: [keeps(target.l2_bytes, FILLED[1]), keeps(target.l3_bytes, FILLED[2])] }
    }
}

/// Of a statement: while it is carried out, and those in which the levels behind bring what was asked for meanwhile.
fn clocks(leaf: &Leaf, trips: &Trips, core: &Core, target: &CpuTarget, asked: &Asked) -> [f64; 2] {
    let share = trips.share(leaf);
    if share <= 0.0 {
        return [0.0; 2];
    }
    let around = trips.around(leaf);
    let work = Work { leaf, trips: &around };
    let [second, last, memory] = work.waiting(target);
    let [of_last, of_memory] = asked.arrived;
    let times = [work.clocks(core, target), second, last * (1.0 - of_last), memory * (1.0 - of_memory)];
    let slowest = times.into_iter().fold(0.0, f64::max);
    let here = slowest + EXPOSED * (times.iter().sum::<f64>() - slowest);
    [share * here, share * (last * of_last).max(memory * of_memory)]
}

#[cfg(test)]
mod tests;
