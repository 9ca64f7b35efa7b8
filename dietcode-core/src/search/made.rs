//! What made a trace that a search proposed.

use serde::{Deserialize, Serialize};

use crate::sketch::Mutator;

/// Where a trace of the space comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// A sketch whose decisions were drawn at random.
    Drawn,
    /// A family, with parameters that the config lists.
    Template,
    /// It was among the best on record before the run.
    Recorded,
    /// It was among the best that the run had found for a kernel that is alike.
    Similar,
    /// A mutator, of a parent.
    Mutant(Mutator),
    /// A mixture of two parents.
    Crossover,
}
