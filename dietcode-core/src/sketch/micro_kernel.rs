//! A micro-kernel, as tuned files, records and the registry know it: a schedule, and where it comes from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::name_of;
use super::{Cover, Lowered, apply};
use crate::Result;
use crate::ir::Program;
use crate::machine::Target;
use crate::schedule::Trace;

/// A schedule with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MicroKernel {
    /// Where it comes from, for people.
    pub origin: Origin,
    /// The schedule: all decisions are made, and postprocessors have run.
    pub trace: Trace,
    /// What covers the remainder along an axis; none: the schedule covers all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
}

/// Where a micro-kernel comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Its name: that of its trace, or of both traces of a cover.
    pub name: String,
    /// The family, such as `tiled`; `traced` for what a search of the whole space finds, `nest` for the nest as it stands, `cover`
    /// for two micro-kernels on one output.
    pub family: String,
    /// The family's parameters; null where there are none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub parameters: Value,
}

/// The family of what has no parameters.
pub(crate) const TRACED: &str = "traced";
/// The family of the nest as it stands.
pub(super) const NEST: &str = "nest";

impl MicroKernel {
    /// The micro-kernel of a trace that was carried out.
    pub fn of(lowered: &Lowered) -> MicroKernel {
        MicroKernel::of_trace(lowered.final_trace(), TRACED)
    }

    /// That of a family's parameters.
    pub(super) fn of_family(family: &str, parameters: &impl Serialize, trace: Trace) -> MicroKernel {
        let parameters = serde_json::to_value(parameters).unwrap_or_default();
        let origin = Origin { name: name_of(&trace, None), family: family.to_owned(), parameters };
        MicroKernel { origin, trace, cover: None }
    }

    /// With what came of it.
    pub(super) fn carried_out(self, program: &Program, target: &Target) -> Result<(MicroKernel, Lowered)> {
        let lowered = self.lowered(program, target)?;
        Ok((self, lowered))
    }

    /// That of a trace as it is, of a family or [drawn](MicroKernel::is_drawn).
    pub fn of_trace(trace: Trace, family: &str) -> MicroKernel {
        let origin = Origin { name: name_of(&trace, None), family: family.to_owned(), parameters: Value::Null };
        MicroKernel { origin, trace, cover: None }
    }

    /// Its name, which follows from what it is made of: equal traces have equal names, whatever made them.
    pub fn name(&self) -> String {
        self.origin.name.clone()
    }

    /// Whether a search of the whole space found it.
    pub fn is_drawn(&self) -> bool {
        self.origin.family == TRACED
    }

    /// Whether it comes from no family.
    pub fn is_trace(&self) -> bool {
        self.is_drawn() || self.is_nest()
    }

    /// Whether it is the nest as it stands: nothing in it is split or copied.
    pub fn is_nest(&self) -> bool {
        self.origin.family == NEST
    }

    /// The schedule, carried out, and that of the remainder.
    ///
    /// # Errors
    /// As [`apply`]; a nest that cannot be cut in two where it shall be.
    pub fn lowered(&self, program: &Program, target: &Target) -> Result<Lowered> {
        let main = apply(program, target, &self.trace)?;
        match &self.cover {
            Some(cover) => cover.beside(main, program, target),
            None => Ok(main),
        }
    }

    /// What it is made of, for people: its instructions, and those of the remainder.
    pub fn text(&self) -> String {
        match &self.cover {
            None => self.trace.to_string(),
            Some(Cover { along, multiple, rest }) => {
                format!("# multiples of {multiple} of {along}\n{}# the rest of {along}\n{rest}", self.trace)
            }
        }
    }

    /// Checks what a file says of a name: it becomes a part of symbols, and follows from the trace.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check_name(&self) -> Result<(), String> {
        let (name, expected) = (&self.origin.name, name_of(&self.trace, self.cover.as_ref()));
        match *name == expected {
            true => Ok(()),
            false => Err(format!("a micro-kernel is called {name:?}, but its schedule is {expected:?}")),
        }
    }
}
