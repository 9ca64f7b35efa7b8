//! The rules that a user adds: which block has which; and what the user lets the others do.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use super::Structure;
use crate::ir::{Name, Program};
use crate::machine::Target;
use crate::schedule::{MatrixUnit, Trace};
use crate::sketch::Bounds;
use crate::{Error, Result};

/// A function that makes the sketches of a program, which has one block, under limits.
pub type CustomRule = dyn Fn(&Program, &Bounds) -> Result<Vec<Trace>> + Send + Sync;

/// How the matrix units of a GPU may multiply tensors of `f32`, for which they have tf32 alone: 11 of 24 significant bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tf32 {
    /// Not at all.
    #[default]
    Forbidden,
    /// By one instruction, of which both factors are rounded.
    Once,
    /// By three, whose sum is as good as that of `f32` ([`MatrixUnit::Tf32x3`]).
    Thrice,
}

impl Tf32 {
    /// The matrix unit that does so.
    pub fn unit(self) -> Option<MatrixUnit> {
        match self {
            Tf32::Forbidden => None,
            Tf32::Once => Some(MatrixUnit::Tf32),
            Tf32::Thrice => Some(MatrixUnit::Tf32x3),
        }
    }
}

/// What makes the sketches of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum CustomSketch {
    /// A function that is registered under this name.
    Function(String),
    /// The sketch itself; decisions that are made in it stay.
    Sketch(Trace),
}

/// Functions by their names, and for blocks what makes their sketches.
///
/// ```
/// use dietcode_core::schedule::Trace;
/// use dietcode_core::sketch::rules::{CustomRules, CustomSketch};
///
/// let mut rules = CustomRules::default();
/// rules.register("as_written", |_, _| Ok(vec![Trace::default()]));
/// rules.set("dense", CustomSketch::Function("as_written".into()));
/// ```
#[derive(Clone, Default)]
pub struct CustomRules {
    functions: BTreeMap<String, Arc<CustomRule>>,
    of_blocks: BTreeMap<String, Own>,
    tf32: Tf32,
    structure: Option<&'static Structure>,
}

/// The rule of a block.
#[derive(Clone, Debug)]
struct Own {
    by: CustomSketch,
    /// Where a file says so; empty: a program does.
    place: String,
}

impl CustomRules {
    /// Makes a function known under a name, by which a config may name it.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        rule: impl Fn(&Program, &Bounds) -> Result<Vec<Trace>> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.into(), Arc::new(rule));
    }

    /// Says what makes the sketches of a block.
    pub fn set(&mut self, block: impl Into<String>, by: CustomSketch) {
        self.set_at(block, by, "");
    }

    /// The same for a rule that a file names: errors begin with its place there.
    pub fn set_at(&mut self, block: impl Into<String>, by: CustomSketch, place: impl Into<String>) {
        self.of_blocks.insert(block.into(), Own { by, place: place.into() });
    }

    /// The rule of a block, if it has one, as errors about it begin.
    pub(crate) fn of(&self, block: &str) -> Option<String> {
        let own = self.of_blocks.get(block)?;
        let separator = if own.place.is_empty() { "" } else { ": " };
        Some(format!("{}{separator}the rule for block `{block}`", own.place))
    }

    /// Says how matrix units may multiply tensors of `f32`. Without leave none does.
    pub fn allow_tf32(&mut self, tf32: Tf32) {
        self.tf32 = tf32;
    }

    /// The matrix unit that may multiply tensors of `f32`.
    pub(super) fn unit_of_f32(&self) -> Option<MatrixUnit> {
        self.tf32.unit()
    }

    /// Names the structure that the tiles of sums have, in place of the target's default; those of matrix units keep theirs.
    pub fn set_structure(&mut self, structure: &'static Structure) {
        self.structure = Some(structure);
    }

    /// The structure of tiles on a target.
    pub(super) fn structure(&self, target: &Target) -> &'static Structure {
        self.structure.unwrap_or_else(|| Structure::default_of(target))
    }

    /// The blocks that have a rule.
    pub fn blocks(&self) -> impl Iterator<Item = &str> {
        self.of_blocks.keys().map(String::as_str)
    }

    /// Checks that every function that a block names is registered.
    ///
    /// # Errors
    /// The block and the name, and which there are.
    pub fn check(&self) -> Result<()> {
        let unknown = self.of_blocks.iter().find_map(|(block, own)| match &own.by {
            CustomSketch::Function(name) if !self.functions.contains_key(name) => Some(self.unknown(block, name)),
            _ => None,
        });
        unknown.map_or(Ok(()), Err)
    }

    /// The sketches of a block, if it has a rule.
    ///
    /// # Errors
    /// No function of that name is registered, or the function's own.
    pub(super) fn sketches(&self, block: &Name, program: &Program, bounds: &Bounds) -> Result<Option<Vec<Trace>>> {
        match self.of_blocks.get(&**block).map(|own| &own.by) {
            None => Ok(None),
            Some(CustomSketch::Sketch(trace)) => Ok(Some(vec![trace.clone()])),
            Some(CustomSketch::Function(name)) => match self.functions.get(name) {
                Some(function) => function(program, bounds).map(Some),
                None => Err(self.unknown(block, name)),
            },
        }
    }

    fn unknown(&self, block: &str, name: &str) -> Error {
        let known: Vec<String> = self.functions.keys().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
        let rule = self.of(block).expect("it is set");
        Error::input(format!("{rule} is `{name}`, which is not registered; there is {known}"))
    }
}

impl Debug for CustomRules {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let functions: Vec<&String> = self.functions.keys().collect();
        let mut all = f.debug_struct("CustomRules");
        all.field("functions", &functions).field("of_blocks", &self.of_blocks).field("tf32", &self.tf32);
        all.field("structure", &self.structure).finish()
    }
}
