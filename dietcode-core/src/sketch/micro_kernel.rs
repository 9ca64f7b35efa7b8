//! A micro-kernel of any family, as tuned files, records and the registry know it.

use serde::{Deserialize, Serialize};

use super::{Blocked, Tiled, Traced};

/// A schedule with its family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum MicroKernel {
    /// The CPU's family with parameters.
    Tiled(Tiled),
    /// The GPU's family with parameters.
    Blocked(Blocked),
    /// Any schedule: what a search of the whole space finds.
    Traced(Traced),
}

impl MicroKernel {
    /// A readable C identifier: equal names, equal schedules.
    pub fn name(&self) -> String {
        match self {
            MicroKernel::Tiled(tiled) => tiled.name(),
            MicroKernel::Blocked(blocked) => blocked.name(),
            MicroKernel::Traced(traced) => traced.name(),
        }
    }
}

impl From<Tiled> for MicroKernel {
    fn from(tiled: Tiled) -> MicroKernel {
        MicroKernel::Tiled(tiled)
    }
}

impl From<Blocked> for MicroKernel {
    fn from(blocked: Blocked) -> MicroKernel {
        MicroKernel::Blocked(blocked)
    }
}

impl From<Traced> for MicroKernel {
    fn from(traced: Traced) -> MicroKernel {
        MicroKernel::Traced(traced)
    }
}
