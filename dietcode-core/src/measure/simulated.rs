//! A device that carries nothing out: each micro-kernel takes as long as a function says, on a clock of the device's own.

use std::fmt;
use std::sync::Arc;

use dietcode_syntax::KernelDef;

use super::{
    Clock, Code, Compile, Device, Disturbance, Failure, Implementation, Instance, Machine, Measured, Purpose, Sample,
    Subject, Timing,
};
use crate::machine::Target;
use crate::sketch::MicroKernel;
use crate::{Error, ErrorKind, Result};

/// Seconds of a call of a micro-kernel (its name) at an instance and a setting, or how it fails.
pub type Seconds = Box<dyn Fn(&str, &Instance, usize) -> Result<f64, Failure>>;

/// A simulated device with a kernel.
pub struct SimulatedDevice {
    subject: Subject,
    clock: Clock,
    seconds: Seconds,
    /// What each measurement was of: names, shape, setting.
    pub measured: Vec<(Vec<String>, Vec<i64>, usize)>,
}

/// How long it takes to measure something besides its calls, in seconds; compilers take no time.
const BESIDE: f64 = 1.0;

impl SimulatedDevice {
    /// One for which schedules are made as for `target`.
    pub fn new(def: KernelDef, target: Target, seconds: Seconds) -> SimulatedDevice {
        let machine = match &target {
            Target::Cpu(target) => Machine::cpu(target),
            Target::Cuda(limits) => Machine::absent(limits, "none".to_owned()),
        };
        let subject = Subject::new(def, target, machine);
        SimulatedDevice { subject, clock: Clock::simulated(), seconds, measured: Vec::new() }
    }
}

impl fmt::Debug for SimulatedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a simulated {:?} with `{}`", self.machine(), self.def().name)
    }
}

impl Device for SimulatedDevice {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn is_estimating(&self) -> bool {
        true
    }

    fn units(&self, setting: usize) -> usize {
        setting.max(1)
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn compiler(&self, _: Purpose) -> Compile {
        Arc::new(|micro_kernel: &MicroKernel| Ok(Code::Simulated(micro_kernel.name())))
    }

    fn implementation(&mut self, code: &Code, _: &Instance) -> Result<Implementation> {
        match code {
            Code::Simulated(name) => Ok(Implementation::simulated(name, 0.0)),
            _ => Err(Error::new(ErrorKind::Failed, "real code on a simulated device")),
        }
    }

    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        setting: usize,
        timing: Timing,
    ) -> Result<Measured> {
        let mut outcomes = Vec::new();
        let mut names = Vec::new();
        for implementation in implementations {
            let Implementation::Launched { call, .. } = implementation else {
                outcomes.push(Err(Failure::Load { message: "it is not simulated".into() }));
                continue;
            };
            let seconds = (self.seconds)(&call.name, instance, setting);
            let calls = seconds.as_ref().map_or(0.0, |seconds| timing.rounds.max(1) as f64 * seconds);
            self.clock.advance(BESIDE + calls);
            outcomes.push(seconds.map(|seconds| Sample { seconds: vec![seconds; timing.rounds.max(1)], rel_err: 0.0 }));
            names.push(call.name);
        }
        self.measured.push((names, instance.shape.clone(), setting));
        Ok(Measured { outcomes, rounds: Disturbance::default() })
    }
}
