//! How deep syntax is nested, found before it is parsed: a parser that calls itself for what is nested needs stack for each level.

use crate::error::{Errors, Problem};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The most levels of syntax. Where nobody optimises it, syn takes up to 30 KiB of stack for one (`((((u8))))`); a process's first thread and
/// rustc's have 8 MiB.
const MAX_NESTING: usize = 192;

/// The levels that a generic argument counts for (51 KiB).
const WEIGHT: usize = 3;

/// Refuses what is nested deeper than [`MAX_NESTING`] levels, by a count that is no less than the levels of a parser.
///
/// # Errors
/// At the token that is too deep.
pub(crate) fn check(tokens: TokenStream) -> Result<(), Errors> {
    levels(tokens, 0)
}

fn levels(tokens: TokenStream, around: usize) -> Result<(), Errors> {
    let mut statement = Statement::default();
    for token in tokens {
        statement.take(&token);
        let depth = around + statement.depth();
        if depth > MAX_NESTING {
            let mut errors = Errors::default();
            errors.push(&token, Problem::NestedTooDeep { most: MAX_NESTING.to_string() });
            return Err(errors);
        }
        if let TokenTree::Group(group) = &token {
            levels(group.stream(), depth + 1)?;
        }
    }
    Ok(())
}

/// What is nested without a delimiter, since the last token that ends a statement, an argument or an element.
#[derive(Default)]
struct Statement {
    /// Keywords, assignments, arrows and closures, of which each takes all that follows.
    open: usize,
    /// `<`, less as many `>`: the levels of generic arguments.
    angles: usize,
    /// Whether the parameters of a closure began and did not end.
    bar: bool,
    /// Operators before an operand that does not stand there yet.
    prefixes: usize,
    /// What stood before.
    last: Last,
}

/// The token before, as far as the meaning of the next one depends on it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    /// None, a keyword or an operator, after which an operator is a prefix.
    #[default]
    Operator,
    /// The first part of an operator, of which the next one may be another.
    Part(char),
    /// `>>`, of which `=` makes an assignment, where it makes a comparison of `>`.
    Shift,
    Operand,
    /// `{ … }`, with which a statement may end.
    Block,
    /// `#` or `#!`, before an attribute's brackets.
    Attribute,
    /// `'`, before a lifetime's or a label's name.
    Quote,
}

impl Statement {
    fn depth(&self) -> usize {
        self.open + WEIGHT * self.angles + self.prefixes
    }

    fn take(&mut self, token: &TokenTree) {
        let operator = matches!(token, TokenTree::Punct(p) if !matches!(p.as_char(), '#' | '\''));
        if self.last == Last::Block && !operator && !is(token, &["else"]) {
            *self = Statement::default();
        }
        match token {
            TokenTree::Ident(_) if self.last == Last::Quote => self.last = Last::Operator,
            TokenTree::Group(_) if self.last == Last::Attribute => self.last = Last::Operator,
            TokenTree::Punct(p) => self.punct(p.as_char(), p.spacing()),
            // They stand between a prefix and its operand.
            TokenTree::Ident(_) if is(token, &["mut", "const", "dyn", "raw"]) => {}
            TokenTree::Ident(_) if is(token, &KEYWORDS) => {
                self.open += 1;
                self.last = Last::Operator;
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => self.operand(Last::Operand),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => self.operand(Last::Block),
            // Its levels are inside of the prefixes that stand before it.
            TokenTree::Group(_) => self.last = Last::Operand,
        }
    }

    fn operand(&mut self, last: Last) {
        self.prefixes = 0;
        self.last = last;
    }

    fn punct(&mut self, of: char, spacing: Spacing) {
        let prefix = self.last == Last::Operator;
        match (of, self.last) {
            (';' | ',', _) => return *self = Statement::default(),
            ('#', _) | ('!', Last::Attribute) => return self.last = Last::Attribute,
            ('\'', _) => return self.last = Last::Quote,
            // The first `=` counted as an assignment.
            ('=', Last::Part('=')) => {
                self.open = self.open.saturating_sub(1);
                return self.last = Last::Operator;
            }
            ('=', Last::Part('!' | '>')) => return self.last = Last::Operator,
            ('=', Last::Part('<')) => self.angles -= 1,
            ('=' | '@', _) | ('>', Last::Part('-')) => self.open += 1,
            ('|', Last::Operator) => {
                self.open += 1;
                self.bar = !self.bar;
            }
            ('|', Last::Operand) if self.bar => {
                self.bar = false;
                return self.last = Last::Operator;
            }
            ('<', _) => self.angles += 1,
            ('>', _) => self.angles = self.angles.saturating_sub(1),
            (_, Last::Operator) => self.prefixes += 1,
            // No type has them: what stood before were comparisons and shifts.
            ('*' | '/' | '%' | '^' | '|', Last::Operand | Last::Block) | ('&', Last::Part('&')) => self.angles = 0,
            _ => {}
        }
        self.last = match spacing {
            Spacing::Joint if of == '>' && self.last == Last::Part('>') => Last::Shift,
            Spacing::Joint if !prefix => Last::Part(of),
            _ => Last::Operator,
        };
    }
}

/// Words before an expression, a pattern or a type that may be as long as what follows.
const KEYWORDS: [&str; 15] = [
    "async", "await", "box", "break", "for", "if", "impl", "in", "let", "match", "move", "return", "unsafe", "while",
    "yield",
];

fn is(token: &TokenTree, words: &[&str]) -> bool {
    matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word))
}
