//! The winners of a search on a GPU, if the file holds here.

use dietcode_syntax::KernelDef;

use crate::config::{Config, CudaConfig};
use crate::dispatch::{Expected, Miss, Named, Schedule, Tree, Tuned};
use crate::sketch::Blocked;
use crate::target::cuda::DeviceLimits;

/// The micro-kernels and the tree of `configs/<name>.<sm_XX>.tuned.json`; `compiler` is nvcc's version, if there is one.
///
/// # Errors
/// Why they are not to be used, in one line.
pub(super) fn load(
    (config, cuda): (&Config, &CudaConfig),
    def: &KernelDef,
    device: &DeviceLimits,
    compiler: Option<&str>,
) -> Result<(Vec<Blocked>, Tree), Miss> {
    let target = device.capability.to_string();
    let path = config.tuned_path(&target);
    let expected = Expected {
        kernel: &def.name,
        target: &target,
        shape_vars: &Config::shape_vars(def),
        source_hash: def.source_hash(),
        space_hash: &cuda.space_hash(),
        cpu: "",
        features: &[],
        compiler,
    };
    let tuned = Tuned::load(&path, &expected)?;
    let blocked = |Named { name, schedule }: Named| match schedule {
        Schedule::Blocked(blocked) => match blocked.violations(def, device).first() {
            None => Ok(blocked),
            Some(violation) => Err(format!("its micro-kernel {name} is not valid: {violation}")),
        },
        Schedule::Tiled(_) => Err(format!("its micro-kernel {name} is not one for a GPU")),
    };
    let micro_kernels: Result<Vec<Blocked>, String> = tuned.micro_kernels.into_iter().map(blocked).collect();
    micro_kernels.map(|all| (all, tuned.tree)).map_err(|why| Miss::unusable(&path, &target, &why))
}
