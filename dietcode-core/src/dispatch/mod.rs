//! From measured micro-kernels to the file of winners and the decision tree in it.
//!
//! Reading the file needs no tuner; making one does: `finals` with `members`, `elsewhere` and `boundary` → `fit` → `held_out` → `verify`, joined in
//! `finalize`, and without measuring in `join`. For GPUs, which a build
//! may be far from, `cuda` chooses without measurements where there is no file.
pub mod cuda;
#[cfg(feature = "tuner")]
mod boundary;
mod default;
#[cfg(feature = "tuner")]
mod elsewhere;
#[cfg(feature = "tuner")]
mod finalize;
#[cfg(feature = "tuner")]
mod finals;
mod fit;
mod gap;
mod grow;
#[cfg(feature = "tuner")]
mod held_out;
#[cfg(feature = "tuner")]
mod join;
mod layout;
#[cfg(feature = "tuner")]
mod members;
mod miss;
#[cfg(feature = "tuner")]
mod outside;
#[cfg(feature = "tuner")]
mod quantities;
mod regret;
mod sampled;
mod select;
mod tree;
mod tuned;
#[cfg(feature = "tuner")]
mod verify;
mod winners;

#[cfg(feature = "tuner")]
pub use finalize::{
    Finalized, Searched, day, default_on_gpu, defaults, finalize, provenance, space_hash, target_name, today,
};
#[cfg(feature = "tuner")]
pub use fit::predicted_tree;
pub use gap::Gap;
pub use grow::{Label, grow, train};
#[cfg(feature = "tuner")]
pub use join::{Joined, Seen, join, labels};
pub use miss::Miss;
pub use regret::{HeldOut, Judgement, Region, Regret, Selected};
#[cfg(feature = "tuner")]
pub use sampled::drawn;
pub use select::{Scores, select};
pub use tree::{Condition, MAX_DEPTH, Split, Tree};
pub use tuned::{Asked, Expected, FORMAT, Instance, Measurement, Provenance, Tuned};
#[cfg(feature = "tuner")]
pub use verify::{DEFAULT, PICK, Verified, verify};
pub use winners::{CPU, Winners};

/// Shapes of a config's range that stand for it, with their workload instances.
type InRange = std::collections::BTreeMap<Vec<i64>, crate::config::WklInst>;
