//! The primitives that say how a loop is carried out.

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::ForKind;

impl Schedule {
    /// `for i` → `parallel i`: any thread may take any iteration. TVM's and Halide's `parallel`.
    ///
    /// # Errors
    /// The loop is not the outermost, or is summed over.
    pub fn parallel(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::Parallel)
    }

    /// `for j in 0..16` → one statement on vectors of 16 lanes. TVM's and Halide's `vectorize`.
    ///
    /// # Errors
    /// The loop is not the innermost, is summed over, or has not 2, 4, 8 or 16 iterations.
    pub fn vectorize(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::Vectorized)
    }

    /// `for i in 0..8` → eight statements. TVM's and Halide's `unroll`.
    ///
    /// # Errors
    /// The extent is not a constant, or above 1024.
    pub fn unroll(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::Unrolled)
    }

    /// `for b` → each iteration is a block of a GPU's grid. TVM's `bind` to blockIdx.x; of several, the outermost counts
    /// slowest.
    ///
    /// # Errors
    /// The loop stands in one that is none of the grid, or is summed over with an extent that is no constant.
    pub fn bind_block(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::BlockIdx)
    }

    /// `for t in 0..256` → each iteration is a thread of a block. TVM's `bind` to threadIdx.x.
    ///
    /// # Errors
    /// The loop stands in one that is none of the grid, is summed over, or its extent is no constant up to 1024.
    pub fn bind_thread(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::ThreadIdx)
    }

    /// `for v in 0..2` → parts that each thread carries out one after the other, written out. TVM's virtual threads.
    ///
    /// # Errors
    /// The loop is summed over, or its extent is no small constant.
    pub fn vthread(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::VThread)
    }

    fn set_kind(&mut self, name: &str, kind: ForKind) -> Result<()> {
        let at = self.find(name)?;
        legality::kind(self, at, kind)?;
        self.loops[at].kind = kind;
        let name = self.loops[at].name.clone();
        self.record(Instruction::Kind(kind, name));
        Ok(())
    }
}
