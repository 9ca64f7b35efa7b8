//! Sketches: families of schedules with parameters.
mod apply;
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

pub use apply::{Lowered, apply};
pub use blocked::{Blocked, Count, Stage, Unit};
pub(crate) use family::SIZES;
pub use family::{Condition, Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
pub use micro_kernel::{MicroKernel, Origin};
pub use postproc::Limit;
pub use reproduction::{MOST_BYTES, Reproduction};
#[cfg(feature = "tuner")]
pub use sample::Sampler;
pub use space::{Bounds, Space, partial_sketches};
pub use tiled::Tiled;

use crate::{Error, Result};

/// Refuses what sentences speak against.
fn refused(why: &[String]) -> Result<()> {
    if why.is_empty() { Ok(()) } else { Err(Error::input(why.join("; "))) }
}
