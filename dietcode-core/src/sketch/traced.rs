//! A micro-kernel that is a trace with all decisions made: any schedule of the whole space.

use serde::{Deserialize, Serialize};

use dietcode_syntax::KernelDef;

use super::name::identifier;
use crate::frontend;
use crate::machine::Target;
use crate::schedule::Trace;

/// A trace that replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traced {
    /// The instructions and all decisions.
    pub trace: Trace,
}

impl Traced {
    /// A C identifier: `traced`, or `nest` for the nest as it stands, the decisions that are not 1, and a hash of the whole,
    /// which tells sketches apart.
    pub fn name(&self) -> String {
        let mut name = if self.is_nest() { "nest" } else { "traced" }.to_owned();
        let decided = self.trace.variables().filter_map(|var| Some((var, *self.trace.decisions.get(var)?)));
        name.extend(decided.filter(|(_, value)| *value != 1).map(|(var, value)| format!("_{var}{value}")));
        identifier(self, &name, false)
    }

    /// Everything that speaks against it on a nest and a target: an instruction that does not hold, or a limit.
    pub fn violations(&self, def: &KernelDef, target: &Target) -> Vec<String> {
        self.lowered(&frontend::program(def), target).err().map(|e| e.to_string()).into_iter().collect()
    }
}
