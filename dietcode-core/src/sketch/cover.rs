//! Two micro-kernels on one output: a main one for as many whole multiples of its tile as there are along an axis, another one for what
//! remains.
//!
//! ```text
//! M = 70, in multiples of 64      i in 0..64   8x48       i in 64..70   6x48
//! ```
//!
//! Each part is the nest at a smaller size, on parts of the tensors ([`Cut`]), so that each micro-kernel is what it is elsewhere: it pads
//! what hangs over its own edge, has its own panels, and leaves its own workspace. Both parts are carried out at once: phase by phase, the tiles
//! of the one are followed by those of the other, so that no thread waits in between.

#[cfg(feature = "tuner")]
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bounds::MAX_EXTENT;
use super::name::name_of;
use super::{Lowered, MicroKernel, Origin, apply};
use crate::ir::{Cut, Program};
#[cfg(feature = "tuner")]
use crate::ir::{Expr, Name};
use crate::machine::Target;
use crate::schedule::Trace;
#[cfg(feature = "tuner")]
use crate::schedule::{Relation, Schedule};
use crate::{Error, Result};

/// What covers the remainder along an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cover {
    /// The shape variable that is the axis's extent.
    pub along: String,
    /// The main micro-kernel covers as many multiples of this as the extent has.
    pub multiple: i64,
    /// The schedule of the rest.
    pub rest: Trace,
}

/// The same, carried out.
#[derive(Clone, Debug)]
pub struct Remainder {
    /// How the nest is cut.
    pub cut: Cut,
    /// The main part's extent is a multiple of this.
    pub multiple: i64,
    /// What carries out the rest.
    pub rest: Lowered,
}

/// The family of covers.
const COVER: &str = "cover";

impl MicroKernel {
    /// A cover of two micro-kernels that are none.
    pub fn cover(main: &MicroKernel, rest: &MicroKernel, along: &str, multiple: i64) -> MicroKernel {
        let cover = Cover { along: along.to_owned(), multiple, rest: rest.trace.clone() };
        let parameters = serde_json::json!({ "main": main.origin, "rest": rest.origin });
        let origin = Origin { name: name_of(&main.trace, Some(&cover)), family: COVER.to_owned(), parameters };
        MicroKernel { origin, trace: main.trace.clone(), cover: Some(cover) }
    }
}

impl Cover {
    /// The main part with what covers the rest of its program.
    ///
    /// # Errors
    /// A nest that cannot be cut, a multiple that is none, what [`apply`] refuses.
    pub(super) fn beside(&self, mut main: Lowered, program: &Program, target: &Target) -> Result<Lowered> {
        let Cover { along, multiple, rest } = self;
        if !(1..MAX_EXTENT).contains(multiple) {
            return Err(Error::input(format!("a cover in multiples of {multiple}, expected 1 to {}", MAX_EXTENT - 1)));
        }
        let (cut, rest) = (Cut::of(program, along)?, apply(program, target, rest)?);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&main.hash).update(&rest.hash).update(along.as_bytes()).update(&multiple.to_le_bytes());
        main.hash = *hasher.finalize().as_bytes();
        main.cover = Some(Box::new(Remainder { cut, multiple: *multiple, rest }));
        Ok(main)
    }
}

/// The sizes of the tiles that a schedule has along a shape variable, the smallest first: in multiples of these nothing hangs over their
/// edges.
#[cfg(feature = "tuner")]
pub(crate) fn tiles(schedule: &Schedule, along: &Name) -> BTreeSet<i64> {
    fn of(schedule: &Schedule, name: &Name, unit: i64, found: &mut BTreeSet<i64>) {
        for relation in &schedule.relations {
            if let Relation::Split { parent, outer, inner, factor, .. } = relation
                && parent == name
                && let Some(size) = factor.as_int().and_then(|factor| factor.checked_mul(unit))
            {
                found.insert(size);
                of(schedule, outer, size, found);
                of(schedule, inner, unit, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    let axis = schedule.block.iters.iter().find(|iter| iter.extent == Expr::Var(along.clone()));
    axis.into_iter().for_each(|axis| of(schedule, &axis.name, 1, &mut found));
    found.retain(|size| (2..MAX_EXTENT).contains(size));
    found
}

impl Remainder {
    /// The shapes of the main part and of the rest; none of a part that has nothing to compute.
    pub fn parts(&self, shape: &[i64]) -> [Option<Vec<i64>>; 2] {
        let size = shape[self.cut.position];
        let main = size / self.multiple * self.multiple;
        [main, size - main].map(|size| (size > 0).then(|| self.cut.at(shape, size)))
    }
}
