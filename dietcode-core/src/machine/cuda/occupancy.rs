//! How many blocks of a kernel are resident on a multiprocessor at once.
//!
//! The arithmetic is that of NVIDIA's `cuda_occupancy.h`: registers are given to warps, in units and within a scheduler's
//! share; shared memory to blocks, in units and with the system's part added.

use super::DeviceLimits;
use crate::named::named;

/// What a block takes of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread, of 32 bits each.
    pub registers: u32,
    /// Shared memory of a block in bytes: what it declares and what its launch adds, for which the launch opts in where it
    /// has to.
    pub shared_bytes: u32,
}

/// How many blocks fit, and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks resident on a multiprocessor; 0: the kernel cannot be launched.
    pub blocks: u32,
    /// What allows no more of them. Of several, the first in the order of [`Limiter`].
    pub limiter: Limiter,
}

named! {
    /// What bounds the number of blocks.
    #[derive(PartialOrd, Ord)]
    pub enum Limiter {
        /// The blocks that a multiprocessor keeps track of.
        Blocks = "blocks",
        /// Its warps, or the threads of a single block.
        Warps = "warps",
        /// Its registers, or those of a single thread or block.
        Registers = "registers",
        /// Its shared memory, or that of a single block.
        SharedMemory = "shared memory",
    }
}

/// How many blocks fit a multiprocessor with its shared-memory carve-out at the maximum.
pub fn blocks_per_sm(device: &DeviceLimits, resources: &Resources) -> Occupancy {
    let bounds = bounds(device, resources).into_iter();
    let (limiter, blocks) = bounds.min_by_key(|(_, blocks)| *blocks).expect("there are four bounds");
    Occupancy { blocks, limiter }
}

/// The number of blocks that each limit alone would allow.
pub fn bounds(device: &DeviceLimits, resources: &Resources) -> [(Limiter, u32); 4] {
    [
        (Limiter::Blocks, device.blocks_per_sm),
        (Limiter::Warps, by_warps(device, resources)),
        (Limiter::Registers, by_registers(device, resources)),
        (Limiter::SharedMemory, by_shared_memory(device, resources)),
    ]
}

impl Resources {
    /// The warps of a block, the last of which may be partly empty.
    pub fn warps(&self, device: &DeviceLimits) -> u32 {
        self.threads.div_ceil(device.warp_size)
    }

    /// The registers that a warp is given.
    pub fn registers_per_warp(&self, device: &DeviceLimits) -> u64 {
        round_up(u64::from(self.registers) * u64::from(device.warp_size), device.register_unit)
    }

    /// The shared memory that a block is given, in bytes, with the system's part.
    pub fn shared_allocation(&self, device: &DeviceLimits) -> u64 {
        device.shared_allocation(self.shared_bytes.into())
    }
}

fn by_warps(device: &DeviceLimits, resources: &Resources) -> u32 {
    if resources.threads == 0 || resources.threads > device.threads_per_block {
        return 0;
    }
    device.warps_per_sm / resources.warps(device)
}

fn by_registers(device: &DeviceLimits, resources: &Resources) -> u32 {
    if resources.registers > device.registers_per_thread {
        return 0;
    }
    let (warps, per_warp) = (u64::from(resources.warps(device)), resources.registers_per_warp(device));
    // A launch counts warps as if they filled all partitions evenly.
    if per_warp * round_up(warps, device.partitions_per_sm) > u64::from(device.registers_per_block) {
        return 0;
    }
    let share = u64::from(device.registers_per_sm / device.partitions_per_sm);
    let resident = share.checked_div(per_warp).map(|warps| warps * u64::from(device.partitions_per_sm));
    bounded(device, resident.and_then(|resident| resident.checked_div(warps)))
}

fn by_shared_memory(device: &DeviceLimits, resources: &Resources) -> u32 {
    if resources.shared_bytes > device.shared_per_block_opt_in {
        return 0;
    }
    bounded(device, u64::from(device.shared_per_sm).checked_div(resources.shared_allocation(device)))
}

/// What takes nothing of a resource is bounded by the number of blocks alone.
fn bounded(device: &DeviceLimits, blocks: Option<u64>) -> u32 {
    blocks.and_then(|blocks| u32::try_from(blocks).ok()).unwrap_or(device.blocks_per_sm)
}

fn round_up(value: u64, unit: u32) -> u64 {
    value.next_multiple_of(u64::from(unit))
}
