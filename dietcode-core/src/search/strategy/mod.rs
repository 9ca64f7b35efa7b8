//! Where proposals come from. What one proposes depends on its seed, on what is on record, and on what was measured.
mod draw;
mod enumerate;
mod evolve;

pub use draw::drawn;
pub use enumerate::enumerated;
pub use evolve::evolved;

use super::Tuning;
use super::proposal::Proposal;
use crate::Result;

/// Proposes what is to be tried next.
pub trait Propose {
    /// At most `want` candidates that were not tried; none when there is nothing more to try.
    ///
    /// # Errors
    /// If the space is one in which nothing can be found.
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>>;

    /// Begins with what takes long of the next proposals, where it has anything, while the last candidates before them are measured. What it
    /// depends on is the state at this time.
    fn prepare(&mut self, _: &Tuning<'_>) {}

    /// Ends that: when it is done, or at once, where no more proposals are wanted.
    fn settle(&mut self, _is_wanted: bool) {}
}
