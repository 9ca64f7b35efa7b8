//! The primitives that say how a loop is carried out.

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::ForKind;

impl Schedule {
    /// `for i` → `parallel i`: any thread may take any iteration. TVM's and Halide's `parallel`. The parts of a sum meet as
    /// [`Schedule::rfactor`] says.
    ///
    /// # Errors
    /// The loop is not the outermost, or is summed over with an extent that is no constant.
    pub fn parallel(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::Parallel)
    }

    /// `for j in 0..16` → one statement on vectors of 16 lanes. TVM's and Halide's `vectorize`.
    ///
    /// A loop that is summed over may be one of lanes too, as with Halide's `rfactor` and `vectorize`. Each lane sums a part, and
    /// so does each copy of a loop of the sum that is unrolled around it, so that additions need not wait for each other; the parts
    /// meet when the tile is complete:
    ///
    /// ```text
    /// for k_0                                  for k_0
    ///   unrolled k_1 in 0..2                     unrolled k_1 in 0..2
    ///     for k_2 in 0..8                  →       y_tile[k_1][0..8] += x[…][… ..+ 8]
    ///       y_tile += x[…]                     y_tile = the sum of all y_tile[…][…], in one order
    /// ```
    ///
    /// # Errors
    /// The loop is not the innermost, or has not 2, 4, 8 or 16 iterations.
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
    /// The loop stands inside of one that is not bound to the grid, or is summed over with an extent that is no constant.
    pub fn bind_block(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::BlockIdx)
    }

    /// `for t in 0..256` → each iteration is a thread of a block. TVM's `bind` to threadIdx.x; of several, the innermost counts
    /// fastest.
    ///
    /// A loop that is summed over may be bound too, beside those that are not: TVM's cross-thread reduction. Each thread sums a
    /// part, and the parts meet within the block:
    ///
    /// ```text
    /// for i_t bound to threads                 for i_t bound to threads
    ///   for k_c in 0..32                         for k_c in 0..32 bound to threads
    ///     for k_0                        →         for k_0: part[…] += …
    ///       y_tile[…] += …                         y_tile[…] = the sum of all part[…], in one order
    ///   y[…] = epilogue(y_tile[…])               if k_c == 0: y[…] = epilogue(y_tile[…])
    /// ```
    ///
    /// What it expects of a schedule: an inner factor of each sum that threads share (`k_0, k_c = split(k, 32, pad)`, each bound
    /// by itself); the loops in the order grid, threads, the rest of the sums, a thread's tile; the accumulators' tile and
    /// what threads share in memory inside of the innermost loop over threads. The loop that is contiguous in what is read
    /// stands innermost of the threads, so that neighbours read neighbours: mostly the summed one, but the spatial one where
    /// columns are summed.
    ///
    /// # Errors
    /// The loop stands inside of one that is not bound to the grid, or its extent is no constant; the block would have more than 1024
    /// threads.
    pub fn bind_thread(&mut self, name: &str) -> Result<()> {
        self.set_kind(name, ForKind::ThreadIdx)
    }

    /// `for v in 0..2` → parts that each thread carries out one after the other, unrolled. TVM's virtual threads.
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
