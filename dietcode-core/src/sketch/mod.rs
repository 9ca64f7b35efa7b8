//! Sketches: families of schedules with parameters.
mod blocked;
mod family;
mod grid;
mod name;
mod tiled;

pub use blocked::{Blocked, Count, Stage, Unit};
pub(crate) use family::SIZES;
pub use family::{Condition, Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
pub use tiled::Tiled;
