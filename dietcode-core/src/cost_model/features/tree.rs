//! A loop nest as features see it: loops with their lengths, buffers, and what each store reads, writes and computes.

use std::sync::Arc;

use super::index::{Atom, Index};
use super::operations::Operations;
use crate::cost_model::count;
use crate::ir::{self, BinaryOp, CompareOp, Expr, ForKind, Intrinsic, Name, Region, Stmt};

/// What a tree is read from.
pub(super) struct Source<'a> {
    /// The loops.
    pub(super) body: &'a Stmt,
    /// The parallel loop around them, if it stands apart.
    pub(super) grid: Option<(&'a Name, i64)>,
    /// The tensors: they exist around all loops.
    pub(super) params: &'a [Arc<ir::Buffer>],
    /// The values of shape variables and of what is derived from them.
    pub(super) value: &'a dyn Fn(&str) -> f64,
    /// Up to how many steps a compiler is asked to unroll loops inside of one, as TVM's `pragma_auto_unroll_max_step`; 0 where it
    /// is not asked.
    pub(super) unroll_max_step: &'a dyn Fn(&str) -> i64,
    /// A condition on which two bodies of a GPU's kernel stand beside each other, and whether it is taken to hold.
    pub(super) inside: Option<(&'a Expr, bool)>,
    /// Whether a choice is a call of a function, as TVM's `if_then_else` is, instead of an operation.
    pub(super) choice_is_call: bool,
}

/// The loops, in the order in which they begin, and the stores in their order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) loops: Vec<Loop>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) stores: Vec<Store>,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) name: Name,
    pub(super) extent: i64,
    pub(super) kind: ForKind,
    /// Of blocks and threads: 0 is x, which counts fastest.
    pub(super) axis: usize,
    pub(super) unroll_max_step: i64,
}

#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) name: Name,
    /// Of an element.
    pub(super) bytes: i64,
    pub(super) shape: Vec<i64>,
    /// Iterations of the loops around the place where it is allocated; none: somebody else does.
    pub(super) outer_prod: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Store {
    /// The loops around it, the outermost first.
    pub(super) path: Vec<usize>,
    /// What is written, then what is read, in the order of evaluation.
    pub(super) accesses: Vec<Access>,
    /// Of one execution.
    pub(super) operations: Operations,
    /// Whether a constant is stored.
    pub(super) constant: bool,
}

#[derive(Debug)]
pub(super) struct Access {
    pub(super) buffer: usize,
    pub(super) index: Vec<Index>,
}

impl Buffer {
    pub(super) fn elements(&self) -> i64 {
        self.shape.iter().fold(1, |product, extent| product.saturating_mul(*extent))
    }

    /// Distances in elements between neighbours along each dimension, row-major.
    pub(super) fn strides(&self) -> Vec<i64> {
        let mut strides = vec![1i64; self.shape.len()];
        for at in (1..self.shape.len()).rev() {
            strides[at - 1] = strides[at].saturating_mul(self.shape[at]);
        }
        strides
    }
}

impl Tree {
    pub(super) fn of(source: &Source<'_>) -> Tree {
        let mut reader =
            Reader { source, tree: Tree::default(), path: Vec::new(), names: Vec::new(), views: Vec::new() };
        for param in source.params {
            reader.allocate(param);
        }
        match source.grid {
            None => reader.statement(source.body),
            Some((var, extent)) => {
                reader.inside(var, extent, ForKind::Parallel, |reader| reader.statement(source.body));
            }
        }
        reader.tree.number_axes();
        reader.tree
    }

    /// Of nested loops over blocks, or threads, the innermost is x.
    fn number_axes(&mut self) {
        for store in &self.stores {
            for kind in [ForKind::BlockIdx, ForKind::ThreadIdx] {
                let of_kind = store.path.iter().rev().filter(|at| self.loops[**at].kind == kind);
                for (axis, at) in of_kind.copied().collect::<Vec<usize>>().into_iter().enumerate() {
                    self.loops[at].axis = self.loops[at].axis.max(axis.min(2));
                }
            }
        }
    }
}

/// What a name stands for.
enum Meaning {
    Loop(usize),
    Value(Index),
}

struct View {
    name: Name,
    buffer: usize,
    base: Vec<Index>,
    steps: Vec<Vec<i64>>,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    tree: Tree,
    path: Vec<usize>,
    names: Vec<(&'a Name, Meaning)>,
    views: Vec<View>,
}

impl<'a> Reader<'a> {
    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For { var, extent, kind, body } => {
                let extent = (count(extent, &self.source.value) as i64).max(0);
                self.inside(var, extent, *kind, |reader| reader.statement(body));
            }
            Stmt::Let { var, value, body } => {
                let value = self.index(value);
                self.names.push((var, Meaning::Value(value)));
                self.statement(body);
                self.names.pop();
            }
            Stmt::Store { buffer, index, value } => {
                let mut accesses = vec![self.access(buffer, index)];
                let operations = self.loads(value, &mut accesses);
                self.store(accesses, operations, matches!(value, Expr::Int(_) | Expr::Float(_)));
            }
            Stmt::Allocate { buffer, body } => {
                self.statement(body);
                self.allocate(buffer);
            }
            Stmt::View { view, whole, body, .. } => {
                let base = whole.base.iter().map(|e| self.index(e)).collect();
                let Region { buffer, steps, .. } = whole;
                let view = View { name: view.name.clone(), buffer: self.buffer(buffer), base, steps: steps.clone() };
                self.views.push(view);
                self.statement(body);
                self.views.pop();
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                let known = self.source.inside.filter(|(known, _)| *known == condition).map(|(_, holds)| holds);
                if known != Some(false) {
                    self.statement(then);
                }
                if let Some(otherwise) = otherwise.as_ref().filter(|_| known != Some(true)) {
                    self.statement(otherwise);
                }
            }
            Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| self.statement(stmt)),
            Stmt::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
            Stmt::Sync => {}
        }
    }

    fn inside(&mut self, var: &'a Name, extent: i64, kind: ForKind, body: impl FnOnce(&mut Self)) {
        let at = self.begin(var, extent, kind);
        self.names.push((var, Meaning::Loop(at)));
        body(self);
        self.names.pop();
        self.path.pop();
    }

    fn begin(&mut self, name: &Name, extent: i64, kind: ForKind) -> usize {
        let unroll_max_step = (self.source.unroll_max_step)(name);
        self.tree.loops.push(Loop { name: name.clone(), extent, kind, axis: 0, unroll_max_step });
        self.path.push(self.tree.loops.len() - 1);
        self.tree.loops.len() - 1
    }

    fn store(&mut self, accesses: Vec<Access>, operations: Operations, constant: bool) {
        self.tree.stores.push(Store { path: self.path.clone(), accesses, operations, constant });
    }

    /// A buffer is allocated around the loops that have been left, inside of those that have not.
    fn allocate(&mut self, buffer: &Arc<ir::Buffer>) {
        let at = self.buffer(buffer);
        let outer = self.path.iter().fold(1i64, |product, at| product.saturating_mul(self.tree.loops[*at].extent));
        self.tree.buffers[at].outer_prod = Some(outer);
    }

    fn buffer(&mut self, buffer: &Arc<ir::Buffer>) -> usize {
        let known = self.tree.buffers.iter().position(|known| known.name == buffer.name);
        known.unwrap_or_else(|| {
            let shape = buffer.shape.iter().map(|e| (count(e, &self.source.value) as i64).max(1)).collect();
            let (name, bytes) = (buffer.name.clone(), buffer.dtype.bytes());
            self.tree.buffers.push(Buffer { name, bytes, shape, outer_prod: None });
            self.tree.buffers.len() - 1
        })
    }

    /// An element; one of a view is that of the tensor.
    fn access(&mut self, buffer: &Arc<ir::Buffer>, index: &[Expr]) -> Access {
        let index: Vec<Index> = index.iter().map(|e| self.index(e)).collect();
        match self.views.iter().rev().find(|view| view.name == buffer.name) {
            None => Access { buffer: self.buffer(buffer), index },
            Some(View { buffer, base, steps, .. }) => {
                let moved = |dim: usize| {
                    let along = index.iter().zip(steps);
                    along.fold(base[dim].clone(), |sum, (index, step)| sum.add(index, step[dim]))
                };
                Access { buffer: *buffer, index: (0..base.len()).map(moved).collect() }
            }
        }
    }

    /// Adds the loads of an expression to the accesses, and counts what it computes.
    fn loads(&mut self, value: &Expr, accesses: &mut Vec<Access>) -> Operations {
        let value = self.settled(value);
        let mut operations = Operations::of(&value, self.source.choice_is_call);
        // What computes an index counts too, as it stands when it is simplified.
        let before = accesses.len();
        self.collect(&value, accesses, &mut operations);
        for access in &accesses[before..] {
            access.index.iter().for_each(|index| operations.index(index));
        }
        operations
    }

    fn collect(&mut self, e: &Expr, accesses: &mut Vec<Access>, operations: &mut Operations) {
        let mut of = |e: &Expr| self.collect(e, accesses, operations);
        match e {
            Expr::Load(buffer, index) => accesses.push(self.access(buffer, index)),
            Expr::Compare(_, a, b) if !a.is_element() && !b.is_element() => {
                [a, b].into_iter().for_each(|e| operations.index(&self.index(e)));
            }
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => [a, b].into_iter().for_each(|e| of(e)),
            Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|e| of(e)),
            Expr::Cast(_, e) => of(e),
            Expr::Call(_, arguments) => arguments.iter().for_each(of),
            Expr::Int(_) | Expr::Float(_) | Expr::Var(_) => {}
        }
    }

    /// A value without the conditions that hold in every iteration or in none, by the bounds of what is compared. A choice inside of one
    /// with the same other side is one choice.
    fn settled(&mut self, value: &Expr) -> Expr {
        value.map(&mut |e| match e {
            Expr::Compare(op, a, b) if !a.is_element() && !b.is_element() => {
                let difference = self.index(a).add(&self.index(b), -1);
                let (low, high) = difference.range(&|at| self.tree.loops[at].extent);
                known(*op, low, high).map(|holds| Expr::Int(i64::from(holds)))
            }
            Expr::Select(outer, a, b) => match &**a {
                Expr::Select(inner, a, other) if other == b => {
                    let both = (**outer).clone().and((**inner).clone());
                    Some(Expr::Select(Arc::new(both), a.clone(), b.clone()))
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// What the instruction stands for, as loops.
    fn intrinsic(&mut self, intrinsic: &'a Intrinsic) {
        let names: Vec<Name> = ["lane", "column", "run"].map(Name::from).into();
        let along = |access: &mut Access, dim: Option<usize>, at: usize, step: i64| {
            let dim = dim.or(access.index.len().checked_sub(1));
            if let Some(index) = dim.and_then(|dim| access.index.get_mut(dim)) {
                *index = std::mem::replace(index, Index::constant(0)).add(&Index::of(Atom::Loop(at)), step);
            }
        };
        let mut accesses: Vec<Access> = Vec::new();
        for (buffer, index, _) in intrinsic.accesses() {
            accesses.push(self.access(buffer, index));
        }
        let mut operations = Operations::default();
        let depth = self.path.len();
        match intrinsic {
            Intrinsic::Commit | Intrinsic::Wait(_) | Intrinsic::Prefetch { .. } => return,
            Intrinsic::TransposeCopy { to_stride, from_dim, lanes, columns, neighbours, runs, .. } => {
                for run in runs {
                    let extent = (count(&run.extent, &self.source.value) as i64).max(1);
                    let at = self.begin(&names[2], extent, ForKind::Serial);
                    along(&mut accesses[0], Some(run.to_dim), at, 1);
                    along(&mut accesses[1], Some(run.from_dim), at, 1);
                }
                let columns = (count(columns, &self.source.value) as i64).max(1);
                let column = self.begin(&names[1], columns, ForKind::Serial);
                let lane = self.begin(&names[0], *lanes, ForKind::Vectorized);
                along(&mut accesses[0], None, lane, *neighbours);
                along(&mut accesses[0], None, column, *to_stride);
                along(&mut accesses[1], Some(*from_dim), lane, 1);
                along(&mut accesses[1], None, column, *neighbours);
            }
            Intrinsic::Copy { to_step, lanes, .. } => {
                let lane = self.begin(&names[0], *lanes, ForKind::Vectorized);
                along(&mut accesses[0], None, lane, *to_step);
                along(&mut accesses[1], None, lane, 1);
            }
            Intrinsic::LoadMatrix { .. } => {}
            // What the loop over lanes around it does in a lane.
            Intrinsic::Dot { dot, .. } => operations.float_mad(dot.row().steps),
            // A lane has a share of each sum.
            Intrinsic::MeetLanes { parts, .. } => operations.float_add(parts.len() as i64),
            // 16 × 8 × k, by 32 threads.
            Intrinsic::Mma { a, .. } => operations.float_mad(16 * 8 * (32 / a.dtype.bytes()) / 32),
            Intrinsic::AtomicAdd { to, index, value } => {
                operations = self.loads(value, &mut accesses);
                operations.float_add(1);
                accesses.push(self.access(to, index));
            }
        }
        if let Intrinsic::Mma { to, to_index, .. } | Intrinsic::Dot { to, to_index, .. } = intrinsic {
            accesses.push(self.access(to, to_index));
        }
        self.store(accesses, operations, false);
        self.path.truncate(depth);
    }

    /// The normal form of an integer expression. What the caller knows is a constant, what nobody knows is 0.
    fn index(&mut self, e: &Expr) -> Index {
        let loops = &self.tree.loops;
        let extents = |at: usize| loops[at].extent;
        match e {
            Expr::Int(value) => Index::constant(*value),
            Expr::Var(name) => {
                let same = |known: &Name| Arc::ptr_eq(known, name) || known == name;
                match self.names.iter().rev().find(|(known, _)| same(known)) {
                    Some((_, Meaning::Loop(at))) => Index::of_loop(*at, &extents),
                    Some((_, Meaning::Value(value))) => value.clone(),
                    None => Index::constant((self.source.value)(name) as i64),
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                let loops = &self.tree.loops;
                let extents = |at: usize| loops[at].extent;
                let known = |index: &Index| index.terms.is_empty().then_some(index.constant);
                match (op, known(&a), known(&b)) {
                    (BinaryOp::Add, ..) => a.add(&b, 1),
                    (BinaryOp::Sub, ..) => a.add(&b, -1),
                    (BinaryOp::Mul, _, Some(factor)) => Index::constant(0).add(&a, factor),
                    (BinaryOp::Mul, Some(factor), _) => Index::constant(0).add(&b, factor),
                    (BinaryOp::Div, _, Some(divisor)) if divisor > 0 => a.div(divisor, &extents),
                    (BinaryOp::Mod, _, Some(divisor)) if divisor > 0 => a.rem(divisor, &extents),
                    _ => self.other(e, &[a, b]),
                }
            }
            Expr::Select(_, a, b) => {
                let sides = [self.index(a), self.index(b)];
                self.other(e, &sides)
            }
            Expr::Cast(_, e) => self.index(e),
            Expr::Float(_) | Expr::Compare(..) | Expr::Load(..) | Expr::Call(..) => self.other(e, &[]),
        }
    }

    /// An expression without a normal form: the loops that it moves with, and the bounds of its operands for its own.
    fn other(&mut self, e: &Expr, operands: &[Index]) -> Index {
        let extents = |at: usize| self.tree.loops[at].extent;
        let bounds: Vec<(i64, i64)> = operands.iter().map(|operand| operand.range(&extents)).collect();
        let bounds = match (e, &bounds[..]) {
            (Expr::Binary(BinaryOp::Min, ..), [a, b]) => (a.0.min(b.0), a.1.min(b.1)),
            (Expr::Binary(BinaryOp::Max, ..), [a, b]) => (a.0.max(b.0), a.1.max(b.1)),
            (Expr::Binary(BinaryOp::Mul, ..), [a, b]) => {
                let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.saturating_mul(y));
                (ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            (Expr::Select(..), [a, b]) => (a.0.min(b.0), a.1.max(b.1)),
            _ => (0, 0),
        };
        if bounds.0 == bounds.1 && !operands.is_empty() {
            return Index::constant(bounds.0);
        }
        let mut loops: Vec<usize> = Vec::new();
        e.visit(&mut |e| {
            if let Expr::Var(name) = e
                && let Some((_, meaning)) = self.names.iter().rev().find(|(known, _)| *known == name)
            {
                match meaning {
                    Meaning::Loop(at) => loops.push(*at),
                    Meaning::Value(value) => value.for_each_loop(&mut |at| loops.push(at)),
                }
            }
        });
        loops.sort_unstable();
        loops.dedup();
        Index::of(Atom::Other(loops, bounds))
    }
}

/// Whether a number between these bounds compares with 0 so, where all of them do or none.
fn known(op: CompareOp, low: i64, high: i64) -> Option<bool> {
    let (all, none) = match op {
        CompareOp::Lt => (high < 0, low >= 0),
        CompareOp::Le => (high <= 0, low > 0),
        CompareOp::Gt => (low > 0, high <= 0),
        CompareOp::Ge => (low >= 0, high < 0),
        CompareOp::Eq => (low == 0 && high == 0, low > 0 || high < 0),
        CompareOp::Ne => (low > 0 || high < 0, low == 0 && high == 0),
    };
    (all || none).then_some(all)
}
