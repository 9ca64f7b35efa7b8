//! The primitive `cache_write`.

use dietcode_syntax::Role;

use super::{CacheWrite, Instruction, Loop, Schedule};
use crate::Result;
use crate::ir::{Expr, ForKind, Name};

impl Schedule {
    /// Accumulates in a tile of its own, which is written back when it is done; TVM's `cache_write`. Where the tile
    /// begins, [`Schedule::compute_at`] says; inside of that place it has one dimension for each spatial loop, and for those whose
    /// iterations each sum a part ([`Schedule::vectorize`]). If reduction loops stand around it, partial sums wait in the output, and the
    /// epilogue is applied by the last.
    ///
    /// ```text
    /// for i                    for i_0
    ///   for j                    tile[8][48]
    ///     for k           →      for k: for i_1: for j_1: tile[i_1][j_1] += …
    ///       y[i][j] += …         for i_1: for j_1: y[…][…] = tile[i_1][j_1]
    /// ```
    ///
    /// # Errors
    /// There is a tile already.
    pub fn cache_write(&mut self) -> Result<Name> {
        if let Some(tile) = &self.cache_write {
            return Err(crate::Error::input(format!("cache_write: there is the tile `{}` already", tile.name)));
        }
        let name = self.fresh_name(&format!("{}_tile", self.block.output.name));
        self.cache_write = Some(CacheWrite { name: name.clone(), depth: None });
        self.record(Instruction::CacheWrite(name.clone()));
        Ok(name)
    }

    /// How many loops stand around the accumulators' tile. If it is not set: those outside of the reductions, and
    /// every loop without a constant extent that would be a dimension of it.
    pub(crate) fn tile_depth(&self) -> usize {
        let chosen = self.cache_write.as_ref().and_then(|tile| tile.depth);
        let reductions = self.loops.iter().position(Loop::is_step).unwrap_or(self.loops.len());
        let dynamic = self.loops.iter().rposition(|l| l.role == Role::Spatial && l.extent.as_int().is_none());
        chosen.unwrap_or_else(|| reductions.max(dynamic.map_or(0, |at| at + 1)))
    }

    /// Whether lanes of vectors share a sum.
    pub(crate) fn lanes_share_sum(&self) -> bool {
        self.loops.iter().any(|l| l.kind == ForKind::Vectorized && l.role == Role::Reduce)
    }

    /// The loops that are dimensions of a tile inside of so many loops: the spatial ones and, where lanes share a sum, those of the
    /// sum whose iterations have accumulators of their own.
    pub(crate) fn tile_dims(&self, depth: usize) -> Vec<usize> {
        let shared = self.lanes_share_sum();
        let of_sum = |l: &Loop| shared && matches!(l.kind, ForKind::Vectorized | ForKind::Unrolled);
        (depth..self.loops.len())
            .filter(|&at| self.loops[at].role == Role::Spatial || of_sum(&self.loops[at]))
            .collect()
    }

    /// Whether a reduction's loop must run although there may be nothing to sum: the output is written in it, or the
    /// tile initialised.
    pub(crate) fn runs_at_least_once(&self, at: usize) -> bool {
        let l = &self.loops[at];
        let writes = at < self.tile_depth() || !self.decomposed;
        l.role == Role::Reduce && writes && l.extent.as_int().is_none()
    }

    /// How often a loop runs, in terms of the loops. A stage is filled in loops that run as often as those that read it.
    pub(crate) fn iterations(&self, at: usize) -> Expr {
        let extent = self.unsplit(&self.loops[at].extent);
        if self.runs_at_least_once(at) { extent.max(Expr::Int(1)) } else { extent }
    }
}
