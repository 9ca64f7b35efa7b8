//! A family's schedule in the making: primitives, and its numbers as decisions.
//!
//! Each primitive is carried out with a number, and recorded with the variable that holds it. So the trace is that of a sketch with all
//! decisions made, which the mutators of a search change as they change those that are drawn.
//!
//! ```text
//! split(i, 8)      →      i_register = sample_target_constrained_tiles() = 8
//!                         split(i, i_register)
//! ```

use std::collections::BTreeMap;

use crate::Result;
use crate::ir::{Expr, Name, Program};
use crate::lower::guards_that_stay;
use crate::schedule::{AHEAD, Axis, Factor, Instruction, Level, Part, Schedule, Size, Tail, Trace};
use crate::sketch::refused;
use crate::sketch::rules::{
    FRAGMENT_SETS, MIN_BLOCKS, PARTITIONED, PERSISTENT, RASTER, RASTER_SIZES, RESIDENT, STREAM_SHARES, STREAM_WAVES,
    WAVES, variable,
};

/// A schedule, and what its numbers are called.
pub(super) struct Decided {
    pub(super) schedule: Schedule,
    axes: Vec<Axis>,
    /// Sampling instructions of numbers that are no factors of an axis.
    numbers: Vec<Instruction>,
    decisions: BTreeMap<Name, i64>,
    /// The sizes of primitives, by their place in the schedule's trace.
    sizes: BTreeMap<usize, Vec<Size>>,
}

impl Decided {
    pub(super) fn new(program: &Program) -> Decided {
        Decided {
            schedule: Schedule::new(program, &program.blocks[0]),
            axes: Vec::new(),
            numbers: Vec::new(),
            decisions: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    /// Decides a factor of an axis, the outermost first.
    pub(super) fn factor(&mut self, axis: &Name, level: Level, value: i64) -> Part {
        let var = variable(axis, level);
        let factor = Factor { var: var.clone(), level };
        match self.axes.iter_mut().find(|known| known.name == *axis) {
            Some(known) => known.factors.push(factor),
            None => self.axes.push(Axis { name: axis.clone(), factors: vec![factor] }),
        }
        self.decisions.insert(var.clone(), value);
        Part::Var(var)
    }

    /// Decides a number that may also be one of some others.
    fn number(&mut self, into: String, value: i64, others: &[i64]) -> Size {
        let into = Name::from(into);
        let mut candidates = [others, &[value]].concat();
        candidates.sort_unstable();
        candidates.dedup();
        let weights = vec![1.0; candidates.len()];
        self.numbers.push(Instruction::SampleCategorical { into: into.clone(), candidates, weights });
        self.decisions.insert(into.clone(), value);
        Size(vec![Part::Var(into)])
    }

    /// See [`Schedule::split`].
    pub(super) fn split(&mut self, name: &str, factor: &[Part], tail: Tail, into: [&str; 2]) -> Result<()> {
        let factor = Size(factor.to_vec());
        let value = factor.value(&self.decisions).map_err(crate::Error::input)?;
        self.schedule.split(name, value, tail, into)?;
        self.called(vec![factor]);
        Ok(())
    }

    /// See [`Schedule::split_into`].
    pub(super) fn split_into(&mut self, name: &str, ranges: Part, into: [&str; 2]) -> Result<()> {
        let ranges = Size(vec![ranges]);
        let value = ranges.value(&self.decisions).map_err(crate::Error::input)?;
        self.schedule.split_into(name, value, into)?;
        self.called(vec![ranges]);
        Ok(())
    }

    /// See [`Schedule::storage_align`]: all copies of an input alike.
    pub(super) fn storage_align(&mut self, input: &str, stages: &[Name], pad: i64) -> Result<()> {
        let size = self.number(format!("{input}_pad"), pad, &[0, 16]);
        for stage in stages {
            self.schedule.storage_align(stage, pad)?;
            self.called(vec![size.clone()]);
        }
        Ok(())
    }

    /// See [`Schedule::prefetch`].
    pub(super) fn prefetch(&mut self, input: &str, at: &str, ahead: i64) -> Result<()> {
        let size = self.number(format!("{input}_ahead"), ahead, &AHEAD);
        self.schedule.prefetch(input, at, ahead)?;
        self.called(vec![size]);
        Ok(())
    }

    /// The same of slices of some tensors along an axis of tasks, in one decision.
    pub(super) fn prefetch_slices(&mut self, tensors: &[Name], axis: &str, ahead: i64) -> Result<()> {
        let size = self.number(format!("{axis}_ahead"), ahead, &AHEAD);
        for tensor in tensors {
            self.schedule.prefetch(tensor, axis, ahead)?;
            self.called(vec![size.clone()]);
        }
        Ok(())
    }

    /// See [`Schedule::stream_k`].
    pub(super) fn stream_k(&mut self, loops: [&str; 2], shares: i64, waves: i64, into: [&str; 3]) -> Result<()> {
        let sizes = vec![
            self.number(STREAM_SHARES.to_owned(), shares, &[]),
            self.number(STREAM_WAVES.to_owned(), waves, &WAVES),
        ];
        self.schedule.stream_k(loops, shares, waves, into)?;
        self.called(sizes);
        Ok(())
    }

    /// See [`Schedule::buffer_fragments`].
    pub(super) fn buffer_fragments(&mut self, sets: i64) -> Result<()> {
        let size = self.number(FRAGMENT_SETS.to_owned(), sets, &[1, 2]);
        self.schedule.buffer_fragments(sets)?;
        self.called(vec![size]);
        Ok(())
    }

    /// See [`Schedule::partition`]: a loop over blocks that is so.
    pub(super) fn partition(&mut self, name: &str) -> Result<()> {
        let size = self.number(PARTITIONED.to_owned(), 1, &[0]);
        self.schedule.partition(name, 1)?;
        self.called(vec![size]);
        Ok(())
    }

    /// See [`Schedule::persistent`]: a grid that is so.
    pub(super) fn persistent(&mut self) -> Result<()> {
        let size = self.number(PERSISTENT.to_owned(), 1, &[0]);
        self.schedule.persistent(true)?;
        self.called(vec![size]);
        Ok(())
    }

    /// See [`Schedule::min_blocks`].
    pub(super) fn min_blocks(&mut self, blocks: i64) -> Result<()> {
        let size = self.number(MIN_BLOCKS.to_owned(), blocks, &RESIDENT);
        self.schedule.min_blocks(blocks)?;
        self.called(vec![size]);
        Ok(())
    }

    /// See [`Schedule::vectorize_store`].
    pub(super) fn vectorize_store(&mut self, lanes: i64) -> Result<()> {
        let size = self.number("store_lanes".to_owned(), lanes, &[1, 2, 4]);
        self.schedule.vectorize_store(lanes)?;
        self.called(vec![size]);
        Ok(())
    }

    /// See [`Schedule::stage_store`].
    pub(super) fn stage_store(&mut self, pad: i64) -> Result<()> {
        let size = self.number("store_pad".to_owned(), pad, &[0, 4, 8]);
        self.schedule.stage_store(pad)?;
        self.called(vec![size]);
        Ok(())
    }

    /// Makes decisions of the tiles in which a grid goes through its blocks, if it does.
    pub(super) fn rasterized(&mut self) {
        let is_rasterize = |instruction: &Instruction| matches!(instruction, Instruction::Rasterize { .. });
        let Some(at) = self.schedule.trace().iter().rposition(is_rasterize) else { return };
        let Instruction::Rasterize { tile, .. } = &self.schedule.trace()[at] else { return };
        let values = tile.each_ref().map(|size| size.value(&self.decisions).unwrap_or(1));
        let names = RASTER.into_iter().zip(values);
        let sizes = names.map(|(name, value)| self.number(name.to_owned(), value, &RASTER_SIZES)).collect();
        self.sizes.insert(at, sizes);
    }

    /// Refuses a tile that hangs over the edge of an axis where nothing can pad it: a predicate would stay in the sum, where threads
    /// wait for each other and vectors take all of their lanes. `key` is the parameter that has the tile's size.
    pub(super) fn check_padding(&self, key: &str) -> Result<()> {
        let schedule = &self.schedule;
        let (stay, ragged, reads) = (guards_that_stay(schedule), schedule.ragged(), schedule.block.update_reads());
        let staged = |buffer: &Name| schedule.cache_reads.iter().any(|read| read.buffer == *buffer);
        let why = |name: &Name| {
            let moves = |index: &[Expr]| index.iter().any(|e| e.uses(name));
            match reads.iter().find(|(buffer, index)| !staged(&buffer.name) && moves(index)) {
                Some((buffer, _)) if schedule.is_prepared(&buffer.name) => {
                    let w = &buffer.name;
                    format!(
                        "{key}: `{name}` must be 1: `{w}` is laid out before calls and ends with the sum, so nothing pads it"
                    )
                }
                Some((buffer, _)) => {
                    format!("stage: `{}` moves along `{name}` and is not staged, so nothing pads it", buffer.name)
                }
                None => {
                    format!("{key}: `{name}` cannot be padded: no value of its inputs makes the update change nothing")
                }
            }
        };
        refused(&stay.keys().filter(|name| ragged.contains(name)).map(why).collect::<Vec<String>>())
    }

    /// What the sizes of the last primitive are called.
    fn called(&mut self, sizes: Vec<Size>) {
        self.sizes.insert(self.schedule.trace().len() - 1, sizes);
    }

    /// The trace: what is sampled, then the primitives. Nothing is left to postprocessors.
    pub(super) fn trace(&self) -> Trace {
        let tiles = (!self.axes.is_empty()).then(|| Instruction::SampleTiles(self.axes.clone()));
        let recorded = self.schedule.trace().iter().enumerate();
        let primitives = recorded.map(|(at, instruction)| match self.sizes.get(&at) {
            Some(sizes) => with_sizes(instruction.clone(), sizes),
            None => instruction.clone(),
        });
        let all = tiles.into_iter().chain(self.numbers.iter().cloned()).chain(primitives);
        let instructions: Vec<Instruction> = all.chain([Instruction::EnterPostproc]).collect();
        Trace::new(instructions).with(self.decisions.clone())
    }
}

/// A primitive with other sizes.
fn with_sizes(instruction: Instruction, sizes: &[Size]) -> Instruction {
    match (instruction, sizes) {
        (Instruction::Split { parent, tail, into, .. }, [factor]) => {
            Instruction::Split { parent, factor: factor.clone(), tail, into }
        }
        (Instruction::SplitInto { parent, into, .. }, [ranges]) => {
            Instruction::SplitInto { parent, ranges: ranges.clone(), into }
        }
        (Instruction::StorageAlign { stage, .. }, [pad]) => Instruction::StorageAlign { stage, pad: pad.clone() },
        (Instruction::Prefetch { buffer, at, .. }, [ahead]) => {
            Instruction::Prefetch { buffer, at, ahead: ahead.clone() }
        }
        (Instruction::Partition { name, .. }, [halvings]) => {
            Instruction::Partition { name, halvings: halvings.clone() }
        }
        (Instruction::Persistent(_), [is]) => Instruction::Persistent(is.clone()),
        (Instruction::MinBlocks(_), [blocks]) => Instruction::MinBlocks(blocks.clone()),
        (Instruction::BufferFragments(_), [sets]) => Instruction::BufferFragments(sets.clone()),
        (Instruction::VectorizeStore(_), [lanes]) => Instruction::VectorizeStore(lanes.clone()),
        (Instruction::StageStore(_), [pad]) => Instruction::StageStore(pad.clone()),
        (Instruction::StreamK { loops, into, .. }, [shares, waves]) => {
            Instruction::StreamK { loops, shares: shares.clone(), waves: waves.clone(), into }
        }
        (Instruction::Rasterize { name, .. }, [rows, columns]) => {
            Instruction::Rasterize { name, tile: [rows.clone(), columns.clone()] }
        }
        (other, _) => other,
    }
}
