//! A kernel with everything that measuring it on a device takes: compiler, worker, expectations.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use dietcode_syntax::KernelDef;

use super::{Built, CudaCall, CudaCompiler, DeviceFacts, Expectation};
use crate::codegen::cuda::CudaUnit;
use crate::cost_model::cuda::Profile;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::measure::{
    Code, Compile, Device, Failure, Implementation, Instance, Interrupt, Job, Limits, Machine, Measured, Oracle,
    Purpose, Runner, Sample, Subject, Timing,
};
use crate::reference::Arithmetic;
use crate::sketch::MicroKernel;
use crate::{Error, Result, codegen};

/// A measurement harness on one device.
#[derive(Debug)]
pub struct CudaHarness {
    subject: Subject,
    limits: DeviceLimits,
    compiler: Option<Arc<CudaCompiler>>,
    runner: Runner,
    seed: u64,
    /// What was computed last, for the instances that were asked for.
    expected: Vec<(Instance, Expectation)>,
    /// If nothing is timed.
    estimating: Option<Estimating>,
}

/// What takes the place of a GPU that is not there.
#[derive(Debug, Default)]
struct Estimating {
    /// Where micro-kernels are checked: an instance that an emulator can carry out.
    small: Option<Instance>,
    /// What came of those that were.
    checked: HashMap<Key, Result<f64, Failure>>,
}

/// What is checked once: an image, and the micro-kernel of it.
type Key = (PathBuf, String);

/// So many kernels are compiled by one run of nvcc.
const TOGETHER: usize = 4;

/// Of so many instances it is kept what is expected.
const KEPT: usize = 64;

/// An instance that is small enough for an emulator has at most so many operations.
const SMALL_FLOPS: f64 = 3e5;

impl CudaHarness {
    /// On a device that is there. Without a `compiler` only what is linked into workers is measured. `worker` starts one: a
    /// program that calls [`serve`](crate::measure::worker::serve) for the device on its standard input and output. Inputs are
    /// made from `seed`.
    pub fn new(
        def: KernelDef,
        limits: &DeviceLimits,
        compiler: Option<Arc<CudaCompiler>>,
        worker: Vec<OsString>,
        patience: Limits,
        seed: u64,
    ) -> CudaHarness {
        let toolchain = compiler.as_ref().map_or_else(String::new, |compiler| compiler.description());
        CudaHarness {
            subject: Subject::new(def, Target::Cuda(*limits), Machine::absent(limits, toolchain)),
            limits: *limits,
            compiler,
            runner: Runner::new(worker, patience),
            seed,
            expected: Vec::new(),
            estimating: None,
        }
    }

    /// The same with what the device says of itself, for records.
    #[must_use]
    pub fn described(self, facts: &DeviceFacts) -> CudaHarness {
        let toolchain = self.compiler.as_ref().map_or_else(String::new, |compiler| compiler.description());
        let machine = Machine::cuda(facts, toolchain);
        CudaHarness { subject: self.subject.on(machine), ..self }
    }

    /// Of a device that is not there. Micro-kernels are compiled for it, and checked by the emulator at an instance that is small
    /// enough for that; how long they would take is what the model makes of the compiler's report. `worker` starts one for the
    /// emulated device.
    ///
    /// # Errors
    /// As [`CudaCompiler::reporting`].
    pub fn estimating(def: KernelDef, limits: &DeviceLimits, worker: Vec<OsString>, seed: u64) -> Result<CudaHarness> {
        let compiler = Arc::new(CudaCompiler::reporting(limits.capability)?);
        let harness = CudaHarness::new(def, limits, Some(compiler), worker, Limits::default(), seed);
        Ok(CudaHarness { estimating: Some(Estimating::default()), ..harness })
    }

    /// As [`Runner::describe`].
    ///
    /// # Errors
    /// As there.
    pub fn describe(&mut self) -> Result<DeviceFacts> {
        self.runner.describe()
    }

    /// Checks implementations at an instance, and times those that passed against each other; `gap` elements lie between the
    /// rows of the tensors.
    ///
    /// # Errors
    /// As [`Runner::measure`].
    pub fn measure_with_gap(
        &mut self,
        instance: &Instance,
        gap: usize,
        implementations: Vec<Implementation>,
        timing: Timing,
    ) -> Result<Measured> {
        let expected = if timing.unchecked { Expectation::default() } else { self.expect(instance, &implementations)? };
        let oracle = Oracle::Sampled(expected);
        self.runner.measure(&Job {
            instance: instance.clone(),
            gap,
            seed: self.seed,
            oracle,
            implementations,
            threads: 0,
            timing,
        })
    }

    /// What is expected at an instance, with the bounds of all arithmetic that is measured there.
    fn expect(&mut self, instance: &Instance, implementations: &[Implementation]) -> Result<Expectation> {
        let mut arithmetic: Vec<Arithmetic> = implementations.iter().map(Implementation::arithmetic).collect();
        let known = self.expected.iter().position(|(of, _)| of == instance).map(|at| self.expected.remove(at).1);
        arithmetic.extend(known.iter().flat_map(|known| known.bounds.iter().map(|(arithmetic, _)| *arithmetic)));
        arithmetic.sort_unstable();
        arithmetic.dedup();
        let expected = match known {
            Some(known) if known.bounds.len() == arithmetic.len() => known,
            _ => Expectation::of(self.def(), self.program(), instance, &arithmetic, self.seed)?,
        };
        self.expected.push((instance.clone(), expected.clone()));
        if self.expected.len() > KEPT {
            self.expected.remove(0);
        }
        Ok(expected)
    }

    /// How a micro-kernel is called at the small instance, and how long it is expected to take at the one that was asked for.
    fn estimate(&mut self, built: &Built, micro_kernel: &MicroKernel, instance: &Instance) -> Result<Implementation> {
        let mut profile = Profile::of(&micro_kernel.lowered(self.program(), self.target())?);
        profile.count(&self.limits, (&built.unit.launches, &built.report));
        let resources = profile.resources(&self.limits, Some((&built.unit.launches, &built.report)));
        let seconds = profile.predict(self.def(), &self.limits, &resources, &instance.shape).seconds;
        let small = match self.estimating.as_ref().and_then(|estimating| estimating.small.clone()) {
            Some(small) => small,
            None => small_instance(self.def(), instance)?,
        };
        let launched = Implementation::launched(built, self.def(), &small.shape)?;
        self.estimating.get_or_insert_default().small = Some(small);
        Ok(match launched {
            Implementation::Launched { call, arithmetic, .. } => {
                Implementation::Launched { call, arithmetic, seconds: Some(seconds) }
            }
            other => other,
        })
    }

    /// Checks those that were not checked before, all at the small instance.
    fn check(&mut self, implementations: &[Implementation]) -> Result<()> {
        let Some(Estimating { small: Some(small), checked }) = &self.estimating else { return Ok(()) };
        let small = small.clone();
        let fresh = implementations.iter().filter_map(|implementation| match implementation {
            Implementation::Launched { call, .. } if !checked.contains_key(&key(call)) => {
                Some((key(call), implementation.clone()))
            }
            _ => None,
        });
        let (keys, fresh): (Vec<_>, Vec<_>) = fresh.unzip();
        if fresh.is_empty() {
            return Ok(());
        }
        let outcomes = self.measure_with_gap(&small, 0, fresh, Timing::CHECK)?;
        let outcomes = outcomes.into_iter().map(|outcome| outcome.map(|sample| sample.rel_err));
        self.estimating.get_or_insert_default().checked.extend(keys.into_iter().zip(outcomes));
        Ok(())
    }
}

impl Device for CudaHarness {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn is_estimating(&self) -> bool {
        self.estimating.is_some()
    }

    fn units(&self, _: usize) -> usize {
        self.limits.multiprocessors as usize
    }

    fn compiler(&self, _: Purpose) -> Compile {
        let (def, program, target) = (self.def().clone(), self.program().clone(), self.target().clone());
        let compiler = self.compiler.clone();
        let failed = |message: String| Failure::Compile { message };
        Arc::new(move |micro_kernels| {
            let unit = |micro_kernel: &MicroKernel| {
                let lowered = micro_kernel.lowered(&program, &target);
                let unit = lowered.and_then(|l| codegen::cuda::translation_unit(&def, &micro_kernel.name(), &l));
                unit.map_err(|e| failed(e.to_string()))
            };
            let units: Vec<Result<CudaUnit, Failure>> = micro_kernels.iter().map(unit).collect();
            let printed: Vec<CudaUnit> = units.iter().flatten().cloned().collect();
            let built = compiler.as_ref().map(|compiler| compiler.build_together(&printed));
            let mut built = built.into_iter().flatten();
            let code = |(micro_kernel, unit): (&MicroKernel, Result<CudaUnit, Failure>)| {
                unit?;
                let built = built.next().unwrap_or_else(|| Err(failed("there is no compiler".into())))?;
                Ok(Code::Cuda { micro_kernel: micro_kernel.clone(), built: Box::new(built) })
            };
            micro_kernels.iter().zip(units).map(code).collect()
        })
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn implementation(&mut self, code: &Code, instance: &Instance) -> Result<Implementation> {
        match code {
            Code::Cuda { micro_kernel, built } if self.is_estimating() => self.estimate(built, micro_kernel, instance),
            Code::Cuda { built, .. } => Implementation::launched(built, self.def(), &instance.shape),
            _ => Err(Error::failed(format!("code of `{}` that is not for a GPU", self.def().name))),
        }
    }

    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        _: usize,
        timing: Timing,
    ) -> Result<Measured> {
        self.check(&implementations)?;
        let Some(Estimating { checked, .. }) = &self.estimating else {
            return self.measure_with_gap(instance, 0, implementations, timing);
        };
        let outcome = |implementation: &Implementation| match implementation {
            Implementation::Launched { call, seconds: Some(seconds), .. } => {
                let rel_err = checked.get(&key(call)).cloned().unwrap_or(Err(Failure::Stopped))?;
                Ok(Sample {
                    seconds: vec![*seconds; timing.rounds.max(1)],
                    rel_err,
                    nearest: None,
                    conditions: Vec::new(),
                })
            }
            _ => Err(Failure::Load { message: "it cannot be estimated".into() }),
        };
        Ok(implementations.iter().map(outcome).collect())
    }

    fn heed(&mut self, interrupt: Interrupt) {
        self.runner.heed(interrupt);
    }
}

fn key(call: &CudaCall) -> Key {
    (call.image.clone(), call.name.clone())
}

/// An instance with few operations whose shape is that of another: where that has many, its largest extents are halved, and all are odd.
///
/// # Errors
/// As [`Instance::of`].
pub fn small_instance(def: &KernelDef, of: &Instance) -> Result<Instance> {
    if of.flops <= SMALL_FLOPS {
        return Ok(of.clone());
    }
    let odd: Vec<i64> = of.shape.iter().map(|extent| extent | 1).collect();
    Ok(Instance::of(def, &odd)?.halved(def, &vec![1; odd.len()], |small| small.flops <= SMALL_FLOPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::dense;

    #[test]
    fn a_small_instance_is_one_of_the_same_nest() {
        let def = dense();
        let large = Instance::of(&def, &[2048, 768, 2304]).unwrap();
        let small = small_instance(&def, &large).unwrap();
        assert!(small.flops <= SMALL_FLOPS && small.flops > SMALL_FLOPS / 4.0, "{small:?}");
        assert!(small.shape.iter().all(|extent| extent % 2 == 1 && *extent > 16), "{small:?}");
        assert_eq!(small_instance(&def, &small).unwrap(), small);
    }
}
