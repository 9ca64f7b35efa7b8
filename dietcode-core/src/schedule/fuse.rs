//! The primitive `fuse`.

use super::{Instruction, Loop, Relation, Schedule, legality};
use crate::Result;
use crate::ir::{ForKind, Name};
use std::ops::Mul;

impl Schedule {
    /// Makes one loop of two neighbours; TVM's and Halide's `fuse`.
    ///
    /// ```text
    /// for i in 0..M            for t in 0..M·N
    ///   for j in 0..N   →        let i = t / N
    ///     …                      let j = t % N
    /// ```
    ///
    /// # Errors
    /// Loops that are not neighbours, differ in role, are no longer serial, or of which the inner is clipped by the outer.
    pub fn fuse(&mut self, outer: &str, inner: &str, into: &str) -> Result<()> {
        let (a, b) = (self.find(outer)?, self.find(inner)?);
        legality::fuse(self, a, b, into)?;
        let fused = Name::from(into);
        let (outer, inner) = (self.loops[a].clone(), self.loops[b].clone());
        let both = Loop {
            name: fused.clone(),
            extent: outer.extent.clone().mul(inner.extent.clone()),
            limit: outer.limit.clone().zip(inner.limit.clone()).map(|(a, b)| a.mul(b)),
            kind: ForKind::Serial,
            role: outer.role,
        };
        self.loops.splice(a..=b, [both]);
        self.record(Instruction::Fuse { loops: [outer.name.clone(), inner.name.clone()], into: fused.clone() });
        let limits = [outer.limit, inner.limit];
        let extents = [outer.extent, inner.extent];
        self.relations.push(Relation::Fuse {
            fused,
            outer: outer.name,
            inner: inner.name,
            extents,
            limits,
            raster: None,
        });
        Ok(())
    }
}
