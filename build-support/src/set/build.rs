//! From a chosen set to its library and `registry.rs`.

use std::fs;

use dietcode_core::Error;
use dietcode_core::codegen::registry::library_rs;
use dietcode_core::codegen::set::{CUDA_FOLDER, GeneratedSet, registry_rs};
use dietcode_core::syntax::KernelDef;

use super::compilers::Compilers;
use super::emit::Sources;
use super::{Chosen, emit, images};
use crate::environment::Environment;
use crate::progress::Progress;
use crate::report::Report;
use crate::{archive, objects};

impl Chosen {
    /// Generates, compiles and links the configurations for these kernels.
    pub(crate) fn build(
        &self,
        defs: &[KernelDef],
        environment: &Environment,
        progress: &Progress,
        report: &mut Report,
    ) -> Result<(), Vec<Error>> {
        let compilers = Compilers::find(self, environment).map_err(|error| vec![error])?;
        let set = GeneratedSet::new(&self.name(), &self.families, defs, &compilers.targets(), environment.jobs)
            .map_err(|error| vec![error])?;
        let images = match &compilers.nvcc {
            Ok(nvcc) => images::compile(&set, nvcc, environment, progress)?,
            Err(_) => Vec::new(),
        };
        let sources = set.cuda_files().into_iter().map(|(name, text)| (name, text.into_bytes()));
        let images = images.into_iter().map(|(name, image)| (format!("{name}.image"), image));
        let sources = Sources { cpu: set.cpu_files(), cuda: sources.chain(images).collect() };
        emit::sources(environment, &sources).map_err(|error| vec![error])?;
        let stems = compile(&set, &compilers, &sources, environment, progress)?;
        let linked = link(&stems, environment, report).map_err(|error| vec![error])?;
        self.tell_left_out(&set, &compilers, environment, report);
        let text = registry_rs(&set, &compilers.availability()) + &linked;
        emit::registry(environment, &text).map_err(|error| vec![error])
    }

    /// One line for all that the targets cannot hold; which and why stands in `registry.def`.
    fn tell_left_out(
        &self,
        set: &GeneratedSet<'_>,
        compilers: &Compilers,
        environment: &Environment,
        report: &mut Report,
    ) {
        let all = set.configurations.len();
        let on_cuda = (compilers.nvcc.is_ok() || compilers.host.is_ok()).then(|| set.cuda_units().count());
        let on_cpu = compilers.cpu.is_ok().then(|| set.cpu_units().count());
        let missing = |(served, place): (Option<usize>, &str)| {
            let served = served.filter(|served| *served < all)?;
            Some(format!("{} of {all} serve no kernel on {place}", all - served))
        };
        let parts: Vec<String> =
            [(on_cpu, "the CPU"), (on_cuda, "CUDA devices")].into_iter().filter_map(missing).collect();
        if !parts.is_empty() {
            let list = emit::folder(environment).join("registry.def");
            report.warning(&format!(
                "{}: of its configurations {}; {} says why",
                self.name(),
                parts.join(", and "),
                list.display()
            ));
        }
    }
}

/// Brings all objects up to date; their names, without `.o`, relative to the set's folder.
fn compile(
    set: &GeneratedSet<'_>,
    compilers: &Compilers,
    sources: &Sources,
    environment: &Environment,
    progress: &Progress,
) -> Result<Vec<String>, Vec<Error>> {
    let folder = emit::folder(environment);
    let mut stems: Vec<String> = objects::sources(&sources.cpu).map(str::to_owned).collect();
    let mut jobs = Vec::new();
    if let Ok((toolchain, target)) = &compilers.cpu {
        jobs.extend(objects::outdated(&folder, &sources.cpu, toolchain, target));
    }
    if let Ok(host) = &compilers.host {
        let units: Vec<String> = set.cuda_units().map(|unit| unit.name.clone()).collect();
        jobs.extend(objects::outdated_host(&folder.join(CUDA_FOLDER), &sources.cuda, &units, host));
        stems.extend(units.iter().map(|unit| format!("{CUDA_FOLDER}/{unit}")));
    }
    if !jobs.is_empty() {
        // A library that is not there is made, however this run ends.
        drop(fs::remove_file(folder.join(archive::file_name(&emit::library(environment)))));
    }
    objects::make(jobs, environment.jobs, progress)?;
    Ok(stems)
}

/// Joins the objects; what the registry says of their library.
fn link(stems: &[String], environment: &Environment, report: &mut Report) -> dietcode_core::Result<String> {
    if stems.is_empty() {
        return Ok(String::new());
    }
    let (folder, library) = (emit::folder(environment), emit::library(environment));
    archive::join(environment, &folder, &library, stems)?;
    report.search_in(&folder);
    Ok(library_rs(&library))
}
