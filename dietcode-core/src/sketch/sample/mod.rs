//! Sampling: values for the open decisions of a sketch, all of them together, under the limits of extents and target.
//!
//! ```text
//! i_register, j_register, j_lanes, k_steps = sample_target_constrained_tiles() = _, _, _, _
//!     →  16 lanes; registers for 30 accumulators: 6 rows of 4 vectors; steps for which they fit the caches: 384; …
//! ```
//!
//! A draw takes one variable after the other. Each gets a value that keeps all limits with every variable that is still open
//! at its least; since that held before, there always is one, and nothing is drawn in vain.
//!
//! Source: `sample_target_constrained_tiles` follows the joint sampling of DietCode (MLSys 2022, section 4.2), the others
//! `Schedule::SampleCategorical` and `SampleComputeLocation` of TVM.

mod bounded;
mod size;
#[cfg(test)]
mod tests;
mod threads;
mod tiles;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

pub(crate) use bounded::Bounded;
pub(crate) use size::pick;
pub(crate) use threads::{factorisations, is_bound_to_threads};

use super::Space;
use crate::schedule::Trace;
use crate::{Error, Result};

/// A space whose sketches are read: for many draws.
pub struct Sampler<'a> {
    space: &'a Space,
    sketches: Vec<Bounded>,
}

impl Space {
    /// Reads the sketches, for many draws. Those that have no draw are left out, unless a user's own rule made them.
    ///
    /// # Errors
    /// No sketch has a draw: the limit that the least one breaks. A user's sketch that has none, with the rule.
    pub fn sampler(&self) -> Result<Sampler<'_>> {
        let (mut sketches, mut empty) = (Vec::new(), None);
        for sketch in &self.sketches {
            match Bounded::of(self, sketch) {
                Ok(bounded) => sketches.push(bounded),
                Err(e) if self.rule.is_some() => return Err(e),
                Err(e) => empty = empty.or(Some(e)),
            }
        }
        match sketches.is_empty() {
            true => Err(empty.unwrap_or_else(|| Error::input(format!("`{}` has no sketches", self.def.name)))),
            false => Ok(Sampler { space: self, sketches }),
        }
    }

    /// A random sketch with all decisions made.
    ///
    /// # Errors
    /// As [`Space::sampler`].
    pub fn sample(&self, rng: &mut StdRng) -> Result<Trace> {
        let mut order: Vec<&Trace> = self.sketches.iter().collect();
        order.shuffle(rng);
        let mut empty = None;
        for sketch in order {
            match Bounded::of(self, sketch) {
                Ok(bounded) => return Ok(bounded.sample(rng)),
                Err(e) if self.rule.is_some() => return Err(e),
                Err(e) => empty = empty.or(Some(e)),
            }
        }
        Err(empty.unwrap_or_else(|| Error::input(format!("`{}` has no sketches", self.def.name))))
    }

    /// Makes the decisions of a trace that are open, and keeps the others.
    ///
    /// # Errors
    /// A decision that the trace's instructions do not ask for, that is none of its values, or that breaks a limit even if
    /// all that follows is at its least.
    pub fn complete(&self, partial: &Trace, rng: &mut StdRng) -> Result<Trace> {
        Bounded::of(self, partial)?.complete(&partial.decisions, rng)
    }
}

impl Sampler<'_> {
    /// As [`Space::sample`].
    pub fn sample(&self, rng: &mut StdRng) -> Trace {
        self.sketches[rng.random_range(0..self.sketches.len())].sample(rng)
    }

    /// As [`Space::complete`].
    ///
    /// # Errors
    /// As [`Space::complete`].
    pub fn complete(&self, partial: &Trace, rng: &mut StdRng) -> Result<Trace> {
        self.with(partial, |bounded| bounded.complete(&partial.decisions, rng))
    }

    /// The sketch of a trace: one of the space, or one of its own.
    pub(crate) fn with<T>(&self, trace: &Trace, then: impl FnOnce(&Bounded) -> Result<T>) -> Result<T> {
        match self.sketches.iter().find(|bounded| bounded.is_of(trace)) {
            Some(bounded) => then(bounded),
            None => then(&Bounded::of(self.space, trace)?),
        }
    }
}
