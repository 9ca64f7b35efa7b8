//! A long sum of few outputs is shared by the threads of a block.
//!
//! It applies to a block that sums, if its inputs are used once, or if its outputs at the smallest workload instance are fewer than
//! a block of modest size on each multiprocessor has threads; and if the sum is as long as two warps. It stands in front of the
//! rules that make tiles, which take what it leaves: the partial sketch without it is kept, unless there is no other loop to share out.
//!
//! ```text
//! for i                         for i_0 bound to the grid, i_1 bound to threads
//!   for k                  →      for k_1 in 0..k_cross bound to threads
//!     y[i] += x[i][k]               for k_0, unrolled i_2: y_tile[i_2] += x[…][k_0·k_cross + k_1]
//! ```
//!
//! Which of them counts fastest, the threads along the sum or those along the output, is what lies contiguous in the inputs.
//!
//! Source: `CrossThreadReduction` of MetaSchedule.

use dietcode_syntax::Role;

use super::gpu::{self, Piece};
use super::multi_level_tiling::uses_again;
use super::{Applied, NO_SUM, PartialSketch, Rule, TILED, unmet};
use crate::Result;
use crate::ir::{Block, ForKind, IterVar, Name};
use crate::schedule::Level;

/// Threads of a block of modest size.
const THREADS: i64 = 256;
/// The shortest sum.
const SHORTEST: i64 = 64;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct CrossThreadReduction;

impl Rule for CrossThreadReduction {
    fn name(&self) -> &'static str {
        "CrossThreadReduction"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let own = partial.block(block).clone();
        let Some(device) = gpu::device(&partial) else { return unmet(gpu::OTHER) };
        if partial.is_tiled() {
            return unmet(TILED);
        }
        if partial.combine.is_some() || partial.stream {
            return unmet("the blocks of the grid share its sum");
        }
        let Some(axis) = partial.longest(&own) else { return unmet(NO_SUM) };
        if own.iters_of(Role::Spatial).next().is_none() {
            return Ok(Applied::Made(vec![tiled(partial, &own, &axis)]));
        }
        let most = partial.most(&axis);
        if most < SHORTEST {
            return unmet(format!("its longest sum, over `{axis}`, has {most} terms, fewer than {SHORTEST}"));
        }
        let (fewest, threads) = (partial.fewest_outputs(&own), i64::from(device.multiprocessors) * THREADS);
        if fewest >= threads && uses_again(&own) {
            return unmet(format!(
                "it reads inputs again, and has {fewest} outputs at the smallest instance, enough for {threads} threads"
            ));
        }
        Ok(Applied::Made(vec![tiled(partial.clone(), &own, &axis), partial]))
    }
}

fn tiled(mut partial: PartialSketch, block: &Block, axis: &Name) -> PartialSketch {
    let pieces = |iter: &IterVar| match iter.role {
        Role::Spatial => vec![Piece::Sampled(Level::Thread), Piece::Sampled(Level::Inner)],
        Role::Reduce if iter.name == *axis => vec![Piece::Sampled(Level::Cross)],
        Role::Reduce => Vec::new(),
    };
    let splits = gpu::tile(&mut partial, block, pieces);
    let at = |level| splits.at(level);
    let [threads, cross, inner] = [Level::Thread, Level::Cross, Level::Inner].map(at);
    let [blocks, sums] = [Role::Spatial, Role::Reduce].map(|role| splits.outermost(role));
    let fastest = if reads_along(block, axis) { [&threads, &cross] } else { [&cross, &threads] };
    let order = [&blocks].into_iter().chain(fastest).chain([&sums, &inner]).flatten().cloned().collect();
    gpu::reorder(&mut partial, order);
    inner.iter().for_each(|name| partial.set_kind(name, ForKind::Unrolled));
    let block_loop = partial.fuse_all(&blocks, "block");
    block_loop.iter().for_each(|name| partial.set_kind(name, ForKind::BlockIdx));
    let thread = partial.fuse_all(&threads, "thread");
    // Bound from the outside in, since a thread stands in nothing but blocks and threads.
    let bound: Vec<Name> = partial.loops.iter().map(|l| l.name.clone()).collect();
    let bound = bound.iter().filter(|name| cross.contains(name) || thread.as_ref() == Some(name));
    bound.for_each(|name| partial.set_kind(name, ForKind::ThreadIdx));
    let innermost = partial.loops.iter().rfind(|l| l.kind == ForKind::ThreadIdx).map(|l| l.name.clone());
    gpu::accumulate(&mut partial, block, innermost.expect("the threads that share the sum"));
    gpu::partition(&mut partial);
    gpu::persistent(&mut partial);
    partial
}

/// Whether an input lies contiguous along an axis.
fn reads_along(block: &Block, axis: &Name) -> bool {
    block.update_reads().iter().any(|(_, index)| index.last().is_some_and(|last| last.uses(axis)))
}
