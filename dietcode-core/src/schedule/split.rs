//! The primitive `split`.

use super::{Instruction, Loop, Relation, Schedule, Size, Tail, legality};
use crate::Result;
use crate::ir::{Expr, ForKind, Name};
use std::ops::{Add, Div, Mul, Sub};

impl Schedule {
    /// Splits a loop in two; TVM's and Halide's `split`.
    ///
    /// ```text
    /// for i in 0..M            for i_0 in 0..⌈M/8⌉
    ///   …               →        for i_1 in 0..8                    (pad: only where i_0·8 + i_1 < M)
    ///                            for i_1 in 0..min(8, M − i_0·8)    (clip)
    /// ```
    ///
    /// A factor with [parameters](Schedule::parameter) is known at run time only: the size of a block of caches, say. Where its steps
    /// begin has a name.
    ///
    /// ```text
    /// for i in 0..M            for i_0 in 0..⌈M/B⌉
    ///   …               →        let i_0_start = i_0·B
    ///                            for i_1 in 0..min(B, M − i_0_start)
    /// ```
    ///
    /// # Errors
    /// An unknown loop, a factor that is not from 1 to 2³¹, a name that is taken, a loop that is no longer serial; a factor with a
    /// parameter that is not declared, or for a loop that is padded.
    pub fn split(&mut self, name: &str, factor: impl Into<Size>, tail: Tail, into: [&str; 2]) -> Result<()> {
        let factor = factor.into();
        let at = self.find(name)?;
        let size = legality::split(self, at, &factor, tail, into)?;
        let parent = self.loops[at].clone();
        let [outer, inner]: [Name; 2] = into.map(Name::from);
        let constant = size.as_int();
        let start = constant.is_none().then(|| self.fresh_name(&format!("{outer}_start")));
        let divides = parent.extent.as_int().zip(constant).is_some_and(|(extent, factor)| extent % factor == 0);
        let inner_extent = match tail {
            // One iteration of the outer loop always has one of a loop that is split by 1.
            _ if divides || constant == Some(1) => size.clone(),
            Tail::Pad => size.clone(),
            Tail::Clip => {
                let start = start.clone().map(Expr::Var);
                let start = start.unwrap_or_else(|| Expr::Var(outer.clone()).mul(size.clone()));
                size.clone().min(parent.extent.clone().sub(start))
            }
        };
        let new_loop = |name: &Name, extent: Expr, limit| Loop {
            name: name.clone(),
            extent,
            limit,
            kind: ForKind::Serial,
            role: parent.role,
        };
        let inner_limit = match tail {
            Tail::Pad => size.clone(),
            Tail::Clip => parent.limit.clone().map_or(size.clone(), |limit| limit.min(size.clone())),
        };
        let steps = |of: Expr| of.add(size.clone().sub(Expr::Int(1))).div(size.clone());
        let new = [
            new_loop(&outer, steps(parent.extent.clone()), parent.limit.clone().map(steps)),
            new_loop(&inner, inner_extent, Some(inner_limit)),
        ];
        self.loops.splice(at..=at, new);
        let guard = tail == Tail::Pad && !divides && constant != Some(1);
        let into = [outer.clone(), inner.clone()];
        self.record(Instruction::Split { parent: parent.name.clone(), factor, tail, into });
        let (parent, extent) = (parent.name, parent.extent);
        self.relations.push(Relation::Split { parent, outer, inner, factor: size, start, extent, guard });
        Ok(())
    }
}
