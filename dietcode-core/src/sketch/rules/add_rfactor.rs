//! A long sum of few outputs is shared by tiles of the grid: blocks of a GPU, tasks of a CPU; split-K.
//!
//! It applies to a block that sums, where at the smallest workload instance the outputs make fewer tiles than the device has
//! multiprocessors, or the CPU cores, and the sum is long enough for two parts. On a GPU, the output has an axis: a sum over everything is
//! shared by the threads of one block. On a CPU, terms behind the end of the sum change nothing if its inputs are padded, since there
//! are as many parts at every shape. Whether it helps is measured: the partial sketch without it is kept.
//!
//! ```text
//! for i, j                      for k_1 in 0..k_split bound to the grid, or parallel
//!   for k                  →      for i, j, k_0: y_parts[k_1][i][j] += x · w       a second kernel adds them in order, or
//!     y[i][j] += x · w            for i, j, k_0: y[i][j] += x · w                  atomic additions, where f32 is stored as it is
//! ```
//!
//! On a GPU, parts are contiguous ranges of the tiles of the sum's steps, or each has every n-th tile: so blocks that share a sum read far apart, or
//! the same lines of memory at the same time. On a CPU, they are the latter.
//!
//! This rule says so; the rule that makes the tiles splits the sum. The number of parts is one of its decisions, so that a result has the
//! same bits on any number of threads.
//!
//! Source: `AddRFactor` of MetaSchedule.

use dietcode_syntax::Role;

use super::{Applied, NO_SUM, PartialSketch, Rule, TILED, unmet};
use crate::Result;
use crate::lower::can_be_padded;
use crate::machine::Target;
use crate::schedule::Combine;

/// What makes a sum one to be shared on a target.
struct Sizes {
    /// Outputs of a modest tile.
    outputs: i64,
    /// Tiles that are carried out at once, and what of the target carries out one.
    units: (i64, &'static str),
    /// The shortest part of a sum that is worth a tile.
    shortest: i64,
}

impl Sizes {
    fn of(target: &Target) -> Sizes {
        match target {
            // 256 threads with 4 each.
            Target::Cuda(device) => {
                Sizes { outputs: 1024, units: (device.multiprocessors.into(), "multiprocessors"), shortest: 64 }
            }
            // A part takes as long as threads take to begin.
            Target::Cpu(target) => Sizes { outputs: 64, units: (target.cores, "cores"), shortest: 1 << 14 },
        }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AddRFactor;

impl Rule for AddRFactor {
    fn name(&self) -> &'static str {
        "AddRFactor"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let (own, target) = (partial.block(block), &partial.bounds.target);
        if partial.is_tiled() {
            return unmet(TILED);
        }
        let Some(axis) = partial.longest(own) else { return unmet(NO_SUM) };
        if target.cuda().is_some() && own.iters_of(Role::Spatial).next().is_none() {
            return unmet("it sums everything, which the threads of one block share");
        }
        let Sizes { outputs, units: (units, what), shortest } = Sizes::of(target);
        let fewest = partial.fewest_outputs(own);
        if fewest / outputs >= units {
            return unmet(format!(
                "it has {fewest} outputs at the smallest instance, and {outputs} for each of {units} {what} are enough"
            ));
        }
        let most = partial.most(&axis);
        if most < 2 * shortest {
            return unmet(format!(
                "its longest sum, over `{axis}`, has {most} terms, and a part has at least {shortest}"
            ));
        }
        if target.cpu().is_some() && !can_be_padded(own, &axis) {
            return unmet(format!("no padding of its inputs leaves the sum over `{axis}` what it is"));
        }
        if partial.program.reads_prepared_along(own, &axis) {
            return unmet(format!(
                "what was laid out before the call ends with the sum over `{axis}`, and parts hang over that"
            ));
        }
        let atomic = (target.cuda().is_some() && own.holds_sum()).then_some(Combine::Atomic);
        let ways = std::iter::once(Combine::Workspace).chain(atomic);
        let ranges: &[bool] = if target.cuda().is_some() { &[false, true] } else { &[false] };
        let shared = ways.flat_map(|combine| ranges.iter().map(move |ranges| (combine, *ranges)));
        let shared =
            shared.map(|(combine, ranges)| PartialSketch { combine: Some(combine), ranges, ..partial.clone() });
        Ok(Applied::Made(std::iter::once(partial.clone()).chain(shared).collect()))
    }
}
