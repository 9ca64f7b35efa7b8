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

    fn set_kind(&mut self, name: &str, kind: ForKind) -> Result<()> {
        let at = self.find(name)?;
        legality::kind(self, at, kind)?;
        self.loops[at].kind = kind;
        let name = self.loops[at].name.clone();
        self.record(Instruction::Kind(kind, name));
        Ok(())
    }
}
