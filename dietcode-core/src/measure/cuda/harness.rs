//! A kernel with everything that measuring it on a device takes: compiler, worker, expectations.

use std::ffi::OsString;
use std::sync::Arc;

use dietcode_syntax::KernelDef;

use super::{CudaCompiler, CudaDevice, DeviceFacts, Expectation};
use crate::Result;
use crate::measure::{Implementation, Instance, Interrupt, Job, Limits, Measured, Oracle, Runner, Timing};
use crate::reference::Arithmetic;

/// A measurement harness on one device.
#[derive(Debug)]
pub struct CudaHarness {
    def: KernelDef,
    device: CudaDevice,
    compiler: Option<Arc<CudaCompiler>>,
    runner: Runner,
    seed: u64,
    /// What was computed last, for the instances that were asked for.
    expected: Vec<(Instance, Expectation)>,
}

/// Of so many instances it is kept what is expected.
const KEPT: usize = 64;

impl CudaHarness {
    /// Without a `compiler` only what is linked into workers is measured. `worker` starts one: a program that calls [`serve`](crate::measure::worker::serve) for the device on its standard
    /// input and output. Inputs are made from `seed`.
    pub fn new(
        def: KernelDef,
        device: CudaDevice,
        compiler: Option<Arc<CudaCompiler>>,
        worker: Vec<OsString>,
        limits: Limits,
        seed: u64,
    ) -> CudaHarness {
        CudaHarness { def, device, compiler, runner: Runner::new(worker, limits), seed, expected: Vec::new() }
    }

    /// As [`Runner::heed`].
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.runner.heed(interrupt);
    }

    /// The kernel.
    pub fn def(&self) -> &KernelDef {
        &self.def
    }

    /// The device.
    pub fn device(&self) -> CudaDevice {
        self.device
    }

    /// What micro-kernels are compiled with.
    pub fn compiler(&self) -> Option<&CudaCompiler> {
        self.compiler.as_deref()
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
    pub fn measure(
        &mut self,
        instance: &Instance,
        gap: usize,
        implementations: Vec<Implementation>,
        timing: Timing,
    ) -> Result<Measured> {
        let oracle = Oracle::Sampled(self.expect(instance, &implementations)?);
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
            _ => Expectation::of(&self.def, instance, &arithmetic, self.seed)?,
        };
        self.expected.push((instance.clone(), expected.clone()));
        if self.expected.len() > KEPT {
            self.expected.remove(0);
        }
        Ok(expected)
    }
}
