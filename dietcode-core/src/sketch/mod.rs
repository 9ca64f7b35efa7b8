//! Sketches: families of schedules with parameters.
mod apply;
mod default;
mod tiled;
mod validity;

pub use tiled::Tiled;
