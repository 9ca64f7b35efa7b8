//! The canonical print of a kernel, and its hash.
//!
//! The print is itself a nest that the front end accepts and reads back as the same definition: parsing, printing and
//! parsing again changes nothing. It is what people are shown, and what the source hash is taken of.

use crate::reduce::Form;
use crate::{
    Affine, BinaryOp, CompareOp, Condition, DType, Expr, Function, KernelDef, LoopDef, Param, Reduction, Role,
};
use std::fmt::{self, Display, Formatter};

impl KernelDef {
    /// A hash of the canonical print without the config's name, so that a nest that gets a config, or whose config moves, is the
    /// same nest: FNV-1a, 64 bits.
    ///
    /// The value is written into tuned files and C symbols, so it must be the same for every compiler and version of
    /// this crate (which rules `std`'s hasher out), and it is computed in front of every user's build (which is why
    /// its ten lines stand here and no crate for it among the macro's dependencies).
    pub fn source_hash(&self) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let nest = KernelDef { config: None, ..self.clone() };
        nest.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

impl Display for KernelDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let config = self.config.iter().map(|path| format!("config = {path:?}"));
        let names: Vec<&str> = self.prepared.iter().map(|prepared| &*self.params[prepared.param].name).collect();
        let prepared = (!names.is_empty()).then(|| format!("prepared({})", names.join(", ")));
        match config.chain(prepared).collect::<Vec<_>>().join(", ").as_str() {
            "" => writeln!(f, "#[dynamic_kernel]")?,
            arguments => writeln!(f, "#[dynamic_kernel({arguments})]")?,
        }
        write!(f, "fn {}(", self.name)?;
        for (at, param) in self.params.iter().enumerate() {
            write!(f, "{}{param}", if at == 0 { "" } else { ", " })?;
        }
        writeln!(f, ") {{")?;
        self.nest(f)?;
        writeln!(f, "}}")
    }
}

impl KernelDef {
    fn nest(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let spatial = || self.loops.iter().filter(|l| l.role == Role::Spatial);
        let inside = spatial().count() + 1;
        open(f, 1, spatial())?;
        let pad = indent(inside);
        let acc = self.accumulator();
        if let Some(reduction) = &self.reduction {
            self.sum(f, inside, reduction, &acc)?;
        }
        let output = Load { name: &self.params[self.output].name, index: &self.output_index };
        let value = self.show(self.computes_in(), &self.epilogue, &acc);
        let computes = self.computes_in();
        match self.params[self.output].dtype {
            same if same == computes => writeln!(f, "{pad}{output} = {value};")?,
            half if half.is_half() => writeln!(f, "{pad}{output} = {half}::from_{computes}({value});")?,
            narrow => {
                let value = Shown { tightness: Tightness::Negation, ..value };
                writeln!(f, "{pad}{output} = {value} as {narrow};")?;
            }
        }
        close(f, 1, spatial().count())
    }

    fn sum(&self, f: &mut Formatter<'_>, depth: usize, sum: &Reduction, acc: &str) -> fmt::Result {
        let pad = indent(depth);
        writeln!(f, "{pad}let mut {acc} = {};", self.show(sum.dtype, &sum.init, acc))?;
        let Some(Condition { op, lhs, rhs }) = &sum.condition else { return self.terms(f, depth, sum, acc) };
        let side = |expr| Shown { tightness: Tightness::Sum, ..self.show(self.computes_in(), expr, acc) };
        writeln!(f, "{pad}if {} {op} {} {{", side(lhs), side(rhs))?;
        self.terms(f, depth + 1, sum, acc)?;
        writeln!(f, "{pad}}}")
    }

    fn terms(&self, f: &mut Formatter<'_>, depth: usize, sum: &Reduction, acc: &str) -> fmt::Result {
        let loops = || self.loops.iter().filter(|l| l.role == Role::Reduce);
        open(f, depth, loops())?;
        let (pad, term) = (indent(depth + loops().count()), self.show(sum.dtype, &sum.update, acc));
        match sum.op.form() {
            Form::Operator(op) => writeln!(f, "{pad}{acc} {op}= {term};")?,
            Form::Method(function) => writeln!(f, "{pad}{acc} = {acc}.{function}({term});")?,
        }
        close(f, depth, loops().count())
    }

    /// `acc`, or `acc1`, `acc2` and so on if the nest uses that name for something else.
    fn accumulator(&self) -> String {
        let params = self.params.iter().map(|param| &param.name);
        let names =
            || params.clone().chain(self.shape_vars.iter().map(|v| &v.name)).chain(self.loops.iter().map(|l| &l.name));
        let mut candidates = std::iter::once("acc".to_string()).chain((1..).map(|n| format!("acc{n}")));
        candidates.find(|candidate| names().all(|name| name != candidate)).unwrap_or_default()
    }

    /// An expression whose values are of a type.
    fn show<'a>(&'a self, computes: DType, expr: &'a Expr, acc: &'a str) -> Shown<'a> {
        let summed = self.reduction.as_ref().map_or(computes, |sum| sum.dtype);
        Shown { params: &self.params, computes, summed, acc, expr, tightness: Tightness::Loose }
    }
}

fn indent(depth: usize) -> String {
    " ".repeat(4 * depth)
}

fn open<'a>(f: &mut Formatter<'_>, depth: usize, loops: impl Iterator<Item = &'a LoopDef>) -> fmt::Result {
    for (at, l) in loops.enumerate() {
        writeln!(f, "{}for {} in 0..{} {{", indent(depth + at), l.name, l.extent)?;
    }
    Ok(())
}

fn close(f: &mut Formatter<'_>, depth: usize, count: usize) -> fmt::Result {
    (0..count).rev().try_for_each(|at| writeln!(f, "{}}}", indent(depth + at)))
}

impl Display for Param {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let borrow = match self.mutable {
            _ if self.is_scalar() => "",
            true => "&mut ",
            false => "&",
        };
        write!(f, "{}: {borrow}{}{}", self.name, "[".repeat(self.dims.len()), self.dtype)?;
        self.dims.iter().rev().try_for_each(|dim| write!(f, "; {dim}]"))
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

struct Load<'a> {
    name: &'a str,
    index: &'a [Affine],
}

impl Display for Load<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.index.iter().try_for_each(|index| write!(f, "[{index}]"))
    }
}

/// How tightly the surroundings bind an expression: it gets parentheses if it binds less tightly itself.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Tightness {
    Loose,
    Sum,
    Product,
    Negation,
    Receiver,
}

struct Shown<'a> {
    params: &'a [Param],
    computes: DType,
    /// The type of the accumulator.
    summed: DType,
    acc: &'a str,
    expr: &'a Expr,
    tightness: Tightness,
}

impl Shown<'_> {
    fn at<'b>(&'b self, expr: &'b Expr, tightness: Tightness) -> Shown<'b> {
        Shown { expr, tightness, ..*self }
    }

    fn bare(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.expr {
            Expr::Acc if self.summed != self.computes => write!(f, "{} as {}", self.acc, self.computes),
            Expr::Acc => f.write_str(self.acc),
            Expr::Literal(value) => literal(f, self.computes, *value),
            Expr::Load { param, index } => {
                let Param { name, dtype, .. } = &self.params[*param];
                let load = Load { name, index };
                let computes = self.computes;
                match *dtype {
                    same if same == computes => write!(f, "{load}"),
                    DType::I32 => write!(f, "{load} as {computes}"),
                    _ => write!(f, "{computes}::from({load})"),
                }
            }
            Expr::Index(index) if index.as_var().is_some() => write!(f, "{index} as {}", self.computes),
            Expr::Index(index) => write!(f, "({index}) as {}", self.computes),
            Expr::Binary(op, lhs, rhs) => {
                let (left, right) = op.tightness();
                write!(f, "{} {op} {}", self.at(lhs, left), self.at(rhs, right))
            }
            Expr::Call(function, arguments) => self.call(f, *function, arguments),
            Expr::Select { op, lhs, rhs, then, otherwise } => {
                let loose = |expr| self.at(expr, Tightness::Loose);
                write!(f, "if {} {op} {} ", self.at(lhs, Tightness::Sum), self.at(rhs, Tightness::Sum))?;
                write!(f, "{{ {} }} else {{ {} }}", loose(then), loose(otherwise))
            }
        }
    }

    fn call(&self, f: &mut Formatter<'_>, function: Function, arguments: &[Expr]) -> fmt::Result {
        let [receiver, rest @ ..] = arguments else { return write!(f, "{function}()") };
        if function == Function::Neg {
            return write!(f, "-{}", self.at(receiver, Tightness::Negation));
        }
        write!(f, "{}.{function}(", self.at(receiver, Tightness::Receiver))?;
        for (at, argument) in rest.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match argument {
                Expr::Literal(exponent) if function == Function::Powi => write!(f, "{exponent}")?,
                argument => write!(f, "{}", self.at(argument, Tightness::Loose))?,
            }
        }
        write!(f, ")")
    }

    /// How tightly the expression itself binds. A cast before `<` would be read as a generic argument, so it binds
    /// looser than everything but an assignment.
    fn own_tightness(&self) -> Tightness {
        match self.expr {
            Expr::Index(_) | Expr::Select { .. } => Tightness::Loose,
            Expr::Acc if self.summed != self.computes => Tightness::Loose,
            Expr::Load { param, .. } if self.params[*param].dtype == DType::I32 && self.computes != DType::I32 => {
                Tightness::Loose
            }
            Expr::Binary(op, ..) => op.tightness().0,
            Expr::Call(Function::Neg, _) => Tightness::Negation,
            Expr::Literal(value) if value.is_sign_negative() => Tightness::Negation,
            Expr::Acc | Expr::Literal(_) | Expr::Load { .. } | Expr::Call(..) => Tightness::Receiver,
        }
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.own_tightness() < self.tightness {
            f.write_str("(")?;
            self.bare(f)?;
            return f.write_str(")");
        }
        self.bare(f)
    }
}

/// The shortest decimal that reads back as the same number of the type that the nest computes in.
fn literal(f: &mut Formatter<'_>, computes: DType, value: f64) -> fmt::Result {
    let narrow = value as f32;
    if value.is_infinite() {
        return write!(f, "{computes}::{}INFINITY", if value > 0.0 { "" } else { "NEG_" });
    }
    match computes {
        DType::F64 => write!(f, "{value:?}"),
        DType::I32 if value == f64::from(i32::MIN) => write!(f, "i32::MIN"),
        DType::I32 => write!(f, "{}", value as i64),
        _ if f64::from(narrow) == value => write!(f, "{narrow:?}"),
        _ => write!(f, "{value:?}"),
    }
}

impl BinaryOp {
    /// What the left and the right operand must bind at least as tightly as; operators associate to the left.
    fn tightness(self) -> (Tightness, Tightness) {
        match self {
            BinaryOp::Add | BinaryOp::Sub => (Tightness::Sum, Tightness::Product),
            BinaryOp::Mul | BinaryOp::Div => (Tightness::Product, Tightness::Negation),
        }
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
        })
    }
}

impl Display for CompareOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
        })
    }
}
