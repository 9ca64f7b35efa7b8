//! Lines of a program as tokens, and a place among them.

use crate::ir::Expr;
use crate::{Error, Result};

pub(super) fn at_line(at: usize, text: &str, what: &str) -> Error {
    let shown: String = text.trim().chars().take(100).collect();
    Error::input(format!("line {} of the program, `{shown}`: {what}", at + 1))
}

pub(super) struct Line<'a> {
    pub(super) at: usize,
    pub(super) indent: usize,
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
}

impl Line<'_> {
    pub(super) fn error(&self, what: &str) -> Error {
        at_line(self.at, self.text, what)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, with its dots, or a keyword.
    Word(String),
    Int(i64),
    Float(f64),
    Text(String),
    Sign(&'static str),
}

impl Token {
    pub(super) fn is(&self, what: &str) -> bool {
        match self {
            Token::Word(word) => word == what,
            Token::Sign(sign) => *sign == what,
            _ => false,
        }
    }
}

const SIGNS: [&str; 23] = [
    "//", "<=", ">=", "==", "!=", "->", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-", "*", "/", "%", "<", ">",
    "@",
];

/// The tokens of a line up to a comment.
pub(super) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let length = match first {
            '#' => break,
            c if c.is_whitespace() => c.len_utf8(),
            '"' => {
                let end = rest[1..].find('"').ok_or("a text without an end")?;
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                end + 2
            }
            c if c.is_ascii_digit() => {
                let mut end = run(|c| c.is_ascii_alphanumeric() || c == '.');
                if rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']) {
                    end += 1 + rest[end + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - end - 1);
                }
                let number = &rest[..end];
                tokens.push(match (number.parse(), number.parse()) {
                    (Ok(int), _) => Token::Int(int),
                    (_, Ok(float)) => Token::Float(float),
                    _ => return Err(format!("`{number}` is no number")),
                });
                end
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                tokens.push(Token::Word(rest[..end].to_owned()));
                end
            }
            c => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                tokens.push(Token::Sign(sign.ok_or_else(|| format!("`{c}` is not read"))?));
                tokens.last().map_or(0, |token| if let Token::Sign(sign) = token { sign.len() } else { 0 })
            }
        };
        rest = &rest[length..];
    }
    Ok(tokens)
}

pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    /// How many expressions stand around.
    pub(super) depth: usize,
}

pub(super) type Parsed<T> = Result<T, String>;

impl<'a> Cursor<'a> {
    pub(super) fn of(line: &'a Line<'_>) -> Cursor<'a> {
        Cursor { tokens: &line.tokens, depth: 0 }
    }

    pub(super) fn next(&mut self) -> Parsed<&'a Token> {
        let (first, rest) = self.tokens.split_first().ok_or("the line ends too early")?;
        self.tokens = rest;
        Ok(first)
    }

    pub(super) fn peek(&self, what: &str) -> bool {
        self.tokens.first().is_some_and(|token| token.is(what))
    }

    pub(super) fn take(&mut self, what: &str) -> bool {
        let found = self.peek(what);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    pub(super) fn expect(&mut self, what: &str) -> Parsed<()> {
        if self.take(what) { Ok(()) } else { Err(format!("expected `{what}`{}", self.found())) }
    }

    pub(super) fn found(&self) -> String {
        match self.tokens.first() {
            None => ", found the end of the line".into(),
            Some(Token::Word(word)) => format!(", found `{word}`"),
            Some(Token::Sign(sign)) => format!(", found `{sign}`"),
            Some(Token::Int(int)) => format!(", found {int}"),
            Some(Token::Float(float)) => format!(", found {float}"),
            Some(Token::Text(text)) => format!(", found \"{text}\""),
        }
    }

    fn take_as<T>(&mut self, expected: &str, of: impl Fn(&'a Token) -> Option<T>) -> Parsed<T> {
        let found = self.tokens.first().and_then(of);
        let found = found.ok_or_else(|| format!("expected {expected}{}", self.found()))?;
        self.tokens = &self.tokens[1..];
        Ok(found)
    }

    pub(super) fn word(&mut self) -> Parsed<&'a str> {
        self.take_as("a name", |token| if let Token::Word(word) = token { Some(&**word) } else { None })
    }

    pub(super) fn text(&mut self) -> Parsed<&'a str> {
        self.take_as("a text", |token| if let Token::Text(text) = token { Some(&**text) } else { None })
    }

    /// A number from 0 to 2³¹.
    pub(super) fn length(&mut self) -> Parsed<i64> {
        let length = |token: &Token| if let Token::Int(length) = token { Some(*length) } else { None };
        self.take_as("a length", |token| length(token).filter(|length| (0..=1 << 31).contains(length)))
    }

    /// `(a, b, …)`, of lengths.
    pub(super) fn shape(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        let mut shape = Vec::new();
        while !self.take(")") {
            shape.push(Expr::Int(self.length()?));
            if !self.peek(")") {
                self.expect(",")?;
            }
        }
        Ok(shape)
    }

    pub(super) fn end(&self) -> Parsed<()> {
        if self.tokens.is_empty() { Ok(()) } else { Err(format!("the line goes on{}", self.found())) }
    }
}
