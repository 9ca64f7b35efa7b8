//! Writes a set's files, and removes what was written for another one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dietcode_core::Result;
use dietcode_core::codegen::set::CUDA_FOLDER;

use crate::environment::Environment;
use crate::{archive, emit, objects};

/// The name of the set's library, behind that of the package.
const LIBRARY: &str = "configurations";

/// The folder of all files.
pub(super) fn folder(environment: &Environment) -> PathBuf {
    environment.out_dir.join("dietcode-set")
}

/// The name by which the set's library is linked.
pub(super) fn library(environment: &Environment) -> String {
    archive::library(environment, LIBRARY)
}

/// What is written of a set, as (name, contents).
pub(super) struct Sources {
    /// The C files and what they include.
    pub(super) cpu: Vec<(String, String)>,
    /// What stands in the folder for CUDA: sources, headers, images.
    pub(super) cuda: Vec<(String, Vec<u8>)>,
}

/// Writes the sources.
pub(super) fn sources(environment: &Environment, Sources { cpu: files, cuda }: &Sources) -> Result<()> {
    let folder = folder(environment);
    let library = library(environment);
    let own =
        ["registry.rs".to_owned(), CUDA_FOLDER.to_owned(), archive::file_name(&library), archive::key_name(&library)];
    let mut keep: BTreeSet<String> = own.into_iter().chain(files.iter().map(|(name, _)| name.clone())).collect();
    keep.extend(objects::sources(files).flat_map(made_of));
    emit::keep_only(&folder, &keep)?;
    let mut keep: BTreeSet<String> = cuda.iter().map(|(name, _)| first_part(name)).collect();
    keep.extend(cuda.iter().filter_map(|(name, _)| name.strip_suffix(".cu")).flat_map(made_of));
    emit::keep_only(&folder.join(CUDA_FOLDER), &keep)?;
    files.iter().try_for_each(|(name, text)| emit::write(&folder.join(name), text))?;
    cuda.iter().try_for_each(|(name, contents)| emit::write(&folder.join(CUDA_FOLDER).join(name), contents))
}

/// Writes `registry.rs`, which comes last: where it is new, all that it names is there. The program includes it as it is, so
/// it brings in `dietcode_core` by that name itself.
pub(super) fn registry(environment: &Environment, text: &str) -> Result<()> {
    let core = format!("use ::{} as dietcode_core;\n\n", environment.manifest.core);
    emit::write(&folder(environment).join("registry.rs"), core + text)
}

/// What is made of a source.
fn made_of(stem: &str) -> [String; 2] {
    [format!("{stem}.o"), objects::key_name(stem)]
}

fn first_part(name: &str) -> String {
    name.split('/').next().unwrap_or(name).to_owned()
}
