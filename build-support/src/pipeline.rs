//! The way from sources to a linked library, as one function.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use dietcode_core::codegen::{TranslationUnit, c, registry};
use dietcode_core::dispatch::Winners;
use dietcode_core::target::{CpuTarget, Toolchain};
use dietcode_core::{Error, Result};
use dietcode_syntax::mangle;

use crate::choice;
use crate::environment::{Environment, SKIP_NATIVE};
use crate::report::Report;
use crate::sources::{self, Found};
use crate::{Kernels, archive, emit, objects};

/// What a call of a kernel that was left out says.
const SKIPPED: &str = "it was built with DIETCODE_SKIP_NATIVE set; build without it";

const NO_CUDA_TARGET: &str = "its config has no CUDA target; add one and build again";

/// Builds all kernels, or says all that is wrong.
pub(crate) fn run(kernels: &Kernels, environment: &Environment, report: &mut Report) -> Result<(), Vec<Error>> {
    watch(environment, report);
    let found = sources::read(&kernels.sources, environment, report)?;
    for Found { def, .. } in &found {
        report.set_env(&mangle::env_var(&def.name), &format!("{:016x}", def.source_hash()));
    }
    if environment.skip_native {
        return gather(found.iter().map(|kernel| skip(kernel, environment))).map(drop);
    }
    let mut machines = Machines::default();
    let plans =
        gather(found.iter().map(|kernel| plan(kernel, kernels.march.as_deref(), environment, &mut machines, report)))?;
    gather(plans.iter().map(emit)).map(drop)?;
    compile(&plans, environment.jobs)?;
    gather(plans.iter().map(|plan| join(plan, environment, report))).map(drop)?;
    // exp and tanh; it stands behind the libraries that call them.
    report.link_system("m");
    forget_others(environment, &plans).map_err(|error| vec![error])
}

/// Everything that is generated for one kernel.
struct Plan {
    folder: PathBuf,
    library: String,
    /// (name, text) of the C files and what they include.
    files: Vec<(String, String)>,
    registry_rs: String,
    toolchain: Toolchain,
    target: CpuTarget,
}

/// The compilers that were found, one for each `-march`.
#[derive(Default)]
struct Machines(BTreeMap<String, (Toolchain, CpuTarget)>);

impl Machines {
    fn get(&mut self, march: &str) -> Result<&(Toolchain, CpuTarget)> {
        if !self.0.contains_key(march) {
            let toolchain = Toolchain::find(march)?;
            let target = CpuTarget::of(&toolchain);
            self.0.insert(march.to_owned(), (toolchain, target));
        }
        Ok(&self.0[march])
    }
}

fn watch(environment: &Environment, report: &mut Report) {
    report.rerun_if_env_changed(SKIP_NATIVE);
    for name in environment.compiler_vars() {
        report.rerun_if_env_changed(&name);
    }
}

/// The Rust side alone, so that the package can be checked.
fn skip(kernel: &Found, environment: &Environment) -> Result<()> {
    let name = &kernel.def.name;
    let text = registry::skipped_registry_rs(name, SKIPPED) + &registry::skipped_cuda_rs(SKIPPED);
    emit::write(&environment.folder(name).join("registry.rs"), &text)
}

fn plan(
    kernel: &Found,
    march: Option<&str>,
    environment: &Environment,
    machines: &mut Machines,
    report: &mut Report,
) -> Result<Plan> {
    let def = &kernel.def;
    let hash = def.source_hash();
    let config = choice::config(kernel, environment, report)?;
    let march = march.or(config.as_ref().map(|config| config.cpu.march.as_str())).unwrap_or("native");
    let (toolchain, target) = machines.get(march)?;
    let Winners { schedules, decision, .. } = choice::choose(kernel, config.as_ref(), target, report);
    let units = schedules.iter().map(|schedule| c::translation_unit(def, schedule, target));
    let units = units.collect::<Result<Vec<TranslationUnit>>>()?;
    Ok(Plan {
        folder: environment.folder(&def.name),
        library: archive::library(environment, &def.name),
        registry_rs: registry::registry_rs(&def.name, hash, &units, &def.shape_vars, &decision)
            + &registry::skipped_cuda_rs(NO_CUDA_TARGET),
        files: registry::files(&def.name, hash, &units),
        toolchain: toolchain.clone(),
        target: target.clone(),
    })
}

fn emit(plan: &Plan) -> Result<()> {
    let mut keep: BTreeSet<String> = plan.files.iter().map(|(name, _)| name.clone()).collect();
    for stem in objects::sources(&plan.files) {
        keep.extend([format!("{stem}.o"), objects::key_name(stem)]);
    }
    keep.extend(["registry.rs".to_owned(), archive::file_name(&plan.library)]);
    emit::keep_only(&plan.folder, &keep)?;
    for (name, text) in &plan.files {
        emit::write(&plan.folder.join(name), text)?;
    }
    emit::write(&plan.folder.join("registry.rs"), &plan.registry_rs)
}

fn compile(plans: &[Plan], at_once: usize) -> Result<(), Vec<Error>> {
    let mut jobs = Vec::new();
    for plan in plans {
        let outdated = objects::outdated(&plan.folder, &plan.files, &plan.toolchain, &plan.target);
        if !outdated.is_empty() {
            // A library that is not there is made, however this run ends.
            drop(fs::remove_file(plan.folder.join(archive::file_name(&plan.library))));
        }
        jobs.extend(outdated);
    }
    objects::make(jobs, at_once)
}

fn join(plan: &Plan, environment: &Environment, report: &mut Report) -> Result<()> {
    if !plan.folder.join(archive::file_name(&plan.library)).is_file() {
        archive::join(environment, &plan.folder, &plan.library, objects::sources(&plan.files))?;
    }
    report.link_static(&plan.folder, &plan.library);
    Ok(())
}

/// Removes the folders of kernels that are no longer there.
fn forget_others(environment: &Environment, plans: &[Plan]) -> Result<()> {
    let folder_name = |plan: &Plan| plan.folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    emit::keep_only(&environment.folder(""), &plans.iter().filter_map(folder_name).collect())
}

/// All results, or all errors.
fn gather<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>, Vec<Error>> {
    let mut values = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}
