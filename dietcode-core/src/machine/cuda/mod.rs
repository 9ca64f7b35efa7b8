//! CUDA devices and the compiler that reaches them.
//!
//! What is known of a device without asking one: its limits and how many blocks fit a multiprocessor. What is known of a
//! kernel after it was compiled: its report. Nothing here needs a GPU or its driver.
mod cache;
mod capability;
mod find;
mod host;
mod limits;
mod nvcc;
mod occupancy;
mod report;

pub use cache::ObjectCache;
pub use capability::ComputeCapability;
#[cfg(feature = "tuner")]
pub(crate) use find::python_folders;
pub use host::HostCompiler;
pub use limits::{DEVICES, DeviceLimits};
pub use nvcc::{Compiled, Nvcc};
pub use occupancy::{Limiter, Occupancy, Resources, blocks_per_sm, bounds};
pub use report::KernelReport;
