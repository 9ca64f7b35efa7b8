//! The winners of a search, `configs/<kernel>.<target>.tuned.json`, with their provenance.
//!
//! The file is committed like a lock file and never trusted: what does not fit the nest, the config, this machine or
//! itself is a [`Miss`], and the kernel runs its default micro-kernel.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout;
use super::miss::Miss;
use super::regret::Regret;
use super::tree::{MAX_DEPTH, Tree};
use crate::config::{Cache, MAX_BYTES, Range, RegretBudget};
use crate::cost_model::cuda::LaunchReport;
use crate::sketch::MicroKernel;
use crate::whole_file::{check_whole, write_whole};
use crate::{Error, Result};

/// The version of the file's format.
pub const FORMAT: u32 = 3;

/// A tuned file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// [`FORMAT`].
    pub format: u32,
    /// The kernel's name.
    pub kernel: String,
    /// The target, such as "cpu".
    pub target: String,
    /// What the winners were found for, where, and with what.
    pub provenance: Provenance,
    /// The winners; the order is that of the kernel's table.
    pub micro_kernels: Vec<MicroKernel>,
    /// What a GPU's compiler said of the launches of micro-kernels, by their names; empty for a CPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<String, Vec<LaunchReport>>,
    /// Which of them runs a shape.
    pub tree: Tree,
    /// What was predicted and measured.
    pub instances: Vec<Instance>,
    /// How far what is dispatched stays behind the best over the config's range; none: nothing was predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Regret>,
    /// What else the config asked for; none: the file is older, or of no search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// What a config asks for beyond its instances: a file of another wish stays in force, and says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// How much each of the instances counts, in their order.
    pub weights: Vec<f64>,
    /// The `range`, as far as the config declares one.
    #[serde(default, skip_serializing_if = "Range::is_empty")]
    pub range: Range,
    /// The budget of regret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<RegretBudget>,
}

/// What is read first.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// What the winners were found for, where, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The hash of the nest, sixteen hexadecimal digits.
    pub source_hash: String,
    /// [`Config::space_hash`](crate::config::Config::space_hash).
    pub space_hash: String,
    /// The CPU's model; empty for a GPU.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cpu: String,
    /// The GPU's name, for people: that it has the target's compute capability is what counts. Empty for a CPU.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// The CPU features that the code may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The compiler with its version.
    pub compiler: String,
    /// Whether figures are what a model made of the compiler's report: no such device was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What caches held before each call that was measured.
    #[serde(default, skip_serializing_if = "Cache::is_warm")]
    pub cache: Cache,
    /// The day, as YYYY-MM-DD.
    pub date: String,
}

/// A workload instance and what was seen on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// The values of the workload variables.
    pub wkl: BTreeMap<String, i64>,
    /// The values of the shape variables.
    pub shape: BTreeMap<String, i64>,
    /// The micro-kernel that the tree picks.
    pub micro_kernel: String,
    /// One entry per number of threads.
    pub measurements: Vec<Measurement>,
}

/// Throughput at a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// How many threads.
    pub threads: i64,
    /// What the cost model expects, in GFLOP/s.
    pub gflops_predicted: f64,
    /// The median of what was measured, in GFLOP/s.
    pub gflops_measured: f64,
    /// The distance between its quartiles, in GFLOP/s.
    pub gflops_iqr: f64,
    /// What was measured over what was expected; none: nothing was expected, or the file is older than this figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_predicted: Option<f64>,
}

impl Measurement {
    /// Of figures in GFLOP/s, rounded to what a person reads, and what comes back the same from a file.
    pub fn of(threads: usize, predicted: f64, measured: f64, iqr: f64) -> Measurement {
        let rounded = |figure: f64| (figure * 1000.0).round() / 1000.0;
        Measurement {
            threads: threads as i64,
            gflops_predicted: rounded(predicted),
            gflops_measured: rounded(measured),
            gflops_iqr: rounded(iqr),
            of_predicted: (predicted > 0.0).then(|| rounded(measured / predicted)),
        }
    }
}

/// What a file must have been made for.
#[derive(Clone, Debug)]
pub struct Expected<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The target, such as "cpu".
    pub target: &'a str,
    /// The kernel's shape variables.
    pub shape_vars: &'a [String],
    /// The hash of the nest.
    pub source_hash: u64,
    /// [`Config::space_hashes`](crate::config::Config::space_hashes).
    pub space_hashes: &'a [String],
    /// The CPU's model; empty for a GPU.
    pub cpu: &'a str,
    /// The CPU features that the code may use.
    pub features: &'a [&'a str],
    /// The compiler with its version; `None` where there is no compiler, and any will do.
    pub compiler: Option<&'a str>,
}

impl Tuned {
    /// Reads a file and checks it against what it must have been made for. Whether its schedules are valid for the nest
    /// and the CPU is the sketch's to say.
    ///
    /// # Errors
    /// A [`Miss`], whatever is wrong.
    pub fn load(path: &Path, expected: &Expected<'_>) -> Result<Tuned, Miss> {
        let unusable = |why: String| Miss::unusable(path, expected.target, &why);
        let text = read(path).map_err(unusable)?.ok_or_else(|| Miss::absent(path, expected.target))?;
        let unreadable = |e: serde_json::Error| unusable(format!("it cannot be read: {e}"));
        // The contents of another format are not read.
        let Version { format } = serde_json::from_str(&text).map_err(unreadable)?;
        same("format version", format, FORMAT).map_err(unusable)?;
        let tuned: Tuned = serde_json::from_str(&text).map_err(unreadable)?;
        tuned.check(expected).map_err(unusable)?;
        Ok(tuned)
    }

    /// Whether a file could be saved at a path; nothing is left there. The path with links followed, so that two that are equal are
    /// one file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if it cannot be written.
    pub fn check_place(path: &Path) -> Result<PathBuf> {
        check_whole(path).map_err(|e| Error::of_file(path, "cannot be written", e))
    }

    /// Writes the file whole or not at all. A link stays one: what it leads to is written.
    ///
    /// # Errors
    /// If it cannot be written, or could not be read back (a tree that is too deep, a figure that is not finite, a micro-kernel that
    /// is there twice).
    pub fn save(&self, path: &Path) -> Result<()> {
        let error = |message: &str| Error::failed(format!("{}: {message}", path.display()));
        let pretty = serde_json::to_string_pretty(self).map_err(|e| error("cannot be written").caused_by(e))?;
        let text = layout::joined(&pretty);
        let same = serde_json::from_str(&text).is_ok_and(|read: Tuned| read == *self);
        if !same || self.tree.depth() > MAX_DEPTH {
            return Err(error("it would not be read back as it is: a figure is not finite, or the tree is too deep"));
        }
        check_micro_kernels(&self.micro_kernels).map_err(|why| error(&format!("it would not be read back: {why}")))?;
        write_whole(path, [&text]).map_err(|e| Error::of_file(path, "cannot be written", e))
    }

    /// What is wrong, if anything.
    fn check(&self, expected: &Expected<'_>) -> Result<(), String> {
        same("kernel", self.kernel.as_str(), expected.kernel)?;
        same("target", self.target.as_str(), expected.target)?;
        self.provenance.check(expected)?;
        check_micro_kernels(&self.micro_kernels)?;
        check_tree(&self.tree, &self.micro_kernels, expected.shape_vars)?;
        if let Some(asked) = &self.asked {
            same("number of weights", asked.weights.len(), self.instances.len())?;
        }
        self.regret.as_ref().map_or(Ok(()), |regret| regret.check(&self.micro_kernels))
    }
}

impl Provenance {
    fn check(&self, expected: &Expected<'_>) -> Result<(), String> {
        same("hash of the nest", self.source_hash.as_str(), format!("{:016x}", expected.source_hash).as_str())?;
        if !expected.space_hashes.contains(&self.space_hash) {
            let (found, expected) = (&self.space_hash, expected.space_hashes.join(" or "));
            let what = "its hash of what it was chosen from (the config's rules or generators, march, tf32)";
            return Err(format!("{what} is {found:?}, expected {expected}"));
        }
        same("CPU", self.cpu.as_str(), expected.cpu)?;
        // A version that knows more features finds more of them on the same CPU.
        if !self.features.iter().all(|feature| expected.features.contains(&feature.as_str())) {
            same("list of CPU features", self.features.join(" ").as_str(), expected.features.join(" ").as_str())?;
        }
        expected.compiler.map_or(Ok(()), |compiler| same("compiler", self.compiler.as_str(), compiler))
    }
}

fn same<T: PartialEq + Copy + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("its {what} is {found:?}, expected {expected:?}")) }
}

fn check_micro_kernels(micro_kernels: &[MicroKernel]) -> Result<(), String> {
    if micro_kernels.is_empty() {
        return Err("it has no micro-kernels".to_string());
    }
    for (at, micro_kernel) in micro_kernels.iter().enumerate() {
        micro_kernel.check_name()?;
        if micro_kernels[..at].iter().any(|earlier| earlier.name() == micro_kernel.name()) {
            return Err(format!("the micro-kernel {:?} is there twice", micro_kernel.name()));
        }
    }
    Ok(())
}

fn check_tree(tree: &Tree, micro_kernels: &[MicroKernel], shape_vars: &[String]) -> Result<(), String> {
    for (depth, node) in tree.nodes() {
        match node {
            _ if depth > MAX_DEPTH => return Err(format!("its tree is more than {MAX_DEPTH} deep")),
            Tree::Leaf(name) if !micro_kernels.iter().any(|m| m.origin.name == *name) => {
                return Err(format!("its tree leads to {name:?}, which is not among its micro-kernels"));
            }
            Tree::Leaf(_) => {}
            Tree::Split(split) => {
                let mut odd = None;
                split.condition.of.each_var(&mut |var| {
                    odd = odd.take().or_else(|| (!shape_vars.contains(var)).then(|| var.clone()));
                });
                if let Some(odd) = odd {
                    return Err(format!("its tree asks for {odd:?}, which is no shape variable"));
                }
            }
        }
    }
    Ok(())
}

/// The text; none if there is no such file; else why it cannot be read.
fn read(path: &Path) -> Result<Option<String>, String> {
    let why = |e: std::io::Error| format!("it cannot be read: {e}");
    // Reading a pipe would wait for its other end.
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err("it is not a file".to_owned()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(why(e)),
    }
    let file = fs::File::open(path).map_err(why)?;
    let mut text = String::new();
    match file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(why)? as u64 {
        ..=MAX_BYTES => Ok(Some(text)),
        _ => Err(format!("it is larger than {} MiB", MAX_BYTES >> 20)),
    }
}
