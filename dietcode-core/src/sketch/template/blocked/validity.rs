//! When a [`Blocked`] is valid for a nest on a GPU: hardware limits, not divisibility of extents.

use std::collections::BTreeMap;
use std::sync::Arc;

use dietcode_syntax::Role;

use super::Blocked;
use super::operands::{COLUMNS, ROWS};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, IterVar, Name, Program};
use crate::lower::guards_that_stay;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::schedule::{MOST_COPIES, Schedule};
use crate::sketch::limits::{MOST_OVERHANG, OTHER};
use crate::sketch::template::parameter::Table;
use crate::sketch::{grid, refused};

impl Blocked {
    /// What speaks against this micro-kernel, each with the numbers; empty: it is valid.
    pub fn violations(&self, program: &Program, device: &DeviceLimits) -> Vec<String> {
        self.micro_kernel(program, device).err().map(|e| e.to_string()).into_iter().collect()
    }

    /// Refuses parameters that make no sense on a nest and a device, each with the numbers.
    pub(super) fn check(&self, program: &Program, device: &DeviceLimits) -> Result<()> {
        let block = &program.blocks[0];
        let table: &dyn Table = self;
        refused(&table.unknown_names(block))?;
        refused(&table.bad_sizes())?;
        refused(&self.misplaced())?;
        refused(&self.beyond_device(block, device))?;
        refused(&self.wrong_for_nest(block))?;
        let copies = self.accumulators();
        let unrolled = format!("inner: the unrolled tile has {copies} statements, more than {MOST_COPIES}");
        refused((copies > MOST_COPIES).then_some(unrolled).as_slice())
    }

    /// What asks for something that another parameter brings, or rules out.
    fn misplaced(&self) -> Vec<String> {
        let mut found = Vec::new();
        let both = self.load.keys().filter(|input| self.stage.contains_key(*input));
        found.extend(both.map(|input| format!("load: `{input}` is staged already")));
        found.extend(grid::violations(&self.raster));
        let stages = self.stages;
        if self.asynchronous && stages == 1 {
            found.push("stages: it is 1; asynchronous copies need 2 or more".into());
        }
        if !self.asynchronous && stages > 2 {
            found.push(format!("stages: it is {stages}; more than 2 need `async`"));
        }
        // Behind the end of a reduction come the rest of a tile and of the parts; a device counts them in ints.
        for (name, parts) in &self.split {
            let tile = super::size(&self.reduce, name);
            let overhang = tile.saturating_mul(*parts);
            if overhang > MOST_OVERHANG {
                found.push(format!(
                    "split: {parts} parts by tiles of {tile} along `{name}` are {overhang} elements, more than {MOST_OVERHANG}"
                ));
            }
        }
        if self.atomic && self.split.values().all(|parts| *parts == 1) {
            found.push("atomic: no sum is split".into());
        }
        found
    }

    fn beyond_device(&self, block: &Block, device: &DeviceLimits) -> Vec<String> {
        let mut found = Vec::new();
        let threads = self.threads();
        let most = i64::from(device.threads_per_block);
        if threads > most {
            found.push(format!("thread: a block has {threads} threads, the device allows {most}"));
        }
        let resident = i64::from(device.threads_per_sm);
        if threads.saturating_mul(self.min_blocks) > resident {
            let blocks = self.min_blocks;
            found.push(format!(
                "min_blocks: {blocks} blocks of {threads} threads, a multiprocessor holds {resident} threads"
            ));
        }
        let accumulators = self.accumulators();
        let registers = i64::from(device.registers_per_thread);
        let held = self.held(block);
        if block.reduction.is_some() && accumulators.saturating_add(held).saturating_add(OTHER) > registers {
            let operands = if held > 0 { format!(" and holds operands in {held} registers") } else { String::new() };
            found.push(format!(
                "inner: a thread has {accumulators} accumulators{operands}, the device has {registers} registers for it"
            ));
        }
        let ampere = ComputeCapability { major: 8, minor: 0 };
        let wants = [("async", self.asynchronous), ("matrix_unit", self.matrix_unit.is_some())];
        for (key, _) in wants.into_iter().filter(|(_, wanted)| *wanted && device.capability < ampere) {
            found.push(format!("{key}: it needs compute capability 8.0, the device has {}", device.capability));
        }
        found
    }

    fn wrong_for_nest(&self, block: &Block) -> Vec<String> {
        let mut found: Vec<String> = self.operands(block).err().into_iter().collect();
        if block.iters_of(Role::Spatial).next().is_none() {
            found.push(format!("`{}` has no loop that blocks and threads could share", block.name));
        } else if self.threads() == 1 {
            found.push("thread: a block has a single thread".into());
        }
        if block.reduction.is_none() && (!self.stage.is_empty() || self.stages > 1) {
            found.push(format!("stage: `{}` sums nothing", block.name));
        }
        if self.matrix_unit.is_some() && !self.load.is_empty() {
            found.push("load: a matrix unit takes its operands from shared memory".into());
        }
        if self.atomic && !block.holds_sum() {
            found.push("atomic: the output must be f32 and hold the sum as it is".into());
        }
        if self.matrix_unit.is_some() && !self.vthread.is_empty() {
            found.push("vthread: a matrix unit has none".into());
        }
        found
    }

    /// Threads of a block.
    pub fn threads(&self) -> i64 {
        let product = product(&self.thread);
        if self.matrix_unit.is_some() { product.saturating_mul(32) } else { product }
    }

    /// Registers of 32 bits in which a thread holds operands.
    fn held(&self, block: &Block) -> i64 {
        let extent = |iter: &IterVar| match iter.role {
            Role::Spatial => {
                super::size(&self.inner, &iter.name).saturating_mul(super::size(&self.vthread, &iter.name))
            }
            Role::Reduce => super::size(&self.reduce, &iter.name),
        };
        let registers = |(buffer, index): (Arc<Buffer>, Vec<Expr>)| {
            let moved = block.iters.iter().filter(|iter| index.iter().any(|e| e.uses(&iter.name)));
            let bytes = moved.map(extent).fold(buffer.dtype.bytes(), i64::saturating_mul);
            bytes / 4
        };
        let reads = block.update_reads().into_iter().filter(|(buffer, _)| self.load.contains_key(&*buffer.name));
        reads.map(registers).fold(0, i64::saturating_add)
    }

    /// Accumulators of a thread.
    fn accumulators(&self) -> i64 {
        let elements = product(&self.inner).saturating_mul(product(&self.vthread));
        if self.matrix_unit.is_some() { elements.saturating_mul(ROWS * COLUMNS / 32) } else { elements }
    }
}

fn product(sizes: &BTreeMap<String, i64>) -> i64 {
    sizes.values().fold(1, |product, size| product.saturating_mul(*size))
}

/// Predicates that local padding may not move out of the sum of a tile that threads fill together.
pub(super) fn check_padding(schedule: &Schedule) -> Result<()> {
    if schedule.cache_reads.is_empty() {
        return Ok(());
    }
    let ragged = schedule.ragged();
    let reads = schedule.block.update_reads();
    let staged = |buffer: &Name| schedule.cache_reads.iter().any(|read| read.buffer == *buffer);
    let why = |name: &Name| {
        let direct = reads.iter().find(|(buffer, index)| !staged(&buffer.name) && index.iter().any(|e| e.uses(name)));
        match direct {
            Some((buffer, _)) => {
                format!("stage: `{}` moves along `{name}` and is not staged, so nothing pads it", buffer.name)
            }
            None => {
                format!("reduce: `{name}` cannot be padded: no value of its inputs makes the update change nothing")
            }
        }
    };
    refused(&guards_that_stay(schedule).keys().filter(|name| ragged.contains(name)).map(why).collect::<Vec<String>>())
}
