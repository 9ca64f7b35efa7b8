//! When a [`Tiled`] is valid for a nest on a CPU: what makes sense of its parameters. What the hardware holds, the limits say.

use dietcode_syntax::Role;

use super::Tiled;
use crate::Result;
use crate::ir::{Block, Expr, IterVar, Name, Program};
use crate::lower::guards_that_stay;
use crate::machine::CpuTarget;
use crate::schedule::{MOST_COPIES, Schedule};
use crate::sketch::limits::OPERANDS;
use crate::sketch::template::parameter::Table;
use crate::sketch::{grid, refused};

impl Tiled {
    /// What speaks against this micro-kernel, each with the numbers; empty: it is valid.
    pub fn violations(&self, program: &Program, target: &CpuTarget) -> Vec<String> {
        self.micro_kernel(program, target).err().map(|e| e.to_string()).into_iter().collect()
    }

    /// Refuses parameters that make no sense on a nest and a CPU, each with the numbers.
    pub(super) fn check(&self, program: &Program, target: &CpuTarget) -> Result<()> {
        let block = &program.blocks[0];
        let table: &dyn Table = self;
        refused(&table.unknown_names(block))?;
        refused(&table.bad_sizes())?;
        refused(&self.misplaced())?;
        refused(&self.unfit_sizes(block, target))?;
        refused(&self.missing_blocks(block))?;
        refused(&self.beyond_limits(block, target))
    }

    /// What asks for something that only another parameter brings.
    fn misplaced(&self) -> Vec<String> {
        let mut found: Vec<String> = grid::violations(&self.raster).into_iter().collect();
        let unpacked = self.pad.keys().filter(|input| !self.pack.contains(input));
        found.extend(unpacked.map(|input| format!("pad: `{input}` is not packed")));
        let packed = self.load.iter().filter(|input| self.pack.contains(input));
        found.extend(packed.map(|input| format!("load: `{input}` is packed already")));
        if self.double_buffer && self.pack.is_empty() {
            found.push("double_buffer: nothing is packed".into());
        }
        if self.lanes.is_some() && self.vector.is_none() {
            found.push("lanes: no loop is that of vectors".into());
        }
        found
    }

    fn unfit_sizes(&self, block: &Block, target: &CpuTarget) -> Vec<String> {
        let mut found = Vec::new();
        for l in &block.iters {
            let (size, block) = (self.register_size(&l.name), self.block_size(&l.name, l.role));
            if let Some(block) = block.filter(|block| block % size != 0) {
                found
                    .push(format!("block_tile: `{}` is {block}, not a multiple of the register tile's {size}", l.name));
            }
        }
        let vector = self.vector.as_ref().map(|name| (name, self.register_size(name)));
        match (vector, self.lanes) {
            (Some((name, size)), None) if self.lanes(target) == 1 => {
                found.push(format!("register_tile: `{name}` is {size}; the vector loop's must be a multiple of 2"));
            }
            (Some((name, size)), Some(lanes)) if ![1, 2, 4, 8, 16].contains(&lanes) || size % lanes != 0 => {
                found.push(format!(
                    "lanes: they are {lanes}; expected 1, 2, 4, 8 or 16, which divide the register tile's {size} along `{name}`"
                ));
            }
            _ => {}
        }
        if self.double_buffer && !block.iters_of(Role::Reduce).any(|iter| self.block_tile.contains_key(&*iter.name)) {
            found.push("double_buffer: no reduction has a block, so the panels are packed once".into());
        }
        found
    }

    /// A copy, packed or at the edge, has constant extents: along a reduction it spans the block, which then has a size.
    fn missing_blocks(&self, block: &Block) -> Vec<String> {
        let reads = block.update_reads();
        let hangs_over = |l: &&IterVar| {
            let size = self.register_size(&l.name);
            size > 1 && l.extent.as_int().is_none_or(|extent| extent % size != 0)
        };
        let padded: Vec<&IterVar> = block.iters.iter().filter(hangs_over).collect();
        let unbounded = block
            .iters_of(Role::Reduce)
            .filter(|l| l.extent.as_int().is_none() && !self.block_tile.contains_key(&*l.name));
        let mut found = Vec::new();
        for l in unbounded {
            let uses = |index: &[Expr], l: &IterVar| index.iter().any(|e| e.uses(&l.name));
            let copied = reads.iter().filter(|(_, index)| uses(index, l)).find_map(|(buffer, index)| {
                let pad = padded.iter().find(|l| uses(index, l)).map(|l| &l.name);
                let named = |inputs: &[String]| inputs.iter().any(|name| **name == *buffer.name);
                let why = match pad {
                    _ if named(&self.pack) => Some("is packed".into()),
                    // What is copied for a step has its size.
                    Some(pad) if !named(&self.load) => Some(format!("is padded along `{pad}`")),
                    _ => None,
                };
                why.map(|why| (&buffer.name, why))
            });
            if let Some((input, why)) = copied {
                found.push(format!(
                    "block_tile: `{}` is missing, so its block is the whole extent `{}`; but `{input}` {why}, and its \
                     copy needs a constant size: name a block",
                    l.name, l.extent
                ));
            }
        }
        found
    }

    /// The registers, and what a C compiler takes minutes over.
    fn beyond_limits(&self, block: &Block, target: &CpuTarget) -> Vec<String> {
        let product = |role| {
            block.iters_of(role).fold(1i64, |product, iter| product.saturating_mul(self.register_size(&iter.name)))
        };
        let (tile, steps) = (product(Role::Spatial), product(Role::Reduce));
        let registers = tile / self.lanes(target);
        let most = target.vector_registers - OPERANDS;
        if self.lanes.is_none() && registers > most && block.reduction.is_some() {
            return vec![format!(
                "the register tile takes {registers} registers of {} lanes, the CPU has {most} to spare",
                self.lanes(target)
            )];
        }
        if registers.saturating_mul(steps) > MOST_COPIES {
            return vec![format!("the unrolled tile has {registers} x {steps} statements, more than {MOST_COPIES}")];
        }
        Vec::new()
    }

    /// Refuses a tile that hangs over an edge where nothing can pad it.
    pub(super) fn check_padding(&self, schedule: &Schedule) -> Result<()> {
        let (stay, ragged) = (guards_that_stay(schedule), schedule.ragged());
        let why = |name: &Name| {
            format!("register_tile: `{name}` cannot be padded: no value of its inputs makes the update change nothing")
        };
        refused(&stay.keys().filter(|name| ragged.contains(name)).map(why).collect::<Vec<String>>())
    }
}
