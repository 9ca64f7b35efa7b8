//! What is elementwise is computed where it is read, or by the block that makes what it reads.
//!
//! It applies to every block without a sum that makes an intermediate, or that alone reads one element by element.
//!
//! ```text
//! f: for i, k: dietcode_sum[i] += x[i][k]
//! f_store: for i: y[i] = max(dietcode_sum[i], 0)     →     f: for i, k: y[i] = max(Σ x[i][k], 0)
//! ```
//!
//! Source: `AutoInline` of MetaSchedule.

use super::{Applied, PartialSketch, Rule, unmet};
use crate::Result;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AutoInline;

impl Rule for AutoInline {
    fn name(&self) -> &'static str {
        "AutoInline"
    }

    fn apply(&self, mut partial: PartialSketch, block: usize) -> Result<Applied> {
        match partial.program.inline_elementwise(block) {
            true => Ok(Applied::Made(vec![partial])),
            false => unmet("it is no elementwise block whose output another one reads, or that reads one other alone"),
        }
    }
}
