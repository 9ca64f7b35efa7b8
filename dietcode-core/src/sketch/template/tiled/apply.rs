//! From the parameters of a [`Tiled`] to its schedule.

use dietcode_syntax::Role;

use super::Tiled;
use crate::Result;
use crate::ir::{IterVar, Name, Program};
use crate::machine::{CpuTarget, Target};
use crate::schedule::{Pipeline, Schedule, Staging, Tail};
use crate::sketch::{Lowered, MicroKernel, grid};

/// The loops that one iteration variable was split into, by level.
#[derive(Default)]
struct Levels {
    /// Between blocks: parallel if spatial, around the panels if reduced.
    outer: Option<Name>,
    /// Between tiles of a block.
    middle: Option<Name>,
    /// Inside of the register tile, written out.
    inner: Option<Name>,
    /// The lanes of a vector.
    lanes: Option<Name>,
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
    pub fn lanes(&self, target: &CpuTarget) -> i64 {
        if let Some(lanes) = self.lanes {
            return lanes;
        }
        let Some(size) = self.vector.as_ref().map(|name| self.register_size(name)) else { return 1 };
        [16, 8, 4, 2].into_iter().find(|lanes| lanes * 4 <= target.vector_bytes && size % lanes == 0).unwrap_or(1)
    }

    /// The micro-kernel that the parameters stand for, carried out.
    ///
    /// # Errors
    /// All that speaks against it.
    pub fn micro_kernel(&self, program: &Program, target: &CpuTarget) -> Result<(MicroKernel, Lowered)> {
        self.check(program, target)?;
        let mut schedule = self.schedule(program, target)?;
        self.check_padding(&schedule)?;
        schedule.enter_postproc();
        MicroKernel::of_family("tiled", self.name(), self, &schedule).carried_out(program, &Target::Cpu(target.clone()))
    }

    /// The schedule that the parameters stand for.
    ///
    /// # Errors
    /// What the primitives refuse.
    pub fn schedule(&self, program: &Program, target: &CpuTarget) -> Result<Schedule> {
        let block = &program.blocks[0];
        let mut schedule = Schedule::new(program, block);
        let mut spatial = Vec::new();
        let mut reduce = Vec::new();
        for iter in &block.iters {
            let levels = self.split(&mut schedule, iter, target)?;
            if iter.role == Role::Spatial { &mut spatial } else { &mut reduce }.push((iter.name.clone(), levels));
        }
        self.reorder(&mut schedule, &spatial, &reduce)?;
        for levels in spatial.iter().chain(&reduce).map(|(_, levels)| levels) {
            levels.inner.iter().try_for_each(|name| schedule.unroll(name))?;
            levels.lanes.iter().try_for_each(|name| schedule.vectorize(name))?;
        }
        let grid = grid::fuse(&mut schedule, &between(&spatial), &self.raster, "block")?;
        grid.iter().try_for_each(|name| schedule.parallel(name))?;
        if block.reduction.is_some() {
            self.stage(&mut schedule, grid, &spatial, &reduce)?;
        }
        Ok(schedule)
    }

    fn split(&self, schedule: &mut Schedule, iter: &IterVar, target: &CpuTarget) -> Result<Levels> {
        let name = &iter.name;
        let level = |schedule: &Schedule, level: &str| schedule.fresh_name(&format!("{name}_{level}"));
        let size = self.register_size(name);
        let lanes = if self.vector.as_deref() == Some(name) { self.lanes(target) } else { 1 };
        let steps = self.block_size(name, iter.role).map(|block| (block / size).max(1));
        let mut levels = Levels::default();
        let mut between = name.clone();
        if size > 1 {
            let outer = level(schedule, "o");
            let inner = level(schedule, if lanes == size { "v" } else { "t" });
            schedule.split(name, size, Tail::Pad, [&outer, &inner])?;
            between = outer;
            if lanes > 1 && lanes < size {
                let (tiles, vector) = (level(schedule, "2"), level(schedule, "v"));
                schedule.split(&inner, lanes, Tail::Pad, [&tiles, &vector])?;
                (levels.inner, levels.lanes) = (Some(tiles), Some(vector));
            } else if lanes == size {
                levels.lanes = Some(inner);
            } else {
                levels.inner = Some(inner);
            }
        }
        match (iter.role, steps) {
            (Role::Spatial, Some(1)) => levels.outer = Some(between),
            (Role::Reduce, None) => levels.middle = Some(between),
            (_, steps) => {
                let (outer, middle) = (level(schedule, "0"), level(schedule, "1"));
                schedule.split(&between, steps.unwrap_or(1), Tail::Clip, [&outer, &middle])?;
                (levels.outer, levels.middle) = (Some(outer), Some(middle));
            }
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
            .chain(spatial.iter().filter_map(|(_, l)| l.lanes.as_ref()))
            .collect();
        let order: Vec<&str> = order.into_iter().map(|name| &**name).collect();
        schedule.reorder(&order)
    }

    /// The tile of accumulators, the panels, and views of everything else that may hang over the edge.
    fn stage(
        &self,
        schedule: &mut Schedule,
        grid: Option<Name>,
        spatial: &[(Name, Levels)],
        reduce: &[(Name, Levels)],
    ) -> Result<()> {
        let names = schedule.loop_names();
        let last = |levels: &[(Name, Levels)], level: fn(&Levels) -> Option<&Name>| {
            names.iter().rfind(|name| levels.iter().any(|(_, l)| level(l) == Some(name))).cloned()
        };
        let around_panels = last(reduce, |l| l.outer.as_ref()).or(grid);
        let around_tile = last(spatial, |l| l.middle.as_ref()).or_else(|| around_panels.clone());
        let around_steps = last(reduce, |l| l.middle.as_ref());
        let tile = schedule.cache_write()?;
        let mut stages = vec![(tile, around_tile.clone())];
        let ragged = schedule.ragged();
        let mut read = Vec::new();
        for (buffer, index) in schedule.block.update_reads() {
            if read.contains(&buffer.name) {
                continue;
            }
            let named = |inputs: &[String]| inputs.iter().any(|name| **name == *buffer.name);
            if named(&self.pack) {
                let panels = schedule.cache_read(&buffer.name, Staging::Always)?;
                if let Some(pad) = self.pad.get(&*buffer.name) {
                    panels.iter().try_for_each(|panel| schedule.storage_align(panel, *pad))?;
                }
                stages.extend(panels.into_iter().map(|panel| (panel, around_panels.clone())));
            } else if named(&self.load) {
                let copies = schedule.cache_read(&buffer.name, Staging::Always)?;
                stages.extend(copies.into_iter().map(|copy| (copy, around_steps.clone())));
            } else if ragged.iter().any(|iter| index.iter().any(|e| e.uses(iter))) {
                let views = schedule.cache_read(&buffer.name, Staging::Edge)?;
                stages.extend(views.into_iter().map(|view| (view, around_tile.clone())));
            } else {
                continue;
            }
            read.push(buffer.name.clone());
        }
        for (stage, at) in stages {
            schedule.compute_at(&stage, at.as_deref())?;
        }
        if self.double_buffer {
            schedule.pipeline(Pipeline::Panels)?;
        }
        schedule.decompose_reduction()
    }
}

/// The loops between blocks, by iteration variable.
fn between(spatial: &[(Name, Levels)]) -> Vec<(Name, Name)> {
    spatial.iter().filter_map(|(name, levels)| Some((name.clone(), levels.outer.clone()?))).collect()
}
