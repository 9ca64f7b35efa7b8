//! What a micro-kernel costs on a GPU, before anything was measured.
//!
//! f_MK is a roofline: in a block's loops (see [`Work`]) arithmetic, instructions, shared memory and global memory are counted,
//! and the slowest of them decides how long a multiprocessor is busy with the block. f_adapt follows from the grid: each multiprocessor is
//! given its share of the blocks (waves), of which it holds as many at a time as registers and shared memory allow; padding is in
//! the blocks, which compute whole tiles. What a block cannot hide of its own latencies, other resident blocks do:
//!
//! ```text
//! clocks = max(waves · throughput(block), ⌈waves / resident⌉ · path(block))
//! throughput = max(arithmetic, issue, shared, global)      path = copies and computation one after the other, unless they overlap
//! ```
//!
//! and no kernel is faster than the device's memory delivers its tensors once. The numbers rank micro-kernels; measurements
//! replace them.
mod launch_report;
mod machine;
mod share;
mod work;

use std::ops::Mul;

use dietcode_syntax::{Affine, KernelDef, Param};
use serde::Serialize;

pub use self::launch_report::LaunchReport;
pub use self::work::{Counts, Work};
use super::{Adaptation, count};
use crate::codegen::cuda::CudaLaunch;
use crate::ir::{DType, Expr, ForKind};
use crate::lower::LoopNest;
use crate::machine::cuda::{DeviceLimits, KernelReport, Resources, blocks_per_sm};
use crate::schedule::Schedule;
use crate::sketch::Lowered;
use machine::{
    BARRIER, GLOBAL, HALF_PRODUCTS, ISSUE, LATENCY, LAUNCH, Machine, SCHEDULERS, SHARED, TF32_PRODUCTS, VECTOR,
};

/// Registers of addresses, operands and counters beside a thread's arrays, where there is no compile report.
const OTHER_REGISTERS: u32 = 40;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile {
    kernels: Vec<Kernel>,
    /// Which of them computes the tiles, and how.
    main: usize,
    schedule: Schedule,
}

/// One launch.
#[derive(Clone, Debug)]
struct Kernel {
    work: Work,
    threads: u32,
    shared_bytes: u32,
    /// Blocks that cover the output.
    blocks: Expr,
    /// How many of them a multiprocessor shall hold.
    min_blocks: u32,
    /// Instructions of its main loop for each that multiplies, where they were counted.
    issued: Option<f64>,
}

/// What is expected of a micro-kernel at a shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// All launches together.
    pub seconds: f64,
    /// Blocks of the grid.
    pub blocks: i64,
    /// Blocks of the most occupied multiprocessor.
    pub waves: i64,
    /// Blocks that a multiprocessor holds at a time.
    pub resident: u32,
    /// Share of the multiprocessors' time that is used.
    pub occupancy: f64,
    /// Computed iterations per iteration asked for.
    pub padding_ratio: f64,
}

impl Profile {
    /// Counts what the kernels of a micro-kernel do.
    pub fn of(lowered: &Lowered) -> Profile {
        let kernel = |(schedule, nest): (&Schedule, &LoopNest)| Kernel {
            work: Work::of(schedule, nest),
            threads: small(nest.threads()),
            shared_bytes: small(nest.scratch_bytes(&nest.parameters)),
            blocks: schedule
                .loops
                .iter()
                .filter(|l| l.kind == ForKind::BlockIdx)
                .map(|l| l.extent.clone())
                .fold(Expr::Int(1), Mul::mul),
            min_blocks: small(nest.min_blocks),
            issued: None,
        };
        let kernels = lowered.schedules.iter().zip(&lowered.nests).map(kernel).collect();
        Profile { kernels, main: lowered.main(), schedule: lowered.schedule().clone() }
    }

    /// Takes in what the main loops consist of on a device, where that was counted, in place of an estimate.
    pub fn count(&mut self, device: &DeviceLimits, reports: (&[CudaLaunch], &[KernelReport])) {
        for (at, kernel) in self.kernels.iter_mut().enumerate() {
            let mix = reported(device, at, reports).and_then(|report| report.main_loop.as_ref());
            kernel.issued =
                mix.filter(|mix| mix.products() > 0).map(|mix| f64::from(mix.total()) / f64::from(mix.products()));
        }
    }

    /// What each launch takes of a device: what the compiler reports of it, by the symbols of the launches, or else an estimate.
    pub fn resources(
        &self,
        device: &DeviceLimits,
        reports: Option<(&[CudaLaunch], &[KernelReport])>,
    ) -> Vec<Resources> {
        let of = |(at, kernel): (usize, &Kernel)| {
            let Kernel { threads, shared_bytes, .. } = *kernel;
            let report = reports.and_then(|reports| reported(device, at, reports));
            let estimate = || Resources { threads, registers: kernel.registers(device), shared_bytes };
            report.map_or_else(estimate, |report| report.resources(threads, shared_bytes))
        };
        self.kernels.iter().enumerate().map(of).collect()
    }

    /// The cost on a device at a shape (the shape variables in declaration order), if the launches take these resources.
    /// A kernel of which no block fits takes forever.
    pub fn predict(&self, def: &KernelDef, device: &DeviceLimits, of: &[Resources], shape: &[i64]) -> Prediction {
        let value = |name: &str| self.schedule.value_at(shape, name).unwrap_or(0) as f64;
        let seconds = self.kernels.iter().zip(of).map(|(kernel, resources)| {
            let (counts, grid) = (kernel.work.at(&value), count(&kernel.blocks, &value));
            let issue = kernel.issue(&counts);
            LAUNCH
                + seconds(
                    device,
                    (&counts, issue, self.schedule.program.computes_in()),
                    grid,
                    resources,
                    self.schedule.pipeline.is_some(),
                )
        });
        let adaptation = Adaptation::of_schedule(&self.schedule, shape, device.multiprocessors as usize);
        Prediction {
            seconds: seconds.sum::<f64>().max(LAUNCH + tensor_bytes(def, shape) / Machine::of(device).memory),
            blocks: adaptation.grid,
            waves: adaptation.waves,
            resident: of.get(self.main).map_or(0, |resources| blocks_per_sm(device, resources).blocks),
            occupancy: adaptation.occupancy,
            padding_ratio: adaptation.padding_ratio,
        }
    }
}

impl Kernel {
    /// Instructions of all threads of a block.
    fn issue(&self, counts: &Counts) -> f64 {
        let matrix = counts.half / HALF_PRODUCTS + counts.tf32 / TF32_PRODUCTS;
        match self.issued {
            None => counts.arithmetic + counts.shared_bytes / VECTOR,
            Some(issued) if matrix > 0.0 => counts.arithmetic + matrix * issued,
            Some(issued) => counts.arithmetic * issued,
        }
    }

    /// An estimate of a thread's registers: a compiler keeps to those with which the blocks fit that shall.
    fn registers(&self, device: &DeviceLimits) -> u32 {
        let wanted = self.work.registers.saturating_add(OTHER_REGISTERS).min(device.registers_per_thread);
        match self.min_blocks {
            1 => wanted,
            blocks => wanted.min(device.registers_per_sm / (blocks * self.threads).max(1)),
        }
    }
}

/// What is reported of a launch.
fn reported<'r>(
    device: &DeviceLimits,
    launch: usize,
    (launches, reports): (&[CudaLaunch], &'r [KernelReport]),
) -> Option<&'r KernelReport> {
    let symbol = &launches.get(launch)?.symbol;
    reports.iter().find(|r| r.capability == device.capability && r.symbol == *symbol)
}

/// One launch, without what it takes to launch it, whose threads execute `issue` instructions in a block, of a nest that computes in a type.
fn seconds(
    device: &DeviceLimits,
    (counts, issue, computes): (&Counts, f64, DType),
    grid: f64,
    resources: &Resources,
    overlapped: bool,
) -> f64 {
    let resident = f64::from(blocks_per_sm(device, resources).blocks);
    if resident == 0.0 {
        return f64::INFINITY;
    }
    let machine = Machine::of(device);
    let fma = if computes == DType::F64 { machine.double } else { machine.fma };
    let arithmetic = counts.arithmetic / fma + counts.half / machine.half + counts.tf32 / machine.tf32;
    let busy = arithmetic.max(issue / ISSUE).max(counts.shared_bytes / SHARED);
    let global = counts.global_bytes / GLOBAL;
    // A block of few warps leaves schedulers idle while it is alone.
    let alone = busy * (SCHEDULERS / f64::from(resources.warps(device)).max(1.0)).max(1.0);
    let meetings = counts.barriers * BARRIER;
    let path = match overlapped {
        true => alone.max(global) + meetings + LATENCY,
        // Two barriers stand around each tile that is waited for.
        false => alone + global + meetings + LATENCY * (counts.barriers / 2.0).max(1.0),
    };
    let waves = (grid / f64::from(device.multiprocessors)).ceil();
    (waves * busy.max(global)).max((waves / resident).ceil() * path) / machine.clock
}

/// The tensors, each once.
fn tensor_bytes(def: &KernelDef, shape: &[i64]) -> f64 {
    let extent = |dim: &Affine| {
        let terms = dim.terms.iter().map(|(name, c)| *c as f64 * def.value_at(shape, name).unwrap_or(0) as f64);
        (dim.constant as f64 + terms.sum::<f64>()).max(0.0)
    };
    let bytes = |param: &Param| param.dims.iter().map(extent).product::<f64>() * param.dtype.bytes() as f64;
    def.params.iter().map(bytes).sum()
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
