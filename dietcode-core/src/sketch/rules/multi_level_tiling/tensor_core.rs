//! A product of matrices of 16-bit elements becomes tiles of a block, of warps, and of matrix instructions.
//!
//! It applies to a sum of products of two tensors of f16 or bf16, where one moves along the output's contiguous axis and the other
//! along another one, on a device from 8.0 on. Tensors of f32 would be rounded to tf32, so this rule leaves them alone.
//!
//! ```text
//! for i, j, k                   for i_0·j_0 bound to the grid, i_1·j_1 warps, i_4 and j_3 their lanes, bound to threads
//!   y[i][j] += x · w     →        for k_0: fill x_shared, w_shared                         pipelined: none, registers, async 2, 3, 4
//!                                   for k_1, unrolled i_2, j_2                             instructions of a warp
//!                                     for i_3 in 0..2, j_4 in 0..2, k_2 in 0..16: y_tile += x_shared · w_shared
//! ```
//!
//! The innermost loops become the instruction in `postproc/rewrite_tensorize.rs`.
//!
//! Source: `MultiLevelTilingTensorCore` of MetaSchedule; the lanes as in [`crate::schedule::Schedule::tensorize`].

use dietcode_syntax::Role;

use super::super::gpu::{self, Piece, Split};
use super::super::{Draft, Rule};
use crate::Result;
use crate::ir::{Block, ForKind, IterVar, Name};
use crate::schedule::{Level, MatrixUnit, Pipeline, SharedTile};
use crate::sketch::blocked::operands::{COLUMNS, Operands, ROWS};
use crate::target::cuda::ComputeCapability;

/// Elements of 16 bits in the widest access of a thread, and behind each row: the rows of a fragment then lie in different banks.
const WIDEST: i64 = 8;
/// The neighbours that a lane has of the output.
const STORE: i64 = 2;

/// The rule for matrix units.
#[derive(Clone, Copy, Debug)]
pub struct MultiLevelTilingTensorCore;

impl Rule for MultiLevelTilingTensorCore {
    fn name(&self) -> &'static str {
        "MultiLevelTilingTensorCore"
    }

    /// The draft without a matrix unit is kept for the rule behind.
    fn apply(&self, draft: Draft, block: usize) -> Result<Vec<Draft>> {
        let Some(device) = gpu::device(&draft).filter(|_| !draft.is_tiled()) else { return Ok(vec![draft]) };
        let own = draft.block(block).clone();
        let longest = gpu::longest(&draft, &own);
        let operands = Operands::of(&own, MatrixUnit::Half, |name| Some(name) == longest.as_ref());
        let Some(operands) = operands.ok().filter(|_| device.capability >= ComputeCapability { major: 8, minor: 0 })
        else {
            return Ok(vec![draft]);
        };
        let made = gpu::pipelines(device).into_iter().map(|pipeline| tiled(draft.clone(), &own, &operands, pipeline));
        Ok(made.chain([draft.clone()]).collect())
    }
}

fn tiled(mut draft: Draft, block: &Block, operands: &Operands, pipeline: Option<Pipeline>) -> Draft {
    let shared = gpu::shared_sum(&draft, block);
    let iters = gpu::iters(block);
    let axes: Vec<(IterVar, Vec<Piece>)> =
        iters.iter().map(|iter| (iter.clone(), pieces(iter, operands, shared.as_ref()))).collect();
    let splits = gpu::tile(&mut draft, &axes);
    let of = |name: &Name| &splits[iters.iter().position(|iter| iter.name == *name).expect("an axis of the block")];
    let [row, column, step] = [&operands.row, &operands.column, &operands.step].map(of);
    let outermost = |role| splits.iter().filter(move |split| split.role == role).map(Split::outermost);
    let at = |level| splits.iter().filter_map(move |split| split.at(level)).collect::<Vec<Name>>();
    let parts = at(Level::Split);
    let blocks: Vec<Name> = outermost(Role::Spatial).collect();
    let threads = [at(Level::Warp), vec![row.innermost(0), column.innermost(1)]].concat();
    let tiles: Vec<Name> = outermost(Role::Reduce).collect();
    let [rows, columns, steps] = [row.innermost(1), column.innermost(0), step.innermost(0)];
    let fragments = at(Level::Fragment);
    let inside = [at(Level::Steps), fragments.clone(), vec![rows.clone(), columns.clone(), steps]];
    let order = [&parts, &blocks, &threads, &tiles].into_iter().chain(&inside).flatten().cloned().collect();
    gpu::reorder(&mut draft, order);
    fragments.iter().chain([&rows, &columns]).for_each(|name| draft.set_kind(name, ForKind::Unrolled));
    let thread = gpu::bind(&mut draft, &parts, &blocks, &threads).expect("the lanes of a warp");
    gpu::accumulate(&mut draft, block, thread);
    let around = tiles.last().expect("a block that sums");
    let tile = SharedTile { vector: WIDEST, pad: WIDEST, reduce_outside: false };
    gpu::stage(&mut draft, block, around, |_, _| tile);
    gpu::finish(&mut draft, pipeline, STORE);
    draft
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
