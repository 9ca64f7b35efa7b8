//! Inlining of blocks: programs become one block again, whatever a user spread over several.
//!
//! A block whose output is no parameter of the kernel makes an *intermediate*, which nothing stores: it is gone once every
//! block that reads it computes the value itself.

use super::{Block, Expr, Name, Program};
use crate::{Error, Result};

impl Program {
    /// Puts what a block computes where other blocks read it; TVM's `compute_inline`.
    ///
    /// ```text
    /// for i: start[i] = 2 * b[i]
    /// for i: for k: y[i] += x[i][k], from start[i]   →   for i: for k: y[i] += x[i][k], from 2 * b[i]
    /// ```
    ///
    /// # Errors
    /// The block sums, its output is a parameter, or an element of it is not what one value of its iteration variables says.
    pub fn compute_inline(&mut self, at: usize) -> Result<()> {
        let block = self.blocks[at].clone();
        if block.reduction.is_some() || self.is_param(&block) {
            return refuse(&block, "compute_inline: it sums, or its output is a parameter of the kernel");
        }
        let vars = variables(&block.output_index, &block)?;
        let read = |e: &Expr| match e {
            Expr::Load(buffer, index) if *buffer == block.output => Some(replace(&block.epilogue, &vars, index)),
            _ => None,
        };
        self.blocks.remove(at);
        self.blocks.iter_mut().for_each(|other| map_values(other, &mut { read }));
        Ok(())
    }

    /// Lets the block that makes an intermediate store what another block, which reads only its elements one by one, makes of
    /// them; TVM's `reverse_compute_inline`.
    ///
    /// ```text
    /// for i: for k: sum[i] += x[i][k]
    /// for i: y[i] = max(sum[i], 0)          →   for i: for k: y[i] = max(Σ x[i][k], 0)
    /// ```
    ///
    /// # Errors
    /// The block sums, reads no intermediate or several, reads one at other places than it writes, or is not the only one
    /// that reads it.
    pub fn reverse_compute_inline(&mut self, at: usize) -> Result<()> {
        let consumer = self.blocks[at].clone();
        let why = "reverse_compute_inline: it is no elementwise block that alone reads one intermediate";
        let makes = |producer: &Block| !self.is_param(producer) && reads(&consumer, producer);
        let made: Vec<usize> = (0..self.blocks.len()).filter(|&n| makes(&self.blocks[n])).collect();
        let [from] = made[..] else { return refuse(&consumer, why) };
        let producer = self.blocks[from].clone();
        let readers = self.blocks.iter().filter(|block| reads(block, &producer)).count();
        if consumer.reduction.is_some() || readers != 1 {
            return refuse(&consumer, why);
        }
        let (theirs, ours) = (indices(&consumer, &producer), variables(&producer.output_index, &producer)?);
        let [index] = &theirs[..] else { return refuse(&consumer, why) };
        let vars = variables(index, &consumer)?;
        let to: Vec<Expr> = ours.into_iter().map(Expr::Var).collect();
        let stored = consumer.epilogue.map(&mut |e| match e {
            Expr::Load(buffer, _) if *buffer == producer.output => Some(producer.epilogue.clone()),
            _ => None,
        });
        let block = &mut self.blocks[from];
        block.epilogue = replace(&stored, &vars, &to);
        block.output_index = consumer.output_index.iter().map(|e| replace(e, &vars, &to)).collect();
        block.output = consumer.output;
        self.blocks.remove(at);
        Ok(())
    }

    /// Inlines a block that makes one value, the same everywhere, if it is one; says whether it was.
    pub fn inline_constant_scalar(&mut self, at: usize) -> bool {
        self.blocks[at].iters.is_empty() && self.compute_inline(at).is_ok()
    }

    /// Inlines an elementwise block: into those that read it, or into the one that it reads. Says whether it could.
    pub fn inline_elementwise(&mut self, at: usize) -> bool {
        self.compute_inline(at).is_ok() || self.reverse_compute_inline(at).is_ok()
    }

    /// Inlines all that can be, values that are the same everywhere first.
    pub fn inlined(mut self) -> Program {
        for inline in [Program::inline_constant_scalar, Program::inline_elementwise] {
            let mut at = 0;
            while at < self.blocks.len() {
                at += usize::from(!inline(&mut self, at));
            }
        }
        self
    }

    fn is_param(&self, block: &Block) -> bool {
        self.params.contains(&block.output)
    }
}

fn refuse<T>(block: &Block, why: &str) -> Result<T> {
    Err(Error::input(format!("block `{}`: {why}", block.name)))
}

/// The variables that an index consists of, if it has each spatial variable of the block exactly once and nothing else.
fn variables(index: &[Expr], block: &Block) -> Result<Vec<Name>> {
    let plain = |e: &Expr| if let Expr::Var(name) = e { Some(name.clone()) } else { None };
    let vars: Option<Vec<Name>> = index.iter().map(plain).collect();
    let spatial: Vec<&Name> = block.iters_of(dietcode_syntax::Role::Spatial).map(|iter| &iter.name).collect();
    match vars.filter(|vars| vars.len() == spatial.len() && spatial.iter().all(|name| vars.contains(name))) {
        Some(vars) => Ok(vars),
        None => refuse(block, "an element of the intermediate is not one value of its iteration variables"),
    }
}

/// Replaces variables, all at once.
fn replace(e: &Expr, vars: &[Name], by: &[Expr]) -> Expr {
    e.map(&mut |e| match e {
        Expr::Var(name) => vars.iter().position(|var| var == name).map(|at| by[at].clone()),
        _ => None,
    })
}

/// Rewrites every value of a block.
fn map_values(block: &mut Block, f: &mut impl FnMut(&Expr) -> Option<Expr>) {
    block.epilogue = block.epilogue.map(f);
    if let Some(reduction) = &mut block.reduction {
        reduction.init = reduction.init.map(f);
        reduction.update = reduction.update.map(f);
    }
}

/// The distinct places at which a block reads what another one makes.
fn indices(reader: &Block, maker: &Block) -> Vec<Vec<Expr>> {
    let sum = reader.reduction.iter().flat_map(|reduction| [&reduction.init, &reduction.update]);
    let mut found = Vec::new();
    for value in sum.chain([&reader.epilogue]) {
        value.visit(&mut |e| match e {
            Expr::Load(buffer, index) if *buffer == maker.output && !found.contains(index) => found.push(index.clone()),
            _ => {}
        });
    }
    found
}

fn reads(reader: &Block, maker: &Block) -> bool {
    !indices(reader, maker).is_empty()
}
