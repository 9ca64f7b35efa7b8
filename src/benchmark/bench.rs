//! What measures a product: the processor or a device, in the same way.

use std::ffi::CStr;

use dietcode_core::Result;
use dietcode_core::codegen::cuda::translation_unit;
use dietcode_core::machine::Target;
use dietcode_core::measure::{Device, Failure, Finalist, Implementation, LinkedName, Sample, Timing};
use dietcode_core::reference::Arithmetic;
use dietcode_core::runtime::set::{Entry, Set};
use dietcode_core::sketch::Family;

use super::problem::Problem;
use super::results::Machine;

/// Somebody who carries out the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The library that others are compared with.
    Library,
    /// What a call of the kernel runs.
    Dispatched,
    /// A configuration of the set.
    Configuration(String),
}

/// The name of [`Subject::Dispatched`] in results.
pub(super) const DISPATCHED: &str = "dispatched";

/// How often an implementation is timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    /// So often.
    pub(super) reps: usize,
    /// Who takes longer than this in its first call is not called again.
    pub(super) slow_seconds: f64,
}

/// A place to measure one product at.
pub(super) struct Bench<'a> {
    pub(super) problem: &'a Problem,
    pub(super) set: &'static Set,
    pub(super) device: Box<dyn Device>,
    /// What it is, for results.
    pub(super) machine: Machine,
    /// The library; none if there is none that can carry out the product.
    pub(super) library: Option<Finalist>,
    /// The number of threads; 0 on a device.
    pub(super) threads: usize,
}

impl Bench<'_> {
    /// The micro-kernel that the dispatcher picks, by name.
    pub(super) fn selected(&self) -> Result<String> {
        let (kernel, shape) = (self.problem.kernel, &self.problem.instance.shape);
        if let Some(limits) = self.device.gpu() {
            let capability = (limits.capability.major, limits.capability.minor);
            return Ok(kernel.selected_on_device(shape, capability)?.name.to_owned());
        }
        // SAFETY: generated tables have NUL-terminated names, which live as long as the program.
        Ok(unsafe { CStr::from_ptr(kernel.selected(shape)?.name) }.to_string_lossy().into_owned())
    }

    /// Why a configuration has no micro-kernel for the product here; none if it has one.
    pub(super) fn unserved(&self, entry: Option<&'static Entry>, family: &Family) -> Option<String> {
        let is_there = entry.is_some_and(|entry| match self.device.target() {
            Target::Cpu(_) => entry.cpu.is_some(),
            Target::Cuda(_) => entry.cuda.is_some(),
        });
        let why = family.micro_kernel(self.device.program(), self.device.target()).map(drop);
        let not_compiled = || "it was not compiled for this product and target".to_owned();
        (!is_there).then(|| why.err().unwrap_or_else(not_compiled))
    }

    /// Checks subjects and times them by turns; one outcome each.
    pub(super) fn measure(&mut self, subjects: &[Subject], repeats: Repeats) -> Result<Vec<Result<Sample, Failure>>> {
        let implementation = |subject: &Subject| match self.linked(subject) {
            Some(name) => Some(Implementation::Linked { name, arithmetic: self.arithmetic(subject) }),
            None => self.library.as_ref().map(|library| library.implementation.clone()),
        };
        let implementations = subjects.iter().filter_map(implementation).collect();
        let timing = Timing::warm(repeats.reps, 0.0, repeats.slow_seconds);
        self.device.measure(&self.problem.instance, implementations, self.threads, timing)
    }

    /// The name under which an implementation is linked into the program; none for a library.
    fn linked(&self, subject: &Subject) -> Option<LinkedName> {
        let configuration = match subject {
            Subject::Library => return None,
            Subject::Dispatched => None,
            Subject::Configuration(name) => Some(name.clone()),
        };
        Some(LinkedName { kernel: self.problem.kernel.name().to_owned(), configuration })
    }

    /// How a configuration multiplies on a device, which says how exact it has to be.
    fn arithmetic(&self, subject: &Subject) -> Arithmetic {
        let unit = |name: &String| {
            let family = super::winner::family(self.set.configuration(name)?.parameters).ok()?;
            let (_, lowered) = family.micro_kernel(self.device.program(), self.device.target()).ok()?;
            translation_unit(&self.problem.def, name, &lowered).ok()
        };
        match (subject, self.device.gpu()) {
            (Subject::Configuration(name), Some(_)) => unit(name).map_or(Arithmetic::F32, |unit| unit.arithmetic),
            _ => Arithmetic::F32,
        }
    }
}
