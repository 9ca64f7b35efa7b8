//! The spaces of a CPU: every sketch lowers, of the shipped kernels and of random nests; what they print; a user's own rules.

#[path = "property/nests.rs"]
mod nests;
#[path = "space/custom.rs"]
mod custom;
#[path = "space/sketches.rs"]
mod sketches;
