//! Sketches: families of schedules with parameters.
mod tiled;
pub use tiled::Tiled;
