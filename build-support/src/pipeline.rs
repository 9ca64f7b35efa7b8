//! The way from sources to a linked library, as one function.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use dietcode_core::codegen::TranslationUnit;
use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::registry::{self, Decision};
use dietcode_core::config::Config;
use dietcode_core::dispatch::cuda::FOLDER;
use dietcode_core::lower::{DUMP_IR, dump_folder};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::{Error, Result};
use dietcode_syntax::{KernelDef, mangle};

use crate::choice;
use crate::cuda::{self, Half};
use crate::environment::{Environment, SKIP_NATIVE};
use crate::gather::gather;
use crate::progress::Progress;
use crate::report::Report;
use crate::sources::{self, Found, Sources};
use crate::{Kernels, archive, emit, objects, set};

/// What a call of a kernel that was left out says.
const SKIPPED: &str = "it was built with DIETCODE_SKIP_NATIVE set; build without it";

/// Builds all kernels, or says all that is wrong.
pub(crate) fn run(mut groups: Vec<Kernels>, environment: &Environment, report: &mut Report) -> Result<(), Vec<Error>> {
    watch(environment, report);
    dump_folder().map_err(|error| vec![error])?;
    let set = set::choose(&groups, environment, report).map_err(|error| vec![error])?;
    set.iter().for_each(|set| set.prepare(&mut groups[set.group]));
    let Sources { kernels: found, files } = sources::read(&groups, environment, report)?;
    tell_macro(&found, &files, environment, report);
    let configs = gather(found.iter().map(|kernel| choice::config(kernel, environment, report)))?;
    if environment.skip_native {
        let set = set.iter().map(|set| set.skip(environment, SKIPPED));
        return gather(found.iter().map(|kernel| skip(kernel, environment)).chain(set)).map(drop);
    }
    let kernels =
        || found.iter().zip(&configs).map(|(kernel, config)| (&groups[kernel.group], kernel, config.as_ref()));
    let mut machines = Machines::default();
    let planned =
        kernels().map(|(group, kernel, config)| plan(group, kernel, config, environment, &mut machines, report));
    let mut plans = gather(planned)?;
    report.tell_untuned();
    let halves = cuda::halves(&kernels().collect::<Vec<_>>(), environment, report)?;
    plans.iter_mut().zip(halves).for_each(|(plan, half)| plan.complete(half));
    gather(plans.iter().map(emit)).map(drop)?;
    let progress = Progress::new(environment.out_dir.join("dietcode-progress"));
    compile(&plans, environment.jobs, &progress)?;
    gather(plans.iter().map(|plan| join(plan, environment, report))).map(drop)?;
    if let Some(set) = &set {
        let own = found.iter().filter(|kernel| kernel.group == set.group);
        set.build(&own.map(|kernel| kernel.def.clone()).collect::<Vec<_>>(), environment, &progress, report)?;
    }
    forget_others(environment, &plans).map_err(|error| vec![error])
}

/// What the macro cannot know: the kernels as they were read, which files were, and what this crate's runtime is called there.
fn tell_macro(found: &[Found], files: &[PathBuf], environment: &Environment, report: &mut Report) {
    for Found { def, place, .. } in found {
        report.set_env(&mangle::env_var(&def.name), &format!("{:016x} {place}", def.source_hash()));
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    report.set_env(mangle::SOURCES_VAR, &files.join(";"));
    report.set_env(mangle::CORE_VAR, &environment.manifest.core);
}

/// Everything that is generated for one kernel.
struct Plan<'a> {
    def: &'a KernelDef,
    folder: PathBuf,
    library: String,
    units: Vec<TranslationUnit>,
    /// Which of them serves which shape.
    decision: Decision,
    /// (name, text) of the C files and what they include, once the CUDA half is there, which they list.
    files: Vec<(String, String)>,
    registry_rs: String,
    toolchain: Toolchain,
    target: CpuTarget,
    /// The CUDA half, which is made when all plans are.
    cuda: Half,
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
    environment.manifest.files.iter().for_each(|manifest| report.rerun_if_changed(manifest));
    report.rerun_if_env_changed(SKIP_NATIVE);
    report.rerun_if_env_changed(DUMP_IR);
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

fn plan<'a>(
    group: &Kernels,
    kernel: &'a Found,
    config: Option<&Config>,
    environment: &Environment,
    machines: &mut Machines,
    report: &mut Report,
) -> Result<Plan<'a>> {
    let def = &kernel.def;
    let march = group.march.as_deref().or(config.map(|config| config.cpu.march.as_str())).unwrap_or("native");
    let (toolchain, target) = machines.get(march)?;
    let winners = choice::choose(group, kernel, config, target, report);
    let units = winners.units(def, &target.march)?;
    let library = archive::library(environment, &def.name);
    let registry_rs = registry::registry_rs(&def.name, def.source_hash(), &units, &def.shape_vars, &winners.decision);
    Ok(Plan {
        folder: environment.folder(&def.name),
        registry_rs: registry_rs + &registry::library_rs(&library),
        library,
        def,
        units,
        decision: winners.decision,
        files: Vec::new(),
        toolchain: toolchain.clone(),
        target: target.clone(),
        cuda: Half::default(),
    })
}

impl Plan<'_> {
    /// Takes in the CUDA half.
    fn complete(&mut self, cuda: Half) {
        let units: Vec<&CudaUnit> = cuda.units.iter().collect();
        self.files = registry::files(self.def, Some((&self.units, &self.decision)), (&units, &cuda.decisions));
        self.cuda = cuda;
    }

    /// Where the files of the CUDA half stand.
    fn cuda_folder(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    /// The objects of both halves, without `.o`, relative to the kernel's folder.
    fn stems(&self) -> Vec<String> {
        let host = self.cuda.host.iter().flat_map(|(stems, _)| stems).map(|stem| format!("{FOLDER}/{stem}"));
        objects::sources(&self.files).map(str::to_owned).chain(host).collect()
    }
}

fn emit(plan: &Plan<'_>) -> Result<()> {
    let mut keep: BTreeSet<String> = plan.files.iter().map(|(name, _)| name.clone()).collect();
    for stem in objects::sources(&plan.files) {
        keep.extend([format!("{stem}.o"), objects::key_name(stem)]);
    }
    let library = [archive::file_name(&plan.library), archive::key_name(&plan.library)];
    keep.extend(["registry.rs".to_owned(), FOLDER.to_owned()].into_iter().chain(library));
    emit::keep_only(&plan.folder, &keep)?;
    for (name, text) in &plan.files {
        emit::write(&plan.folder.join(name), text)?;
    }
    emit_cuda(plan)?;
    emit::write(&plan.folder.join("registry.rs"), plan.registry_rs.clone() + &plan.cuda.registry)
}

fn emit_cuda(plan: &Plan<'_>) -> Result<()> {
    let first_part = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
    let mut keep: BTreeSet<String> = plan.cuda.files.iter().map(|(name, _)| first_part(name)).collect();
    for stem in plan.cuda.host.iter().flat_map(|(stems, _)| stems) {
        keep.extend([format!("{stem}.o"), objects::key_name(stem)]);
    }
    let folder = plan.cuda_folder();
    emit::keep_only(&folder, &keep)?;
    plan.cuda.files.iter().try_for_each(|(name, contents)| emit::write(&folder.join(name), contents))
}

fn compile(plans: &[Plan<'_>], at_once: usize, progress: &Progress) -> Result<(), Vec<Error>> {
    let mut jobs = Vec::new();
    for plan in plans {
        let mut outdated = objects::outdated(&plan.folder, &plan.files, &plan.toolchain, &plan.target);
        if let Some((stems, compiler)) = &plan.cuda.host {
            outdated.extend(objects::outdated_host(&plan.cuda_folder(), &plan.cuda.files, stems, compiler));
        }
        if !outdated.is_empty() {
            // A library that is not there is made, however this run ends.
            drop(fs::remove_file(plan.folder.join(archive::file_name(&plan.library))));
        }
        jobs.extend(outdated);
    }
    objects::make(jobs, at_once, progress)
}

fn join(plan: &Plan<'_>, environment: &Environment, report: &mut Report) -> Result<()> {
    archive::join(environment, &plan.folder, &plan.library, &plan.stems())?;
    report.search_in(&plan.folder);
    Ok(())
}

/// Removes the folders of kernels that are no longer there.
fn forget_others(environment: &Environment, plans: &[Plan<'_>]) -> Result<()> {
    let folder_name = |plan: &Plan<'_>| plan.folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    emit::keep_only(&environment.folder(""), &plans.iter().filter_map(folder_name).collect())
}
