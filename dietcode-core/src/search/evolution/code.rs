//! Which candidates share code while they are screened: those that differ in sizes of outer blocks and in tiles at edges alone, see
//! `sketch/parametric.rs`.

use std::collections::{BTreeMap, HashSet};

use super::population::Member;
use crate::ir::Name;
use crate::schedule::{Instruction, Trace};

/// Whether the sizes of a candidate may be left open, as far as its instructions do not tell.
pub(super) type IsOpen<'a> = dyn Fn(&Trace) -> bool + 'a;

/// The sketches and codes of candidates, numbered.
#[derive(Default)]
pub(super) struct Codes<'a> {
    sketches: Vec<&'a [Instruction]>,
    /// The decisions that are constants of the code, where any are not: of a sketch, with few steps of its sum or many.
    constants: BTreeMap<(usize, bool), Option<Vec<Name>>>,
    /// By sketch, and the constants.
    codes: BTreeMap<(usize, bool, Vec<i64>), usize>,
}

impl<'a> Codes<'a> {
    /// The number of the sketch of a trace.
    pub(super) fn sketch(&mut self, trace: &'a Trace) -> usize {
        let own = &*trace.instructions;
        let same = self.sketches.iter().position(|other| std::ptr::eq(*other, own) || **other == *own);
        same.unwrap_or_else(|| {
            self.sketches.push(own);
            self.sketches.len() - 1
        })
    }

    /// The number of its code, if its sizes may be left open.
    fn of(&mut self, trace: &'a Trace) -> Option<usize> {
        let (sketch, few) = (self.sketch(trace), trace.has_few_steps());
        let constants = self.constants.entry((sketch, few)).or_insert_with(|| {
            let whole = trace.with_whole_edges();
            let (open, _) = whole.as_ref().unwrap_or(trace).parametric()?;
            Some(open.decisions.into_keys().collect())
        });
        let values = constants.as_ref()?.iter().map(|name| trace.decisions.get(name).copied().unwrap_or(0)).collect();
        let next = self.codes.len();
        Some(*self.codes.entry((sketch, few, values)).or_insert(next))
    }
}

/// What is known of the code of some candidates.
pub(super) struct Shared<'a> {
    members: &'a [Member],
    is_open: &'a IsOpen<'a>,
    /// The code of each.
    of: Vec<Option<usize>>,
    picked: HashSet<usize>,
}

impl<'a> Shared<'a> {
    /// Of members, of which none was picked.
    pub(super) fn of(members: &'a [Member], is_open: &'a IsOpen<'a>) -> Shared<'a> {
        let mut codes = Codes::default();
        let of = members.iter().map(|member| codes.of(&member.trace)).collect();
        Shared { members, is_open, of, picked: HashSet::new() }
    }

    /// Whether the code of a member is that of one that was picked.
    pub(super) fn has(&self, at: usize) -> bool {
        self.of[at].is_some_and(|code| self.picked.contains(&code))
    }

    /// Picks one.
    pub(super) fn pick(&mut self, at: usize) {
        let fresh = self.of[at].filter(|code| !self.picked.contains(code) && (self.is_open)(&self.members[at].trace));
        self.picked.extend(fresh);
    }
}
