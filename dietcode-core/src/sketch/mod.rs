//! Sketches: families of schedules with parameters.
mod apply;
mod blocked;
mod default;
mod tiled;
mod validity;

pub use blocked::{Blocked, Count, Stage, Unit};
pub use tiled::Tiled;
