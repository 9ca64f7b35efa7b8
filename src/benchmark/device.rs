//! Measuring on a GPU, or on the emulated one.

use std::ffi::OsString;
use std::time::Duration;

use dietcode_core::Result;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits, Nvcc};
use dietcode_core::measure::cuda::{CudaDevice, CudaHarness};
use dietcode_core::measure::{Baselines, Device, Interrupt, Limits, Runner, fresh_seed};
use dietcode_core::runtime::set::Set;

use super::bench::Bench;
use super::problem::Problem;
use super::results::{Gpu, Machine};

/// The emulator carries out at least so many operations in a second.
const SLOWEST_EMULATED: f64 = 1e6;

/// What starting, loading and checking may take besides, in seconds.
const BESIDE_SECONDS: f64 = 30.0;

/// Opens the device in a worker. `worker` starts this program as a worker for it.
pub(super) fn open<'a>(
    problem: &'a Problem,
    set: &'static Set,
    (device, worker): (CudaDevice, Vec<OsString>),
    limit: Option<f64>,
    interrupt: Interrupt,
) -> Result<Bench<'a>> {
    let emulated = device == CudaDevice::Emulated;
    let beside = if emulated { problem.instance.flops / SLOWEST_EMULATED } else { 0.0 };
    let run = Duration::from_secs_f64(limit.unwrap_or(BESIDE_SECONDS + beside));
    let patience = Limits { run, ..Limits::default() };
    let facts = Runner::new(worker.clone(), patience).describe()?;
    problem.check_memory(facts.memory_bytes, &facts.name)?;
    let (major, minor) = facts.capability;
    let limits = DeviceLimits::nearest(ComputeCapability { major, minor })?;
    let mut harness = CudaHarness::new(problem.def.clone(), limits, None, worker, patience, fresh_seed());
    harness.heed(interrupt);
    let library = Baselines::on_gpu(facts.cublas, false).finalists(&problem.def, &problem.instance).pop();
    let nvcc = Nvcc::find().ok().map(|nvcc| nvcc.version().to_owned());
    let gpu = Gpu { device: facts, nvcc };
    let machine = if emulated { Machine::CudaHost(gpu) } else { Machine::Cuda(gpu) };
    Ok(Bench { problem, set, device: Box::new(harness), machine, library, threads: 0 })
}
