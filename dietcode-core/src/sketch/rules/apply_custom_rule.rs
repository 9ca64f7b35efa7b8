//! A user's own rule makes the sketches of a block.
//!
//! It applies to a block for which there is one ([`CustomRules`]); all rules that schedule then leave the block alone.
//!
//! ```text
//! dense     →     what the registered function returns for it, or the trace that a file holds
//! ```
//!
//! Source: `ApplyCustomRule` of MetaSchedule.

use super::{CustomRules, Draft, Rule};
use crate::schedule::Trace;
use crate::{Error, Result};

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct ApplyCustomRule<'a>(pub &'a CustomRules);

impl Rule for ApplyCustomRule<'_> {
    fn name(&self) -> &'static str {
        "ApplyCustomRule"
    }

    /// # Errors
    /// No function of that name is registered; the function's own; a sketch that does not replay with all that is open at its
    /// least, with the instruction.
    fn apply(&self, draft: Draft, block: usize) -> Result<Vec<Draft>> {
        let name = draft.block(block).name.clone();
        let program = draft.program.clone().inlined();
        let Some(own) = program.blocks.iter().find(|block| block.name == name) else { return Ok(vec![draft]) };
        let Some(sketches) = self.0.sketches(&name, &program, &draft.bounds)? else { return Ok(vec![draft]) };
        if sketches.is_empty() {
            return Err(Error::input(format!("the rule for block `{name}` makes no sketch; expected at least one")));
        }
        let custom = |sketch: &Trace| {
            let refused = |e| Error::input(format!("the rule for block `{name}`: {e}"));
            if let Some(odd) = sketch.decisions.keys().find(|var| !sketch.variables().any(|own| own == *var)) {
                return Err(refused(Error::input(format!("it decides `{odd}`, which it does not sample"))));
            }
            sketch.least().replay(&program, own).map_err(refused)?;
            Ok(Draft {
                instructions: sketch.instructions.to_vec(),
                decisions: sketch.decisions.clone(),
                custom: true,
                ..draft.clone()
            })
        };
        sketches.iter().map(custom).collect()
    }
}
