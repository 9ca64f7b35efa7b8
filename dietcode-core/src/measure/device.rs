//! Where a kernel's micro-kernels are compiled, checked and timed, whatever it is.
//!
//! | device                                   | compiles with               | checks          | figures                                 |
//! |------------------------------------------|-----------------------------|-----------------|-----------------------------------------|
//! | [`CpuHarness`](super::CpuHarness)        | the C compiler              | every element   | times, by number of threads             |
//! | [`CudaHarness`](super::cuda::CudaHarness)| nvcc, NVRTC, images         | a sample        | times of the device's events            |
//! | the same, [estimating](super::cuda::CudaHarness::estimating) | nvcc, for its report; C++ | by the emulator | what the model makes of the report |
//! | [`SimulatedDevice`](super::SimulatedDevice) | nothing                  | nothing         | those of a function, on a clock of its own |

use std::fmt;
use std::sync::Arc;

use dietcode_syntax::KernelDef;
use serde::{Deserialize, Serialize};

use super::cuda::{self, CudaCall, DeviceFacts};
use super::{
    Building, Clock, Compile, Cores, Failure, Form, Implementation, Instance, Interrupt, Measured, Purpose, Timing,
    Unit,
};
use crate::Result;
use crate::cost_model::cuda::LaunchReport;
use crate::doing::doing;
use crate::frontend;
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::machine::Target;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::reference::Arithmetic;
use crate::sketch::MicroKernel;

/// A kernel and the machine on which it is measured: what every device has.
#[derive(Clone, Debug)]
pub struct Subject {
    pub(super) def: KernelDef,
    pub(super) program: Program,
    target: Target,
    machine: Machine,
    cores: Arc<Cores>,
}

impl Subject {
    /// With the cores that this process may use.
    pub(super) fn new(def: KernelDef, target: Target, machine: Machine) -> Subject {
        Subject { program: frontend::program(&def), def, target, machine, cores: Arc::new(Cores::of_process()) }
    }

    /// On a machine that is known better.
    pub(super) fn on(self, machine: Machine) -> Subject {
        Subject { machine, ..self }
    }
}

/// A device with a kernel. A *setting* is a number of threads, or 0 where there is none to choose.
pub trait Device: fmt::Debug {
    /// The kernel and the machine.
    fn subject(&self) -> &Subject;

    /// The kernel.
    fn def(&self) -> &KernelDef {
        &self.subject().def
    }

    /// Its program.
    fn program(&self) -> &Program {
        &self.subject().program
    }

    /// What schedules are made for.
    fn target(&self) -> &Target {
        &self.subject().target
    }

    /// What it is, for records and tuned files.
    fn machine(&self) -> &Machine {
        &self.subject().machine
    }

    /// Whether figures are what a model expects: nothing was timed.
    fn is_estimating(&self) -> bool {
        false
    }

    /// Cores or multiprocessors that a call has at a setting.
    fn units(&self, setting: usize) -> usize;

    /// What budgets go by.
    fn clock(&self) -> Clock {
        Clock::default()
    }

    /// The cores of this machine, which measurements take from the compilers that run ahead.
    fn cores(&self) -> &Arc<Cores> {
        &self.subject().cores
    }

    /// Compiles micro-kernels, on any thread.
    fn compiler(&self, purpose: Purpose) -> Compile;

    /// How many micro-kernels a compiler is given together at most: as many as it takes less time for than one by one.
    fn together(&self) -> usize {
        1
    }

    /// How compiled code is called at an instance.
    ///
    /// # Errors
    /// If its grid cannot be computed there.
    fn implementation(&mut self, code: &Code, instance: &Instance) -> Result<Implementation>;

    /// Checks implementations on an instance, and measures those that passed against each other.
    ///
    /// # Errors
    /// If measuring is not possible at all.
    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        setting: usize,
        timing: Timing,
    ) -> Result<Measured>;

    /// What no kernel can be faster than, with the operations of one call; none where it is not known how to measure that.
    fn peak(&self, _setting: usize) -> Option<(Implementation, f64)> {
        None
    }

    /// Reading an instance's inputs and writing its output once; none as above.
    ///
    /// # Errors
    /// If it does not compile.
    fn stream(&self, _instance: &Instance) -> Result<Option<Implementation>> {
        Ok(None)
    }

    /// Measures on the first cores only from now on: so many as a measurement has threads.
    fn pin(&mut self) {}

    /// Ends what is measured from now on when `interrupt` is due.
    fn heed(&mut self, _interrupt: Interrupt) {}
}

impl dyn Device + '_ {
    /// Compiles one micro-kernel.
    ///
    /// # Errors
    /// Why it has no code.
    pub fn compile(&self, micro_kernel: &MicroKernel, purpose: Purpose) -> Result<Code, Failure> {
        let _doing = doing(format!("compiling a micro-kernel of `{}`", self.def().name));
        self.compiler(purpose)(std::slice::from_ref(micro_kernel)).pop().unwrap_or(Err(Failure::Stopped))
    }

    /// Starts compiling micro-kernels, to be taken one after the other.
    pub fn build(&self, micro_kernels: Vec<MicroKernel>, purpose: Purpose) -> Building {
        Building::start(self.compiler(purpose), self.cores(), micro_kernels, self.together())
    }

    /// The CPU, if it is one.
    pub fn cpu(&self) -> Option<&CpuTarget> {
        self.target().cpu()
    }

    /// The limits of the GPU, if it is one.
    pub fn gpu(&self) -> Option<&DeviceLimits> {
        self.target().cuda()
    }
}

/// A compiled micro-kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// For the CPU.
    Cpu(Unit),
    /// For a CUDA device.
    Cuda {
        /// What it was made of.
        micro_kernel: MicroKernel,
        /// The image with the compiler's report.
        built: Box<cuda::Built>,
    },
    /// Of a simulated device: the micro-kernel's name.
    Simulated(String),
}

impl Code {
    /// Whether it is what a build makes.
    pub fn is_final(&self) -> bool {
        self.form().is_none_or(|form| !form.parametric)
    }

    /// How it was compiled; none where that is always the same.
    pub fn form(&self) -> Option<&Form> {
        if let Code::Cpu(unit) = self { Some(&unit.form) } else { None }
    }

    /// What a GPU's compiler says of its launches; nothing of others.
    pub fn report(&self, device: &dyn Device) -> Vec<LaunchReport> {
        match (self, device.gpu()) {
            (Code::Cuda { built, .. }, Some(limits)) => LaunchReport::of(&built.unit, limits, &built.report),
            _ => Vec::new(),
        }
    }

    /// What compiled it, where that is not what the device says.
    pub fn toolchain(&self) -> Option<&str> {
        match self {
            Code::Cuda { built, .. } => Some(&built.toolchain),
            Code::Cpu(_) | Code::Simulated(_) => None,
        }
    }
}

/// A machine and a compiler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Machine {
    /// A CPU.
    Cpu {
        /// The CPU's model.
        cpu: String,
        /// What `-march=` said.
        march: String,
        /// The compiler with its version.
        compiler: String,
    },
    /// A GPU.
    Cuda {
        /// What its maker calls the device; `cuda-host` where there is none, and figures are estimated.
        device: String,
        /// Its own compute capability, such as `sm_90`, where limits and model may be those of an older one.
        capability: String,
        /// The version of the driver, as the system reports it.
        driver: String,
        /// What micro-kernels are compiled with.
        toolchain: String,
    },
}

impl Machine {
    /// A CPU.
    pub fn cpu(target: &CpuTarget) -> Machine {
        let CpuTarget { model, march, compiler, .. } = target;
        Machine::Cpu { cpu: model.clone(), march: march.clone(), compiler: compiler.clone() }
    }

    /// A GPU that is there.
    pub fn cuda(facts: &DeviceFacts, toolchain: String) -> Machine {
        let (major, minor) = facts.capability;
        let smi = facts.nvidia_smi.get("driver_version").cloned();
        Machine::Cuda {
            device: facts.model.clone(),
            capability: ComputeCapability { major, minor }.to_string(),
            driver: smi.or_else(|| facts.driver_cuda.clone()).unwrap_or_else(|| "none".to_owned()),
            toolchain,
        }
    }

    /// A GPU that is not there.
    pub fn absent(limits: &DeviceLimits, toolchain: String) -> Machine {
        let [device, driver] = ["cuda-host", "none"].map(str::to_owned);
        Machine::Cuda { device, capability: limits.capability.to_string(), driver, toolchain }
    }

    /// The CPU's model, or the device's.
    pub fn model(&self) -> &str {
        match self {
            Machine::Cpu { cpu, .. } => cpu,
            Machine::Cuda { device, .. } => device,
        }
    }
}

impl Implementation {
    /// One that was not timed: a device made it up.
    pub(crate) fn simulated(name: &str, seconds: f64) -> Implementation {
        let call =
            CudaCall { name: name.to_owned(), image: Default::default(), launches: Vec::new(), workspace_bytes: None };
        Implementation::Launched { call, arithmetic: Arithmetic::F32, seconds: Some(seconds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What takes the limits of an older device is not on record, and written, as that one.
    #[test]
    fn a_gpu_is_called_by_its_own_capability() {
        let facts = r#"{ "name": "cuda:0", "model": "B300", "emulated": false, "capability": [10, 3], "multiprocessors": 148,
            "memory_bytes": 1, "l2_bytes": 1, "nvidia_smi": {} }"#;
        let machine = Machine::cuda(&serde_json::from_str(facts).unwrap(), "nvcc".to_owned());
        let Machine::Cuda { capability, .. } = &machine else { panic!("it is a GPU") };
        assert_eq!(capability, "sm_103");
        assert_eq!(DeviceLimits::nearest_to(capability).unwrap().capability.to_string(), "sm_100");
        assert!(DeviceLimits::nearest_to("H100").is_err() && DeviceLimits::nearest_to("sm_61").is_err());
    }
}
