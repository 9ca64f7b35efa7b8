//! Stages get their places; where there are several for one, which is a decision.
//!
//! It applies to all stages that a rule before left without a place, and stands last, since loops are transformed before.
//!
//! ```text
//! w_panel, in k_0, j_2 or k_1     →     w_place = sample_compute_location(k_0, j_2, k_1) = _
//!                                       compute_at(w_panel, w_place)
//! ```
//!
//! Source: `RandomComputeLocation` of MetaSchedule.

use super::{Applied, PartialSketch, Rule, SketchStage, unmet};
use crate::Result;
use crate::ir::Name;
use crate::schedule::{Instruction, Place};

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct RandomComputeLocation;

impl Rule for RandomComputeLocation {
    fn name(&self) -> &'static str {
        "RandomComputeLocation"
    }

    fn apply(&self, mut partial: PartialSketch, _block: usize) -> Result<Applied> {
        if partial.stages.is_empty() {
            return unmet("nothing of it is staged without a place");
        }
        for stage in std::mem::take(&mut partial.stages) {
            place(&mut partial, stage);
        }
        Ok(Applied::Made(vec![partial]))
    }
}

fn place(partial: &mut PartialSketch, stage: SketchStage) {
    let at = match &stage.places[..] {
        [] => Place::Root,
        [only] => Place::Loop(only.clone()),
        _ => {
            let into = Name::from(format!("{}_place", stage.what));
            partial
                .instructions
                .push(Instruction::SampleComputeLocation { into: into.clone(), candidates: stage.places });
            Place::Sampled(into)
        }
    };
    let placed = stage.names.into_iter().map(|stage| Instruction::ComputeAt { stage, at: at.clone() });
    partial.instructions.extend(placed);
}
