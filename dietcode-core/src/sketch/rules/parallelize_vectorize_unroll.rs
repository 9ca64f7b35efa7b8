//! The loops of a CPU get their kinds: blocks go to threads, or the parts of a sum that they share, the register tile is unrolled, its
//! last loop are lanes.
//!
//! It applies to what `MultiLevelTiling` made, and to elementwise blocks, which it splits itself: how many vectors of them are
//! unrolled is free, a decision of its own. In a sum the register tile says so.
//!
//! ```text
//! for i, j                         parallel for i_0·j_0
//!   y[i][j] = f(x[i][j])     →       for i_1, j_1 in a task, unrolled j_2 in 0..j_unroll, vector j_3
//!                                      y[i][j] = f(x[i][j])
//! ```
//!
//! Source: `ParallelizeVectorizeUnroll` of MetaSchedule.

use std::sync::Arc;

use dietcode_syntax::Role;

use super::cpu::{axis, is_of_tile, split};
use super::{Applied, PartialSketch, Rule, SketchLoop, TILED, unmet, variable};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, ForKind, Name};
use crate::schedule::{AHEAD, Axis, HALVINGS, Instruction, Level, Part, Size, Staging};
use crate::sketch::reads::Reads;

/// How many vectors of an elementwise block may be unrolled.
const UNROLLED: [i64; 5] = [1, 2, 4, 8, 16];

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct ParallelizeVectorizeUnroll;

impl Rule for ParallelizeVectorizeUnroll {
    fn name(&self) -> &'static str {
        "ParallelizeVectorizeUnroll"
    }

    fn apply(&self, mut partial: PartialSketch, block: usize) -> Result<Applied> {
        if partial.custom {
            return unmet(TILED);
        }
        if !partial.is_tiled() {
            let own = partial.block(block).clone();
            tile(&mut partial, &own);
        }
        let slices = slices(&partial, block).filter(|_| partial.combine.is_none());
        set_kinds(&mut partial);
        slices.into_iter().for_each(|(axis, tensors)| prefetch_slices(&mut partial, &axis, tensors));
        let reads = partial.block(block).update_reads();
        reads.iter().for_each(|read| prefetch(&mut partial, read));
        Ok(Applied::Made(vec![partial]))
    }
}

/// The loops of an elementwise block.
fn tile(partial: &mut PartialSketch, block: &Block) {
    let last = || block.iters_of(Role::Spatial).last().map(|iter| &iter.name);
    let vector = block.contiguous().or_else(last).cloned();
    let drawn =
        |name: &Name| if vector.as_ref() == Some(name) { &[Level::Task, Level::Lanes][..] } else { &[Level::Task] };
    let axes: Vec<Axis> = block.iters.iter().map(|iter| axis(&iter.name, drawn(&iter.name))).collect();
    partial.instructions.extend((!axes.is_empty()).then_some(Instruction::SampleTiles(axes)));
    partial.instructions.extend(vector.iter().map(|name| Instruction::SampleCategorical {
        into: variable(name, Level::Unroll),
        candidates: UNROLLED.to_vec(),
        weights: vec![1.0; UNROLLED.len()],
    }));
    let of_vector = [Level::Task, Level::Unroll, Level::Lanes];
    let mut loops: Vec<SketchLoop> = Vec::new();
    for iter in &block.iters {
        let levels = if vector.as_ref() == Some(&iter.name) { &of_vector[..] } else { &of_vector[..1] };
        loops.extend(split(partial, iter, levels, None));
    }
    let rank = |level: Option<Level>| level.map(|level| of_vector.iter().position(|known| *known == level));
    loops.sort_by_key(|l| rank(l.level));
    if !loops.is_empty() {
        partial.instructions.push(Instruction::Reorder(loops.iter().map(|l| l.name.clone()).collect()));
    }
    partial.loops = loops;
}

/// What a tile at an edge computes along one of its loops is a decision: all, or as many iterations as are left, nearly.
fn partition(partial: &mut PartialSketch, l: &SketchLoop) {
    let into = Name::from(format!("{}_halvings", l.axis));
    let halvings = Size(vec![Part::Var(into.clone())]);
    let (candidates, weights) = (vec![0, HALVINGS], vec![1.0; 2]);
    partial.instructions.push(Instruction::SampleCategorical { into, candidates, weights });
    partial.instructions.push(Instruction::Partition { name: l.name.clone(), halvings });
}

/// Whether a tile asks for what the next one reads is a decision, of each tensor that is read in place. It pays where operands come from
/// memory, and costs a little elsewhere.
fn prefetch(partial: &mut PartialSketch, (buffer, index): &(Arc<Buffer>, Vec<Expr>)) {
    let is_made = |instruction: &Instruction| match instruction {
        Instruction::CacheRead { buffer: packed, staging: Staging::Always, .. } => *packed == buffer.name,
        Instruction::Prefetch { buffer: asked, at, .. } => {
            *asked == buffer.name && partial.loops.iter().any(|l| l.name == *at)
        }
        _ => false,
    };
    let moves = |l: &SketchLoop| index.iter().any(|e| e.uses(&l.axis));
    let is_serial = |l: &SketchLoop| l.role == Role::Spatial && l.kind == ForKind::Serial;
    let at = partial.loops.iter().rfind(|l| is_serial(l) && moves(l)).map(|l| l.name.clone());
    let made = partial.instructions.iter().any(is_made) || partial.program.prepared(&buffer.name).is_some();
    let Some(at) = at.filter(|_| !made) else { return };
    let ahead = Size(vec![Part::Var(ahead(partial, &buffer.name, 3.0))]);
    partial.instructions.push(Instruction::Prefetch { buffer: buffer.name.clone(), at, ahead });
}

/// Tiles may ask for what those of the next iteration of a batch read and write, a decision of all tensors that have a slice for each. It
/// pays where these come from memory.
fn slices(partial: &PartialSketch, block: usize) -> Option<(Name, Vec<Name>)> {
    let block = partial.block(block);
    block.reduction.as_ref()?;
    let is_in_tile = |axis: &Name| partial.loops.iter().any(|l| l.axis == *axis && l.level.is_some_and(is_of_tile));
    let axis = Reads::of(&partial.program, block).batch(is_in_tile)?;
    let is_around = |axis: &Name| block.iters_of(Role::Spatial).any(|iter| iter.name == *axis) && !is_in_tile(axis);
    let tensors = block.slices_along(axis, is_around);
    let tensors: Vec<Name> = tensors.into_iter().filter(|tensor| partial.program.prepared(tensor).is_none()).collect();
    (!tensors.is_empty()).then(|| (axis.clone(), tensors))
}

fn prefetch_slices(partial: &mut PartialSketch, axis: &Name, tensors: Vec<Name>) {
    let into = ahead(partial, axis, 1.0);
    let asked = |buffer| Instruction::Prefetch { buffer, at: axis.clone(), ahead: Size(vec![Part::Var(into.clone())]) };
    partial.instructions.extend(tensors.into_iter().map(asked));
}

/// A decision whether something is asked for ahead, no being so many times as likely as yes.
fn ahead(partial: &mut PartialSketch, of: &Name, weight: f64) -> Name {
    let into = Name::from(format!("{of}_ahead"));
    let (candidates, weights) = (AHEAD.to_vec(), vec![weight, 1.0]);
    partial.instructions.push(Instruction::SampleCategorical { into: into.clone(), candidates, weights });
    into
}

fn set_kinds(partial: &mut PartialSketch) {
    // What an instruction takes has its kinds by that.
    let is_tensorized = |instruction: &Instruction| matches!(instruction, Instruction::Tensorize(_));
    let tensorized = partial.instructions.iter().any(is_tensorized);
    let tile: Vec<(Name, Level)> = partial
        .loops
        .iter()
        .filter_map(|l| Some((l.name.clone(), l.level.filter(|level| is_of_tile(*level))?)))
        .filter(|(_, level)| !(tensorized && *level == Level::Lanes))
        .collect();
    for (name, level) in tile {
        partial.set_kind(&name, if level == Level::Lanes { ForKind::Vectorized } else { ForKind::Unrolled });
    }
    let registers: Vec<SketchLoop> = partial.loops_of(Role::Spatial, Some(Level::Register)).cloned().collect();
    registers.iter().for_each(|l| partition(partial, l));
    if let Some(combine) = partial.combine {
        let parts: Vec<Name> = partial.loops_of(Role::Reduce, Some(Level::Split)).map(|l| l.name.clone()).collect();
        parts.iter().for_each(|name| partial.set_kind(name, ForKind::Parallel));
        partial.instructions.push(Instruction::Rfactor(combine));
        return;
    }
    let blocks: Vec<Name> = partial.loops_of(Role::Spatial, None).map(|l| l.name.clone()).collect();
    if let Some(block) = partial.fuse_all(&blocks, "block") {
        partial.set_kind(&block, ForKind::Parallel);
    }
}
