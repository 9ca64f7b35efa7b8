//! Operations that are tuned at run time: for shapes that nobody foresaw, and for candidates that no search of this project knows, such as
//! a library's routine.
//!
//! A [`TunableOp`] has candidates, [`Op`]s that compute the same. When a call has a [`Key`] that was not met before, and [`tuning`] is on,
//! all of them are tried on proxies of the call's operands:
//!
//! 1. the default runs, and what it computes is what all others are compared with;
//! 2. each other candidate runs once, and is left out if it refuses, fails, panics or computes something else;
//! 3. a few calls say whether it may win, and one that takes more than 1.5 times as long as the best is left out;
//! 4. the others are timed, as often as the limit allows, by the median of samples of at least 20 µs;
//! 5. the fastest and the default take turns, and only who is faster by more than 2% replaces the default.
//!
//! Later calls of that key run what was chosen. [`KernelOp`] is the operation of a generated kernel, which `dense::tunable()` makes.
//!
//! The roles are those of ONNX Runtime's TunableOp (`onnxruntime/core/framework/tunable.h`: `Op`, `TunableOp`, `FindFastest`,
//! `PreTuning`); the check of results, the turns, and that no lock is taken for a known key are this project's.
mod fastest;
mod kernels;
mod key;
mod known;
mod op;
mod params;
mod tunable_op;
pub mod tuning;

pub use fastest::{Outcome, Report};
pub use kernels::{KernelCall, KernelOp, KernelProxy, Kernels};
pub use key::{Key, MAX_FIELDS};
pub use op::Op;
pub use params::Params;
pub use tunable_op::TunableOp;
