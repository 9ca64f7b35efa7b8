//! What the tests of the compiler share: random nests and schedules, instances of them, the oracle's answer, and how a unit is
//! compiled and called on a CPU and on the emulated device.

pub(crate) mod avx512;
pub(crate) mod damaged;
pub(crate) mod expected;
pub(crate) mod instance;
pub(crate) mod library;
pub(crate) mod memory;
pub(crate) mod nests;
pub(crate) mod on_cpu;
pub(crate) mod on_gpu;
pub(crate) mod redrawn;
pub(crate) mod rows;
pub(crate) mod schedules;
pub(crate) mod settings;
pub(crate) mod shapes;
pub(crate) mod shipped;
pub(crate) mod units;
