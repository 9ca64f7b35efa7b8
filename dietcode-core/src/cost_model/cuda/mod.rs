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
use crate::codegen::cuda::{CudaLaunch, CudaUnit};
use crate::frontend;
use crate::ir::{Expr, ForKind};
use crate::lower::LoopNest;
use crate::machine::cuda::{DeviceLimits, KernelReport, Resources, blocks_per_sm};
use crate::schedule::Schedule;
use crate::sketch::MicroKernel;
use crate::{Error, Result};
use machine::{BARRIER, GLOBAL, ISSUE, LATENCY, LAUNCH, Machine, SCHEDULERS, SHARED, VECTOR};

/// Registers of addresses, operands and counters beside a thread's arrays, where no compiler was asked.
const OTHER_REGISTERS: u32 = 40;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile {
    kernels: Vec<(Work, CudaLaunch)>,
    /// Which of them computes the tiles, and how.
    main: usize,
    schedule: Schedule,
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
    /// Counts what the kernels of a micro-kernel do; `unit` is its translation unit.
    ///
    /// # Errors
    /// A micro-kernel that is not valid for the nest.
    pub fn of(
        def: &KernelDef,
        micro_kernel: impl Into<MicroKernel>,
        device: &DeviceLimits,
        unit: &CudaUnit,
    ) -> Result<Profile> {
        let micro_kernel = micro_kernel.into();
        let schedules = micro_kernel.schedules_on_gpu(&frontend::program(def), device)?;
        if schedules.len() != unit.launches.len() {
            let name = micro_kernel.name();
            return Err(Error::input(format!("`{}` is not the translation unit of `{name}`", unit.name)));
        }
        Profile::new(&schedules, unit.launches.clone())
    }

    /// The same of kernels for which no translation unit was written: no report of a compiler names them.
    ///
    /// # Errors
    /// Those of [`lower`](crate::lower::lower).
    pub fn of_kernels(schedules: &[Schedule], nests: &[LoopNest]) -> Result<Profile> {
        let launch = |(schedule, nest): (&Schedule, &LoopNest)| {
            let of = |kind: ForKind| schedule.loops.iter().filter(move |l| l.kind == kind);
            CudaLaunch {
                symbol: String::new(),
                threads: of(ForKind::ThreadIdx).filter_map(|l| l.limit).fold(1, i64::saturating_mul),
                shared_bytes: nest.scratch_bytes,
                blocks: of(ForKind::BlockIdx).map(|l| l.extent.clone()).fold(Expr::Int(1), Mul::mul),
                persistent: false,
            }
        };
        Profile::new(schedules, schedules.iter().zip(nests).map(launch).collect())
    }

    fn new(schedules: &[Schedule], launches: Vec<CudaLaunch>) -> Result<Profile> {
        let main = schedules.iter().position(|schedule| schedule.rfactor.is_some()).unwrap_or(0);
        let schedule = schedules.get(main).cloned().ok_or_else(|| Error::input("a micro-kernel without a kernel"))?;
        let works = schedules.iter().map(Work::of).collect::<Result<Vec<Work>>>()?;
        Ok(Profile { kernels: works.into_iter().zip(launches).collect(), main, schedule })
    }

    /// What each launch takes of a device: what the compiler reports of it, or else an estimate.
    pub fn resources(&self, device: &DeviceLimits, reports: Option<&[KernelReport]>) -> Vec<Resources> {
        let of = |(work, launch): &(Work, CudaLaunch)| {
            let (threads, shared) = (small(launch.threads), small(launch.shared_bytes));
            let mut reports = reports.into_iter().flatten();
            let report = reports.find(|r| r.capability == device.capability && r.symbol == launch.symbol);
            let most = device.registers_per_thread;
            let registers = work.registers.saturating_add(OTHER_REGISTERS).min(most);
            let estimate = Resources { threads, registers, shared_bytes: shared };
            report.map_or(estimate, |report| report.resources(threads, shared))
        };
        self.kernels.iter().map(of).collect()
    }

    /// The cost on a device at a shape (the shape variables in declaration order), if the launches take these resources.
    /// A kernel of which no block fits takes forever.
    pub fn predict(&self, def: &KernelDef, device: &DeviceLimits, of: &[Resources], shape: &[i64]) -> Prediction {
        let value = |name: &str| def.value_at(shape, name).unwrap_or(0) as f64;
        let seconds = self.kernels.iter().zip(of).map(|((work, launch), resources)| {
            let (counts, grid) = (work.at(&value), count(&launch.blocks, &value));
            LAUNCH + seconds(device, &counts, grid, resources, self.schedule.pipeline.is_some())
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

/// One launch, without what it takes to launch it.
fn seconds(device: &DeviceLimits, counts: &Counts, grid: f64, resources: &Resources, overlapped: bool) -> f64 {
    let resident = f64::from(blocks_per_sm(device, resources).blocks);
    if resident == 0.0 {
        return f64::INFINITY;
    }
    let machine = Machine::of(device);
    let arithmetic = counts.arithmetic / machine.fma + counts.half / machine.half + counts.tf32 / machine.tf32;
    let issue = (counts.arithmetic + counts.shared_bytes / VECTOR) / ISSUE;
    let busy = arithmetic.max(issue).max(counts.shared_bytes / SHARED);
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
