//! From the parameters of a [`Blocked`] to its schedule.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::operands::{COLUMNS, Operands, ROWS};
use super::validity::check_padding;
use super::{Blocked, size};
use crate::ir::{IterVar, Name, Program};
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Combine, Pipeline, Schedule, SharedTile, Staging, Tail};
use crate::sketch::{Lowered, MicroKernel, grid};
use crate::{Error, Result};

/// The loops that the iteration variables were split into, by level; each level in the order of the nest.
#[derive(Default)]
struct Levels {
    /// Parts of sums that different blocks compute.
    split: Vec<Name>,
    /// Between blocks, by iteration variable.
    block: Vec<(Name, Name)>,
    /// Between threads; with a matrix unit, warps first, then the lanes that hold rows, then those that hold columns.
    thread: Vec<Name>,
    lanes: [Option<Name>; 2],
    /// Between the tiles in shared memory.
    outer: Vec<Name>,
    /// Inside of them.
    steps: Vec<Name>,
    vthread: Vec<Name>,
    inner: Vec<Name>,
    /// The rows, columns and steps of one matrix instruction that a thread holds.
    unit: [Option<Name>; 3],
}

impl Blocked {
    /// The micro-kernel that the parameters stand for, carried out. Sums that blocks share take a second kernel that adds the
    /// parts, or one before that initialises the output.
    ///
    /// # Errors
    /// All that speaks against it.
    pub fn micro_kernel(&self, program: &Program, device: &DeviceLimits) -> Result<(MicroKernel, Lowered)> {
        self.check(program, device)?;
        let mut schedule = self.schedule(program)?;
        check_padding(&schedule)?;
        schedule.enter_postproc();
        MicroKernel::of_family("blocked", self.name(), self, &schedule).carried_out(program, &Target::Cuda(*device))
    }

    /// The schedule of the main kernel.
    ///
    /// # Errors
    /// What the primitives refuse.
    pub fn schedule(&self, program: &Program) -> Result<Schedule> {
        let block = &program.blocks[0];
        let operands = self.operands(block).map_err(Error::input)?;
        let mut schedule = Schedule::new(program, block);
        let mut levels = Levels::default();
        for iter in &block.iters {
            match iter.role {
                Role::Spatial => self.split_spatial(&mut schedule, iter, operands.as_ref(), &mut levels)?,
                Role::Reduce => self.split_reduction(&mut schedule, iter, operands.as_ref(), &mut levels)?,
            }
        }
        levels.thread.extend(levels.lanes.iter().flatten().cloned());
        levels.reorder(&mut schedule, &self.raster)?;
        let thread = levels.bind(&mut schedule, &self.raster)?;
        if block.reduction.is_some() {
            self.stage(&mut schedule, &levels, thread.as_ref())?;
        }
        if let Some(operands) = operands {
            schedule.tensorize(operands.unit)?;
        }
        if self.store > 1 {
            schedule.vectorize_store(self.store)?;
        }
        if self.persistent {
            schedule.persistent()?;
        }
        if self.min_blocks > 1 {
            schedule.min_blocks(self.min_blocks)?;
        }
        Ok(schedule)
    }

    fn split_spatial(
        &self,
        schedule: &mut Schedule,
        iter: &IterVar,
        operands: Option<&Operands>,
        levels: &mut Levels,
    ) -> Result<()> {
        let name = &iter.name;
        let [thread, vthread, inner] = [&self.thread, &self.vthread, &self.inner].map(|sizes| size(sizes, name));
        let mut splitter = Splitter { schedule, root: name.clone(), rest: name.clone() };
        let mut block = |between: Name| levels.block.push((name.clone(), between));
        match operands {
            Some(unit) if unit.row == *name => {
                block(splitter.take("b", thread * inner * ROWS)?);
                levels.thread.push(splitter.take("w", inner * ROWS)?);
                levels.inner.push(splitter.take("m", ROWS)?);
                levels.unit[0] = Some(splitter.take("h", ROWS / 2)?);
                levels.lanes[0] = Some(splitter.rest);
            }
            Some(unit) if unit.column == *name => {
                block(splitter.take("b", thread * inner * COLUMNS)?);
                levels.thread.push(splitter.take("w", inner * COLUMNS)?);
                levels.inner.push(splitter.take("n", COLUMNS)?);
                levels.lanes[1] = Some(splitter.take("q", 2)?);
                levels.unit[1] = Some(splitter.rest);
            }
            _ if thread * vthread * inner == 1 => block(splitter.rest),
            _ => {
                block(splitter.take("b", thread * vthread * inner)?);
                if vthread > 1 {
                    levels.vthread.push(splitter.take("v", thread * inner)?);
                }
                if thread > 1 {
                    levels.thread.push(splitter.take("t", inner)?);
                }
                levels.inner.push(splitter.rest);
            }
        }
        Ok(())
    }

    fn split_reduction(
        &self,
        schedule: &mut Schedule,
        iter: &IterVar,
        operands: Option<&Operands>,
        levels: &mut Levels,
    ) -> Result<()> {
        let name = &iter.name;
        let parts = size(&self.split, name);
        let mut splitter = Splitter { schedule, root: name.clone(), rest: name.clone() };
        let mut outer = None;
        if let Some(&tile) = self.reduce.get(&**name) {
            outer = Some(splitter.take("0", tile)?);
            let unit = operands.filter(|operands| operands.step == *name).map(|operands| operands.unit);
            match unit {
                Some(unit) => {
                    levels.steps.push(splitter.take("1", unit.steps())?);
                    levels.unit[2] = Some(splitter.rest);
                }
                None => levels.steps.push(splitter.rest),
            }
        } else if parts == 1 {
            levels.steps.push(splitter.rest);
        } else {
            outer = Some(splitter.rest);
        }
        if let Some(whole) = outer.as_ref().filter(|_| parts > 1) {
            // Neighbouring tiles go to different blocks: the last part is as long as the first.
            let (rest, split) = (schedule.fresh_name(&format!("{name}_2")), schedule.fresh_name(&format!("{name}_s")));
            schedule.split(whole, parts, Tail::Pad, [&rest, &split])?;
            levels.split.push(split);
            outer = Some(rest);
        }
        levels.outer.extend(outer);
        Ok(())
    }

    /// The accumulators, the tiles in shared memory, what threads hold in registers, and what overlaps.
    fn stage(&self, schedule: &mut Schedule, levels: &Levels, thread: Option<&Name>) -> Result<()> {
        let tile = schedule.cache_write()?;
        let around = levels.outer.last().or(thread);
        let mut placed = Vec::new();
        for (input, stage) in &self.stage {
            let tile = SharedTile { vector: stage.vector, pad: stage.pad, reduce_outside: stage.reduce_outside };
            placed.extend(schedule.cache_read(input, Staging::Shared(tile))?);
        }
        for (input, lanes) in &self.load {
            placed.extend(schedule.cache_read(input, Staging::Registers(*lanes))?);
        }
        schedule.compute_at(&tile, thread.map(|name| &**name))?;
        placed.iter().try_for_each(|stage| schedule.compute_at(stage, around.map(|name| &**name)))?;
        schedule.decompose_reduction()?;
        match (self.stages, self.asynchronous) {
            (1, _) => {}
            (stages, true) => schedule.pipeline(Pipeline::Async(stages))?,
            (_, false) => schedule.pipeline(Pipeline::Registers)?,
        }
        if !levels.split.is_empty() {
            schedule.rfactor(if self.atomic { Combine::Atomic } else { Combine::Workspace })?;
        }
        Ok(())
    }
}

/// Splits one iteration variable from the outside in.
struct Splitter<'a> {
    schedule: &'a mut Schedule,
    root: Name,
    /// What is not split yet.
    rest: Name,
}

impl Splitter<'_> {
    /// Splits off what lies outside of `below` elements; only the first split of a variable may hang over the edge.
    fn take(&mut self, level: &str, below: i64) -> Result<Name> {
        let outer = self.schedule.fresh_name(&format!("{}_{level}", self.root));
        let inner = self.schedule.fresh_name(&format!("{}_i", self.root));
        self.schedule.split(&self.rest, below, Tail::Pad, [&outer, &inner])?;
        self.rest = inner;
        Ok(outer)
    }
}

impl Levels {
    fn reorder(&self, schedule: &mut Schedule, raster: &BTreeMap<String, i64>) -> Result<()> {
        let [h, p, e] = &self.unit;
        let block = grid::order(&self.block, raster);
        let order = [&self.split, &block, &self.thread, &self.outer, &self.steps, &self.vthread, &self.inner];
        let order = order.into_iter().flatten().chain(h).chain(p).chain(e);
        let order: Vec<&str> = order.map(|name| &**name).collect();
        schedule.reorder(&order)
    }

    /// Binds blocks and threads, and unrolls what a thread does; returns the loop over threads.
    fn bind(&self, schedule: &mut Schedule, raster: &BTreeMap<String, i64>) -> Result<Option<Name>> {
        let unrolled = self.inner.iter().chain(self.unit.iter().take(2).flatten());
        unrolled.into_iter().try_for_each(|name| schedule.unroll(name))?;
        self.vthread.iter().try_for_each(|name| schedule.vthread(name))?;
        let block = grid::fuse(schedule, &self.block, raster, "block")?;
        let thread = grid::fuse_all(schedule, &self.thread, "thread")?;
        self.split.iter().chain(&block).try_for_each(|name| schedule.bind_block(name))?;
        thread.iter().try_for_each(|name| schedule.bind_thread(name))?;
        Ok(thread)
    }
}
