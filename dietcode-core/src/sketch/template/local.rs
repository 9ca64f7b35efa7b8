//! The family `local`: both operands are staged, in shared memory on a GPU, in packed panels on a CPU.

use std::collections::BTreeMap;

use super::parameter::{Kind, Parameter, Stage, template};
use super::roles::{Operand, Roles, elements};
use super::{Blocked, Template, Tiled, on_cpu, on_gpu};
use crate::ir::Block;

template! {
    /// A work group computes `tile_rows · wg_rows · item_rows` rows and as many columns, from copies of both operands that hold
    /// a cache line of the sum's steps.
    ///
    /// Sizes are elements, if nothing else is said; rows are the loops that move the first operand only, columns those that
    /// move the second only. Source: portBLAS, `gemm_local.hpp`.
    Local = "local" {
        Parameter::required("cache_line_size", "c", Kind::SIZE) => {
            /// Bytes of a cache line: a fourth of it is how many steps of the sum are staged at once.
            cache_line_size: i64,
        }
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
        Parameter::required("block_level_tiles", "t", Kind::Pair) => {
            /// Work groups of a block along the rows.
            tile_rows: i64,
            /// Work groups of a block along the columns.
            tile_cols: i64,
        }
        Parameter::required("double_buffer", "double", Kind::Flag) => {
            /// Whether the next copies are filled while the present ones are read.
            double_buffer: bool,
        }
        Parameter::required("no_bank_conflict_a", "pada", Kind::Flag) => {
            /// Whether rows of the first operand's copy are padded, so that they lie in different banks.
            no_bank_conflict_a: bool,
        }
        Parameter::required("no_bank_conflict_b", "padb", Kind::Flag) => {
            /// The same for the second operand.
            no_bank_conflict_b: bool,
        }
        Parameter::required("vectorization_size", "v", Kind::SIZE) => {
            /// How many neighbours are read at once.
            vectorization_size: i64,
        }
    }
    cache_line_of_elements: cache_line_size % 4 == 0, "a cache line holds whole elements of 4 bytes";
    wg_rows_divided: wg_rows % item_cols == 0,
        "the work items along the rows share the columns of a copy among them evenly";
    wg_cols_divided: wg_cols % item_rows == 0,
        "the work items along the columns share the rows of a copy among them evenly";
    cache_lines_filled: wg_rows * wg_cols * 4 % cache_line_size == 0,
        "the work group, an element of 4 bytes each, fills whole cache lines";
}

impl Template for Local {
    /// Both operands in packed panels, a cache line of the sum's steps at a time.
    fn tiled(&self, block: &Block) -> Result<Tiled, String> {
        let roles = Roles::of(block)?;
        let (item, group) = ([self.item_rows, self.item_cols], [self.wg_rows, self.wg_cols]);
        let axes = on_cpu::axes(&roles, item, group, self.vectorization_size);
        let mut tiled = on_cpu::tiles(&roles, &axes, self.vectorization_size);
        tiled.block_tile.extend(on_cpu::blocks_of_sum(&roles, elements(self.cache_line_size)?));
        for (operand, padded) in roles.operands.iter().zip(self.padded()) {
            tiled.pad.extend(padded.then(|| (operand.name.clone(), on_cpu::PAD)));
            tiled.pack.push(operand.name.clone());
        }
        tiled.pack.dedup();
        tiled.double_buffer = self.double_buffer;
        tiled.raster = self.raster(&roles);
        Ok(tiled)
    }

    /// Both operands in shared memory, a cache line of the sum's steps at a time.
    fn blocked(&self, block: &Block) -> Result<Blocked, String> {
        let roles = Roles::of(block)?;
        let axes = [(&roles.rows, self.item_rows, self.wg_rows), (&roles.columns, self.item_cols, self.wg_cols)];
        let mut blocked = on_gpu::tiles(&roles, &axes, elements(self.cache_line_size)?);
        blocked.stage = roles.operands.iter().map(|operand| self.stage(&roles, &blocked, operand)).collect();
        blocked.stages = if self.double_buffer { 2 } else { 1 };
        blocked.store = on_gpu::store(&roles, &blocked, self.vectorization_size);
        blocked.raster = self.raster(&roles);
        Ok(blocked)
    }
}

impl Local {
    fn padded(&self) -> [bool; 2] {
        [self.no_bank_conflict_a, self.no_bank_conflict_b]
    }

    /// The neighbouring work groups of a block, if there is more than one.
    fn raster(&self, roles: &Roles) -> BTreeMap<String, i64> {
        let tile = [(roles.rows.to_string(), self.tile_rows), (roles.columns.to_string(), self.tile_cols)];
        if self.tile_rows * self.tile_cols == 1 { BTreeMap::new() } else { tile.into() }
    }

    /// The sum's steps lie outside, so that a thread's operands are neighbours. Rows that are written by vectors are padded
    /// by one of these, others by an element. A tensor that is both operands has one stage.
    fn stage(&self, roles: &Roles, blocked: &Blocked, operand: &Operand) -> (String, Stage) {
        let size = |name: &str| blocked.reduce.get(name).copied().unwrap_or_else(|| blocked.block_tile(name));
        let vector = on_gpu::vector(roles, operand, self.vectorization_size, size);
        let same = || roles.operands.iter().zip(self.padded()).filter(|(other, _)| other.name == operand.name);
        // A block of one row has no other rows than those along the sum.
        let is_one_row = |operand: &Operand| {
            [&roles.rows, &roles.columns].into_iter().all(|name| !operand.moves(name) || blocked.block_tile(name) == 1)
        };
        let by_vectors = |operand: &Operand| {
            operand.contiguous.as_ref().is_some_and(|along| *along != roles.step || is_one_row(operand))
        };
        let pad = match (same().any(|(_, padded)| padded), same().any(|(other, _)| by_vectors(other))) {
            (false, _) => 0,
            (true, true) => vector,
            (true, false) => 1,
        };
        (operand.name.clone(), Stage { vector, pad, swizzle: 0, reduce_outside: true })
    }
}
