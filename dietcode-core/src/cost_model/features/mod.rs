//! Features of a loop nest: what a cost model is told of a micro-kernel.
//!
//! Both groups are read off one tree (`tree`) of any lowered nest, for a CPU or for CUDA, and of programs of TVM's ([`tvm`]):
//!
//! * [`loops`], loop-context features: a row for each loop;
//! * [`stores`], per-store features: a row for each buffer that is stored to.

mod index;
mod loop_context;
mod operations;
mod per_store;
mod tree;
pub mod tvm;

pub use loop_context::LoopFeatures;
pub use per_store::{COUNT, names};

use crate::cost_model::{count, share_inside};
use crate::ir::{Expr, ForKind, Name};
use crate::lower::LoopNest;
use tree::{Source, Tree};

/// Loop-context features of a nest at a shape (the shape variables in declaration order), of each loop in the order in which they
/// begin; with `log`, sign(x) · log2(1 + |x|) of each number x that counts.
pub fn loops(nest: &LoopNest, shape: &[i64], log: bool) -> Vec<LoopFeatures> {
    loop_context::features(&tree(nest, shape, None), log)
}

/// Per-store features of a nest at a shape, in the order of [`names`]: of each stored buffer, in the order of the first stores.
///
/// With `units` the grid is what a micro-kernel is measured at, a tile for each core or multiprocessor: what more tiles an instance
/// has is a matter of waves and padding ([`Adaptation`](super::Adaptation)), not of the micro-kernel.
pub fn stores(nest: &LoopNest, shape: &[i64], units: Option<i64>) -> Vec<(Name, [f32; COUNT])> {
    let tree = tree(nest, shape, units);
    per_store::rows(&tree).into_iter().map(|(buffer, row)| (tree.buffers[buffer].name.clone(), row)).collect()
}

fn tree(nest: &LoopNest, shape: &[i64], units: Option<i64>) -> Tree {
    let value = |name: &str| value(nest, shape, name);
    let grid = nest.grid.as_ref().map(|(var, extent)| (var, units.unwrap_or(count(extent, &value) as i64)));
    let mut tree = Tree::of(&Source {
        body: &nest.body,
        grid,
        params: &nest.params,
        value: &value,
        unroll_max_step: &|_| 0,
        // Most blocks have one of both.
        inside: nest.inside.as_ref().map(|inside| (&inside.condition, share_inside(inside, &value) >= 0.5)),
        choice_is_call: false,
    });
    if let Some(units) = units {
        tree.bound_grid(units);
    }
    tree
}

/// The value of a shape variable, a parameter, or what is derived from them, where a sum under a condition is taken.
fn value(nest: &LoopNest, shape: &[i64], name: &str) -> f64 {
    let variables = nest.shape_vars.len() - nest.parameters.len();
    if let Some(at) = nest.shape_vars.iter().position(|var| **var == *name) {
        let known = if at < variables { shape.get(at) } else { nest.parameters.get(at - variables) };
        return known.copied().unwrap_or(0) as f64;
    }
    match nest.derived.iter().chain(&nest.expected).find(|(known, _)| **known == *name) {
        Some((_, Expr::Select(_, taken, _))) => count(taken, &|name: &str| value(nest, shape, name)),
        Some((_, derived)) => count(derived, &|name: &str| value(nest, shape, name)),
        None => 0.0,
    }
}

impl Tree {
    /// Leaves so many blocks of a GPU's grid: those that count fastest.
    fn bound_grid(&mut self, units: i64) {
        let mut left: Vec<(usize, i64)> = Vec::new();
        for store in &self.stores {
            let mut units = units.max(1);
            for at in store.path.iter().rev().filter(|at| self.loops[**at].kind == ForKind::BlockIdx) {
                let extent = self.loops[*at].extent.clamp(1, units);
                left.push((*at, extent));
                units = units.div_euclid(extent).max(1);
            }
        }
        left.into_iter().for_each(|(at, extent)| self.loops[at].extent = extent);
    }
}
