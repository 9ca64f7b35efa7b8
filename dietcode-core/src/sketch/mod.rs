//! Sketches: families of schedules with parameters.

mod apply;
mod bounds;
mod cover;
mod dot;
mod finish;
#[cfg_attr(not(feature = "tuner"), expect(dead_code, reason = "only draws ask before anything is lowered"))]
mod footprint;
mod grid;
mod limits;
mod micro_kernel;
#[cfg(feature = "tuner")]
mod mutator;
mod mutators;
mod name;
mod nest;
mod parametric;
mod reads;
pub mod rules;
mod postproc;
mod reproduction;
#[cfg(feature = "tuner")]
mod sample;
mod space;
mod template;

pub use apply::{Lowered, apply};
pub use bounds::{Bounds, MAX_EXTENT};
#[cfg(feature = "tuner")]
pub(crate) use cover::tiles;
pub use cover::{Cover, Remainder};
pub use micro_kernel::{MicroKernel, Origin};
pub use mutators::{Mutator, Mutators};
pub use parametric::{Parametric, Sizes};
#[cfg(feature = "tuner")]
pub(crate) use reads::is_of_batches;
pub use reproduction::{MOST_BYTES, Reproduction};
#[cfg(feature = "tuner")]
pub use sample::Sampler;
pub use space::{Space, WithoutEffect, partial_sketches, rules_without_effect};
pub(crate) use template::SIZES;
pub use template::{
    Absent, Blocked, Condition, FAMILIES, Family, FamilyTable, Kind, Local, Naive, Named, NonLocal,
    NonLocalInterleaved, Parameter, Stage, Tiled, Value, Vectorization,
};

use crate::{Error, Result};

/// An error of all reasons, if there are any.
fn refused(why: &[String]) -> Result<()> {
    if why.is_empty() { Ok(()) } else { Err(Error::input(why.join("; "))) }
}
