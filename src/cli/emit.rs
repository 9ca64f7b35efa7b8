//! `dietcode emit`
mod set;

use std::path::PathBuf;

use dietcode::core::codegen::cuda::CudaUnit;
use dietcode::core::codegen::cuda::headers::{DEVICE_HEADERS, HOST_HEADERS};
use dietcode::core::codegen::registry::{self, Capability, Decision};
use dietcode::core::config::ConfigFile;
use dietcode::core::dispatch::cuda::FOLDER;
use dietcode::core::machine::CpuTarget;
use dietcode::{Error, Result};

use super::setup::Setup;
use super::{cuda, print, tell};

/// Writes the files that a build script would generate and compile: a C file for each micro-kernel, the registry that
/// joins them, and the dispatcher in Rust and in C; for CUDA a folder with a .cu file for each micro-kernel, and why these were chosen. Of a
/// set, a file for each configuration, with its micro-kernels for the general products of BLAS, and the registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode emit configs/bert_dense.json -o out
  dietcode emit configs/bert_dense.json --target cuda -o out
  dietcode emit configs/bert_dense.json --list-files
  dietcode emit configs/cpu_avx2.json -o out")]
pub(crate) struct Arguments {
    /// The config or set.
    config: PathBuf,
    /// The folder to write to; it is made if it is not there.
    #[arg(long, short, value_name = "DIR", required_unless_present = "list_files")]
    output: Option<PathBuf>,
    /// For what to write; may be given more than once. Without it, for all that the config names.
    #[arg(long, value_name = "TARGET")]
    target: Vec<Target>,
    /// Print the names of the files, and write none.
    #[arg(long)]
    list_files: bool,
}

/// What files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// The CPU.
    Cpu,
    /// NVIDIA's devices.
    Cuda,
    /// The same files with the headers under which a C++ compiler takes them.
    CudaHost,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let asked = |default: Vec<Target>| if arguments.target.is_empty() { default } else { arguments.target.clone() };
    let files = match ConfigFile::read(&arguments.config)? {
        ConfigFile::Set(set) => set::files(&set, &asked(set::targets(&set)))?,
        ConfigFile::Kernel(config) => {
            let setup = Setup::of(*config)?;
            let cuda = setup.config.cuda.as_ref().map(|_| Target::Cuda);
            files(&setup, &asked([Target::Cpu].into_iter().chain(cuda).collect()))?
        }
    };
    let names: String = files.iter().map(|(name, _)| format!("{name}\n")).collect();
    let Some(folder) = arguments.output.as_ref().filter(|_| !arguments.list_files) else { return print(&names) };
    let failed = |path: &PathBuf, e| Error::of_file(path, "cannot be written", e);
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in &files {
        let path = folder.join(name);
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.and_then(|()| std::fs::write(&path, text)).map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

/// (name, text) of all files.
fn files(setup: &Setup, targets: &[Target]) -> Result<Vec<(String, String)>> {
    let host = targets.contains(&Target::CudaHost);
    let choice = match host || targets.contains(&Target::Cuda) {
        true => Some(cuda::choice(setup, &cuda::capabilities(setup))?),
        false => None,
    };
    let mut files = Vec::new();
    if let Some(choice) = &choice {
        let headers = if host { HOST_HEADERS } else { DEVICE_HEADERS };
        let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let in_folder = |(name, text)| (format!("{FOLDER}/{name}"), text);
        files.extend(choice.sources().into_iter().chain(headers).map(in_folder));
    }
    let cuda = match &choice {
        Some(choice) => choice.registry(&setup.def.shape_vars, targets.contains(&Target::Cuda), host),
        None => registry::skipped_cuda_rs("its CUDA micro-kernels are not among these files"),
    };
    let units: Vec<&CudaUnit> = choice.iter().flat_map(|choice| &choice.micro_kernels).map(|c| &c.unit).collect();
    let decisions = choice.as_ref().map_or(&[][..], |choice| &choice.decisions);
    files.extend(registry_files(setup, targets.contains(&Target::Cpu), (&units, decisions), &cuda)?);
    Ok(files)
}

/// Those for the CPU, if they are asked for, and the registry; `listed` are the micro-kernels for CUDA with the choice among them, and
/// `cuda` what stands in `registry.rs` of them.
fn registry_files(
    setup: &Setup,
    cpu: bool,
    listed: (&[&CudaUnit], &[(Capability, Decision)]),
    cuda: &str,
) -> Result<Vec<(String, String)>> {
    let Setup { config, def, .. } = setup;
    if !cpu {
        let skipped =
            registry::skipped_registry_rs(&def.name, "its micro-kernels for the CPU are not among these files");
        let mut files = registry::files(def, None, listed);
        files.push(("registry.rs".to_owned(), skipped + cuda));
        return Ok(files);
    }
    let target = CpuTarget::detect(&config.cpu.march)?;
    let winners = setup.winners(&target, "emitting the default micro-kernel", tell);
    let units = winners.units(def, &target.march)?;
    let mut files = registry::files(def, Some((&units, &winners.decision)), listed);
    let dispatcher = registry::registry_rs(&def.name, def.source_hash(), &units, &def.shape_vars, &winners.decision);
    files.push(("registry.rs".to_owned(), dispatcher + cuda));
    Ok(files)
}
