//! What there is to check and to tune on a device: from configs and sets of micro-kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dietcode::core::codegen::cuda::{CudaUnit, translation_unit};
use dietcode::core::config::{Config, ConfigFile, CudaConfig, SetGenerator, Strategy};
use dietcode::core::dispatch::default_on_gpu;
use dietcode::core::ir::Program;
use dietcode::core::machine::Target;
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode::core::measure::cuda::small_instance;
use dietcode::core::search::WorkloadInstance;
use dietcode::core::sketch::rules::Tf32;
use dietcode::core::sketch::{Blocked, MicroKernel, Value};
use dietcode::core::syntax::{Affine, DType, KernelDef};
use dietcode::tuning::listed_on_gpu;
use dietcode::{Error, Result};

use super::embedded::Embedded;
use crate::cli::files::each_once;
use crate::cli::setup::Setup;

/// All of it.
#[derive(Default)]
pub(super) struct Plan {
    /// The kernels whose micro-kernels are checked, each once.
    pub(super) kernels: Vec<(KernelDef, Program)>,
    /// The micro-kernels of the configs and sets, with the positions of their kernels.
    pub(super) checks: Vec<(usize, Blocked)>,
    /// What is tuned.
    pub(super) problems: Vec<Problem>,
    /// The schedules of the sets.
    generators: Vec<SetGenerator>,
}

/// A config that is tuned.
pub(super) struct Problem {
    /// The file's name before its extension.
    pub(super) name: String,
    /// The type of the elements, or what may multiply those of `f32`: `tf32`, to which they are rounded, or `tf32x3`.
    pub(super) precision: &'static str,
    pub(super) setup: Setup,
    pub(super) workloads: Vec<WorkloadInstance>,
    /// Whether the config is a file as it stands, which a file of winners may lie beside.
    pub(super) as_it_stands: bool,
}

/// Whole instances, or what an emulator can carry out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Whole,
    Rehearsal,
}

/// A config has at most so many schedules.
const MOST_CHECKS: u128 = 4096;

/// More micro-kernels than this are not listed for one config that says nothing else.
const MOST_LISTED: u64 = 40;

/// In a rehearsal all of it is emulated: so many candidates beside the defaults, if the config says nothing else.
const FEW_TRIALS: u64 = 1;
const FEW_INSTANCES: usize = 2;

impl Plan {
    /// Reads configs and sets, or else those that the binary carries, for a device. Where no config is named, those of the
    /// binary are tuned whose kernels the sets have.
    ///
    /// # Errors
    /// What is wrong with a config, or that none of them is for the device.
    pub(super) fn read(files: &[PathBuf], capability: ComputeCapability, size: Size) -> Result<Plan> {
        each_once(files, "file")?;
        let embedded = Embedded::unpack()?;
        let limits = DeviceLimits::of(capability)?;
        let mut plan = Plan::default();
        let paths = if files.is_empty() { embedded.checked() } else { files.to_vec() };
        let mut configs = Vec::new();
        for path in &paths {
            configs.extend(plan.add(path, limits)?.map(|setup| (setup, true)));
        }
        let named = !files.is_empty() && !configs.is_empty();
        if !named {
            let own = embedded.tuned()?.into_iter();
            configs = own.map(|(config, stands)| Ok((Setup::of(config)?, stands))).collect::<Result<_>>()?;
        }
        for (setup, as_it_stands) in configs {
            if named || plan.kernels.iter().any(|(def, _)| *def == setup.def) {
                plan.problems.push(Problem::of(setup, as_it_stands, size)?);
            }
        }
        if plan.checks.is_empty() && plan.problems.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let why = format!("no micro-kernel of {} is for {capability}", names.join(", "));
            return Err(Error::unavailable(why));
        }
        Ok(plan)
    }

    /// The translation units of the micro-kernels that are checked.
    ///
    /// # Errors
    /// A micro-kernel that is not valid on the device.
    pub(super) fn checked(&self, limits: &DeviceLimits) -> Result<Vec<CudaUnit>> {
        let of = |(at, blocked): &(usize, Blocked)| {
            let (def, program) = &self.kernels[*at];
            let (micro_kernel, _) = blocked.micro_kernel(program, limits)?;
            unit(def, program, &micro_kernel, limits)
        };
        self.checks.iter().map(of).collect()
    }

    /// Those of everything that a run compiles which takes what is listed, each once, with the names of their kernels.
    ///
    /// # Errors
    /// As [`Plan::checked`].
    pub(super) fn all(&self, limits: &DeviceLimits) -> Result<Vec<(String, CudaUnit)>> {
        let names = self.checks.iter().map(|(at, _)| self.kernels[*at].0.name.clone());
        let mut all: Vec<(String, CudaUnit)> = names.zip(self.checked(limits)?).collect();
        for problem in &self.problems {
            let Setup { def, program, .. } = &problem.setup;
            // A nest that no GPU can run has none, which the check tells.
            let default = default_on_gpu(def, program, limits).ok();
            let listed = listed_on_gpu(&self.listing(problem), program, limits);
            for micro_kernel in default.into_iter().chain(listed) {
                all.push((def.name.clone(), unit(def, program, &micro_kernel, limits)?));
            }
        }
        let all: BTreeMap<String, _> = all.into_iter().map(|unit| (unit.1.source.clone(), unit)).collect();
        Ok(all.into_values().collect())
    }

    /// A problem's config with the schedules of the sets beside its own: a tile that serves one kernel may serve another. Those
    /// by tf32 come first where that is allowed, and not at all where it is not; then those for the kernel itself.
    pub(super) fn listing(&self, problem: &Problem) -> Config {
        let mut config = problem.setup.config.clone();
        let (allowed, function) = (problem.precision, &problem.setup.def.name);
        let takes = |set: &SetGenerator, unit: &str| {
            set.generator.values("matrix_unit").is_some_and(|units| units.contains(&Value::Word(unit.to_owned())))
        };
        let alien = |set: &SetGenerator| BY_TF32.iter().any(|unit| *unit != allowed && takes(set, unit));
        let first = |set: &SetGenerator| BY_TF32.contains(&allowed) && takes(set, allowed);
        let is_own = |set: &SetGenerator| set.kernels.as_ref().is_none_or(|names| names.contains(function));
        let mut sets: Vec<&SetGenerator> = self.generators.iter().filter(|set| !alien(set)).collect();
        sets.sort_by_key(|set| (!first(set), !is_own(set)));
        let sets = sets.into_iter().map(|set| set.generator.clone());
        let none = || CudaConfig { capabilities: Vec::new(), generators: Vec::new() };
        let generators = &mut config.cuda.get_or_insert_with(none).generators;
        let own = std::mem::take(generators);
        *generators =
            if BY_TF32.contains(&allowed) { sets.chain(own).collect() } else { own.into_iter().chain(sets).collect() };
        // Those of families without loops' names come last.
        generators.sort_by_key(|generator| !generator.family.names_loops());
        config.search.trials.get_or_insert(MOST_LISTED);
        config.search.strategy = Strategy::Enumerate;
        config
    }

    /// Adds what is checked of a file; what is tuned, if it is a config for the device.
    fn add(&mut self, path: &PathBuf, limits: &DeviceLimits) -> Result<Option<Setup>> {
        let config = match ConfigFile::read(path)? {
            ConfigFile::Kernel(config) => *config,
            ConfigFile::Set(set) => {
                if serves(&set.capabilities, limits) {
                    let kernels = set.nests()?;
                    for (kernel, blocked) in set.micro_kernels(&kernels)? {
                        self.add_check(kernel, blocked);
                    }
                    self.generators.extend(set.generators);
                }
                return Ok(None);
            }
        };
        let setup = Setup::of(config)?;
        let Some(cuda) = &setup.config.cuda else { return Ok(Some(setup)) };
        if !serves(&cuda.capabilities, limits) {
            return Ok(None);
        }
        if cuda.count() > MOST_CHECKS {
            let (path, count) = (path.display(), cuda.count());
            let why = format!("its generators stand for {count} schedules, expected at most {MOST_CHECKS}");
            return Err(Error::input(format!("{path}: {why}: each is compiled; name a set of some of them")));
        }
        let kernel = (setup.def.clone(), setup.program.clone());
        let all = cuda.candidates_on(&kernel.1, limits).flatten();
        let valid = all.filter(|blocked| blocked.micro_kernel(&kernel.1, limits).is_ok());
        valid.for_each(|blocked| self.add_check(&kernel, blocked));
        Ok(Some(setup))
    }

    fn add_check(&mut self, kernel: &(KernelDef, Program), blocked: Blocked) {
        let at = self.kernels.iter().position(|(def, _)| *def == kernel.0).unwrap_or_else(|| {
            self.kernels.push(kernel.clone());
            self.kernels.len() - 1
        });
        let check = (at, blocked);
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }
}

/// What multiplies elements of `f32` where the config allows it, as configs name it.
const TF32: &str = "tf32";
const TF32X3: &str = "tf32x3";
const BY_TF32: [&str; 2] = [TF32, TF32X3];

impl Problem {
    /// Where its winners go in a folder of tuned files, if they have a place beside a config.
    pub(super) fn tuned_path(&self, folder: &Path, capability: ComputeCapability) -> Option<PathBuf> {
        self.as_it_stands.then(|| folder.join(format!("{}.{capability}.tuned.json", self.name)))
    }

    fn of(setup: Setup, as_it_stands: bool, size: Size) -> Result<Problem> {
        let (setup, workloads) = match (size, setup.workloads()?) {
            (Size::Whole, workloads) => (setup, workloads),
            (Size::Rehearsal, workloads) => shrunk(setup, workloads)?,
        };
        let element = setup.def.params.iter().find(|param| !param.dims.is_empty());
        Ok(Problem {
            name: setup.config.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            precision: match element.map_or(DType::F32, |param| param.dtype) {
                DType::F32 => match setup.config.search.tf32 {
                    Tf32::Forbidden => DType::F32.name(),
                    Tf32::Once => TF32,
                    Tf32::Thrice => TF32X3,
                },
                dtype => dtype.name(),
            },
            setup,
            workloads,
            as_it_stands,
        })
    }
}

/// A config with a few small instances, whose workload variables are the shape variables.
fn shrunk(mut setup: Setup, mut workloads: Vec<WorkloadInstance>) -> Result<(Setup, Vec<WorkloadInstance>)> {
    workloads.truncate(FEW_INSTANCES);
    for workload in &mut workloads {
        workload.instance = small_instance(&setup.def, &workload.instance)?;
        workload.wkl = setup.named(&workload.instance.shape);
    }
    let config = &mut setup.config;
    let itself = |var: &String| (var.clone(), Affine { terms: vec![(var.clone(), 1)], constant: 0 });
    config.shape = setup.vars.iter().map(itself).collect();
    config.wkl_insts = workloads.iter().map(|workload| workload.wkl.clone()).collect();
    config.weights.truncate(FEW_INSTANCES);
    config.search.trials.get_or_insert(FEW_TRIALS);
    Ok((setup, workloads))
}

/// What a compiler gets for a micro-kernel.
fn unit(def: &KernelDef, program: &Program, micro_kernel: &MicroKernel, limits: &DeviceLimits) -> Result<CudaUnit> {
    translation_unit(def, &micro_kernel.name(), &micro_kernel.lowered(program, &Target::Cuda(*limits))?)
}

/// Code for an older device is compiled for this one; code for a newer one may not be.
fn serves(capabilities: &[ComputeCapability], limits: &DeviceLimits) -> bool {
    capabilities.iter().any(|capability| *capability <= limits.capability)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dietcode::ErrorKind;
    use dietcode::core::measure::baselines::Gemm;

    use super::*;

    #[test]
    fn every_product_is_one_of_cublas_and_its_operations_are_counted_once() {
        let plan = Plan::read(&[], "sm_80".parse().unwrap(), Size::Whole).unwrap();
        for Problem { setup: Setup { def, .. }, workloads, .. } in &plan.problems {
            for WorkloadInstance { instance, .. } in workloads {
                let gemm = Gemm::of(def, instance).expect("it is a product");
                let batch: i64 = gemm.batch.iter().map(|batch| batch.extent).product();
                assert_eq!(instance.flops, (2 * batch * gemm.m * gemm.n * gemm.k) as f64, "{}", def.name);
            }
        }
    }

    #[test]
    fn a_space_that_is_too_large_to_be_compiled_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ops.rs"), include_str!("../../ops.rs")).unwrap();
        let path = folder.path().join("dense.json");
        let tiles: Vec<String> = (1..=4097).map(|k| format!("{{ \"k\": {k} }}")).collect();
        let tiles = tiles.join(", ");
        let text = format!(
            r#"{{ "kernel": {{ "source": "ops.rs", "function": "dense" }}, "shape": {{ "M": "T", "K": 8, "N": 8 }},
            "wkl_insts": [{{ "T": 1 }}], "targets": {{ "cuda": {{ "capabilities": ["sm_80"], "generators": [
            {{ "family": "blocked", "thread": [{{ "i": 8, "j": 8 }}], "reduce": [{tiles}] }}] }} }} }}"#
        );
        std::fs::write(&path, text).unwrap();
        let error = Plan::read(&[path], "sm_90".parse().unwrap(), Size::Rehearsal).err().unwrap().to_string();
        assert!(error.contains("dense.json: its generators stand for 4097 schedules"), "{error}");
    }

    /// Where nothing can be compiled, a run has what it needs among the images.
    #[test]
    fn what_is_listed_of_sets_and_configs_is_compiled_for_other_machines() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ops.rs"), include_str!("../../ops.rs")).unwrap();
        let path = folder.path().join("set.json");
        let text = r#"{ "kernels": [{ "source": "ops.rs", "function": "dense" }], "targets": { "cuda": { "capabilities": ["sm_80"],
            "generators": [{ "family": "blocked", "thread": [{ "i": 8, "j": 8 }], "inner": [{ "i": 2, "j": 2 }], "reduce": [{ "k": 8 }] },
            { "family": "blocked", "thread": [{ "i": 1, "j": 2 }], "inner": [{ "i": 1, "j": 2 }], "reduce": [{ "k": 16 }],
            "stage": [{ "x": { "vector": 4, "pad": 4 }, "w": { "vector": 4, "pad": 4 } }], "matrix_unit": ["tf32"] }] } } }"#;
        std::fs::write(&path, text).unwrap();
        let capability = "sm_90".parse().unwrap();
        let (plan, limits) =
            (Plan::read(&[path], capability, Size::Whole).unwrap(), DeviceLimits::of(capability).unwrap());
        let precisions: Vec<&str> = plan.problems.iter().map(|problem| problem.precision).collect();
        assert_eq!((plan.checks.len(), &precisions[..]), (2, &["f32", TF32, TF32X3][..]));
        let all = plan.all(limits).unwrap();
        let compiled: BTreeSet<&str> = all.iter().map(|(_, unit)| &*unit.name).collect();
        assert_eq!(compiled.len(), all.len(), "each once");
        let mut needed = BTreeSet::new();
        for problem in &plan.problems {
            let program = &problem.setup.program;
            let (default, _) = Blocked::default_for(program, limits).unwrap().micro_kernel(program, limits).unwrap();
            let listed = listed_on_gpu(&plan.listing(problem), program, limits);
            needed.extend(listed.iter().map(MicroKernel::name).chain([default.name()]));
        }
        assert_eq!(compiled, needed.iter().map(|name| &**name).collect(), "the checked are among the listed here");
    }

    #[test]
    fn the_configs_of_the_binary_serve_ampere_and_hopper() {
        for name in ["sm_80", "sm_90"] {
            let (capability, mut precisions) = (name.parse().unwrap(), BTreeSet::new());
            let plan = Plan::read(&[], capability, Size::Whole).unwrap();
            let limits = DeviceLimits::of(capability).unwrap();
            assert!(plan.checks.len() >= 60, "{name}: {}", plan.checks.len());
            for problem in &plan.problems {
                let listed = listed_on_gpu(&plan.listing(problem), &problem.setup.program, limits);
                let rounding = listed.iter().filter(|listed| format!("{:?}", listed.trace).contains("Tf32")).count();
                assert!(listed.len() > 1 && problem.workloads.len() == 8, "{}", problem.name);
                let allowed = BY_TF32.contains(&problem.precision);
                assert_eq!(rounding > 0, allowed, "{} in {}", problem.name, problem.precision);
                precisions.insert((problem.name.clone(), problem.precision));
            }
            assert_eq!(precisions.len(), 13, "{name}: three products in four precisions, one in five: {precisions:?}");
            assert_eq!(plan.problems.iter().filter(|problem| problem.as_it_stands).count(), 3, "{name}");
        }
        let error = Plan::read(&[], "sm_75".parse().unwrap(), Size::Whole).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn any_nest_is_rehearsed_at_small_instances() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ops.rs"), include_str!("../../ops.rs")).unwrap();
        let config = |name: &str, function: &str, shape: &str| {
            let text = format!(
                r#"{{ "kernel": {{ "source": "ops.rs", "function": "{function}" }}, "shape": {shape},
                "wkl_insts": [{{ "T": 56 }}, {{ "T": 1000 }}, {{ "T": 2 }}] }}"#
            );
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let shape = r#"{ "O": 64, "H": "T", "W": "T", "C": 64, "R": 3, "S": 3 }"#;
        let files = [config("a.json", "conv2d", shape), config("b.json", "row_sum", r#"{ "M": "T", "N": 4096 }"#)];
        let plan = Plan::read(&files, "sm_90".parse().unwrap(), Size::Rehearsal).unwrap();
        let names: Vec<&str> = plan.problems.iter().map(|problem| &*problem.name).collect();
        assert_eq!(names, ["a", "b"]);
        for Problem { setup, workloads, .. } in &plan.problems {
            assert_eq!(workloads.len(), 2);
            for (workload, wkl) in workloads.iter().zip(&setup.config.wkl_insts) {
                assert!(workload.instance.flops <= 3e5, "{workload:?}");
                assert_eq!(setup.config.shape_of(&setup.vars, wkl).unwrap(), workload.instance.shape);
            }
        }
    }
}
