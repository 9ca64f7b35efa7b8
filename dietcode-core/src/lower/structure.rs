//! What a lowered program is, whatever its variables are called: two traces with equal hashes come to the same code.
//!
//! ```text
//! for i_0 in 0..4                        for v0 in 0..4
//!   allocate y_tile: f32[8]       →        allocate b0: f32[8]         → blake3
//!     y_tile[i_1] = …                        b0[v1] = …
//! ```
//!
//! Names that the loops bind become numbers in the order of their appearance; tensors and shape variables keep theirs. What
//! a name cannot say stays: extents, kinds of loops, element types, scopes.

use std::sync::Arc;

use super::LoopNest;
use crate::ir::{Buffer, Expr, Intrinsic, Name, Parts, Region, Stmt};

/// The hash of the kernels of a micro-kernel, in the order of their launches.
pub fn structure_hash(nests: &[LoopNest]) -> [u8; 32] {
    let mut encoder = Encoder::default();
    nests.iter().for_each(|nest| encoder.nest(nest));
    *blake3::hash(&encoder.bytes).as_bytes()
}

/// Writes a tree as bytes, each node with a tag in front, so that no two trees have the same.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    /// The variables that are bound here, each with its number.
    vars: Vec<(Name, u32)>,
    /// The same of buffers that are allocated here.
    buffers: Vec<(Arc<Buffer>, u32)>,
    /// How many of both there were so far.
    bound: u32,
}

impl Encoder {
    fn nest(&mut self, nest: &LoopNest) {
        self.text(&nest.name);
        self.list(&nest.derived, |encoder, (name, value)| {
            encoder.text(name);
            encoder.expr(value);
        });
        self.list(&nest.params, |encoder, param| encoder.declare(param));
        self.list(nest.workspace.as_slice(), |encoder, workspace| encoder.declare(workspace));
        // How a grid is launched is a part of a kernel where it is said.
        if nest.persistent || nest.min_blocks != 1 {
            self.bytes.extend([b'g', u8::from(nest.persistent)]);
            self.number(nest.min_blocks);
        }
        if !nest.parameters.is_empty() {
            self.bytes.push(b'p');
            self.list(&nest.parameters, |encoder, value| encoder.number(*value));
        }
        let own = |encoder: &mut Encoder| encoder.stmt(&nest.body);
        match &nest.grid {
            Some((var, extent)) => {
                self.expr(extent);
                self.binding(var, own);
            }
            None => own(self),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { var, extent, kind, body } => {
                self.bytes.extend([b'f', *kind as u8]);
                self.expr(extent);
                self.binding(var, |encoder| encoder.stmt(body));
            }
            Stmt::Let { var, value, body } => {
                self.bytes.push(b'l');
                self.expr(value);
                self.binding(var, |encoder| encoder.stmt(body));
            }
            Stmt::Store { buffer, index, value } => {
                self.bytes.push(b's');
                self.access(buffer, index);
                self.expr(value);
            }
            Stmt::Allocate { buffer, body } => {
                self.bytes.push(b'a');
                self.allocating(buffer, |encoder| encoder.stmt(body));
            }
            Stmt::View { view, inside, whole, edge, fill, body } => {
                self.bytes.push(b'w');
                self.expr(inside);
                self.region(whole);
                self.allocating(&edge.buffer, |encoder| {
                    encoder.region(edge);
                    encoder.stmt(fill);
                    encoder.allocating(view, |encoder| encoder.stmt(body));
                });
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                self.bytes.push(b'i');
                self.expr(condition);
                self.stmt(then);
                self.list(otherwise.as_slice(), |encoder, otherwise| encoder.stmt(otherwise));
            }
            Stmt::Sync => self.bytes.push(b'y'),
            Stmt::Seq(all) => {
                self.bytes.push(b'q');
                self.list(all, Encoder::stmt);
            }
            Stmt::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
        }
    }

    fn intrinsic(&mut self, intrinsic: &Intrinsic) {
        self.bytes.push(b'x');
        if let Intrinsic::TransposeCopy { runs, .. } = intrinsic {
            for run in runs {
                self.bytes.push(b'r');
                [run.to_dim, run.from_dim].into_iter().for_each(|dim| self.number(dim as i64));
            }
        }
        let (tag, numbers): (u8, &[i64]) = match intrinsic {
            Intrinsic::TransposeCopy { to_stride, from_dim, lanes, neighbours: 1, .. } => {
                (b't', &[*to_stride, *from_dim as i64, *lanes])
            }
            Intrinsic::TransposeCopy { to_stride, from_dim, lanes, neighbours, .. } => {
                (b'n', &[*to_stride, *from_dim as i64, *lanes, *neighbours])
            }
            // How a copy's elements are rounded says how it is carried out, as asynchronous or not.
            Intrinsic::Copy { to_step, lanes, asynchronous, tf32, .. } => {
                (b'c', &[*to_step, *lanes, i64::from(*asynchronous) + 2 * i64::from(*tf32)])
            }
            Intrinsic::Commit => (b'o', &[]),
            Intrinsic::Wait(groups) => (b'w', &[*groups]),
            Intrinsic::LoadMatrix {
                operand, reduce_stride, spatial_stride, fragments, parts: Parts::Whole, ..
            } => (b'l', &[*operand as i64, *reduce_stride, *spatial_stride, *fragments]),
            Intrinsic::LoadMatrix { operand, reduce_stride, spatial_stride, fragments, parts, .. } => {
                (b'k', &[*operand as i64, *reduce_stride, *spatial_stride, *fragments, *parts as i64])
            }
            Intrinsic::Mma { .. } => (b'm', &[]),
            Intrinsic::Dot { dot, .. } => (b'd', &[*dot as i64]),
            Intrinsic::MeetLanes { op, .. } => (b's', &[*op as i64]),
            Intrinsic::AtomicAdd { .. } => (b'a', &[]),
            Intrinsic::Prefetch { .. } => (b'p', &[]),
        };
        self.bytes.push(tag);
        numbers.iter().for_each(|number| self.number(*number));
        self.list(&intrinsic.accesses(), |encoder, (buffer, index, _)| encoder.access(buffer, index));
        self.list(&intrinsic.values(), |encoder, value| encoder.expr(value));
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Int(value) => {
                self.bytes.push(b'#');
                self.number(*value);
            }
            Expr::Float(value) => {
                self.bytes.push(b'.');
                self.bytes.extend(value.to_bits().to_le_bytes());
            }
            Expr::Var(name) => self.var(name),
            Expr::Binary(op, a, b) => {
                self.bytes.extend([b'b', *op as u8]);
                self.expr(a);
                self.expr(b);
            }
            Expr::Compare(op, a, b) => {
                self.bytes.extend([b'?', *op as u8]);
                self.expr(a);
                self.expr(b);
            }
            Expr::Select(condition, a, b) => {
                self.bytes.push(b':');
                [condition, a, b].into_iter().for_each(|e| self.expr(e));
            }
            Expr::Load(buffer, index) => {
                self.bytes.push(b'[');
                self.access(buffer, index);
            }
            Expr::Cast(dtype, e) => {
                self.bytes.extend([b'c', *dtype as u8]);
                self.expr(e);
            }
            Expr::Call(function, args) => {
                self.bytes.extend([b'(', *function as u8]);
                self.list(args, Encoder::expr);
            }
        }
    }

    fn var(&mut self, name: &Name) {
        match self.vars.iter().rev().find(|(var, _)| Arc::ptr_eq(var, name) || var == name) {
            Some((_, number)) => {
                let number = *number;
                self.bytes.push(b'v');
                self.bytes.extend(number.to_le_bytes());
            }
            None => self.text(name),
        }
    }

    fn access(&mut self, buffer: &Arc<Buffer>, index: &[Expr]) {
        let own = |(other, _): &&(Arc<Buffer>, u32)| Arc::ptr_eq(other, buffer) || other.name == buffer.name;
        match self.buffers.iter().rev().find(own) {
            Some((_, number)) => {
                let number = *number;
                self.bytes.push(b'b');
                self.bytes.extend(number.to_le_bytes());
            }
            None => self.text(&buffer.name),
        }
        self.list(index, Encoder::expr);
    }

    fn region(&mut self, region: &Region) {
        self.access(&region.buffer, &region.base);
        self.list(&region.steps, |encoder, steps| encoder.list(steps, |encoder, step| encoder.number(*step)));
    }

    /// A tensor: its name is a part of what it is.
    fn declare(&mut self, buffer: &Buffer) {
        self.text(&buffer.name);
        self.shape(buffer);
    }

    fn shape(&mut self, buffer: &Buffer) {
        self.bytes.extend([buffer.dtype as u8, buffer.scope as u8]);
        self.list(&buffer.shape, Encoder::expr);
        if buffer.swizzle > 0 {
            self.bytes.push(b'z');
            self.number(buffer.swizzle);
        }
    }

    fn binding(&mut self, name: &Name, inside: impl FnOnce(&mut Encoder)) {
        self.bound += 1;
        self.vars.push((name.clone(), self.bound));
        inside(self);
        self.vars.pop();
    }

    fn allocating(&mut self, buffer: &Arc<Buffer>, inside: impl FnOnce(&mut Encoder)) {
        self.shape(buffer);
        self.bound += 1;
        self.buffers.push((buffer.clone(), self.bound));
        inside(self);
        self.buffers.pop();
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Encoder, &T)) {
        self.number(items.len() as i64);
        items.iter().for_each(|item| each(self, item));
    }

    fn number(&mut self, value: i64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.bytes.push(b'"');
        self.number(text.len() as i64);
        self.bytes.extend(text.as_bytes());
    }
}
