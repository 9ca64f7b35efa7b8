//! Sketches: families of schedules with parameters.
mod blocked;
mod family;
mod finish;
mod grid;
mod micro_kernel;
#[cfg(feature = "tuner")]
mod mutator;
mod name;
mod nest;
pub mod rules;
mod postproc;
mod reproduction;
#[cfg(feature = "tuner")]
mod sample;
mod space;
mod tiled;
mod traced;

pub use blocked::{Blocked, Count, Stage, Unit};
pub(crate) use family::SIZES;
pub use family::{Condition, Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
pub use micro_kernel::MicroKernel;
pub use postproc::{Limit, verify_limits};
pub use reproduction::{MOST_BYTES, Reproduction};
#[cfg(feature = "tuner")]
pub use sample::Sampler;
pub use space::{Applied, Bounds, Space, drafts};
pub use tiled::Tiled;
pub use traced::Traced;
