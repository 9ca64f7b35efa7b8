//! From a Rust expression to an [`Expr`]: the values that a nest stores and adds up.

use crate::error::Problem;
use crate::nest::describe;
use crate::scope::{Meaning, Scope, converted, lookup, path, plain};
use crate::text::text;
use crate::{BinaryOp, Constant, ConstantValue, DType, Expr, Function};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{BinOp, ExprBinary, ExprCall, ExprLit, ExprMethodCall, Lit, UnOp};

/// How deep an expression may be nested, its `let`s put in place. Every stage walks it recursively.
pub const MAX_DEPTH: usize = 128;

/// How many operations all expressions of a kernel may have together, their `let`s put in place.
pub const MAX_OPERATIONS: usize = 4096;

pub(crate) fn arithmetic(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::Add(_) => BinaryOp::Add,
        BinOp::Sub(_) => BinaryOp::Sub,
        BinOp::Mul(_) => BinaryOp::Mul,
        BinOp::Div(_) => BinaryOp::Div,
        _ => return None,
    })
}

/// `-inner`, where a negative literal is a literal.
pub(crate) fn negate(inner: Expr) -> Expr {
    match inner {
        Expr::Literal(value) => Expr::Literal(-value),
        other => Expr::Call(Function::Neg, vec![other]),
    }
}

impl Scope<'_> {
    /// The value of an expression, or `None` after everything wrong with it is reported.
    pub(crate) fn value(&mut self, expr: &syn::Expr) -> Option<Expr> {
        self.value_at(expr, 0)
    }

    pub(crate) fn value_at(&mut self, expr: &syn::Expr, depth: usize) -> Option<Expr> {
        self.spend(expr, 1, depth)?;
        let depth = depth + 1;
        match expr {
            syn::Expr::Paren(inner) => self.value_at(&inner.expr, depth),
            syn::Expr::Group(inner) => self.value_at(&inner.expr, depth),
            syn::Expr::Block(inner) if inner.label.is_none() => self.branch(&inner.block, depth),
            syn::Expr::Lit(literal) => self.literal(&literal.lit),
            syn::Expr::Path(_) if path(expr).is_some() => self.name(path(expr)?, depth),
            syn::Expr::Index(_) => self.load(expr, None),
            syn::Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match &*unary.expr {
                syn::Expr::Lit(ExprLit { lit: Lit::Int(integer), .. }) if self.computes == DType::I32 => {
                    self.integer(unary, "-", integer)
                }
                other => self.value_at(other, depth).map(negate),
            },
            syn::Expr::Unary(unary) => self.fail(unary.op, Problem::Operator { found: text(unary.op) }),
            syn::Expr::Binary(binary) => self.binary(binary, depth),
            syn::Expr::MethodCall(call) => self.method(call, depth),
            syn::Expr::Cast(cast) => self.cast(cast, depth),
            syn::Expr::If(branches) => self.select(branches, depth),
            syn::Expr::Call(call) => self.call_by_name(expr, call, depth),
            syn::Expr::Path(_) if self.associated(expr).is_some() => self.float_constant(self.associated(expr)?, expr),
            syn::Expr::Path(_) if self.is_of_other_type(expr) => self.other_float(expr),
            syn::Expr::Path(other) if other.qself.is_none() => {
                let name = other.path.segments.last()?.ident.to_string();
                self.fail(expr, Problem::UnknownConstant { found: text(expr), name })
            }
            other => self.fail(other, Problem::Expression { found: describe(other).to_string() }),
        }
    }

    /// Counts operations, and limits them and their depth.
    fn spend(&mut self, at: &dyn ToTokens, operations: usize, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return self.too_much(at, Problem::TooDeep { most: MAX_DEPTH.to_string() });
        }
        let before = self.operations;
        self.operations = before.saturating_add(operations);
        match (before > MAX_OPERATIONS, self.operations > MAX_OPERATIONS) {
            (false, true) => self.too_much(at, Problem::TooLarge { most: MAX_OPERATIONS.to_string() }),
            (true, _) => None,
            (false, false) => Some(()),
        }
    }

    /// Reports what is too much: in the body of a function, at the call in the nest that put it there.
    fn too_much(&mut self, at: &dyn ToTokens, problem: Problem) -> Option<()> {
        match &self.call {
            Some(call) => self.errors.push(call, problem),
            None => self.errors.push(at, problem),
        }
        None
    }

    fn name(&mut self, ident: &Ident, depth: usize) -> Option<Expr> {
        let name = ident.to_string();
        let value = match self.meaning(ident) {
            Meaning::Element(value, dtype) => {
                self.check_same(dtype, ident)?;
                value
            }
            Meaning::Scalar(param) => return self.scalar(param, ident, None),
            Meaning::Accumulator(at) if self.accumulators[at].home == self.depth => {
                self.check_same(self.accumulators[at].dtype, ident)?;
                self.accumulators[at].value.clone()?
            }
            Meaning::Accumulator(_) => return self.fail(ident, Problem::AccumulatorInLoop { name }),
            Meaning::Tensor(_) => return self.fail(ident, Problem::WholeTensor { name }),
            Meaning::Constant(Constant { value: ConstantValue::Float(value, _), .. }) => {
                self.check_same(self.signature.computes, ident)?;
                Expr::Literal(value)
            }
            Meaning::Constant(_) | Meaning::ShapeVar | Meaning::LoopVar(_) | Meaning::Index(_) => {
                let computes_in = self.computes.to_string();
                return self.fail(ident, Problem::IndexAsElement { name, computes_in });
            }
            Meaning::Helper(_) => return self.fail(ident, Problem::HelperAsValue { name }),
            Meaning::Broken => return None,
        };
        self.put_in_place(ident, value, depth)
    }

    /// A value that already exists is copied to where it is used, and counts again.
    fn put_in_place(&mut self, at: &dyn ToTokens, value: Expr, depth: usize) -> Option<Expr> {
        let (operations, levels) = value.size();
        self.spend(at, operations, depth + levels)?;
        Some(value)
    }

    /// `f32::from` of an element of a narrower type is its load; every other function stands in the kernel's body.
    fn call_by_name(&mut self, expr: &syn::Expr, call: &ExprCall, depth: usize) -> Option<Expr> {
        let computes = self.computes.name();
        let narrowing = ["from_f32", "from_f64"];
        let is_narrowing = |dtype: &DType| narrowing.iter().any(|name| converted(expr, dtype.name(), name).is_some());
        match converted(expr, computes, "from") {
            Some(element) if matches!(plain(element), syn::Expr::Index(_)) => self.load(element, Some(expr)),
            Some(other) => match path(other).and_then(|name| lookup(&self.names, name)) {
                Some(Meaning::Scalar(param)) => self.scalar(*param, other, Some(expr)),
                Some(Meaning::Accumulator(_) | Meaning::Element(..)) if self.type_of(other) != self.computes => {
                    let (name, computes_in) = (text(other), computes.to_string());
                    self.fail(expr, Problem::IntegerAsFloat { name, computes_in })
                }
                _ => self.fail(expr, self.widening(other)),
            },
            None if let Some(element) = converted(expr, "i32", "from") => {
                self.fail(expr, self.integer_among_floats(expr, element))
            }
            None if DType::ALL.iter().any(is_narrowing) => self.fail(expr, Problem::Narrowing { found: text(expr) }),
            None if self.associated(&call.func).is_some_and(|name| name == "max" || name == "min") => {
                self.call(call, self.associated(&call.func)?, &call.args.iter().collect::<Vec<_>>(), depth)
            }
            None if self.is_of_other_type(&call.func) => self.other_float(&call.func),
            None => match path(&call.func).and_then(|name| self.helper(name)) {
                Some(helper) => self.inline(call, helper, depth),
                None => {
                    let (found, methods) = (text(&call.func), Function::list());
                    self.fail(expr, Problem::FreeCall { found, methods, computes_in: computes.to_string() })
                }
            },
        }
    }

    /// A scalar parameter; `converted` is the `f64::from` around it.
    pub(crate) fn scalar(&mut self, param: usize, at: &dyn ToTokens, converted: Option<&syn::Expr>) -> Option<Expr> {
        self.check_type(param, at, converted)?;
        Some(Expr::Load { param, index: Vec::new() })
    }

    /// An element; `converted` is the `f32::from` around it.
    pub(crate) fn load(&mut self, expr: &syn::Expr, converted: Option<&syn::Expr>) -> Option<Expr> {
        let (param, index) = self.element(expr)?;
        let dtype = self.signature.params[param].dtype;
        self.check_type(param, expr, converted)?;
        let Some(output) = self.output.as_ref().filter(|output| output.param == param) else {
            self.check_inside(expr, param, &index);
            self.reads.push((param, index.clone()));
            return Some(Expr::Load { param, index });
        };
        if output.index.is_empty() {
            return None;
        }
        if output.index != index {
            let expected = output.text.clone();
            return self.fail(expr, Problem::OutputReadElsewhere { found: text(expr), expected });
        }
        let value = output.value.clone();
        if self.open_reduction().is_some() {
            return self.fail(expr, Problem::OutputInUpdate);
        }
        if dtype != self.computes && value.as_ref().is_some_and(|value| *value != Expr::Load { param, index }) {
            let name = self.signature.params[param].name.clone();
            return self.fail(expr, Problem::ReadBack { name, dtype: dtype.to_string() });
        }
        self.put_in_place(expr, value?, 0)
    }

    fn binary(&mut self, binary: &ExprBinary, depth: usize) -> Option<Expr> {
        let Some(op) = arithmetic(&binary.op) else {
            return self.fail(binary.op, Problem::Operator { found: text(binary.op) });
        };
        self.check_operator(op, &binary.op)?;
        let lhs = self.value_at(&binary.left, depth);
        let rhs = self.value_at(&binary.right, depth);
        Some(Expr::Binary(op, Box::new(lhs?), Box::new(rhs?)))
    }

    fn method(&mut self, call: &ExprMethodCall, depth: usize) -> Option<Expr> {
        if let Some(turbofish) = &call.turbofish {
            self.errors.push(turbofish, Problem::Turbofish { name: call.method.to_string() });
        }
        self.call(call, &call.method, &[&*call.receiver].into_iter().chain(&call.args).collect::<Vec<_>>(), depth)
    }

    /// A function of elements, called as a method or, as some are, by its name: `a.max(b)`, `f32::max(a, b)`.
    fn call(&mut self, call: &dyn ToTokens, method: &Ident, args: &[&syn::Expr], depth: usize) -> Option<Expr> {
        let name = method.to_string();
        let function = Function::method(&name);
        let arguments = args.iter().enumerate().map(|(at, argument)| match function {
            Some(Function::Powi) if at > 0 => self.exponent(argument),
            _ => self.value_at(argument, depth),
        });
        let arguments: Vec<Option<Expr>> = arguments.collect();
        let Some(function) = function else {
            return self.fail(method, Problem::Method { name, methods: Function::list() });
        };
        if self.computes == DType::I32 && !matches!(function, Function::Max | Function::Min) {
            return self.fail(method, Problem::IntegerMethod { name });
        }
        if arguments.len() != function.arity() {
            let (found, expected) = (args.len().saturating_sub(1).to_string(), (function.arity() - 1).to_string());
            return self.fail(method, Problem::MethodArguments { name, found, expected });
        }
        let arguments: Vec<Expr> = arguments.into_iter().collect::<Option<_>>()?;
        if let (Function::Clamp, [_, Expr::Literal(low), Expr::Literal(high)]) = (function, &*arguments)
            && low > high
        {
            return self.fail(call, Problem::ClampBounds { low: low.to_string(), high: high.to_string() });
        }
        Some(Expr::Call(function, arguments))
    }

    /// Whether an expression is meant as an index: all its operands are integers or names of indices.
    pub(crate) fn is_index(&self, expr: &syn::Expr) -> bool {
        match plain(expr) {
            syn::Expr::Unary(unary) => self.is_index(&unary.expr),
            syn::Expr::Binary(binary) => self.is_index(&binary.left) && self.is_index(&binary.right),
            syn::Expr::Lit(literal) => {
                matches!(&literal.lit, Lit::Int(integer) if integer.suffix() != self.computes.name())
            }
            _ => path(expr).is_some_and(|ident| self.names_an_index(ident)),
        }
    }
}

impl Expr {
    /// How many operations it has, and how deep it is.
    fn size(&self) -> (usize, usize) {
        let sizes = self.parts().into_iter().map(Expr::size);
        sizes.fold((1, 1), |(operations, depth), (o, d)| (operations + o, depth.max(d + 1)))
    }
}
