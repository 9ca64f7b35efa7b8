//! Families: templates of schedules. A family has parameters, in one table, and makes a schedule of them.
//!
//! | family                  | what it does                                                                      |
//! |-------------------------|-----------------------------------------------------------------------------------|
//! | `local`                 | both operands are staged in shared memory (GPU) or packed panels (CPU)            |
//! | `non_local`             | operands go straight to registers, by vectors                                     |
//! | `non_local_interleaved` | the same for batches whose matrices lie element by element, vectors along these   |
//! | `naive`                 | one work item for each element of the output                                      |
//! | `tiled`, `blocked`      | this project's schedules for a CPU and a GPU, by the names of a nest's own loops  |
//!
//! The first four have portBLAS's parameters and validity, so that its files are read as they are. They name no loops: on a nest
//! they are one of the last two, by the [roles](roles) of its loops.
//!
//! A work item is a register tile on a CPU and a thread on a GPU; a work group is the block that one thread of a CPU carries out, or a
//! block of threads.
mod blocked;
mod condition;
mod decisions;
mod local;
mod naive;
mod non_local;
mod non_local_interleaved;
mod on_cpu;
mod on_gpu;
mod parameter;
mod roles;
mod tiled;

use serde::{Deserialize, Serialize};
use serde_json::json;

pub use blocked::Blocked;
pub(super) use blocked::operands;
pub use condition::Condition;
pub(crate) use condition::SIZES;
pub use local::Local;
pub use naive::Naive;
pub use non_local::{NonLocal, Vectorization};
pub use non_local_interleaved::NonLocalInterleaved;
pub use parameter::{Absent, Kind, Named, Parameter, Stage, Value};
use parameter::{FromValues, Table};
pub use tiled::Tiled;

use super::name::identifier;
use super::{Lowered, MicroKernel};
use crate::ir::{Block, Program};
use crate::machine::cuda::DeviceLimits;
use crate::machine::{CpuTarget, Target};

/// A family: what its parameters are on a nest.
trait Template: Table {
    /// On a CPU.
    ///
    /// # Errors
    /// A sentence that says why it serves the nest not.
    fn tiled(&self, block: &Block) -> Result<Tiled, String>;

    /// On a GPU.
    ///
    /// # Errors
    /// As [`Template::tiled`].
    fn blocked(&self, block: &Block) -> Result<Blocked, String>;
}

/// `families!(Variant = "name": doc, …)`: the families in their order.
macro_rules! families {
    ($($(#[$doc:meta])* $Family:ident = $name:literal),*) => {
        /// A configuration of one of the families.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(tag = "family", rename_all = "snake_case")]
        pub enum Family {
            $($(#[$doc])* $Family($Family)),*
        }

        /// The families in their order, each with the table of its parameters.
        pub static FAMILIES: &[FamilyTable] = &[$(FamilyTable {
            name: $name,
            parameters: $Family::PARAMETERS,
            of: |values| $Family::of(values).map(Family::$Family),
        }),*];

        impl Family {
            fn template(&self) -> &dyn Template {
                match self {
                    $(Family::$Family(family) => family),*
                }
            }
        }

        $(impl $Family {
            /// As [`Family::name`].
            pub fn name(&self) -> String {
                table_name(self)
            }
        }

        impl From<$Family> for Family {
            fn from(family: $Family) -> Family {
                Family::$Family(family)
            }
        })*
    };
}

families!(
    /// Both operands are staged.
    Local = "local",
    /// Operands go straight to registers.
    NonLocal = "non_local",
    /// The same for interleaved batches.
    NonLocalInterleaved = "non_local_interleaved",
    /// One element a work item.
    Naive = "naive",
    /// A schedule for a CPU by the names of a nest.
    Tiled = "tiled",
    /// A schedule for a GPU by the names of a nest.
    Blocked = "blocked"
);

/// The name of a family and its parameters.
#[derive(Debug)]
pub struct FamilyTable {
    /// As a config writes it.
    pub name: &'static str,
    /// The parameters in the order in which combinations are made, the last one's values changing fastest.
    pub parameters: &'static [Parameter],
    of: fn(Vec<Value>) -> Option<Family>,
}

impl PartialEq for FamilyTable {
    fn eq(&self, other: &FamilyTable) -> bool {
        self.name == other.name
    }
}

impl Eq for FamilyTable {}

impl FamilyTable {
    /// The family of a name.
    pub fn of_name(name: &str) -> Option<&'static FamilyTable> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// The configuration that has these values, one for each parameter; none: they are of other kinds.
    pub fn configuration(&self, values: Vec<Value>) -> Option<Family> {
        (self.of)(values)
    }

    /// Whether its parameters name the loops of a nest, so that it is a schedule as it is.
    pub fn names_loops(&self) -> bool {
        self.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Sizes(..)))
    }
}

impl Family {
    /// The family's name, as a config writes it.
    pub fn family(&self) -> &'static str {
        self.template().family()
    }

    /// A readable C identifier and file stem for this configuration: equal names, equal parameters.
    pub fn name(&self) -> String {
        table_name(self.table())
    }

    /// The value of each parameter, in the table's order.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.table().values().map(|(_, value)| value)
    }

    /// The parameters by the names that the conditions call them by; flags are 0 or 1, `vectorization` 0 for partial and 1
    /// for full. None for `tiled` and `blocked`, whose parameters are named by the loops of a nest.
    pub fn parameters(&self) -> Vec<(&'static str, i64)> {
        self.table().constants().unwrap_or_default()
    }

    /// What must hold for the parameters on every nest and device, in a fixed order. None for `tiled` and `blocked`, of
    /// which the primitives and the limits tell what does not hold.
    pub fn conditions(&self) -> Vec<Condition> {
        self.template().conditions()
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
        micro_kernel.origin.family = self.family().to_owned();
        micro_kernel.origin.parameters = parameters(self.table());
        Ok((micro_kernel, lowered))
    }

    /// The schedule that this configuration stands for on a nest and a CPU.
    ///
    /// # Errors
    /// As [`Family::micro_kernel`].
    pub fn on_cpu(&self, program: &Program, target: &CpuTarget) -> Result<Tiled, String> {
        let tiled = self.tiled(program)?;
        tiled.micro_kernel(program, target).map_err(|e| e.to_string())?;
        Ok(tiled)
    }

    /// The schedule that it stands for on a nest and a CUDA device.
    ///
    /// # Errors
    /// As [`Family::micro_kernel`].
    pub fn on_gpu(&self, program: &Program, device: &DeviceLimits) -> Result<Blocked, String> {
        let blocked = self.blocked(program)?;
        blocked.micro_kernel(program, device).map_err(|e| e.to_string())?;
        Ok(blocked)
    }

    /// The configuration as a generator that stands for it alone, in an object that can be pasted into a set:
    /// `{"naive": [{"cache_line_size": [64]}]}`.
    pub fn generator(&self) -> serde_json::Value {
        let said = self.table().said().filter(|(_, value)| *value != Value::Unused);
        let lists: serde_json::Value = said.map(|(parameter, value)| (parameter.key, json!([value]))).collect();
        json!({ self.family(): [lists] })
    }

    fn table(&self) -> &dyn Table {
        self.template()
    }

    /// The schedule of a CPU, valid there or not.
    fn tiled(&self, program: &Program) -> Result<Tiled, String> {
        self.check_conditions()?;
        self.template().tiled(&program.blocks[0])
    }

    /// The schedule of a GPU, valid there or not.
    fn blocked(&self, program: &Program) -> Result<Blocked, String> {
        self.check_conditions()?;
        self.template().blocked(&program.blocks[0])
    }

    /// A configuration whose conditions all hold has sizes that products of three do not take out of range.
    fn check_conditions(&self) -> Result<(), String> {
        match self.conditions().into_iter().find(|condition| !condition.holds) {
            Some(broken) => Err(format!("{}: not {}: {}", broken.name, broken.text, broken.why)),
            None => Ok(()),
        }
    }
}

/// The readable name, with a hash where it is long or reads in two ways.
fn table_name(table: &dyn Table) -> String {
    let (name, reads_one_way) = table.name();
    identifier(&parameters(table), &name, reads_one_way)
}

/// What is said, as JSON.
fn parameters(table: &dyn Table) -> serde_json::Value {
    table.fields().map(|(name, value)| (name, json!(value))).collect()
}

#[cfg(test)]
mod tests;
