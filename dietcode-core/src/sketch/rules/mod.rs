//! The rules that sketches are made by: each file is one, says when it applies, and shows before → after.
//!
//! A rule takes a [`PartialSketch`] and one of its blocks, and gives the partial sketches that it makes of it, several where there is a
//! choice of structure, or says which of its conditions does not hold. What is a matter of sizes is no choice here; it is a decision of
//! the sketch, and stays open.
//!
//! Source: `ScheduleRule` and `PostOrderApply` of TVM's MetaSchedule (`src/meta_schedule/space_generator/post_order_apply.cc`).

mod add_rfactor;
mod add_stream_k;
mod apply_custom_rule;
mod auto_bind;
mod auto_inline;
mod cpu;
mod cross_thread_reduction;
mod custom_rules;
mod partial_sketch;
mod gpu;
mod inline_constant_scalars;
mod multi_level_tiling;
mod parallelize_vectorize_unroll;
mod random_compute_location;
mod structure;

pub use add_rfactor::AddRFactor;
pub use add_stream_k::AddStreamK;
pub use apply_custom_rule::ApplyCustomRule;
pub use auto_bind::AutoBind;
pub use auto_inline::AutoInline;
pub use cross_thread_reduction::CrossThreadReduction;
pub use custom_rules::{CustomRule, CustomRules, CustomSketch, Tf32};
pub(in crate::sketch) use gpu::{
    FRAGMENT_SETS, MIN_BLOCKS, PARTITIONED, PERSISTENT, RASTER, RASTER_SIZES, RESIDENT, STREAM_SHARES, STREAM_WAVES,
    WAVES,
};
pub use inline_constant_scalars::InlineConstantScalars;
pub use multi_level_tiling::{MultiLevelTilingCpu, MultiLevelTilingCuda, MultiLevelTilingTensorCore};
pub use parallelize_vectorize_unroll::ParallelizeVectorizeUnroll;
pub use partial_sketch::{PartialSketch, SketchLoop, SketchStage, product, variable};
pub use random_compute_location::RandomComputeLocation;
pub use structure::Structure;

use crate::Result;
use crate::machine::Target;

/// A rule of space generation.
pub trait Rule {
    /// Its name, as `dietcode explain --sketches` prints it: that of MetaSchedule.
    fn name(&self) -> &'static str;

    /// The partial sketches that it makes of one, for one block of it (an index into `partial.program.blocks`), or why it does not apply.
    ///
    /// # Errors
    /// Only what a user got wrong, in a rule of their own.
    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied>;
}

/// What a rule makes of a partial sketch.
#[derive(Clone, Debug, PartialEq)]
pub enum Applied {
    /// These; never none.
    Made(Vec<PartialSketch>),
    /// It does not apply, since this does not hold: a clause in which the block is called *it*.
    Unmet(String),
}

/// A rule's answer where one of its conditions does not hold.
fn unmet(why: impl Into<String>) -> Result<Applied> {
    Ok(Applied::Unmet(why.into()))
}

/// What rules say of loops that another one has made.
const TILED: &str = "its loops are made already";
/// What they say of a block without a sum.
const NO_SUM: &str = "it sums nothing";

/// The rules of a target, in the order in which they are applied. The reductions that threads share stand before the tiles, which
/// are made of what they leave.
pub fn all<'c>(target: &Target, custom: &'c CustomRules) -> Vec<Box<dyn Rule + 'c>> {
    let mut rules: Vec<Box<dyn Rule + 'c>> = vec![
        Box::new(ApplyCustomRule(custom)),
        Box::new(InlineConstantScalars),
        Box::new(AutoInline),
        Box::new(AddRFactor),
    ];
    match target {
        Target::Cpu(_) => {
            rules.push(Box::new(MultiLevelTilingCpu(custom.structure(target))));
            rules.push(Box::new(ParallelizeVectorizeUnroll));
            rules.push(Box::new(RandomComputeLocation));
        }
        Target::Cuda(_) => {
            rules.push(Box::new(AddStreamK));
            rules.push(Box::new(CrossThreadReduction));
            rules.push(Box::new(MultiLevelTilingTensorCore { of_f32: custom.unit_of_f32() }));
            rules.push(Box::new(MultiLevelTilingCuda(custom.structure(target))));
            rules.push(Box::new(AutoBind));
        }
    }
    rules
}
