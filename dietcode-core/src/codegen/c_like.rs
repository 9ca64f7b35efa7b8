//! Expressions as text of the C family.

use std::collections::BTreeMap;
use std::ops::{Add, Mul};
use std::sync::Arc;

use dietcode_syntax::KernelDef;

use crate::ir::{ACC, BinaryOp, Buffer, DType, Expr, Function, Name, Region, Scope};

/// How tightly a piece of text binds, as in C; larger is tighter.
const TERNARY: u8 = 1;
const AND: u8 = 2;
const COMPARE: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const PRIMARY: u8 = 7;

/// Which language of the family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// GNU C.
    #[default]
    C,
    /// CUDA C++ with what `dietcode.cuh` has.
    Cuda,
}

/// The names that hold what an address is made of.
#[derive(Default)]
pub(super) struct Addresses {
    dialect: Dialect,
    strides: BTreeMap<Name, Vec<Expr>>,
    taken: Vec<Name>,
}

impl Addresses {
    /// Starts with the names that the kernel uses itself.
    pub(super) fn new(taken: Vec<Name>, dialect: Dialect) -> Addresses {
        Addresses { dialect, strides: BTreeMap::new(), taken }
    }

    /// A name like `wish` that nothing else has.
    pub(super) fn fresh(&mut self, wish: &str) -> Name {
        let mut name: Name = wish.into();
        while self.taken.contains(&name) {
            name = format!("{name}_").into();
        }
        self.taken.push(name.clone());
        name
    }

    /// Gives a buffer strides that are known at run time only; returns the variables that hold those that are not 1.
    pub(super) fn declare(&mut self, buffer: &Buffer, unit: impl Fn(usize) -> bool) -> Vec<(usize, Name)> {
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
    pub(super) fn strides(&self, buffer: &Buffer) -> Vec<Expr> {
        self.strides.get(&buffer.name).cloned().unwrap_or_else(|| row_major(&buffer.shape))
    }

    /// The distance from the first element to the one at an index.
    pub(super) fn offset(&self, buffer: &Buffer, index: &[Expr]) -> Expr {
        let terms = self.strides(buffer).into_iter().zip(index).map(|(stride, i)| i.clone().mul(stride));
        terms.fold(Expr::Int(0), Expr::add)
    }

    /// The strides of a view of a region.
    pub(super) fn view_strides(&self, region: &Region) -> Vec<Expr> {
        let strides = self.strides(&region.buffer);
        let sum = |steps: &Vec<i64>| {
            steps.iter().zip(&strides).fold(Expr::Int(0), |sum, (c, s)| sum.add(s.clone().mul(Expr::Int(*c))))
        };
        region.steps.iter().map(sum).collect()
    }

    /// The text of an expression.
    pub(super) fn text(&self, e: &Expr) -> String {
        self.print(e).0
    }

    fn print(&self, e: &Expr) -> (String, u8) {
        match e {
            Expr::Int(value) if *value < 0 => (format!("({value})"), PRIMARY),
            Expr::Int(value) => (value.to_string(), PRIMARY),
            Expr::Float(value) => (float(*value), PRIMARY),
            Expr::Var(name) if &**name == ACC => ("dietcode_acc".into(), PRIMARY),
            Expr::Var(name) => (name.to_string(), PRIMARY),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let text = format!("{} {} {}", self.at_least(a, SUM), op, self.at_least(b, SUM));
                (text, COMPARE)
            }
            Expr::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|e| self.at_least(e, AND));
                (format!("{c} ? {a} : {b}"), TERNARY)
            }
            Expr::Load(buffer, index) if buffer.dtype.is_half() => {
                (format!("dietcode_load({})", self.element(buffer, index)), PRIMARY)
            }
            Expr::Load(buffer, index) => (self.element(buffer, index), PRIMARY),
            Expr::Cast(_, a) => (format!("(float)({})", self.text(a)), PRIMARY),
            Expr::Call(Function::Neg, args) => (format!("(-{})", self.operand(&args[0])), PRIMARY),
            Expr::Call(f, args) => {
                let args: Vec<String> = args.iter().map(|arg| self.text(arg)).collect();
                (format!("{}({})", function(*f, self.dialect), args.join(", ")), PRIMARY)
            }
        }
    }

    /// The text of an expression as an operand of anything.
    pub(super) fn operand(&self, e: &Expr) -> String {
        self.at_least(e, PRIMARY)
    }

    /// The text of an expression, in parentheses if it binds less tightly than that.
    fn at_least(&self, e: &Expr, at_least: u8) -> String {
        let (text, own) = self.print(e);
        if own < at_least { format!("({text})") } else { text }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
        let (sign, own) = match op {
            BinaryOp::Min => return (format!("dietcode_imin({}, {})", self.text(a), self.text(b)), PRIMARY),
            BinaryOp::Max => return (format!("dietcode_imax({}, {})", self.text(a), self.text(b)), PRIMARY),
            BinaryOp::Add => ("+", SUM),
            BinaryOp::Sub => ("-", SUM),
            BinaryOp::Mul => ("*", PRODUCT),
            BinaryOp::Div => ("/", PRODUCT),
            BinaryOp::Mod => ("%", PRODUCT),
            BinaryOp::And => ("&&", AND),
        };
        (format!("{} {sign} {}", self.at_least(a, own), self.at_least(b, own + 1)), own)
    }

    /// An element of a buffer in memory: what is assigned to, or converted when it is read.
    pub(super) fn element(&self, buffer: &Arc<Buffer>, index: &[Expr]) -> String {
        match buffer.scope {
            // A scalar is passed, or loaded once, by its value.
            Scope::Global if buffer.is_scalar() => buffer.name.to_string(),
            // On a GPU the compiler finds the constant indices of an array, and keeps it in registers.
            Scope::Register if self.dialect == Dialect::C => register(&buffer.name, index),
            _ => format!("{}[{}]", buffer.name, self.text(&self.offset(buffer, index))),
        }
    }
}

/// The type of an element in memory.
pub(in crate::codegen) fn element_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F16 => "dietcode_f16",
        DType::BF16 => "dietcode_bf16",
    }
}

/// What makes the types and functions known that the C file of some kernels uses.
pub(super) fn include<'a>(defs: impl IntoIterator<Item = &'a KernelDef>) -> String {
    let half = defs.into_iter().any(|def| def.params.iter().any(|param| param.dtype.is_half()));
    format!("{}#include \"dietcode.h\"", if half { "#define DIETCODE_HALF\n" } else { "" })
}

/// Row-major strides of constant extents.
fn row_major(shape: &[Expr]) -> Vec<Expr> {
    let mut stride = Expr::Int(1);
    let mut strides: Vec<Expr> = shape
        .iter()
        .rev()
        .map(|extent| {
            let own = stride.clone();
            stride = stride.clone().mul(extent.clone());
            own
        })
        .collect();
    strides.reverse();
    strides
}

/// The variable that holds a register: the constants of its index, without the lane.
pub(super) fn register(name: &str, index: &[Expr]) -> String {
    let place: String = index.iter().filter_map(Expr::as_int).map(|i| format!("_{i}")).collect();
    format!("{name}_r{place}")
}

/// A literal of the element type that reads back as the same bits.
pub(super) fn float(value: f64) -> String {
    let text = format!("{:?}f", value as f32);
    if value.is_sign_negative() { format!("({text})") } else { text }
}

fn function(f: Function, dialect: Dialect) -> &'static str {
    match (f, dialect) {
        (Function::Neg, _) => "-",
        (Function::Max, _) => "dietcode_fmax",
        (Function::Min, _) => "dietcode_fmin",
        (Function::Exp, Dialect::C) => "__builtin_expf",
        (Function::Tanh, Dialect::C) => "__builtin_tanhf",
        (Function::Sqrt, Dialect::C) => "__builtin_sqrtf",
        (Function::Abs, Dialect::C) => "__builtin_fabsf",
        // Those of the global scope: a tensor may be called `expf`.
        (Function::Exp, Dialect::Cuda) => "::expf",
        (Function::Tanh, Dialect::Cuda) => "::tanhf",
        (Function::Sqrt, Dialect::Cuda) => "::sqrtf",
        (Function::Abs, Dialect::Cuda) => "::fabsf",
    }
}
