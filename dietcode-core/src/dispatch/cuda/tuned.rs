//! The winners of a search on a GPU, if the file holds here.

use dietcode_syntax::KernelDef;

use crate::config::Config;
use crate::dispatch::{Expected, Gap, Miss, Tuned};
use crate::ir::Program;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::sketch::MicroKernel;

/// `configs/<name>.<sm_XX>.tuned.json`, and what it was not made for; `compiler` is nvcc's version, if there is one.
///
/// # Errors
/// Why they are not to be used, in one line.
pub fn load(
    config: &Config,
    (def, program): (&KernelDef, &Program),
    device: &DeviceLimits,
    compiler: Option<&str>,
) -> Result<(Tuned, Option<Gap>), Miss> {
    let target = device.capability.to_string();
    let path = config.tuned_path(&target);
    let shape_vars = Config::shape_vars(def);
    let expected = Expected {
        kernel: &def.name,
        target: &target,
        shape_vars: &shape_vars,
        source_hash: def.source_hash(),
        space_hashes: &config.space_hashes("cuda"),
        cpu: "",
        features: &[],
        compiler,
    };
    let unusable = |why: String| Miss::unusable(&path, &target, &why);
    let tuned = Tuned::load(&path, &expected)?;
    let gap = tuned.gap(config, &shape_vars).map_err(|error| unusable(error.to_string()))?;
    let valid = |micro_kernel: &MicroKernel| match micro_kernel.lowered(program, &Target::Cuda(*device)) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("its micro-kernel {} is not valid: {e}", micro_kernel.name())),
    };
    tuned.micro_kernels.iter().try_for_each(valid).map_err(unusable)?;
    Ok((tuned, gap))
}
