//! Measuring on the processor.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dietcode_core::measure::baselines::blas::LIBRARY_NAMES;
use dietcode_core::measure::{Baselines, CpuHarness, Device, Interrupt, Limits, physical_memory};
use dietcode_core::runtime::set::{Entry, Set};
use dietcode_core::{Result, cpu_features};

use super::arguments::Arguments;
use super::bench::Bench;
use super::problem::Problem;
use super::results::{Cpu, Machine};

/// An implementation that is slower than this, in operations per second, counts as one that hangs.
const SLOWEST: f64 = 3e8;

/// What starting, loading and checking may take besides.
const BESIDE: Duration = Duration::from_secs(15);

/// Compiles the reference and looks for a BLAS. `worker` starts this program as a worker.
pub(super) fn open<'a>(
    problem: &'a Problem,
    set: &'static Set,
    worker: Vec<OsString>,
    arguments: &Arguments,
    interrupt: Interrupt,
) -> Result<Bench<'a>> {
    problem.check_memory(physical_memory(), "this machine's memory")?;
    let slowest = Duration::from_secs_f64(problem.instance.flops / SLOWEST);
    let limits = Limits {
        run: arguments.limit.map_or(slowest + BESIDE, Duration::from_secs_f64),
        prepare: slowest + Limits::default().prepare,
        ..Limits::default()
    };
    let mut harness = CpuHarness::open(problem.def.clone(), "native", worker, limits, None)?;
    let blas = harness.find_blas(LIBRARY_NAMES.iter().map(PathBuf::from))?;
    let baselines = Baselines::new(&harness, blas)?.finalists(&problem.def, &problem.instance);
    // The fastest that there is: a BLAS, or else what a Rust program has without one. The nest itself is none.
    let library = baselines.into_iter().skip(1).last();
    harness.heed(interrupt);
    let target = harness.cpu();
    let cores = usize::try_from(target.cores).unwrap_or(1);
    let machine = Machine::Cpu(Cpu {
        cpu: target.model.clone(),
        features: cpu_features::names(features(set).unwrap_or(target.features))
            .into_iter()
            .map(str::to_owned)
            .collect(),
        march: target.march.clone(),
        compiler: target.compiler.clone(),
        cores: target.cores,
        clock_mhz: clock_mhz(),
    });
    let threads = if arguments.threads == 0 { cores } else { arguments.threads };
    Ok(Bench { problem, set, device: Box::new(harness), machine, library, threads })
}

/// The features that the set was compiled for: the same for all of it.
fn features(set: &Set) -> Option<u64> {
    let entries = set.configurations.iter().flat_map(|configuration| configuration.entries);
    entries.filter_map(Entry::cpu_micro_kernel).map(|micro_kernel| micro_kernel.cpu_features).next()
}

/// What the system says of the first core.
fn clock_mhz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}
