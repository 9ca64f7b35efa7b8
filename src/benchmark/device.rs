//! Measuring on a GPU, or on the emulated one.

use std::ffi::OsString;
use std::time::Duration;

use dietcode_core::Result;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits, Nvcc};
use dietcode_core::measure::baselines::Gemm;
use dietcode_core::measure::cuda::{
    CudaCode, CudaContestant, CudaDevice, CudaLab, CudaTiming, DeviceFacts, Expectation, Limits, arithmetic_of,
};
use dietcode_core::measure::{Failure, Interrupt, Sample, fresh_seed};
use dietcode_core::reference::Arithmetic;
use dietcode_core::runtime::set::{Entry, Set};
use dietcode_core::search::BATCH_SECONDS;
use dietcode_core::sketch::Family;

use super::bench::{Bench, Contestant, Repeats, reason};
use super::problem::Problem;
use super::results::{Gpu, Machine};

/// A device with a product.
pub(super) struct DeviceBench<'a> {
    problem: &'a Problem,
    set: &'static Set,
    lab: CudaLab,
    facts: DeviceFacts,
    limits: &'static DeviceLimits,
    library: Option<Gemm>,
    expected: Expectation,
}

/// All of them multiply by threads, or by what a configuration says: bounds are computed for each kind once.
const ARITHMETIC: [Arithmetic; 2] = [Arithmetic::F32, Arithmetic::Tf32];

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
        let mut lab = CudaLab::new(device, worker, Limits { run, ..Limits::default() }, fresh_seed());
        let facts = lab.describe()?;
        problem.check_memory(facts.memory_bytes, &facts.name)?;
        let capability = ComputeCapability { major: facts.capability.0, minor: facts.capability.1 };
        let expected = Expectation::of(&problem.def, &problem.instance, &ARITHMETIC, lab.seed())?;
        let library = Gemm::of(&problem.def, &problem.instance).filter(|_| facts.cublas.is_some());
        lab.heed(interrupt);
        Ok(DeviceBench { problem, set, lab, facts, limits: DeviceLimits::of(capability)?, library, expected })
    }

    /// How a configuration multiplies, which says how exact it has to be.
    fn arithmetic(&self, contestant: &Contestant) -> Arithmetic {
        let Contestant::Configuration(name) = contestant else { return Arithmetic::F32 };
        let family = self.set.configuration(name).and_then(|found| super::winner::family(found.parameters).ok());
        let blocked = family.and_then(|family| family.on_gpu(&self.problem.def, self.limits).ok());
        blocked.map_or(Arithmetic::F32, |blocked| arithmetic_of(&blocked))
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
        let contestant = |contestant: &Contestant| {
            let code = match contestant.linked(self.problem.kernel.name()) {
                Some(name) => CudaCode::Linked(name),
                None => CudaCode::CuBlas { gemm: self.library.clone()?, tf32: false },
            };
            Some(CudaContestant { arithmetic: self.arithmetic(contestant), code })
        };
        let contestants = contestants.iter().filter_map(contestant).collect();
        // The emulator's times mean nothing: one launch is a sample.
        let batch_seconds = if self.facts.emulated { 0.0 } else { BATCH_SECONDS };
        let timing = CudaTiming { rounds: repeats.reps, batch_seconds, cold: false };
        self.lab.measure(&self.problem.instance, 0, &self.expected, contestants, Some(timing))
    }
}
