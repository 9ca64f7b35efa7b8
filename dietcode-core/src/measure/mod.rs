//! Builds candidates and measures them, in a process that may die of it.
//!
//! ```text
//! TranslationUnit ── builder ──► shared library ── runner ══ JSON lines ══► worker ──► Sample or Failure
//!                                                                            ├─ tensors   guarded, poisoned
//!                                                                            ├─ expected  every element checked
//!                                                                            └─ rounds    A B C C B A …
//! ```
//!
//! The [`Runner`] is the only one who starts workers; what a candidate does to its worker becomes a [`Failure`].
pub mod baselines;
mod builder;
mod building;
mod clock;
mod comparison;
mod cores;
pub mod cuda;
mod device;
mod exclusive;
mod failure;
mod harness;
mod inputs;
mod interrupt;
mod linked;
mod loaded_kernel;
mod memory;
pub(crate) mod number;
mod protocol;
mod runner;
mod sample;
mod simulated;
mod turns;
pub mod worker;

pub use crate::instance::Instance;
pub use builder::{Builder, Form, Purpose, Unit};
#[cfg(test)]
pub(crate) use building::one_by_one;
pub use building::{Building, Compile};
pub use clock::Clock;
pub use comparison::{Baselines, Comparison, Finalist, Standing, compare};
pub use cores::{Cores, Reserved};
pub use device::{Code, Device, Machine, Subject};
pub use failure::Failure;
pub use harness::{CpuHarness, fresh_seed};
pub use interrupt::{Interrupt, leave};
pub use linked::{Linked, LinkedName, NothingLinked};
pub use loaded_kernel::LoadedKernel;
pub use memory::physical_memory;
pub use protocol::{Implementation, Job, Measured, Oracle, Timing};
pub use runner::{Limits, Runner};
pub use sample::{Conditions, Nearest, Sample, Summary};
pub use simulated::{Noise, Seconds, SimulatedDevice};
