//! Sketches: families of schedules with parameters.
mod blocked;
mod name;
mod tiled;

pub use blocked::{Blocked, Count, Stage, Unit};
pub use tiled::Tiled;
