//! Families of configurations: how a product of matrices may be carried out, without the names of any nest.
//!
//! | family                  | what it does                                                                      |
//! |-------------------------|-----------------------------------------------------------------------------------|
//! | `local`                 | both operands are staged in shared memory (GPU) or packed panels (CPU)            |
//! | `non_local`             | operands go straight to registers, by vectors                                     |
//! | `non_local_interleaved` | the same for batches whose matrices lie element by element, vectors along these   |
//! | `naive`                 | one work item for each element of the output                                      |
//! | `tiled`, `blocked`      | this project's schedules for a CPU and a GPU, by the names of a nest's own loops  |
//!
//! The first four have portBLAS's parameters and validity, so that its files are read as they are. A configuration is a
//! schedule only on a nest and a device: [`Family::micro_kernel`] says which, as one of the last two.
mod condition;
mod local;
mod naive;
mod non_local;
mod non_local_interleaved;
mod on_cpu;
mod on_gpu;
mod roles;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use condition::Condition;
pub(crate) use condition::SIZES;
pub use local::Local;
pub use naive::Naive;
pub use non_local::{NonLocal, Vectorization};
pub use non_local_interleaved::NonLocalInterleaved;

use super::name::identifier;
use super::{Blocked, Lowered, MicroKernel, Tiled};
use crate::ir::Program;
use crate::machine::Target;

/// A configuration of one of the families.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum Family {
    /// Both operands are staged.
    Local(Local),
    /// Operands go straight to registers.
    NonLocal(NonLocal),
    /// The same for interleaved batches.
    NonLocalInterleaved(NonLocalInterleaved),
    /// One element a work item.
    Naive(Naive),
    /// A schedule for a CPU by the names of a nest.
    Tiled(Tiled),
    /// A schedule for a GPU by the names of a nest.
    Blocked(Blocked),
}

impl Family {
    /// The family's name, as a config writes it.
    pub fn family(&self) -> &'static str {
        match self {
            Family::Local(_) => "local",
            Family::NonLocal(_) => "non_local",
            Family::NonLocalInterleaved(_) => "non_local_interleaved",
            Family::Naive(_) => "naive",
            Family::Tiled(_) => "tiled",
            Family::Blocked(_) => "blocked",
        }
    }

    /// A readable C identifier and file stem for this configuration: equal names, equal parameters.
    pub fn name(&self) -> String {
        let plain = match self {
            Family::Local(local) => local.plain_name(),
            Family::NonLocal(non_local) => non_local.plain_name(),
            Family::NonLocalInterleaved(interleaved) => interleaved.plain_name(),
            Family::Naive(naive) => naive.plain_name(),
            Family::Tiled(tiled) => return tiled.name(),
            Family::Blocked(blocked) => return blocked.name(),
        };
        // A negative size would put a sign into the name.
        let reads_one_way = self.parameters().iter().all(|(_, value)| *value >= 0);
        identifier(self, &plain, reads_one_way)
    }

    /// The parameters by the names that the conditions call them by; flags are 0 or 1, `vectorization` 0 for partial and 1
    /// for full. None for `tiled` and `blocked`, whose parameters are named by the loops of a nest.
    pub fn parameters(&self) -> Vec<(&'static str, i64)> {
        match self {
            Family::Local(local) => local.parameters(),
            Family::NonLocal(non_local) => non_local.parameters(),
            Family::NonLocalInterleaved(interleaved) => interleaved.parameters(),
            Family::Naive(naive) => naive.parameters(),
            Family::Tiled(_) | Family::Blocked(_) => Vec::new(),
        }
    }

    /// What must hold for the parameters on every nest and device, in a fixed order. None for `tiled` and `blocked`, where
    /// [`Tiled::violations`] and [`Blocked::violations`] tell.
    pub fn conditions(&self) -> Vec<Condition> {
        match self {
            Family::Local(local) => local.conditions(),
            Family::NonLocal(non_local) => non_local.conditions(),
            Family::NonLocalInterleaved(interleaved) => interleaved.conditions(),
            Family::Naive(naive) => naive.conditions(),
            Family::Tiled(_) | Family::Blocked(_) => Vec::new(),
        }
    }

    /// The micro-kernel that this configuration stands for on a nest and a target, carried out.
    ///
    /// # Errors
    /// A sentence that says why it serves this nest or this target not, with the numbers.
    pub fn micro_kernel(&self, program: &Program, target: &Target) -> Result<(MicroKernel, Lowered), String> {
        let (mut micro_kernel, lowered) = match target {
            Target::Cpu(target) => self.tiled(program)?.micro_kernel(program, target),
            Target::Cuda(device) => self.blocked(program)?.micro_kernel(program, device),
        }
        .map_err(|e| e.to_string())?;
        if let Ok(Value::Object(mut parameters)) = serde_json::to_value(self) {
            parameters.remove("family");
            micro_kernel.origin.family = self.family().to_owned();
            micro_kernel.origin.parameters = Value::Object(parameters);
        }
        Ok((micro_kernel, lowered))
    }

    /// Whether all conditions hold.
    pub fn is_valid(&self) -> bool {
        self.conditions().iter().all(|condition| condition.holds)
    }

    /// The configuration as a generator that stands for it alone, in an object that can be pasted into a set:
    /// `{"naive": [{"cache_line_size": [64]}]}`.
    pub fn generator(&self) -> Value {
        let lists = match self {
            Family::Local(local) => local.generator(),
            Family::NonLocal(non_local) => non_local.generator(),
            Family::NonLocalInterleaved(interleaved) => interleaved.generator(),
            Family::Naive(naive) => naive.generator(),
            Family::Tiled(tiled) => lists_of_one(tiled),
            Family::Blocked(blocked) => lists_of_one(blocked),
        };
        json!({ self.family(): [lists] })
    }
}

/// Each parameter as a list with one value. What is empty is so by default, and is left out.
fn lists_of_one(schedule: &impl Serialize) -> Value {
    let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
    match serde_json::to_value(schedule) {
        Ok(Value::Object(parameters)) => {
            let said = parameters.into_iter().filter(|(_, value)| !is_empty(value));
            said.map(|(key, value)| (key, json!([value]))).collect()
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests;
