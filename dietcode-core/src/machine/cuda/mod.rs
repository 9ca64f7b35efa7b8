//! CUDA devices and the compiler that reaches them.
//!
//! What is known of a device without asking one: its limits and how many blocks fit a multiprocessor. What is known of a
//! kernel after it was compiled: its report, and what its main loop is made of. Nothing here needs a GPU or its driver.
mod cache;
mod capability;
mod find;
mod host;
mod limits;
mod nvcc;
mod nvdisasm;
mod occupancy;
mod report;
mod sass;

pub use cache::ObjectCache;
pub use capability::ComputeCapability;
#[cfg(feature = "tuner")]
pub(crate) use find::python_folders;
pub use host::HostCompiler;
pub use limits::{DEVICES, DeviceLimits};
pub use nvcc::{Compiled, Nvcc};
pub use nvdisasm::Nvdisasm;
pub use occupancy::{Limiter, Occupancy, Resources, blocks_per_sm, bounds};
pub use report::KernelReport;
pub use sass::{Class, KernelSass, Mix, Pipe, Pipes};
