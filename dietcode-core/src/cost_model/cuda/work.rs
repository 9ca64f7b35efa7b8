//! What one block of a GPU's kernel does, counted in its loops before they are unrolled.
//!
//! Any nest can be counted: nothing here depends on what it computes. Extents that depend on the shape stay expressions, so that
//! a kernel is walked once and evaluated at as many shapes as there are.

use std::ops::Sub;
use std::sync::Arc;

use super::share::share;
use super::wavefronts::{self, Access, Form};
use crate::cost_model::loops::{count, instructions, moves};
use crate::cost_model::share_inside;
use crate::ir::{Buffer, CompareOp, DType, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::lower::{Inside, LoopNest};
use crate::machine::cuda::Pipe;
use crate::schedule::Schedule;

/// What a block does in all of its threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Instructions on elements; a multiplication with the addition behind it is one.
    pub arithmetic: f64,
    /// Multiply-adds of matrix units on f16 or bf16.
    pub half: f64,
    /// Multiply-adds of matrix units on f32 rounded to tf32.
    pub tf32: f64,
    /// Instructions of warps that access shared memory.
    pub requests: f64,
    /// Wavefronts in which it gives what they load.
    pub loaded_wavefronts: f64,
    /// Wavefronts in which it takes what they store.
    pub stored_wavefronts: f64,
    /// Bytes to and from global memory.
    pub global_bytes: f64,
    /// Those of them that are stored.
    pub stored_bytes: f64,
    /// How often its threads meet.
    pub barriers: f64,
    /// How often a loop begins that fills shared memory, and so waits for the first of its tiles.
    pub fills: f64,
}

/// The counts of a block on the average, as a function of the shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Counts for each product of extents that depends on the shape, and the blocks that have them.
    terms: Vec<(Expr, Tiles, Counts)>,
    /// Which those are whose tiles lie inside, if they have a body of their own.
    inside: Option<Inside>,
    /// 32-bit registers that a thread's arrays fill where most are alive.
    pub registers: u32,
}

/// Which blocks carry something out, by their tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Tiles {
    #[default]
    All,
    Inside,
    AtEdge,
}

impl Work {
    /// Counts what a schedule's kernel does in its loops.
    pub fn of(schedule: &Schedule, nest: &LoopNest) -> Work {
        let (all_threads, inside) = (nest.thread_loops(), nest.inside.clone());
        let mut counter = Counter { all_threads, inside, ..Counter::default() };
        counter.stmt(&nest.body);
        counter.pass_barrier();
        for (times, ..) in &mut counter.terms {
            let expected = |e, (name, value): &(Name, Expr)| Expr::substitute(&e, name, value);
            *times = schedule.program.taken(&nest.expected.iter().fold(times.clone(), expected));
        }
        let registers = (counter.most_registers as u32).div_ceil(4);
        Work { terms: counter.terms, inside: counter.inside, registers }
    }

    /// The matrix unit that carries out the products, if one does.
    pub(super) fn matrix_pipe(&self) -> Option<Pipe> {
        let any = |of: fn(&Counts) -> f64| self.terms.iter().any(|(.., counts)| of(counts) > 0.0);
        let pipes = [(Pipe::MatrixHalf, any(|counts| counts.half)), (Pipe::MatrixTf32, any(|counts| counts.tf32))];
        pipes.into_iter().find_map(|(pipe, is_there)| is_there.then_some(pipe))
    }

    /// The counts at a shape, given as the values of its variables. Numbers that no integer holds stay numbers.
    pub fn at(&self, value: &impl Fn(&str) -> f64) -> Counts {
        let inside = self.inside.as_ref().map_or(1.0, |inside| share_inside(inside, value));
        let mut sum = Counts::default();
        for (times, tiles, counts) in &self.terms {
            let share = match tiles {
                Tiles::All => 1.0,
                Tiles::Inside => inside,
                Tiles::AtEdge => 1.0 - inside,
            };
            sum.add(counts, share * count(times, value).max(0.0));
        }
        sum
    }
}

impl Counts {
    fn add(&mut self, other: &Counts, times: f64) {
        self.arithmetic += times * other.arithmetic;
        self.half += times * other.half;
        self.tf32 += times * other.tf32;
        self.requests += times * other.requests;
        self.loaded_wavefronts += times * other.loaded_wavefronts;
        self.stored_wavefronts += times * other.stored_wavefronts;
        self.global_bytes += times * other.global_bytes;
        self.stored_bytes += times * other.stored_bytes;
        self.barriers += times * other.barriers;
        self.fills += times * other.fills;
    }
}

/// A loop around what is being counted.
#[derive(Clone, PartialEq)]
pub(super) struct Around {
    pub(super) var: Name,
    pub(super) extent: Expr,
    pub(super) kind: ForKind,
    /// Whether the threads meet in it: what other threads have written is read again in each iteration.
    pub(super) meets: bool,
}

#[derive(Default)]
struct Counter {
    loops: Vec<Around>,
    lets: Vec<(Name, Expr)>,
    /// The conditions around, and the share of the block's threads that have nothing to do here.
    conditions: Vec<Expr>,
    idle: f64,
    /// All loops over threads; the accesses to shared memory since the last barrier.
    all_threads: Vec<(Name, i64)>,
    accesses: Vec<Access>,
    terms: Vec<(Expr, Tiles, Counts)>,
    /// When a tile lies inside, and which tiles what is counted is carried out for.
    inside: Option<Inside>,
    tiles: Tiles,
    /// Bytes of a thread's arrays that are alive here, and at the most.
    registers: i64,
    most_registers: i64,
}

impl Counter {
    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { kind: ForKind::BlockIdx, body, .. } => self.stmt(body),
            Stmt::IfThenElse { condition, then, otherwise: Some(otherwise) }
                if self.inside.as_ref().is_some_and(|inside| inside.condition == *condition) =>
            {
                // No access of the one body meets one of the other.
                for (tiles, body) in [(Tiles::Inside, then), (Tiles::AtEdge, otherwise)] {
                    self.pass_barrier();
                    self.tiles = tiles;
                    self.stmt(body);
                    self.pass_barrier();
                }
                self.tiles = Tiles::All;
            }
            Stmt::IfThenElse { condition, then, .. } => {
                let around = self.idle;
                self.idle = 1.0 - (1.0 - around) * share(condition, &self.threads());
                let loops = self.loops.len();
                let whole = self.narrow(condition);
                self.conditions.push(condition.clone());
                self.stmt(then);
                self.conditions.pop();
                self.loops.truncate(loops);
                if let Some((at, extent)) = whole {
                    self.loops[at].extent = extent;
                }
                self.idle = around;
            }
            Stmt::For { var, extent, kind, body } => {
                let mut meets = false;
                body.visit(&mut |stmt| meets |= matches!(stmt, Stmt::Sync));
                if meets && fills(body) {
                    self.add(Counts { fills: 1.0, ..Counts::default() }, |l| l.kind != ForKind::ThreadIdx);
                }
                self.loops.push(Around { var: var.clone(), extent: extent.clone(), kind: *kind, meets });
                self.stmt(body);
                self.loops.pop();
            }
            Stmt::Let { var, value, body } => {
                self.lets.push((var.clone(), value.clone()));
                self.stmt(body);
                self.lets.pop();
            }
            Stmt::Allocate { buffer, body } => {
                let bytes = bytes_of_thread(buffer);
                self.registers += bytes;
                self.most_registers = self.most_registers.max(self.registers);
                self.stmt(body);
                self.registers -= bytes;
            }
            Stmt::Store { buffer, index, value } => {
                self.value(value, buffer.dtype);
                self.access(buffer, index, Form::ELEMENT, true);
            }
            Stmt::Sync => {
                self.pass_barrier();
                self.add(Counts { barriers: 1.0, ..Counts::default() }, |l| l.kind != ForKind::ThreadIdx);
            }
            Stmt::Seq(all) => all.iter().for_each(|stmt| self.stmt(stmt)),
            Stmt::View { body, .. } => self.stmt(body),
            Stmt::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
        }
    }

    fn intrinsic(&mut self, intrinsic: &Intrinsic) {
        match intrinsic {
            Intrinsic::Copy { to, to_index, to_step, from, from_index, lanes, asynchronous, .. } => {
                let form = match *asynchronous && lanes * to.dtype.bytes() >= 4 {
                    true => Form::Async { lanes: *lanes },
                    false => Form::Elements { lanes: *lanes, step: *to_step },
                };
                self.access(to, to_index, form, true);
                self.access(from, from_index, Form::Elements { lanes: *lanes, step: 1 }, false);
            }
            Intrinsic::LoadMatrix { from, from_index, operand, reduce_stride, spatial_stride, fragments, .. } => {
                let turned = *reduce_stride != 1;
                let stride = if turned { *reduce_stride } else { *spatial_stride };
                let form = Form::Matrix { operand: *operand, fragments: *fragments, stride, turned };
                self.access(from, from_index, form, false);
            }
            Intrinsic::Mma { a, .. } => {
                let steps = 32 / a.dtype.bytes();
                let products = (16 * 8 * steps) as f64 / 32.0;
                let (half, tf32) = if a.dtype.bytes() == 2 { (products, 0.0) } else { (0.0, products) };
                self.add(Counts { half, tf32, ..Counts::default() }, |_| true);
            }
            Intrinsic::AtomicAdd { to, index, value } => {
                self.value(value, to.dtype);
                // It is read and written.
                self.access(to, index, Form::Elements { lanes: 2, step: 0 }, true);
            }
            Intrinsic::TransposeCopy { .. }
            | Intrinsic::Prefetch { .. }
            | Intrinsic::Dot { .. }
            | Intrinsic::MeetLanes { .. }
            | Intrinsic::Commit
            | Intrinsic::Wait(_) => {}
        }
    }

    /// The arithmetic of an element of a type, and what it reads.
    fn value(&mut self, e: &Expr, stored: DType) {
        let arithmetic = instructions(e, stored);
        if arithmetic > 0.0 {
            self.add(Counts { arithmetic, ..Counts::default() }, |_| true);
        }
        e.visit(&mut |e| {
            if let Expr::Load(buffer, index) = e {
                self.access(buffer, index, Form::ELEMENT, false);
            }
        });
    }

    /// An access of a thread. Of those to global memory, loops that are unrolled repeat it only if the address moves with them, or threads meet
    /// in them.
    fn access(&mut self, buffer: &Arc<Buffer>, index: &[Expr], form: Form, stores: bool) {
        match (buffer.scope, form) {
            (Scope::Shared, _) => self.accesses.push(Access {
                buffer: buffer.clone(),
                index: index.to_vec(),
                stores,
                form,
                loops: self.loops.clone(),
                lets: self.lets.clone(),
                conditions: self.conditions.clone(),
            }),
            // A scalar is a kernel's parameter.
            (Scope::Global, Form::Elements { lanes, .. }) if !buffer.is_scalar() => {
                let bytes = (lanes * buffer.dtype.bytes()) as f64;
                let stored_bytes = if stores { bytes } else { 0.0 };
                let lets = std::mem::take(&mut self.lets);
                let unrolled = |kind| matches!(kind, ForKind::Unrolled | ForKind::VThread);
                self.add(Counts { global_bytes: bytes, stored_bytes, ..Counts::default() }, |l| {
                    !unrolled(l.kind) || l.meets || index.iter().any(|e| moves(e, &l.var, &lets))
                });
                self.lets = lets;
            }
            _ => {}
        }
    }

    /// Counts what was accessed since the last barrier.
    fn pass_barrier(&mut self) {
        let accesses = std::mem::take(&mut self.accesses);
        for (loops, counts) in wavefronts::count(&accesses, &self.all_threads) {
            let around = std::mem::replace(&mut self.loops, loops);
            let idle = std::mem::take(&mut self.idle);
            self.add(counts, |_| true);
            (self.loops, self.idle) = (around, idle);
        }
    }

    /// Has a loop in which a condition holds for the first iterations, `k + 3 < n`, go through these only, and gives which loop it is and what
    /// its extent was; without a variable, `2 < n`, it is a loop of one iteration or none. Tiles that are filled ahead are not filled
    /// behind the last one.
    fn narrow(&mut self, condition: &Expr) -> Option<(usize, Expr)> {
        let Expr::Compare(CompareOp::Lt, before, end) = condition else { return None };
        let form = affine(before)?;
        let own =
            |name: &str| self.loops.iter().any(|l| *l.var == *name) || self.lets.iter().any(|(own, _)| **own == *name);
        if end.any(&mut |e| matches!(e, Expr::Var(name) if own(name))) {
            return None;
        }
        let first = (**end).clone().sub(Expr::Int(form.constant)).max(Expr::Int(0));
        match &form.terms[..] {
            [] => {
                let (var, extent) = (Name::from(""), first.min(Expr::Int(1)));
                self.loops.push(Around { var, extent, kind: ForKind::Serial, meets: true });
                None
            }
            [(name, 1)] => {
                let at = self.loops.iter().rposition(|l| *l.var == **name && l.kind != ForKind::ThreadIdx)?;
                let extent = self.loops[at].extent.clone();
                Some((at, std::mem::replace(&mut self.loops[at].extent, extent.min(first))))
            }
            _ => None,
        }
    }

    /// The loops over the block's threads.
    fn threads(&self) -> Vec<(Name, i64)> {
        let threads = self.loops.iter().filter(|l| l.kind == ForKind::ThreadIdx);
        threads.map(|l| (l.var.clone(), l.extent.as_int().unwrap_or(1))).collect()
    }

    /// Adds what happens in every iteration of the loops that `repeats` names.
    fn add(&mut self, counts: Counts, repeats: impl Fn(&Around) -> bool) {
        let (mut constant, mut dynamic) = (1.0 - self.idle, Expr::Int(1));
        for l in self.loops.iter().filter(|l| repeats(l)) {
            match l.extent.as_int() {
                Some(extent) => constant *= extent as f64,
                None => dynamic = dynamic * l.extent.clone(),
            }
        }
        let tiles = self.tiles;
        let known = self.terms.iter().position(|(times, of, _)| (times, *of) == (&dynamic, tiles));
        let at = known.unwrap_or_else(|| {
            self.terms.push((dynamic, tiles, Counts::default()));
            self.terms.len() - 1
        });
        self.terms[at].2.add(&counts, constant);
    }
}

/// Whether a loop's own statements, those of no loop in it whose threads meet too, fill shared memory out of global memory.
fn fills(body: &Stmt) -> bool {
    let loads = |e: &Expr| matches!(e, Expr::Load(buffer, _) if buffer.scope == Scope::Global);
    match body {
        Stmt::Store { buffer, value, .. } => buffer.scope == Scope::Shared && value.any(&mut |e| loads(e)),
        Stmt::Intrinsic(Intrinsic::Copy { to, from, .. }) => to.scope == Scope::Shared && from.scope == Scope::Global,
        Stmt::For { body: inner, .. } => {
            let mut meets = false;
            inner.visit(&mut |stmt| meets |= matches!(stmt, Stmt::Sync));
            !meets && fills(inner)
        }
        Stmt::IfThenElse { then: inner, .. }
        | Stmt::Let { body: inner, .. }
        | Stmt::Allocate { body: inner, .. }
        | Stmt::View { body: inner, .. } => fills(inner),
        Stmt::Seq(all) => all.iter().any(fills),
        Stmt::Sync | Stmt::Intrinsic(_) => false,
    }
}

/// What an array takes of a thread's registers; those in memory take none.
fn bytes_of_thread(buffer: &Buffer) -> i64 {
    let elements = || buffer.shape.iter().filter_map(Expr::as_int).product::<i64>();
    match buffer.scope {
        Scope::Local | Scope::Register => elements() * buffer.dtype.bytes(),
        Scope::Fragment => elements() * 4,
        _ => 0,
    }
}
