//! What a micro-kernel costs on a GPU, before anything was measured.
//!
//! f_MK is a roofline: in a block's loops (see [`Work`]) arithmetic, instructions, wavefronts of shared memory and global memory are counted, and
//! where the machine code was read, what its main loop asks of each pipe (see [`Pipes`]). The slowest decides how long a multiprocessor
//! is busy with the block. f_adapt follows from the grid: each multiprocessor is
//! given its share of the blocks (waves), of which it holds as many at a time as registers and shared memory allow; padding is in
//! the blocks, which compute whole tiles. What a block cannot hide of its own latencies, other resident blocks do:
//!
//! ```text
//! clocks = max(waves · throughput(block), ⌈waves / resident⌉ · path(block))
//! throughput = the most of [`Clocks`]      path = copies and computation one after the other, unless they overlap; then what is stored
//! ```
//!
//! and no kernel is faster than the device's memory delivers its tensors once. What instructions wait for each other is not in it, nor
//! clocks that a device lowers for want of power: the figure is what a kernel can reach. The numbers rank micro-kernels; measurements
//! replace them.
mod clocks;
mod launch_report;
mod machine;
mod share;
mod wavefronts;
mod work;

use std::ops::Mul;

use dietcode_syntax::{Affine, KernelDef, Param};
use serde::Serialize;

pub use self::clocks::{Clocks, Limit};
pub use self::launch_report::LaunchReport;
pub use self::work::{Counts, Work};
use super::{Adaptation, count};
use crate::codegen::cuda::CudaLaunch;
use crate::ir::{DType, Expr, ForKind};
use crate::lower::LoopNest;
use crate::machine::cuda::{DeviceLimits, KernelReport, Pipe, Pipes, Resources, blocks_per_sm};
use crate::schedule::Schedule;
use crate::sketch::{Lowered, Remainder};
use machine::{BARRIER, ISSUE, LATENCY, LAUNCH, Machine, SCHEDULERS, WARP};

/// Registers of addresses, operands and counters beside a thread's arrays, where there is no compile report.
const OTHER_REGISTERS: u32 = 40;

/// A micro-kernel as the model sees it.
#[derive(Clone, Debug)]
pub struct Profile {
    kernels: Vec<Kernel>,
    /// Which of them computes the tiles, and how.
    main: usize,
    schedule: Schedule,
    /// What covers the rest; its launches come after the others.
    rest: Option<Box<(Remainder, Profile)>>,
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
    main_loop: Option<MainLoop>,
}

/// A main loop, where the machine code was read.
#[derive(Clone, Debug)]
struct MainLoop {
    /// The instructions of an iteration that multiply.
    products: u32,
    /// What an iteration asks of the pipes, for a warp.
    pipes: Pipes,
}

/// A launch that computes tiles.
#[derive(Clone, Debug)]
pub struct Computing<'p> {
    /// Its place among all launches.
    pub launch: usize,
    /// That of the first launch of the part.
    pub first: usize,
    /// The micro-kernel, or the part of a cover that it is of, which has no other part at this shape.
    pub profile: &'p Profile,
    /// What it computes.
    pub shape: Vec<i64>,
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
    /// What the launch that computes the tiles is bound by.
    pub limit: Limit,
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
            main_loop: None,
        };
        let kernels = lowered.schedules.iter().zip(&lowered.nests).map(kernel).collect();
        let rest = lowered.cover.as_ref().map(|cover| Box::new((Remainder::clone(cover), Profile::of(&cover.rest))));
        Profile { kernels, main: lowered.main(), schedule: lowered.schedule().clone(), rest }
    }

    /// Which of its launches computes the tiles; of a cover, those of the main part.
    pub fn main(&self) -> usize {
        self.main
    }

    /// The launches that compute tiles at a shape, each with what it is a part of and the shape of that: one, or those of the two parts of a
    /// cover, but for a part that has nothing to compute.
    pub fn parts(&self, shape: &[i64]) -> Vec<Computing<'_>> {
        let Some((cover, rest)) = self.rest.as_deref() else {
            return vec![Computing { launch: self.main, first: 0, profile: self, shape: shape.to_vec() }];
        };
        let behind = self.kernels.len();
        let [main, remainder] = cover.parts(shape);
        let main = main.map(|shape| Computing { launch: self.main, first: 0, profile: self, shape });
        let of_rest = |shape| Computing { launch: behind + rest.main, first: behind, profile: rest, shape };
        main.into_iter().chain(remainder.map(of_rest)).collect()
    }

    /// Takes in what the main loops ask of a device's pipes, where that was counted, in place of an estimate.
    pub fn count(&mut self, device: &DeviceLimits, reports: (&[CudaLaunch], &[KernelReport])) {
        for (at, kernel) in self.kernels.iter_mut().enumerate() {
            let main_loop = |report: &KernelReport| {
                let products = report.main_loop.as_ref()?.products();
                Some(MainLoop { products, pipes: report.pipes.clone()? })
            };
            kernel.main_loop = reported(device, at, reports).and_then(main_loop);
        }
        if let Some(rest) = &mut self.rest {
            rest.1.count(device, behind(self.kernels.len(), reports));
        }
    }

    /// How long an iteration of the main loop of the launch that computes the tiles keeps a multiprocessor's parts busy at a shape, for all
    /// warps of a block; none where the machine code was not read.
    pub fn iteration(&self, device: &DeviceLimits, shape: &[i64]) -> Option<Clocks> {
        let kernel = &self.kernels[self.main];
        let counts = kernel.work.at(&|name| self.schedule.value_at(shape, name).unwrap_or(0) as f64);
        let (iterations, _) = kernel.iterations(&counts)?;
        let warps = (f64::from(kernel.threads) / WARP).ceil();
        let clocks = kernel.clocks(&Machine::of(device), &counts, self.schedule.program.computes_in());
        Some(clocks.times(warps / iterations))
    }

    /// Operations that a device's units complete in a second which carry out this micro-kernel's products, a multiply-add being two.
    pub fn peak(&self, device: &DeviceLimits) -> f64 {
        let machine = Machine::of(device);
        let multiply_adds = match self.kernels[self.main].work.matrix_pipe() {
            Some(pipe) => machine.of_warps(pipe),
            None => machine.of_threads(self.schedule.program.computes_in()),
        };
        2.0 * multiply_adds * f64::from(device.multiprocessors) * machine.clock
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
        let own = self.kernels.iter().enumerate().map(of);
        let of_rest = |(_, rest): &(Remainder, Profile)| {
            rest.resources(device, reports.map(|reports| behind(self.kernels.len(), reports)))
        };
        own.chain(self.rest.iter().flat_map(|rest| of_rest(rest))).collect()
    }

    /// The cost on a device at a shape (the shape variables in declaration order), if the launches take these resources.
    /// A kernel of which no block fits takes forever. The parts of a cover are carried out one after the other.
    pub fn predict(&self, def: &KernelDef, device: &DeviceLimits, of: &[Resources], shape: &[i64]) -> Prediction {
        let Some((cover, rest)) = self.rest.as_deref() else { return self.predict_part(def, device, of, shape) };
        let (own, others) = of.split_at(self.kernels.len().min(of.len()));
        match cover.parts(shape) {
            [Some(main), Some(remainder)] => {
                let main = self.predict_part(def, device, own, &main);
                let rest = rest.predict_part(def, device, others, &remainder);
                let units = device.multiprocessors as usize;
                let fit = Adaptation::of_parts(&self.schedule, Some(cover), shape, units);
                Prediction {
                    seconds: main.seconds + rest.seconds,
                    blocks: main.blocks + rest.blocks,
                    waves: main.waves + rest.waves,
                    occupancy: fit.occupancy,
                    padding_ratio: fit.padding_ratio,
                    // What bounds it is what bounds the part that takes longer.
                    ..if rest.seconds > main.seconds { rest } else { main }
                }
            }
            [None, Some(remainder)] => rest.predict_part(def, device, others, &remainder),
            _ => self.predict_part(def, device, own, shape),
        }
    }

    fn predict_part(&self, def: &KernelDef, device: &DeviceLimits, of: &[Resources], shape: &[i64]) -> Prediction {
        let value = |name: &str| self.schedule.value_at(shape, name).unwrap_or(0) as f64;
        let machine = Machine::of(device);
        let launch = |(kernel, resources): (&Kernel, &Resources)| {
            let (counts, grid) = (kernel.work.at(&value), count(&kernel.blocks, &value));
            let clocks = kernel.clocks(&machine, &counts, self.schedule.program.computes_in());
            let (busy, limit) = busy(device, (&counts, &clocks), grid, resources, self.schedule.pipeline.is_some());
            (LAUNCH + busy / machine.clock, limit)
        };
        let launches: Vec<(f64, Limit)> = self.kernels.iter().zip(of).map(launch).collect();
        let seconds: f64 = launches.iter().map(|(seconds, _)| seconds).sum();
        let of_memory = LAUNCH + tensor_bytes(def, shape) / machine.memory;
        let adaptation = Adaptation::of_schedule(&self.schedule, shape, device.multiprocessors as usize);
        Prediction {
            seconds: seconds.max(of_memory),
            blocks: adaptation.grid,
            waves: adaptation.waves,
            resident: of.get(self.main).map_or(0, |resources| blocks_per_sm(device, resources).blocks),
            occupancy: adaptation.occupancy,
            padding_ratio: adaptation.padding_ratio,
            limit: if of_memory > seconds { Limit::Memory } else { launches[self.main].1 },
        }
    }
}

impl Kernel {
    /// How long a block keeps a multiprocessor's parts busy: by what its main loop asks for, or else by what its loops do.
    fn clocks(&self, machine: &Machine, counts: &Counts, computes: DType) -> Clocks {
        let second_level = (Limit::SecondLevel, counts.global_bytes / machine.second_level);
        if let Some((iterations, pipes)) = self.iterations(counts) {
            let pipe = |(pipe, asked): (&Pipe, &u32)| {
                (Limit::Pipe(*pipe), iterations * f64::from(*asked) / machine.of_warps(*pipe))
            };
            return pipes.0.iter().map(pipe).chain([second_level]).collect();
        }
        let pipe = if computes == DType::F64 { Pipe::Double } else { Pipe::Fma };
        let issue = counts.arithmetic / ISSUE + counts.requests / machine.of_warps(Pipe::Issue);
        let wavefronts = counts.loaded_wavefronts + counts.stored_wavefronts;
        let pipes = [
            (pipe, counts.arithmetic / machine.of_threads(computes)),
            (Pipe::MatrixHalf, counts.half / machine.half),
            (Pipe::MatrixTf32, counts.tf32 / machine.tf32),
            (Pipe::Issue, issue),
            (Pipe::Shared, wavefronts / machine.of_warps(Pipe::Shared)),
        ];
        pipes.map(|(pipe, clocks)| (Limit::Pipe(pipe), clocks)).into_iter().chain([second_level]).collect()
    }

    /// How often warps of a block carry out an iteration of its main loop, as often as there are products for, and what it asks of the pipes;
    /// none where the machine code was not read, or has the products elsewhere.
    fn iterations(&self, counts: &Counts) -> Option<(f64, &Pipes)> {
        let MainLoop { products, pipes } = self.main_loop.as_ref()?;
        let (of_block, of_iteration) = match self.work.matrix_pipe() {
            Some(pipe) => (counts.half + counts.tf32, f64::from(pipes.of(pipe))),
            None => (counts.arithmetic, WARP * f64::from(*products)),
        };
        (of_block > 0.0 && of_iteration > 0.0).then(|| (of_block / of_iteration, pipes))
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

/// What is reported of all launches but for the first ones.
fn behind<'r>(
    first: usize,
    (launches, reports): (&'r [CudaLaunch], &'r [KernelReport]),
) -> (&'r [CudaLaunch], &'r [KernelReport]) {
    (launches.get(first..).unwrap_or_default(), reports)
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

/// The clocks of one launch, without what it takes to launch it, whose blocks do so much and keep a multiprocessor's parts busy for so long;
/// and what bounds it.
fn busy(
    device: &DeviceLimits,
    (counts, clocks): (&Counts, &Clocks),
    grid: f64,
    resources: &Resources,
    overlapped: bool,
) -> (f64, Limit) {
    let resident = f64::from(blocks_per_sm(device, resources).blocks);
    if resident == 0.0 {
        return (f64::INFINITY, Limit::Latency);
    }
    let bytes = Machine::of(device).second_level;
    let [loaded, stored] = [counts.global_bytes - counts.stored_bytes, counts.stored_bytes].map(|of| of / bytes);
    let (limit, throughput) = clocks.most();
    let pipes = clocks.0.iter().filter(|(limit, _)| **limit != Limit::SecondLevel).map(|(_, clocks)| *clocks);
    // A block of few warps leaves schedulers idle while it is alone.
    let alone = pipes.fold(0.0, f64::max) * (SCHEDULERS / f64::from(resources.warps(device)).max(1.0)).max(1.0);
    let meetings = counts.barriers * BARRIER;
    let path = match overlapped {
        true => alone.max(loaded) + stored + meetings + LATENCY * counts.fills.max(1.0),
        // Two barriers stand around each tile that is waited for.
        false => alone + loaded + stored + meetings + LATENCY * (counts.barriers / 2.0).max(1.0),
    };
    let waves = (grid / f64::from(device.multiprocessors)).ceil();
    let all = (waves * throughput).max((waves / resident).ceil() * path);
    (all, if waves * throughput < 0.5 * all { Limit::Latency } else { limit })
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
