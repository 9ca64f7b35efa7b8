//! Sets of micro-kernels for a device: one file for several kernels, `configs/sm_80.json`.
//!
//! A config tunes one kernel for the shapes that it is called with. A set has no shapes that anything depends on: it is the
//! micro-kernels that a device is checked with, and that a kernel without a config could start from.

use std::path::{Path, PathBuf};

use dietcode_syntax::KernelDef;

use super::blocked::{self, BlockedGenerator};
use super::cuda::{CAPABILITIES, read_capabilities};
use super::kernel::KernelPlaces;
use super::product::union;
use super::reader::{Node, Source};
use super::values::read_names;
use super::workload::read_shapes;
use super::{Config, KernelSource, WklInst};
use crate::Result;
use crate::sketch::Blocked;
use crate::target::cuda::{ComputeCapability, DeviceLimits};

/// A set, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSet {
    /// The file.
    pub path: PathBuf,
    /// The kernels, at least one, each function once.
    pub kernels: Vec<KernelSource>,
    /// The devices to compile for, at least one.
    pub capabilities: Vec<ComputeCapability>,
    /// The schedules, and for which of the kernels they are.
    pub generators: Vec<SetGenerator>,
    /// Shapes: values of shape variables. One with the variables of a kernel is a shape of that kernel.
    pub wkl_insts: Vec<WklInst>,
    places: Vec<KernelPlaces>,
}

/// A generator of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetGenerator {
    /// The names of the kernels that it is for; none: all of them.
    pub kernels: Option<Vec<String>>,
    /// The schedules.
    pub generator: BlockedGenerator,
}

impl KernelSet {
    /// Reads and checks a set.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input), saying file, line, column, key, what was found and what was
    /// expected.
    pub fn read(path: impl AsRef<Path>) -> Result<KernelSet> {
        let path = path.as_ref();
        Source::read(path)?.parse(|node| read_set(path, &node))
    }

    /// The same for a text that `path` would hold.
    ///
    /// # Errors
    /// As for [`KernelSet::read`].
    pub fn parse(path: impl AsRef<Path>, text: impl Into<Vec<u8>>) -> Result<KernelSet> {
        let path = path.as_ref();
        Source::from_bytes(path, text.into())?.parse(|node| read_set(path, &node))
    }

    /// Reads the sources that the set names: its kernels, in its order.
    ///
    /// # Errors
    /// As for [`Config::kernel_def`].
    pub fn kernel_defs(&self) -> Result<Vec<KernelDef>> {
        self.kernels.iter().zip(&self.places).map(|(kernel, places)| kernel.find(places)).collect()
    }

    /// The micro-kernels: of each kernel, in the order of `defs`, those of its generators, in their order and each once,
    /// that are valid on every device of the set.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) for a device whose limits are not known.
    pub fn micro_kernels<'d>(&self, defs: &'d [KernelDef]) -> Result<Vec<(&'d KernelDef, Blocked)>> {
        let devices: Vec<&DeviceLimits> =
            self.capabilities.iter().map(|device| DeviceLimits::of(*device)).collect::<Result<_>>()?;
        let valid = |def: &KernelDef, blocked: &Blocked| {
            devices.iter().all(|device| blocked.violations(def, device).is_empty())
        };
        let of = |def: &'d KernelDef| {
            let valid = self.candidates(&def.name).into_iter().filter(move |blocked| valid(def, blocked));
            valid.map(move |blocked| (def, blocked))
        };
        Ok(defs.iter().flat_map(of).collect())
    }

    /// The shapes of a kernel: values of its shape variables, in the order of their declaration.
    pub fn shapes(&self, def: &KernelDef) -> Vec<Vec<i64>> {
        let vars = Config::shape_vars(def);
        let own = self.wkl_insts.iter().filter(|wkl| wkl.len() == vars.len());
        own.filter_map(|wkl| vars.iter().map(|var| wkl.get(var).copied()).collect()).collect()
    }

    /// The schedules for a kernel, valid or not, each once.
    fn candidates(&self, kernel: &str) -> Vec<Blocked> {
        let own =
            self.generators.iter().filter(|g| g.kernels.as_ref().is_none_or(|names| names.iter().any(|n| n == kernel)));
        union(own.map(|g| &g.generator)).collect()
    }
}

/// All of a set is compiled and checked; a space for a search belongs into a config.
const MOST_SCHEDULES: u128 = 4096;

const KEYS: &[&str] = &["$schema", "comment", "kernels", "targets", "wkl_insts"];
const KERNELS: &str = "an array of at least one object with `source` and `function`";

fn read_set(path: &Path, node: &Node<'_>) -> Result<KernelSet> {
    let object = node.object(KEYS)?;
    object.check_comment("$schema")?;
    object.check_comment("comment")?;
    let (kernels, places) = read_kernels(path, &object.require("kernels", KERNELS)?)?;
    let targets = object.require("targets", "an object with `cuda`")?.object(&["cuda"])?;
    let cuda = targets.require("cuda", "an object with `capabilities` and `generators`")?;
    let cuda = cuda.object(&["capabilities", "generators"])?;
    let capabilities = read_capabilities(&cuda.require("capabilities", CAPABILITIES)?)?;
    let generators = cuda.require("generators", "an array of at least one generator")?;
    let nodes = generators.filled_array("an array of at least one generator")?;
    let all: Vec<SetGenerator> = nodes.iter().map(|node| read_generator(node, &kernels)).collect::<Result<_>>()?;
    let count = all.iter().fold(0, |sum: u128, g| sum.saturating_add(g.generator.count()));
    if count > MOST_SCHEDULES {
        let found = format!("{count} schedules");
        return Err(
            generators.fail(&found, &format!("at most {MOST_SCHEDULES}: each is compiled for each of its kernels"))
        );
    }
    let generators = all;
    let wkl_insts = object.get("wkl_insts").map_or_else(|| Ok(Vec::new()), |node| read_shapes(&node))?;
    Ok(KernelSet { path: path.to_path_buf(), kernels, capabilities, generators, wkl_insts, places })
}

fn read_kernels(path: &Path, node: &Node<'_>) -> Result<(Vec<KernelSource>, Vec<KernelPlaces>)> {
    let mut kernels: Vec<KernelSource> = Vec::new();
    let mut places = Vec::new();
    for element in node.filled_array(KERNELS)? {
        let (kernel, place) = KernelSource::read(path, &element)?;
        if kernels.iter().any(|earlier| earlier.function == kernel.function) {
            let message = format!("found `{}` a second time, expected each function once", kernel.function);
            return Err(element.error(&message));
        }
        kernels.push(kernel);
        places.push(place);
    }
    Ok((kernels, places))
}

fn read_generator(node: &Node<'_>, kernels: &[KernelSource]) -> Result<SetGenerator> {
    let object = node.object(&[blocked::KEYS, &["kernels"]].concat())?;
    let names = object.get("kernels").map(|node| read_kernel_names(&node, kernels)).transpose()?;
    Ok(SetGenerator { kernels: names, generator: BlockedGenerator::of(&object)? })
}

/// Some of the set's kernels.
fn read_kernel_names(node: &Node<'_>, kernels: &[KernelSource]) -> Result<Vec<String>> {
    let elements = node.filled_array("an array of at least one of the set's kernels")?;
    let names = read_names(node)?;
    let known = |name: &str| kernels.iter().any(|kernel| kernel.function == name);
    match elements.iter().zip(&names).find(|(_, name)| !known(name)) {
        Some((element, _)) => {
            let functions: Vec<&str> = kernels.iter().map(|kernel| kernel.function.as_str()).collect();
            Err(element.expected(&format!("one of the set's kernels: {}", functions.join(", "))))
        }
        None => Ok(names),
    }
}
