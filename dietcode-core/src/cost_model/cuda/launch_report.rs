//! What each launch of a compiled micro-kernel takes of a device, as it stands in records and tuned files.

use serde::{Deserialize, Serialize};

use super::small;
use crate::codegen::cuda::CudaUnit;
use crate::machine::cuda::{DeviceLimits, KernelReport, Mix, blocks_per_sm};

/// One launch, by the compiler's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchReport {
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread, of 32 bits each.
    pub registers: u32,
    /// Bytes that a thread stores and loads for want of registers.
    pub spill_bytes: u32,
    /// Bytes of shared memory of a block, what its launch adds among them.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor holds at once.
    pub blocks_per_sm: u32,
    /// The instructions of the main loop, where the machine code was read and has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_loop: Option<Mix>,
}

impl LaunchReport {
    /// The launches of a unit of which the compiler reported for a device, in their order.
    pub fn of(unit: &CudaUnit, device: &DeviceLimits, reports: &[KernelReport]) -> Vec<LaunchReport> {
        let launches = unit.launches.iter().filter_map(|launch| {
            let mut reports = reports.iter();
            let report = reports.find(|r| r.capability == device.capability && r.symbol == launch.symbol)?;
            let resources = report.resources(small(launch.threads), small(launch.shared_bytes));
            Some(LaunchReport {
                threads: resources.threads,
                registers: report.registers,
                spill_bytes: report.spill_stores.saturating_add(report.spill_loads),
                shared_bytes: resources.shared_bytes,
                blocks_per_sm: blocks_per_sm(device, &resources).blocks,
                main_loop: report.main_loop.clone(),
            })
        });
        launches.collect()
    }
}
