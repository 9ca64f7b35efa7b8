//! One code for many micro-kernels: those that differ in the sizes of outer blocks only.
//!
//! A search compiles a register tile once and calls it with the sizes of each draw. What a micro-kernel is (its name, the hash of its
//! structure, its limits, what a model expects of it) follows from its trace as it is; only what is called meanwhile is this form. Tiles at
//! edges, of which there are several sizes in a build, are whole meanwhile, where that takes about as long.

use serde::{Deserialize, Serialize};

use super::apply::unlimited;
use super::{Lowered, MicroKernel};
use crate::ir::Program;
use crate::machine::Target;
use crate::{ErrorKind, Result};

/// Code with sizes as parameters, and those with which it does what a micro-kernel does.
#[derive(Clone, Debug)]
pub struct Parametric {
    /// What is printed; micro-kernels that share code have the same.
    pub lowered: Lowered,
    /// How it is called.
    pub sizes: Sizes,
}

/// What code is called with instead of what its row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The parameters, behind the shape variables.
    pub parameters: Vec<i64>,
    /// Bytes of scratch memory that a thread needs then.
    pub scratch_bytes: i64,
}

impl Sizes {
    /// What the row of some code says, or the same with other parameters.
    pub fn of(lowered: &Lowered, parameters: Vec<i64>) -> Sizes {
        Sizes { scratch_bytes: lowered.scratch_bytes(&parameters), parameters }
    }
}

impl MicroKernel {
    /// What a search may screen in its place: the same with whole tiles at edges, which are most of its code where they are halved. It
    /// keeps the name, under which its failures are told; none where no tile is halved, and of a cover.
    pub fn with_whole_edges(&self) -> Option<MicroKernel> {
        let trace = self.trace.with_whole_edges().filter(|_| self.cover.is_none())?;
        Some(MicroKernel { origin: self.origin.clone(), trace, cover: None })
    }

    /// The form with parameters; none for a GPU, whose code has constants, and for a cover, where there are no sizes to leave open, and where lowering
    /// refuses that they are: a view along a loop of which the steps are as long as a parameter says.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`], as of lowering.
    pub fn parametric(&self, program: &Program, target: &Target) -> Result<Option<Parametric>> {
        let Some((trace, parameters)) =
            self.trace.parametric().filter(|_| target.cpu().is_some() && self.cover.is_none())
        else {
            return Ok(None);
        };
        match unlimited(program, target, &trace) {
            Ok(lowered) => Ok(Some(Parametric { sizes: Sizes::of(&lowered, parameters), lowered })),
            Err(e) if e.kind() == ErrorKind::Input => Ok(None),
            Err(e) => Err(e),
        }
    }
}
