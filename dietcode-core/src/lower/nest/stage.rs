//! Staged copies of what a reduction reads: packed panels, views that need a copy only at the edge, and what a thread of a GPU
//! holds in registers.

use std::ops::{Add, Div, Mul};
use std::sync::Arc;

use super::register_cache;
use super::window::{Along, Window, at_first};
use crate::Result;
use crate::ir::{Buffer, Expr, ForKind, Name, Region, Scope, Stmt, coefficient};
use crate::lower::guard::{self, Guard};
use crate::lower::lanes::is_contiguous;
use crate::schedule::{CacheRead, Schedule, Staging};

/// A staged read: which loops it spans, and the statements around its users.
#[derive(Clone)]
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
    /// What the copy of a view holds, if places of the view share elements.
    window: Option<Window>,
}

/// The stages of a schedule; a read that never leaves the tensor and needs no packing has none.
pub(super) fn of(schedule: &Schedule, guards: &[Guard]) -> Result<Vec<Stage>> {
    let mut stages = Vec::new();
    for read in schedule.cache_reads.iter().filter(|read| !matches!(read.staging, Staging::Shared(_))) {
        let relevant = guards.iter().filter(|guard| read.index.iter().any(|e| e.uses(&guard.root)));
        let taken = guard::taken(schedule, &read.index);
        let guards: Vec<&Guard> = relevant.chain(&taken).collect();
        if read.staging == Staging::Edge && guards.is_empty() {
            continue;
        }
        stages.push(stage(schedule, read, &guards)?);
    }
    Ok(stages)
}

fn stage(schedule: &Schedule, read: &CacheRead, guards: &[&Guard]) -> Result<Stage> {
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
    let limits: Option<Vec<Expr>> = dims.iter().map(|&at| schedule.loops[at].limit.clone()).collect();
    let source = schedule.program.params.iter().find(|param| param.name == read.buffer).cloned();
    let (Some(limits), Some(source)) = (limits, source) else {
        return Err(crate::Error::input(format!("the extents of `{}` are known in a call only", read.name)));
    };
    // A view shows the tensor's own elements, or copies of them, and registers hold these; a panel is converted when it is
    // filled, unless an instruction takes the elements as they are.
    let (scope, dtype) = match read.staging {
        Staging::Edge => (Scope::View, source.dtype),
        Staging::Registers(_) => (Scope::Local, source.dtype),
        Staging::Always | Staging::Shared(_) => (Scope::Panel, schedule.panel_dtype(source.dtype)),
    };
    if let Staging::Registers(lanes) = read.staging {
        register_cache::check_vector(schedule, &dims, &index, lanes).map_err(|why| {
            crate::Error::input(format!("schedule of `{}`: `{}`: {why}", schedule.block.name, read.name))
        })?;
    }
    let names: Vec<Name> = dims.iter().map(|&at| schedule.loops[at].name.clone()).collect();
    let extents: Vec<Expr> = dims.iter().map(|&at| schedule.iterations(at)).collect();
    let window = (read.staging == Staging::Edge).then(|| {
        let dims = names.iter().zip(&extents).zip(&limits);
        let dims: Vec<Along<'_>> = dims.map(|((name, iterations), limit)| Along { name, iterations, limit }).collect();
        Window::of(schedule, read, (&source, &index), &dims, guards)
    });
    // Lanes whose steps an instruction takes stay neighbours: one run is not set apart from others.
    let pad = if schedule.dot.is_some() && limits.len() < 3 { 0 } else { read.pad };
    Ok(Stage {
        depth,
        target: Arc::new(Buffer { name: read.name.clone(), dtype, shape: set_apart(limits, pad), scope, swizzle: 0 }),
        window: window.flatten(),
        names,
        extents,
        dims,
        read: read.clone(),
        source,
        index,
        guards: guard::all(guards.iter().copied()),
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

impl Stage {
    /// Whether it shows the tensor's own elements where it can.
    pub(super) fn is_view(&self) -> bool {
        self.read.staging == Staging::Edge
    }

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

    /// The stage around its users; `nest` puts the loops of some of its dimensions around the copying statement, and `inside` says of the
    /// condition that all of a view lies inside what it is for those who read it.
    pub(super) fn around(
        &self,
        schedule: &Schedule,
        body: Stmt,
        inside: impl Fn(Expr) -> Expr,
        nest: impl Fn(&[usize], Stmt) -> Stmt,
    ) -> Stmt {
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
                let edge = |shape: &[Expr]| {
                    let (name, dtype) = (format!("{}_edge", self.target.name).into(), self.target.dtype);
                    Arc::new(Buffer { name, dtype, shape: shape.to_vec(), scope: Scope::Panel, swizzle: 0 })
                };
                let (edge, fill) = match &self.window {
                    None => {
                        let edge = edge(&self.target.shape);
                        (self.identity(&edge), nest(&self.dims, copy_to(&edge)))
                    }
                    Some(window) => {
                        let edge = edge(&window.shape);
                        (self.moving_in(&edge), self.fill_window(window, &edge))
                    }
                };
                let loops: Vec<(Name, Expr)> = self.names.iter().cloned().zip(self.extents.iter().cloned()).collect();
                let view = Stmt::View {
                    view: self.target.clone(),
                    // Where no corner decides, every place is taken for an edge.
                    inside: inside(guard::at_corner(&self.guards, &loops).unwrap_or(Expr::Int(0))),
                    whole: self.whole(),
                    fill: Box::new(fill),
                    body: Box::new(body),
                    edge: edge.clone(),
                };
                Stmt::Allocate { buffer: edge.buffer, body: Box::new(view) }
            }
        }
    }

    /// The tensor's own memory as the view sees it.
    fn whole(&self) -> Region {
        let base = self.index.iter().map(|e| at_first(e, &self.names)).collect();
        Region { base, ..self.moving_in(&self.source) }
    }

    /// A buffer with the tensor's dimensions in which the view moves as in the tensor, from its first element on.
    fn moving_in(&self, buffer: &Arc<Buffer>) -> Region {
        let step = |name: &Name| self.index.iter().map(|e| coefficient(e, name).unwrap_or(0)).collect();
        Region {
            buffer: buffer.clone(),
            base: vec![Expr::Int(0); self.index.len()],
            steps: self.names.iter().map(step).collect(),
        }
    }

    /// Fills the copy of a window.
    fn fill_window(&self, window: &Window, edge: &Arc<Buffer>) -> Stmt {
        let index = window.loops.iter().map(|(var, _)| Expr::Var(var.clone())).collect();
        let value = Expr::Load(self.source.clone(), window.index.clone());
        let copy = Stmt::if_(window.guards.clone(), Stmt::Store { buffer: edge.clone(), index, value });
        let around =
            |body, (var, extent): &(Name, Expr)| Stmt::for_(var.clone(), extent.clone(), ForKind::Serial, body);
        window.loops.iter().rev().fold(copy, around)
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
