//! A user's own rule makes the sketches of a block.
//!
//! It applies to a block for which there is one ([`CustomRules`]); all rules that schedule then leave the block alone.
//!
//! ```text
//! dense     →     what the registered function returns for it, or the trace that a file holds
//! ```
//!
//! Source: `ApplyCustomRule` of MetaSchedule.

use super::{Applied, CustomRules, PartialSketch, Rule, unmet};
use crate::ir::Program;
use crate::machine::Target;
use crate::message::one_line;
use crate::schedule::Trace;
use crate::sketch::apply::unlimited;
use crate::{Error, Result};

/// Why it seldom applies.
const NOT_SET: &str = "no rule of a user's is set for it";

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct ApplyCustomRule<'a>(pub &'a CustomRules);

impl Rule for ApplyCustomRule<'_> {
    fn name(&self) -> &'static str {
        "ApplyCustomRule"
    }

    /// # Errors
    /// No function of that name is registered; the function's own; a sketch that decides what it does not sample, or that does
    /// not replay and lower with all that is open at its least, with the instruction. Each with the rule's place.
    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let name = partial.block(block).name.clone();
        let program = partial.program.clone().inlined();
        let Some(rule) = self.0.of(&name).filter(|_| program.blocks[0].name == name) else { return unmet(NOT_SET) };
        // The names are those of a file, perhaps, and so may be anything.
        let refused = |e: Error| Error::input(one_line(&format!("{rule}: {e}")));
        let Some(sketches) = self.0.sketches(&name, &program, &partial.bounds)? else { return unmet(NOT_SET) };
        if sketches.is_empty() {
            return Err(refused(Error::input("it makes no sketch, expected at least one")));
        }
        let custom = |sketch: &Trace| {
            check(sketch, &program, &partial.bounds.target).map_err(refused)?;
            Ok(PartialSketch {
                instructions: sketch.instructions.to_vec(),
                decisions: sketch.decisions.clone(),
                custom: true,
                ..partial.clone()
            })
        };
        Ok(Applied::Made(sketches.iter().map(custom).collect::<Result<_>>()?))
    }
}

/// Carries a sketch out with the least of everything. Limits are checked by the sampler.
fn check(sketch: &Trace, program: &Program, target: &Target) -> Result<()> {
    if let Some(odd) = sketch.decisions.keys().find(|var| !sketch.variables().any(|own| own == *var)) {
        return Err(Error::input(format!("it decides `{odd}`, which it does not sample")));
    }
    unlimited(program, target, &sketch.least()).map(drop)
}
