//! Expressions as text.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{Add, Mul};
use std::sync::Arc;

use super::unrolled::Values;
use super::{Dialect, LINE, element_type, write};
use crate::ir::function::{self, row};
use crate::ir::{ACC, BinaryOp, Buffer, DType, Expr, Name, Region, Scope, Swizzle, affine};

/// How tightly a piece of text binds, as in C; larger is tighter.
const TERNARY: u8 = 1;
const AND: u8 = 2;
const COMPARE: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const PRIMARY: u8 = 7;

/// Prints expressions as they are at a place: with the names that hold what an address is made of, and in the iteration of the
/// unrolled loops around.
pub(crate) struct Expressions {
    dialect: &'static dyn Dialect,
    /// The type that elements are computed in: that of the nest, or where integers are stored, `i32`.
    computes: Cell<DType>,
    /// The type that the nest computes in.
    of_nest: DType,
    strides: BTreeMap<Name, Vec<Expr>>,
    taken: Vec<Name>,
    pub(super) values: Values,
    pub(super) anchor: Option<Anchor>,
    /// The loops that are open, from where registers were declared on.
    pub(super) steps: Vec<Name>,
}

/// An element of a tensor from which the addresses of others count.
pub(super) struct Anchor {
    pub(super) buffer: Name,
    pub(super) first: Vec<Expr>,
    /// Of the variable that points to it.
    pub(super) name: Name,
}

/// What an expression is the sum of.
fn summands(e: &Expr) -> Vec<&Expr> {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => [summands(a), summands(b)].concat(),
        e => vec![e],
    }
}

impl Expressions {
    /// Starts with the names that the kernel uses itself.
    pub(crate) fn new(dialect: &'static dyn Dialect, computes: DType, taken: Vec<Name>) -> Expressions {
        Expressions {
            dialect,
            computes: Cell::new(computes),
            of_nest: computes,
            strides: BTreeMap::new(),
            taken,
            values: Values::default(),
            anchor: None,
            steps: Vec::new(),
        }
    }

    /// The type that elements are computed in here.
    pub(crate) fn computes(&self) -> DType {
        self.computes.get()
    }

    /// Prints what is computed in another type.
    pub(crate) fn within<T>(&self, dtype: DType, print: impl FnOnce() -> T) -> T {
        let around = self.computes.replace(dtype);
        let text = print();
        self.computes.set(around);
        text
    }

    /// Goes on in another type; returns the one before.
    pub(crate) fn set_computes(&self, dtype: DType) -> DType {
        self.computes.replace(dtype)
    }

    /// An expression as it is in the iterations of the unrolled loops around.
    pub(crate) fn here<'a>(&self, e: &'a Expr) -> Cow<'a, Expr> {
        self.values.of(e)
    }

    /// A name like `wish` that nothing else has.
    pub(crate) fn fresh(&mut self, wish: &str) -> Name {
        let mut name: Name = wish.into();
        while self.taken.contains(&name) {
            name = format!("{name}_").into();
        }
        self.taken.push(name.clone());
        name
    }

    /// Whether the kernel uses a name itself.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.taken.iter().any(|taken| **taken == *name)
    }

    /// Gives a buffer strides that are known at run time only; returns the variables that hold those that are not 1.
    pub(crate) fn declare(&mut self, buffer: &Buffer, unit: impl Fn(usize) -> bool) -> Vec<(usize, Name)> {
        let mut variables = Vec::new();
        let mut strides = Vec::new();
        for dim in 0..buffer.shape.len() {
            if unit(dim) {
                strides.push(Expr::Int(1));
            } else {
                let name = self.fresh(&format!("{}_s{dim}", buffer.name));
                strides.push(Expr::Var(name.clone()));
                variables.push((dim, name));
            }
        }
        self.strides.insert(buffer.name.clone(), strides);
        variables
    }

    /// The distance in elements between neighbours along each dimension.
    pub(crate) fn strides(&self, buffer: &Buffer) -> Vec<Expr> {
        let rank = buffer.shape.len();
        let dense = || (0..rank).map(|dim| row_major(&buffer.shape, dim)).collect();
        self.strides.get(&buffer.name).cloned().unwrap_or_else(dense)
    }

    /// The distance from the first element to the one at an index.
    pub(crate) fn offset(&self, buffer: &Buffer, index: &[Expr]) -> Expr {
        self.terms(buffer, index).fold(Expr::Int(0), Expr::add)
    }

    /// The terms of that: one for each dimension.
    fn terms<'a>(&'a self, buffer: &'a Buffer, index: &'a [Expr]) -> impl Iterator<Item = Expr> + 'a {
        let declared = self.strides.get(&buffer.name);
        let stride = move |dim: usize| declared.map_or_else(|| row_major(&buffer.shape, dim), |all| all[dim].clone());
        index.iter().enumerate().map(move |(dim, i)| self.here(i).into_owned().mul(stride(dim)))
    }

    /// The strides of a view of a region.
    pub(crate) fn view_strides(&self, region: &Region) -> Vec<Expr> {
        let strides = self.strides(&region.buffer);
        let sum = |steps: &Vec<i64>| {
            steps.iter().zip(&strides).fold(Expr::Int(0), |sum, (c, s)| sum.add(s.clone().mul(Expr::Int(*c))))
        };
        region.steps.iter().map(sum).collect()
    }

    /// The text of an expression.
    pub(crate) fn text(&self, e: &Expr) -> String {
        let mut text = String::with_capacity(LINE);
        self.write_whole(e, &mut text);
        text
    }

    /// Writes an expression where nothing stands beside it.
    pub(crate) fn write_whole(&self, e: &Expr, text: &mut String) {
        self.write(e, TERNARY, text);
    }

    /// The text of an expression as an operand of anything.
    pub(crate) fn operand(&self, e: &Expr) -> String {
        let mut text = String::with_capacity(LINE);
        self.write_operand(e, &mut text);
        text
    }

    /// Writes an expression as an operand of anything.
    pub(crate) fn write_operand(&self, e: &Expr, text: &mut String) {
        self.write(e, PRIMARY, text);
    }

    /// An element of a buffer in memory: what is assigned to, or converted when it is read.
    pub(crate) fn element(&self, buffer: &Arc<Buffer>, index: &[Expr]) -> String {
        let mut text = String::with_capacity(LINE);
        self.write_element(buffer, index, &mut text);
        text
    }

    /// Writes an expression, in parentheses if it binds less tightly than `at_least`.
    fn write(&self, e: &Expr, at_least: u8, text: &mut String) {
        // What an element is made of is printed piece by piece; an index or a condition becomes another one where variables have values.
        let e = &*if e.is_element() { Cow::Borrowed(e) } else { self.here(e) };
        let open = tightness(e) < at_least;
        text.push_str(if open { "(" } else { "" });
        match e {
            Expr::Int(value) if *value < 0 => write(text, format_args!("({value})")),
            Expr::Int(value) => write(text, format_args!("{value}")),
            Expr::Float(value) => text.push_str(&literal(self.computes(), *value)),
            Expr::Var(name) if &**name == ACC => text.push_str("dietcode_acc"),
            Expr::Var(name) => text.push_str(name),
            Expr::Binary(op, a, b) => self.write_binary(*op, a, b, text),
            Expr::Compare(op, a, b) => {
                self.write(a, SUM, text);
                write(text, format_args!(" {op} "));
                self.write(b, SUM, text);
            }
            Expr::Select(c, a, b) => {
                for (before, e) in [("", c), (" ? ", a), (" : ", b)] {
                    text.push_str(before);
                    self.write(e, AND, text);
                }
            }
            Expr::Load(buffer, index) => {
                text.push_str(self.conversion(buffer.dtype));
                text.push_str(if buffer.dtype.is_half() { "dietcode_load(" } else { "" });
                self.write_element(buffer, index, text);
                text.push_str(if buffer.dtype.is_half() { ")" } else { "" });
            }
            // A sum of integers as a float.
            Expr::Cast(dtype, a) if a.is_element() => {
                write(text, format_args!("({})(int)(", element_type(*dtype)));
                self.within(DType::I32, || self.write(a, TERNARY, text));
                text.push(')');
            }
            Expr::Cast(dtype, a) => {
                write(text, format_args!("({})(", element_type(*dtype)));
                self.write_wide(a, TERNARY, text);
                text.push(')');
            }
            Expr::Call(function, args) => {
                let args: Vec<&Expr> = args.iter().collect();
                self.write_call(&self.float_name(row(*function).name), &args, text);
            }
        }
        text.push_str(if open { ")" } else { "" });
    }

    fn write_binary(&self, op: BinaryOp, a: &Expr, b: &Expr, text: &mut String) {
        let sign = match op {
            BinaryOp::Min | BinaryOp::Max => {
                let is_element = a.is_element() || b.is_element();
                let name = if is_element { self.scalar_name(taken(op)) } else { integer(op).to_owned() };
                return self.write_call(&name, &[a, b], text);
            }
            BinaryOp::Add => " + ",
            BinaryOp::Sub => " - ",
            BinaryOp::Mul => " * ",
            BinaryOp::Div => " / ",
            BinaryOp::Mod => " % ",
            BinaryOp::And => " && ",
        };
        self.write(a, operator(op), text);
        text.push_str(sign);
        self.write(b, operator(op) + 1, text);
    }

    /// Writes an index as an element is computed of it: in 64 bits, unlike one of a tensor, whose elements are fewer than 2³¹ on a GPU.
    fn write_wide(&self, e: &Expr, at_least: u8, text: &mut String) {
        let e = &*self.here(e);
        match e {
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                let open = operator(*op) < at_least;
                text.push_str(if open { "(" } else { "" });
                self.write_wide(a, operator(*op), text);
                write(text, format_args!(" {op} "));
                self.write_wide(b, operator(*op) + 1, text);
                text.push_str(if open { ")" } else { "" });
            }
            Expr::Int(_) => self.write(e, at_least, text),
            e => {
                let wide = if at_least > TERNARY { self.dialect.wide() } else { "" };
                text.push_str(wide);
                self.write(e, if wide.is_empty() { at_least } else { PRIMARY }, text);
            }
        }
    }

    fn write_call(&self, name: &str, args: &[&Expr], text: &mut String) {
        text.push_str(name);
        for (n, arg) in args.iter().enumerate() {
            text.push_str(if n == 0 { "(" } else { ", " });
            self.write(arg, TERNARY, text);
        }
        text.push(')');
    }

    /// What a function of the type that is computed in is called.
    fn float_name(&self, name: function::Name) -> String {
        let f = match self.computes() {
            DType::F64 => "",
            DType::I32 => "_i32",
            _ => "f",
        };
        match name {
            function::Name::Sign(sign) => sign.into(),
            function::Name::Own(name) => format!("dietcode_{name}{f}"),
            library => self.dialect.library_function(library, self.computes()),
        }
    }

    /// The name of a function of `dietcode.h` and `dietcode.cuh` that takes `float`s, or of that which takes what is computed in.
    fn scalar_name(&self, name: &str) -> String {
        if self.computes() == DType::F32 { name.to_owned() } else { format!("{name}_{}", self.computes()) }
    }

    /// Whether floats of a type are narrower than what a `float` or what was loaded as such is computed with.
    pub(crate) fn widens(&self, dtype: DType) -> bool {
        self.computes() == DType::F64 && dtype != DType::F64 && !dtype.is_integer()
    }

    /// The cast before an element of a type that makes it what is computed in. What `float` and `double` make together is a `double`, but not
    /// what two `float`s make; and two integers are multiplied as integers.
    fn conversion(&self, dtype: DType) -> &'static str {
        match (dtype, self.computes()) {
            (DType::I32, DType::F64) => "(double)(int)",
            (DType::I32, DType::F32) => "(float)(int)",
            (DType::U8 | DType::I8, DType::I32) => "(dietcode_i32)",
            (DType::U8 | DType::I8, DType::F32) => "(float)",
            (dtype, DType::F64) if dtype != DType::F64 => "(double)",
            _ => "",
        }
    }

    /// The type that is computed in where what is stored has a type.
    pub(crate) fn to_store(&self, dtype: DType) -> DType {
        if dtype.is_integer() { DType::I32 } else { self.of_nest }
    }

    /// Writes an element of a buffer in memory.
    pub(crate) fn write_element(&self, buffer: &Arc<Buffer>, index: &[Expr], text: &mut String) {
        match buffer.scope {
            // A scalar is passed, or loaded once, by its value.
            Scope::Global if buffer.is_scalar() => text.push_str(&buffer.name),
            Scope::Register => self.dialect.write_register(self, buffer, index, text),
            _ => self.write_indexed(buffer, index, text),
        }
    }

    /// Writes an element by its offset.
    pub(crate) fn write_indexed(&self, buffer: &Buffer, index: &[Expr], text: &mut String) {
        if let Some((swizzle, (column, rows))) = Swizzle::of(buffer).zip(index.split_last()) {
            let Swizzle { chunk, groups, rows: alike } = swizzle;
            let row = self.operand(&self.row_in_turn(buffer, swizzle, index));
            write(text, format_args!("{}[", buffer.name));
            self.write_offset(buffer, rows, text);
            write(text, format_args!(" + dietcode_swizzled<{chunk}, {groups}, {alike}>({row}, "));
            self.write_whole(column, text);
            text.push_str(")]");
            return;
        }
        let anchored =
            self.anchor.as_ref().and_then(|anchor| Some((&anchor.name, self.behind(anchor, buffer, index)?)));
        let (name, index) = match &anchored {
            Some((name, behind)) => (*name, &behind[..]),
            None => (&buffer.name, index),
        };
        if let Some((row, steps)) = self.row(buffer, index) {
            write(text, format_args!("({name} + "));
            self.write_offset(buffer, &row, text);
            text.push_str(")[");
            self.write_offset(buffer, &steps, text);
            text.push(']');
            return;
        }
        text.push_str(name);
        text.push('[');
        self.write_offset(buffer, index, text);
        text.push(']');
    }

    /// The row of an element of a swizzled tile, but for multiples of the rows after which the orders of chunks repeat.
    pub(crate) fn row_in_turn(&self, buffer: &Buffer, swizzle: Swizzle, index: &[Expr]) -> Expr {
        let period = swizzle.period();
        let mut row = Expr::Int(0);
        let mut rows = 1;
        for (e, extent) in index.iter().zip(&buffer.shape).rev().skip(1) {
            if rows % period != 0 {
                let e = self.here(e);
                let kept = affine(&e).map(|form| {
                    let terms = form.terms.iter().filter(|(_, c)| c * rows % period != 0);
                    let sum = terms.map(|(name, c)| Expr::Var(name.as_str().into()).mul(Expr::Int(*c)));
                    sum.fold(Expr::Int(form.constant.rem_euclid(period)), Expr::add)
                });
                row = row.add(kept.unwrap_or_else(|| e.into_owned()).mul(Expr::Int(rows)));
            }
            rows *= extent.as_int().expect("tiles in shared memory have constant extents");
        }
        row.as_int().map_or(row, |row| Expr::Int(row.rem_euclid(period)))
    }

    /// The index of the row of a tensor that is read, and that from there on, where the row is the last one again behind the edge: compilers
    /// compute the address of a row once where it stands for itself, else in each step.
    fn row(&self, buffer: &Buffer, index: &[Expr]) -> Option<(Vec<Expr>, Vec<Expr>)> {
        let repeats = |e: &Expr| matches!(e, Expr::Binary(BinaryOp::Min, ..));
        if buffer.scope != Scope::Global || !index.iter().any(|e| e.any(&mut { repeats })) {
            return None;
        }
        let halves = |e: &Expr| {
            let e = self.here(e);
            let (steps, row): (Vec<&Expr>, Vec<&Expr>) =
                summands(&e).into_iter().partition(|part| self.steps.iter().any(|step| part.uses(step)));
            let sum = |parts: Vec<&Expr>| parts.into_iter().cloned().fold(Expr::Int(0), Expr::add);
            (sum(row), sum(steps))
        };
        let (row, steps): (Vec<Expr>, Vec<Expr>) = index.iter().map(halves).unzip();
        let is_split = steps.iter().any(|e| *e != Expr::Int(0)) && row.iter().any(|e| *e != Expr::Int(0));
        (is_split && !steps.iter().any(|e| e.any(&mut { repeats }))).then_some((row, steps))
    }

    /// An index, counted from an anchor, if that is as far for every iteration of the loops around.
    fn behind(&self, anchor: &Anchor, buffer: &Buffer, index: &[Expr]) -> Option<Vec<Expr>> {
        let distance = |(e, first): (&Expr, &Expr)| {
            let form = affine(&self.here(e))?.add_scaled(&affine(first)?, -1)?;
            form.terms.is_empty().then_some(Expr::Int(form.constant))
        };
        (anchor.buffer == buffer.name).then(|| index.iter().zip(&anchor.first).map(distance).collect())?
    }

    /// Writes the offset term by term: most of a kernel's text are offsets.
    fn write_offset(&self, buffer: &Buffer, index: &[Expr], text: &mut String) {
        let (start, mut constant) = (text.len(), Expr::Int(0));
        for term in self.terms(buffer, index) {
            if term.as_int().is_some() {
                constant = constant.add(term);
            } else {
                self.write_term(&term, start, text);
            }
        }
        if text.len() == start || constant != Expr::Int(0) {
            self.write_term(&constant, start, text);
        }
    }

    /// Writes a term of a sum whose text begins at `start`.
    fn write_term(&self, term: &Expr, start: usize, text: &mut String) {
        let is_first = text.len() == start;
        text.push_str(if is_first { "" } else { " + " });
        self.write(term, if is_first { SUM } else { PRODUCT }, text);
    }
}

/// How tightly the text of an expression binds.
fn tightness(e: &Expr) -> u8 {
    match e {
        Expr::Binary(op, ..) => operator(*op),
        Expr::Compare(..) => COMPARE,
        Expr::Select(..) => TERNARY,
        _ => PRIMARY,
    }
}

/// What takes the smaller or the larger of two integers.
fn integer(op: BinaryOp) -> &'static str {
    if op == BinaryOp::Min { "dietcode_imin" } else { "dietcode_imax" }
}

/// What takes a term of a minimum or a maximum.
pub(crate) fn taken(op: BinaryOp) -> &'static str {
    if op == BinaryOp::Min { "dietcode_smaller" } else { "dietcode_larger" }
}

fn operator(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Min | BinaryOp::Max => PRIMARY,
        BinaryOp::Add | BinaryOp::Sub => SUM,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => PRODUCT,
        BinaryOp::And => AND,
    }
}

/// The row-major stride of a dimension, all extents inside of it constant.
fn row_major(shape: &[Expr], dim: usize) -> Expr {
    shape[dim + 1..].iter().cloned().fold(Expr::Int(1), Expr::mul)
}

/// A literal of a type that is computed in, which reads back as the same bits.
fn literal(computes: DType, value: f64) -> String {
    if computes == DType::I32 {
        return format!("{}u", computes.rounded(value) as i32 as u32);
    }
    let text = match (computes, value.abs()) {
        (_, size) if computes.rounded(size).is_infinite() => "DIETCODE_INFINITY".to_owned(),
        (DType::F64, size) => format!("{size:?}"),
        (_, size) => format!("{:?}f", size as f32),
    };
    if value.is_sign_negative() { format!("(-{text})") } else { text }
}
