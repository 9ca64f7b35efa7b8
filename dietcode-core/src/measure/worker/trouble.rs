//! What goes wrong in a worker.

use crate::Error;
use crate::measure::Failure;

/// What went wrong in a worker, by what has to be done about it.
#[derive(Debug)]
pub(in crate::measure) enum Trouble {
    /// With an implementation; the next one may go on.
    Failed(Failure),
    /// With an implementation, and the driver's context is lost with it.
    Lost(Failure),
    /// With the machine: there is no memory for the tensors, for instance.
    Machine(Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failed(failure)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Machine(error)
    }
}
