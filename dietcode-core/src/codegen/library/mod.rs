//! A library of kernels for programs in other languages: the sources of the Rust package that makes it, and the C header of its functions.
//!
//! | file             | what it is                                                                                  |
//! |------------------|---------------------------------------------------------------------------------------------|
//! | `build.rs`       | has the kernels compiled, as the build script of any package does                           |
//! | `src/kernels.rs` | the kernels as their sources have them, each with the path of its config                    |
//! | `src/lib.rs`     | a function of C for each of them, by [`runtime::exported`](../../../dietcode_core/runtime/exported/index.html) |
//! | `<library>.h`    | declares these functions                                                                    |
//! | `python/`        | a Python package around the library, which pip makes a wheel of                             |
//!
//! All that such a library does when it is called is what a program in Rust does; there is no other runtime.

mod header;
mod package;
mod python;

pub use python::check_package;

use std::collections::BTreeMap;
use std::path::Path;

use dietcode_syntax::{Annotated, KernelDef, Param};

use crate::instance::Instance;
use crate::machine::cuda::ComputeCapability;
use crate::{Error, Result};

/// What a library is made of.
#[derive(Debug)]
pub struct Library {
    /// What its functions begin with, and its files are called.
    pub name: String,
    /// What it was built by and for, in one line.
    pub provenance: String,
    /// Its kernels.
    pub kernels: Vec<Exported>,
    /// Where they run beside the CPU; none: nowhere.
    pub cuda: Option<Devices>,
}

/// The CUDA devices that kernels are compiled for.
#[derive(Debug)]
pub struct Devices {
    /// Their compute capabilities; empty: those that each kernel's config names.
    pub capabilities: Vec<ComputeCapability>,
    /// Whether the emulated one is among them.
    pub emulated: bool,
}

/// A kernel of a library.
#[derive(Debug)]
pub struct Exported {
    /// The kernel.
    pub def: KernelDef,
    /// The function as it is written.
    pub annotated: Annotated,
    /// The path of its config, from the root on.
    pub config: String,
    /// Which micro-kernels it has, and why, in one line.
    pub provenance: String,
    /// Where its candidates are checked and timed, by name.
    pub shapes: Vec<(String, Instance)>,
}

/// The functions that a library has besides.
const MESSAGE: &str = "error_message";
const VERSION: &str = "version";

/// The functions that a kernel has besides, behind its name.
const CANDIDATE: &str = "_candidate";
const CANDIDATE_NAME: &str = "_candidate_name";

/// The one that it has in a library for CUDA devices.
const ON_CUDA: &str = "_cuda";

/// Checks that no two functions of a library, which may be one for CUDA devices, have one name. Each kernel is given with its config.
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input), naming both.
pub fn check_names(library: &str, kernels: &[(&Path, &str)], is_for_cuda: bool) -> Result<()> {
    let besides = if is_for_cuda { &[CANDIDATE, CANDIDATE_NAME, ON_CUDA][..] } else { &[CANDIDATE, CANDIDATE_NAME] };
    // The build refuses names that differ by upper and lower case only.
    let mut taken: BTreeMap<String, &Path> = BTreeMap::new();
    for (config, kernel) in kernels {
        let found = format!("{}: found a kernel `{kernel}`", config.display());
        if [MESSAGE, VERSION].contains(kernel) {
            let own = format!("the library has a function {library}_{kernel} of its own");
            return Err(Error::input(format!("{found}, but {own}: expected another name")));
        }
        if header::constants(library).contains(&format!("{library}_{kernel}")) {
            let own = format!("{library}_{kernel} is a constant of the library's header");
            return Err(Error::input(format!("{found}, but {own}: expected another name")));
        }
        if let Some(other) = taken.insert(kernel.to_lowercase(), config) {
            let expected = "expected kernels whose names differ by more than upper and lower case";
            return Err(Error::input(format!("{found}, and {} has one of that name: {expected}", other.display())));
        }
    }
    for (config, kernel) in kernels {
        for of in besides.iter().filter_map(|function| kernel.strip_suffix(function)) {
            if kernels.iter().any(|(_, other)| *other == of) {
                let own = format!("the library has a function {library}_{kernel} of `{of}`");
                let found = format!("{}: found a kernel `{kernel}`", config.display());
                return Err(Error::input(format!("{found}, but {own}: expected another name")));
            }
        }
    }
    Ok(())
}

impl Library {
    /// What the library says of itself: a line, and one for each kernel.
    fn version(&self) -> String {
        let kernels = self.kernels.iter().map(|kernel| format!("\n{}: {}", kernel.def.name, kernel.provenance));
        self.provenance.clone() + &kernels.collect::<String>()
    }

    /// The name of a function.
    fn symbol(&self, function: &str) -> String {
        format!("{}_{function}", self.name)
    }
}

/// What C calls the arguments of a parameter, which is one value or a tensor.
struct Arguments {
    data: String,
    /// Shape and strides.
    layout: Option<(String, String)>,
}

/// What C calls what a function takes besides.
struct Besides {
    threads: String,
    candidate: String,
    device: String,
    stream: String,
}

/// Names that differ, whatever those of the parameters are.
fn arguments(def: &KernelDef) -> (Vec<Arguments>, Besides) {
    let mut taken: Vec<String> = def.params.iter().map(|param| param.name.clone()).collect();
    let mut free = |name: &str| {
        let mut name = name.to_owned();
        while taken.contains(&name) {
            name.push('_');
        }
        taken.push(name.clone());
        name
    };
    let mut of = |param: &Param| {
        let layout = (!param.is_scalar())
            .then(|| (free(&format!("{}_shape", param.name)), free(&format!("{}_strides", param.name))));
        Arguments { data: param.name.clone(), layout }
    };
    let arguments = def.params.iter().map(&mut of).collect();
    let [threads, candidate, device, stream] = ["threads", "candidate", "device", "stream"].map(free);
    (arguments, Besides { threads, candidate, device, stream })
}

#[cfg(test)]
mod tests;
