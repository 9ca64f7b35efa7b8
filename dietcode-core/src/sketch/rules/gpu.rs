//! What the rules for GPUs share: axes are split into loops, the loops put into their order and bound, inputs staged.

use dietcode_syntax::Role;

use super::{PartialSketch, SketchLoop, variable};
use crate::ir::{Block, Buffer, Expr, ForKind, IterVar, Name};
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::schedule::{Axis, Factor, Instruction, Level, Part, Pipeline, Place, SharedTile, Size, Staging, Tail};

/// What a rule for GPUs says on another target.
pub(super) const OTHER: &str = "the target is no GPU";

/// What a loop of an axis takes of it: a sampled factor, or what a matrix instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The variable `{axis}_{level}`, drawn together with those of the other axes.
    Sampled(Level),
    /// The variable `{axis}_{level}`, drawn by an instruction of its own.
    Drawn(Level),
    /// So many iterations.
    Fixed(i64),
}

impl Piece {
    fn level(&self) -> Option<Level> {
        match self {
            Piece::Sampled(level) | Piece::Drawn(level) => Some(*level),
            Piece::Fixed(_) => None,
        }
    }
}

/// The loops that an axis was split into, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Split {
    axis: Name,
    role: Role,
    pieces: Vec<Piece>,
    loops: Vec<Name>,
}

impl Split {
    /// The loop of a level, if it has one.
    fn at(&self, level: Level) -> Option<Name> {
        let at = self.pieces.iter().position(|piece| piece.level() == Some(level))?;
        Some(self.loops[at + 1].clone())
    }

    /// The innermost loop, or the one so many loops outside of it: those of a matrix instruction.
    pub(super) fn innermost(&self, at: usize) -> Name {
        self.loops[self.loops.len() - 1 - at].clone()
    }
}

/// The loops of all axes.
#[derive(Clone, Debug)]
pub(super) struct Splits(Vec<Split>);

impl Splits {
    /// The outermost loops of a role, which have what the pieces leave of the extents.
    pub(super) fn outermost(&self, role: Role) -> Vec<Name> {
        self.0.iter().filter(|split| split.role == role).map(|split| split.loops[0].clone()).collect()
    }

    /// The loops of a level.
    pub(super) fn at(&self, level: Level) -> Vec<Name> {
        self.0.iter().filter_map(|split| split.at(level)).collect()
    }

    /// Those of an axis.
    pub(super) fn of(&self, axis: &Name) -> &Split {
        self.0.iter().find(|split| split.axis == *axis).expect("an axis of the block")
    }
}

/// The device that a partial sketch is for.
pub(super) fn device(partial: &PartialSketch) -> Option<&DeviceLimits> {
    partial.bounds.target.cuda()
}

/// The iteration variables in the order of the nest, but for the one along which the output is contiguous: of the spatial ones
/// it is the last, so that neighbouring threads write neighbours.
pub(super) fn iters(block: &Block) -> Vec<IterVar> {
    let mut iters = block.iters.clone();
    iters.sort_by_key(|iter| (iter.role == Role::Reduce, block.contiguous() == Some(&iter.name)));
    iters
}

/// Draws the pieces of all axes together, and splits each of them from the outside in.
///
/// ```text
/// for i in 0..M      →      for i_0 in 0..⌈M/(i_vthread·i_thread)⌉: for i_1 in 0..i_vthread: for i_2 in 0..i_thread
/// ```
pub(super) fn tile(partial: &mut PartialSketch, block: &Block, pieces: impl Fn(&IterVar) -> Vec<Piece>) -> Splits {
    let axes: Vec<(IterVar, Vec<Piece>)> = iters(block).into_iter().map(|iter| (iter.clone(), pieces(&iter))).collect();
    let sampled: Vec<Axis> = axes.iter().filter_map(|(iter, pieces)| axis(&iter.name, pieces)).collect();
    if !sampled.is_empty() {
        partial.instructions.push(Instruction::SampleTiles(sampled));
    }
    Splits(axes.iter().map(|(iter, pieces)| split(partial, iter, pieces)).collect())
}

fn axis(name: &Name, pieces: &[Piece]) -> Option<Axis> {
    let factors: Vec<Factor> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Sampled(level) => Some(Factor { var: variable(name, *level), level: *level }),
            Piece::Drawn(_) | Piece::Fixed(_) => None,
        })
        .collect();
    (!factors.is_empty()).then(|| Axis { name: name.clone(), factors })
}

fn split(partial: &mut PartialSketch, iter: &IterVar, pieces: &[Piece]) -> Split {
    let axis = &iter.name;
    // Ranges are those of what the other pieces leave.
    let ranges = partial.ranges && pieces.first().is_some_and(|piece| piece.level() == Some(Level::Split));
    let below = &pieces[usize::from(ranges)..];
    let mut rest = axis.clone();
    let mut loops = Vec::new();
    for n in 0..below.len() {
        let more = if n + 1 == below.len() { "" } else { "_rest" };
        let into = [partial.fresh(&format!("{axis}_{n}")), partial.fresh(&format!("{axis}_{}{more}", n + 1))];
        loops.push(into[0].clone());
        let next = into[1].clone();
        let factor = size(axis, &below[n..]);
        partial.instructions.push(Instruction::Split { parent: rest, factor, tail: Tail::Pad, into });
        rest = next;
    }
    loops.push(rest);
    if ranges {
        let [range, own] = ["range", "own"].map(|part| partial.fresh(&format!("{axis}_{part}")));
        let (parent, ranges) = (loops.remove(0), size(axis, &pieces[..1]));
        let into = [range.clone(), own.clone()];
        partial.instructions.push(Instruction::SplitInto { parent, ranges, into });
        loops.splice(..0, [own, range]);
    }
    let levels = std::iter::once(None).chain(pieces.iter().map(Piece::level));
    let made = loops.iter().zip(levels).map(|(name, level)| SketchLoop {
        name: name.clone(),
        axis: axis.clone(),
        level,
        role: iter.role,
        kind: ForKind::Serial,
    });
    partial.loops.extend(made);
    Split { axis: axis.clone(), role: iter.role, pieces: pieces.to_vec(), loops }
}

fn size(axis: &Name, pieces: &[Piece]) -> Size {
    let part = |piece: &Piece| match piece {
        Piece::Sampled(level) | Piece::Drawn(level) => Part::Var(variable(axis, *level)),
        Piece::Fixed(value) => Part::Int(*value),
    };
    Size(pieces.iter().map(part).collect())
}

/// One of a few numbers, each as likely as the others.
pub(super) fn number(partial: &mut PartialSketch, into: &str, candidates: &[i64]) -> Size {
    let (into, weights) = (Name::from(into), vec![1.0; candidates.len()]);
    let candidates = candidates.to_vec();
    partial.instructions.push(Instruction::SampleCategorical { into: into.clone(), candidates, weights });
    Size(vec![Part::Var(into)])
}

/// Puts the loops into an order.
pub(super) fn reorder(partial: &mut PartialSketch, order: Vec<Name>) {
    partial.loops.sort_by_key(|l| order.iter().position(|name| *name == l.name));
    partial.instructions.push(Instruction::Reorder(order));
}

/// The loops between blocks in the order of the grid, and the two of them whose tiles share what they read, which are the last two.
pub(super) struct Blocks {
    pub(super) loops: Vec<Name>,
    pair: Option<[Name; 2]>,
}

impl Blocks {
    /// Those of all axes. Along the last axis, and along the last one before it that is like that, one input moves and another
    /// stays the same, and it is not the same one: so neighbours in one row of tiles share the one, neighbours in a column the other.
    pub(super) fn of(block: &Block, splits: &Splits) -> Blocks {
        let mut loops = splits.outermost(Role::Spatial);
        let spatial: Vec<Name> = iters(block).into_iter().filter(|i| i.role == Role::Spatial).map(|i| i.name).collect();
        let reads = block.update_reads();
        let moves = |index: &[Expr], name: &Name| index.iter().any(|e| e.uses(name));
        let alone = |a: &Name, b: &Name| reads.iter().any(|(_, index)| moves(index, a) && !moves(index, b));
        let pair = spatial.split_last().and_then(|(column, others)| {
            let row = others.iter().rfind(|row| alone(row, column) && alone(column, row))?;
            Some([row, column].map(|axis| splits.of(axis).loops[0].clone()))
        });
        loops.sort_by_key(|name| pair.as_ref().is_some_and(|pair| pair.contains(name)));
        Blocks { loops, pair }
    }

    /// One loop of them; the last two are gone through in tiles, whose sizes are decisions.
    fn fuse(&self, partial: &mut PartialSketch) -> Option<Name> {
        let Some(pair) = &self.pair else { return partial.fuse_all(&self.loops, "block") };
        let name = partial.fuse_all(pair, "block")?;
        let tile = RASTER.map(|size| number(partial, size, &RASTER_SIZES));
        partial.instructions.push(Instruction::Rasterize { name: name.clone(), tile });
        let others = self.loops.iter().filter(|name| !pair.contains(name)).cloned();
        partial.fuse_all(&others.chain([name]).collect::<Vec<Name>>(), "block")
    }
}

/// The decisions in how high and how wide tiles blocks of the grid follow each other.
pub(in crate::sketch) const RASTER: [&str; 2] = ["raster_rows", "raster_columns"];
pub(in crate::sketch) const RASTER_SIZES: [i64; 4] = [1, 2, 4, 8];

/// Fuses what lies between blocks and what lies between threads, and binds both and the parts of a shared sum; returns the loop
/// over threads.
pub(super) fn bind(partial: &mut PartialSketch, split: &[Name], blocks: &Blocks, threads: &[Name]) -> Option<Name> {
    let block = blocks.fuse(partial);
    let thread = partial.fuse_all(threads, "thread");
    split.iter().chain(&block).for_each(|name| partial.set_kind(name, ForKind::BlockIdx));
    thread.iter().for_each(|name| partial.set_kind(name, ForKind::ThreadIdx));
    thread
}

/// The loop inside of which a thread accumulates, and the one that fills tiles: those over threads and over steps, or, where blocks have shares of
/// the steps of tiles, those over what a block has of them.
pub(super) fn stream(partial: &mut PartialSketch, thread: Name, steps: &[Name]) -> [Name; 2] {
    let last = steps.last().expect("a block that sums").clone();
    let is_tile = |l: &&SketchLoop| l.kind == ForKind::BlockIdx;
    let Some(tile) = partial.loops.iter().find(is_tile).map(|l| l.name.clone()).filter(|_| partial.stream) else {
        return [thread, last];
    };
    let step = partial.fuse_all(steps, "step").expect("a block that sums");
    let shares = i64::from(device(partial).map_or(1, |device| device.multiprocessors));
    let shares = number(partial, STREAM_SHARES, &[1, 2, 4].map(|blocks| blocks * shares));
    let waves = number(partial, STREAM_WAVES, &WAVES);
    let into = ["share", "piece"].map(|part| partial.fresh(&format!("{tile}_{part}")));
    let own = partial.fresh(&format!("{step}_own"));
    let [share, piece] = into;
    let into = [share.clone(), piece.clone(), own.clone()];
    partial.instructions.push(Instruction::StreamK { loops: [tile.clone(), step.clone()], shares, waves, into });
    let at = partial.loops.iter().position(|l| l.name == step).expect("the loops over steps were fused");
    let (axis, role) = (partial.loops[0].axis.clone(), Role::Spatial);
    partial.loops[at].name = own.clone();
    partial.loops.insert(at, SketchLoop { name: piece.clone(), axis, level: None, role, kind: ForKind::Serial });
    partial.loops.iter_mut().filter(|l| l.name == tile).for_each(|l| l.name = share.clone());
    [piece, own]
}

/// The decisions of a stream: how many blocks have shares, and of how many waves of tiles at the most: the last, the last two, or all.
pub(in crate::sketch) const STREAM_SHARES: &str = "stream_shares";
pub(in crate::sketch) const STREAM_WAVES: &str = "stream_waves";
pub(in crate::sketch) const WAVES: [i64; 3] = [1, 2, 1024];

/// The accumulators of a thread.
pub(super) fn accumulate(partial: &mut PartialSketch, block: &Block, thread: Name) {
    let tile = partial.fresh(&format!("{}_tile", block.output.name));
    partial.instructions.push(Instruction::CacheWrite(tile.clone()));
    partial.instructions.push(Instruction::ComputeAt { stage: tile, at: Place::Loop(thread) });
}

/// Stages all inputs of the sum in shared memory, filled in the loop `around`. Rows that may be swizzled are that, or padded.
pub(super) fn stage(
    partial: &mut PartialSketch,
    block: &Block,
    around: &Name,
    how: impl Fn(&Buffer, &[Expr]) -> SharedTile,
) {
    let reads = block.update_reads();
    let mut stages = Vec::new();
    for (at, (buffer, index)) in reads.iter().enumerate() {
        if !reads[..at].iter().any(|(other, _)| other == buffer) {
            let tile = how(buffer, index);
            let pad = if tile.swizzle > 0 { 0 } else { tile.pad };
            let own = partial.cache_read(block, &buffer.name, Staging::Shared(SharedTile { pad, ..tile }));
            if tile.swizzle > 0 {
                let pad = number(partial, &format!("{}_pad", buffer.name), &[0, tile.pad]);
                let align = |stage: &Name| Instruction::StorageAlign { stage: stage.clone(), pad: pad.clone() };
                partial.instructions.extend(own.iter().map(align));
            }
            stages.extend(own);
        }
    }
    let at = |stage| Instruction::ComputeAt { stage, at: Place::Loop(around.clone()) };
    partial.instructions.extend(stages.into_iter().map(at));
}

/// Whether neighbours of a tensor are terms of a sum.
pub(super) fn lies_along_sum(block: &Block, index: &[Expr]) -> bool {
    index.last().is_some_and(|last| block.iters_of(Role::Reduce).any(|iter| last.uses(&iter.name)))
}

/// The decision how many sets of registers hold operands of a tile that is filled ahead.
pub(in crate::sketch) const FRAGMENT_SETS: &str = "fragment_sets";

/// How copies into shared memory may overlap with the computation: not at all, through registers, or asynchronously.
pub(super) fn pipelines(device: &DeviceLimits) -> Vec<Option<Pipeline>> {
    let mut pipelines = vec![None, Some(Pipeline::Registers)];
    if device.capability >= (ComputeCapability { major: 8, minor: 0 }) {
        pipelines.extend([2, 3, 4].map(|stages| Some(Pipeline::Async(stages))));
    }
    pipelines
}

/// The decisions how many blocks a multiprocessor shall hold, with what they are drawn from, and whether blocks go on to further tiles.
pub(in crate::sketch) const MIN_BLOCKS: &str = "min_blocks";
pub(in crate::sketch) const RESIDENT: [i64; 3] = [1, 2, 3];
pub(in crate::sketch) const PERSISTENT: &str = "persistent";

/// The decision whether tiles inside have a body of their own, and how likely each is: with it, a kernel is nearly two.
pub(in crate::sketch) const PARTITIONED: &str = "partitioned";
const PARTITIONED_WEIGHTS: [f64; 2] = [3.0, 1.0];

/// Whether blocks whose tile lies inside have a body of their own, without predicates.
pub(super) fn partition(partial: &mut PartialSketch) {
    let is_of_tiles = |l: &&SketchLoop| l.kind == ForKind::BlockIdx && l.role == Role::Spatial;
    let Some(name) = partial.loops.iter().find(is_of_tiles).map(|l| l.name.clone()) else { return };
    let into = Name::from(PARTITIONED);
    let halvings = Size(vec![Part::Var(into.clone())]);
    let (candidates, weights) = (vec![0, 1], PARTITIONED_WEIGHTS.to_vec());
    partial.instructions.push(Instruction::SampleCategorical { into, candidates, weights });
    partial.instructions.push(Instruction::Partition { name, halvings });
}

/// Overlaps the copies of a partial sketch, lets the parts of a shared sum meet, stores by vectors, through shared memory where
/// rows there have a padding, and says what blocks at an edge do and how blocks come to multiprocessors.
pub(super) fn finish(partial: &mut PartialSketch, pipeline: Option<Pipeline>, store: i64, pad: Option<i64>) {
    if let Some(pipeline) = pipeline {
        partial.instructions.push(Instruction::Pipeline(pipeline));
        let sets = number(partial, FRAGMENT_SETS, &[1, 2]);
        partial.instructions.push(Instruction::BufferFragments(sets));
    }
    partial.instructions.extend(partial.combine.map(Instruction::Rfactor));
    partial.instructions.push(Instruction::VectorizeStore(store.into()));
    partial.instructions.extend(pad.map(|pad| Instruction::StageStore(pad.into())));
    partition(partial);
    let blocks = number(partial, MIN_BLOCKS, &RESIDENT);
    partial.instructions.push(Instruction::MinBlocks(blocks));
    persistent(partial);
}

/// Whether the grid is as large as the device holds at once, a decision.
pub(super) fn persistent(partial: &mut PartialSketch) {
    let is = number(partial, PERSISTENT, &[0, 1]);
    partial.instructions.push(Instruction::Persistent(is));
}
