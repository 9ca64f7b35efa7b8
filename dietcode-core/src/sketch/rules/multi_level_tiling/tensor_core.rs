//! A product of matrices becomes tiles of a block, of warps, and of matrix instructions.
//!
//! It applies to a sum of products of two tensors of f16 or bf16 on a device from 8.0 on, where one moves along the output's
//! contiguous axis and the other along another one. Of a convolution these are its columns, or its channels where they are contiguous. The
//! copy of a factor lies as its tensor does if that is contiguous along its own of these axes or along the longest sum, and else, as in the
//! filters of a convolution of planes, with all sums outside, which takes element by element.
//! Tensors of f32 are rounded to tf32, by an instruction of 8 steps, or by three of them in two parts, so that they need the user's
//! leave: `search.tf32` of a config, [`super::super::CustomRules::allow_tf32`].
//!
//! ```text
//! for i, j, k                   for i_0·j_0 bound to the grid, i_1·j_1 warps, i_4 and j_3 their lanes, bound to threads
//!   y[i][j] += x · w     →        for k_0: fill x_shared, w_shared                         pipelined: none, registers, async 2, 3, 4
//!                                   for k_1, unrolled i_2, j_2                             instructions of a warp
//!                                     for i_3 in 0..2, j_4 in 0..2, k_2 in 0..16: y_tile += x_shared · w_shared
//! ```
//!
//! The innermost loops become the instruction in `postproc/rewrite_tensorize.rs`; for f32 the trace says so itself.
//!
//! Source: `MultiLevelTilingTensorCore` of MetaSchedule; the lanes as in [`crate::schedule::Schedule::tensorize`].

use dietcode_syntax::Role;

use super::super::gpu::{self, Blocks, Piece};
use super::super::{Applied, PartialSketch, Rule, TILED, unmet};
use crate::Result;
use crate::ir::{Block, Buffer, DType, Expr, ForKind, IterVar, Name};
use crate::machine::cuda::ComputeCapability;
use crate::schedule::{Combine, Instruction, Level, MatrixUnit, Pipeline, SharedTile};
use crate::sketch::template::operands::{COLUMNS, Operands, ROWS};

/// Bytes of the widest access of a thread.
const WIDEST: i64 = 16;
/// Elements behind each row that is not swizzled, so that those of a fragment lie in different banks.
const PAD: i64 = 8;
/// The same behind rows of f32 along the sum, which are read whole.
const PAD_ALONG_SUM: i64 = 4;
/// The neighbours that a lane has of the output.
const STORE: i64 = 2;
/// Sums behind each row on their way through shared memory, so that the 4 rows of which half a warp has pairs lie in different banks.
const STORE_PAD: i64 = 8;

/// The first devices whose matrix units are used.
const FIRST: ComputeCapability = ComputeCapability { major: 8, minor: 0 };

/// The structure of the tiles.
const STRUCTURE: &str = "SSSRRSRS";

/// The rule for matrix units.
#[derive(Clone, Copy, Debug)]
pub struct MultiLevelTilingTensorCore {
    /// What may multiply tensors of f32.
    pub of_f32: Option<MatrixUnit>,
}

impl Rule for MultiLevelTilingTensorCore {
    fn name(&self) -> &'static str {
        "MultiLevelTilingTensorCore"
    }

    /// The partial sketch without a matrix unit is kept for the rule behind.
    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let Some(device) = gpu::device(&partial) else { return unmet(gpu::OTHER) };
        if partial.is_tiled() {
            return unmet(TILED);
        }
        if device.capability < FIRST {
            return unmet(format!(
                "matrix units need compute capability {FIRST}, the device has {}",
                device.capability
            ));
        }
        let own = partial.block(block).clone();
        let Some(operands) = self.operands(&partial, &own) else {
            return unmet("it is no sum of products of elements that matrix units take, as they lie in memory");
        };
        // What threads add to the output one by one cannot change hands before.
        let pads = if partial.combine == Some(Combine::Atomic) { vec![None] } else { vec![None, Some(STORE_PAD)] };
        let made = pads.into_iter().flat_map(|pad| {
            let pipelines = gpu::pipelines(device).into_iter();
            let (partial, own, operands) = (&partial, &own, &operands);
            pipelines.map(move |pipeline| tiled(partial.clone(), own, operands, pipeline, pad))
        });
        Ok(Applied::Made(made.chain([partial.clone()]).collect()))
    }
}

impl MultiLevelTilingTensorCore {
    /// The loops that an instruction takes pieces of, steps along the longest sum.
    fn operands(&self, partial: &PartialSketch, block: &Block) -> Option<Operands> {
        let longest = partial.longest(block);
        let units = std::iter::once(MatrixUnit::Half).chain(self.of_f32);
        let mut operands = units.filter_map(|unit| {
            Operands::of(block, partial.program.computes_in(), unit, |name| Some(name) == longest.as_ref()).ok()
        });
        operands
            .find(|operands| block.update_reads().iter().all(|(_, index)| Copied::of(block, operands, index).is_some()))
    }
}

/// How the copy of a factor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    /// As its tensor, along rows or columns of an instruction.
    Across,
    /// As its tensor, along the steps.
    AlongSteps,
    /// With all sums outside, along rows or columns.
    SumsOutside,
}

impl Copied {
    /// What lies contiguous in it is what an instruction takes: its rows, columns or steps. Of what moves along neither, a block has one element.
    fn of(block: &Block, operands: &Operands, index: &[Expr]) -> Option<Copied> {
        let taken = [&operands.row, &operands.column, &operands.step];
        let along = |iter: &IterVar| index.iter().rposition(|e| e.uses(&iter.name));
        let is_spatial = |iter: &IterVar| iter.role == Role::Spatial;
        let of_tile = || {
            let of_tile = block.iters.iter().filter(|iter| !is_spatial(iter) || taken.contains(&&iter.name));
            of_tile.filter(|iter| along(iter).is_some())
        };
        let as_it_lies = of_tile().max_by_key(|iter| (along(iter), is_spatial(iter)))?;
        match taken.contains(&&as_it_lies.name) {
            true if is_spatial(as_it_lies) => Some(Copied::Across),
            true => Some(Copied::AlongSteps),
            false => of_tile().any(is_spatial).then_some(Copied::SumsOutside),
        }
    }
}

fn tiled(
    mut partial: PartialSketch,
    block: &Block,
    operands: &Operands,
    pipeline: Option<Pipeline>,
    store_pad: Option<i64>,
) -> PartialSketch {
    partial.structure = Some(STRUCTURE);
    let shared = partial.shared_sum(block);
    let splits = gpu::tile(&mut partial, block, |iter| pieces(iter, operands, shared.as_ref()));
    let [row, column, step] = [&operands.row, &operands.column, &operands.step].map(|axis| splits.of(axis));
    let at = |level| splits.at(level);
    let parts = at(Level::Split);
    let blocks = Blocks::of(block, &splits);
    let threads = [at(Level::Warp), vec![row.innermost(0), column.innermost(1)]].concat();
    let tiles = splits.outermost(Role::Reduce);
    let [rows, columns, steps] = [row.innermost(1), column.innermost(0), step.innermost(0)];
    let fragments = at(Level::Fragment);
    let inside = [at(Level::Steps), fragments.clone(), vec![rows.clone(), columns.clone(), steps]];
    let order = [&parts, &blocks.loops, &threads, &tiles].into_iter().chain(&inside).flatten().cloned().collect();
    gpu::reorder(&mut partial, order);
    fragments.iter().chain([&rows, &columns]).for_each(|name| partial.set_kind(name, ForKind::Unrolled));
    let thread = gpu::bind(&mut partial, &parts, &blocks, &threads).expect("the lanes of a warp");
    let [thread, around] = gpu::stream(&mut partial, thread, &tiles);
    gpu::accumulate(&mut partial, block, thread);
    gpu::stage(&mut partial, block, &around, |buffer, index| {
        tile(buffer, Copied::of(block, operands, index).expect("that of a factor"))
    });
    partial
        .instructions
        .extend((operands.unit != MatrixUnit::Half).then_some(Instruction::Tensorize(operands.unit.into())));
    // Parts of a sum are of f32, whatever the output is.
    let stored = if partial.combine.is_some() { DType::F32 } else { block.output.dtype };
    let store = if store_pad.is_some() { WIDEST / stored.bytes() } else { STORE };
    gpu::finish(&mut partial, pipeline, store, store_pad);
    partial
}

/// A tile whose rows are padded or swizzled.
fn tile(buffer: &Buffer, copied: Copied) -> SharedTile {
    let whole = buffer.dtype == DType::F32 && copied == Copied::AlongSteps;
    let pad = if whole { PAD_ALONG_SUM } else { PAD };
    // Elements of f32 that lie across the sum are loaded one by one, of which each would have an address of its own.
    let by_rows = buffer.dtype != DType::F32 || whole;
    let vector = WIDEST / buffer.dtype.bytes();
    let reduce_outside = copied == Copied::SumsOutside;
    SharedTile { vector, pad, swizzle: if by_rows { vector } else { 0 }, reduce_outside }
}

/// 16 rows are 2 of each of 8 lanes, 8 columns 2 of each of 4; what is neither has a block for each element.
fn pieces(iter: &IterVar, operands: &Operands, shared: Option<&Name>) -> Vec<Piece> {
    let warps = [Level::Warp, Level::Fragment].map(Piece::Sampled);
    if iter.name == operands.row {
        return warps.into_iter().chain([Piece::Fixed(2), Piece::Fixed(ROWS / 2)]).collect();
    }
    if iter.name == operands.column {
        return warps.into_iter().chain([Piece::Fixed(COLUMNS / 2), Piece::Fixed(2)]).collect();
    }
    if iter.role == Role::Spatial {
        return Vec::new();
    }
    let part = (shared == Some(&iter.name)).then_some(Piece::Sampled(Level::Split));
    let unit = (iter.name == operands.step).then_some(Piece::Fixed(operands.unit.steps()));
    part.into_iter().chain([Piece::Sampled(Level::Steps)]).chain(unit).collect()
}
