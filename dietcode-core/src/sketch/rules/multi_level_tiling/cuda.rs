//! A sum whose inputs are used again and again becomes tiles: of a block, of a thread, in shared memory.
//!
//! It applies to a block that sums, and of which an input stays the same along one of the spatial axes. The structure, unless another one is
//! named, is SSSRRSRS: blocks, virtual threads, threads │ tiles in shared memory, steps in them │ outer part of a thread's tile │ steps that are
//! unrolled │ inner part. Virtual threads stand inside of the steps, since it is the thread that carries them out.
//!
//! ```text
//! for i, j, k                   for i_0·j_0 bound to the grid, i_2·j_2 bound to threads
//!   y[i][j] += x · w     →        for k_0: fill x_shared, w_shared                         pipelined: none, registers, async 2, 3, 4
//!                                   for k_1, vthread i_1, j_1, unrolled i_3, j_3, k_2, i_4, j_4
//!                                     y_tile += x_shared · w_shared
//! ```
//!
//! Each way to overlap the copies is a sketch; in which order blocks come, how many of them, and whether tiles inside have a body of their own,
//! are decisions. The copies are transposed on their way, so that what a thread multiplies lies next to each other; rows that lay along the
//! sum are padded, so that the stores of a warp go to different banks.
//!
//! Source: `MultiLevelTiling` of MetaSchedule; the order of levels as in Ansor (OSDI 2020), section 4.1.

use dietcode_syntax::Role;

use super::super::gpu::{self, Blocks, Piece};
use super::super::{Applied, PartialSketch, Rule, Structure, TILED, unmet};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, ForKind, IterVar, Name};
use crate::schedule::{Level, Pipeline, SharedTile};

/// Bytes of the widest access of a thread.
const WIDEST: i64 = 16;
/// Elements behind each row of a tile that is transposed on its way.
const PAD: i64 = 4;
/// The most neighbours that a thread stores at once.
const STORE: i64 = 4;

/// The rule for threads that multiply, for tiles of a structure.
#[derive(Clone, Copy, Debug)]
pub struct MultiLevelTilingCuda(pub &'static Structure);

impl Rule for MultiLevelTilingCuda {
    fn name(&self) -> &'static str {
        "MultiLevelTiling"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let Some(device) = gpu::device(&partial) else { return unmet(gpu::OTHER) };
        if partial.is_tiled() {
            return unmet(TILED);
        }
        let own = partial.block(block).clone();
        if !uses_again(&own) {
            return unmet("it sums nothing that is read again for another output");
        }
        let made = gpu::pipelines(device).into_iter().map(|pipeline| tiled(partial.clone(), &own, self.0, pipeline));
        Ok(Applied::Made(made.collect()))
    }
}

/// Whether an input of the sum stays the same along a spatial axis.
pub(in super::super) fn uses_again(block: &Block) -> bool {
    let moves = |index: &[Expr], iter: &IterVar| index.iter().any(|e| e.uses(&iter.name));
    let reads = block.update_reads();
    let reused = |iter: &IterVar| reads.iter().any(|(_, index)| !index.is_empty() && !moves(index, iter));
    block.iters_of(Role::Reduce).next().is_some() && block.iters_of(Role::Spatial).any(reused)
}

fn tiled(
    mut partial: PartialSketch,
    block: &Block,
    structure: &Structure,
    pipeline: Option<Pipeline>,
) -> PartialSketch {
    partial.structure = Some(structure.text);
    let shared = partial.shared_sum(block);
    let splits = gpu::tile(&mut partial, block, |iter| pieces(iter, structure, shared.as_ref()));
    let at = |level| splits.at(level);
    let [parts, threads] = [at(Level::Split), at(Level::Thread)];
    let blocks = Blocks::of(block, &splits);
    let tiles = splits.outermost(Role::Reduce);
    // Virtual threads stand inside of the steps, since it is the thread that carries them out.
    let inside = structure
        .levels
        .iter()
        .skip_while(|levels| **levels != [Level::Thread])
        .flat_map(|levels| levels.iter().copied());
    let of_thread = inside.filter(|level| !matches!(level, Level::Thread | Level::Steps));
    let inside: Vec<Vec<Name>> = [Level::Steps, Level::Vthread].into_iter().chain(of_thread).map(at).collect();
    let order = [&parts, &blocks.loops, &threads, &tiles].into_iter().chain(&inside).flatten().cloned().collect();
    gpu::reorder(&mut partial, order);
    [Level::Outer, Level::Unroll, Level::Inner].into_iter().flat_map(at).for_each(|name| {
        partial.set_kind(&name, ForKind::Unrolled);
    });
    at(Level::Vthread).iter().for_each(|name| partial.set_kind(name, ForKind::VThread));
    let thread =
        gpu::bind(&mut partial, &parts, &blocks, &threads).expect("an axis along which an input is used again");
    let [thread, around] = gpu::stream(&mut partial, thread, &tiles);
    gpu::accumulate(&mut partial, block, thread);
    gpu::stage(&mut partial, block, &around, |buffer, index| transposed(block, buffer, index));
    gpu::finish(&mut partial, pipeline, STORE, None);
    partial
}

fn pieces(iter: &IterVar, structure: &Structure, shared: Option<&Name>) -> Vec<Piece> {
    let split = (shared == Some(&iter.name)).then_some(Level::Split);
    let letter = if iter.role == Role::Spatial { 'S' } else { 'R' };
    split.into_iter().chain(structure.levels_of(letter)).map(Piece::Sampled).collect()
}

/// A tile with the summed dimensions outside.
fn transposed(block: &Block, buffer: &Buffer, index: &[Expr]) -> SharedTile {
    let pad = if gpu::lies_along_sum(block, index) { PAD } else { 0 };
    SharedTile { vector: WIDEST / buffer.dtype.bytes(), pad, swizzle: 0, reduce_outside: true }
}
