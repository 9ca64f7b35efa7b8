//! The kernels beside the main one, where tiles of the grid share a sum: one behind it adds the parts, or, on a GPU, one before it
//! says what atomic additions start with. On a CPU they are phases of one micro-kernel.
//!
//! ```text
//! y[i] = f(init + Σ_k …), k split by 2           y_parts[k_s][i] = Σ …        main, a workspace
//!                                        →       y[i] = f(init + y_parts[0][i] + y_parts[1][i])
//!
//!                                                y[i] = init
//!                                        →       y[i] += Σ …                  main, by atomic additions
//! ```
//!
//! Where blocks have shares of the steps of tiles, the second kernel puts those tiles together that several blocks have steps of. Its threads
//! are those of the main one, which have left their sums as they hold them; the outermost loop of a thread's tile is one of the grid, so that
//! few tiles keep more of the device busy.
//!
//! ```text
//! for s in the grid, threads                     for t in the first R tiles, i_0 in 0..8, threads
//!   for each tile of s                             for p in 0..parts of t
//!     for its steps: y_tile += …           →         y_tile += y_parts[place of p][i_0][…][thread]
//!     y_parts[place][…][thread] = y_tile           if parts of t > 1: y[…] = f(init + y_tile)
//! ```

use std::sync::Arc;

use dietcode_syntax::Role;

use super::{nest, postproc};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, ForKind, IterVar, Name, Program, Reduction};
use crate::lower;
use crate::schedule::{CacheWrite, Combine, Loop, Relation, Schedule, StreamK};

/// The kernels of a schedule in the order of their launches, and which of them is the main one. Most are one; each has its
/// program.
///
/// # Errors
/// A second kernel whose nest has no loop that threads could share.
pub(super) fn launches(main: Schedule) -> Result<(Vec<Schedule>, usize)> {
    if let Some(stream) = main.stream() {
        let second = sum_of_shares(&main, stream);
        return Ok((vec![main, second], 0));
    }
    let Some(combine) = main.rfactor else { return Ok((vec![main], 0)) };
    match combine {
        Combine::Workspace => {
            let second = scheduled(&main, &sum_of_parts(&main))?;
            Ok((vec![main, second], 0))
        }
        Combine::Atomic if adds_to_output(&main.block) => Ok((vec![main], 0)),
        Combine::Atomic => Ok((vec![scheduled(&main, &initialised(&main))?, main], 1)),
    }
}

/// On a GPU one thread for each element of the output, neighbours for neighbours; on a CPU the nest as it stands.
fn scheduled(main: &Schedule, program: &Program) -> Result<Schedule> {
    let mut schedule = match main.is_gpu() {
        true => Schedule::new(program, &program.blocks[0]),
        false => nest::as_it_stands(program)?,
    };
    schedule.parameters = main.parameters.clone();
    schedule.target = main.target.clone();
    schedule.beside = Some(main.trace().to_vec());
    if main.is_gpu() {
        postproc::rewrite_unbound_block(&mut schedule)?;
        postproc::rewrite_reduction(&mut schedule)?;
    }
    Ok(schedule)
}

/// The second kernel of a shared sum: adds the parts in order and applies the epilogue.
fn sum_of_parts(main: &Schedule) -> Program {
    let (block, program) = (&main.block, &main.program);
    let (parts, which) = lower::workspace(main);
    let parts_dims = which.iter().zip(&parts.shape).map(|(name, extent)| IterVar {
        name: name.clone(),
        extent: extent.clone(),
        role: Role::Reduce,
    });
    let spatial = || block.iters_of(Role::Spatial);
    let index = which.iter().chain(spatial().map(|iter| &iter.name)).map(|name| Expr::Var(name.clone())).collect();
    let block = Block {
        iters: spatial().cloned().chain(parts_dims).collect(),
        reduction: Some(Reduction { update: Expr::Load(parts.clone(), index), ..reduction(block).clone() }),
        ..block.clone()
    };
    let params = program.params.iter().cloned().chain([parts]).collect::<Vec<Arc<Buffer>>>();
    Program { params, blocks: vec![block], ..program.clone() }
}

/// The second kernel of a sum of whose tiles blocks have shares of the steps.
fn sum_of_shares(main: &Schedule, stream: &StreamK) -> Schedule {
    let part = main.fresh_name(&format!("{}_part", stream.tile));
    let stream = stream.meeting(part.clone());
    let itself = |e: &Expr| e.clone();
    let (parts, index) = lower::parts_of_tiles(main, &stream);
    let (block, program) = (&main.block, &main.program);
    let of_parts = IterVar { name: part.clone(), extent: Expr::Int(stream.places()), role: Role::Reduce };
    let block = Block {
        iters: block.iters_of(Role::Spatial).cloned().chain([of_parts]).collect(),
        reduction: Some(Reduction { update: Expr::Load(parts.clone(), index), ..reduction(block).clone() }),
        ..block.clone()
    };
    let params = program.params.iter().cloned().chain([parts]).collect();
    let program = Program { params, blocks: vec![block.clone()], ..program.clone() };
    let loop_ = |name: &Name, extent, kind, role| Loop { name: name.clone(), extent, limit: None, kind, role };
    let tiles = loop_(&stream.tile, stream.streamed(&itself), ForKind::BlockIdx, Role::Spatial);
    let own = main.tile_dims(main.tile_depth()).into_iter().map(|at| main.loops[at].clone());
    let mut own: Vec<Loop> = own.collect();
    let outermost = own.iter().position(|l| l.extent != Expr::Int(1));
    let outermost = outermost.map(|at| Loop { kind: ForKind::BlockIdx, ..own.remove(at) });
    let around: Vec<Loop> = std::iter::once(tiles).chain(outermost).chain(main.thread_loops().cloned()).collect();
    let tile = main.cache_write.as_ref().map(|tile| tile.name.clone());
    let tile = tile.unwrap_or_else(|| main.fresh_name(&format!("{}_tile", block.output.name)));
    let is_spatial =
        |name: &Name| main.roots(name).iter().all(|root| block.iters.iter().any(|iter| iter.name == *root));
    let relations = main.relations.iter().filter_map(|relation| match relation {
        Relation::Stream(_) => Some(Relation::Stream(stream.clone())),
        Relation::Split { parent: whole, .. } | Relation::Fuse { fused: whole, .. } => {
            is_spatial(whole).then(|| relation.clone())
        }
    });
    let mut second = Schedule::new(&program, &block);
    second.relations = relations.collect();
    second.cache_write = Some(CacheWrite { name: tile, depth: Some(around.len()) });
    let over_parts = loop_(&part, stream.parts(), ForKind::Serial, Role::Reduce);
    second.loops = around.into_iter().chain([over_parts]).chain(own).collect();
    second.decomposed = true;
    second.store_lanes = main.store_lanes;
    second.target = main.target.clone();
    second.beside = Some(main.trace().to_vec());
    second
}

/// The kernel before a sum by atomic additions: the output is what the sum starts with.
fn initialised(main: &Schedule) -> Program {
    let iters = main.block.iters_of(Role::Spatial).cloned().collect();
    let block = Block { iters, reduction: None, epilogue: reduction(&main.block).init.clone(), ..main.block.clone() };
    Program { blocks: vec![block], ..main.program.clone() }
}

/// What the blocks share.
fn reduction(block: &Block) -> &Reduction {
    block.reduction.as_ref().expect("rfactor takes a reduction that is bound to the grid")
}

/// Whether the sum starts with what the output holds.
fn adds_to_output(block: &Block) -> bool {
    reduction(block).init == Expr::Load(block.output.clone(), block.output_index.clone())
}
