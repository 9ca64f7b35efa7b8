//! From the parameters of a [`Tiled`] to its schedule.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::Tiled;
use crate::ir::{Block, DType, Dot, IterVar, Name, Program};
use crate::lower::serves_lanes;
use crate::machine::{CpuTarget, Target};
use crate::schedule::{HALVINGS, Level, Part, Pipeline, Schedule, Staging, Tail, Trace};
use crate::sketch::dot::of_block;
use crate::sketch::limits::Limit;
use crate::sketch::template::decisions::Decided;
use crate::sketch::template::parameter::Table;
use crate::sketch::{Lowered, MicroKernel, grid};
use crate::{Error, Result};

/// The loops that one iteration variable was split into, by level.
#[derive(Default)]
struct Levels {
    /// Between blocks: parallel if spatial, around the panels if reduced.
    outer: Option<Name>,
    /// Between tiles of a block.
    middle: Option<Name>,
    /// Inside of the register tile, unrolled.
    inner: Option<Name>,
    /// The lanes of a vector.
    lanes: Option<Name>,
    /// The steps that an instruction takes at once.
    steps: Option<Name>,
}

impl Tiled {
    /// The size of the register tile along a loop; 1 if not named.
    pub fn register_size(&self, name: &str) -> i64 {
        self.register_tile.get(name).copied().unwrap_or(1)
    }

    /// The size of the block along a loop. A spatial loop that is not named has blocks of one register tile; a
    /// reduction that is not named has one block, for which there is no size.
    pub fn block_size(&self, name: &str, role: Role) -> Option<i64> {
        let own = self.block_tile.get(name).copied();
        if role == Role::Spatial { own.or(Some(self.register_size(name))) } else { own }
    }

    /// Lanes of the vectors: those that are asked for, else as many as the registers hold and divide the tile.
    pub fn lanes(&self, computes: DType, target: &CpuTarget) -> i64 {
        if let Some(lanes) = self.lanes {
            return lanes;
        }
        let Some(size) = self.vector.as_ref().map(|name| self.register_size(name)) else { return 1 };
        [16, 8, 4, 2].into_iter().find(|lanes| *lanes <= target.lanes(computes) && size % lanes == 0).unwrap_or(1)
    }

    /// The micro-kernel that the parameters stand for, carried out.
    ///
    /// # Errors
    /// All that speaks against it.
    pub fn micro_kernel(&self, program: &Program, target: &CpuTarget) -> Result<(MicroKernel, Lowered)> {
        let trace = self.trace(program, target)?;
        let target = Target::Cpu(target.clone());
        let (micro_kernel, lowered) = MicroKernel::of_family("tiled", self, trace).carried_out(program, &target)?;
        if self.lanes.is_none() {
            lowered.check(&target, &BTreeMap::new(), Limit::is_of_vector_registers)?;
        }
        Ok((micro_kernel, lowered))
    }

    /// Its trace.
    ///
    /// # Errors
    /// What the parameters and the primitives refuse.
    pub(in crate::sketch) fn trace(&self, program: &Program, target: &CpuTarget) -> Result<Trace> {
        let table: &dyn Table = self;
        table.check(&program.blocks[0])?;
        let decided = self.decided(program, target)?;
        decided.check_padding("register_tile")?;
        Ok(decided.trace())
    }

    /// The schedule that the parameters stand for.
    ///
    /// # Errors
    /// What the primitives refuse.
    pub fn schedule(&self, program: &Program, target: &CpuTarget) -> Result<Schedule> {
        Ok(self.decided(program, target)?.schedule)
    }

    fn decided(&self, program: &Program, target: &CpuTarget) -> Result<Decided> {
        let block = &program.blocks[0];
        if self.lanes.is_some() && self.vector.is_none() {
            return Err(Error::input("lanes: no loop is that of vectors"));
        }
        let dot = self.dot(block, program.sums_in(), target)?;
        let mut decided = Decided::new(program);
        let mut spatial = Vec::new();
        let mut reduce = Vec::new();
        for iter in &block.iters {
            let levels = self.split(&mut decided, iter, dot, target)?;
            if iter.role == Role::Spatial { &mut spatial } else { &mut reduce }.push((iter.name.clone(), levels));
        }
        let schedule = &mut decided.schedule;
        self.reorder(schedule, &spatial, &reduce)?;
        for levels in spatial.iter().chain(&reduce).map(|(_, levels)| levels) {
            levels.inner.iter().try_for_each(|name| schedule.unroll(name))?;
            levels.lanes.iter().filter(|_| dot.is_none()).try_for_each(|name| schedule.vectorize(name))?;
        }
        dot.map_or(Ok(()), |dot| schedule.tensorize(dot))?;
        for (_, levels) in spatial.iter().filter(|(name, _)| self.partition.iter().any(|known| **known == **name)) {
            levels.inner.iter().try_for_each(|name| schedule.partition(name, HALVINGS))?;
        }
        let grid = grid::fuse(schedule, &between(&spatial), &self.raster, "block")?;
        grid.iter().try_for_each(|name| schedule.parallel(name))?;
        decided.rasterized();
        self.ask_ahead(&mut decided, &spatial)?;
        self.ask_for_slices(&mut decided)?;
        match &block.reduction {
            Some(_) => self.stage(&mut decided, grid, &spatial, &reduce)?,
            None if self.double_buffer => decided.schedule.pipeline(Pipeline::Panels)?,
            None => {}
        }
        Ok(decided)
    }

    /// The instruction that takes several steps of the sum at once, if one is to.
    fn dot(&self, block: &Block, computes: DType, target: &CpuTarget) -> Result<Option<Dot>> {
        let Some(step) = &self.tensorize else { return Ok(None) };
        let why = match &self.vector {
            None => "tensorize: no loop is that of vectors".to_owned(),
            Some(_) if !block.iters_of(Role::Reduce).any(|iter| *iter.name == **step) => {
                format!("tensorize: `{step}` is not summed over")
            }
            Some(vector) => match of_block(block, computes, vector, target) {
                Ok(dot) => return Ok(Some(dot)),
                Err(why) => format!("tensorize: {why}"),
            },
        };
        Err(Error::input(why))
    }

    /// The lanes of the vectors along a loop.
    fn fitting_lanes(&self, name: &str, computes: DType, target: &CpuTarget) -> Result<i64> {
        let (size, lanes) = (self.register_size(name), self.lanes(computes, target));
        match self.lanes {
            None if lanes == 1 => Err(Error::input(format!(
                "register_tile: `{name}` is {size}; the vector loop's must be a multiple of 2"
            ))),
            Some(_) if size % lanes != 0 => Err(Error::input(format!(
                "lanes: they are {lanes}; expected a number that divides the register tile's {size} along `{name}`"
            ))),
            _ => Ok(lanes),
        }
    }

    /// Splits off the register tile, which hangs over the edge, and what lies between blocks and tiles, which is clipped. A loop that
    /// would have one iteration is not made.
    fn split(&self, decided: &mut Decided, iter: &IterVar, dot: Option<Dot>, target: &CpuTarget) -> Result<Levels> {
        let name = &iter.name;
        let computes = decided.schedule.program.computes_in();
        let lanes = if self.vector.as_deref() == Some(name) { self.fitting_lanes(name, computes, target)? } else { 1 };
        let taken = dot.filter(|_| self.tensorize.as_deref() == Some(name)).map_or(1, |dot| dot.row().steps);
        let size = self.register_size(name).max(taken);
        if size % taken != 0 {
            let why =
                format!("register_tile: `{name}` is {size}, not a multiple of the {taken} steps of an instruction");
            return Err(Error::input(why));
        }
        // What an instruction takes is no decision.
        let innermost = lanes.max(taken);
        let block = self.block_size(name, iter.role);
        if let Some(block) = block.filter(|block| block % size != 0) {
            let why = format!("block_tile: `{name}` is {block}, not a multiple of the register tile's {size}");
            return Err(Error::input(why));
        }
        let steps = block.map(|block| block / size);
        let clipped = if iter.role == Role::Spatial { steps.filter(|steps| *steps != 1) } else { steps };
        let [of_steps, of_tile] = match iter.role {
            Role::Spatial => [Level::Block, Level::Register],
            Role::Reduce => [Level::Steps, Level::Unroll],
        };
        let steps_part = clipped.map(|steps| decided.factor(name, of_steps, steps));
        let tile_part = (size > innermost).then(|| decided.factor(name, of_tile, size / innermost));
        let innermost_part = (innermost > 1).then(|| match dot {
            Some(_) => Part::Int(innermost),
            None => decided.factor(name, Level::Lanes, innermost),
        });
        let tile: Vec<Part> = tile_part.iter().chain(&innermost_part).cloned().collect();
        let level = |decided: &Decided, level: &str| decided.schedule.fresh_name(&format!("{name}_{level}"));
        let mut levels = Levels::default();
        let mut between = name.clone();
        if !tile.is_empty() {
            let last = if taken > 1 { "p" } else { "v" };
            let (outer, mut inner) = (level(decided, "o"), level(decided, if innermost == size { last } else { "t" }));
            decided.split(name, &tile, Tail::Pad, [&outer, &inner])?;
            between = outer;
            if let (Some(_), Some(innermost)) = (&tile_part, &innermost_part) {
                let (tiles, innermost_loop) = (level(decided, "2"), level(decided, last));
                decided.split(&inner, std::slice::from_ref(innermost), Tail::Pad, [&tiles, &innermost_loop])?;
                (levels.inner, inner) = (Some(tiles), innermost_loop);
            }
            let of = match innermost_part {
                None => &mut levels.inner,
                Some(_) if taken > 1 => &mut levels.steps,
                Some(_) => &mut levels.lanes,
            };
            *of = Some(inner);
        }
        match steps_part {
            Some(steps) => {
                let (outer, middle) = (level(decided, "0"), level(decided, "1"));
                decided.split(&between, &[steps], Tail::Clip, [&outer, &middle])?;
                (levels.outer, levels.middle) = (Some(outer), Some(middle));
            }
            None if iter.role == Role::Spatial => levels.outer = Some(between),
            None => levels.middle = Some(between),
        }
        Ok(levels)
    }

    fn reorder(&self, schedule: &mut Schedule, spatial: &[(Name, Levels)], reduce: &[(Name, Levels)]) -> Result<()> {
        let mut tiles: Vec<&(Name, Levels)> = spatial.iter().collect();
        let place = |name: &Name| self.order.iter().position(|o| **o == **name).unwrap_or(self.order.len());
        tiles.sort_by_key(|(name, _)| place(name));
        let grid = grid::order(&between(spatial), &self.raster);
        let order: Vec<&Name> = (grid.iter())
            .chain(reduce.iter().filter_map(|(_, l)| l.outer.as_ref()))
            .chain(tiles.iter().filter_map(|(_, l)| l.middle.as_ref()))
            .chain(reduce.iter().filter_map(|(_, l)| l.middle.as_ref()))
            .chain(reduce.iter().filter_map(|(_, l)| l.inner.as_ref()))
            .chain(spatial.iter().filter(|(_, l)| l.lanes.is_none()).filter_map(|(_, l)| l.inner.as_ref()))
            // Vectors innermost: a broadcast operand is used by all of them at once and then is dead.
            .chain(spatial.iter().filter(|(_, l)| l.lanes.is_some()).filter_map(|(_, l)| l.inner.as_ref()))
            .chain(spatial.iter().chain(reduce).filter_map(|(_, l)| l.lanes.as_ref()))
            .chain(reduce.iter().filter_map(|(_, l)| l.steps.as_ref()))
            .collect();
        let order: Vec<&str> = order.into_iter().map(|name| &**name).collect();
        schedule.reorder(&order)
    }

    /// Each input is asked for in the innermost loop over register tiles that moves it.
    fn ask_ahead(&self, decided: &mut Decided, spatial: &[(Name, Levels)]) -> Result<()> {
        let names = decided.schedule.loop_names();
        for buffer in &self.prefetch {
            let reads = decided.schedule.block.update_reads();
            let moves = |at: &Name| {
                let of_it = reads.iter().filter(|(read, _)| *read.name == **buffer).flat_map(|(_, index)| index);
                of_it.map(|e| decided.schedule.unsplit(e)).any(|e| e.uses(at))
            };
            let between_tiles = |at: &Name| spatial.iter().any(|(_, levels)| levels.middle.as_ref() == Some(at));
            let Some(at) = names.iter().rfind(|at| between_tiles(at) && moves(at)) else {
                let why = "no loop over the register tiles of a block moves it; name one of its loops in `block_tile`";
                return Err(Error::input(format!("prefetch: `{buffer}`: {why}")));
            };
            decided.prefetch(buffer, at, 1)?;
        }
        Ok(())
    }

    /// All tensors that have slices along an axis are asked for together.
    fn ask_for_slices(&self, decided: &mut Decided) -> Result<()> {
        let Some(axis) = &self.ahead else { return Ok(()) };
        let schedule = &decided.schedule;
        let mut tensors = schedule.block.slices_along(axis, |_| true);
        tensors.retain(|name| schedule.slices(name, axis).is_some() && !schedule.is_prepared(name));
        if tensors.is_empty() {
            let why = "there is no sum whose tensors have a slice for each of its iterations; name a spatial loop without tiles, such as that \
                of a batch";
            return Err(Error::input(format!("ahead: `{axis}`: {why}")));
        }
        decided.prefetch_slices(&tensors, axis, 1)
    }

    /// The tile of accumulators, the panels, and views of everything else that may hang over the edge and cannot be read where it lies.
    fn stage(
        &self,
        decided: &mut Decided,
        grid: Option<Name>,
        spatial: &[(Name, Levels)],
        reduce: &[(Name, Levels)],
    ) -> Result<()> {
        let schedule = &mut decided.schedule;
        let names = schedule.loop_names();
        let last = |levels: &[(Name, Levels)], level: fn(&Levels) -> Option<&Name>| {
            names.iter().rfind(|name| levels.iter().any(|(_, l)| level(l) == Some(name))).cloned()
        };
        let around_panels = last(reduce, |l| l.outer.as_ref()).or(grid);
        let around_tile = last(spatial, |l| l.middle.as_ref()).or_else(|| around_panels.clone());
        let around_steps = last(reduce, |l| l.middle.as_ref());
        let tile = schedule.cache_write()?;
        let mut stages = vec![(tile, around_tile)];
        let ragged = schedule.ragged();
        // Lanes that share a sum need no view: what they load is masked at its end.
        let is_packed = |tensor: &Name| self.pack.iter().any(|name| **name == **tensor);
        let serves = |axis: &Name| serves_lanes(&schedule.block, axis, is_packed);
        let is_masked = |(axis, levels): &(Name, Levels)| levels.lanes.is_some() && serves(axis);
        let in_place = reduce.iter().any(is_masked);
        let has_lanes = spatial.iter().chain(reduce).any(|(_, levels)| levels.lanes.is_some());
        let of_vectors = has_lanes && schedule.dot.is_none();
        for (buffer, index) in decided.schedule.block.update_reads() {
            if decided.schedule.cache_reads.iter().any(|stage| stage.buffer == buffer.name) {
                continue;
            }
            let named = |inputs: &[String]| inputs.iter().any(|name| **name == *buffer.name);
            if decided.schedule.is_prepared(&buffer.name)
                && ![&self.pack, &self.load].into_iter().any(|inputs| named(inputs))
            {
                continue;
            }
            let pad = self.pad.get(&*buffer.name);
            if named(&self.pack) {
                let panels = decided.schedule.cache_read(&buffer.name, Staging::Always)?;
                if let Some(pad) = pad {
                    decided.storage_align(&buffer.name, &panels, *pad)?;
                }
                stages.extend(panels.into_iter().map(|panel| (panel, around_panels.clone())));
            } else if pad.is_some() {
                return Err(Error::input(format!("pad: `{}` is not packed", buffer.name)));
            }
            if named(&self.load) {
                let copies = decided.schedule.cache_read(&buffer.name, Staging::Always)?;
                stages.extend(copies.into_iter().map(|copy| (copy, around_steps.clone())));
                continue;
            }
            let moves = |axis: &Name| index.iter().any(|e| e.uses(axis));
            let is_shared = |axis: &Name| spatial.iter().any(|(name, l)| name == axis && l.lanes.is_none());
            let hanging = || ragged.iter().filter(|axis| moves(axis));
            let rows: i64 = hanging().filter(|axis| is_shared(axis)).map(|axis| self.register_size(axis)).product();
            let needs_view = hanging().any(|axis| !(of_vectors && rows <= MOST_ROWS && is_shared(axis)));
            if needs_view && !named(&self.pack) && !in_place {
                let views = decided.schedule.cache_read(&buffer.name, Staging::Edge)?;
                // Where it does not move along the loops over tiles, all of these read one copy at an edge.
                let over_tiles = spatial.iter().filter_map(|(axis, l)| Some((axis, l.middle.as_ref()?)));
                let moving: Vec<&Name> = over_tiles.filter(|(axis, _)| moves(axis)).map(|(_, l)| l).collect();
                let place = names.iter().rfind(|name| moving.contains(name)).or(around_panels.as_ref());
                stages.extend(views.into_iter().map(|view| (view, place.cloned())));
            }
        }
        let schedule = &mut decided.schedule;
        for (stage, at) in stages {
            let placed = schedule.compute_at(&stage, at.as_deref());
            placed.map_err(|e| Error::input(format!("{e}, by its `block_tile`")))?;
        }
        if self.double_buffer {
            if reduce.iter().all(|(_, levels)| levels.outer.is_none()) {
                let why = "double_buffer: no reduction has a block, so the panels are packed once";
                return Err(Error::input(why));
            }
            schedule.pipeline(Pipeline::Panels)?;
        }
        schedule.decompose_reduction()
    }
}

/// An input that lanes share is read in place where its rows hang over the edge: the last one again. Each row has an address of its own
/// then, and processors registers for so many of them.
const MOST_ROWS: i64 = 8;

/// The loops between blocks, by iteration variable.
fn between(spatial: &[(Name, Levels)]) -> Vec<(Name, Name)> {
    spatial.iter().filter_map(|(name, levels)| Some((name.clone(), levels.outer.clone()?))).collect()
}
