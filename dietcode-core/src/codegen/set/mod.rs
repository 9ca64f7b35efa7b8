//! Sets: many configurations of families for several kernels, all of them compiled, none of them chosen.
//!
//! | file                    | what it is                                                                            |
//! |-------------------------|---------------------------------------------------------------------------------------|
//! | `dietcode.h`            | the ABI, the same for every set and kernel                                            |
//! | `cpu_features.h`        | what the C compiler was allowed to use                                                |
//! | `<configuration>.c`     | one configuration on the CPU, with a micro-kernel for each kernel that it serves      |
//! | `cuda/<configuration>.cu` | the same for CUDA devices                                                           |
//! | `registry.def`          | one `DIETCODE_KERNEL(…)` line per configuration, the only list of them in C           |
//! | `registry.c`            | includes that list twice, as declarations and as the table it exports                 |
//! | `registry.rs`           | the same list as the macro `dietcode_kernels!(callback)`, and the set made from it    |
//!
//! A configuration states its parameters as constants and asserts what [`Family::conditions`] says of them, so that a file
//! that is changed by hand is checked again by the compiler. All names come from the parameters: nothing is numbered.
mod cpu;
mod cuda;
mod linked;
mod preamble;
mod registry;

pub use cpu::CpuUnit;
pub use cuda::CudaSetUnit;
pub use linked::{Availability, registry_rs};
pub use preamble::{Language, preamble};

use dietcode_syntax::KernelDef;

use crate::Result;
use crate::codegen::cuda::headers::{DEVICE_HEADERS, HOST_HEADERS};
use crate::machine::CpuTarget;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::parallel;
use crate::sketch::Family;

/// The folder of the `.cu` files, beside `registry.def`.
pub const CUDA_FOLDER: &str = "cuda";

/// The devices that a set is for which names none, where it is for devices at all: with the code of these, and PTX of the
/// newer one, it runs on all later ones too.
pub const DEFAULT_CAPABILITIES: &[ComputeCapability] =
    &[ComputeCapability { major: 8, minor: 0 }, ComputeCapability { major: 9, minor: 0 }];

/// What configurations are made for.
#[derive(Clone, Debug, Default)]
pub struct Targets<'a> {
    /// The CPU.
    pub cpu: Option<&'a CpuTarget>,
    /// CUDA devices, oldest first; also those that the emulated device stands for.
    pub devices: Vec<&'static DeviceLimits>,
    /// Whether the headers of the emulated device are needed.
    pub host: bool,
}

/// What a configuration becomes for a kind of target.
#[derive(Clone, Debug, PartialEq)]
pub struct Served<U> {
    /// Its translation unit, unless it serves no kernel there.
    pub unit: Option<U>,
    /// The kernels that it does not serve there, each with the reason: `gemm_nn: …`.
    pub left_out: Vec<String>,
}

/// A configuration and its translation units.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The parameters.
    pub family: Family,
    /// The parameters' name: the stem of its files.
    pub name: String,
    /// For the CPU.
    pub cpu: Served<CpuUnit>,
    /// For CUDA devices.
    pub cuda: Served<CudaSetUnit>,
}

/// A set, generated.
#[derive(Clone, Debug)]
pub struct GeneratedSet<'a> {
    /// The set file, as it is named to readers.
    pub config: String,
    /// The kernels that configurations are made for.
    pub defs: &'a [KernelDef],
    /// The configurations, in the order of the file.
    pub configurations: Vec<Configuration>,
    host: bool,
}

impl<'a> GeneratedSet<'a> {
    /// Generates all configurations, several at a time; the outcome does not depend on how many.
    ///
    /// # Errors
    /// None for families that say truly which nests and targets they serve.
    pub fn new(
        config: &str,
        families: &[Family],
        defs: &'a [KernelDef],
        targets: &Targets<'_>,
        at_once: usize,
    ) -> Result<GeneratedSet<'a>> {
        let one = |family: &Family| {
            let cpu = match targets.cpu {
                Some(target) => cpu::unit(family, defs, target)?,
                None => Served { unit: None, left_out: Vec::new() },
            };
            let cuda = cuda::unit(family, defs, &targets.devices)?;
            Ok(Configuration { family: family.clone(), name: family.name(), cpu, cuda })
        };
        let configurations: Vec<Result<Configuration>> = parallel::each(families.iter().collect(), at_once, one);
        let configurations = configurations.into_iter().collect::<Result<_>>()?;
        Ok(GeneratedSet { config: config.to_owned(), defs, configurations, host: targets.host })
    }

    /// The files for the CPU as (name, text), but for `registry.rs`; if nothing is for the CPU, the list at most, which says
    /// why something is left out.
    pub fn cpu_files(&self) -> Vec<(String, String)> {
        let units: Vec<&CpuUnit> = self.cpu_units().collect();
        if units.is_empty() {
            let left_out = |all: &Configuration| !all.cpu.left_out.is_empty() || !all.cuda.left_out.is_empty();
            return self.configurations.iter().any(left_out).then(|| registry::list(self)).into_iter().collect();
        }
        let mut files = registry::files(self);
        files.extend(units.iter().map(|unit| (format!("{}.c", unit.name), unit.source.clone())));
        files
    }

    /// The files in [`CUDA_FOLDER`] as (name, text), with the headers that they include; none if nothing is for CUDA.
    pub fn cuda_files(&self) -> Vec<(String, String)> {
        let units: Vec<&CudaSetUnit> = self.cuda_units().collect();
        if units.is_empty() {
            return Vec::new();
        }
        let headers = if self.host { HOST_HEADERS } else { DEVICE_HEADERS };
        let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let sources = units.iter().map(|unit| (format!("{}.cu", unit.name), unit.source.clone()));
        headers.chain(sources).collect()
    }

    /// The translation units for the CPU, in the order of the table.
    pub fn cpu_units(&self) -> impl Iterator<Item = &CpuUnit> {
        self.configurations.iter().filter_map(|configuration| configuration.cpu.unit.as_ref())
    }

    /// The translation units for CUDA devices.
    pub fn cuda_units(&self) -> impl Iterator<Item = &CudaSetUnit> {
        self.configurations.iter().filter_map(|configuration| configuration.cuda.unit.as_ref())
    }
}
