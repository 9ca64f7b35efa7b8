//! From the parameters of a [`Blocked`] to its schedule.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::operands::{COLUMNS, Operands, ROWS};
use super::{Blocked, size};
use crate::ir::{ForKind, IterVar, Name, Program};
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Combine, Level, Loop, Part, Pipeline, Schedule, SharedTile, Staging, Tail};
use crate::sketch::template::decisions::Decided;
use crate::sketch::template::parameter::Table;
use crate::sketch::{Lowered, MicroKernel, Stage, grid};
use crate::{Error, Result};

/// Elements behind the rows of staged sums. Half a warp of a matrix unit has pairs in 4 rows, which are in different banks if they lie
/// 8 banks apart; other threads have neighbours in one row, and few rows in a warp.
const PAD_OF_MATRIX_UNIT: i64 = 8;
const PAD: i64 = 4;

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
        let table: &dyn Table = self;
        table.check(&program.blocks[0])?;
        let decided = self.decided(program)?;
        if !decided.schedule.cache_reads.is_empty() {
            decided.check_padding("reduce")?;
        }
        MicroKernel::of_family("blocked", self, decided.trace()).carried_out(program, &Target::Cuda(*device))
    }

    /// The schedule of the main kernel.
    ///
    /// # Errors
    /// What the primitives refuse.
    pub fn schedule(&self, program: &Program) -> Result<Schedule> {
        Ok(self.decided(program)?.schedule)
    }

    fn decided(&self, program: &Program) -> Result<Decided> {
        let block = &program.blocks[0];
        let operands = self.operands(block, program.computes_in()).map_err(Error::input)?;
        if operands.is_some() && !self.vthread.is_empty() {
            return Err(Error::input("vthread: a matrix unit has none"));
        }
        if self.ranges && self.split.is_empty() {
            return Err(Error::input("ranges: no blocks share a sum by `split`"));
        }
        let mut decided = Decided::new(program);
        let mut levels = Levels::default();
        for iter in &block.iters {
            match iter.role {
                Role::Spatial => self.split_spatial(&mut decided, iter, operands.as_ref(), &mut levels)?,
                Role::Reduce => self.split_reduction(&mut decided, iter, operands.as_ref(), &mut levels)?,
            }
        }
        levels.thread.extend(levels.lanes.iter().flatten().cloned());
        let schedule = &mut decided.schedule;
        levels.reorder(schedule, &self.raster)?;
        let Some(thread) = levels.bind(schedule, &self.raster)? else {
            return Err(Error::input(match block.iters_of(Role::Spatial).next() {
                Some(_) => "thread: a block has a single thread".to_owned(),
                None => format!("`{}` has no loop that blocks and threads could share", block.name),
            }));
        };
        let [thread, around] = self.stream(&mut decided, &mut levels, thread)?;
        let schedule = &mut decided.schedule;
        if block.reduction.is_some() {
            self.stage(schedule, &thread, &around)?;
        }
        self.pipeline(schedule)?;
        if self.fragments > 1 {
            decided.buffer_fragments(self.fragments)?;
        }
        let schedule = &mut decided.schedule;
        if !levels.split.is_empty() || self.atomic {
            schedule.rfactor(if self.atomic { Combine::Atomic } else { Combine::Workspace })?;
        }
        if let Some(operands) = operands {
            schedule.tensorize(operands.unit)?;
        }
        if self.store > 1 {
            decided.vectorize_store(self.store)?;
        }
        if self.stage_store {
            decided.stage_store(if self.matrix_unit.is_some() { PAD_OF_MATRIX_UNIT } else { PAD })?;
        }
        if self.partition {
            let is_of_tiles = |l: &&Loop| l.kind == ForKind::BlockIdx && l.role == Role::Spatial;
            let tiles = decided.schedule.loops.iter().find(is_of_tiles).map(|l| l.name.clone());
            decided.partition(&tiles.ok_or_else(|| Error::input("partition: there is no loop over tiles"))?)?;
        }
        if self.persistent {
            decided.persistent()?;
        }
        if self.min_blocks > 1 {
            decided.min_blocks(self.min_blocks)?;
        }
        decided.rasterized();
        Ok(decided)
    }

    fn split_spatial(
        &self,
        decided: &mut Decided,
        iter: &IterVar,
        operands: Option<&Operands>,
        levels: &mut Levels,
    ) -> Result<()> {
        let name = &iter.name;
        let [thread, vthread, inner] = [&self.thread, &self.vthread, &self.inner].map(|sizes| size(sizes, name));
        let mut block = |between: Name| levels.block.push((name.clone(), between));
        let of_unit = operands.and_then(|unit| match () {
            _ if unit.row == *name => Some(ROWS),
            _ if unit.column == *name => Some(COLUMNS),
            _ => None,
        });
        if let Some(elements) = of_unit {
            let (warps, fragments) =
                (decided.factor(name, Level::Warp, thread), decided.factor(name, Level::Fragment, inner));
            let elements_part = Part::Int(elements);
            let mut splitter = Splitter { decided, root: name.clone(), rest: name.clone() };
            block(splitter.take("b", &[warps, fragments.clone(), elements_part.clone()])?);
            levels.thread.push(splitter.take("w", &[fragments, elements_part.clone()])?);
            if elements == ROWS {
                levels.inner.push(splitter.take("m", &[elements_part])?);
                levels.unit[0] = Some(splitter.take("h", &[Part::Int(ROWS / 2)])?);
                levels.lanes[0] = Some(splitter.rest);
            } else {
                levels.inner.push(splitter.take("n", &[elements_part])?);
                levels.lanes[1] = Some(splitter.take("q", &[Part::Int(2)])?);
                levels.unit[1] = Some(splitter.rest);
            }
            return Ok(());
        }
        if thread * vthread * inner == 1 {
            block(name.clone());
            return Ok(());
        }
        let vthreads = (vthread > 1).then(|| decided.factor(name, Level::Vthread, vthread));
        let threads = (thread > 1).then(|| decided.factor(name, Level::Thread, thread));
        let inner = decided.factor(name, Level::Inner, inner);
        let of = |parts: [Option<&Part>; 3]| parts.into_iter().flatten().cloned().collect::<Vec<Part>>();
        let mut splitter = Splitter { decided, root: name.clone(), rest: name.clone() };
        block(splitter.take("b", &of([vthreads.as_ref(), threads.as_ref(), Some(&inner)]))?);
        if vthreads.is_some() {
            levels.vthread.push(splitter.take("v", &of([None, threads.as_ref(), Some(&inner)]))?);
        }
        if threads.is_some() {
            levels.thread.push(splitter.take("t", &[inner])?);
        }
        levels.inner.push(splitter.rest);
        Ok(())
    }

    fn split_reduction(
        &self,
        decided: &mut Decided,
        iter: &IterVar,
        operands: Option<&Operands>,
        levels: &mut Levels,
    ) -> Result<()> {
        let name = &iter.name;
        let parts = size(&self.split, name);
        let unit = operands.filter(|operands| operands.step == *name).map(|operands| operands.unit.steps());
        let split = (parts > 1).then(|| decided.factor(name, Level::Split, parts));
        let tile = self.reduce.get(&**name).map(|tile| decided.factor(name, Level::Steps, tile / unit.unwrap_or(1)));
        let mut splitter = Splitter { decided, root: name.clone(), rest: name.clone() };
        let mut outer = None;
        if let Some(tile) = tile {
            let of_unit = unit.map(Part::Int);
            outer = Some(splitter.take("0", &[tile].into_iter().chain(of_unit.clone()).collect::<Vec<Part>>())?);
            match of_unit {
                Some(of_unit) => {
                    levels.steps.push(splitter.take("1", &[of_unit])?);
                    levels.unit[2] = Some(splitter.rest);
                }
                None => levels.steps.push(splitter.rest),
            }
        } else if split.is_none() {
            levels.steps.push(splitter.rest);
        } else {
            outer = Some(splitter.rest);
        }
        if let Some((whole, parts)) = outer.as_ref().zip(split) {
            let [rest, split] = ["2", "s"].map(|level| decided.schedule.fresh_name(&format!("{name}_{level}")));
            match self.ranges {
                true => decided.split_into(whole, parts, [&split, &rest])?,
                // Neighbouring tiles go to different blocks: the last part is as long as the first.
                false => decided.split(whole, &[parts], Tail::Pad, [&rest, &split])?,
            }
            levels.split.push(split);
            outer = Some(rest);
        }
        levels.outer.extend(outer);
        Ok(())
    }

    /// The loop inside of which a thread accumulates, and the one that fills tiles.
    fn stream(&self, decided: &mut Decided, levels: &mut Levels, thread: Name) -> Result<[Name; 2]> {
        let around = levels.outer.last().unwrap_or(&thread).clone();
        match (self.stream, self.waves) {
            (1, 1) => return Ok([thread, around]),
            (1, waves) => {
                return Err(Error::input(format!("waves: {waves} of them, but no blocks share tiles by `stream`")));
            }
            _ if !self.split.is_empty() || self.atomic => {
                return Err(Error::input("stream: blocks share sums by `split`, too; expected one of both"));
            }
            _ => {}
        }
        let schedule = &mut decided.schedule;
        let steps = if levels.outer.is_empty() { std::mem::take(&mut levels.steps) } else { levels.outer.clone() };
        let Some(step) = grid::fuse_all(schedule, &steps, "step")? else {
            return Err(Error::input("stream: there is no sum whose steps blocks could share"));
        };
        let tile = schedule.loops.iter().find(|l| l.kind == ForKind::BlockIdx).map(|l| l.name.clone());
        let tile = tile.ok_or_else(|| Error::input("stream: there is no loop over tiles"))?;
        let [share, piece] = ["share", "piece"].map(|part| schedule.fresh_name(&format!("{tile}_{part}")));
        let own = schedule.fresh_name(&format!("{step}_own"));
        decided.stream_k([&tile, &step], self.stream, self.waves, [&share, &piece, &own])?;
        Ok([piece, own])
    }

    /// The accumulators, the tiles in shared memory, and what threads hold in registers.
    fn stage(&self, schedule: &mut Schedule, thread: &Name, around: &Name) -> Result<()> {
        let tile = schedule.cache_write()?;
        let mut placed = Vec::new();
        for (input, stage) in &self.stage {
            let Stage { vector, pad, swizzle, reduce_outside } = *stage;
            let tile = SharedTile { vector, pad, swizzle, reduce_outside };
            placed.extend(schedule.cache_read(input, Staging::Shared(tile))?);
        }
        for (input, lanes) in &self.load {
            placed.extend(schedule.cache_read(input, Staging::Registers(*lanes))?);
        }
        schedule.compute_at(&tile, Some(thread))?;
        placed.iter().try_for_each(|stage| schedule.compute_at(stage, Some(around)))?;
        schedule.decompose_reduction()
    }

    /// What overlaps.
    fn pipeline(&self, schedule: &mut Schedule) -> Result<()> {
        match (self.stages, self.asynchronous) {
            (1, false) => Ok(()),
            (stages, true) => schedule.pipeline(Pipeline::Async(stages)),
            (2, false) => schedule.pipeline(Pipeline::Registers),
            (stages, false) => Err(Error::input(format!("stages: it is {stages}; more than 2 need `async`"))),
        }
    }
}

/// Splits one iteration variable from the outside in.
struct Splitter<'a> {
    decided: &'a mut Decided,
    root: Name,
    /// What is not split yet.
    rest: Name,
}

impl Splitter<'_> {
    /// Splits off what lies outside of `below` elements; only the first split of a variable may hang over the edge.
    fn take(&mut self, level: &str, below: &[Part]) -> Result<Name> {
        let outer = self.decided.schedule.fresh_name(&format!("{}_{level}", self.root));
        let inner = self.decided.schedule.fresh_name(&format!("{}_i", self.root));
        self.decided.split(&self.rest, below, Tail::Pad, [&outer, &inner])?;
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
