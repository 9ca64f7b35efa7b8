//! Sets: many configurations of families for several kernels, all of them compiled, none of them chosen.
//!
//! The files are those of any [registry](super::registry), with one source for each configuration and target, which holds a
//! micro-kernel for each kernel that it serves there. Instead of a dispatcher, `registry.rs` has the list of the configurations as the
//! macro `dietcode_kernels!(callback)`, and the set made from it.
//!
//! A configuration states its parameters as constants and asserts what [`Family::conditions`] says of them, so that a file
//! that is changed by hand is checked again by the compiler. All names come from the parameters: nothing is numbered.
mod cpu;
mod cuda;
mod preamble;
mod registry;

pub use cpu::CpuUnit;
pub use cuda::CudaSetUnit;
pub use preamble::{Language, preamble};
pub use registry::{Availability, registry_rs};

use std::fmt::Debug;

use dietcode_syntax::{KernelDef, mangle};

use crate::codegen::cuda::headers::{DEVICE_HEADERS, HOST_HEADERS};
use crate::hash::hash_of;
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::sketch::Family;
use crate::{Error, Result, frontend, parallel};

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
    /// A set of which no configuration serves a kernel on any of the targets.
    pub fn new(
        config: &str,
        families: &[Family],
        defs: &'a [KernelDef],
        targets: &Targets<'_>,
        at_once: usize,
    ) -> Result<GeneratedSet<'a>> {
        let nests: Vec<(&KernelDef, Program)> = defs.iter().map(|def| (def, frontend::program(def))).collect();
        let one = |family: &Family| {
            let cpu = match targets.cpu {
                Some(target) => cpu::unit(family, &nests, target)?,
                None => Served { unit: None, left_out: Vec::new() },
            };
            let cuda = cuda::unit(family, &nests, &targets.devices)?;
            Ok(Configuration { family: family.clone(), name: family.name(), cpu, cuda })
        };
        let configurations: Vec<Result<Configuration>> = parallel::each(families.iter().collect(), at_once, one);
        let configurations = configurations.into_iter().collect::<Result<_>>()?;
        let set = GeneratedSet { config: config.to_owned(), defs, configurations, host: targets.host };
        let asked = targets.cpu.is_some() || !targets.devices.is_empty();
        if asked && set.cpu_units().next().is_none() && set.cuda_units().next().is_none() {
            return Err(set.serves_nothing(targets));
        }
        Ok(set)
    }

    /// What is wrong with a set that has nothing to run, and one reason for all.
    fn serves_nothing(&self, targets: &Targets<'_>) -> Error {
        let kernels: Vec<&str> = self.defs.iter().map(|def| &*def.name).collect();
        let cpu = targets.cpu.iter().map(|target| format!("the CPU (-march={})", target.march));
        let devices = targets.devices.iter().map(|device| device.capability.to_string());
        let places: Vec<String> = cpu.chain(devices).collect();
        let left_out = self.configurations.iter().find_map(|Configuration { name, cpu, cuda, .. }| {
            let why = cpu.left_out.iter().chain(&cuda.left_out).next()?;
            Some(format!("; `{name}` does not serve {why}"))
        });
        Error::input(format!(
            "{}: this set serves nothing: none of its {} configurations has a micro-kernel for {} on {}{}; \
             use another set, or add a configuration that serves one of these",
            self.config,
            self.configurations.len(),
            if kernels.is_empty() { "any kernel, since no source has one,".to_owned() } else { kernels.join(", ") },
            places.join(", "),
            left_out.unwrap_or_default()
        ))
    }

    /// The list, and the files for the CPU if anything is, as (name, text); `registry.rs` is none of them.
    pub fn cpu_files(&self) -> Vec<(String, String)> {
        let mut files = registry::files(self);
        files.extend(self.cpu_units().map(|unit| (format!("{}.c", unit.name), unit.source.clone())));
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

/// What the symbols of a configuration end in: a hash of all that decides its code, so that one symbol always is one code.
fn stem<'a>(name: &str, head: &str, target: impl Debug, defs: impl Iterator<Item = &'a KernelDef>) -> String {
    let decided = [env!("CARGO_PKG_VERSION").to_owned(), head.to_owned(), format!("{target:?}")];
    let kernels = defs.map(|def| format!("{} {:016x}", def.name, def.source_hash()));
    mangle::configuration_stem(name, &hash_of(decided.into_iter().chain(kernels))[..8])
}
