//! Answers a run that is continued with what is on record of its beginning.
//!
//! A search whose proposals depend on its seed and on what was measured, and on nothing else, takes the same way again if each
//! measurement gives what it gave before. So a run is continued by starting it anew, and asking here before measuring:
//!
//! ```text
//! measure(name, shape, threads) ── Replay::take ──► on record: that outcome, and nothing is measured or recorded
//!                                               └─► not on record: the run had come so far, go on measuring
//! ```

use std::collections::{HashMap, VecDeque};

use super::record::{Outcome, Record, Shape};

/// A micro-kernel at a shape; without one: compiling it.
type Asked = (String, Option<Shape>);

/// The outcomes of a run that were not asked for yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    left: HashMap<Asked, VecDeque<Outcome>>,
}

impl Replay {
    /// Of the records of one run, in their order.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Replay {
        let mut replay = Replay::default();
        for record in records {
            let asked = (record.name.clone(), record.workload.shape.clone());
            replay.left.entry(asked).or_default().push_back(record.outcome.clone());
        }
        replay
    }

    /// The outcome on record of a micro-kernel at a shape and a number of threads. What was measured more than once is given
    /// in that order, each once.
    ///
    /// A failure says nothing of threads, but is the last that is seen of a micro-kernel: it answers once no figure does. That
    /// a run was stopped is no answer.
    pub fn take(&mut self, name: &str, shape: Option<&Shape>, threads: usize) -> Option<Outcome> {
        let outcomes = self.left.get_mut(&(name.to_owned(), shape.cloned()))?;
        let measured = |o: &Outcome| matches!(o, Outcome::Measured { threads: found, .. } if *found == threads);
        let failed = |o: &Outcome| matches!(o, Outcome::Failed(why) if *why != crate::measure::Failure::Stopped);
        let at = outcomes.iter().position(measured).or_else(|| outcomes.iter().position(failed))?;
        outcomes.remove(at)
    }

    /// So many outcomes were not asked for: after a run has taken the same way, none.
    pub fn left(&self) -> usize {
        self.left.values().map(VecDeque::len).sum()
    }
}
