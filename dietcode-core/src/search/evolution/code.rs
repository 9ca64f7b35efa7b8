//! Which candidates share code: those of a sketch that differ in the sizes of outer blocks only, see
//! [`MicroKernel::parametric`](crate::sketch::MicroKernel::parametric).

use std::collections::BTreeMap;

use crate::ir::Name;
use crate::schedule::{Instruction, Trace};

/// The sketches and codes that were met, numbered.
#[derive(Default)]
pub(super) struct Codes<'a> {
    /// The instructions of each sketch, with the sizes that its code leaves open.
    sketches: Vec<(&'a [Instruction], Vec<Name>)>,
    /// By sketch, and all other decisions in the order of their names.
    codes: BTreeMap<(usize, Vec<i64>), usize>,
}

impl<'a> Codes<'a> {
    /// The number of the sketch of a trace whose decisions are made.
    pub(super) fn sketch(&mut self, trace: &'a Trace) -> usize {
        let own = &*trace.instructions;
        let same = self.sketches.iter().position(|(other, _)| std::ptr::eq(*other, own) || *other == own);
        same.unwrap_or_else(|| {
            let open = trace.free_sizes().into_iter().map(|(name, _)| name).collect();
            self.sketches.push((own, open));
            self.sketches.len() - 1
        })
    }

    /// The number of its code.
    pub(super) fn of(&mut self, trace: &'a Trace) -> usize {
        let sketch = self.sketch(trace);
        let open = &self.sketches[sketch].1;
        let fixed = trace.decisions.iter().filter(|(var, _)| !open.contains(var)).map(|(_, value)| *value).collect();
        let next = self.codes.len();
        *self.codes.entry((sketch, fixed)).or_insert(next)
    }
}
