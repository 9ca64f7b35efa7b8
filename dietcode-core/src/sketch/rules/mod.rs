//! The rules that sketches are made by: each file is one, says when it applies, and shows before → after.
//!
//! A rule takes a [`Draft`] and one of its blocks, and gives the drafts that it makes of it: the same one where it does not
//! apply, several where there is a choice of structure. What is a matter of sizes is no choice here; it is a decision of
//! the sketch, and stays open.
//!
//! Source: `ScheduleRule` and `PostOrderApply` of TVM's MetaSchedule (`src/meta_schedule/space_generator/post_order_apply.cc`).

mod add_rfactor;
mod auto_bind;
mod cross_thread_reduction;
mod draft;
mod gpu;
mod multi_level_tiling;

pub use add_rfactor::AddRFactor;
pub use auto_bind::AutoBind;
pub use cross_thread_reduction::CrossThreadReduction;
pub use draft::{Draft, DraftLoop, DraftStage, product, variable};
pub use multi_level_tiling::{MultiLevelTilingCuda, MultiLevelTilingTensorCore};

use crate::Result;

/// A rule of space generation.
pub trait Rule {
    /// Its name, as `dietcode explain --sketches` prints it: that of MetaSchedule.
    fn name(&self) -> &'static str;

    /// The drafts that it makes of one, for one block of it (an index into `draft.program.blocks`). Where the rule does not
    /// apply, the draft as it is; never none.
    ///
    /// # Errors
    /// Only what a user got wrong, in a rule of their own.
    fn apply(&self, draft: Draft, block: usize) -> Result<Vec<Draft>>;
}
