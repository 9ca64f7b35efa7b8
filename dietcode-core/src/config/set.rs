//! Sets: the configurations that are tried on a kind of machine, `configs/cpu_avx2.json`.
//!
//! A config tunes one kernel for the shapes that it is called with. A set has no shapes that anything depends on. It has
//! generators by the names of their families, at the top as in portBLAS's files, whose configurations serve every kernel that
//! they can be carried out on. One for a GPU may also have kernels of its own with their micro-kernels: those that the device
//! is checked with.

use std::path::{Path, PathBuf};

use dietcode_syntax::KernelDef;

use super::cpu::{NATIVE, read_march};
use super::cuda::{CAPABILITIES, OWN, blocked, read_capabilities};
use super::expansion::{Expansion, Placed, read_generators};
use super::generator::{Generator, keys};
use super::kernel::KernelPlaces;
use super::reader::{Node, Object, Source};
use super::values::read_names;
use super::workload::read_shapes;
use super::{Config, KernelSource, WklInst};
use crate::ir::Program;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::sketch::{Blocked, FAMILIES, Family, FamilyTable};
use crate::{Result, frontend};

/// A kernel and its program.
type Nest = (KernelDef, Program);

/// A set, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSet {
    /// The file.
    pub path: PathBuf,
    /// What follows `-march=`; none: the set does not say that it is for a CPU.
    pub march: Option<String>,
    /// The devices to compile for; none: the set does not say that it is for a GPU.
    pub capabilities: Vec<ComputeCapability>,
    /// The kernels of its own, each function once.
    pub kernels: Vec<KernelSource>,
    /// Their schedules, and for which of the kernels they are.
    pub generators: Vec<SetGenerator>,
    /// Shapes: values of shape variables. One with the variables of a kernel is a shape of that kernel.
    pub wkl_insts: Vec<WklInst>,
    families: Vec<Placed>,
    places: Vec<KernelPlaces>,
}

/// A generator of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetGenerator {
    /// The names of the kernels that it is for; none: all of them.
    pub kernels: Option<Vec<String>>,
    /// The schedules.
    pub generator: Generator,
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

    /// The configurations of its families: the valid ones, in the order of the families (`local`, `non_local`,
    /// `non_local_interleaved`, `naive`, `tiled`, `blocked`), of the generators, and of their lists, the last list's values
    /// changing fastest; each where it comes first. None, if the set has no such generators.
    ///
    /// # Errors
    /// If a generator stands for no valid configuration, with the conditions that left out its combinations.
    pub fn families(&self) -> Result<Vec<Family>> {
        Ok(self.expand()?.families)
    }

    /// The same with a report on what was left out.
    ///
    /// # Errors
    /// As for [`KernelSet::families`].
    pub fn expand(&self) -> Result<Expansion> {
        Expansion::of(&self.families)
    }

    /// Reads the sources that the set names: its kernels, in its order.
    ///
    /// # Errors
    /// As for [`Config::kernel_def`].
    pub fn kernel_defs(&self) -> Result<Vec<KernelDef>> {
        self.kernels.iter().zip(&self.places).map(|(kernel, places)| kernel.find(places)).collect()
    }

    /// The same, each with its program.
    ///
    /// # Errors
    /// As for [`KernelSet::kernel_defs`].
    pub fn nests(&self) -> Result<Vec<Nest>> {
        Ok(self.kernel_defs()?.into_iter().map(|def| (def.clone(), frontend::program(&def))).collect())
    }

    /// The micro-kernels: of each of some kernels with their programs, in that order, those of its generators, in their order and each once,
    /// that are valid on every device of the set.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) for a device whose limits are not known.
    pub fn micro_kernels<'k>(&self, kernels: &'k [Nest]) -> Result<Vec<(&'k Nest, Blocked)>> {
        let devices: Vec<&DeviceLimits> =
            self.capabilities.iter().map(|device| DeviceLimits::of(*device)).collect::<Result<_>>()?;
        let valid = |program: &Program, blocked: &Blocked| {
            devices.iter().all(|device| blocked.micro_kernel(program, device).is_ok())
        };
        let of = |kernel: &'k Nest| {
            let all = self.candidates(&kernel.0.name).into_iter();
            all.filter(move |blocked| valid(&kernel.1, blocked)).map(move |blocked| (kernel, blocked))
        };
        Ok(kernels.iter().flat_map(of).collect())
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
        blocked(own.map(|g| &g.generator)).collect()
    }
}

/// All of a set is compiled and checked; a space for a search belongs into a config.
pub(super) const MOST_SCHEDULES: u128 = 4096;

const KEYS: &[&str] = &["$schema", "comment", "kernels", "targets", "wkl_insts"];
const KERNELS: &str = "an array of at least one object with `source` and `function`";
const GENERATORS: &str = "an array of at least one generator";

/// Whether a file is a set, as far as its keys say.
pub(super) fn is_set(node: &Node<'_>) -> bool {
    let families = FAMILIES.iter().map(|family| family.name);
    !node.has("kernel") && families.chain(["kernels"]).any(|key| node.has(key))
}

pub(super) fn read_set(path: &Path, node: &Node<'_>) -> Result<KernelSet> {
    if node.has("kernel") && node.has("shape") {
        return Err(node.fail("a config of one kernel", "a set: generators by the names of their families"));
    }
    let families: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    let object = node.object(&[KEYS, &families].concat())?;
    object.check_comment("$schema")?;
    object.check_comment("comment")?;
    let families_read = read_generators(&object)?;
    let (kernels, places) = object.get("kernels").map_or_else(|| Ok(Default::default()), |k| read_kernels(path, &k))?;
    let targets = read_targets(&object, &kernels)?;
    if families_read.is_empty() && targets.generators.is_empty() {
        let expected = format!("generators under one of {}", families.join(", "));
        return Err(node.fail("a set of nothing", &format!("{expected}, or `kernels` with `targets.cuda.generators`")));
    }
    let wkl_insts = object.get("wkl_insts").map_or_else(|| Ok(Vec::new()), |node| read_shapes(&node))?;
    Ok(KernelSet {
        path: path.to_path_buf(),
        march: targets.march,
        capabilities: targets.capabilities,
        kernels,
        generators: targets.generators,
        wkl_insts,
        families: families_read,
        places,
    })
}

/// What a set says of its targets.
#[derive(Default)]
struct Targets {
    march: Option<String>,
    capabilities: Vec<ComputeCapability>,
    generators: Vec<SetGenerator>,
}

/// `targets`, which may be missing if the set has no kernels of its own.
fn read_targets(object: &Object<'_>, kernels: &[KernelSource]) -> Result<Targets> {
    let mut read = Targets::default();
    let targets = object.get("targets").map(|targets| targets.object(&["cpu", "cuda"])).transpose()?;
    if let Some(cpu) = targets.as_ref().and_then(|targets| targets.get("cpu")) {
        let march = cpu.object(&["march"])?.get("march").map(|march| read_march(&march)).transpose()?;
        read.march = Some(march.unwrap_or_else(|| NATIVE.to_owned()));
    }
    let cuda = targets.as_ref().and_then(|targets| targets.get("cuda"));
    if let Some(cuda) = cuda.map(|cuda| cuda.object(&["capabilities", "generators"])).transpose()? {
        read.capabilities = read_capabilities(&cuda.require("capabilities", CAPABILITIES)?)?;
        read.generators = cuda.get("generators").map_or_else(|| Ok(Vec::new()), |g| read_schedules(&g, kernels))?;
    }
    match object.get("kernels") {
        Some(node) if read.generators.is_empty() => {
            Err(node.fail("kernels without schedules", "`targets.cuda.generators` beside them"))
        }
        _ => Ok(read),
    }
}

/// `targets.cuda.generators`.
fn read_schedules(node: &Node<'_>, kernels: &[KernelSource]) -> Result<Vec<SetGenerator>> {
    if kernels.is_empty() {
        return Err(node.fail("schedules without kernels", "`kernels` at the top, which they are for"));
    }
    let nodes = node.filled_array(GENERATORS)?;
    let all: Vec<SetGenerator> = nodes.iter().map(|node| read_generator(node, kernels)).collect::<Result<_>>()?;
    let count = all.iter().fold(0, |sum: u128, g| sum.saturating_add(g.generator.count()));
    if count > MOST_SCHEDULES {
        let most = format!("at most {MOST_SCHEDULES}: each is compiled for each of its kernels");
        return Err(node.fail(&format!("{count} schedules"), &most));
    }
    Ok(all)
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
    let table = FamilyTable::of_name(OWN).expect("it is a family");
    let object = node.object(&keys(table, &["family", "comment", "kernels"]))?;
    let names = object.get("kernels").map(|node| read_kernel_names(&node, kernels)).transpose()?;
    let (family, expected) = (object.require("family", "\"blocked\"")?, "\"blocked\"");
    if family.string(expected)? != OWN {
        return Err(family.expected(expected));
    }
    Ok(SetGenerator { kernels: names, generator: Generator::read(table, &object)? })
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
