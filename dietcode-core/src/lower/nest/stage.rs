//! Staged copies of what a reduction reads: packed panels, views that need a copy only at the edge, and what a thread of a GPU
//! holds in registers.

use std::ops::{Add, Div, Mul};
use std::sync::Arc;

use super::register_cache;
use crate::Result;
use crate::ir::{Buffer, DType, Expr, Name, Region, Scope, Stmt, affine};
use crate::lower::guard::{self, Guard};
use crate::schedule::{CacheRead, Schedule, Staging};

/// A staged read: which loops it spans, and the statements around its users.
pub(super) struct Stage {
    pub(super) depth: usize,
    /// The loops that are its dimensions, outermost first.
    pub(super) dims: Vec<usize>,
    read: CacheRead,
    source: Arc<Buffer>,
    /// The index into the tensor, in terms of the loops.
    index: Vec<Expr>,
    names: Vec<Name>,
    extents: Vec<Expr>,
    guards: Expr,
    /// What the reduction reads instead.
    target: Arc<Buffer>,
}

/// The stages of a schedule; a read that never leaves the tensor and needs no packing has none.
pub(super) fn of(schedule: &Schedule, guards: &[Guard]) -> Result<Vec<Stage>> {
    let mut stages = Vec::new();
    for read in schedule.cache_reads.iter().filter(|read| !matches!(read.staging, Staging::Shared(_))) {
        let relevant = guards.iter().filter(|guard| read.index.iter().any(|e| e.uses(&guard.root)));
        let taken = guard::taken(schedule, &read.index);
        let guards = guard::all(relevant.chain(&taken));
        if read.staging == Staging::Edge && guards == Expr::Int(1) {
            continue;
        }
        stages.push(stage(schedule, read, guards)?);
    }
    Ok(stages)
}

fn stage(schedule: &Schedule, read: &CacheRead, guards: Expr) -> Result<Stage> {
    let depth = read.depth.unwrap_or(schedule.loops.len());
    let moves: Vec<Expr> = read.index.iter().map(|e| schedule.in_loops(e)).collect();
    let mut dims: Vec<usize> =
        (depth..schedule.loops.len()).filter(|&at| moves.iter().any(|e| e.uses(&schedule.loops[at].name))).collect();
    let index: Vec<Expr> = read.index.iter().map(|e| schedule.unsplit(e)).collect();
    if matches!(read.staging, Staging::Edge | Staging::Registers(_))
        && let Some(contiguous) = dims.iter().rposition(|&at| is_contiguous(&index, &schedule.loops[at].name))
    {
        // The copy is contiguous along the same loop as the tensor, so that the stride is the constant 1 in both, and
        // vectors are vectors.
        let at = dims.remove(contiguous);
        dims.push(at);
    }
    if dims.iter().any(|&at| schedule.roots(&schedule.loops[at].name).len() > 1) {
        return Err(crate::Error::input(format!("`{}` spans a fused loop; stage it inside of that", read.name)));
    }
    if read.staging == Staging::Edge
        && let Some(&at) = dims.iter().find(|&&at| schedule.steps_at_run_time(&schedule.loops[at].name))
    {
        return Err(crate::Error::input(format!(
            "`{}` is a view along `{}`, whose steps are known at run time only; stage it inside of that, or pack it",
            read.name, schedule.loops[at].name
        )));
    }
    let shape: Option<Vec<Expr>> = dims.iter().map(|&at| schedule.loops[at].limit.clone()).collect();
    let shape = shape.map(|shape| set_apart(shape, read.pad));
    let source = schedule.program.params.iter().find(|param| param.name == read.buffer).cloned();
    let (Some(shape), Some(source)) = (shape, source) else {
        return Err(crate::Error::input(format!("the extents of `{}` are known in a call only", read.name)));
    };
    // A view shows the tensor's own elements, or copies of them, and registers hold these; a panel is converted when it is
    // filled.
    let (scope, dtype) = match read.staging {
        Staging::Edge => (Scope::View, source.dtype),
        Staging::Registers(_) => (Scope::Local, source.dtype),
        Staging::Always | Staging::Shared(_) => (Scope::Panel, DType::F32),
    };
    if let Staging::Registers(lanes) = read.staging {
        register_cache::check_vector(schedule, &dims, &index, lanes).map_err(|why| {
            crate::Error::input(format!("schedule of `{}`: `{}`: {why}", schedule.block.name, read.name))
        })?;
    }
    Ok(Stage {
        depth,
        names: dims.iter().map(|&at| schedule.loops[at].name.clone()).collect(),
        extents: dims.iter().map(|&at| schedule.iterations(at)).collect(),
        target: Arc::new(Buffer { name: read.name.clone(), dtype, shape, scope }),
        dims,
        read: read.clone(),
        source,
        index,
        guards,
    })
}

/// The runs of a panel, which its outermost dimension counts, `pad` elements apart: as many rows more as that takes.
fn set_apart(mut shape: Vec<Expr>, pad: i64) -> Vec<Expr> {
    let row = shape.iter().skip(2).cloned().fold(Expr::Int(1), Expr::mul);
    if let Some(rows) = shape.get_mut(1).filter(|_| pad > 0) {
        *rows = rows.clone().add(Expr::Int(pad - 1).div(row).add(Expr::Int(1)));
    }
    shape
}

/// Whether the tensor's neighbours in memory are neighbours along this loop.
fn is_contiguous(index: &[Expr], name: &str) -> bool {
    let Some((last, outer)) = index.split_last() else { return false };
    let c = |e: &Expr| affine(e).map(|form| form.coefficient(name));
    c(last) == Some(1) && outer.iter().all(|e| c(e) == Some(0))
}

impl Stage {
    /// Whether a thread of a GPU holds the copy in its registers.
    pub(super) fn is_in_registers(&self) -> bool {
        self.target.scope == Scope::Local
    }

    /// Reads the copy where the tensor was read.
    pub(super) fn redirect(&self, e: &Expr) -> Expr {
        e.map(&mut |e| match e {
            Expr::Load(buffer, index) if *buffer == self.source && *index == self.read.index => {
                Some(Expr::Load(self.target.clone(), self.vars()))
            }
            _ => None,
        })
    }

    fn vars(&self) -> Vec<Expr> {
        self.names.iter().map(|name| Expr::Var(name.clone())).collect()
    }

    /// The stage around its users; `nest` puts the loops of some of its dimensions around the copying statement.
    pub(super) fn around(&self, schedule: &Schedule, body: Stmt, nest: impl Fn(&[usize], Stmt) -> Stmt) -> Stmt {
        let copy_to = |buffer: &Arc<Buffer>| {
            let value = Expr::Load(self.source.clone(), self.index.clone());
            let store = Stmt::Store { buffer: buffer.clone(), index: self.vars(), value };
            Stmt::if_(self.guards.clone(), store)
        };
        let filled = |copy: Stmt, body: Stmt| {
            let body = Box::new(Stmt::seq([copy, body]));
            Stmt::Allocate { buffer: self.target.clone(), body }
        };
        match (self.read.staging, self.dims.split_last()) {
            (Staging::Registers(lanes), Some((&last, outer))) if lanes > 1 => {
                let copy = register_cache::by_vectors(schedule, &schedule.loops[last], lanes, copy_to(&self.target));
                filled(nest(outer, copy), body)
            }
            (Staging::Always | Staging::Registers(_) | Staging::Shared(_), _) => {
                filled(nest(&self.dims, copy_to(&self.target)), body)
            }
            (Staging::Edge, _) => {
                let edge = Arc::new(Buffer {
                    name: format!("{}_edge", self.target.name).into(),
                    scope: Scope::Panel,
                    ..(*self.target).clone()
                });
                let loops: Vec<(Name, Expr)> = self.names.iter().cloned().zip(self.extents.iter().cloned()).collect();
                let view = Stmt::View {
                    view: self.target.clone(),
                    // Where no corner decides, every place is taken for an edge.
                    inside: guard::at_corner(&self.guards, &loops).unwrap_or(Expr::Int(0)),
                    whole: self.whole(),
                    edge: self.identity(&edge),
                    fill: Box::new(nest(&self.dims, copy_to(&edge))),
                    body: Box::new(body),
                };
                Stmt::Allocate { buffer: edge, body: Box::new(view) }
            }
        }
    }

    /// The tensor's own memory as the view sees it.
    fn whole(&self) -> Region {
        let zero = |e: &Expr| self.names.iter().fold(e.clone(), |e, name| e.substitute(name, &Expr::Int(0)));
        let step =
            |name: &Name| self.index.iter().map(|e| affine(e).map_or(0, |form| form.coefficient(name))).collect();
        Region {
            buffer: self.source.clone(),
            base: self.index.iter().map(zero).collect(),
            steps: self.names.iter().map(step).collect(),
        }
    }

    /// The padded copy as the view sees it: the same dimensions.
    fn identity(&self, edge: &Arc<Buffer>) -> Region {
        let rank = self.names.len();
        Region {
            buffer: edge.clone(),
            base: vec![Expr::Int(0); rank],
            steps: (0..rank).map(|v| (0..rank).map(|d| i64::from(v == d)).collect()).collect(),
        }
    }
}
