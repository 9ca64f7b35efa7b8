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

use std::sync::Arc;

use dietcode_syntax::Role;

use super::{nest, postproc};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, IterVar, Program, Reduction};
use crate::lower;
use crate::schedule::{Combine, Schedule};

/// The kernels of a schedule in the order of their launches, and which of them is the main one. Most are one; each has its
/// program.
///
/// # Errors
/// A second kernel whose nest has no loop that threads could share.
pub(super) fn launches(main: Schedule) -> Result<(Vec<Schedule>, usize)> {
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
