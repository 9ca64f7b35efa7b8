//! A value that is the same everywhere is computed where it is read.
//!
//! It applies to a block without iteration variables whose output is no parameter: what a sum starts with, if it is a constant or
//! a scalar.
//!
//! ```text
//! f_start: dietcode_start = 0.0
//! f: for i, k: dietcode_sum[i] += x[i][k], from dietcode_start     →     f: for i, k: dietcode_sum[i] += x[i][k], from 0.0
//! ```
//!
//! Source: `InlineConstantScalars` of MetaSchedule.

use super::{Applied, PartialSketch, Rule, unmet};
use crate::Result;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct InlineConstantScalars;

impl Rule for InlineConstantScalars {
    fn name(&self) -> &'static str {
        "InlineConstantScalars"
    }

    fn apply(&self, mut partial: PartialSketch, block: usize) -> Result<Applied> {
        match partial.program.inline_constant_scalar(block) {
            true => Ok(Applied::Made(vec![partial])),
            false => unmet("it makes no value that is the same everywhere"),
        }
    }
}
