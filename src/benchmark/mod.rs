//! What the programs `tune_nn`, `tune_nt`, `tune_tn`, `tune_tt` and `tune_all` have in common: they try every configuration of
//! the set that was built in, on one product, and say which is best.
//!
//! ```text
//! arguments ──► problem ──► bench (cpu | device) ══ worker: the same program again ══► outcomes ──► table
//!               nest, shape   system BLAS, the dispatcher's choice,    checked, then      │           files, which
//!                             every configuration of the set           timed by turns     └─────────► `dietcode merge` reads
//! ```
//!
//! A configuration that crashes, hangs or is wrong takes its worker with it, is listed with its reason, and the run goes on.
mod arguments;
mod bench;
mod cpu;
mod device;
mod linked;
mod output;
mod problem;
#[cfg(feature = "ops")]
mod products;
mod program;
mod progress;
pub mod results;
mod rounds;
mod table;
mod usage;
mod winner;

pub use problem::{Layout, Product};
#[cfg(feature = "ops")]
pub use products::{NN, NT, TN, TT};
pub use program::{Program, main};
pub use usage::shown;
