//! What is generated for a kernel, or for a set of configurations: its files, their objects, and the library of those.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use dietcode_core::Result;
use dietcode_core::dispatch::cuda::FOLDER;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::machine::{CpuTarget, Toolchain};

use crate::environment::Environment;
use crate::objects::Job;
use crate::report::Report;
use crate::{archive, emit, objects};

/// A folder of generated files. Beside each source stand the object and the key that are made of it.
pub(crate) struct Generated {
    pub(crate) folder: PathBuf,
    /// The name by which the library is linked.
    pub(crate) library: String,
    /// (name, text) of the C files and what they include.
    pub(crate) cpu: Vec<(String, String)>,
    /// (name, contents) of what stands in the folder for CUDA: sources, headers, images.
    pub(crate) cuda: Vec<(String, Vec<u8>)>,
    /// The `.cu` files, without `.cu`, that are compiled for the emulated device, and the compiler.
    pub(crate) host: Option<(Vec<String>, HostCompiler)>,
}

impl Generated {
    /// Writes the files, and removes what was written or made of others. `registry.rs` stays: its turn is not here.
    pub(crate) fn write(&self) -> Result<()> {
        let Generated { folder, library, cpu, cuda, .. } = self;
        let own =
            ["registry.rs".to_owned(), FOLDER.to_owned(), archive::file_name(library), archive::key_name(library)];
        let mut keep: BTreeSet<String> = own.into_iter().chain(cpu.iter().map(|(name, _)| name.clone())).collect();
        keep.extend(objects::sources(cpu).flat_map(made_of));
        emit::keep_only(folder, &keep)?;
        let mut keep: BTreeSet<String> = cuda.iter().map(|(name, _)| first_part(name)).collect();
        keep.extend(cuda.iter().filter_map(|(name, _)| name.strip_suffix(".cu")).flat_map(made_of));
        emit::keep_only(&folder.join(FOLDER), &keep)?;
        cpu.iter().try_for_each(|(name, text)| emit::write(&folder.join(name), text))?;
        cuda.iter().try_for_each(|(name, contents)| emit::write(&folder.join(FOLDER).join(name), contents))
    }

    /// What brings all objects up to date; those of C files with the compiler of this machine.
    pub(crate) fn outdated(&self, machine: Option<&(Toolchain, CpuTarget)>) -> Vec<Job> {
        let own = machine.map(|(toolchain, target)| objects::outdated(&self.folder, &self.cpu, toolchain, target));
        let host = self
            .host
            .as_ref()
            .map(|(stems, compiler)| objects::outdated_host(&self.folder.join(FOLDER), &self.cuda, stems, compiler));
        let jobs: Vec<Job> = own.into_iter().chain(host).flatten().collect();
        if !jobs.is_empty() {
            // A library that is not there is made, however this run ends.
            drop(fs::remove_file(self.folder.join(archive::file_name(&self.library))));
        }
        jobs
    }

    /// Joins the objects to the library, unless there are none; whether there is one.
    pub(crate) fn join(&self, environment: &Environment, report: &mut Report) -> Result<bool> {
        let host = self.host.iter().flat_map(|(stems, _)| stems).map(|stem| format!("{FOLDER}/{stem}"));
        let stems: Vec<String> = objects::sources(&self.cpu).map(str::to_owned).chain(host).collect();
        if stems.is_empty() {
            return Ok(false);
        }
        archive::join(environment, &self.folder, &self.library, &stems)?;
        report.search_in(&self.folder);
        Ok(true)
    }
}

/// What is made of a source.
fn made_of(stem: &str) -> [String; 2] {
    [format!("{stem}.o"), objects::key_name(stem)]
}

fn first_part(name: &str) -> String {
    name.split('/').next().unwrap_or(name).to_owned()
}
