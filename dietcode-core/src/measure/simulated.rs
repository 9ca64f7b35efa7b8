//! A device that carries nothing out: each micro-kernel takes as long as a function says, on a clock of the device's own.

use std::fmt;

use dietcode_syntax::KernelDef;

use super::building::one_by_one;
use super::turns::by_turns;
use super::{
    Clock, Code, Compile, Device, Failure, Implementation, Instance, Machine, Measured, Purpose, Sample, Subject,
    Timing,
};
use crate::machine::Target;
use crate::{Error, Result};

/// Seconds of a call of a micro-kernel (its name) at an instance and a setting, or how it fails.
pub type Seconds = Box<dyn Fn(&str, &Instance, usize) -> Result<f64, Failure>>;

/// How many times as long a sample takes that begins at a time of the device's clock, in seconds, and would take so long where nobody
/// disturbs it; none: it lost its core meanwhile.
pub type Noise = Box<dyn Fn(f64, f64) -> Option<f64>>;

/// A simulated device with a kernel.
pub struct SimulatedDevice {
    subject: Subject,
    clock: Clock,
    seconds: Seconds,
    noise: Noise,
    /// What each measurement was of: names, shape, setting.
    pub measured: Vec<(Vec<String>, Vec<i64>, usize)>,
    is_timed: bool,
    peak: Option<f64>,
}

/// How long it takes to measure something besides its calls, in seconds; compilers take no time.
const BESIDE: f64 = 1.0;

/// A sample is of many calls where one is shorter.
const SAMPLE: f64 = 1e-3;

/// So long clean samples are waited for, in seconds.
const PATIENCE: f64 = 2.0;

impl SimulatedDevice {
    /// One for which schedules are made as for `target`.
    pub fn new(def: KernelDef, target: Target, seconds: Seconds) -> SimulatedDevice {
        let machine = match &target {
            Target::Cpu(target) => Machine::cpu(target),
            Target::Cuda(limits) => Machine::absent(limits, "none".to_owned()),
        };
        let subject = Subject::new(def, target, machine);
        let noise = Box::new(|_, _| Some(1.0));
        SimulatedDevice {
            subject,
            clock: Clock::simulated(),
            seconds,
            noise,
            measured: Vec::new(),
            is_timed: false,
            peak: None,
        }
    }

    /// The same on a machine that others use.
    #[must_use]
    pub fn with_noise(self, noise: Noise) -> SimulatedDevice {
        SimulatedDevice { noise, ..self }
    }

    /// The same as if its figures were timed.
    #[must_use]
    pub fn timed(self) -> SimulatedDevice {
        SimulatedDevice { is_timed: true, ..self }
    }

    /// The same whose bounds can be measured, as `"peak"`, a call of so many operations, and as `"stream"`.
    #[must_use]
    pub fn with_peak(self, operations: f64) -> SimulatedDevice {
        SimulatedDevice { peak: Some(operations), ..self }
    }

    /// A sample that takes so long in quiet, if one is clean before the deadline.
    fn sample(&self, seconds: f64, deadline: f64) -> Option<f64> {
        loop {
            let (now, quiet) = (self.clock.now().as_secs_f64(), seconds.max(SAMPLE));
            let slower = (self.noise)(now, quiet);
            self.clock.advance(quiet * slower.unwrap_or(1.0));
            if slower.is_some() || now > deadline {
                return slower.map(|slower| seconds * slower);
            }
        }
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
        !self.is_timed
    }

    fn units(&self, setting: usize) -> usize {
        setting.max(1)
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn peak(&self, _: usize) -> Option<(Implementation, f64)> {
        Some((Implementation::simulated("peak", 0.0), self.peak?))
    }

    fn stream(&self, _: &Instance) -> Result<Option<Implementation>> {
        Ok(self.peak.map(|_| Implementation::simulated("stream", 0.0)))
    }

    fn compiler(&self, _: Purpose) -> Compile {
        one_by_one(|micro_kernel| Ok(Code::Simulated(micro_kernel.name())))
    }

    fn implementation(&mut self, code: &Code, _: &Instance) -> Result<Implementation> {
        match code {
            Code::Simulated(name) => Ok(Implementation::simulated(name, 0.0)),
            _ => Err(Error::failed("real code on a simulated device")),
        }
    }

    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        setting: usize,
        timing: Timing,
    ) -> Result<Measured> {
        let (mut checked, mut names) = (Vec::new(), Vec::new());
        for implementation in implementations {
            let Implementation::Launched { call, .. } = implementation else {
                checked.push(Err(Failure::Load { message: "it is not simulated".into() }));
                continue;
            };
            checked.push((self.seconds)(&call.name, instance, setting));
            names.push(call.name);
            self.clock.advance(BESIDE);
        }
        let passed: Vec<f64> = checked.iter().flatten().copied().collect();
        let asked = timing.rounds.max(1);
        let deadline = self.clock.now().as_secs_f64() + PATIENCE + passed.iter().sum::<f64>() * 8.0 * asked as f64;
        let sample = |at: usize| Ok::<_, Error>(self.sample(passed[at], deadline));
        let mut timed = by_turns(passed.len(), |_, samples| samples.len() < asked, sample)?.into_iter();
        let outcomes = checked.into_iter().map(|checked| {
            checked?;
            let seconds = timed.next().unwrap_or_default();
            if seconds.len() < asked {
                return Err(Failure::Unknown { clean: seconds.len(), asked });
            }
            Ok(Sample { seconds, rel_err: 0.0, nearest: None, conditions: Vec::new() })
        });
        let outcomes = outcomes.collect();
        self.measured.push((names, instance.shape.clone(), setting));
        Ok(outcomes)
    }
}
