//! From a Rust expression to an [`Expr`]: the values that a nest stores and adds up.

use crate::error::Problem;
use crate::nest::{Let, binding, describe};
use crate::scope::{Accumulator, Meaning, Scope, associated, converted, lookup, path, plain, subscripts};
use crate::text::text;
use crate::{BinaryOp, CompareOp, Condition, Constant, ConstantValue, DType, Expr, Function};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    BinOp, ExprBinary, ExprCall, ExprCast, ExprIf, ExprLit, ExprMethodCall, ExprUnary, Lit, LitFloat, LitInt, Type,
    UnOp,
};

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

/// The constants of `f32`, and of `f64`, that a nest knows. One that is NaN would be equal to no other, and two equal nests not the same.
const FLOATS: [(&str, f32, f64); 6] = [
    ("INFINITY", f32::INFINITY, f64::INFINITY),
    ("NEG_INFINITY", f32::NEG_INFINITY, f64::NEG_INFINITY),
    ("MAX", f32::MAX, f64::MAX),
    ("MIN", f32::MIN, f64::MIN),
    ("MIN_POSITIVE", f32::MIN_POSITIVE, f64::MIN_POSITIVE),
    ("EPSILON", f32::EPSILON, f64::EPSILON),
];

fn comparison(op: &BinOp) -> Option<CompareOp> {
    Some(match op {
        BinOp::Lt(_) => CompareOp::Lt,
        BinOp::Le(_) => CompareOp::Le,
        BinOp::Gt(_) => CompareOp::Gt,
        BinOp::Ge(_) => CompareOp::Ge,
        BinOp::Eq(_) => CompareOp::Eq,
        BinOp::Ne(_) => CompareOp::Ne,
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

    fn literal(&mut self, literal: &Lit) -> Option<Expr> {
        let computes = self.computes;
        let (digits, suffix) = match literal {
            Lit::Int(integer) if computes == DType::I32 => return self.integer(literal, "", integer),
            Lit::Float(float) if computes == DType::I32 => return self.fail(literal, self.float_among_integers(float)),
            Lit::Float(float) => (float.base10_digits(), float.suffix()),
            Lit::Int(integer) if [DType::F32, DType::F64].iter().any(|dtype| integer.suffix() == dtype.name()) => {
                (integer.base10_digits(), integer.suffix())
            }
            Lit::Int(integer) => return self.fail(integer, integer_literal(integer)),
            other => return self.fail(other, Problem::OtherLiteral { found: text(other) }),
        };
        let (found, computes_in) = (text(literal), computes.to_string());
        if !suffix.is_empty() && suffix != computes.name() {
            return self.fail(literal, Problem::FloatLiteral { found, computes_in });
        }
        match computes.read(digits) {
            Some(value) if value.is_finite() => Some(Expr::Literal(value)),
            Some(_) => {
                let most = if computes == DType::F64 { format!("{:e}", f64::MAX) } else { format!("{:e}", f32::MAX) };
                self.fail(literal, Problem::FloatRange { found, computes_in, limit: format!("the largest is {most}") })
            }
            None => self.fail(literal, Problem::FloatLiteral { found, computes_in }),
        }
    }

    /// A literal among integers, with its sign: `-2147483648` is one, and `2147483648` is not.
    fn integer(&mut self, whole: &dyn ToTokens, sign: &str, literal: &LitInt) -> Option<Expr> {
        let (found, computes_in) = (text(whole), DType::I32.to_string());
        if !["", "i32"].contains(&literal.suffix()) {
            return self.fail(whole, Problem::FloatLiteral { found, computes_in });
        }
        match DType::I32.read(&format!("{sign}{}", literal.base10_digits())) {
            Some(value) => Some(Expr::Literal(value)),
            None => {
                let limit = match sign {
                    "" => format!("the largest is {}", i32::MAX),
                    _ => format!("the smallest is {}", i32::MIN),
                };
                self.fail(whole, Problem::FloatRange { found, computes_in, limit })
            }
        }
    }

    /// What to say of a float where integers are computed.
    fn float_among_integers(&self, float: &LitFloat) -> Problem {
        let whole = float.base10_parse::<f64>().ok().filter(|value| value.fract() == 0.0 && value.abs() < 1e9);
        let written = whole.map_or_else(|| "an integer".to_string(), |value| format!("`{value}`"));
        let found = float.to_string();
        match self.signature.computes {
            DType::I32 => Problem::FloatInIntegers { found, written },
            _ => Problem::FloatLiteralInSum { found, written },
        }
    }

    /// What to say of `i32::from(element)`, or of `element as i32`, where floats are computed.
    fn integer_among_floats(&self, whole: &dyn ToTokens, element: &syn::Expr) -> Problem {
        let (computes, inner) = (self.computes, text(element));
        let written = match self.type_of(element) {
            DType::I32 if computes == DType::F32 => format!("{inner} as f32"),
            _ => format!("{computes}::from({inner})"),
        };
        let instead = if self.signature.sums_integers() { ", or sum integers, `let mut acc = 0;`" } else { "" };
        Problem::IntegerInFloats { found: text(whole), written, instead: instead.to_string() }
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

    /// A name of the type that the nest computes in: `f32::max`.
    fn associated<'e>(&self, expr: &'e syn::Expr) -> Option<&'e Ident> {
        associated(expr, self.computes)
    }

    /// Whether an expression is a name of a type that other nests compute in.
    fn is_of_other_type(&self, expr: &syn::Expr) -> bool {
        let others = [DType::F32, DType::F64].into_iter().filter(|dtype| *dtype != self.computes);
        others.into_iter().any(|dtype| associated(expr, dtype).is_some())
    }

    /// A value has the type that is read here.
    fn check_same(&mut self, dtype: DType, ident: &Ident) -> Option<()> {
        if dtype == self.computes {
            return Some(());
        }
        let (found, computes_in) = (ident.to_string(), self.computes.to_string());
        let problem = match dtype {
            DType::I32 => Problem::IntegerAsFloat { name: found, computes_in },
            float => Problem::FloatInSum { found, dtype: float.to_string() },
        };
        self.fail(ident, problem)
    }

    /// Integers are not divided.
    pub(crate) fn check_operator(&mut self, op: BinaryOp, at: &dyn ToTokens) -> Option<()> {
        match (op, self.computes) {
            (BinaryOp::Div, DType::I32) => self.fail(at, Problem::IntegerQuotient),
            _ => Some(()),
        }
    }

    /// The type of the elements that an expression is made of: in a nest of floats, `i32` where its innermost parts say so.
    pub(crate) fn type_of(&self, expr: &syn::Expr) -> DType {
        let computes = self.signature.computes;
        if !self.signature.sums_integers() {
            return computes;
        }
        let integer_if = |is: bool| if is { DType::I32 } else { computes };
        match plain(expr) {
            syn::Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                integer_if(matches!(literal.suffix(), "" | "i32"))
            }
            syn::Expr::Unary(unary) => self.type_of(&unary.expr),
            syn::Expr::Binary(binary) => {
                let sides = [&*binary.left, &*binary.right].map(|side| (self.is_index(side), self.type_of(side)));
                integer_if(sides.iter().any(|(is_index, dtype)| !is_index && *dtype == DType::I32))
            }
            syn::Expr::MethodCall(call) => self.type_of(&call.receiver),
            syn::Expr::Cast(cast) => integer_if(is_type(&cast.ty, DType::I32)),
            syn::Expr::Call(call) => integer_if(associated(&call.func, DType::I32).is_some()),
            syn::Expr::Index(_) => {
                let tensor = path(subscripts(expr).0).and_then(|name| lookup(&self.names, name));
                let is_integer = |param: &usize| self.signature.params[*param].dtype == DType::I32;
                integer_if(matches!(tensor, Some(Meaning::Tensor(param)) if is_integer(param)))
            }
            syn::Expr::Path(_) if associated(expr, DType::I32).is_some() => DType::I32,
            other => match path(other).and_then(|name| lookup(&self.names, name)) {
                Some(Meaning::Element(_, dtype)) => *dtype,
                Some(Meaning::Accumulator(at)) => self.accumulators[*at].dtype,
                Some(Meaning::Scalar(param)) => integer_if(self.signature.params[*param].dtype == DType::I32),
                _ => computes,
            },
        }
    }

    /// The type of the elements that a `let` holds.
    pub(crate) fn type_of_let(&self, local: &Let<'_>) -> DType {
        match local.ty {
            Some(ty) if self.signature.sums_integers() && is_type(ty, DType::I32) => DType::I32,
            Some(_) => self.signature.computes,
            None => self.type_of(local.value),
        }
    }

    /// Reports a name of that type.
    fn other_float<T>(&mut self, expr: &syn::Expr) -> Option<T> {
        let computes_in = self.computes.to_string();
        self.fail(expr, Problem::OtherFloat { found: text(expr), computes_in })
    }

    /// What to say of `f32::from` around something that has no narrower type.
    fn widening(&self, found: &dyn ToTokens) -> Problem {
        let (found, computes_in) = (text(found), self.computes.to_string());
        let narrower = match self.computes {
            DType::F64 => "`f32`, `f16`, `bf16`, `u8`, `i8` or `i32`",
            DType::I32 => "`u8` or `i8`",
            _ => "`f16`, `bf16`, `u8` or `i8`",
        };
        Problem::Widening { found, computes_in, narrower: narrower.to_string() }
    }

    /// A scalar parameter; `converted` is the `f64::from` around it.
    fn scalar(&mut self, param: usize, at: &dyn ToTokens, converted: Option<&syn::Expr>) -> Option<Expr> {
        self.check_type(param, at, converted)?;
        Some(Expr::Load { param, index: Vec::new() })
    }

    /// An element of another type than the nest computes in is converted, and no other.
    fn check_type(&mut self, param: usize, at: &dyn ToTokens, converted: Option<&syn::Expr>) -> Option<()> {
        let (dtype, computes) = (self.signature.params[param].dtype, self.computes);
        let is_cast = converted.is_some_and(|whole| matches!(plain(whole), syn::Expr::Cast(_)));
        match (dtype == computes, converted) {
            (false, _) if computes == DType::I32 && !dtype.is_integer() => {
                self.fail(at, Problem::FloatInSum { found: text(at), dtype: dtype.to_string() })
            }
            // Rust has no `From<i32>` for `f32`, which does not hold all of them.
            (false, _) if (dtype, computes, is_cast) == (DType::I32, DType::F32, false) => {
                let (name, computes_in) = (text(at), computes.to_string());
                self.fail(at, Problem::IntegerAsFloat { name, computes_in })
            }
            (false, None) => {
                let (found, computes_in) = (text(at), computes.to_string());
                self.fail(at, Problem::NarrowElement { found, dtype: dtype.to_string(), computes_in })
            }
            (true, Some(whole)) => self.fail(whole, self.widening(&at)),
            _ => Some(()),
        }
    }

    /// An element; `converted` is the `f32::from` around it.
    fn load(&mut self, expr: &syn::Expr, converted: Option<&syn::Expr>) -> Option<Expr> {
        let (param, index) = self.element(expr)?;
        let dtype = self.signature.params[param].dtype;
        self.check_type(param, expr, converted)?;
        let Some(output) = self.output.as_ref().filter(|output| output.param == param) else {
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

    /// `f32::NEG_INFINITY` and its like.
    fn float_constant(&mut self, name: &Ident, expr: &syn::Expr) -> Option<Expr> {
        let computes = self.computes;
        let integers = [("MAX", i32::MAX), ("MIN", i32::MIN)];
        if let Some((_, value)) = integers.iter().find(|(known, _)| computes == DType::I32 && name == known) {
            return Some(Expr::Literal(f64::from(*value)));
        }
        match FLOATS.iter().find(|(known, ..)| computes != DType::I32 && name == known) {
            Some((.., value)) if computes == DType::F64 => Some(Expr::Literal(*value)),
            Some((_, value, _)) => Some(Expr::Literal(f64::from(*value))),
            None => {
                let names =
                    if computes == DType::I32 { vec!["MAX", "MIN"] } else { FLOATS.map(|(known, ..)| known).to_vec() };
                let constants: Vec<String> = names.iter().map(|known| format!("`{computes}::{known}`")).collect();
                let constants = constants.join(", ");
                let computes_in = computes.to_string();
                self.fail(expr, Problem::FloatConstant { found: text(expr), constants, computes_in })
            }
        }
    }

    /// The exponent of `powi`: an integer as it is written, or a declared constant.
    fn exponent(&mut self, expr: &syn::Expr) -> Option<Expr> {
        let (negative, magnitude) = match plain(expr) {
            syn::Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => (true, plain(expr)),
            other => (false, other),
        };
        let magnitude = match magnitude {
            syn::Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) if matches!(literal.suffix(), "" | "i32") => {
                literal.base10_parse::<i64>().ok()
            }
            other => match path(other).and_then(|name| lookup(&self.names, name)) {
                Some(Meaning::Constant(Constant { value: ConstantValue::Integer(value), .. })) => Some(*value),
                _ => None,
            },
        };
        let exponent = magnitude.and_then(|n| i32::try_from(if negative { -n } else { n }).ok());
        match exponent {
            Some(exponent) => Some(Expr::Literal(f64::from(exponent))),
            None => self.fail(expr, Problem::PowiExponent { found: text(expr) }),
        }
    }

    fn cast(&mut self, cast: &ExprCast, depth: usize) -> Option<Expr> {
        let computes = self.computes;
        if !is_type(&cast.ty, computes) {
            if is_type(&cast.ty, DType::I32) && !self.is_index(&cast.expr) {
                return self.fail(cast, self.integer_among_floats(cast, &cast.expr));
            }
            let computes_in = computes.to_string();
            return self.fail(&cast.ty, Problem::CastType { found: text(&cast.ty), computes_in });
        }
        if !self.is_index(&cast.expr) {
            return self.converted_integer(cast).unwrap_or_else(|| self.value_at(&cast.expr, depth));
        }
        let index = self.index(&cast.expr)?;
        Some(match index.as_constant() {
            Some(value) => Expr::Literal(computes.rounded(value as f64)),
            None => Expr::Index(index),
        })
    }

    /// What a cast makes of an integer of another type: an element, a scalar or the finished sum; `None` of what has the type already.
    fn converted_integer(&mut self, cast: &ExprCast) -> Option<Option<Expr>> {
        let (whole, inner) = (syn::Expr::Cast(cast.clone()), plain(&cast.expr));
        let is_other = |dtype: DType| dtype.is_integer() && dtype != self.computes;
        let (base, indices) = subscripts(inner);
        let value = match path(base).and_then(|name| lookup(&self.names, name))? {
            Meaning::Tensor(param) if !indices.is_empty() && is_other(self.signature.params[*param].dtype) => {
                return Some(self.load(inner, Some(&whole)));
            }
            Meaning::Scalar(param) if is_other(self.signature.params[*param].dtype) => {
                return Some(self.scalar(*param, inner, Some(&whole)));
            }
            Meaning::Element(value, dtype) if is_other(*dtype) => Some(value.clone()),
            Meaning::Accumulator(at) if is_other(self.accumulators[*at].dtype) => {
                let Accumulator { home, value, .. } = &self.accumulators[*at];
                if *home != self.depth {
                    let name = text(inner);
                    return Some(self.fail(inner, Problem::AccumulatorInLoop { name }));
                }
                value.clone()
            }
            _ => return None,
        };
        Some(match value {
            Some(value @ (Expr::Acc | Expr::Load { .. })) => Some(value),
            Some(_) => {
                let (found, computes_in) = (text(cast), self.computes.to_string());
                self.fail(cast, Problem::IntegerConverted { found, computes_in })
            }
            None => None,
        })
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

    fn select(&mut self, branches: &ExprIf, depth: usize) -> Option<Expr> {
        let condition = self.condition(&branches.cond, depth);
        let then = self.branch(&branches.then_branch, depth);
        let Some((_, otherwise)) = &branches.else_branch else {
            return self.fail(branches.if_token, Problem::NoElse);
        };
        let otherwise = self.value_at(otherwise, depth);
        let (op, lhs, rhs) = condition?;
        Some(Expr::Select {
            op,
            lhs: Box::new(lhs),
            rhs: Box::new(rhs),
            then: Box::new(then?),
            otherwise: Box::new(otherwise?),
        })
    }

    /// The condition around the loops of a sum: it is of scalars and literals, so that a call decides it once.
    pub(crate) fn condition_of_sum(&mut self, expr: &syn::Expr) -> Option<Condition> {
        let (op, lhs, rhs) = self.condition(expr, 0)?;
        let varies = |e: &Expr| match e {
            Expr::Load { index, .. } => !index.is_empty(),
            other => matches!(other, Expr::Index(_)),
        };
        if lhs.any(&varies) || rhs.any(&varies) {
            return self.fail(expr, Problem::ConditionVaries { found: text(expr) });
        }
        Some(Condition { op, lhs, rhs })
    }

    fn condition(&mut self, condition: &syn::Expr, depth: usize) -> Option<(CompareOp, Expr, Expr)> {
        let condition = plain(condition);
        if self.computes == DType::I32 {
            let instead = match self.signature.computes {
                DType::I32 => "",
                _ => ", or choose once the finished sum is converted, `acc as f32`",
            };
            return self
                .fail(condition, Problem::IntegerChoice { found: text(condition), instead: instead.to_string() });
        }
        let comparison = match condition {
            syn::Expr::Binary(binary) => comparison(&binary.op).map(|op| (op, binary)),
            _ => None,
        };
        let Some((op, binary)) = comparison else {
            return self.fail(condition, Problem::Condition { found: text(condition) });
        };
        let sides = [&*binary.left, &*binary.right];
        let compared =
            sides.into_iter().find(|side| !is_integer(side)).filter(|_| sides.iter().all(|side| self.is_index(side)));
        if let Some(compared) = compared {
            let name = text(compared);
            let computes = self.computes;
            let operand = if path(compared).is_some() { name } else { format!("({name})") };
            let written = format!("{operand} as {computes}");
            return self.fail(condition, Problem::IndexCompared { found: text(condition), written });
        }
        let lhs = self.value_at(&binary.left, depth);
        let rhs = self.value_at(&binary.right, depth);
        Some((op, lhs?, rhs?))
    }

    /// `{ let t = …; value }`
    pub(crate) fn branch(&mut self, block: &syn::Block, depth: usize) -> Option<Expr> {
        let outer = self.names.len();
        let value = self.branch_value(block, depth);
        self.names.truncate(outer);
        value
    }

    fn branch_value(&mut self, block: &syn::Block, depth: usize) -> Option<Expr> {
        let (last, before) = match block.stmts.split_last() {
            Some((syn::Stmt::Expr(syn::Expr::Return(last), _), _)) => return self.fail(last, returned(last)),
            Some((syn::Stmt::Expr(last, None), before)) => (last, before),
            _ => return self.fail(block, Problem::BranchValue),
        };
        for stmt in before {
            match stmt {
                syn::Stmt::Local(local) => match binding(local, self.errors) {
                    Ok(local) => self.temporary(&local, depth),
                    Err(names) => self.declare_broken(&names),
                },
                syn::Stmt::Expr(syn::Expr::Return(early), _) => self.errors.push(early, returned(early)),
                other => self.errors.push(other, Problem::BranchStatement),
            }
        }
        self.value_at(last, depth)
    }

    /// An immutable `let` of an index or an element.
    pub(crate) fn bind(&mut self, local: &Let<'_>) {
        self.temporary(local, 0);
    }

    fn temporary(&mut self, local: &Let<'_>, depth: usize) {
        let meaning = match self.holds_index(local) {
            _ if local.mutable && depth > 0 => self.fail(local.name, Problem::BranchStatement),
            None => None,
            Some(true) => self.index(local.value).map(Meaning::Index),
            Some(false) => {
                let dtype = if self.inside > 0 { self.computes } else { self.type_of_let(local) };
                let value = self.within(dtype, |scope| scope.value_at(local.value, depth));
                value.map(|value| Meaning::Element(value, dtype))
            }
        };
        self.declare(local.name, meaning.unwrap_or(Meaning::Broken));
    }

    /// Whether a `let` holds an index: its type says so, or else its value does.
    pub(crate) fn holds_index(&mut self, local: &Let<'_>) -> Option<bool> {
        match local.ty {
            None => Some(self.is_index(local.value)),
            Some(ty) if is_type(ty, self.signature.computes) => Some(false),
            Some(ty) if self.signature.sums_integers() && is_type(ty, DType::I32) => Some(false),
            Some(Type::Path(ty)) if ty.path.is_ident("usize") => Some(true),
            Some(other) => {
                let computes_in = self.computes.to_string();
                self.fail(other, Problem::LetType { found: text(other), computes_in })
            }
        }
    }
}

/// Whether a type is that of some elements.
pub(crate) fn is_type(ty: &Type, dtype: DType) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(dtype.name()))
}

/// What to say of a `return`.
fn returned(at: &syn::ExprReturn) -> Problem {
    Problem::BranchReturn { value: at.expr.as_ref().map_or_else(|| "value".to_string(), text) }
}

/// Whether an expression is an integer as it is written.
fn is_integer(expr: &syn::Expr) -> bool {
    matches!(plain(expr), syn::Expr::Lit(_))
}

/// `2` was meant as `2.0`; a suffix that says otherwise is shown as it is.
fn integer_literal(integer: &LitInt) -> Problem {
    match integer.suffix() {
        "" => Problem::IntegerLiteral { found: integer.base10_digits().to_string() },
        _ => Problem::OtherLiteral { found: integer.to_string() },
    }
}

impl Expr {
    /// How many operations it has, and how deep it is.
    fn size(&self) -> (usize, usize) {
        let sizes = self.parts().into_iter().map(Expr::size);
        sizes.fold((1, 1), |(operations, depth), (o, d)| (operations + o, depth.max(d + 1)))
    }
}
