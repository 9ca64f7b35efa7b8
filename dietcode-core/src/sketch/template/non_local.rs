//! The family `non_local`: operands go from the tensors to registers, by vectors or not, and nothing is staged.

use serde::{Deserialize, Serialize};

use super::parameter::{Absent, Kind, Parameter, template, word};
use super::roles::{Operand, Roles};
use super::{Blocked, Template, Tiled, on_cpu, on_gpu};
use crate::ir::Block;

template! {
    /// A work item computes `item_rows · item_cols` elements from what it reads itself.
    ///
    /// Rows and columns as in [`Local`](super::Local). Source: portBLAS, `gemm_no_local_partial_vec.hpp` and
    /// `gemm_no_local_full_vec.hpp`.
    NonLocal = "non_local" {
        Parameter::optional("cache_line_size", "", Kind::Unused) => {}
        Parameter::required("work_item_sizes", "i", Kind::Pair) => {
            /// Rows of a work item.
            item_rows: i64,
            /// Columns of a work item.
            item_cols: i64,
        }
        Parameter::required("work_group_sizes", "w", Kind::Pair) => {
            /// Work items of a work group along the rows.
            wg_rows: i64,
            /// Work items of a work group along the columns.
            wg_cols: i64,
        }
        Parameter::required("vectorization_size", "v", Kind::SIZE) => {
            /// How many neighbours are read at once.
            vectorization_size: i64,
        }
        Parameter::optional("vectorization", "", Kind::Word(Vectorization::WORDS)).or(Absent::AllWords) => {
            /// What is read so.
            vectorization: Vectorization,
        }
    }
    block_square: wg_cols * item_cols == wg_rows * item_rows, "the block of a work group has as many rows as columns";
    rows_of_vectors: item_rows % vectorization_size == 0, "the rows of a work item are read as whole vectors",
        if vectorization == Vectorization::Partial;
    cols_of_vectors: item_cols % vectorization_size == 0, "the columns of a work item are read as whole vectors",
        if vectorization == Vectorization::Partial;
    rows_one_vector: item_rows == vectorization_size, "the rows of a work item are one vector",
        if vectorization == Vectorization::Full;
    cols_one_vector: item_cols == vectorization_size, "the columns of a work item are one vector",
        if vectorization == Vectorization::Full;
}

/// How much of what a work item touches is read and written by vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vectorization {
    /// The operands, several vectors to a work item's tile.
    Partial,
    /// The operands and the output, one vector to a row of the tile.
    Full,
}

word!(Vectorization: Partial = "partial", Full = "full");

impl Template for NonLocal {
    /// Operands in place; `full`: those contiguous along the sum by vectors of its steps, which are unrolled, and transposed in
    /// registers.
    fn tiled(&self, block: &Block) -> Result<Tiled, String> {
        let roles = Roles::of(block)?;
        let (item, group) = ([self.item_rows, self.item_cols], [self.wg_rows, self.wg_cols]);
        let axes = on_cpu::axes(&roles, item, group, self.vectorization_size);
        let mut tiled = on_cpu::tiles(&roles, &axes, self.vectorization_size);
        let along_sum = |operand: &&Operand| operand.contiguous.as_ref() == Some(&roles.step);
        let unrolled = match self.vectorization {
            Vectorization::Full if roles.operands.iter().any(|operand| along_sum(&operand)) => self.vectorization_size,
            Vectorization::Partial | Vectorization::Full => 1,
        };
        let steps = (on_cpu::STEPS / unrolled).max(1) * unrolled;
        tiled.block_tile.extend(on_cpu::blocks_of_sum(&roles, steps));
        if unrolled > 1 {
            tiled.register_tile.insert(roles.step.to_string(), unrolled);
            // What is no vector is broadcast from where it lies.
            let transposed = |operand: &&Operand| along_sum(operand) && operand.moves(&roles.contiguous);
            tiled.load = roles.operands.iter().filter(transposed).map(|operand| operand.name.clone()).collect();
            tiled.load.dedup();
        }
        Ok(tiled)
    }

    /// Each thread reads its operands into registers; `full`: a vector of the sum's steps.
    fn blocked(&self, block: &Block) -> Result<Blocked, String> {
        let roles = Roles::of(block)?;
        let axes = [(&roles.rows, self.item_rows, self.wg_rows), (&roles.columns, self.item_cols, self.wg_cols)];
        let full = self.vectorization == Vectorization::Full;
        let mut blocked = on_gpu::tiles(&roles, &axes, if full { self.vectorization_size } else { 1 });
        blocked.load = on_gpu::in_registers(&roles, &blocked, self.vectorization_size);
        if full {
            blocked.store = on_gpu::store(&roles, &blocked, self.vectorization_size);
        }
        Ok(blocked)
    }
}
