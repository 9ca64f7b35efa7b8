//! The printed form of the IR: it reads like the loop nest it is, and tests compare it.

use std::fmt::{self, Display, Formatter, Write};

use dietcode_syntax::Role;

use super::{ACC, BinaryOp, Block, Buffer, Expr, ForKind, Intrinsic, Parts, Program, Region, Scope, Stmt};

/// How tightly an operator binds; larger is tighter.
fn precedence(e: &Expr) -> u8 {
    match e {
        Expr::Select(..) => 0,
        Expr::Binary(BinaryOp::And, ..) => 1,
        Expr::Compare(..) => 2,
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => 3,
        Expr::Binary(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod, ..) => 4,
        _ => 5,
    }
}

/// An operand: in parentheses if it binds less tightly than its place needs.
fn operand(f: &mut Formatter<'_>, e: &Expr, at_least: u8) -> fmt::Result {
    if precedence(e) < at_least { write!(f, "({e})") } else { write!(f, "{e}") }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let own = precedence(self);
        match self {
            Expr::Int(value) => write!(f, "{value}"),
            Expr::Float(value) => write!(f, "{value:?}"),
            Expr::Var(name) if &**name == ACC => f.write_str("acc"),
            Expr::Var(name) => f.write_str(name),
            Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => write!(f, "{}({a}, {b})", binary_name(*op)),
            Expr::Binary(op, a, b) => {
                operand(f, a, own)?;
                write!(f, " {} ", binary_name(*op))?;
                operand(f, b, own + 1)
            }
            Expr::Compare(op, a, b) => {
                operand(f, a, own + 1)?;
                write!(f, " {op} ")?;
                operand(f, b, own + 1)
            }
            Expr::Select(c, a, b) => write!(f, "if {c} {{ {a} }} else {{ {b} }}"),
            Expr::Load(buffer, index) => write!(f, "{}{}", buffer.name, Brackets(index)),
            Expr::Cast(dtype, a) => {
                operand(f, a, 5)?;
                write!(f, " as {dtype}")
            }
            Expr::Call(function, args) => {
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                write!(f, "{function}({})", args.join(", "))
            }
        }
    }
}

struct Brackets<'a>(&'a [Expr]);

impl Display for Brackets<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|index| write!(f, "[{index}]"))
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(binary_name(*self))
    }
}

fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
        BinaryOp::And => "&&",
    }
}

impl Display for Buffer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scope = match self.scope {
            Scope::Global => "global",
            Scope::Shared => "shared",
            Scope::Panel => "panel",
            Scope::Local => "local",
            Scope::Register => "register",
            Scope::Fragment => "fragment",
            Scope::View => "view",
        };
        write!(f, "{scope} {}{}", self.name, Brackets(&self.shape))?;
        if self.swizzle == 0 { Ok(()) } else { write!(f, " swizzled by {}", self.swizzle) }
    }
}

impl Display for Region {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.buffer.name, Brackets(&self.base))
    }
}

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        print(self, 0, &mut text)?;
        f.write_str(&text)
    }
}

/// One line of the print.
fn line(out: &mut String, depth: usize, text: impl Display) -> fmt::Result {
    writeln!(out, "{:1$}{text}", "", depth * 2)
}

fn print(stmt: &Stmt, depth: usize, out: &mut String) -> fmt::Result {
    match stmt {
        Stmt::For { var, extent, kind, body } => {
            let kind = match kind {
                ForKind::Serial => "for",
                ForKind::Parallel => "parallel",
                ForKind::Vectorized => "vectorized",
                ForKind::Unrolled => "unrolled",
                ForKind::BlockIdx => "blockIdx.x",
                ForKind::ThreadIdx => "threadIdx.x",
                ForKind::VThread => "vthread",
            };
            line(out, depth, format_args!("{kind} {var} in 0..{extent}"))?;
            print(body, depth + 1, out)
        }
        Stmt::Let { var, value, body } => {
            line(out, depth, format_args!("let {var} = {value}"))?;
            print(body, depth, out)
        }
        Stmt::Store { buffer, index, value } => {
            line(out, depth, format_args!("{}{} = {value}", buffer.name, Brackets(index)))
        }
        Stmt::Allocate { buffer, body } => {
            line(out, depth, format_args!("allocate {buffer}"))?;
            print(body, depth, out)
        }
        Stmt::View { view, inside, whole, edge, fill, body } => {
            line(out, depth, format_args!("{view} = if {inside} {{ {whole} }} else {{ {edge} }} where"))?;
            print(fill, depth + 1, out)?;
            print(body, depth, out)
        }
        Stmt::IfThenElse { condition, then, otherwise } => {
            line(out, depth, format_args!("if {condition}"))?;
            print(then, depth + 1, out)?;
            otherwise.iter().try_for_each(|otherwise| {
                line(out, depth, "else")?;
                print(otherwise, depth + 1, out)
            })
        }
        Stmt::Seq(stmts) => stmts.iter().try_for_each(|stmt| print(stmt, depth, out)),
        Stmt::Sync => line(out, depth, "sync"),
        Stmt::Intrinsic(intrinsic) => line(out, depth, intrinsic),
    }
}

impl Display for Intrinsic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = |buffer: &Buffer, index: &[Expr]| format!("{}{}", buffer.name, Brackets(index));
        match self {
            Intrinsic::TransposeCopy {
                to,
                to_index,
                from,
                from_index,
                lanes,
                valid,
                columns,
                neighbours,
                runs,
                ..
            } => {
                let (to, from) = (at(to, to_index), at(from, from_index));
                write!(f, "{to} = transpose {from}, {valid} of {lanes} lanes, {columns} columns")?;
                if *neighbours > 1 {
                    write!(f, " of {neighbours}")?;
                }
                runs.iter().rev().try_for_each(|run| write!(f, ", {} times", run.extent))
            }
            Intrinsic::Copy {
                to,
                to_index,
                to_step,
                from,
                from_index,
                lanes,
                valid,
                padding,
                asynchronous,
                tf32,
                ..
            } => {
                let kind = if *asynchronous { "async copy" } else { "copy" };
                let (to, from) = (at(to, to_index), at(from, from_index));
                write!(f, "{to} = {kind} {from}, {valid} of {lanes} lanes")?;
                if *to_step != 1 {
                    write!(f, ", {to_step} apart")?;
                }
                padding.iter().try_for_each(|padding| write!(f, ", the others {padding}"))?;
                f.write_str(if *tf32 { ", as tf32" } else { "" })
            }
            Intrinsic::Prefetch { from, from_index, elements } => {
                write!(f, "prefetch {elements} elements from {}", at(from, from_index))
            }
            Intrinsic::Commit => f.write_str("commit"),
            Intrinsic::Wait(groups) => write!(f, "wait for all but {groups}"),
            Intrinsic::LoadMatrix {
                to, to_index, from, from_index, operand, reduce_stride, fragments, parts, ..
            } => {
                let transposed = if *reduce_stride == 1 { "" } else { " transposed" };
                let (to, from) = (at(to, to_index), at(from, from_index));
                let parts = match parts {
                    Parts::Whole => "",
                    Parts::High => ", as tf32",
                    Parts::HighAndLow => ", as two parts of tf32",
                };
                write!(f, "{to} = load {fragments} {operand:?}{transposed} {from}{parts}")
            }
            Intrinsic::Mma { to, to_index, a, a_index, b, b_index } => {
                write!(f, "{} += mma {} · {}", at(to, to_index), at(a, a_index), at(b, b_index))
            }
            Intrinsic::Dot { dot, to, to_index, a, a_index, b } => {
                let row = dot.row();
                write!(f, "{} += {} {} · ", at(to, to_index), row.name, at(a, a_index))?;
                match b {
                    Some((b, index)) if row.shifts([a.dtype, b.dtype]) => write!(f, "shifted {}", at(b, index)),
                    Some((b, index)) => write!(f, "{}", at(b, index)),
                    None => f.write_str("shifted 0"),
                }
            }
            Intrinsic::MeetLanes { op, to, to_index, parts } => {
                write!(f, "{} = {op} of the lanes of", at(to, to_index))?;
                parts.iter().try_for_each(|(from, index)| write!(f, " {}", at(from, index)))
            }
            Intrinsic::AtomicAdd { to, index, value } => write!(f, "{} += atomically {value}", at(to, index)),
        }
    }
}

impl Display for Block {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        let mut text = String::new();
        let open = |role, depth: &mut usize, text: &mut String| {
            self.iters_of(role).try_for_each(|iter| {
                line(text, *depth, format_args!("for {} in 0..{}", iter.name, iter.extent))?;
                *depth += 1;
                Ok(())
            })
        };
        open(Role::Spatial, &mut depth, &mut text)?;
        let spatial = depth;
        if let Some(reduction) = &self.reduction {
            line(&mut text, depth, format_args!("acc = {}", reduction.init))?;
            open(Role::Reduce, &mut depth, &mut text)?;
            let combined = reduction.combine(Expr::var(ACC), reduction.update.clone());
            line(&mut text, depth, format_args!("acc = {combined}"))?;
        }
        let output =
            format_args!("{}{} = {}", self.output.name, Brackets(&self.output_index), self.epilogue).to_string();
        line(&mut text, spatial, output)?;
        f.write_str(&text)
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        writeln!(f, "{}({})", self.name, params.join(", "))?;
        self.derived.iter().try_for_each(|(name, value)| writeln!(f, "let {name} = {value}"))?;
        self.blocks.iter().try_for_each(|block| write!(f, "{block}"))
    }
}
