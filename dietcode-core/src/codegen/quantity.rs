//! What a decision compares: a shape variable, or an integer that is computed of several, such as how many tiles cover an output.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = atom (('*' | '/') atom)*          what is divided by is positive for certain: a number, or the maximum of one and something
//! atom    = number | variable | '(' sum ')' | ('min' | 'max') '(' sum ',' sum ')'
//! ```
//!
//! All is computed in `i64`: what is too large is the largest, and what is too small the smallest; a quotient is rounded towards zero, as Rust
//! and C do it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ir::{BinaryOp, Expr};

/// Deeper and longer than any that is written, and far from the end of the stack.
const MAX_DEPTH: usize = 64;
const MAX_LENGTH: usize = 2000;

/// An integer of variables, which are named or numbered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quantity<V> {
    /// A shape variable.
    Var(V),
    /// A constant.
    Int(i64),
    /// Of two others.
    Of(Operator, Box<Quantity<V>>, Box<Quantity<V>>),
}

/// How two are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

impl Operator {
    fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Operator::Add => a.saturating_add(b),
            Operator::Sub => a.saturating_sub(b),
            Operator::Mul => a.saturating_mul(b),
            // The divisor is positive.
            Operator::Div => a / b.max(1),
            Operator::Min => a.min(b),
            Operator::Max => a.max(b),
        }
    }
}

impl<V> Quantity<V> {
    fn of(operator: Operator, a: Quantity<V>, b: Quantity<V>) -> Quantity<V> {
        match (operator, a, b) {
            (_, Quantity::Int(a), Quantity::Int(b)) => Quantity::Int(operator.of(a, b)),
            (Operator::Mul | Operator::Div, a, Quantity::Int(1))
            | (Operator::Add | Operator::Sub, a, Quantity::Int(0)) => a,
            (Operator::Mul, Quantity::Int(1), b) | (Operator::Add, Quantity::Int(0), b) => b,
            (_, a, b) => Quantity::Of(operator, Box::new(a), Box::new(b)),
        }
    }

    /// `a + b`
    #[must_use]
    pub fn plus(self, b: Quantity<V>) -> Quantity<V> {
        Quantity::of(Operator::Add, self, b)
    }

    /// `a - b`
    #[must_use]
    pub fn minus(self, b: Quantity<V>) -> Quantity<V> {
        Quantity::of(Operator::Sub, self, b)
    }

    /// `a * b`
    #[must_use]
    pub fn times(self, b: Quantity<V>) -> Quantity<V> {
        Quantity::of(Operator::Mul, self, b)
    }

    /// `a / max(b, 1)`
    #[must_use]
    pub fn over(self, b: Quantity<V>) -> Quantity<V> {
        let b = if b.is_positive() { b } else { b.max(Quantity::Int(1)) };
        Quantity::of(Operator::Div, self, b)
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, b: Quantity<V>) -> Quantity<V> {
        Quantity::of(Operator::Max, self, b)
    }

    /// Whether it is greater than zero, whatever its variables are.
    fn is_positive(&self) -> bool {
        match self {
            Quantity::Int(value) => *value > 0,
            Quantity::Of(Operator::Max, a, b) => a.is_positive() || b.is_positive(),
            Quantity::Of(Operator::Min, a, b) => a.is_positive() && b.is_positive(),
            _ => false,
        }
    }

    /// Its value, given those of the variables.
    pub fn value(&self, var: &impl Fn(&V) -> i64) -> i64 {
        match self {
            Quantity::Var(name) => var(name),
            Quantity::Int(value) => *value,
            Quantity::Of(operator, a, b) => operator.of(a.value(var), b.value(var)),
        }
    }

    /// The same of other variables; none: one of them has no counterpart.
    pub fn map<W>(&self, var: &impl Fn(&V) -> Option<W>) -> Option<Quantity<W>> {
        Some(match self {
            Quantity::Var(name) => Quantity::Var(var(name)?),
            Quantity::Int(value) => Quantity::Int(*value),
            Quantity::Of(operator, a, b) => Quantity::Of(*operator, Box::new(a.map(var)?), Box::new(b.map(var)?)),
        })
    }

    /// The same with another quantity in place of a variable.
    #[must_use]
    pub fn substitute(&self, var: &V, value: &Quantity<V>) -> Quantity<V>
    where
        V: Clone + PartialEq,
    {
        match self {
            Quantity::Var(name) if name == var => value.clone(),
            Quantity::Var(_) | Quantity::Int(_) => self.clone(),
            Quantity::Of(operator, a, b) => Quantity::of(*operator, a.substitute(var, value), b.substitute(var, value)),
        }
    }

    /// Calls `f` for each variable in it.
    pub fn each_var(&self, f: &mut impl FnMut(&V)) {
        match self {
            Quantity::Var(name) => f(name),
            Quantity::Int(_) => {}
            Quantity::Of(_, a, b) => [a, b].into_iter().for_each(|part| part.each_var(f)),
        }
    }
}

impl Quantity<usize> {
    /// Its value at a shape.
    pub fn at(&self, shape: &[i64]) -> i64 {
        self.value(&|var| shape[*var])
    }

    /// As text, of variables of type `i64` or `int64_t`.
    pub(super) fn text(&self, language: Language, name: &impl Fn(usize) -> String) -> String {
        let text = |of: &Quantity<usize>| of.text(language, name);
        // A constant alone has the type that its place asks for.
        let receiver = |of: &Quantity<usize>| match (language, of) {
            (Language::Rust, Quantity::Int(value)) => format!("({value}_i64)"),
            _ => text(of),
        };
        match self {
            Quantity::Var(var) => name(*var),
            Quantity::Int(value) => language.int(*value),
            Quantity::Of(Operator::Div, a, b) => format!("({} / {})", receiver(a), text(b)),
            Quantity::Of(operator, a, b) => {
                let function = match operator {
                    Operator::Add => "saturating_add",
                    Operator::Sub => "saturating_sub",
                    Operator::Mul => "saturating_mul",
                    Operator::Min => "min",
                    Operator::Max => "max",
                    Operator::Div => unreachable!("a quotient is no call"),
                };
                match language {
                    Language::Rust => format!("{}.{function}({})", receiver(a), text(b)),
                    Language::C => format!("dietcode_i64_{function}({}, {})", text(a), text(b)),
                }
            }
        }
    }
}

/// In which language a decision is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// As a part of `registry.rs`.
    Rust,
    /// As a part of `dispatch.h`, which has functions for what C leaves undefined.
    C,
}

impl Language {
    /// A constant.
    pub(super) fn int(self, value: i64) -> String {
        match self {
            Language::Rust => value.to_string(),
            // C has no literals below zero, and the least value is none negated.
            Language::C if value == i64::MIN => "INT64_MIN".to_owned(),
            Language::C if value < 0 => format!("(-INT64_C({}))", value.unsigned_abs()),
            Language::C => format!("INT64_C({value})"),
        }
    }
}

impl Quantity<String> {
    /// An integer expression; none where it is more than sums, products and quotients of variables.
    pub fn of_expr(expr: &Expr) -> Option<Quantity<String>> {
        Some(match expr {
            Expr::Int(value) => Quantity::Int(*value),
            Expr::Var(name) => Quantity::Var(name.to_string()),
            Expr::Binary(op, a, b) => {
                let (a, b) = (Quantity::of_expr(a)?, Quantity::of_expr(b)?);
                match op {
                    BinaryOp::Add => a.plus(b),
                    BinaryOp::Sub => a.minus(b),
                    BinaryOp::Mul => a.times(b),
                    BinaryOp::Div => a.over(b),
                    BinaryOp::Min => Quantity::of(Operator::Min, a, b),
                    BinaryOp::Max => a.max(b),
                    BinaryOp::Mod | BinaryOp::And => return None,
                }
            }
            _ => return None,
        })
    }

    /// What is printed, read again; else what was found and what was expected.
    pub fn parse(text: &str) -> Result<Quantity<String>, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("the expression is longer than {MAX_LENGTH} characters, expected a shorter one"));
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let sum = parser.sum()?;
        if parser.peek().is_some() { Err(parser.found("an operator or the end")) } else { Ok(sum) }
    }
}

impl fmt::Display for Quantity<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binds = |of: &Quantity<String>| match of {
            Quantity::Of(Operator::Add | Operator::Sub, ..) => 0,
            Quantity::Of(Operator::Mul | Operator::Div, ..) => 1,
            Quantity::Int(value) if *value < 0 => 0,
            _ => 2,
        };
        let operand = |f: &mut fmt::Formatter<'_>, of: &Quantity<String>, least: u8| match binds(of) < least {
            true => write!(f, "({of})"),
            false => write!(f, "{of}"),
        };
        match self {
            Quantity::Var(name) => f.write_str(name),
            Quantity::Int(value) => write!(f, "{value}"),
            Quantity::Of(operator @ (Operator::Min | Operator::Max), a, b) => {
                write!(f, "{}({a}, {b})", if *operator == Operator::Min { "min" } else { "max" })
            }
            Quantity::Of(operator, a, b) => {
                let own = binds(self);
                operand(f, a, own)?;
                f.write_str(match operator {
                    Operator::Add => " + ",
                    Operator::Sub => " - ",
                    Operator::Mul => " * ",
                    _ => " / ",
                })?;
                operand(f, b, own + 1)
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Quantity<String>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression is nested more than {MAX_DEPTH} deep, expected a simpler one"));
        }
        let mut sum = self.product()?;
        loop {
            let operator = match () {
                () if self.eat('+') => Operator::Add,
                () if self.eat('-') => Operator::Sub,
                () => break,
            };
            sum = Quantity::Of(operator, Box::new(sum), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(sum)
    }

    fn product(&mut self) -> Result<Quantity<String>, String> {
        let mut product = self.atom()?;
        loop {
            let operator = match () {
                () if self.eat('*') => Operator::Mul,
                () if self.eat('/') => Operator::Div,
                () => return Ok(product),
            };
            let factor = self.atom()?;
            if operator == Operator::Div && !factor.is_positive() {
                return Err(format!(
                    "found the divisor `{factor}`, expected one that is positive, such as `max({factor}, 1)`"
                ));
            }
            product = Quantity::Of(operator, Box::new(product), Box::new(factor));
        }
    }

    fn atom(&mut self) -> Result<Quantity<String>, String> {
        if self.eat('(') {
            let sum = self.sum()?;
            return self.expect(')').map(|()| sum);
        }
        let is_negative = self.eat('-');
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = if is_negative { format!("-{word}") } else { word.clone() };
            return number
                .parse()
                .map(Quantity::Int)
                .map_err(|_| format!("found `{word}`, expected a whole number below 2^63"));
        }
        if word.is_empty() || is_negative {
            return Err(self.found("a number, a variable or `(`"));
        }
        let operator = match &*word {
            "min" => Operator::Min,
            "max" => Operator::Max,
            _ => return Ok(Quantity::Var(word)),
        };
        // A shape variable may have that name.
        if !self.eat('(') {
            return Ok(Quantity::Var(word));
        }
        let a = self.sum()?;
        self.expect(',')?;
        let b = self.sum()?;
        self.expect(')')?;
        Ok(Quantity::Of(operator, Box::new(a), Box::new(b)))
    }

    fn word(&mut self) -> String {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.eat(wanted) { Ok(()) } else { Err(self.found(&format!("`{wanted}`"))) }
    }

    fn found(&mut self, expected: &str) -> String {
        let found = self.peek().map_or("the end".to_owned(), |found| format!("`{}`", found.escape_debug()));
        format!("found {found}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, m: i64, n: i64) -> i64 {
        let read = Quantity::parse(text).unwrap();
        assert_eq!(Quantity::parse(&read.to_string()).unwrap(), read, "{text}");
        let numbered = read.map(&|var| ["M", "N"].iter().position(|known| known == var)).unwrap();
        let (named, at) = (read.value(&|var| if var == "M" { m } else { n }), numbered.at(&[m, n]));
        assert_eq!(named, at);
        at
    }

    #[test]
    fn expressions_are_read_as_they_are_printed_and_have_values() {
        assert_eq!(value("M", 7, 9), 7);
        assert_eq!(value("(M + 7) / 8 * ((N + 47) / 48)", 17, 100), 9);
        assert_eq!(value("M - (N - 3) - 2", 7, 9), -1);
        assert_eq!(value("max(max(8 - M, M - 6400), 384 - N) * -2", 1, 400), -14);
        assert_eq!(value("100 * N / max(min(M, 5), 1)", 0, 9), 900);
        assert_eq!(Quantity::parse("M + 0 * 7").unwrap().to_string(), "M + 0 * 7");
    }

    #[test]
    fn no_shape_is_too_large() {
        assert_eq!(value("M * N * N", i64::MAX, i64::MAX), i64::MAX);
        assert_eq!(value("0 - M * N - N", i64::MAX, 2), i64::MIN);
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, why) in [
            ("", "found the end, expected a number"),
            ("M +", "found the end"),
            ("M N", "found `N`, expected an operator or the end"),
            ("M / N", "found the divisor `N`, expected one that is positive, such as `max(N, 1)`"),
            ("M / 0", "found the divisor `0`"),
            ("max(M)", "found `)`, expected `,`"),
            ("M % 8", "found `%`"),
            ("99999999999999999999", "below 2^63"),
            ("-M", "expected a number"),
            (&"(".repeat(1000), "nested more than 64 deep"),
            (&"M+".repeat(1000000), "longer than 2000 characters"),
        ] {
            let error = Quantity::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn as_rust_and_as_c_it_is_what_it_is_worth() {
        let of = |text: &str| Quantity::parse(text).unwrap().map(&|var| (var == "M").then_some(0)).unwrap();
        let written =
            |text: &str| [Language::Rust, Language::C].map(|in_| of(text).text(in_, &|_| "shape_M".to_owned()));
        assert_eq!(written("M"), ["shape_M", "shape_M"]);
        let rounded =
            ["(shape_M.saturating_add(7) / 8)", "(dietcode_i64_saturating_add(shape_M, INT64_C(7)) / INT64_C(8))"];
        assert_eq!(written("(M + 7) / 8"), rounded);
        assert_eq!(written("8 - M * M")[0], "(8_i64).saturating_sub(shape_M.saturating_mul(shape_M))");
        assert_eq!(written("8 / max(M, 1)")[0], "((8_i64) / shape_M.max(1))");
        assert_eq!(written("min(M, -7)")[1], "dietcode_i64_min(shape_M, (-INT64_C(7)))");
        assert_eq!(written("-9223372036854775808 + M")[1], "dietcode_i64_saturating_add(INT64_MIN, shape_M)");
    }
}
