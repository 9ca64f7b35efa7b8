//! When a [`Tiled`] is valid for a nest on a CPU: hardware limits, not divisibility of extents.

use dietcode_syntax::{Expr, KernelDef, Loop, Role};

use super::Tiled;
use crate::frontend;
use crate::ir;
use crate::lower::{guards_that_stay, lower};
use crate::machine::CpuTarget;
use crate::schedule::MOST_COPIES;
use crate::sketch::grid;

impl Tiled {
    /// What speaks against this micro-kernel, each with the numbers; empty: it is valid.
    pub fn violations(&self, def: &KernelDef, target: &CpuTarget) -> Vec<String> {
        let mut found = self.unknown_names(def);
        if found.is_empty() {
            found = self.bad_sizes(def, target);
        }
        if found.is_empty() {
            found = self.missing_blocks(def);
        }
        if found.is_empty() {
            found = self.beyond_limits(def, target);
        }
        found
    }

    /// Every name must be a loop of the nest, or an input that its reduction reads.
    fn unknown_names(&self, def: &KernelDef) -> Vec<String> {
        let is_loop = |name: &str, role: Option<Role>| {
            def.loops.iter().any(|l| l.name == name && role.is_none_or(|role| l.role == role))
        };
        let mut found = Vec::new();
        let mut check = |key: &str, name: &str, known: bool, expected: &str| {
            if !known {
                found.push(format!("{key}: `{name}` is not {expected} of `{}`", def.name));
            }
        };
        if let Some(name) = &self.vector {
            check("vector", name, is_loop(name, Some(Role::Spatial)), "a spatial loop");
        }
        for (key, sizes) in [("register_tile", &self.register_tile), ("block_tile", &self.block_tile)] {
            sizes.keys().for_each(|name| check(key, name, is_loop(name, None), "a loop"));
        }
        self.order.iter().for_each(|name| check("order", name, is_loop(name, Some(Role::Spatial)), "a spatial loop"));
        self.raster.keys().for_each(|name| check("raster", name, is_loop(name, Some(Role::Spatial)), "a spatial loop"));
        let read = inputs_of_update(def);
        for (key, names) in [("pack", &self.pack), ("load", &self.load)] {
            names.iter().for_each(|name| check(key, name, read.contains(&name.as_str()), "an input of the reduction"));
        }
        let repeated = |names: &[String]| (1..names.len()).find(|&n| names[..n].contains(&names[n]));
        for (key, names) in [("pack", &self.pack), ("order", &self.order), ("load", &self.load)] {
            if let Some(n) = repeated(names) {
                found.push(format!("{key}: `{}` is named twice", names[n]));
            }
        }
        found.extend(self.misplaced());
        found
    }

    /// What asks for something that only another parameter brings.
    fn misplaced(&self) -> Vec<String> {
        let mut found = Vec::new();
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

    fn bad_sizes(&self, def: &KernelDef, target: &CpuTarget) -> Vec<String> {
        let mut found = Vec::new();
        for (key, sizes) in [("register_tile", &self.register_tile), ("block_tile", &self.block_tile)] {
            let bad = sizes.iter().filter(|(_, size)| !(1..=1 << 31).contains(*size));
            found.extend(bad.map(|(name, size)| format!("{key}: `{name}` is {size}, expected 1 to 2^31")));
        }
        let bad = self.pad.iter().filter(|(_, pad)| !(1..=1024).contains(*pad));
        found.extend(bad.map(|(name, pad)| format!("pad: `{name}` is {pad}, expected 1 to 1024")));
        found.extend(grid::violations(&self.raster));
        if !found.is_empty() {
            return found;
        }
        for l in &def.loops {
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
        let has_block = |l: &&Loop| l.role == Role::Reduce && self.block_tile.contains_key(&l.name);
        if self.double_buffer && !def.loops.iter().any(|l| has_block(&l)) {
            found.push("double_buffer: no reduction has a block, so the panels are packed once".into());
        }
        found
    }

    /// A copy, packed or at the edge, has constant extents: along a reduction it spans the block, which then has a size.
    fn missing_blocks(&self, def: &KernelDef) -> Vec<String> {
        let program = frontend::program(def);
        let reads = program.blocks[0].update_reads();
        let hangs_over = |l: &&Loop| {
            let size = self.register_size(&l.name);
            size > 1 && l.extent.as_constant().is_none_or(|extent| extent % size != 0)
        };
        let padded: Vec<&Loop> = def.loops.iter().filter(hangs_over).collect();
        let unbounded = def.loops.iter().filter(|l| {
            l.role == Role::Reduce && l.extent.as_constant().is_none() && !self.block_tile.contains_key(&l.name)
        });
        let mut found = Vec::new();
        for l in unbounded {
            let uses = |index: &[ir::Expr], l: &Loop| index.iter().any(|e| e.uses(&l.name));
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

    /// The limits of the hardware, and what lowering refuses.
    fn beyond_limits(&self, def: &KernelDef, target: &CpuTarget) -> Vec<String> {
        let product = |role| {
            let of_role = def.loops.iter().filter(|l| l.role == role);
            of_role.fold(1i64, |product, l| product.saturating_mul(self.register_size(&l.name)))
        };
        let (tile, steps) = (product(Role::Spatial), product(Role::Reduce));
        let registers = tile / self.lanes(target);
        // One register holds the operand that is multiplied with all others, another the next of them.
        let most = target.vector_registers - 2;
        if self.lanes.is_none() && registers > most && def.reduction.is_some() {
            return vec![format!(
                "the register tile takes {registers} registers of {} lanes, the CPU has {most} to spare",
                self.lanes(target)
            )];
        }
        if registers.saturating_mul(steps) > MOST_COPIES {
            return vec![format!("the unrolled tile has {registers} x {steps} statements, more than {MOST_COPIES}")];
        }
        let nest =
            self.schedule(&frontend::program(def), target).and_then(|schedule| Ok((lower(&schedule)?, schedule)));
        match nest {
            Err(e) => vec![e.to_string()],
            Ok((nest, _)) if nest.scratch_bytes > target.l2_bytes => {
                vec![format!(
                    "the panels take {} bytes, the second-level cache has {}",
                    nest.scratch_bytes, target.l2_bytes
                )]
            }
            Ok((_, schedule)) => {
                let stay = guards_that_stay(&schedule);
                let ragged = schedule.ragged();
                let why = |name: &str| {
                    format!(
                        "register_tile: `{name}` cannot be padded: no value of its inputs makes the update change nothing"
                    )
                };
                stay.keys().filter(|name| ragged.contains(name)).map(|name| why(name)).collect()
            }
        }
    }
}

/// The names of the tensors that a nest's update reads.
fn inputs_of_update(def: &KernelDef) -> Vec<&str> {
    let mut names = Vec::new();
    if let Some(reduction) = &def.reduction {
        loads(&reduction.update, def, &mut names);
    }
    names
}

fn loads<'a>(e: &Expr, def: &'a KernelDef, names: &mut Vec<&'a str>) {
    match e {
        Expr::Load { index, .. } if index.is_empty() => {}
        Expr::Load { param, .. } => names.push(&def.params[*param].name),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| loads(e, def, names)),
        Expr::Call(_, args) => args.iter().for_each(|e| loads(e, def, names)),
        Expr::Select { lhs, rhs, then, otherwise, .. } => {
            [lhs, rhs, then, otherwise].into_iter().for_each(|e| loads(e, def, names));
        }
        Expr::Acc | Expr::Literal(_) | Expr::Index(_) => {}
    }
}
