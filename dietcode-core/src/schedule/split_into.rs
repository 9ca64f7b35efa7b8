//! The primitive `split_into`.

use std::ops::{Add, Div, Mul, Sub};

use super::{Instruction, Loop, Relation, Schedule, legality};
use crate::Result;
use crate::ir::{Expr, ForKind, Name};

impl Schedule {
    /// Splits a loop into so many contiguous ranges, the outer loop over them; TVM's `split` where it is given the outer factor.
    ///
    /// ```text
    /// for k in 0..K            for k_r in 0..4
    ///   …               →        let k_r_start = k_r·⌈K/4⌉
    ///                            for k_1 in 0..⌈K/4⌉            only where k_r_start + k_1 < K
    /// ```
    ///
    /// All of them are equally long, so that the last ones may hang over the end, or lie behind it.
    ///
    /// # Errors
    /// An unknown loop, not 1 to 65536 ranges, a name that is taken, a loop that is fused, no longer serial or as long as another one says.
    pub fn split_into(&mut self, name: &str, ranges: i64, into: [&str; 2]) -> Result<()> {
        let at = self.find(name)?;
        legality::split_into(self, at, ranges, into)?;
        let Loop { name: parent, extent, limit, role, .. } = self.loops[at].clone();
        let [outer, inner]: [Name; 2] = into.map(Name::from);
        let range = |of: Expr| of.add(Expr::Int(ranges - 1)).div(Expr::Int(ranges));
        let factor = range(extent.clone());
        let start = factor.as_int().is_none().then(|| self.fresh_name(&format!("{outer}_start")));
        let new_loop =
            |name: &Name, extent: Expr, limit| Loop { name: name.clone(), extent, limit, kind: ForKind::Serial, role };
        let new = [
            new_loop(&outer, Expr::Int(ranges), Some(Expr::Int(ranges))),
            new_loop(&inner, factor.clone(), limit.map(range)),
        ];
        self.loops.splice(at..=at, new);
        let guard = factor.clone().mul(Expr::Int(ranges)).sub(extent.clone()) != Expr::Int(0);
        let into = [outer.clone(), inner.clone()];
        self.record(Instruction::SplitInto { parent: parent.clone(), ranges: ranges.into(), into });
        self.relations.push(Relation::Split { parent, outer, inner, factor, start, extent, guard });
        Ok(())
    }
}
