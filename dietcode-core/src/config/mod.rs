//! The files under `configs/`: which kernel, which shapes, which schedules, how long to search.
//!
//! `configs/schema.json` describes them for editors; this reader is what decides.
mod expression;
mod generator;
mod kernel;
mod nearest;
mod reader;
mod search;
mod workload;

use std::path::{Path, PathBuf};

use dietcode_syntax::Affine;

pub use generator::Generator;
use reader::{Node, Object, Source};
pub use search::Search;
pub use workload::WklInst;

pub(crate) use reader::MAX_BYTES;

use crate::Result;
use crate::sketch::Tiled;

/// The largest extent or tile.
pub const MAX_EXTENT: i64 = 1 << 31;

/// A config file, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file.
    pub path: PathBuf,
    /// The kernel it tunes.
    pub kernel: KernelSource,
    /// Shape variables of the kernel, each with its value in terms of workload variables, in the file's order.
    pub shape: Vec<(String, Affine)>,
    /// The workload instances: values of the workload variables.
    pub wkl_insts: Vec<WklInst>,
    /// How much each instance counts; positive.
    pub weights: Vec<f64>,
    /// What to generate for a CPU.
    pub cpu: CpuConfig,
    /// How to search.
    pub search: Search,
    places: Places,
}

/// Where in the file stands what can only be checked against the kernel: `file:line:column: key`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    shape: String,
    source: String,
    function: String,
}

/// Where the annotated function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The Rust file; the config names it relative to its own folder.
    pub source: PathBuf,
    /// The function's name.
    pub function: String,
}

/// `targets.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CpuConfig {
    /// What `-march=` says.
    pub march: String,
    /// The schedules to choose from.
    pub generators: Vec<Generator>,
}

impl Config {
    /// Reads and checks a config.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input), saying file, line, column, key, what was found and what was
    /// expected.
    pub fn read(path: impl AsRef<Path>) -> Result<Config> {
        Config::from_source(path.as_ref(), &Source::read(path.as_ref())?)
    }

    /// The same for a text that `path` would hold.
    ///
    /// # Errors
    /// As for [`Config::read`].
    pub fn parse(path: impl AsRef<Path>, text: impl Into<Vec<u8>>) -> Result<Config> {
        Config::from_source(path.as_ref(), &Source::from_bytes(path.as_ref(), text.into())?)
    }

    /// The file of winners beside this one, for a target such as "cpu".
    pub fn tuned_path(&self, target: &str) -> PathBuf {
        self.path.with_extension(format!("{target}.tuned.json"))
    }

    /// The hash of the space that a search chooses from, for the provenance of what it chose.
    pub fn space_hash(&self) -> String {
        let space = serde_json::to_vec(&self.cpu).unwrap_or_default();
        blake3::hash(&space).to_hex().to_string()
    }

    fn from_source(path: &Path, source: &Source) -> Result<Config> {
        source.parse(|node| read_config(path, &node))
    }
}

impl CpuConfig {
    /// All schedules of all generators, each once, made one by one.
    pub fn candidates(&self) -> impl Iterator<Item = Tiled> + '_ {
        self.generators.iter().enumerate().flat_map(|(at, generator)| {
            let earlier = &self.generators[..at];
            generator.iter().filter(move |tiled| !earlier.iter().any(|g| g.contains(tiled)))
        })
    }

    /// How many candidates there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        self.generators.iter().fold(0, |sum: u128, generator| sum.saturating_add(generator.count()))
    }
}

const KEYS: &[&str] = &["$schema", "comment", "kernel", "shape", "wkl_insts", "wkl_inst_weights", "targets", "search"];

fn read_config(path: &Path, node: &Node<'_>) -> Result<Config> {
    let object = node.object(KEYS)?;
    object.check_comment("$schema")?;
    object.check_comment("comment")?;
    let (kernel, [source, function]) =
        read_kernel(path, &object.require("kernel", "an object with `source` and `function`")?)?;
    let shape_node = object.require("shape", "an object from shape variables to expressions")?;
    let shape = workload::read_shape(&shape_node)?;
    let places = Places { shape: shape_node.place(), source, function };
    let wkl_insts = workload::read_wkl_insts(&object.require("wkl_insts", "an array of workload instances")?, &shape)?;
    let weights = match object.get("wkl_inst_weights") {
        Some(node) => workload::read_weights(&node, wkl_insts.len())?,
        None => vec![1.0; wkl_insts.len()],
    };
    let cpu = read_targets(&object)?;
    let search = object.get("search").map_or_else(|| Ok(Search::default()), |node| Search::read(&node))?;
    Ok(Config { path: path.to_path_buf(), kernel, shape, wkl_insts, weights, cpu, search, places })
}

/// The kernel, and where its source and its function stand.
fn read_kernel(path: &Path, node: &Node<'_>) -> Result<(KernelSource, [String; 2])> {
    const SOURCE: &str = "a path to a Rust file (*.rs), relative to the folder of this config";
    const FUNCTION: &str = "the name of a function";
    let object = node.object(&["source", "function"])?;
    let source = object.require("source", SOURCE)?;
    let file = source.string(SOURCE)?;
    if !file.ends_with(".rs") || file.contains(char::is_control) {
        return Err(source.expected(SOURCE));
    }
    let function = object.require("function", FUNCTION)?;
    let name = function.string(FUNCTION)?;
    if !is_identifier(name) {
        return Err(function.expected(FUNCTION));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let kernel = KernelSource { source: folder.join(file), function: name.to_string() };
    Ok((kernel, [source.place(), function.place()]))
}

fn read_targets(object: &Object<'_>) -> Result<CpuConfig> {
    let default = || CpuConfig { march: "native".to_string(), generators: Vec::new() };
    let Some(targets) = object.get("targets") else { return Ok(default()) };
    let Some(cpu) = targets.object(&["cpu"])?.get("cpu") else { return Ok(default()) };
    let cpu = cpu.object(&["march", "generators"])?;
    let march = cpu.get("march").map_or_else(|| Ok("native".to_string()), |node| read_march(&node))?;
    let generators = match cpu.get("generators") {
        Some(node) => node.array("an array of generators")?.iter().map(Generator::read).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    Ok(CpuConfig { march, generators })
}

fn read_march(node: &Node<'_>) -> Result<String> {
    const EXPECTED: &str = "what follows -march=, of at most 64 letters, digits and . _ + -";
    let march = node.string(EXPECTED)?;
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"._+-".contains(&c);
    if (1..=64).contains(&march.len()) && march.bytes().all(legal) {
        return Ok(march.to_string());
    }
    Err(node.expected(EXPECTED))
}

/// Whether a name can stand in C and Rust as it is.
pub(crate) fn is_identifier(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
