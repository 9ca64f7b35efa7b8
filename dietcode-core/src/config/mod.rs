//! The files under `configs/`: which kernel, which shapes, which schedules, how long to search.
//!
//! `configs/schema.json` describes them for editors; this reader is what decides.
mod choices;
mod cpu;
mod cuda;
mod evolution;
mod expansion;
mod expression;
mod file;
mod generator;
mod kernel;
mod nearest;
mod range;
mod reader;
mod regret;
mod rules;
mod search;
mod set;
#[cfg(feature = "tuner")]
mod shape_list;
mod shapes;
mod space;
mod values;
mod workload;

use std::path::{Path, PathBuf};

use dietcode_syntax::Affine;

pub use choices::{Cache, Model, Strategy};
pub use cpu::CpuConfig;
pub use cuda::CudaConfig;
pub use evolution::{Evolution, Scheduling};
pub use expansion::{Expansion, Removed};
pub use file::ConfigFile;
pub use generator::{Generator, Refused};
use kernel::KernelPlaces;
pub use kernel::{KernelSource, read_kernel};
pub use range::Range;
use reader::{Node, Object, Source};
pub use regret::RegretBudget;
pub use rules::BlockRule;
pub use search::Search;
pub use set::{KernelSet, SetGenerator};
#[cfg(feature = "tuner")]
pub use shape_list::{ListedShape, ShapeList};
pub use shapes::Shapes;
pub use space::ChosenFrom;
pub use workload::WklInst;

pub use crate::sketch::MAX_EXTENT;

pub(crate) use reader::MAX_BYTES;
pub use reader::read_file;

use crate::Result;

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
    /// The declared ranges of workload variables; [`Config::range_of`] has those of all.
    pub range: Range,
    /// How far what is dispatched may stay behind the best over the range; none: as far as it does.
    pub regret: Option<RegretBudget>,
    /// What to generate for a CPU.
    pub cpu: CpuConfig,
    /// What to generate for NVIDIA's GPUs; none: the config has no `targets.cuda`.
    pub cuda: Option<CudaConfig>,
    /// How to search.
    pub search: Search,
    places: Places,
}

/// Where in the file stands what can only be checked against the kernel: `file:line:column: key`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    shape: String,
    kernel: KernelPlaces,
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

    fn from_source(path: &Path, source: &Source) -> Result<Config> {
        source.parse(|node| read_config(path, &node))
    }
}

const KEYS: &[&str] =
    &["$schema", "comment", "kernel", "shape", "wkl_insts", "wkl_inst_weights", "range", "regret", "targets", "search"];

fn read_config(path: &Path, node: &Node<'_>) -> Result<Config> {
    if set::is_set(node) {
        let expected =
            "a config of one kernel, with `kernel`; `dietcode expand` shows a set, DIETCODE_CONFIG builds one";
        return Err(node.fail("a set, which stands for configurations of any kernel", expected));
    }
    let object = node.object(KEYS)?;
    object.check_comment("$schema")?;
    object.check_comment("comment")?;
    let (kernel, kernel_places) =
        KernelSource::read(path, &object.require("kernel", "an object with `source` and `function`")?)?;
    let shape_node = object.require("shape", "an object from shape variables to expressions")?;
    let shape = workload::read_shape(&shape_node)?;
    let places = Places { shape: shape_node.place(), kernel: kernel_places };
    let wkl_insts = workload::read_wkl_insts(&object.require("wkl_insts", "an array of workload instances")?, &shape)?;
    let weights = match object.get("wkl_inst_weights") {
        Some(node) => workload::read_weights(&node, wkl_insts.len())?,
        None => vec![1.0; wkl_insts.len()],
    };
    let range = object.get("range").map_or_else(|| Ok(Range::new()), |node| range::read(&node, &shape, &wkl_insts))?;
    let regret = object.get("regret").map(|node| RegretBudget::read(&node)).transpose()?;
    let (cpu, cuda) = read_targets(&object)?;
    let search = object.get("search").map_or_else(|| Ok(Search::default()), |node| Search::read(&node))?;
    Ok(Config { path: path.to_path_buf(), kernel, shape, wkl_insts, weights, range, regret, cpu, cuda, search, places })
}

/// `targets`, each of which may be missing.
fn read_targets(object: &Object<'_>) -> Result<(CpuConfig, Option<CudaConfig>)> {
    let Some(targets) = object.get("targets") else { return Ok((CpuConfig::default(), None)) };
    let targets = targets.object(&["cpu", "cuda"])?;
    let cpu = targets.get("cpu").map_or_else(|| Ok(CpuConfig::default()), |node| CpuConfig::read(&node))?;
    let cuda = targets.get("cuda").map(|node| CudaConfig::read(&node)).transpose()?;
    Ok((cpu, cuda))
}

/// Whether a name can stand in C and Rust as it is.
pub(crate) fn is_identifier(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
