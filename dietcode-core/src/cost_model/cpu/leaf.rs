//! What is done in the innermost loops, each statement with the loops around it.

use crate::cost_model::loops::instructions;
use crate::ir::{
    Affine, BinaryOp, Buffer, CompareOp, Expr, ForKind, Intrinsic, Name, Region, Run, Scope, Stmt, affine,
};
use crate::lower::LoopNest;
use crate::lower::guard::conjuncts;
use crate::lower::lanes::first_or_zero;
use crate::schedule::{Relation, Schedule};
use dietcode_syntax::Role;
use std::ops::{Add, Mul};

/// A statement on elements.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The loops around it, outermost first.
    pub(super) loops: Vec<Around>,
    /// The place of the conditions around it among [`Leaves::under`].
    pub(super) under: usize,
    /// Instructions on each element.
    pub(super) arithmetic: f64,
    /// Whether it adds to what it stores.
    pub(super) accumulates: bool,
    /// Whether elements of 16 bits become floats.
    pub(super) converts: bool,
    /// Whether elements that are the same in all lanes are shifted, see `ir/dot.rs`.
    pub(super) shifts: bool,
    /// Whether squares of elements are transposed in registers: the innermost loops are its lanes, its columns and so many runs of these.
    pub(super) transposes: Option<usize>,
    /// What it reads and writes; the last one is what it writes.
    pub(super) accesses: Vec<Access>,
    /// The accesses to different elements in memory, by their places, each with how often these are on their way: what is written goes back,
    /// too.
    pub(super) moved: Vec<(usize, f64)>,
}

impl Leaf {
    fn moved(accesses: &[Access]) -> Vec<(usize, f64)> {
        let Some((written, read)) = accesses.split_last() else { return Vec::new() };
        let same = |a: &Access, b: &Access| a.buffer == b.buffer && a.steps == b.steps;
        let is_first = |at: &usize| !read[..*at].iter().chain([written]).any(|other| same(&read[*at], other));
        let read = (0..read.len()).filter(is_first).map(|at| (at, 1.0));
        let all = [(accesses.len() - 1, 2.0)].into_iter().chain(read);
        all.filter(|(at, _)| accesses[*at].is_memory()).collect()
    }
}

/// The statements of a schedule's loops, and what is evaluated once at a shape for all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaves {
    /// In their order.
    pub(super) all: Vec<Leaf>,
    /// The extents of the block's loops before any is split.
    pub(super) extents: Vec<Expr>,
    /// Each loop that is around a statement.
    pub(super) loops: Vec<(Name, Expr)>,
    /// Each expression that a condition compares with, or is.
    pub(super) values: Vec<Expr>,
    /// Each condition, in parts that hold together.
    pub(super) conditions: Vec<Vec<Condition>>,
    /// Those around a statement, by their places, each with whether it holds where the statement is carried out.
    pub(super) under: Vec<Vec<(usize, bool)>>,
    /// The loops that move along an axis (their places), with their steps, which are positive.
    pub(super) axes: Vec<Vec<(usize, i64)>>,
}

/// The place of a thing among others, where it is put if it is none of them.
fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// A loop around a statement.
#[derive(Clone, Debug)]
pub(super) struct Around {
    /// Its place among [`Leaves::loops`].
    pub(super) place: usize,
    pub(super) var: Name,
    pub(super) extent: Expr,
    pub(super) kind: ForKind,
    /// Whether it is summed over.
    pub(super) reduce: bool,
}

/// A condition around a statement, read once for all shapes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    /// The loop that is at one of its places where it holds, if it says `loop == place`.
    pub(super) one_of: [Option<Name>; 2],
    /// Its place among [`Leaves::values`].
    pub(super) whole: usize,
    /// What it says of the places along an axis, if that is what it does.
    pub(super) edge: Option<Edge>,
}

/// `Σ loop · step + constant < bound`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edge {
    /// The loops and steps, by their place among [`Leaves::axes`].
    pub(super) axis: usize,
    pub(super) constant: i64,
    /// The bound's place among [`Leaves::values`].
    pub(super) bound: usize,
}

impl Edge {
    fn of(condition: &Expr, loops: &[Around], found: &mut Leaves) -> Option<Edge> {
        let Expr::Compare(CompareOp::Lt, value, bound) = condition else { return None };
        let form = affine(value)?;
        let position = |(name, step): &(String, i64)| {
            let around = loops.iter().find(|l| *l.var == **name)?;
            (*step > 0).then_some((around.place, *step))
        };
        let moves = form.terms.iter().map(position).collect::<Option<Vec<(usize, i64)>>>()?;
        if moves.is_empty() {
            return None;
        }
        let (axis, bound) = (place(&mut found.axes, moves), place(&mut found.values, (**bound).clone()));
        Some(Edge { axis, constant: form.constant, bound })
    }
}

impl Condition {
    fn of(whole: Expr, edge: Option<Edge>, values: &mut Vec<Expr>) -> Condition {
        let name = |e: &Expr| if let Expr::Var(name) = e { Some(name.clone()) } else { None };
        let one_of = match &whole {
            Expr::Compare(CompareOp::Eq, a, b) => [name(a), name(b)],
            _ => [None, None],
        };
        Condition { one_of, whole: place(values, whole), edge }
    }
}

/// An access to memory or to a register.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) buffer: Name,
    pub(super) scope: Scope,
    /// Of an element.
    pub(super) bytes: f64,
    /// For each dimension and each loop: how far an iteration moves.
    pub(super) steps: Vec<Vec<f64>>,
}

/// How an access moves along a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Motion {
    /// It is the same in all iterations.
    Still,
    /// In the last dimension only, by so many elements.
    Near(f64),
    /// Elsewhere.
    Far,
}

impl Access {
    pub(super) fn motion(&self, at: usize) -> Motion {
        let Some((last, outer)) = self.steps.split_last() else { return Motion::Still };
        if outer.iter().any(|dim| dim[at] != 0.0) {
            return Motion::Far;
        }
        if last[at] == 0.0 { Motion::Still } else { Motion::Near(last[at]) }
    }

    /// Whether it takes time that other data could: tensors, panels, arrays that are no registers.
    pub(super) fn is_memory(&self) -> bool {
        self.scope != Scope::Register
    }
}

/// All statements on elements of a schedule's loops.
pub(super) fn leaves(schedule: &Schedule, nest: &LoopNest) -> Leaves {
    let extents = schedule.block.iters.iter().map(|iter| schedule.program.taken(&iter.extent)).collect();
    let mut walk = Walk {
        schedule,
        loops: Vec::new(),
        conditions: Vec::new(),
        lets: Vec::new(),
        views: Vec::new(),
        found: Leaves { extents, ..Leaves::default() },
    };
    if let Some((tile, extent)) = &nest.grid {
        walk.enter(tile, extent, ForKind::Parallel);
    }
    walk.stmt(&nest.body);
    walk.found
}

struct Walk<'a> {
    schedule: &'a Schedule,
    loops: Vec<Around>,
    conditions: Vec<(usize, bool)>,
    lets: Vec<(&'a Name, &'a Expr)>,
    views: Vec<(&'a Name, &'a Region)>,
    found: Leaves,
}

impl<'a> Walk<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For { var, extent, kind, body } => {
                let outside = self.loops.len();
                self.enter(var, extent, *kind);
                self.stmt(body);
                self.loops.truncate(outside);
            }
            Stmt::Let { var, value, body } => {
                // The parts of a fused loop are loops here.
                let part = self.loops.iter().any(|l| l.var == *var);
                self.lets.extend((!part).then_some((var, value)));
                self.stmt(body);
                self.lets.truncate(self.lets.len() - usize::from(!part));
            }
            Stmt::Allocate { body, .. } => self.stmt(body),
            Stmt::View { view, inside, whole, fill, body, .. } => {
                self.under(inside, false, fill);
                self.views.push((&view.name, whole));
                self.stmt(body);
                self.views.pop();
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                self.under(condition, true, then);
                otherwise.iter().for_each(|stmt| self.under(condition, false, stmt));
            }
            Stmt::Seq(all) => all.iter().for_each(|stmt| self.stmt(stmt)),
            Stmt::Store { buffer, index, value } => self.store(buffer, index, value),
            Stmt::Intrinsic(Intrinsic::TransposeCopy {
                to,
                to_index,
                from,
                from_index,
                from_dim,
                lanes,
                columns,
                neighbours,
                runs,
                ..
            }) => {
                let to = (&**to, &to_index[..to_index.len() - usize::from(*neighbours > 1)]);
                self.transpose(to, (from, from_index), *from_dim, *lanes, (columns, *neighbours, runs));
            }
            Stmt::Intrinsic(Intrinsic::Dot { dot, to, to_index, a, a_index, b }) => {
                let b = b.as_ref().map(|(b, index)| (b, index));
                let operands = [(a, a_index)].into_iter().chain(b);
                let operands = operands.map(|(of, index)| self.steps_of(dot.row().steps, of, index));
                let accesses = operands.chain([self.access(to, to_index)]).collect();
                let shifts = b.is_some_and(|(b, _)| dot.row().shifts([a.dtype, b.dtype]));
                self.add(Leaf { arithmetic: 1.0, accumulates: true, converts: false, shifts, accesses, ..self.leaf() });
            }
            Stmt::Intrinsic(Intrinsic::MeetLanes { to, to_index, parts, .. }) => {
                // For each vector two shuffles, of which a clock has one, and an operation, of which it has two; a vector alone has all halvings.
                let lanes = self.loops.last().and_then(|l| l.extent.as_int()).unwrap_or(2);
                let halvings = f64::from(lanes.ilog2());
                let arithmetic = 5.0 * (parts.len() as f64 + halvings - 1.0);
                let read = parts.iter().map(|(from, index)| self.access(from, index));
                let accesses = read.chain([self.access(to, to_index)]).collect();
                self.add(Leaf { arithmetic, converts: false, accesses, ..self.leaf() });
            }
            Stmt::Intrinsic(_) | Stmt::Sync => {}
        }
    }

    /// A fused loop counts as the loops that it was made of.
    fn enter(&mut self, var: &Name, extent: &Expr, kind: ForKind) {
        let parts = self.schedule.relations.iter().find_map(|relation| match relation {
            Relation::Fuse { fused, outer, inner, extents, .. } if fused == var => Some(([outer, inner], extents)),
            _ => None,
        });
        match parts {
            Some((names, extents)) => {
                names.iter().zip(extents).for_each(|(name, extent)| self.enter(name, extent, kind));
            }
            None => {
                let extent = self.schedule.program.taken(extent);
                let reduce = self.schedule.loops.iter().any(|l| l.name == *var && l.role == Role::Reduce);
                let place = place(&mut self.found.loops, (var.clone(), extent.clone()));
                self.loops.push(Around { place, var: var.clone(), extent, kind, reduce });
            }
        }
    }

    fn under(&mut self, condition: &Expr, holds: bool, stmt: &'a Stmt) {
        // Tiles at edges are others than inside only where they are partitioned.
        let found = &mut self.found;
        let of = |whole: Expr| {
            let is_partitioned = !self.schedule.partitions.is_empty();
            let edge = Some(&whole).filter(|_| is_partitioned).and_then(|part| Edge::of(part, &self.loops, found));
            Condition::of(whole, edge, &mut found.values)
        };
        let parts = conjuncts(&self.schedule.program.taken(condition)).into_iter().map(of).collect();
        self.conditions.push((place(&mut self.found.conditions, parts), holds));
        self.stmt(stmt);
        self.conditions.pop();
    }

    fn store(&mut self, buffer: &Buffer, index: &[Expr], value: &Expr) {
        let mut accumulates = false;
        let mut accesses: Vec<Access> = Vec::new();
        value.visit(&mut |e| {
            if let Expr::Load(from, at) = e
                && !from.is_scalar()
            {
                accumulates |= **from == *buffer && at == index;
                let access = self.access(from, at);
                accesses.push(access);
            }
        });
        accesses.push(self.access(buffer, index));
        // A masked load is one load.
        let unmasked = |e: &Expr| {
            let (from, index, _) = first_or_zero(e, &self.loops.last()?.var)?;
            Some(Expr::Load(from.clone(), index.to_vec()))
        };
        let arithmetic = instructions(&value.map(&mut { unmasked }), buffer.dtype);
        self.add(Leaf { arithmetic, accumulates: accumulates && arithmetic > 0.0, accesses, ..self.leaf() });
    }

    fn transpose(
        &mut self,
        to: (&Buffer, &[Expr]),
        from: (&Buffer, &[Expr]),
        dim: usize,
        lanes: i64,
        (columns, neighbours, runs): (&Expr, i64, &[Run]),
    ) {
        let names: [Name; 2] = ["column of a transpose", "lane of a transpose"].map(Name::from);
        let moved = |index: &[Expr], dims: [usize; 2], columns: i64| {
            let mut index = index.to_vec();
            for ((name, dim), step) in names.iter().zip(dims).zip([columns, 1]) {
                index[dim] = index[dim].clone().add(Expr::Var(name.clone()).mul(Expr::Int(step)));
            }
            index
        };
        let (to_last, from_last) = (to.1.len() - 1, from.1.len() - 1);
        let outside = self.loops.len();
        let (mut to_start, mut from_start) = (to.1.to_vec(), from.1.to_vec());
        for (at, run) in runs.iter().enumerate() {
            let name = Name::from(format!("run {at} of a transpose"));
            self.enter(&name, &run.extent, ForKind::Serial);
            for (index, dim) in [(&mut to_start, run.to_dim), (&mut from_start, run.from_dim)] {
                index[dim] = index[dim].clone().add(Expr::Var(name.clone()));
            }
        }
        self.enter(&names[0], columns, ForKind::Serial);
        self.enter(&names[1], &Expr::Int(lanes), ForKind::Vectorized);
        let (to_index, from_index) = (
            moved(&to_start, [to_last.saturating_sub(1), to_last], 1),
            moved(&from_start, [from_last, dim], neighbours),
        );
        let accesses = vec![self.access(from.0, &from_index), self.access(to.0, &to_index)];
        self.add(Leaf { transposes: Some(runs.len()), accesses, ..self.leaf() });
        self.loops.truncate(outside);
    }

    fn leaf(&self) -> Leaf {
        Leaf {
            loops: self.loops.clone(),
            under: 0,
            arithmetic: 0.0,
            accumulates: false,
            converts: true,
            shifts: false,
            transposes: None,
            accesses: Vec::new(),
            moved: Vec::new(),
        }
    }

    fn add(&mut self, leaf: Leaf) {
        let under = place(&mut self.found.under, self.conditions.clone());
        self.found.all.push(Leaf { moved: Leaf::moved(&leaf.accesses), under, ..leaf });
    }

    /// The steps that an instruction takes of an operand at once: in a panel they are one element.
    fn steps_of(&self, steps: i64, buffer: &Buffer, index: &[Expr]) -> Access {
        match buffer.scope {
            Scope::Panel => {
                let access = self.access(buffer, &index[..index.len() - 1]);
                Access { bytes: access.bytes * steps as f64, ..access }
            }
            _ => self.access(buffer, index),
        }
    }

    /// A view is where its elements lie in the tensor.
    fn access(&self, buffer: &Buffer, index: &[Expr]) -> Access {
        let view = self.views.iter().rev().find(|(name, _)| **name == buffer.name);
        let Some((_, region)) = view else {
            let (buffer, scope, bytes) = (buffer.name.clone(), buffer.scope, buffer.dtype.bytes() as f64);
            return Access { buffer, scope, bytes, steps: self.steps(index) };
        };
        let at = |dim: usize| {
            let moved = index.iter().zip(&region.steps).map(|(e, steps)| e.clone().mul(Expr::Int(steps[dim])));
            moved.fold(region.base[dim].clone(), Add::add)
        };
        let index: Vec<Expr> = (0..region.base.len()).map(at).collect();
        self.access(&region.buffer, &index)
    }

    fn steps(&self, index: &[Expr]) -> Vec<Vec<f64>> {
        let of = |e: &Expr| {
            let e = self.lets.iter().rev().fold(e.clone(), |e, (name, value)| e.substitute(name, value));
            // At an edge the last element is read again.
            let e = e.map(&mut |e| match e {
                Expr::Binary(BinaryOp::Min, a, b) if !self.loops.iter().any(|l| b.uses(&l.var)) => Some((**a).clone()),
                _ => None,
            });
            let form: Option<Affine> = affine(&e);
            let step =
                |var: &Name| form.as_ref().map_or(f64::from(e.uses(var)), |form| form.coefficient(var).abs() as f64);
            self.loops.iter().map(|l| step(&l.var)).collect()
        };
        index.iter().map(of).collect()
    }
}
