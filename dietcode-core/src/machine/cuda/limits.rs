//! What a device of each compute capability can hold.
//!
//! Sources: the tables "Technical Specifications per Compute Capability" and "Shared Memory" of NVIDIA's CUDA C++
//! Programming Guide 13.0; the units of allocation are those of `cuda_occupancy.h` of CUDA 13.0; the multiprocessors of a
//! part are those of its data sheet.

use super::ComputeCapability;
use crate::{Error, Result};

/// The limits of a device. Memory is in bytes, registers are of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Which devices these are.
    pub capability: ComputeCapability,
    /// A widely used part of this capability, the one that estimates are made for where there is no device.
    pub part: &'static str,
    /// The streaming multiprocessors of that part.
    pub multiprocessors: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Threads of one block.
    pub threads_per_block: u32,
    /// Threads resident on a multiprocessor.
    pub threads_per_sm: u32,
    /// Warps resident on a multiprocessor.
    pub warps_per_sm: u32,
    /// Blocks resident on a multiprocessor.
    pub blocks_per_sm: u32,
    /// Registers of one thread.
    pub registers_per_thread: u32,
    /// Registers of one block.
    pub registers_per_block: u32,
    /// Registers of a multiprocessor.
    pub registers_per_sm: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// The schedulers of a multiprocessor, each with its share of registers and warps.
    pub partitions_per_sm: u32,
    /// Shared memory of a block that declares its arrays, and of a launch that asks for no more.
    pub shared_per_block: u32,
    /// Shared memory of a block whose launch opts in to more.
    pub shared_per_block_opt_in: u32,
    /// Shared memory that the system takes of every block.
    pub shared_reserved_per_block: u32,
    /// Shared memory of a multiprocessor with the carve-out at its maximum.
    pub shared_per_sm: u32,
    /// Shared memory is given to a block in multiples of this.
    pub shared_unit: u32,
    /// Blocks of a grid along x, y and z.
    pub grid: [u32; 3],
}

impl DeviceLimits {
    /// The limits of a compute capability.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::ErrorKind::Unavailable) for one that is not in the table; the sentence lists those that are.
    pub fn of(capability: ComputeCapability) -> Result<&'static DeviceLimits> {
        DEVICES.iter().find(|device| device.capability == capability).ok_or_else(|| {
            let known = ComputeCapability::known();
            Error::unavailable(format!("the limits of {capability} are not known: known are {known}"))
        })
    }

    /// Those of a device that may be newer than the table: its own, or else those of the newest that is known and not newer than it.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::ErrorKind::Unavailable) for one that is older than all in the table.
    pub fn nearest(capability: ComputeCapability) -> Result<&'static DeviceLimits> {
        let not_newer = DEVICES.iter().rfind(|device| device.capability <= capability);
        not_newer.map_or_else(|| DeviceLimits::of(capability), Ok)
    }

    /// The [`nearest`](DeviceLimits::nearest) to a device as records name it.
    ///
    /// # Errors
    ///
    /// As there; [`Input`](crate::ErrorKind::Input) for what is no device's name.
    pub fn nearest_to(name: &str) -> Result<&'static DeviceLimits> {
        ComputeCapability::named(name).map_or_else(|| DeviceLimits::of(name.parse()?), DeviceLimits::nearest)
    }

    /// What a person is told where these are the [`nearest`](DeviceLimits::nearest) to a device, and not its own.
    pub fn in_place_of(&self, capability: ComputeCapability) -> Option<String> {
        (capability != self.capability).then(|| {
            format!(
                "{capability} is not among the known devices ({}): code is compiled for it, with limits and model of {}, the nearest \
                 older one; what is tuned on it is a file of its own, which no build reads",
                ComputeCapability::known(),
                self.capability
            )
        })
    }

    /// What a block that uses so many bytes of shared memory is given, with the system's part.
    pub fn shared_allocation(&self, bytes: u64) -> u64 {
        let used = bytes.saturating_add(self.shared_reserved_per_block.into());
        used.checked_next_multiple_of(self.shared_unit.into()).unwrap_or(u64::MAX)
    }
}

/// What all of them have in common, with the limits of the oldest.
const TURING: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 7, minor: 5 },
    part: "T4",
    multiprocessors: 40,
    warp_size: 32,
    threads_per_block: 1024,
    threads_per_sm: 1024,
    warps_per_sm: 32,
    blocks_per_sm: 16,
    registers_per_thread: 255,
    registers_per_block: 64 << 10,
    registers_per_sm: 64 << 10,
    register_unit: 256,
    partitions_per_sm: 4,
    shared_per_block: 48 << 10,
    shared_per_block_opt_in: 64 << 10,
    shared_reserved_per_block: 0,
    shared_per_sm: 64 << 10,
    shared_unit: 256,
    grid: [i32::MAX as u32, 65535, 65535],
};

/// Since then the system keeps a kilobyte of each block's shared memory.
const AMPERE: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 8, minor: 0 },
    part: "A100",
    multiprocessors: 108,
    threads_per_sm: 2048,
    warps_per_sm: 64,
    blocks_per_sm: 32,
    shared_per_block_opt_in: 163 << 10,
    shared_reserved_per_block: 1 << 10,
    shared_per_sm: 164 << 10,
    shared_unit: 128,
    ..TURING
};

const AMPERE_GRAPHICS: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 8, minor: 6 },
    part: "A40",
    multiprocessors: 84,
    threads_per_sm: 1536,
    warps_per_sm: 48,
    blocks_per_sm: 16,
    shared_per_block_opt_in: 99 << 10,
    shared_per_sm: 100 << 10,
    ..AMPERE
};

const ADA: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 8, minor: 9 },
    part: "L40S",
    multiprocessors: 142,
    blocks_per_sm: 24,
    ..AMPERE_GRAPHICS
};

const HOPPER: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 9, minor: 0 },
    part: "H100 SXM",
    multiprocessors: 132,
    shared_per_block_opt_in: 227 << 10,
    shared_per_sm: 228 << 10,
    ..AMPERE
};

const BLACKWELL: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 10, minor: 0 },
    part: "B200",
    multiprocessors: 148,
    ..HOPPER
};

/// The GPU of a system on a chip, whose multiprocessors hold fewer threads.
const THOR: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 11, minor: 0 },
    part: "Jetson T5000",
    multiprocessors: 20,
    threads_per_sm: 1536,
    warps_per_sm: 48,
    blocks_per_sm: 24,
    ..BLACKWELL
};

/// Of another design than that of 10.0: a multiprocessor is as large as that of 8.9.
const BLACKWELL_GRAPHICS: DeviceLimits = DeviceLimits {
    capability: ComputeCapability { major: 12, minor: 0 },
    part: "RTX PRO 6000",
    multiprocessors: 188,
    ..ADA
};

/// All devices that are known, oldest first.
pub const DEVICES: &[DeviceLimits] =
    &[TURING, AMPERE, AMPERE_GRAPHICS, ADA, HOPPER, BLACKWELL, THOR, BLACKWELL_GRAPHICS];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn the_limits_of_a_device_fit_each_other() {
        for device in DEVICES {
            assert_eq!(DeviceLimits::of(device.capability).unwrap(), device);
            assert_eq!(device.threads_per_sm, device.warps_per_sm * device.warp_size);
            assert_eq!(device.shared_per_sm, device.shared_per_block_opt_in + device.shared_reserved_per_block);
            assert!(device.shared_per_block <= device.shared_per_block_opt_in);
            assert_eq!(device.shared_per_sm % device.shared_unit, 0);
        }
    }

    /// "Technical Specifications per Compute Capability".
    #[test]
    fn devices_of_2025_have_what_the_tables_say() {
        let of = |name: &str| DeviceLimits::of(name.parse().unwrap()).unwrap();
        let sizes = |d: &DeviceLimits| {
            let shared = [d.shared_per_sm >> 10, d.shared_per_block_opt_in >> 10, d.shared_per_block >> 10];
            (shared, d.warps_per_sm, d.threads_per_sm, d.blocks_per_sm, d.registers_per_sm, d.registers_per_block)
        };
        assert_eq!(sizes(of("sm_100")), ([228, 227, 48], 64, 2048, 32, 65536, 65536));
        assert_eq!(sizes(of("sm_110")), ([228, 227, 48], 48, 1536, 24, 65536, 65536));
        assert_eq!(sizes(of("sm_120")), ([100, 99, 48], 48, 1536, 24, 65536, 65536));
    }

    #[test]
    fn a_device_that_is_not_known_is_an_error_that_lists_those_that_are() {
        let error = DeviceLimits::of(ComputeCapability { major: 6, minor: 1 }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("sm_61") && error.to_string().contains("sm_75, sm_80"), "{error}");
    }

    #[test]
    fn a_device_newer_than_the_table_has_the_limits_of_the_nearest_older_one() {
        for (major, minor, nearest) in [
            (8, 0, "sm_80"),
            (8, 7, "sm_86"),
            (9, 0, "sm_90"),
            (10, 3, "sm_100"),
            (11, 0, "sm_110"),
            (12, 0, "sm_120"),
            (12, 1, "sm_120"),
        ] {
            let capability = ComputeCapability { major, minor };
            let limits = DeviceLimits::nearest(capability).unwrap();
            assert_eq!(limits.capability.to_string(), nearest);
            assert_eq!(DeviceLimits::nearest_to(&capability.to_string()).unwrap(), limits);
            let told = limits.in_place_of(capability);
            assert_eq!(told.is_none(), capability.to_string() == nearest);
            let names_both = |told: String| told.starts_with(&format!("{capability} is not")) && told.contains(nearest);
            assert!(told.is_none_or(names_both), "{capability}");
        }
        let older = DeviceLimits::nearest(ComputeCapability { major: 6, minor: 1 }).unwrap_err();
        assert!(older.kind() == ErrorKind::Unavailable && older.to_string().contains("sm_61"), "{older}");
    }
}
