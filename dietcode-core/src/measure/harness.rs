//! A kernel with everything that measuring it on the CPU takes: target, compiler, workers, reference, peak.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use dietcode_syntax::KernelDef;

use super::baselines::{BlasLibrary, peak, stream};
use super::building::one_by_one;
use super::{
    Builder, Code, Compile, Device, Failure, Form, Implementation, Instance, Interrupt, Job, Limits, Machine, Measured,
    Oracle, Purpose, Runner, Subject, Timing, Unit,
};
use crate::codegen::registry::{Decision, dispatcher};
use crate::codegen::{self, TranslationUnit};
use crate::doing::doing;
use crate::machine::Target;
use crate::machine::{CpuTarget, Toolchain};
use crate::runtime;
use crate::sketch::Parametric;
use crate::{Error, Result};

/// A measurement harness: implementations of one kernel are checked and timed on the CPU.
#[derive(Debug)]
pub struct CpuHarness {
    subject: Subject,
    cpu: CpuTarget,
    builder: Arc<Builder>,
    runner: Runner,
    reference: Unit,
    peak: Unit,
    seed: u64,
}

/// Longer than any sane kernel compiles.
const COMPILE_LIMIT: Duration = Duration::from_secs(30);

/// Tiles of the peak for each thread: about a millisecond, as long as a system that is in use leaves a thread its core.
const PEAK_TILES: i64 = 8;

/// Into so many parts the tensors are divided, for threads to share.
const STREAM_PARTS: i64 = 64;

impl CpuHarness {
    /// Detects the target, compiles the reference. `worker` is the command of a measuring process, see [`Runner::new`];
    /// inputs are made from
    /// `seed`, or else from what the operating system offers.
    ///
    /// # Errors
    ///
    /// Without a C compiler, if the reference does not compile, or if the environment says something wrong of helper threads, for
    /// which all candidates would fail.
    pub fn open(
        def: KernelDef,
        march: &str,
        worker: Vec<OsString>,
        limits: Limits,
        seed: Option<u64>,
    ) -> Result<CpuHarness> {
        runtime::spin_time()?;
        let opening = doing(format!("compiling the reference of `{}`", def.name));
        let toolchain = Toolchain::find(march)?;
        let target = CpuTarget::of(&toolchain);
        refuse_foreign_code(&target)?;
        let builder = Builder::new(toolchain, COMPILE_LIMIT)?;
        let runner = Runner::new(worker, limits);
        let subject = Subject::new(def, Target::Cpu(target.clone()), Machine::cpu(&target));
        let name = &subject.def.name;
        let units = [codegen::reference::reference(&subject.def, &subject.program), peak::translation_unit(&target)];
        let mut built = builder.build(&units).into_iter();
        let mut next = |what: &str| match built.next() {
            Some(Ok(unit)) => Ok(unit),
            Some(Err(failure)) => Err(Error::failed(format!("{what} of `{name}` {failure}"))),
            None => Err(Error::failed(format!("{what} of `{name}` was not compiled"))),
        };
        let (reference, peak) = (next("the reference")?, next("the peak loop")?);
        drop(opening);
        let seed = seed.unwrap_or_else(fresh_seed);
        Ok(CpuHarness { subject, cpu: target, builder: Arc::new(builder), runner, reference, peak, seed })
    }

    /// What candidates are compiled for.
    pub fn cpu(&self) -> &CpuTarget {
        &self.cpu
    }

    /// As [`Builder::build`].
    pub fn build(&self, units: &[TranslationUnit]) -> Vec<Result<Unit, Failure>> {
        let _doing = doing(format!("compiling micro-kernels of `{}`", self.def().name));
        self.builder.build(units)
    }

    /// Compiles one.
    ///
    /// # Errors
    ///
    /// As [`Builder::build_one`], as for a build.
    pub fn build_one(&self, unit: &TranslationUnit) -> Result<Unit, Failure> {
        let _doing = doing(format!("compiling `{}`", unit.name));
        self.builder.build_one(unit)
    }

    /// The kernel as a program runs it: its micro-kernels, in this order, and the decision between them.
    ///
    /// # Errors
    ///
    /// If the compiler refuses the dispatcher.
    pub fn dispatched(&self, units: Vec<Unit>, decision: &Decision) -> Result<Implementation> {
        let compiled = self.build_one(&dispatcher(self.def(), decision));
        let refused = |failure| Error::failed(format!("the dispatcher of `{}` {failure}", self.def().name));
        let dispatcher = compiled.map_err(refused)?;
        Ok(Implementation::Dispatched { units, dispatcher })
    }

    /// The first of `libraries` in which there is a BLAS.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn find_blas(
        &mut self,
        libraries: impl IntoIterator<Item = std::path::PathBuf>,
    ) -> Result<Option<BlasLibrary>> {
        for library in libraries {
            let _doing = doing(format!("looking for a BLAS in {}", library.display()));
            if let Some(found) = self.runner.probe(&library)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Device for CpuHarness {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn units(&self, setting: usize) -> usize {
        setting
    }

    fn compiler(&self, purpose: Purpose) -> Compile {
        let (def, program, builder) = (self.def().clone(), self.program().clone(), Arc::clone(&self.builder));
        let (target, march) = (self.target().clone(), self.cpu.march.clone());
        one_by_one(move |micro_kernel| {
            let failed = |e: Error| Failure::Compile { message: e.to_string() };
            let parametric = match purpose {
                Purpose::Screening => micro_kernel.parametric(&program, &target).map_err(failed)?,
                Purpose::Final => None,
            };
            let name = micro_kernel.name();
            let Some(Parametric { lowered, sizes }) = parametric else {
                let lowered = micro_kernel.lowered(&program, &target);
                let unit = lowered.and_then(|lowered| codegen::c::translation_unit(&def, &name, &lowered, &march));
                return builder.build_one(&unit.map_err(failed)?).map(Code::Cpu);
            };
            // Under one name: those that share code have the same text.
            let unit = codegen::c::translation_unit(&def, "parametric", &lowered, &march).map_err(failed)?;
            let unit = builder.build_for(&unit, purpose)?;
            let form = Form { parametric: true, ..unit.form };
            Ok(Code::Cpu(Unit { name, form, sizes: Some(sizes), ..unit }))
        })
    }

    fn implementation(&mut self, code: &Code, _: &Instance) -> Result<Implementation> {
        match code {
            Code::Cpu(unit) => Ok(Implementation::MicroKernel(unit.clone())),
            _ => Err(Error::failed(format!("code of `{}` that is not for a CPU", self.def().name))),
        }
    }

    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        threads: usize,
        timing: Timing,
    ) -> Result<Measured> {
        let mut hasher = DefaultHasher::new();
        let scalars: Vec<Option<u64>> = instance.scalars.iter().map(|scalar| scalar.map(f64::to_bits)).collect();
        (&instance.shape, scalars, self.seed).hash(&mut hasher);
        self.runner.measure(&Job {
            instance: instance.clone(),
            gap: 0,
            seed: self.seed,
            oracle: Oracle::Compiled {
                unit: self.reference.clone(),
                results: self.builder.folder().join(format!("expected-{:016x}", hasher.finish())),
            },
            implementations,
            threads,
            timing,
        })
    }

    /// The peak of fused multiply-adds.
    fn peak(&self, threads: usize) -> Option<(Implementation, f64)> {
        let tiles = PEAK_TILES * threads as i64;
        let peak = Implementation::Peak { unit: self.peak.clone(), tiles };
        Some((peak, peak::tile_flops(&self.cpu) * tiles as f64))
    }

    fn stream(&self, instance: &Instance) -> Result<Option<Implementation>> {
        let unit = self.build_one(&stream::translation_unit(instance, &self.cpu));
        let unit =
            unit.map_err(|failure| Error::failed(format!("reading the tensors of `{}` {failure}", self.def().name)))?;
        Ok(Some(Implementation::Peak { unit, tiles: STREAM_PARTS }))
    }

    fn pin(&mut self) {
        let cores = Arc::clone(self.cores());
        self.runner.pin(cores);
    }

    fn heed(&mut self, interrupt: Interrupt) {
        self.runner.heed(interrupt);
    }
}

/// A seed that was not used before.
pub fn fresh_seed() -> u64 {
    rand::random()
}

/// Code for another CPU would only crash, candidate after candidate.
fn refuse_foreign_code(target: &CpuTarget) -> Result<()> {
    let missing = target.features & !crate::cpu_features::detected();
    if missing == 0 {
        return Ok(());
    }
    let names = crate::cpu_features::names(missing).join(", ");
    Err(Error::unavailable(format!(
        "-march={} needs {names}, which this CPU ({}) does not have: measure on one that has",
        target.march, target.model
    )))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::schedule::{Instruction, Trace};
    use crate::sketch::rules::CustomRules;
    use crate::sketch::{MicroKernel, Space};
    use crate::testing::dense;

    /// Micro-kernels that differ in the sizes of outer blocks are compiled once to be screened, and each for itself as a build does; a few
    /// steps of the sum are code of their own.
    #[test]
    fn code_is_shared_while_it_is_screened() {
        let harness = CpuHarness::open(dense(), "native", vec!["none".into()], Limits::default(), Some(0)).unwrap();
        let (def, target) = (harness.def().clone(), harness.target().clone());
        let space = Space::generate(&def, target, &[vec![2048; 3]], &CustomRules::default()).unwrap();
        let mut rng = StdRng::seed_from_u64(1);
        let takes_steps = |drawn: &Trace| {
            let of = MicroKernel::of(&space.apply(drawn).unwrap());
            let is_steps = |i: &Instruction| matches!(i, Instruction::Parameter { into, .. } if &**into == "k_steps");
            let form = of.parametric(harness.program(), harness.target()).unwrap();
            form.is_some_and(|form| form.lowered.trace.instructions.iter().any(is_steps))
        };
        let mut draws = std::iter::repeat_with(|| space.sample(&mut rng).unwrap()).take(100);
        let drawn = draws.find(takes_steps).expect("a draw of many steps whose code can be shared");
        let (open, _) = drawn.parametric().expect("it has parameters");
        let of_size = |size: i64| {
            let free = open.instructions.iter().filter_map(|instruction| match instruction {
                Instruction::Parameter { into, .. } => Some((into.clone(), size)),
                _ => None,
            });
            let decisions = drawn.decisions.clone().into_iter().chain(free).collect();
            MicroKernel::of(&space.apply(&drawn.with(decisions)).unwrap())
        };
        let before = harness.builder.compiled();
        let made = |purpose| {
            let device: &dyn Device = &harness;
            [6, 7].map(|size| match device.compile(&of_size(size), purpose) {
                Ok(Code::Cpu(unit)) => unit,
                other => panic!("{other:?}"),
            })
        };
        let [a, b] = made(Purpose::Screening);
        assert_eq!((&a.library, harness.builder.compiled()), (&b.library, before + 1));
        let sizes = [&a, &b].map(|unit| unit.sizes.as_ref().map(|sizes| sizes.parameters[0]));
        assert_eq!((sizes, a.name == b.name), ([Some(6), Some(7)], false));
        let is_brief = !harness.builder.toolchain().brief_flags("*(dietcode_f32x8u *)&y[0]").is_empty();
        assert_eq!((&*a.form.level, a.form.parametric), (if is_brief { "-O2 brief" } else { "-O2" }, true));
        assert!(!Code::Cpu(a).is_final());
        let parameters = |size| {
            let form = of_size(size).parametric(harness.program(), harness.target()).unwrap();
            form.map_or(0, |form| form.sizes.parameters.len())
        };
        assert_eq!(parameters(5), parameters(6) - 1);
        let [a, b] = made(Purpose::Final);
        assert!(a.library != b.library && a.sizes.is_none() && b.sizes.is_none());
        assert_eq!(a.form, Form { parametric: false, whole_edges: false, level: "-O2".into() });
        assert!(Code::Cpu(a).is_final());
    }
}
