//! What no rule has tiled gets a grid and threads: elementwise blocks, and sums whose inputs are used once.
//!
//! ```text
//! for i, j                         for i·j_0 bound to the grid
//!   y[i][j] = f(x[i][j])     →       for j_1 in 0..j_thread bound to threads        32 to 1024, a decision
//!                                      y[i][j] = f(x[i][j])
//! ```
//!
//! It applies to every block with a spatial axis that no other rule has tiled. What has none and sums nothing is one thread's, which
//! is no matter of sizes (`postproc/rewrite_unbound_block.rs`).
//!
//! Whether a block goes on to further tiles is a decision, too, and of a sum, whether tiles inside have a body of their own. Neighbouring
//! threads have neighbours of the output. A sum stays in its thread, and is shared by blocks where `AddRFactor` asked for it.
//!
//! Source: `AutoBind` of MetaSchedule.

use dietcode_syntax::Role;

use super::gpu::{self, Blocks, Piece};
use super::{Applied, PartialSketch, Rule, TILED, unmet, variable};
use crate::Result;
use crate::ir::{Block, IterVar, Name};
use crate::schedule::{Instruction, Level};

/// Threads of a block.
const THREADS: [i64; 6] = [32, 64, 128, 256, 512, 1024];

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AutoBind;

impl Rule for AutoBind {
    fn name(&self) -> &'static str {
        "AutoBind"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let own = partial.block(block).clone();
        if partial.is_tiled() {
            return unmet(TILED);
        }
        match gpu::iters(&own).into_iter().rfind(|iter| iter.role == Role::Spatial) {
            Some(contiguous) => Ok(Applied::Made(vec![bound(partial, &own, &contiguous.name)])),
            None => unmet("its output has no axis"),
        }
    }
}

fn bound(mut partial: PartialSketch, block: &Block, contiguous: &Name) -> PartialSketch {
    let shared = partial.shared_sum(block);
    let pieces = |iter: &IterVar| match iter.role {
        Role::Spatial if iter.name == *contiguous => vec![Piece::Drawn(Level::Thread)],
        Role::Reduce if shared.as_ref() == Some(&iter.name) => vec![Piece::Sampled(Level::Split)],
        _ => Vec::new(),
    };
    gpu::number(&mut partial, &variable(contiguous, Level::Thread), &THREADS);
    let splits = gpu::tile(&mut partial, block, pieces);
    let at = |level| splits.at(level);
    let [parts, threads] = [Level::Split, Level::Thread].map(at);
    let (blocks, sums) = (Blocks::of(block, &splits), splits.outermost(Role::Reduce));
    gpu::reorder(&mut partial, [&parts, &blocks.loops, &threads, &sums].into_iter().flatten().cloned().collect());
    let thread = gpu::bind(&mut partial, &parts, &blocks, &threads).expect("the contiguous axis has threads");
    // One predicate of a thread is nothing beside what would decide on it.
    if block.reduction.is_some() {
        gpu::accumulate(&mut partial, block, thread);
        gpu::partition(&mut partial);
    }
    partial.instructions.extend(partial.combine.map(Instruction::Rfactor));
    gpu::persistent(&mut partial);
    partial
}
