//! The way from sources to a linked library, as one function.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode_core::codegen::TranslationUnit;
use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::registry::{self, Decision};
use dietcode_core::config::Config;
use dietcode_core::lower::{DUMP_IR, dump_folder};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::{Error, Result};
use dietcode_syntax::{KernelDef, mangle};

use crate::choice;
use crate::cuda::{self, Half};
use crate::environment::{Environment, SKIP_NATIVE};
use crate::gather::gather;
use crate::generated::Generated;
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
    gather(plans.iter().map(Plan::write)).map(drop)?;
    let progress = Progress::new(environment.out_dir.join("dietcode-progress"));
    let outdated = plans.iter().flat_map(|plan| plan.generated.outdated(Some(&plan.machine))).collect();
    objects::make(outdated, environment.jobs, &progress)?;
    gather(plans.iter().map(|plan| plan.generated.join(environment, report))).map(drop)?;
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
    units: Vec<TranslationUnit>,
    /// Which of them serves which shape.
    decision: Decision,
    /// The files, once the CUDA half is there, which the C files list too.
    generated: Generated,
    registry_rs: String,
    machine: (Toolchain, CpuTarget),
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
    let machine = machines.get(march)?;
    let winners = choice::choose(group, kernel, config, &machine.1, report);
    let units = winners.units(def, &machine.1.march)?;
    let library = archive::library(environment, &def.name);
    let registry_rs = registry::registry_rs(&def.name, def.source_hash(), &units, &def.shape_vars, &winners.decision);
    let registry_rs = registry_rs + &registry::library_rs(&library);
    let folder = environment.folder(&def.name);
    let generated = Generated { folder, library, cpu: Vec::new(), cuda: Vec::new(), host: None };
    Ok(Plan { def, units, decision: winners.decision, generated, registry_rs, machine: machine.clone() })
}

impl Plan<'_> {
    /// Takes in the CUDA half.
    fn complete(&mut self, cuda: Half) {
        let units: Vec<&CudaUnit> = cuda.units.iter().collect();
        self.generated.cpu = registry::files(self.def, Some((&self.units, &self.decision)), (&units, &cuda.decisions));
        self.generated.cuda = cuda.files;
        self.generated.host = cuda.host;
        self.registry_rs.push_str(&cuda.registry);
    }

    fn write(&self) -> Result<()> {
        self.generated.write()?;
        emit::write(&self.generated.folder.join("registry.rs"), &self.registry_rs)
    }
}

/// Removes the folders of kernels that are no longer there.
fn forget_others(environment: &Environment, plans: &[Plan<'_>]) -> Result<()> {
    let folder_name =
        |plan: &Plan<'_>| plan.generated.folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    emit::keep_only(&environment.folder(""), &plans.iter().filter_map(folder_name).collect())
}
