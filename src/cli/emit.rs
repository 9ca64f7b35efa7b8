//! `dietcode emit`

use std::path::PathBuf;

use dietcode::core::codegen::{self, registry};
use dietcode::core::dispatch::Winners;
use dietcode::core::target::CpuTarget;
use dietcode::{Error, ErrorKind, Result};

use super::print;
use super::setup::Setup;

/// Writes the files that a build script would generate and compile: a C file for each micro-kernel, the registry that
/// joins them, and the dispatcher.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode emit configs/bert_dense.json -o out
  dietcode emit configs/bert_dense.json --list-files")]
pub(crate) struct Arguments {
    /// The config.
    config: PathBuf,
    /// The folder to write to; it is made if it is not there.
    #[arg(long, short, value_name = "DIR", required_unless_present = "list_files")]
    output: Option<PathBuf>,
    /// Print the names of the files, and write none.
    #[arg(long)]
    list_files: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::read(&arguments.config)?;
    let files = files(&setup)?;
    let names: String = files.iter().map(|(name, _)| format!("{name}\n")).collect();
    let Some(folder) = arguments.output.as_ref().filter(|_| !arguments.list_files) else { return print(&names) };
    let failed = |path: &PathBuf, e| {
        Error::new(ErrorKind::Unavailable, format!("{}: cannot be written", path.display())).caused_by(e)
    };
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in &files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

/// (name, text) of all files.
fn files(setup: &Setup) -> Result<Vec<(String, String)>> {
    let Setup { config, def, .. } = setup;
    let target = CpuTarget::detect(&config.cpu.march)?;
    let winners = Winners::load(config, def, &target).unwrap_or_else(|miss| {
        eprintln!("warning: emitting the default micro-kernel: {miss}");
        Winners::default_for(def, &target)
    });
    let units = winners.schedules.iter().map(|tiled| codegen::c::translation_unit(def, tiled, &target));
    let units = units.collect::<Result<Vec<_>>>()?;
    let hash = def.source_hash();
    let mut files = registry::files(&def.name, hash, &units);
    let dispatcher = registry::registry_rs(&def.name, hash, &units, &def.shape_vars, &winners.decision);
    let cuda = registry::skipped_cuda_rs("its CUDA micro-kernels are not among these files");
    files.push(("registry.rs".to_owned(), dispatcher + &cuda));
    Ok(files)
}
