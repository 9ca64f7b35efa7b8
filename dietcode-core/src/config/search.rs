//! `search`: how long, how many, from which seed, at how many threads.

use std::collections::BTreeMap;

use super::choices::{Cache, Model, Strategy};
use super::evolution::{Evolution, Scheduling};
use super::reader::{MAX_INTEGER, Node};
use super::rules::{BlockRule, NamedStructure};
use crate::Result;
use crate::sketch::rules::Tf32;

/// The longest search, in seconds: thirty days.
const MAX_SECONDS: f64 = 30.0 * 86_400.0;

/// The most micro-kernels that a tuned file may be given.
const MAX_MICRO_KERNELS: i64 = 64;

/// The limits and settings of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The budget in seconds; the best so far is taken when it ends.
    pub seconds: f64,
    /// The most candidates to try beside the defaults; none: as many as the budget allows.
    pub trials: Option<u64>,
    /// Where random choices start.
    pub seed: u64,
    /// The numbers of threads to measure at; 0 stands for all cores.
    pub threads: Vec<i64>,
    /// How far below its best micro-kernel an instance may be, as a fraction, for the set to be smaller.
    pub tolerance: f64,
    /// The most micro-kernels of a tuned file, as far as no default is added that wins at an instance.
    pub micro_kernels: usize,
    /// Where candidates come from.
    pub strategy: Strategy,
    /// What guides an evolution.
    pub model: Model,
    /// How an evolution goes.
    pub evolution: Evolution,
    /// How rounds are shared out among the kernels of a run.
    pub scheduler: Scheduling,
    /// How much the kernel's latency counts in a run of several; positive.
    pub weight: f64,
    /// The user's own rules, by the block that they make the sketches of; those of one kind of targets by `cpu.` or `cuda.` and
    /// the block.
    pub rules: BTreeMap<String, BlockRule>,
    /// How a GPU's matrix units may multiply tensors of `f32`.
    pub tf32: Tf32,
    /// The structure of tiles; none: the default of each target.
    pub structure: Option<NamedStructure>,
    /// What caches hold before a call that is measured.
    pub cache: Cache,
}

const KEYS: &[&str] = &[
    "seconds",
    "trials",
    "seed",
    "threads",
    "tolerance",
    "micro_kernels",
    "strategy",
    "model",
    "evolution",
    "scheduler",
    "weight",
    "rules",
    "tf32",
    "structure",
    "cache",
];

impl Default for Search {
    fn default() -> Search {
        Search {
            seconds: 75.0,
            trials: None,
            seed: 0,
            threads: vec![1, 0],
            tolerance: 0.02,
            micro_kernels: 8,
            strategy: Strategy::default(),
            model: Model::default(),
            evolution: Evolution::default(),
            scheduler: Scheduling::default(),
            weight: 1.0,
            rules: BTreeMap::new(),
            tf32: Tf32::default(),
            structure: None,
            cache: Cache::default(),
        }
    }
}

impl Search {
    pub(super) fn read(node: &Node<'_>) -> Result<Search> {
        let object = node.object(KEYS)?;
        let mut search = Search::default();
        let expected = format!("a number greater than 0, at most {MAX_SECONDS}");
        object.read("seconds", &mut search.seconds, |node| {
            node.number(&expected, |seconds| seconds > 0.0 && seconds <= MAX_SECONDS)
        })?;
        object.read("trials", &mut search.trials, |node| Ok(Some(node.integer(1..=MAX_INTEGER)?.unsigned_abs())))?;
        object.read("seed", &mut search.seed, |node| Ok(node.integer(0..=MAX_INTEGER)?.unsigned_abs()))?;
        object.read("threads", &mut search.threads, |node| {
            let elements = node.filled_array("an array of at least one number of threads")?;
            let mut threads = Vec::new();
            for element in elements {
                let number = element.integer(0..=1024)?;
                if threads.contains(&number) {
                    return Err(
                        element.error(&format!("found {number} a second time, expected each number of threads once"))
                    );
                }
                threads.push(number);
            }
            Ok(threads)
        })?;
        object.read("tolerance", &mut search.tolerance, |node| {
            node.number("a number from 0 to less than 1", |tolerance| (0.0..1.0).contains(&tolerance))
        })?;
        object.read("micro_kernels", &mut search.micro_kernels, |node| node.count(1..=MAX_MICRO_KERNELS))?;
        object.read("strategy", &mut search.strategy, Strategy::read)?;
        object.read("model", &mut search.model, Model::read)?;
        object.read("evolution", &mut search.evolution, Evolution::read)?;
        object.read("scheduler", &mut search.scheduler, Scheduling::read)?;
        object.read("weight", &mut search.weight, Node::factor)?;
        object.read("rules", &mut search.rules, BlockRule::read_all)?;
        object.read("tf32", &mut search.tf32, read_tf32)?;
        object.read("structure", &mut search.structure, |node| NamedStructure::read(node).map(Some))?;
        object.read("cache", &mut search.cache, Cache::read)?;
        Ok(search)
    }
}

/// `true`: rounded once; "x3": as good as `f32`.
fn read_tf32(node: &Node<'_>) -> Result<Tf32> {
    let expected = "true, false or \"x3\"";
    match (node.boolean(), node.string(expected)) {
        (Ok(false), _) => Ok(Tf32::Forbidden),
        (Ok(true), _) => Ok(Tf32::Once),
        (_, Ok("x3")) => Ok(Tf32::Thrice),
        _ => Err(node.expected(expected)),
    }
}
