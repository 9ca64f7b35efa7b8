//! `search.evolution` and `search.scheduler`: how candidates are chosen.

use super::reader::Node;
use crate::Result;
use crate::sketch::{Mutator, Mutators};

/// How an evolution goes; the defaults are those of TVM's MetaSchedule (`EvolutionarySearch`), but for fewer candidates of fewer generations:
/// trials take a tenth of a second here, and proposing them shall not take as long.
#[derive(Clone, Debug, PartialEq)]
pub struct Evolution {
    /// Candidates of a generation.
    pub population: usize,
    /// The share of the first one that is taken from the best on record.
    pub from_database: f64,
    /// Generations after the first.
    pub generations: usize,
    /// How likely a child is a mutant of one parent; else it is a mixture of two.
    pub mutation: f64,
    /// How often each mutator is chosen.
    pub mutators: Mutators,
    /// How often a draw or a child that cannot be carried out is made anew.
    pub retries: usize,
    /// The share of a round that is selected at random.
    pub epsilon: f64,
    /// Candidates that are measured in a round.
    pub per_round: usize,
}

impl Default for Evolution {
    fn default() -> Evolution {
        Evolution {
            population: 256,
            from_database: 0.2,
            generations: 3,
            mutation: 0.85,
            mutators: Mutators::default(),
            retries: 10,
            epsilon: 0.05,
            per_round: 64,
        }
    }
}

const KEYS: &[&str] =
    &["population", "from_database", "generations", "mutation", "mutators", "retries", "epsilon", "per_round"];

impl Evolution {
    pub(super) fn read(node: &Node<'_>) -> Result<Evolution> {
        let object = node.object(KEYS)?;
        let mut read = Evolution::default();
        object.read("population", &mut read.population, |node| node.count(1..=65_536))?;
        object.read("generations", &mut read.generations, |node| node.count(0..=1_000))?;
        object.read("retries", &mut read.retries, |node| node.count(1..=1_000))?;
        object.read("per_round", &mut read.per_round, |node| node.count(1..=65_536))?;
        object.read("from_database", &mut read.from_database, share)?;
        object.read("mutation", &mut read.mutation, share)?;
        object.read("epsilon", &mut read.epsilon, share)?;
        object.read("mutators", &mut read.mutators, mutators)?;
        Ok(read)
    }
}

/// The default with what is set.
fn mutators(node: &Node<'_>) -> Result<Mutators> {
    let object = node.object(&Mutator::ALL.map(Mutator::name))?;
    let mut read = Mutators::default();
    for mutator in Mutator::ALL {
        if let Some(node) = object.get(mutator.name()) {
            read.set(mutator, share(&node)?);
        }
    }
    if read.is_none() { Err(node.expected("a mutator with a probability above 0")) } else { Ok(read) }
}

/// How rounds are shared out among the kernels of a run; the defaults are those of Ansor's task scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduling {
    /// How much what a kernel gained lately counts, against what it may gain at the most.
    pub alpha: f64,
    /// How much faster than the best of the others a kernel is not expected to become, in operations per second: a factor.
    pub beta: f64,
    /// The rounds that count as lately.
    pub window: usize,
    /// The share of the rounds that a random kernel gets.
    pub epsilon: f64,
}

impl Default for Scheduling {
    fn default() -> Scheduling {
        Scheduling { alpha: 0.2, beta: 2.0, window: 3, epsilon: 0.05 }
    }
}

impl Scheduling {
    pub(super) fn read(node: &Node<'_>) -> Result<Scheduling> {
        let object = node.object(&["alpha", "beta", "window", "epsilon"])?;
        let mut read = Scheduling::default();
        object.read("alpha", &mut read.alpha, share)?;
        object.read("epsilon", &mut read.epsilon, share)?;
        object.read("beta", &mut read.beta, Node::factor)?;
        object.read("window", &mut read.window, |node| node.count(1..=1_000))?;
        Ok(read)
    }
}

fn share(node: &Node<'_>) -> Result<f64> {
    node.number("a number from 0 to 1", |share| (0.0..=1.0).contains(&share))
}
