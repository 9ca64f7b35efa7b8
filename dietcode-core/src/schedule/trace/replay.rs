//! From a trace to the schedule.

use std::collections::BTreeMap;

use dietcode_syntax::is_free;

use super::{Instruction, Place, Trace};
use crate::ir::{Block, ForKind, Name, Program};
use crate::schedule::Schedule;
use crate::{Error, Result};

/// The most instructions of a trace: several times what the largest sketches have.
const MOST_INSTRUCTIONS: usize = 512;

impl Trace {
    /// Applies the instructions to a block of a program. The same trace and program give the same schedule, bit for bit.
    ///
    /// # Errors
    /// A decision that is open, or not among its candidates; a primitive that is refused: the instruction and the reason.
    pub fn replay(&self, program: &Program, block: &Block) -> Result<Schedule> {
        self.check()?;
        let mut schedule = Schedule::new(program, block);
        for (at, instruction) in self.instructions.iter().enumerate() {
            self.apply(instruction, &mut schedule).map_err(|e| {
                let line = format!("instruction {} of the trace, `{instruction}`", at + 1);
                Error::new(e.kind(), format!("{line}: {e}"))
            })?;
        }
        Ok(schedule)
    }

    /// What no primitive could refuse: a length that nothing needs, and names that become those of variables in generated code.
    fn check(&self) -> Result<()> {
        if self.instructions.len() > MOST_INSTRUCTIONS {
            let found = self.instructions.len();
            return Err(Error::input(format!("a trace of {found} instructions, expected at most {MOST_INSTRUCTIONS}")));
        }
        let mut names = self.instructions.iter().flat_map(|instruction| match instruction {
            Instruction::Split { into, .. } | Instruction::SplitInto { into, .. } => into.as_slice(),
            Instruction::Fuse { into, .. } | Instruction::AddUnitLoop(into) | Instruction::Parameter { into, .. } => {
                std::slice::from_ref(into)
            }
            Instruction::StreamK { into, .. } => into.as_slice(),
            _ => &[],
        });
        match names.find(|name| !is_free(name)) {
            None => Ok(()),
            Some(name) => Err(Error::input(format!("a trace calls a loop {name:?}, which generated code cannot"))),
        }
    }

    fn apply(&self, instruction: &Instruction, schedule: &mut Schedule) -> Result<()> {
        let size = |size: &super::Size| size.value(&self.decisions).map_err(Error::input);
        match instruction {
            Instruction::SampleTiles(axes) => {
                let mut vars = axes.iter().flat_map(|axis| &axis.factors).map(|factor| &factor.var);
                vars.try_for_each(|var| self.decided(var).map(drop))
            }
            Instruction::SampleCategorical { into, candidates, .. } => {
                let value = self.decided(into)?;
                among(candidates.contains(&value), into, value)
            }
            Instruction::SampleComputeLocation { into, candidates } => {
                let value = self.decided(into)?;
                among(usize::try_from(value).is_ok_and(|at| at < candidates.len()), into, value)
            }
            Instruction::AddUnitLoop(into) => schedule.add_unit_loop(into),
            Instruction::Parameter { into, value } => schedule.parameter(into, size(value)?),
            Instruction::Split { parent, factor, tail, into: [outer, inner] } => {
                schedule.split(parent, factor.decided(&self.decisions), *tail, [outer, inner])
            }
            Instruction::SplitInto { parent, ranges, into: [outer, inner] } => {
                schedule.split_into(parent, size(ranges)?, [outer, inner])
            }
            Instruction::Reorder(order) => schedule.reorder(&order.iter().map(|name| &**name).collect::<Vec<&str>>()),
            Instruction::Fuse { loops: [outer, inner], into } => schedule.fuse(outer, inner, into),
            Instruction::Rasterize { name, tile: [rows, columns] } => {
                schedule.rasterize(name, [size(rows)?, size(columns)?])
            }
            Instruction::Kind(kind, name) => match kind {
                ForKind::Serial => schedule.find(name).map(drop),
                ForKind::Parallel => schedule.parallel(name),
                ForKind::Vectorized => schedule.vectorize(name),
                ForKind::Unrolled => schedule.unroll(name),
                ForKind::BlockIdx => schedule.bind_block(name),
                ForKind::ThreadIdx => schedule.bind_thread(name),
                ForKind::VThread => schedule.vthread(name),
            },
            Instruction::Partition { name, halvings } => schedule.partition(name, size(halvings)?),
            Instruction::Prefetch { buffer, at, ahead } => schedule.prefetch(buffer, at, size(ahead)?),
            Instruction::CacheRead { buffer, staging, into } => {
                let made = schedule.cache_read(buffer, *staging)?;
                called(&made, into)
            }
            Instruction::CacheWrite(into) => {
                let made = schedule.cache_write()?;
                called(&[made], std::slice::from_ref(into))
            }
            Instruction::ComputeAt { stage, at } => {
                let at = self.place(at)?;
                schedule.compute_at(stage, at.as_deref())
            }
            Instruction::StorageAlign { stage, pad } => schedule.storage_align(stage, size(pad)?),
            Instruction::DecomposeReduction => schedule.decompose_reduction(),
            Instruction::Pipeline(pipeline) => schedule.pipeline(*pipeline),
            Instruction::BufferFragments(sets) => schedule.buffer_fragments(size(sets)?),
            Instruction::Tensorize(unit) => schedule.tensorize(*unit),
            Instruction::Rfactor(combine) => schedule.rfactor(*combine),
            Instruction::StreamK { loops, shares, waves, into } => schedule.stream_k(
                loops.each_ref().map(|name| &**name),
                size(shares)?,
                size(waves)?,
                into.each_ref().map(|name| &**name),
            ),
            Instruction::VectorizeStore(lanes) => schedule.vectorize_store(size(lanes)?),
            Instruction::StageStore(pad) => schedule.stage_store(size(pad)?),
            Instruction::VectorizeFetch { stage, lanes } => schedule.vectorize_fetch(stage, size(lanes)?),
            Instruction::Persistent(is) => match size(is)? {
                is @ (0 | 1) => schedule.persistent(is == 1),
                other => Err(Error::input(format!("persistent: it is {other}, expected 0 or 1"))),
            },
            Instruction::MinBlocks(blocks) => schedule.min_blocks(size(blocks)?),
            Instruction::EnterPostproc => {
                schedule.enter_postproc();
                Ok(())
            }
        }
    }

    fn decided(&self, var: &Name) -> Result<i64> {
        self.decisions.get(var).copied().ok_or_else(|| Error::input(format!("`{var}` is open")))
    }

    /// The loop that a place stands for; none: outside of all.
    fn place(&self, place: &Place) -> Result<Option<Name>> {
        let var = match place {
            Place::Root => return Ok(None),
            Place::Loop(name) => return Ok(Some(name.clone())),
            Place::Sampled(var) => var,
        };
        let places: BTreeMap<&Name, &[Name]> = (self.instructions.iter())
            .filter_map(|instruction| match instruction {
                Instruction::SampleComputeLocation { into, candidates } => Some((into, &candidates[..])),
                _ => None,
            })
            .collect();
        let candidates = places.get(var).ok_or_else(|| Error::input(format!("no place is sampled into `{var}`")))?;
        let at = usize::try_from(self.decided(var)?).ok().and_then(|at| candidates.get(at));
        at.map(|name| Some(name.clone())).ok_or_else(|| Error::input(format!("`{var}` is none of its places")))
    }
}

fn among(holds: bool, var: &Name, value: i64) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::input(format!("`{var}` is {value}, expected one of its candidates"))) }
}

/// Later instructions name what this one made.
fn called(made: &[Name], expected: &[Name]) -> Result<()> {
    if made == expected {
        return Ok(());
    }
    Err(Error::input(format!("it makes {}, not {}", made.join(", "), expected.join(", "))))
}
