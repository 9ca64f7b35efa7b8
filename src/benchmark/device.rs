//! Measuring on a GPU, or on the emulated one.

use std::ffi::OsString;
use std::time::Duration;

use dietcode_core::Result;
use dietcode_core::codegen::cuda::translation_unit;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits, Nvcc};
use dietcode_core::measure::baselines::Gemm;
use dietcode_core::measure::cuda::{CudaDevice, CudaHarness, DeviceFacts};
use dietcode_core::measure::{Failure, Implementation, Interrupt, Limits, Sample, Timing, fresh_seed};
use dietcode_core::reference::Arithmetic;
use dietcode_core::runtime::set::{Entry, Set};
use dietcode_core::sketch::Family;

use super::bench::{Bench, Contestant, Repeats, reason};
use super::problem::Problem;
use super::results::{Gpu, Machine};

/// A device with a product.
pub(super) struct DeviceBench<'a> {
    problem: &'a Problem,
    set: &'static Set,
    harness: CudaHarness,
    facts: DeviceFacts,
    limits: &'static DeviceLimits,
    library: Option<Gemm>,
}

/// The emulator carries out at least so many operations in a second.
const SLOWEST_EMULATED: f64 = 1e6;

/// What starting, loading and checking may take besides, in seconds.
const BESIDE_SECONDS: f64 = 30.0;

impl<'a> DeviceBench<'a> {
    /// Opens the device in a worker, and computes what is expected. `worker` starts this program as a worker for it.
    pub(super) fn open(
        problem: &'a Problem,
        set: &'static Set,
        (device, worker): (CudaDevice, Vec<OsString>),
        limit: Option<f64>,
        interrupt: Interrupt,
    ) -> Result<DeviceBench<'a>> {
        let emulated = device == CudaDevice::Emulated;
        let beside = if emulated { problem.instance.flops / SLOWEST_EMULATED } else { 0.0 };
        let run = Duration::from_secs_f64(limit.unwrap_or(BESIDE_SECONDS + beside));
        let limits = Limits { run, ..Limits::default() };
        let mut harness = CudaHarness::new(problem.def.clone(), device, None, worker, limits, fresh_seed());
        let facts = harness.describe()?;
        problem.check_memory(facts.memory_bytes, &facts.name)?;
        let capability = ComputeCapability { major: facts.capability.0, minor: facts.capability.1 };
        let library = Gemm::of(&problem.def, &problem.instance).filter(|_| facts.cublas.is_some());
        harness.heed(interrupt);
        Ok(DeviceBench { problem, set, harness, facts, limits: DeviceLimits::of(capability)?, library })
    }

    /// How a configuration multiplies, which says how exact it has to be.
    fn arithmetic(&self, contestant: &Contestant) -> Arithmetic {
        let Contestant::Configuration(name) = contestant else { return Arithmetic::F32 };
        let family = self.set.configuration(name).and_then(|found| super::winner::family(found.parameters).ok());
        let blocked = family.and_then(|family| family.on_gpu(&self.problem.def, self.limits).ok());
        let unit = blocked.and_then(|blocked| translation_unit(&self.problem.def, &blocked, self.limits).ok());
        unit.map_or(Arithmetic::F32, |unit| unit.arithmetic)
    }
}

impl Bench for DeviceBench<'_> {
    fn machine(&self) -> Machine {
        let nvcc = Nvcc::find().ok().map(|nvcc| nvcc.version().to_owned());
        let gpu = Gpu { device: self.facts.clone(), nvcc };
        if self.facts.emulated { Machine::CudaHost(gpu) } else { Machine::Cuda(gpu) }
    }

    fn library(&self) -> Option<String> {
        self.library.as_ref().and(self.facts.cublas).map(|version| format!("cublas:{version}"))
    }

    fn picked(&self) -> Result<String> {
        let micro_kernel = self.problem.kernel.picked_on_device(&self.problem.instance.shape, self.facts.capability)?;
        Ok(micro_kernel.name.to_owned())
    }

    fn unserved(&self, entry: Option<&'static Entry>, family: &Family) -> Option<String> {
        if entry.is_some_and(|entry| entry.cuda.is_some()) {
            return None;
        }
        Some(reason(family.on_gpu(&self.problem.def, self.limits).map(drop)))
    }

    fn measure(&mut self, contestants: &[Contestant], repeats: Repeats) -> Result<Vec<Result<Sample, Failure>>> {
        let implementation = |contestant: &Contestant| {
            let arithmetic = self.arithmetic(contestant);
            Some(match contestant.linked(self.problem.kernel.name()) {
                Some(name) => Implementation::Linked { name, arithmetic },
                None => Implementation::CuBlas { gemm: self.library.clone()?, tf32: false, arithmetic },
            })
        };
        let implementations = contestants.iter().filter_map(implementation).collect();
        let timing = Timing::warm(repeats.reps, 0.0, f64::MAX);
        Ok(self.harness.measure(&self.problem.instance, 0, implementations, timing)?.outcomes)
    }
}
