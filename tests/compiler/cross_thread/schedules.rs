//! Schedules in which threads share sums, from a few numbers.

use std::collections::BTreeMap;

use dietcode_core::Result;
use dietcode_core::codegen::cuda::{self, CudaUnit};
use dietcode_core::frontend;
use dietcode_core::ir::{IterVar, Name};
use dietcode_core::schedule::{Combine, Pipeline, Schedule, SharedTile, Staging, Tail};
use dietcode_core::sketch::Lowered;
use dietcode_syntax::{KernelDef, Role};

pub(crate) type Sizes = BTreeMap<String, i64>;

/// What a schedule is made of. A loop that no number is given for has 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    pub(crate) thread: Sizes,
    pub(crate) vthread: Sizes,
    pub(crate) inner: Sizes,
    /// Threads that share a sum, by the loop that is summed over.
    pub(crate) cross: Sizes,
    /// Steps of each of them between two fills of shared memory.
    pub(crate) steps: Sizes,
    /// Whether a thread's steps are neighbours; else neighbours are those of different threads.
    pub(crate) runs: bool,
    /// Whether the threads that share a sum count slowest in their block.
    pub(crate) slowest: bool,
    pub(crate) stage: Vec<(String, Staging)>,
    /// Parts of a sum that different blocks have, which meet in the output.
    pub(crate) split: Sizes,
    pub(crate) pipeline: Option<Pipeline>,
    /// Neighbours that a thread stores at once; 0: one.
    pub(crate) store: i64,
    pub(crate) persistent: bool,
    /// Whether tiles inside have a body of their own.
    pub(crate) partition: bool,
}

/// Sizes of loops, in the words of a test: `i 4, j 2`.
pub(crate) fn sizes(text: &str) -> Sizes {
    let size = |part: &str| {
        let (name, size) = part.trim().split_once(' ').expect("a name and a number");
        (name.to_owned(), size.parse().expect("a number"))
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(size).collect()
}

/// A tile in shared memory, by vectors of so many elements.
pub(crate) fn shared(vector: i64) -> Staging {
    Staging::Shared(SharedTile { vector, pad: 0, swizzle: 0, reduce_outside: false })
}

#[derive(Default)]
struct Loops {
    split: Vec<Name>,
    block: Vec<Name>,
    thread: Vec<Name>,
    cross: Vec<Name>,
    outer: Vec<Name>,
    steps: Vec<Name>,
    vthread: Vec<Name>,
    inner: Vec<Name>,
}

impl Parameters {
    /// The translation unit of a kernel under this schedule.
    pub(crate) fn unit(&self, def: &KernelDef, name: &str) -> Result<CudaUnit> {
        let mut schedule = self.schedule(def)?;
        if self.persistent {
            schedule.persistent(true)?;
        }
        cuda::translation_unit(def, name, &Lowered::of(schedule)?)
    }

    pub(crate) fn schedule(&self, def: &KernelDef) -> Result<Schedule> {
        let program = frontend::program(def);
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        let mut loops = Loops::default();
        for iter in &program.blocks[0].iters {
            match iter.role {
                Role::Spatial => self.split_spatial(&mut schedule, iter, &mut loops)?,
                Role::Reduce => self.split_sum(&mut schedule, iter, &mut loops)?,
            }
        }
        let threads = if self.slowest { [&loops.cross, &loops.thread] } else { [&loops.thread, &loops.cross] };
        let threads: Vec<Name> = threads.into_iter().flatten().cloned().collect();
        let order = [&loops.split, &loops.block, &threads, &loops.outer, &loops.steps, &loops.vthread, &loops.inner];
        schedule.reorder(&order.into_iter().flatten().map(|name| &**name).collect::<Vec<&str>>())?;
        loops.split.iter().chain(&loops.block).try_for_each(|name| schedule.bind_block(name))?;
        threads.iter().try_for_each(|name| schedule.bind_thread(name))?;
        loops.vthread.iter().try_for_each(|name| schedule.vthread(name))?;
        loops.inner.iter().try_for_each(|name| schedule.unroll(name))?;
        if self.partition {
            schedule.partition(&loops.block[0], 1)?;
        }
        self.stages(&mut schedule, threads.last().expect("threads"), loops.outer.last().expect("a sum"))?;
        Ok(schedule)
    }

    fn split_spatial(&self, schedule: &mut Schedule, iter: &IterVar, loops: &mut Loops) -> Result<()> {
        let of = |sizes: &Sizes| sizes.get(&*iter.name).copied().unwrap_or(1);
        let (thread, vthread, inner) = (of(&self.thread), of(&self.vthread), of(&self.inner));
        let names = ["b", "rest", "v", "in", "t", "i"].map(|level| Name::from(format!("{}_{level}", iter.name)));
        let [block, rest, virtual_, within, own, tile] = &names;
        schedule.split(&iter.name, thread * vthread * inner, Tail::Pad, [block, rest])?;
        schedule.split(rest, thread * inner, Tail::Pad, [virtual_, within])?;
        schedule.split(within, inner, Tail::Pad, [own, tile])?;
        loops.block.push(block.clone());
        loops.vthread.push(virtual_.clone());
        loops.thread.push(own.clone());
        loops.inner.push(tile.clone());
        Ok(())
    }

    fn split_sum(&self, schedule: &mut Schedule, iter: &IterVar, loops: &mut Loops) -> Result<()> {
        let of = |sizes: &Sizes| sizes.get(&*iter.name).copied().unwrap_or(1);
        let (cross, steps, split) = (of(&self.cross), of(&self.steps), of(&self.split));
        let names = ["0", "rest", "1", "c", "2", "s"].map(|level| Name::from(format!("{}_{level}", iter.name)));
        let [outer, rest, step, own, whole, part] = &names;
        schedule.split(&iter.name, cross * steps, Tail::Pad, [outer, rest])?;
        match self.runs {
            true => schedule.split(rest, steps, Tail::Pad, [own, step])?,
            false => schedule.split(rest, cross, Tail::Pad, [step, own])?,
        }
        loops.cross.push(own.clone());
        loops.steps.push(step.clone());
        if split > 1 {
            schedule.split(outer, split, Tail::Pad, [whole, part])?;
            loops.split.push(part.clone());
        }
        loops.outer.push(if split > 1 { whole.clone() } else { outer.clone() });
        Ok(())
    }

    fn stages(&self, schedule: &mut Schedule, thread: &str, outer: &str) -> Result<()> {
        let tile = schedule.cache_write()?;
        let mut placed = Vec::new();
        for (input, staging) in &self.stage {
            placed.extend(schedule.cache_read(input, *staging)?);
        }
        schedule.compute_at(&tile, Some(thread))?;
        placed.iter().try_for_each(|stage| schedule.compute_at(stage, Some(outer)))?;
        schedule.decompose_reduction()?;
        self.pipeline.iter().try_for_each(|pipeline| schedule.pipeline(*pipeline))?;
        if !self.split.is_empty() {
            schedule.rfactor(Combine::Atomic)?;
        }
        if self.store > 1 { schedule.vectorize_store(self.store) } else { Ok(()) }
    }
}
