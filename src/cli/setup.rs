//! What the subcommands have in common: from a config's path to a kernel, its instances and a measurement harness.

use std::fmt;
use std::path::{Path, PathBuf};

use dietcode::core::config::{Config, Shapes, WklInst};
use dietcode::core::dispatch::{Tuned, Winners, cuda};
use dietcode::core::frontend;
use dietcode::core::ir::Program;
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::measure::baselines::BlasLibrary;
use dietcode::core::measure::baselines::blas::LIBRARY_NAMES;
use dietcode::core::measure::{CpuHarness, Instance, Limits};
use dietcode::core::search::{Shape, WorkloadInstance};
use dietcode::core::syntax::KernelDef;
use dietcode::tuning::worker_command;
use dietcode::{Error, Result};

use super::target::Target;

/// A config with the kernel that it names.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) def: KernelDef,
    pub(crate) program: Program,
    pub(crate) vars: Vec<String>,
}

impl Setup {
    /// Reads both and checks that they speak of the same shape variables.
    pub(crate) fn read(path: &Path) -> Result<Setup> {
        Setup::of(Config::read(path)?)
    }

    /// The same for a config that has been read.
    pub(crate) fn of(config: Config) -> Result<Setup> {
        let def = config.kernel_def()?;
        let vars = Config::shape_vars(&def);
        for wkl in &config.wkl_insts {
            config.shape_of(&vars, wkl)?;
        }
        let program = frontend::program(&def);
        config.check_names(&program)?;
        Ok(Setup { program, config, def, vars })
    }

    /// The tuned file of a target, if it holds here.
    ///
    /// # Errors
    /// Why it does not; a compiler or a device that is not known.
    pub(crate) fn tuned(&self, target: Target) -> Result<Tuned> {
        let Setup { config, def, program, .. } = self;
        let found = match target {
            Target::Cpu => {
                let cpu = CpuTarget::detect(&config.cpu.march)?;
                Winners::load(config, def, program, &cpu).map(|winners| winners.tuned)
            }
            Target::Cuda(capability) => {
                cuda::load(config, (def, program), DeviceLimits::of(capability)?, None).map(|(tuned, _)| Some(tuned))
            }
        };
        let found = found.map_err(|miss| Error::unavailable(miss.to_string()))?;
        Ok(found.expect("winners that were loaded are of a tuned file"))
    }

    /// The micro-kernels that a build selects: those of the tuned file, else, with a warning that says what is done with them, those that
    /// run where nothing was tuned.
    pub(crate) fn winners(&self, cpu: &CpuTarget, what: &str, say: impl Fn(&str)) -> Winners {
        let winners = Winners::load(&self.config, &self.def, &self.program, cpu).unwrap_or_else(|miss| {
            say(&format!("warning: {what}: {miss}"));
            Winners::default_for(&self.program, cpu)
        });
        winners.gap.iter().for_each(|gap| say(&format!("warning: {gap}")));
        winners
    }

    /// A measurement harness for the kernel, measuring in processes of this same binary.
    pub(crate) fn harness(&self, seed: Option<u64>) -> Result<CpuHarness> {
        let worker = worker_command(None)?;
        CpuHarness::open(self.def.clone(), &self.config.cpu.march, worker, Limits::default(), seed)
    }

    /// The config's instances with their weights.
    ///
    /// # Errors
    ///
    /// If one of them has an empty tensor: the config bounds shape variables, but not what a nest makes of them.
    pub(crate) fn workloads(&self) -> Result<Vec<WorkloadInstance>> {
        let weighted = self.config.wkl_insts.iter().zip(&self.config.weights);
        let workload = |(wkl, weight): (&WklInst, &f64)| {
            let odd = |what: &dyn fmt::Display| {
                Error::input(format!("{}: found the instance {}: {what}", self.config.path.display(), wkl_text(wkl)))
            };
            let workload = self.workload(wkl, *weight).map_err(|error| odd(&error))?;
            let expected = "expected an instance whose throughput can be measured";
            let empty = workload.instance.empty_part(&self.def).map(|what| odd(&format!("{what}, {expected}")));
            empty.map_or(Ok(workload), Err)
        };
        weighted.map(workload).collect()
    }

    /// The shapes that `--wkl` asks for, of any extents that a call takes; the config's instances if it does not.
    pub(crate) fn asked(&self, shapes: &[Shapes]) -> Result<Vec<WorkloadInstance>> {
        if shapes.is_empty() {
            return self.workloads();
        }
        let of = |shapes: &Shapes| -> Result<Vec<WorkloadInstance>> {
            shapes.instances()?.iter().map(|wkl| self.workload(wkl, 1.0)).collect()
        };
        let workloads = shapes.iter().map(|shapes| of(shapes).map_err(|error| at_wkl(shapes, &error)));
        Ok(workloads.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The values of the shape variables by their names.
    pub(crate) fn named(&self, shape: &[i64]) -> Shape {
        self.vars.iter().cloned().zip(shape.iter().copied()).collect()
    }

    /// An instance.
    pub(crate) fn workload(&self, wkl: &WklInst, weight: f64) -> Result<WorkloadInstance> {
        let shape = self.config.shape_of(&self.vars, wkl)?;
        Ok(WorkloadInstance { wkl: wkl.clone(), weight, instance: Instance::of(&self.def, &shape)? })
    }
}

/// An error about what `--wkl` says.
pub(crate) fn at_wkl(shapes: &Shapes, error: &Error) -> Error {
    let text = Some(shapes.to_string()).filter(|text| !text.is_empty()).unwrap_or_else(|| "\"\"".to_owned());
    Error::new(error.kind(), format!("--wkl {text}: {error}"))
}

/// Which BLAS to compare with.
#[derive(Debug, clap::Args)]
pub(crate) struct BlasArguments {
    /// The BLAS to compare with: a shared library with cblas_sgemm, or "none".
    ///
    /// Without this the usual names are tried: OpenBLAS, BLIS, MKL, and whatever libblas is.
    #[arg(long, value_name = "PATH")]
    blas: Option<PathBuf>,
}

impl BlasArguments {
    /// Whether none was asked for.
    pub(crate) fn is_declined(&self) -> bool {
        self.blas.as_ref().is_some_and(|path| path.as_os_str() == "none")
    }

    /// Finds it. One that was named must be there; otherwise there may be none.
    pub(crate) fn find(&self, harness: &mut CpuHarness) -> Result<Option<BlasLibrary>> {
        match &self.blas {
            Some(_) if self.is_declined() => Ok(None),
            Some(path) => harness.find_blas([path.clone()])?.map(Some).ok_or_else(|| {
                let why = "is no library that can be loaded and has cblas_sgemm";
                Error::unavailable(format!("--blas: {} {why}", path.display()))
            }),
            None => harness.find_blas(LIBRARY_NAMES.iter().map(PathBuf::from)),
        }
    }
}

/// `T=5`, or `B=2,T=5`; in words where there are no variables.
pub(crate) fn wkl_text(wkl: &WklInst) -> String {
    if wkl.is_empty() {
        return "its only shape".to_owned();
    }
    wkl.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}
