//! A kernel with everything that measuring it on the CPU takes: target, compiler, workers, reference, peak.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dietcode_syntax::KernelDef;

use super::baselines::{BlasLibrary, peak, stream};
use super::{
    Builder, Compiling, Cores, Failure, Implementation, Instance, Interrupt, Job, Limits, Measured, Oracle, Runner,
    Timing, Unit,
};
use crate::codegen::{self, TranslationUnit};
use crate::doing::doing;
use crate::machine::{CpuTarget, Toolchain};
use crate::{Error, ErrorKind, Result};

/// A measurement harness: implementations of one kernel are checked and timed on the CPU.
#[derive(Debug)]
pub struct CpuHarness {
    def: KernelDef,
    target: CpuTarget,
    builder: Arc<Builder>,
    cores: Arc<Cores>,
    runner: Runner,
    reference: Unit,
    peak: Unit,
    seed: u64,
}

/// Longer than any sane kernel compiles.
const COMPILE_LIMIT: Duration = Duration::from_secs(30);

/// Tiles of the peak for each thread: a few milliseconds.
const PEAK_TILES: i64 = 32;

/// Into so many parts the tensors are divided, for threads to share.
const STREAM_PARTS: i64 = 64;

impl CpuHarness {
    /// Detects the target, compiles the reference. `worker` is the command of a measuring process, see [`Runner::new`];
    /// inputs are made from
    /// `seed`, or else from what the operating system offers.
    ///
    /// # Errors
    ///
    /// Without a C compiler, or if the reference does not compile.
    pub fn open(
        def: KernelDef,
        march: &str,
        worker: Vec<OsString>,
        limits: Limits,
        seed: Option<u64>,
    ) -> Result<CpuHarness> {
        let opening = doing(format!("compiling the reference of `{}`", def.name));
        let toolchain = Toolchain::find(march)?;
        let target = CpuTarget::of(&toolchain);
        refuse_foreign_code(&target)?;
        let builder = Builder::new(toolchain, COMPILE_LIMIT)?;
        let runner = Runner::new(worker, limits);
        let units = [codegen::reference::reference(&def), peak::translation_unit(&target)];
        let mut built = builder.build(&units, &AtomicBool::new(false), |_| ()).into_iter();
        let mut next = |what: &str| match built.next() {
            Some(Ok(unit)) => Ok(unit),
            Some(Err(failure)) => Err(Error::new(ErrorKind::Failed, format!("{what} of `{}` {failure}", def.name))),
            None => Err(Error::new(ErrorKind::Failed, format!("{what} of `{}` was not compiled", def.name))),
        };
        let (reference, peak) = (next("the reference")?, next("the peak loop")?);
        drop(opening);
        let seed = seed.unwrap_or_else(fresh_seed);
        let (builder, cores) = (Arc::new(builder), Arc::new(Cores::of_process()));
        Ok(CpuHarness { def, target, builder, cores, runner, reference, peak, seed })
    }

    /// As [`Runner::heed`].
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.runner.heed(interrupt);
    }

    /// The kernel.
    pub fn def(&self) -> &KernelDef {
        &self.def
    }

    /// What candidates are compiled for.
    pub fn target(&self) -> &CpuTarget {
        &self.target
    }

    /// Compiles candidates; see [`Builder::build`].
    pub fn build(
        &self,
        units: &[TranslationUnit],
        stop: &AtomicBool,
        done: impl FnMut(usize),
    ) -> Vec<Result<Unit, Failure>> {
        let _doing = doing(format!("compiling micro-kernels of `{}`", self.def.name));
        self.builder.build(units, stop, done)
    }

    /// Starts compiling candidates, to be taken one after the other; meanwhile [`CpuHarness::cores`] says who has which core.
    pub fn compile_ahead(&self, units: Vec<TranslationUnit>) -> Compiling {
        Compiling::start(&self.builder, &self.cores, units)
    }

    /// The cores, which measurements take from the compilers that run ahead.
    pub fn cores(&self) -> &Arc<Cores> {
        &self.cores
    }

    /// Measures on the first cores only from now on: so many as a measurement has threads.
    pub fn pin(&mut self) {
        self.runner.pin(Arc::clone(&self.cores));
    }

    /// Compiles one.
    ///
    /// # Errors
    ///
    /// As [`Builder::build_one`].
    pub fn build_one(&self, unit: &TranslationUnit) -> Result<Unit, Failure> {
        let _doing = doing(format!("compiling `{}`", unit.name));
        self.builder.build_one(unit)
    }

    /// Checks and measures implementations against each other on one instance.
    ///
    /// # Errors
    ///
    /// As [`Runner::measure`].
    pub fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        threads: usize,
        timing: Timing,
    ) -> Result<Measured> {
        let mut hasher = DefaultHasher::new();
        let scalars: Vec<Option<u32>> = instance.scalars.iter().map(|scalar| scalar.map(f32::to_bits)).collect();
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

    /// The peak of fused multiply-adds, to be measured beside others.
    pub fn peak(&self, threads: usize) -> Implementation {
        Implementation::Peak { unit: self.peak.clone(), tiles: PEAK_TILES * threads as i64 }
    }

    /// Reading an instance's inputs and writing its output once, to be measured on it like an implementation.
    ///
    /// # Errors
    ///
    /// If it does not compile.
    pub fn stream(&self, instance: &Instance) -> Result<Implementation> {
        let unit = self.build_one(&stream::translation_unit(instance, &self.target));
        let unit = unit.map_err(|failure| {
            Error::new(ErrorKind::Failed, format!("reading the tensors of `{}` {failure}", self.def.name))
        })?;
        Ok(Implementation::Peak { unit, tiles: STREAM_PARTS })
    }

    /// Operations of one call of [`CpuHarness::peak`].
    pub fn peak_flops(&self, threads: usize) -> f64 {
        peak::tile_flops(&self.target) * (PEAK_TILES * threads as i64) as f64
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

/// A seed that nobody had before.
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
    Err(Error::new(
        ErrorKind::Unavailable,
        format!(
            "-march={} needs {names}, which this CPU ({}) does not have: measure on one that has",
            target.march, target.model
        ),
    ))
}
