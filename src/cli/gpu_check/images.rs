//! `dietcode gpu-images`

use std::path::PathBuf;

use dietcode::core::machine::cuda::{Compiled, ComputeCapability};
use dietcode::core::measure::Failure;
use dietcode::core::measure::cuda::{CudaCompiler, Images, Made};
use dietcode::{Error, Result};

use super::plan::{Plan, Size};
use crate::cli::interrupt::{STOP, finish_first};
use crate::cli::progress::Progress;
use crate::cli::{print, tell};

/// Compiles, with nvcc, every micro-kernel that gpu-check would with --images, for a machine that has a GPU but no compiler.
///
/// These are the micro-kernels that it checks, and those that --strategy enumerate takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode gpu-images --target sm_90 -o images
  dietcode gpu-images configs/sm_80.json --target sm_80 -o images")]
pub(crate) struct Arguments {
    /// Configs and sets of micro-kernels. Default: those of the binary.
    #[arg(value_name = "CONFIG")]
    config: Vec<PathBuf>,
    /// The device that they are for.
    #[arg(long, value_name = "TARGET", default_value = "sm_90")]
    target: ComputeCapability,
    /// The folder to write to; it is made if it is not there.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let capability = arguments.target;
    let plan = Plan::read(&arguments.config, capability, Size::Whole)?;
    let compiler = CudaCompiler::nvcc(capability)?;
    let mut images = Images::create(&arguments.output)?;
    finish_first();
    let (limits, progress) = (compiler.limits()?, Progress::new(0.0));
    let (kernels, units): (Vec<String>, Vec<_>) = plan.all(limits)?.into_iter().unzip();
    progress.say(&format!("{} micro-kernels for {capability}, with {}", units.len(), compiler.description()));
    let built = compiler.build(&units, &STOP, |done| progress.count("compiling", done, units.len()));
    progress.finish();
    let mut failed = 0;
    for (kernel, built) in kernels.into_iter().zip(built) {
        let added = built.and_then(|built| {
            let image = std::fs::read(&built.image).map_err(|e| Failure::Load { message: e.to_string() })?;
            let made = Made {
                kernel: kernel.clone(),
                micro_kernel: built.unit.name.clone(),
                capability,
                toolchain: built.toolchain,
            };
            Ok((built.unit.source, Compiled { image, report: built.report }, made))
        });
        match added {
            Ok((source, compiled, made)) => images.add(&source, &compiled, made)?,
            Err(failure) => {
                failed += 1;
                tell(&format!("{kernel}: a micro-kernel {failure}"));
            }
        }
    }
    print(&format!("{} images in {}\n", images.count(), arguments.output.display()))?;
    match failed {
        0 => Ok(()),
        n => Err(Error::check(format!("{n} micro-kernels were not compiled"))),
    }
}
