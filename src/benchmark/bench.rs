//! What measures: the processor or a device, behind one face.

use dietcode_core::Result;
use dietcode_core::measure::{Failure, LinkedName, Sample};
use dietcode_core::runtime::set::Entry;
use dietcode_core::sketch::Family;

use super::results::Machine;

/// Somebody who carries out the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contestant {
    /// The library that others are compared with.
    Library,
    /// What a call of the kernel runs.
    Dispatched,
    /// A configuration of the set.
    Configuration(String),
}

/// The name of [`Contestant::Dispatched`] in results.
pub(super) const DISPATCHED: &str = "dispatched";

/// How often somebody is timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    /// So often.
    pub(super) reps: usize,
    /// Who takes longer than this in its first call is not called again.
    pub(super) slow_seconds: f64,
}

/// A place to measure one product at.
pub(super) trait Bench {
    /// What it is, for results.
    fn machine(&self) -> Machine;

    /// The library, by name; none if there is none that can carry out the product.
    fn library(&self) -> Option<String>;

    /// The micro-kernel that the dispatcher picks, by name.
    fn picked(&self) -> Result<String>;

    /// Why a configuration has no micro-kernel for the product here; none if it has one.
    fn unserved(&self, entry: Option<&'static Entry>, family: &Family) -> Option<String>;

    /// Checks contestants and times them by turns; one outcome each.
    fn measure(&mut self, contestants: &[Contestant], repeats: Repeats) -> Result<Vec<Result<Sample, Failure>>>;

    /// Whether others used the cores in more rounds of all measurements than not.
    fn in_use(&self) -> bool {
        false
    }
}

impl Contestant {
    /// Under which name it is linked into the program; none for a library.
    pub(super) fn linked(&self, kernel: &str) -> Option<LinkedName> {
        let configuration = match self {
            Contestant::Library => return None,
            Contestant::Dispatched => None,
            Contestant::Configuration(name) => Some(name.clone()),
        };
        Some(LinkedName { kernel: kernel.to_owned(), configuration })
    }
}

/// The reason why a configuration has no micro-kernel here.
pub(super) fn reason(why: Result<(), String>) -> String {
    why.err().unwrap_or_else(|| "it was not compiled for this product and target".to_owned())
}
