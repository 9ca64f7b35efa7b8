//! What a configuration is on a GPU: a micro-kernel of the family `blocked`.
//!
//! A work item is a thread, a work group a block of threads. Vectors go along whatever is contiguous.
//!
//! | family                  | on a GPU                                                                             |
//! |-------------------------|--------------------------------------------------------------------------------------|
//! | `local`                 | both operands in shared memory, a cache line of the sum's steps at a time            |
//! | `non_local`             | each thread reads its operands into registers; `full`: a vector of the sum's steps   |
//! | `non_local_interleaved` | the same step by step, with vectors along the batches. Caches need no telling of how |
//! |                         | long their lines are                                                                 |
//! | `naive`                 | one element a thread; a cache line of outputs is one block                           |

use std::collections::BTreeMap;

use super::roles::{Operand, Roles, elements, lanes, output_loop, valid};
use super::{Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
use crate::ir::{Block, Name, Program};
use crate::machine::cuda::DeviceLimits;
use crate::sketch::{Blocked, Count, Stage};

/// The most neighbours that a thread stores at once.
const MOST_STORED: i64 = 8;

impl Family {
    /// The micro-kernel that this configuration stands for on a nest and a device.
    ///
    /// # Errors
    /// A sentence that says why it serves this nest or this device not, with the numbers.
    pub fn on_gpu(&self, program: &Program, device: &DeviceLimits) -> Result<Blocked, String> {
        let blocked = self.blocked(program)?;
        match blocked.micro_kernel(program, device) {
            Ok(_) => Ok(blocked),
            Err(e) => Err(e.to_string()),
        }
    }

    /// The same, whether it is valid or not.
    pub(super) fn blocked(&self, program: &Program) -> Result<Blocked, String> {
        valid(self)?;
        let block = &program.blocks[0];
        Ok(match self {
            Family::Local(local) => local.on_gpu(&Roles::of(block)?)?,
            Family::NonLocal(non_local) => non_local.on_gpu(&Roles::of(block)?),
            Family::NonLocalInterleaved(interleaved) => interleaved.on_gpu(block)?,
            Family::Naive(naive) => naive.on_gpu(block)?,
            Family::Blocked(blocked) => blocked.clone(),
            Family::Tiled(_) => return Err("`tiled` is a schedule for a CPU".into()),
        })
    }
}

/// A loop with the elements of a thread, and how many threads a block has along it.
type Axis<'n> = (&'n Name, i64, i64);

/// Threads and their tiles, and the tile of the sum: so many steps of its innermost loop, one of each other.
fn tiles(roles: &Roles, axes: &[Axis<'_>], steps: i64) -> Blocked {
    let others = roles.other_steps.iter().map(|name| (name.to_string(), 1));
    Blocked {
        thread: axes.iter().map(|(name, _, threads)| (name.to_string(), *threads)).collect(),
        inner: axes.iter().map(|(name, item, _)| (name.to_string(), *item)).collect(),
        reduce: others.chain([(roles.step.to_string(), steps)]).collect(),
        ..Blocked::default()
    }
}

/// How many neighbours of an operand are read at once, where its tile has these sizes. A tensor that is both operands is read
/// in one way.
fn vector(roles: &Roles, operand: &Operand, vectorization_size: i64, size: impl Fn(&str) -> i64) -> i64 {
    let same = roles.operands.iter().filter(|other| other.name == operand.name);
    let vectors = same.map(|same| same.contiguous.as_ref().map_or(1, |along| lanes(vectorization_size, size(along))));
    vectors.min().unwrap_or(1)
}

/// How many neighbours a thread stores at once.
fn store(roles: &Roles, blocked: &Blocked, vectorization_size: i64) -> Count<1> {
    let size = blocked.inner.get(&*roles.contiguous).copied().unwrap_or(1);
    Count(lanes(vectorization_size.min(MOST_STORED), size))
}

/// Both operands in registers of each thread.
fn held(roles: &Roles, blocked: &Blocked, vectorization_size: i64) -> BTreeMap<String, i64> {
    let size =
        |name: &str| [&blocked.inner, &blocked.reduce].into_iter().find_map(|sizes| sizes.get(name)).map_or(1, |s| *s);
    let load = |operand: &Operand| (operand.name.clone(), vector(roles, operand, vectorization_size, size));
    roles.operands.iter().map(load).collect()
}

impl Local {
    fn on_gpu(&self, roles: &Roles) -> Result<Blocked, String> {
        let axes = [(&roles.rows, self.item_rows, self.wg_rows), (&roles.columns, self.item_cols, self.wg_cols)];
        let mut blocked = tiles(roles, &axes, elements(self.cache_line_size)?);
        blocked.stage = roles.operands.iter().map(|operand| self.stage(roles, &blocked, operand)).collect();
        blocked.stages = Count(if self.double_buffer { 2 } else { 1 });
        blocked.store = store(roles, &blocked, self.vectorization_size);
        blocked.raster = self.raster(roles);
        Ok(blocked)
    }

    /// The sum's steps lie outside, so that a thread's operands are neighbours. Rows that are written by vectors are set
    /// apart by one of these, others by an element. A tensor that is both operands has one stage.
    fn stage(&self, roles: &Roles, blocked: &Blocked, operand: &Operand) -> (String, Stage) {
        let size = |name: &str| blocked.reduce.get(name).copied().unwrap_or_else(|| blocked.block_tile(name));
        let vector = vector(roles, operand, self.vectorization_size, size);
        let flags = [self.no_bank_conflict_a, self.no_bank_conflict_b];
        let same = || roles.operands.iter().zip(flags).filter(|(other, _)| other.name == operand.name);
        // A block of one row has no other rows than those along the sum.
        let is_one_row = |operand: &Operand| {
            [&roles.rows, &roles.columns].into_iter().all(|name| !operand.moves(name) || blocked.block_tile(name) == 1)
        };
        let by_vectors = |operand: &Operand| {
            operand.contiguous.as_ref().is_some_and(|along| *along != roles.step || is_one_row(operand))
        };
        let pad = match (same().any(|(_, apart)| apart), same().any(|(other, _)| by_vectors(other))) {
            (false, _) => 0,
            (true, true) => vector,
            (true, false) => 1,
        };
        (operand.name.clone(), Stage { vector: Count(vector), pad, reduce_outside: true })
    }
}

impl NonLocal {
    fn on_gpu(&self, roles: &Roles) -> Blocked {
        let axes = [(&roles.rows, self.item_rows, self.wg_rows), (&roles.columns, self.item_cols, self.wg_cols)];
        let full = self.vectorization == Vectorization::Full;
        let mut blocked = tiles(roles, &axes, if full { self.vectorization_size } else { 1 });
        blocked.load = held(roles, &blocked, self.vectorization_size);
        if full {
            blocked.store = store(roles, &blocked, self.vectorization_size);
        }
        blocked
    }
}

impl NonLocalInterleaved {
    fn on_gpu(&self, block: &Block) -> Result<Blocked, String> {
        let roles = Roles::of(block)?;
        let batches = roles.interleaved(&block.output)?;
        let axes = [
            (&roles.rows, self.item_rows, self.wg_rows),
            (&roles.columns, self.item_cols, self.wg_cols),
            (batches, self.item_batches, self.wg_batches),
        ];
        let mut blocked = tiles(&roles, &axes, 1);
        blocked.load = held(&roles, &blocked, self.vectorization_size);
        blocked.store = store(&roles, &blocked, self.vectorization_size);
        Ok(blocked)
    }
}

impl Naive {
    fn on_gpu(&self, block: &Block) -> Result<Blocked, String> {
        let threads = elements(self.cache_line_size)?;
        Ok(Blocked { thread: [(output_loop(block)?.to_string(), threads)].into(), ..Blocked::default() })
    }
}

#[cfg(test)]
mod tests;
