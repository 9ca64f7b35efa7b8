//! Where the last wave of blocks would be short, blocks have equal shares of the steps of all tiles instead; Stream-K.
//!
//! It applies to a sum on a GPU whose inputs are read again, so that tiles are large, with steps enough to be shared, and with so few outputs at
//! the smallest workload instance that a wave matters. Whether it helps is measured: the partial sketch without it is kept. How many shares
//! there are, and of how many waves of tiles, are decisions.
//!
//! ```text
//! for t bound to the grid              for s in 0..stream_shares + … bound to the grid
//!   for k_0                              for the tiles of s
//!     y_tile += x · w          →           for its steps of them: y_tile += x · w
//!   y[…] = y_tile                          y[…] = y_tile, or, where other blocks have steps of the tile, y_parts[…] = y_tile
//! ```
//!
//! This rule says so; the rule that makes the tiles carries it out. No rule of MetaSchedule has it.
//!
//! Source: M. Osama et al., "Stream-K" (PPoPP 2023).

use dietcode_syntax::Role;

use super::multi_level_tiling::uses_again;
use super::{Applied, NO_SUM, PartialSketch, Rule, TILED, gpu, unmet};
use crate::Result;

/// Outputs of a large tile.
const OUTPUTS: i64 = 128 * 128;
/// From so many waves of them on, the last one is a small part of all.
const WAVES: i64 = 8;
/// The shortest sum whose steps are worth to be shared.
const SHORTEST: i64 = 128;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AddStreamK;

impl Rule for AddStreamK {
    fn name(&self) -> &'static str {
        "AddStreamK"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let own = partial.block(block);
        let Some(device) = gpu::device(&partial) else { return unmet(gpu::OTHER) };
        if partial.is_tiled() {
            return unmet(TILED);
        }
        let Some(axis) = partial.longest(own) else { return unmet(NO_SUM) };
        if partial.combine.is_some() {
            return unmet("the blocks of the grid share its sum");
        }
        if own.iters_of(Role::Spatial).next().is_none() || !uses_again(own) {
            return unmet("it sums nothing that is read again for another output");
        }
        let (fewest, tiles) = (partial.fewest_outputs(own), WAVES * i64::from(device.multiprocessors));
        if fewest / OUTPUTS >= tiles {
            return unmet(format!(
                "it has {fewest} outputs at the smallest instance, and {WAVES} waves of {OUTPUTS} for each multiprocessor are enough"
            ));
        }
        let most = partial.most(&axis);
        if most < SHORTEST {
            return unmet(format!("its longest sum, over `{axis}`, has {most} terms, fewer than {SHORTEST}"));
        }
        Ok(Applied::Made(vec![partial.clone(), PartialSketch { stream: true, ..partial }]))
    }
}
