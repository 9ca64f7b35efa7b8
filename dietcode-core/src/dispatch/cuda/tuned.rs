//! The winners of a search on a GPU, if the file holds here.

use dietcode_syntax::KernelDef;

use crate::config::{Config, CudaConfig};
use crate::dispatch::{Expected, Gap, Miss, Named, Tree, Tuned};
use crate::machine::cuda::DeviceLimits;
use crate::sketch::MicroKernel;

/// The micro-kernels and the tree of `configs/<name>.<sm_XX>.tuned.json`, and what it was not made for; `compiler` is nvcc's version, if there is one.
///
/// # Errors
/// Why they are not to be used, in one line.
pub(super) fn load(
    (config, cuda): (&Config, &CudaConfig),
    def: &KernelDef,
    device: &DeviceLimits,
    compiler: Option<&str>,
) -> Result<(Vec<MicroKernel>, Tree, Option<Gap>), Miss> {
    let target = device.capability.to_string();
    let path = config.tuned_path(&target);
    let shape_vars = Config::shape_vars(def);
    let expected = Expected {
        kernel: &def.name,
        target: &target,
        shape_vars: &shape_vars,
        source_hash: def.source_hash(),
        space_hash: &cuda.space_hash(),
        cpu: "",
        features: &[],
        compiler,
    };
    let unusable = |why: String| Miss::unusable(&path, &target, &why);
    let tuned = Tuned::load(&path, &expected)?;
    let gap = tuned.gap(config, &shape_vars).map_err(|error| unusable(error.to_string()))?;
    let valid = |Named { name, schedule, .. }: Named| match schedule.violations_on_gpu(def, device).first() {
        None => Ok(schedule),
        Some(violation) => Err(format!("its micro-kernel {name} is not valid: {violation}")),
    };
    let micro_kernels: Result<Vec<MicroKernel>, String> = tuned.micro_kernels.into_iter().map(valid).collect();
    micro_kernels.map(|all| (all, tuned.tree, gap)).map_err(unusable)
}
