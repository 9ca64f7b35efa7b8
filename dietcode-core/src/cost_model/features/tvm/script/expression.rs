//! Expressions: indices, values, conditions.

use std::sync::Arc;

use super::cursor::{Cursor, Parsed, Token};
use super::{DEEPEST, Reader};
use crate::ir::{BinaryOp, CompareOp, DType, Expr, Function};

/// The type of elements that TVM calls so.
pub(super) fn dtype(name: &str) -> Parsed<DType> {
    match name {
        "float32" => Ok(DType::F32),
        "float16" => Ok(DType::F16),
        "bfloat16" => Ok(DType::BF16),
        other => Err(format!("elements of type {other}: float32, float16 and bfloat16 are read")),
    }
}

impl Reader {
    /// Expressions up to a bracket.
    pub(super) fn list(&self, line: &mut Cursor<'_>, end: &str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        while !line.take(end) {
            list.push(self.expression(line)?);
            if !line.peek(end) {
                line.expect(",")?;
            }
        }
        Ok(list)
    }

    pub(super) fn expression(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        line.depth += 1;
        if line.depth > DEEPEST {
            return Err("the expression is nested too deep".into());
        }
        let mut sum = self.comparison(line)?;
        while line.take("and") {
            sum = sum.and(self.comparison(line)?);
        }
        line.depth -= 1;
        Ok(sum)
    }

    fn comparison(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let a = self.sum(line)?;
        let ops = [
            ("<", CompareOp::Lt),
            ("<=", CompareOp::Le),
            (">", CompareOp::Gt),
            (">=", CompareOp::Ge),
            ("==", CompareOp::Eq),
            ("!=", CompareOp::Ne),
        ];
        match ops.into_iter().find(|(sign, _)| line.take(sign)) {
            Some((_, op)) => Ok(Expr::compare(op, a, self.sum(line)?)),
            None => Ok(a),
        }
    }

    fn sum(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let mut sum = self.product(line)?;
        loop {
            let op = if line.take("+") {
                BinaryOp::Add
            } else if line.take("-") {
                BinaryOp::Sub
            } else {
                return Ok(sum);
            };
            sum = Expr::binary(op, sum, self.product(line)?);
        }
    }

    fn product(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let mut product = self.operand(line)?;
        loop {
            let op = if line.take("*") {
                BinaryOp::Mul
            } else if line.take("//") || line.take("/") {
                BinaryOp::Div
            } else if line.take("%") {
                BinaryOp::Mod
            } else {
                return Ok(product);
            };
            product = Expr::binary(op, product, self.operand(line)?);
        }
    }

    fn operand(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        match line.next()? {
            Token::Int(value) => Ok(Expr::Int(*value)),
            Token::Float(value) => Ok(Expr::Float(*value)),
            Token::Sign("-") => match line.next()? {
                Token::Int(value) => Ok(Expr::Int(-value)),
                Token::Float(value) => Ok(Expr::Float(-value)),
                _ => Err("`-` in front of what is no number is not read".into()),
            },
            Token::Sign("(") => {
                let inner = self.expression(line)?;
                line.expect(")")?;
                Ok(inner)
            }
            Token::Word(word) if line.take("[") => {
                let index = self.list(line, "]")?;
                Ok(Expr::Load(self.buffer(word, index.len())?, index))
            }
            Token::Word(word) if line.take("(") => self.call(word, line),
            Token::Word(word) => {
                let known = self.names.iter().rev().find(|(name, _)| name == word);
                known.map(|(_, value)| value.clone()).ok_or_else(|| format!("`{word}` is not known"))
            }
            _ => Err("expected an expression".into()),
        }
    }

    fn call(&self, function: &str, line: &mut Cursor<'_>) -> Parsed<Expr> {
        if function == "T.Cast" {
            let of = dtype(line.text()?)?;
            line.expect(",")?;
            let value = self.expression(line)?;
            line.expect(")")?;
            return Ok(Expr::Cast(of, Arc::new(value)));
        }
        let arguments = self.list(line, ")")?;
        let function = function.strip_prefix("T.").unwrap_or(function);
        let of_one = |function| Ok(Expr::Call(function, arguments.clone()));
        match (function, &arguments[..]) {
            ("float32" | "float16" | "bfloat16", [Expr::Float(x)]) => Ok(Expr::Float(*x)),
            ("float32" | "float16" | "bfloat16", [Expr::Int(x)]) => Ok(Expr::Float(*x as f64)),
            ("int32" | "int64", [Expr::Int(x)]) => Ok(Expr::Int(*x)),
            ("max", [a, b]) => Ok(Expr::Binary(BinaryOp::Max, Arc::new(a.clone()), Arc::new(b.clone()))),
            ("min", [a, b]) => Ok(Expr::Binary(BinaryOp::Min, Arc::new(a.clone()), Arc::new(b.clone()))),
            ("if_then_else", [c, a, b]) => {
                Ok(Expr::Select(Arc::new(c.clone()), Arc::new(a.clone()), Arc::new(b.clone())))
            }
            ("Mul", [a, b]) => Ok(Expr::binary(BinaryOp::Mul, a.clone(), b.clone())),
            ("exp", [_]) => of_one(Function::Exp),
            ("log", [_]) => of_one(Function::Ln),
            ("sqrt", [_]) => of_one(Function::Sqrt),
            ("tanh", [_]) => of_one(Function::Tanh),
            ("erf", [_]) => of_one(Function::Erf),
            ("fabs", [_]) => of_one(Function::Abs),
            (other, _) => Err(format!("a call of `{other}` with {} arguments is not read", arguments.len())),
        }
    }
}
