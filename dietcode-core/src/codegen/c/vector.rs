//! Loops over lanes as operations on vectors of GNU C.

use std::ops::Sub;
use std::sync::Arc;

use crate::codegen::printer::{Expressions, LINE, taken, write};
use crate::ir::function::{Name as Called, row};
use crate::ir::{BinaryOp, Buffer, DType, Dot, Expr, ForKind, Intrinsic, Name, Scope, Stmt, coefficient};
use crate::lower::lanes::first_or_zero;

/// How many lanes the vectors of a tile in registers have; none: scalars.
pub(super) fn lanes_of(buffer: &Arc<Buffer>, body: &Stmt) -> Option<i64> {
    let mut lanes = None;
    body.visit(&mut |stmt| {
        if let Stmt::For { var, extent, kind: ForKind::Vectorized, body } = stmt
            && let (Stmt::Store { buffer: to, index, value }, _) = body.guarded()
        {
            let mut touches = to == buffer && index.iter().any(|e| e.uses(var));
            value.visit(&mut |e| {
                touches |= matches!(e, Expr::Load(from, i) if from == buffer && i.iter().any(|e| e.uses(var)));
            });
            if touches {
                lanes = extent.as_int();
            }
        }
    });
    lanes
}

/// What all lanes do at once, or the first ones.
pub(super) fn statement(exprs: &Expressions, lane: (&Name, &Expr), body: &Stmt) -> String {
    match body {
        Stmt::Intrinsic(Intrinsic::Dot { dot, to, to_index, a, a_index, b }) => {
            let b = b.as_ref().map(|(b, index)| (b, &index[..]));
            self::dot(exprs, lane.0, *dot, (to, to_index), ((a, a_index), b))
        }
        Stmt::Intrinsic(Intrinsic::MeetLanes { op, to, to_index, parts }) => {
            meet(exprs, lane, *op, (to, to_index), parts)
        }
        store => self::store(exprs, lane, store),
    }
}

/// The call of what combines the lanes of vectors.
fn meet(
    exprs: &Expressions,
    (lane, extent): (&Name, &Expr),
    op: BinaryOp,
    (to, to_index): (&Arc<Buffer>, &[Expr]),
    parts: &[(Arc<Buffer>, Vec<Expr>)],
) -> String {
    let (mut line, lanes) = (String::with_capacity(LINE), extent.as_int().unwrap_or(1));
    let mut vector = Vector { exprs, lane, lanes, some: None, text: &mut line };
    let (name, dtype) = (combining(op), to.dtype);
    vector.write(format_args!("dietcode_meet_{name}_{dtype}x{lanes}(&"));
    vector.first_lane(to, to_index);
    vector.write(format_args!(", (const dietcode_{dtype}x{lanes}[]){{"));
    for (n, (from, index)) in parts.iter().enumerate() {
        vector.push(if n == 0 { "" } else { ", " });
        vector.raw(from, index);
    }
    vector.write(format_args!("}}, {});", parts.len()));
    line
}

/// How functions of `dietcode.h` call an operator.
fn combining(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Mul => "mul",
        BinaryOp::Max => "larger",
        BinaryOp::Min => "smaller",
        other => unreachable!("no reduction combines by {other}"),
    }
}

/// An element of a buffer.
type Element<'a> = (&'a Arc<Buffer>, &'a [Expr]);

/// The call of an instruction that adds products of several steps in each lane.
fn dot(
    exprs: &Expressions,
    lane: &Name,
    dot: Dot,
    (to, to_index): (&Arc<Buffer>, &[Expr]),
    (a, b): (Element<'_>, Option<Element<'_>>),
) -> String {
    let (mut line, row) = (String::with_capacity(LINE), dot.row());
    let mut vector = Vector { exprs, lane, lanes: row.lanes, some: None, text: &mut line };
    vector.lanes(to, to_index, true);
    let of = match b {
        None => "_shifted_zeros",
        Some((b, _)) if row.shifts([a.0.dtype, b.dtype]) => "_shifted",
        Some(_) => "",
    };
    vector.write(format_args!(" = dietcode_{}{of}(", row.name));
    vector.lanes(to, to_index, true);
    for (buffer, index) in [a].into_iter().chain(b) {
        vector.push(", &");
        vector.first_lane(buffer, index);
    }
    vector.push(");");
    line
}

/// A store of all lanes at once, or of the first ones.
fn store(exprs: &Expressions, (lane, extent): (&Name, &Expr), body: &Stmt) -> String {
    let ((Stmt::Store { buffer, index, value }, condition), Some(lanes)) = (body.guarded(), extent.as_int()) else {
        unreachable!("the vectorize pass leaves only plain stores of constant width in vectorized loops: {body}");
    };
    let mut line = String::with_capacity(LINE);
    let some = condition.map(|condition| lanes_in(condition, lane));
    let mut vector = Vector { exprs, lane, lanes, some: some.as_ref(), text: &mut line };
    if let Some(some) = &some {
        vector.write(format_args!("dietcode_store_some_{}x{lanes}(&", buffer.dtype));
        vector.first_lane(buffer, index);
        vector.push(", ");
        vector.narrowed(buffer.dtype, |vector| vector.all_lanes(value));
        vector.push(", ");
        vector.exprs.write_whole(some, vector.text);
        vector.push(");");
        return line;
    }
    if buffer.dtype.is_half() {
        vector.write(format_args!("dietcode_store_{}x{lanes}(&", buffer.dtype));
        vector.first_lane(buffer, index);
        vector.push(", ");
        vector.narrowed(buffer.dtype, |vector| vector.all_lanes(value));
        vector.push(");");
        return line;
    }
    vector.lanes(buffer, index, true);
    match value {
        Expr::Load(from, at)
            if is_copy_of_integers(buffer, from) && value.uses(lane) && vector.is_contiguous(from, at) =>
        {
            vector.push(" = ");
            vector.raw(from, at);
        }
        value if exprs.widens(buffer.dtype) || exprs.computes() == DType::I32 && buffer.dtype != DType::I32 => {
            vector.push(" = ");
            vector.narrowed(buffer.dtype, |vector| vector.all_lanes(value));
        }
        Expr::Binary(BinaryOp::Add, sum, term) if matches!(&**sum, Expr::Load(b, i) if b == buffer && i == index) => {
            vector.push(" += ");
            vector.lanewise(term);
        }
        value => {
            vector.push(" = ");
            vector.all_lanes(value);
        }
    }
    vector.push(";");
    line
}

/// Whether integers keep their type.
fn is_copy_of_integers(to: &Buffer, from: &Buffer) -> bool {
    to.dtype.is_integer() && to.dtype == from.dtype
}

/// In how many lanes, the first ones, a condition holds; fewer than 1 in none.
fn lanes_in(condition: &Expr, lane: &Name) -> Expr {
    match condition {
        Expr::Compare(_, value, bound) => (**bound).clone().sub(value.substitute(lane, &Expr::Int(0))),
        other => unreachable!("the vectorize pass leaves only conditions of the first lanes: {other}"),
    }
}

/// Writes expressions for all values of a loop variable at once.
struct Vector<'a> {
    exprs: &'a Expressions,
    lane: &'a Name,
    lanes: i64,
    /// How many of the lanes lie inside of tensors, if not all may.
    some: Option<&'a Expr>,
    text: &'a mut String,
}

impl Vector<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        write(self.text, what);
    }

    /// An expression as a vector, also where it does not depend on the lane: a scalar is not assigned to a vector, but
    /// broadcast by an operation; `x - 0` is `x` also for `x = -0`.
    fn all_lanes(&mut self, e: &Expr) {
        self.lanewise(e);
        if !e.uses(self.lane) {
            let (computes, lanes) = (self.exprs.computes(), self.lanes);
            self.write(format_args!(" - (dietcode_{computes}x{lanes}){{0}}"));
        }
    }

    /// All lanes as a vector of the one type that both sides of a choice have; of vectors in memory, arithmetic keeps their alignment.
    fn one_type(&mut self, e: &Expr) {
        let (open, computes, lanes) = (e.uses(self.lane), self.exprs.computes(), self.lanes);
        if open {
            self.write(format_args!("(dietcode_{computes}x{lanes})("));
        }
        self.all_lanes(e);
        self.push(if open { ")" } else { "" });
    }

    /// The neighbours along the lane as they lie.
    fn raw(&mut self, buffer: &Arc<Buffer>, index: &[Expr]) {
        if buffer.scope == Scope::Register {
            return self.exprs.write_element(buffer, index, self.text);
        }
        let lanes = self.lanes;
        self.write(format_args!("*(const dietcode_{}x{lanes}u *)&", buffer.dtype));
        self.first_lane(buffer, index);
    }

    /// The vector of neighbours along the lane.
    fn lanes(&mut self, buffer: &Arc<Buffer>, index: &[Expr], store: bool) {
        let lanes = self.lanes;
        if buffer.scope == Scope::Register {
            return match store {
                true => self.exprs.write_element(buffer, index, self.text),
                false => {
                    self.widened(buffer.dtype, |vector| vector.exprs.write_element(buffer, index, vector.text));
                }
            };
        }
        // What lies on the stack is whole.
        if let (false, Some(some)) = (store, self.some.filter(|_| buffer.scope != Scope::Local)) {
            return self.load_some(buffer, index, some);
        }
        if store {
            self.write(format_args!("*(dietcode_{}x{lanes}u *)&", buffer.dtype));
            return self.first_lane(buffer, index);
        }
        self.widened(buffer.dtype, |vector| {
            let half = buffer.dtype.is_half();
            if !half {
                return vector.raw(buffer, index);
            }
            vector.write(format_args!("dietcode_load_{}x{lanes}(&", buffer.dtype));
            vector.first_lane(buffer, index);
            vector.push(")");
        });
    }

    /// The first of the neighbours along the lane, and 0 in the others.
    fn load_some(&mut self, buffer: &Arc<Buffer>, index: &[Expr], some: &Expr) {
        let lanes = self.lanes;
        self.widened(buffer.dtype, |vector| {
            vector.write(format_args!("dietcode_load_some_{}x{lanes}(&", buffer.dtype));
            vector.first_lane(buffer, index);
            vector.push(", ");
            vector.exprs.write_whole(some, vector.text);
            vector.push(")");
        });
    }

    /// Vectors that were loaded from elements of a type as vectors of what is computed in.
    fn widened(&mut self, dtype: DType, write: impl FnOnce(&mut Self)) {
        let (computes, lanes) = (self.exprs.computes(), self.lanes);
        if dtype.is_integer() && dtype != computes {
            return self.converted(dtype, write);
        }
        let widens = self.exprs.widens(dtype);
        self.push(if widens { "__builtin_convertvector(" } else { "" });
        write(self);
        if widens {
            self.write(format_args!(", dietcode_{computes}x{lanes})"));
        }
    }

    /// Vectors of integers as vectors of what is computed in.
    fn converted(&mut self, dtype: DType, write: impl FnOnce(&mut Self)) {
        let (computes, lanes) = (self.exprs.computes(), self.lanes);
        self.write(format_args!("dietcode_{dtype}_as_{computes}x{lanes}("));
        write(self);
        self.push(")");
    }

    /// Vectors of what is computed in as they are stored to elements of a type; the last step to one of 16 bits is the store's.
    fn narrowed(&mut self, dtype: DType, write: impl FnOnce(&mut Self)) {
        let lanes = self.lanes;
        match (self.exprs.widens(dtype), dtype.is_half()) {
            _ if matches!(dtype, DType::U8 | DType::I8) => {
                self.push("__builtin_convertvector(");
                write(self);
                self.write(format_args!(", dietcode_{dtype}x{lanes})"));
            }
            (false, _) => write(self),
            (true, true) => {
                self.write(format_args!("dietcode_odd_f64x{lanes}("));
                write(self);
                self.push(")");
            }
            (true, false) => {
                self.push("__builtin_convertvector(");
                write(self);
                self.write(format_args!(", dietcode_f32x{lanes})"));
            }
        }
    }

    /// The element in memory that is the first of a vector along the lane.
    fn first_lane(&mut self, buffer: &Arc<Buffer>, index: &[Expr]) {
        self.exprs.write_element(buffer, &self.at(index, 0), self.text);
    }

    /// An expression for all lanes; what does not depend on the lane stays a scalar, which C broadcasts.
    fn lanewise(&mut self, e: &Expr) {
        if let Some((buffer, index, condition)) = first_or_zero(e, self.lane) {
            return self.load_some(buffer, index, &lanes_in(condition, self.lane));
        }
        match e {
            uniform if !uniform.uses(self.lane) => self.exprs.write_operand(uniform, self.text),
            Expr::Load(buffer, index) if self.is_contiguous(buffer, index) => self.lanes(buffer, index, false),
            Expr::Cast(_, sum) if sum.is_element() => {
                let exprs = self.exprs;
                self.converted(DType::I32, |vector| exprs.within(DType::I32, || vector.all_lanes(sum)));
            }
            Expr::Load(..) | Expr::Cast(..) => {
                let (computes, lanes) = (self.exprs.computes(), self.lanes);
                self.write(format_args!("(dietcode_{computes}x{lanes}){{"));
                for n in 0..lanes {
                    self.push(if n == 0 { "" } else { ", " });
                    self.exprs.write_operand(&e.substitute(self.lane, &Expr::Int(n)), self.text);
                }
                self.push("}");
            }
            Expr::Call(function, args) => match row(*function).name {
                Called::Sign(sign) => {
                    self.push("(");
                    self.push(sign);
                    self.lanewise_operand(&args[0]);
                    self.push(")");
                }
                name => self.call(&format!("dietcode_{}", name.text()), args.iter()),
            },
            Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => self.call(taken(*op), [&**a, &**b]),
            Expr::Select(condition, then, otherwise) if !condition.uses(self.lane) => {
                self.push("(");
                self.exprs.write_operand(condition, self.text);
                for (before, side) in [(" ? ", then), (" : ", otherwise)] {
                    self.push(before);
                    self.one_type(side);
                }
                self.push(")");
            }
            Expr::Select(condition, then, otherwise) => {
                let (Expr::Compare(op, a, b), computes, lanes) = (&**condition, self.exprs.computes(), self.lanes)
                else {
                    unreachable!("the front end makes only comparisons into conditions: {condition}")
                };
                self.write(format_args!("dietcode_pick_{computes}x{lanes}("));
                self.lanewise_operand(a);
                self.write(format_args!(" {op} "));
                self.lanewise_operand(b);
                for side in [then, otherwise] {
                    self.push(", ");
                    self.all_lanes(side);
                }
                self.push(")");
            }
            Expr::Binary(op, a, b) => {
                self.lanewise_operand(a);
                self.write(format_args!(" {op} "));
                self.lanewise_operand(b);
            }
            other => unreachable!("the vectorize pass leaves only lane-wise arithmetic in vectorized loops: {other}"),
        }
    }

    /// A function of vectors; an integer stays what it is.
    fn call<'e>(&mut self, name: &str, args: impl IntoIterator<Item = &'e Expr>) {
        let (computes, lanes) = (self.exprs.computes(), self.lanes);
        self.write(format_args!("{name}_{computes}x{lanes}"));
        for (n, arg) in args.into_iter().enumerate() {
            self.push(if n == 0 { "(" } else { ", " });
            match arg {
                Expr::Int(_) => self.exprs.write_operand(arg, self.text),
                element => self.all_lanes(element),
            }
        }
        self.push(")");
    }

    fn lanewise_operand(&mut self, e: &Expr) {
        let is_call = matches!(e, Expr::Binary(BinaryOp::Min | BinaryOp::Max, ..));
        let open = matches!(e, Expr::Binary(..)) && !is_call && e.uses(self.lane);
        self.push(if open { "(" } else { "" });
        self.lanewise(e);
        self.push(if open { ")" } else { "" });
    }

    fn is_contiguous(&self, buffer: &Arc<Buffer>, index: &[Expr]) -> bool {
        if buffer.scope == Scope::Register {
            return true;
        }
        index
            .iter()
            .zip(&self.exprs.strides(buffer))
            .all(|(e, stride)| !e.uses(self.lane) || coefficient(e, self.lane) == Some(1) && *stride == Expr::Int(1))
    }

    /// An index where the lane is this one.
    fn at(&self, index: &[Expr], lane: i64) -> Vec<Expr> {
        index.iter().map(|e| e.substitute(self.lane, &Expr::Int(lane))).collect()
    }
}
