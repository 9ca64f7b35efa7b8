//! What a configuration is on a CPU: a micro-kernel of the family `tiled`.
//!
//! A work item is a register tile, a work group the block that one thread carries out. Vectors go along the loop along which
//! the output is contiguous. Where that is the batches' and a family has no size for them, a work item computes the columns of
//! one vector less, and each of them for a vector of batches: as many sums, and no scalar code.
//!
//! | family                  | on a CPU                                                                              |
//! |-------------------------|---------------------------------------------------------------------------------------|
//! | `local`                 | both operands in packed panels, a cache line of the sum's steps at a time             |
//! | `non_local`             | operands in place; `full`: those contiguous along the sum by vectors of its steps,    |
//! |                         | which are unrolled, and transposed in registers                                       |
//! | `non_local_interleaved` | operands in place, a cache line of the sum's steps at a time                          |
//! | `naive`                 | the nest as it stands; a cache line of outputs is one task                            |

use std::collections::BTreeMap;

use super::roles::{Operand, Roles, elements, lanes, output_loop, valid};
use super::{Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
use crate::ir::{Block, Name, Program};
use crate::machine::CpuTarget;
use crate::sketch::Tiled;

/// Elements of 64 bytes, a cache line of every CPU here: how far micro-panels are set apart.
const PAD: i64 = 16;

/// Steps of the sum between which the tile's sums wait, where no parameter says so: what hangs over the edge of a tensor is
/// copied for as many.
const STEPS: i64 = 512;

impl Family {
    /// The micro-kernel that this configuration stands for on a nest and a CPU.
    ///
    /// # Errors
    /// A sentence that says why it serves this nest or this CPU not, with the numbers.
    pub fn on_cpu(&self, program: &Program, target: &CpuTarget) -> Result<Tiled, String> {
        let tiled = self.tiled(program)?;
        match tiled.micro_kernel(program, target) {
            Ok(_) => Ok(tiled),
            Err(e) => Err(e.to_string()),
        }
    }

    /// The same, whether it is valid or not.
    pub(super) fn tiled(&self, program: &Program) -> Result<Tiled, String> {
        valid(self)?;
        let block = &program.blocks[0];
        Ok(match self {
            Family::Local(local) => local.on_cpu(&Roles::of(block)?)?,
            Family::NonLocal(non_local) => non_local.on_cpu(&Roles::of(block)?),
            Family::NonLocalInterleaved(interleaved) => interleaved.on_cpu(block)?,
            Family::Naive(naive) => naive.on_cpu(block)?,
            Family::Tiled(tiled) => tiled.clone(),
            Family::Blocked(_) => return Err("`blocked` is a schedule for a GPU".into()),
        })
    }
}

/// A loop with the size of its register tile, and how many of these make a block.
type Axis<'n> = (&'n Name, i64, i64);

/// Register tiles and blocks, vectors along the output's contiguous loop.
fn tiles(roles: &Roles, axes: &[Axis<'_>], vectorization_size: i64) -> Tiled {
    let size = |along: &Name| axes.iter().find(|(name, ..)| *name == along).map_or(1, |(_, item, _)| *item);
    Tiled {
        vector: Some(roles.contiguous.to_string()),
        lanes: Some(lanes(vectorization_size, size(&roles.contiguous))),
        register_tile: axes.iter().map(|(name, item, _)| (name.to_string(), *item)).collect(),
        block_tile: axes.iter().map(|(name, item, group)| (name.to_string(), item * group)).collect(),
        ..Tiled::default()
    }
}

/// Rows and columns of a work item, and how many of these make a work group along each; with the batches, where vectors go
/// along them. Their panels hold a vector for each element, so that a work group has that many rows fewer.
fn axes<'r>(roles: &'r Roles, item: [i64; 2], group: [i64; 2], vectorization_size: i64) -> Vec<Axis<'r>> {
    let ([rows, columns], [row_items, column_items]) = (item, group);
    match roles.batches.as_ref().filter(|batches| **batches == roles.contiguous) {
        None => vec![(&roles.rows, rows, row_items), (&roles.columns, columns, column_items)],
        Some(batches) => {
            let lanes = lanes(vectorization_size, columns);
            let row_items = (row_items / lanes).max(1);
            vec![(&roles.rows, rows, row_items), (&roles.columns, columns / lanes, column_items), (batches, lanes, 1)]
        }
    }
}

/// Blocks of the sum: so many steps of its innermost loop, one of each other.
fn blocks_of_sum(roles: &Roles, steps: i64) -> impl Iterator<Item = (String, i64)> {
    let others = roles.other_steps.iter().map(|name| (name.to_string(), 1));
    others.chain([(roles.step.to_string(), steps)])
}

impl Local {
    fn on_cpu(&self, roles: &Roles) -> Result<Tiled, String> {
        let (item, group) = ([self.item_rows, self.item_cols], [self.wg_rows, self.wg_cols]);
        let axes = axes(roles, item, group, self.vectorization_size);
        let mut tiled = tiles(roles, &axes, self.vectorization_size);
        tiled.block_tile.extend(blocks_of_sum(roles, elements(self.cache_line_size)?));
        let flags = [self.no_bank_conflict_a, self.no_bank_conflict_b];
        for (operand, apart) in roles.operands.iter().zip(flags) {
            tiled.pad.extend(apart.then(|| (operand.name.clone(), PAD)));
            tiled.pack.push(operand.name.clone());
        }
        tiled.pack.dedup();
        tiled.double_buffer = self.double_buffer;
        tiled.raster = self.raster(roles);
        Ok(tiled)
    }

    /// The neighbouring work groups of a block, if there is more than one.
    pub(super) fn raster(&self, roles: &Roles) -> BTreeMap<String, i64> {
        let tile = [(roles.rows.to_string(), self.tile_rows), (roles.columns.to_string(), self.tile_cols)];
        if self.tile_rows * self.tile_cols == 1 { BTreeMap::new() } else { tile.into() }
    }
}

impl NonLocal {
    fn on_cpu(&self, roles: &Roles) -> Tiled {
        let (item, group) = ([self.item_rows, self.item_cols], [self.wg_rows, self.wg_cols]);
        let axes = axes(roles, item, group, self.vectorization_size);
        let mut tiled = tiles(roles, &axes, self.vectorization_size);
        let along_sum = |operand: &&Operand| operand.contiguous.as_ref() == Some(&roles.step);
        let unrolled = match self.vectorization {
            Vectorization::Full if roles.operands.iter().any(|operand| along_sum(&operand)) => self.vectorization_size,
            Vectorization::Partial | Vectorization::Full => 1,
        };
        tiled.block_tile.extend(blocks_of_sum(roles, (STEPS / unrolled).max(1) * unrolled));
        if unrolled > 1 {
            tiled.register_tile.insert(roles.step.to_string(), unrolled);
            // What is no vector is broadcast from where it lies.
            let turned = |operand: &&Operand| along_sum(operand) && operand.moves(&roles.contiguous);
            tiled.load = roles.operands.iter().filter(turned).map(|operand| operand.name.clone()).collect();
            tiled.load.dedup();
        }
        tiled
    }
}

impl NonLocalInterleaved {
    fn on_cpu(&self, block: &Block) -> Result<Tiled, String> {
        let roles = Roles::of(block)?;
        let batches = roles.interleaved(&block.output)?;
        let axes = [
            (&roles.rows, self.item_rows, self.wg_rows),
            (&roles.columns, self.item_cols, self.wg_cols),
            (batches, self.item_batches, self.wg_batches),
        ];
        let mut tiled = tiles(&roles, &axes, self.vectorization_size);
        tiled.block_tile.extend(blocks_of_sum(&roles, elements(self.cache_line_size)?));
        Ok(tiled)
    }
}

impl Naive {
    fn on_cpu(&self, block: &Block) -> Result<Tiled, String> {
        let outputs = elements(self.cache_line_size)?;
        Ok(Tiled { block_tile: [(output_loop(block)?.to_string(), outputs)].into(), ..Tiled::default() })
    }
}

#[cfg(test)]
mod tests;
