//! What there is to check and to tune on a device: from configs and sets of micro-kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dietcode::core::codegen::cuda::{CudaUnit, translation_unit};
use dietcode::core::config::{Config, KernelSet};
use dietcode::core::frontend;
use dietcode::core::ir::Program;
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode::core::search::WorkloadInstance;
use dietcode::core::sketch::Blocked;
use dietcode::core::syntax::KernelDef;
use dietcode::{Error, ErrorKind, Result};

use super::embedded::{BERT, Embedded};
use super::problems::{PRECISIONS, PRODUCTS, Precision, Size};

/// All of it.
pub(crate) struct Plan {
    /// The kernels of the configs, each once.
    pub(crate) defs: Vec<KernelDef>,
    /// The micro-kernels of the configs, with the positions of their kernels.
    pub(crate) checks: Vec<(usize, Blocked)>,
    /// What is tuned.
    pub(super) problems: Vec<Problem>,
    /// Configs by the positions of their kernels, as [`Problem::config`].
    configs: BTreeMap<usize, (String, String)>,
}

/// A product with the micro-kernels that may carry it out.
pub(super) struct Problem {
    pub(super) name: &'static str,
    pub(super) precision: Precision,
    /// The position of its kernel.
    pub(super) def: usize,
    pub(super) workloads: Vec<WorkloadInstance>,
    /// The default first.
    pub(super) candidates: Vec<Blocked>,
    /// The kernel's config, if it has one: the file's name before its extension, and the hash of its space. A file of winners
    /// beside it would never hold tf32.
    pub(super) config: Option<(String, String)>,
}

/// A config has at most so many schedules.
const MOST_CHECKS: u128 = 4096;

/// More candidates than this are not compiled for one product.
const MOST_CANDIDATES: usize = 40;

/// In a rehearsal all of it is emulated.
const FEW_CANDIDATES: usize = 2;
const FEW_LENGTHS: usize = 2;

impl Plan {
    /// Reads configs, or else those that the binary carries, for a device.
    ///
    /// # Errors
    /// What is wrong with a config, or that none of them is for the device.
    pub(super) fn read(configs: &[PathBuf], capability: ComputeCapability, size: Size) -> Result<Plan> {
        let embedded = Embedded::unpack()?;
        let limits = DeviceLimits::of(capability)?;
        let mut plan = Plan { defs: Vec::new(), checks: Vec::new(), problems: Vec::new(), configs: BTreeMap::new() };
        let paths = if configs.is_empty() { embedded.configs() } else { configs.to_vec() };
        for path in &paths {
            plan.add(path, limits)?;
        }
        if plan.checks.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let why = format!("no micro-kernel of {} is for {capability}", names.join(", "));
            return Err(Error::new(ErrorKind::Unavailable, why));
        }
        let lengths = lengths(&embedded, size)?;
        plan.add_problems(limits, &lengths, size)?;
        Ok(plan)
    }

    /// The translation units of micro-kernels, each with its kernel's position.
    ///
    /// # Errors
    /// A micro-kernel that is not valid on the device.
    pub(crate) fn units(&self, of: &[(usize, Blocked)], limits: &DeviceLimits) -> Result<Vec<CudaUnit>> {
        let programs: Vec<Program> = self.defs.iter().map(frontend::program).collect();
        let unit = |(def, blocked): &(usize, Blocked)| {
            let (micro_kernel, lowered) = blocked.micro_kernel(&programs[*def], limits)?;
            translation_unit(&self.defs[*def], &micro_kernel.name(), &lowered)
        };
        of.iter().map(unit).collect()
    }

    /// Every micro-kernel that is compiled, with its kernel's position, each once.
    pub(crate) fn all(&self) -> Vec<(usize, Blocked)> {
        let tuned = self.problems.iter().flat_map(|p| p.candidates.iter().map(|blocked| (p.def, blocked.clone())));
        let all: BTreeSet<(usize, Blocked)> = self.checks.iter().cloned().chain(tuned).collect();
        all.into_iter().collect()
    }

    fn add(&mut self, path: &PathBuf, limits: &DeviceLimits) -> Result<()> {
        if is_config(path) {
            let config = Config::read(path)?;
            let Some(cuda) = config.cuda.as_ref().filter(|cuda| serves(&cuda.capabilities, limits)) else {
                return Ok(());
            };
            if cuda.count() > MOST_CHECKS {
                let (path, count) = (path.display(), cuda.count());
                let why = format!("its generators stand for {count} schedules, expected at most {MOST_CHECKS}");
                return Err(Error::input(format!("{path}: {why}: each is compiled; name a set of some of them")));
            }
            let def = config.kernel_def()?;
            let program = frontend::program(&def);
            let all = cuda.candidates_on(&program, limits).flatten();
            let valid = all.filter(|blocked| blocked.micro_kernel(&program, limits).is_ok());
            valid.collect::<Vec<Blocked>>().into_iter().for_each(|blocked| self.add_check(&def, blocked));
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let at = self.position(&def);
            self.configs.insert(at, (stem, cuda.space_hash()));
        } else {
            let set = KernelSet::read(path)?;
            if serves(&set.capabilities, limits) {
                let defs = set.kernel_defs()?;
                for (def, blocked) in set.micro_kernels(&defs)? {
                    self.add_check(def, blocked);
                }
            }
        }
        Ok(())
    }

    fn add_check(&mut self, def: &KernelDef, blocked: Blocked) {
        let check = (self.position(def), blocked);
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }

    /// The position of a kernel, which is added if it is not there.
    fn position(&mut self, def: &KernelDef) -> usize {
        self.defs.iter().position(|known| known == def).unwrap_or_else(|| {
            self.defs.push(def.clone());
            self.defs.len() - 1
        })
    }

    /// The products whose kernels there are, each in every precision that a micro-kernel has.
    fn add_problems(&mut self, limits: &DeviceLimits, lengths: &[i64], size: Size) -> Result<()> {
        for product in PRODUCTS {
            for precision in PRECISIONS {
                let function = product.function(precision);
                let Some(def) = self.defs.iter().position(|def| def.name == function) else { continue };
                let candidates = self.candidates(def, precision, limits, size);
                if candidates.is_empty() {
                    continue;
                }
                let workloads = product.workloads(&self.defs[def], lengths, size)?;
                let config = self.configs.get(&def).filter(|_| precision != Precision::Tf32).cloned();
                self.problems.push(Problem { name: product.name, precision, def, workloads, candidates, config });
            }
        }
        Ok(())
    }

    /// The default, the kernel's own micro-kernels, and those of other kernels that are valid for it too: a tile that serves
    /// one product may serve another.
    fn candidates(&self, def: usize, precision: Precision, limits: &DeviceLimits, size: Size) -> Vec<Blocked> {
        let program = frontend::program(&self.defs[def]);
        let default = Blocked::default_for(&program, limits);
        let own = self.checks.iter().filter(|(of, _)| *of == def);
        let others = self.checks.iter().filter(|(of, _)| *of != def && size == Size::Whole);
        let mut candidates: Vec<Blocked> = Vec::new();
        for blocked in default.iter().chain(own.chain(others).map(|(_, blocked)| blocked)) {
            let fits = precision.admits(blocked) && blocked.micro_kernel(&program, limits).is_ok();
            if fits && !candidates.contains(blocked) {
                candidates.push(blocked.clone());
            }
        }
        candidates.truncate(if size == Size::Whole { MOST_CANDIDATES } else { FEW_CANDIDATES });
        candidates
    }
}

/// Code for an older device is compiled for this one; code for a newer one may not be.
fn serves(capabilities: &[ComputeCapability], limits: &DeviceLimits) -> bool {
    capabilities.iter().any(|capability| *capability <= limits.capability)
}

/// Whether a file is of one kernel; others are sets, whose reader says what is wrong with them.
fn is_config(path: &PathBuf) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let value: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    value.is_some_and(|value| value.get("kernel").is_some())
}

/// The sequence lengths that count.
fn lengths(embedded: &Embedded, size: Size) -> Result<Vec<i64>> {
    let config = Config::read(embedded.path(BERT))?;
    let lengths = config.wkl_insts.iter().filter_map(|wkl| wkl.get("T").copied());
    Ok(lengths.take(if size == Size::Whole { usize::MAX } else { FEW_LENGTHS }).collect())
}

#[cfg(test)]
mod tests {
    use dietcode::core::measure::baselines::Gemm;

    use super::*;

    #[test]
    fn every_product_is_one_of_cublas_and_its_operations_are_counted_once() {
        let plan = Plan::read(&[], "sm_80".parse().unwrap(), Size::Whole).unwrap();
        for problem in &plan.problems {
            let def = &plan.defs[problem.def];
            for WorkloadInstance { instance, .. } in &problem.workloads {
                let gemm = Gemm::of(def, instance).expect("it is a product");
                let batch: i64 = gemm.batch.iter().map(|batch| batch.extent).product();
                assert_eq!(instance.flops, (2 * batch * gemm.m * gemm.n * gemm.k) as f64, "{}", def.name);
            }
        }
    }

    #[test]
    fn a_space_that_is_too_large_to_be_compiled_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
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

    #[test]
    fn the_configs_of_the_binary_serve_ampere_and_hopper() {
        for name in ["sm_80", "sm_90"] {
            let plan = Plan::read(&[], name.parse().unwrap(), Size::Whole).unwrap();
            assert!(plan.checks.len() >= 60, "{name}: {}", plan.checks.len());
            assert_eq!(plan.problems.len(), PRODUCTS.len() * PRECISIONS.len(), "{name}");
            assert!(plan.problems.iter().all(|problem| problem.candidates.len() > 1 && problem.workloads.len() == 8));
        }
        let error = Plan::read(&[], "sm_75".parse().unwrap(), Size::Whole).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}
