//! What a device can hold, as it says itself.

/// The limits of a device that a launch may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Blocks of a grid (along x; generated kernels use no other direction).
    pub max_blocks: u32,
    /// Threads of a block.
    pub max_threads: u32,
    /// Bytes of shared memory of a block, static and dynamic together, with the opt-in to more than 48 KiB.
    pub max_shared_bytes: u32,
    /// Bytes of device memory.
    pub memory_bytes: u64,
}
