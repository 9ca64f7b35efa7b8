//! A workload instance of a search.

use crate::config::WklInst;
use crate::measure::Instance;

/// A workload instance of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadInstance {
    /// The workload variables.
    pub wkl: WklInst,
    /// How much it counts.
    pub weight: f64,
    /// The kernel there.
    pub instance: Instance,
}
