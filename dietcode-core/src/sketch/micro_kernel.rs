//! A micro-kernel, as tuned files, records and the registry know it: a schedule, and where it comes from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::name_of;
use super::{Lowered, apply};
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
}

/// Where a micro-kernel comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Its name: that of its trace.
    pub name: String,
    /// The family, such as `tiled`; `traced` for what a search of the whole space finds, `nest` for the nest as it stands.
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
        let origin = Origin { name: name_of(&trace), family: family.to_owned(), parameters };
        MicroKernel { origin, trace }
    }

    /// With what came of it.
    pub(super) fn carried_out(self, program: &Program, target: &Target) -> Result<(MicroKernel, Lowered)> {
        let lowered = self.lowered(program, target)?;
        Ok((self, lowered))
    }

    /// That of a trace as it is, of a family or [drawn](MicroKernel::is_drawn).
    pub fn of_trace(trace: Trace, family: &str) -> MicroKernel {
        let origin = Origin { name: name_of(&trace), family: family.to_owned(), parameters: Value::Null };
        MicroKernel { origin, trace }
    }

    /// Its name, which follows from its trace: equal traces have equal names, whatever made them.
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

    /// The schedule, carried out.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn lowered(&self, program: &Program, target: &Target) -> Result<Lowered> {
        apply(program, target, &self.trace)
    }

    /// Checks what a file says of a name: it becomes a part of symbols, and follows from the trace.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check_name(&self) -> Result<(), String> {
        let (name, expected) = (&self.origin.name, name_of(&self.trace));
        match *name == expected {
            true => Ok(()),
            false => Err(format!("a micro-kernel is called {name:?}, but its schedule is {expected:?}")),
        }
    }
}
