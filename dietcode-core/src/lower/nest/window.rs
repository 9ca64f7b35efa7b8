//! The copy of what a view shows at an edge, where several of its places fall on one element of the tensor.
//!
//! Of a convolution, 4 × 4 outputs read x\[c\]\[h + r\]\[w + s\] at 9 · 16 places of each channel, which are 6 · 6 elements. The copy holds
//! each of them once, as the tensor does, and the view moves along both:
//!
//! ```text
//! for r in 0..3, s in 0..3, h in 0..4, w in 0..4                 for i in 0..6, j in 0..6
//!   x_view_edge[r][s][h][w] = x[h0 + h + r][w0 + w + s]    →       x_view_edge[i][j] = x[h0 + i][w0 + j]
//! ```

use std::collections::BTreeSet;
use std::ops::{Add, Mul, Sub};

use dietcode_syntax::Role;

use crate::ir::{Affine, Buffer, Expr, Name, affine};
use crate::lower::guard::Guard;
use crate::schedule::{CacheRead, Schedule};

/// The dimensions of the copy, which are those of the tensor.
#[derive(Clone)]
pub(super) struct Window {
    /// Its loops, with their numbers of iterations.
    pub(super) loops: Vec<(Name, Expr)>,
    pub(super) shape: Vec<Expr>,
    /// The index into the tensor.
    pub(super) index: Vec<Expr>,
    /// Holds for elements that are in the tensor, and that a padded sum must not see.
    pub(super) guards: Expr,
}

/// A dimension of a view.
pub(super) struct Along<'a> {
    pub(super) name: &'a Name,
    pub(super) iterations: &'a Expr,
    pub(super) limit: &'a Expr,
}

impl Window {
    /// None: each place has an element of its own, or the copy would show a padded sum what it must not see.
    pub(super) fn of(
        schedule: &Schedule,
        read: &CacheRead,
        (source, index): (&Buffer, &[Expr]),
        dims: &[Along<'_>],
        guards: &[&Guard],
    ) -> Option<Window> {
        let mut window = Window { loops: Vec::new(), shape: Vec::new(), index: Vec::new(), guards: Expr::Int(1) };
        let mut is_shared = false;
        for (at, index) in index.iter().enumerate() {
            let form = affine(index)?;
            let moving: Vec<(&Along<'_>, i64)> =
                dims.iter().map(|dim| (dim, form.coefficient(dim.name))).filter(|(_, step)| *step != 0).collect();
            if moving.iter().any(|(_, step)| *step < 0) {
                return None;
            }
            let roots: BTreeSet<Name> = moving.iter().flat_map(|(dim, _)| schedule.roots(dim.name)).collect();
            is_shared |= roots.len() > 1;
            let length = |of: &dyn Fn(&Along<'_>) -> Expr| {
                let last = moving.iter().map(|(dim, step)| of(dim).sub(Expr::Int(1)).mul(Expr::Int(*step)));
                last.fold(Expr::Int(1), Expr::add)
            };
            let var = schedule.fresh_name(&format!("{}_{at}", read.name));
            let first = at_first(index, dims.iter().map(|dim| dim.name));
            let element = first.clone().add(Expr::Var(var.clone()));
            let of_dim = guards.iter().filter(|guard| roots.contains(&guard.root));
            let (reduced, spatial): (Vec<&&Guard>, Vec<&&Guard>) = of_dim.partition(|guard| guard.role == Role::Reduce);
            if !spatial.is_empty() {
                window.guards = window.guards.and(element.clone().lt(source.shape[at].clone()));
            }
            for guard in reduced {
                // The guard counts as the dimension does, and nothing else moves along it.
                let alone = roots.len() == 1 && read.index.iter().filter(|e| e.uses(&guard.root)).count() == 1;
                let counts: Affine = affine(&guard.value)?;
                if !alone || moving.iter().any(|(dim, step)| counts.coefficient(dim.name) != *step) {
                    return None;
                }
                let value = at_first(&guard.value, dims.iter().map(|dim| dim.name)).add(Expr::Var(var.clone()));
                window.guards = window.guards.and(value.lt(guard.extent.clone()));
            }
            window.loops.push((var, length(&|dim| dim.iterations.clone())));
            window.shape.push(length(&|dim| dim.limit.clone()));
            window.index.push(element);
        }
        is_shared.then_some(window)
    }
}

/// An expression where every loop of a view is at its first iteration.
pub(super) fn at_first<'a>(e: &Expr, names: impl IntoIterator<Item = &'a Name>) -> Expr {
    names.into_iter().fold(e.clone(), |e, name| e.substitute(name, &Expr::Int(0)))
}
