//! From measured micro-kernels to the file of winners and the decision tree in it.
mod miss;
mod tree;
mod tuned;

pub use miss::Miss;
pub use tree::{Condition, MAX_DEPTH, Split, Tree};
pub use tuned::{Expected, FORMAT, Instance, Measurement, Named, Provenance, Schedule, Tuned};
