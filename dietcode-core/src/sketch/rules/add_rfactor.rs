//! A long sum of few outputs is shared by blocks of the grid: split-K.
//!
//! It applies to a block that sums and whose output has an axis, where at the smallest workload instance the outputs make fewer
//! blocks than the device has multiprocessors, and the sum is long enough for two blocks. Whether it helps is measured: the partial sketch
//! without it is kept.
//!
//! ```text
//! for i, j                      for k_1 in 0..k_split bound to the grid
//!   for k                  →      for i, j, k_0: y_parts[k_1][i][j] += x · w       a second kernel adds them in order, or
//!     y[i][j] += x · w            for i, j, k_0: y[i][j] += x · w                  atomic additions, where f32 is stored as it is
//! ```
//!
//! This rule says so; the rule that makes the tiles splits the sum.
//!
//! Source: `AddRFactor` of MetaSchedule.

use dietcode_syntax::Role;

use super::{PartialSketch, Rule, gpu};
use crate::Result;
use crate::ir::Block;
use crate::schedule::Combine;

/// Outputs of a modest block: 256 threads with 4 each.
const OUTPUTS: i64 = 1024;
/// The shortest part of a sum that is worth a block.
const SHORTEST: i64 = 64;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AddRFactor;

impl Rule for AddRFactor {
    fn name(&self) -> &'static str {
        "AddRFactor"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Vec<PartialSketch>> {
        let own = partial.block(block);
        let Some(device) = gpu::device(&partial).filter(|_| !partial.is_tiled() && sums_along(own)) else {
            return Ok(vec![partial]);
        };
        let fills = gpu::fewest_outputs(&partial, own) / OUTPUTS >= i64::from(device.multiprocessors);
        let long = gpu::longest(&partial, own).is_some_and(|axis| gpu::most(&partial, &axis) >= 2 * SHORTEST);
        if fills || !long {
            return Ok(vec![partial]);
        }
        let ways = std::iter::once(Combine::Workspace).chain(own.holds_sum().then_some(Combine::Atomic));
        let shared = ways.map(|combine| PartialSketch { combine: Some(combine), ..partial.clone() });
        Ok(std::iter::once(partial.clone()).chain(shared).collect())
    }
}

/// Whether it sums, for more than one element: a sum over everything is shared by the threads of one block.
fn sums_along(block: &Block) -> bool {
    block.reduction.is_some() && block.iters_of(Role::Spatial).next().is_some()
}
