//! Measuring on the processor.

use std::ffi::{CStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use dietcode_core::measure::baselines::blas::LIBRARY_NAMES;
use dietcode_core::measure::{
    Baselines, Contestant as Baseline, CpuHarness, Disturbance, Failure, Implementation, Interrupt, Limits, Sample,
    Timing, physical_memory,
};
use dietcode_core::reference::Arithmetic;
use dietcode_core::runtime::set::{Entry, Set};
use dietcode_core::sketch::Family;
use dietcode_core::{Result, cpu_features};

use super::arguments::Arguments;
use super::bench::{Bench, Contestant, Repeats, reason};
use super::problem::Problem;
use super::results::{Cpu, Machine};

/// The processor with a product.
pub(super) struct CpuBench<'a> {
    problem: &'a Problem,
    lab: CpuHarness,
    library: Option<Baseline>,
    threads: usize,
    /// Those that the set's code uses.
    features: u64,
    /// Of all measurements.
    rounds: Disturbance,
}

/// Whoever computes more slowly than this is taken to hang, in operations per second.
const SLOWEST: f64 = 3e8;

/// What starting, loading and checking may take besides.
const BESIDE: Duration = Duration::from_secs(15);

impl<'a> CpuBench<'a> {
    /// Compiles the reference and looks for a BLAS. `worker` starts this program as a worker.
    pub(super) fn open(
        problem: &'a Problem,
        set: &'static Set,
        worker: Vec<OsString>,
        arguments: &Arguments,
        interrupt: Interrupt,
    ) -> Result<CpuBench<'a>> {
        problem.check_memory(physical_memory(), "this machine's memory")?;
        let slowest = Duration::from_secs_f64(problem.instance.flops / SLOWEST);
        let limits = Limits {
            run: arguments.limit.map_or(slowest + BESIDE, Duration::from_secs_f64),
            prepare: slowest + Limits::default().prepare,
            ..Limits::default()
        };
        let mut lab = CpuHarness::open(problem.def.clone(), "native", worker, limits, None)?;
        let blas = lab.find_blas(LIBRARY_NAMES.iter().map(PathBuf::from))?;
        let baselines = Baselines::new(&lab, blas)?.contestants(&lab, &problem.instance);
        // The fastest that there is: a BLAS, or else what a Rust program has without one. The nest itself is none.
        let library = baselines.into_iter().skip(1).last();
        lab.heed(interrupt);
        let cores = usize::try_from(lab.target().cores).unwrap_or(1);
        let threads = if arguments.threads == 0 { cores } else { arguments.threads };
        let features = features(set).unwrap_or(lab.target().features);
        Ok(CpuBench { problem, lab, library, threads, features, rounds: Disturbance::default() })
    }

    /// On how many threads.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }
}

impl Bench for CpuBench<'_> {
    fn machine(&self) -> Machine {
        let target = self.lab.target();
        Machine::Cpu(Cpu {
            cpu: target.model.clone(),
            features: cpu_features::names(self.features).into_iter().map(str::to_owned).collect(),
            march: target.march.clone(),
            compiler: target.compiler.clone(),
            cores: target.cores,
            clock_mhz: clock_mhz(),
        })
    }

    fn library(&self) -> Option<String> {
        self.library.as_ref().map(|library| library.name.clone())
    }

    fn picked(&self) -> Result<String> {
        let micro_kernel = self.problem.kernel.picked(&self.problem.instance.shape)?;
        // SAFETY: generated tables have NUL-terminated names, which live as long as the program.
        Ok(unsafe { CStr::from_ptr(micro_kernel.name) }.to_string_lossy().into_owned())
    }

    fn unserved(&self, entry: Option<&'static Entry>, family: &Family) -> Option<String> {
        if entry.is_some_and(|entry| entry.cpu.is_some()) {
            return None;
        }
        Some(reason(family.on_cpu(&self.problem.def, self.lab.target()).map(drop)))
    }

    fn measure(&mut self, contestants: &[Contestant], repeats: Repeats) -> Result<Vec<Result<Sample, Failure>>> {
        let implementation = |contestant: &Contestant| match contestant.linked(self.problem.kernel.name()) {
            Some(name) => Some(Implementation::Linked { name, arithmetic: Arithmetic::F32 }),
            None => self.library.as_ref().map(|library| library.implementation.clone()),
        };
        let implementations = contestants.iter().filter_map(implementation).collect();
        let timing = Timing::warm(repeats.reps, 0.0, repeats.slow_seconds);
        let measured = self.lab.measure(&self.problem.instance, implementations, self.threads, timing)?;
        self.rounds += measured.rounds;
        Ok(measured.outcomes)
    }

    fn in_use(&self) -> bool {
        self.rounds.is_in_use()
    }
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
