//! The spaces of a CPU: every sketch lowers, of the shipped kernels and of random nests; what they print; a user's own rules.
//! Draws from the spaces of all targets: they lower, compile, and equal the reference. `DIETCODE_SEED` sets where the random
//! numbers start, else the day does; `DIETCODE_ALL=1` takes all draws, else there are a twentieth to a tenth of them.

pub(crate) mod cases;
mod compiled;
mod draws;
mod custom;
mod lanes;
mod odd;
mod parts;
mod sketches;
mod structures;
