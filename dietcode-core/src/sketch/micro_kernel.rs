//! A micro-kernel, as tuned files, records and the registry know it: a schedule, and where it comes from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::{MAX_NAME, identifier};
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
    /// A readable C identifier.
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
    pub(super) fn of_family(family: &str, name: String, parameters: &impl Serialize, trace: Trace) -> MicroKernel {
        let parameters = serde_json::to_value(parameters).unwrap_or_default();
        let origin = Origin { name, family: family.to_owned(), parameters };
        MicroKernel { origin, trace }
    }

    /// With what came of it.
    pub(super) fn carried_out(self, program: &Program, target: &Target) -> Result<(MicroKernel, Lowered)> {
        let lowered = self.lowered(program, target)?;
        Ok((self, lowered))
    }

    /// That of a trace as it is.
    pub(crate) fn of_trace(trace: Trace, family: &str) -> MicroKernel {
        let origin = Origin { name: trace_name(&trace, family), family: family.to_owned(), parameters: Value::Null };
        MicroKernel { origin, trace }
    }

    /// A readable C identifier, the same for equal parameters of a family.
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

    /// Checks what a file says of a name: it becomes a symbol, and that of a trace follows from it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check_name(&self) -> Result<(), String> {
        let Origin { name, family, .. } = &self.origin;
        let is_symbol = |name: &str| {
            (1..=MAX_NAME).contains(&name.len())
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        };
        if !is_symbol(name) {
            return Err(format!(
                "a micro-kernel is called {name:?}, expected at most {MAX_NAME} letters, digits and _"
            ));
        }
        let expected = trace_name(&self.trace, family);
        match [TRACED, NEST].contains(&family.as_str()) && *name != expected {
            true => Err(format!("a micro-kernel is called {name:?}, but its schedule is {expected:?}")),
            false => Ok(()),
        }
    }
}

/// The family, the decisions that are not 1, and a hash of the whole, which differs between sketches.
fn trace_name(trace: &Trace, family: &str) -> String {
    let decided = trace.variables().filter_map(|var| Some((var, *trace.decisions.get(var)?)));
    let decided = decided.filter(|(_, value)| *value != 1).map(|(var, value)| format!("_{var}{value}"));
    identifier(trace, &decided.fold(family.to_owned(), |name, part| name + &part), false)
}
