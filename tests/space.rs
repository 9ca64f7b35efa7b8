//! The spaces of a CPU: every sketch lowers, of the shipped kernels and of random nests; what they print; a user's own rules.
//! Draws from the spaces of all targets: they lower, compile, and equal the reference. `DIETCODE_SEED` sets where the random
//! numbers start, else the day does; `DIETCODE_ALL=1` takes all draws, else there are a tenth of them.

#[path = "lowering/avx512.rs"]
mod avx512;
#[path = "space/cases.rs"]
mod cases;
#[path = "space/compiled.rs"]
mod compiled;
#[path = "property/damaged.rs"]
mod damaged;
#[path = "space/draws.rs"]
mod draws;
#[path = "property/expected.rs"]
mod expected;
#[path = "property/instance.rs"]
mod instance;
#[path = "property/memory.rs"]
mod memory;
#[path = "property/run.rs"]
mod on_cpu;
#[path = "cuda_property/run.rs"]
mod on_gpu;
#[path = "property/nests.rs"]
mod nests;
#[path = "space/custom.rs"]
mod custom;
#[path = "space/odd.rs"]
mod odd;
#[path = "space/shipped.rs"]
mod shipped;
#[path = "space/sketches.rs"]
mod sketches;
