//! The primitive `split`.

use super::{Instruction, Loop, Relation, Schedule, Tail, legality};
use crate::Result;
use crate::ir::{Expr, ForKind, Name};
use std::ops::{Mul, Sub};

impl Schedule {
    /// Splits a loop in two; TVM's and Halide's `split`.
    ///
    /// ```text
    /// for i in 0..M            for i_0 in 0..⌈M/8⌉
    ///   …               →        for i_1 in 0..8                    (pad: only where i_0·8 + i_1 < M)
    ///                            for i_1 in 0..min(8, M − i_0·8)    (clip)
    /// ```
    ///
    /// # Errors
    /// An unknown loop, a factor that is not from 1 to 2³¹, a name that is taken, a loop that is no longer serial.
    pub fn split(&mut self, name: &str, factor: i64, tail: Tail, into: [&str; 2]) -> Result<()> {
        let at = self.find(name)?;
        legality::split(self, at, factor, tail, into)?;
        let parent = self.loops[at].clone();
        let [outer, inner]: [Name; 2] = into.map(Name::from);
        let divides = parent.extent.as_int().is_some_and(|extent| extent % factor == 0);
        let inner_extent = match tail {
            // One iteration of the outer loop always has one of a loop that is split by 1.
            _ if divides || factor == 1 => Expr::Int(factor),
            Tail::Pad => Expr::Int(factor),
            Tail::Clip => {
                let left = parent.extent.clone().sub(Expr::Var(outer.clone()).mul(Expr::Int(factor)));
                Expr::Int(factor).min(left)
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
            Tail::Pad => factor,
            Tail::Clip => parent.limit.map_or(factor, |limit| limit.min(factor)),
        };
        let outer_limit = parent.limit.map(|limit| (limit + factor - 1) / factor);
        let new = [
            new_loop(&outer, parent.extent.clone().ceil_div(factor), outer_limit),
            new_loop(&inner, inner_extent, Some(inner_limit)),
        ];
        self.loops.splice(at..=at, new);
        let guard = tail == Tail::Pad && !divides && factor > 1;
        self.record(Instruction::Split {
            parent: parent.name.clone(),
            factor: factor.into(),
            tail,
            into: [outer.clone(), inner.clone()],
        });
        self.relations.push(Relation::Split {
            parent: parent.name,
            outer,
            inner,
            factor,
            extent: parent.extent,
            guard,
        });
        Ok(())
    }
}
