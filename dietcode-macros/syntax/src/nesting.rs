//! How deep syntax is nested, found before it is parsed: a parser that calls itself for what is nested needs stack for each level.

use crate::error::{Errors, Problem};
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The most levels of syntax. Where nobody optimises it, syn takes up to 30 KiB of stack for one (`((((u8))))`); a process's first thread and
/// rustc's have 8 MiB.
const MAX_NESTING: usize = 192;

/// The levels that a generic argument counts for (51 KiB).
const WEIGHT: usize = 3;

/// The links of a chain (`a + b + c`, `a.b().c()`) that count as a level: a parser has a loop for them, but each is a level of its tree (4.3 KiB).
const LINKS: usize = 6;

/// Refuses what is nested deeper than [`MAX_NESTING`] levels, by a count that is no less than the levels of a parser.
///
/// # Errors
/// At the token that is too deep.
pub(crate) fn check(tokens: TokenStream) -> Result<(), Errors> {
    levels(tokens, 0)
}

/// Of a file with something that is nested too deep, the tokens without it: what stands in braces and has neither kernels nor modules, and
/// constants and types.
///
/// # Errors
/// As [`check`], if the rest is too deep.
pub(crate) fn shallow(tokens: TokenStream) -> Result<Option<TokenStream>, Errors> {
    match check(tokens.clone()) {
        Ok(()) => Ok(None),
        Err(_) => kept(tokens, 0).map(Some),
    }
}

fn levels(tokens: TokenStream, around: usize) -> Result<(), Errors> {
    let mut statement = Statement::default();
    for token in tokens {
        let depth = statement.level(&token, around)?;
        if let TokenTree::Group(group) = &token {
            levels(group.stream(), depth + 1)?;
        }
    }
    Ok(())
}

fn kept(tokens: TokenStream, around: usize) -> Result<TokenStream, Errors> {
    let mut statement = Statement::default();
    // Whether an attribute before says that a kernel follows.
    let mut is_kernel = false;
    let mut keep = |statement: &mut Statement, token: TokenTree| {
        let depth = statement.level(&token, around)?;
        let TokenTree::Group(group) = &token else { return Ok(token) };
        let (is_block, declares) = (group.delimiter() == Delimiter::Brace, declares(group.stream()));
        let inside = match levels(group.stream(), depth + 1) {
            Ok(()) => group.stream(),
            Err(errors) if is_kernel => return Err(errors),
            Err(_) if is_block && !declares => TokenStream::new(),
            Err(_) => kept(group.stream(), depth + 1)?,
        };
        is_kernel = if is_block { false } else { is_kernel || declares };
        let mut with = Group::new(group.delimiter(), inside);
        with.set_span(group.span());
        Ok(with.into())
    };
    let mut kept: Vec<TokenTree> = Vec::new();
    // Where the item begins that a token belongs to.
    let mut item = 0;
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match keep(&mut statement, token.clone()) {
            Ok(token) => {
                kept.push(token);
                if kept.last().is_some_and(ends_item) {
                    item = kept.len();
                }
            }
            Err(errors) => {
                let own = kept.split_off(item);
                let is_constant = is_constant(&own);
                let (mut left_out, mut last) = (own, Some(token));
                while let Some(token) = last {
                    last = if is_punct(&token, ';') { None } else { tokens.next() };
                    left_out.push(token);
                }
                if !is_constant || declares(left_out.into_iter().collect()) {
                    return Err(errors);
                }
                statement = Statement::default();
            }
        }
    }
    Ok(kept.into_iter().collect())
}

/// Whether an item or statement ends with a token.
fn ends_item(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) || is_punct(token, ';')
}

/// Whether these are the first tokens of a constant, a static or a name of a type, which ends with a semicolon.
fn is_constant(tokens: &[TokenTree]) -> bool {
    let is_group = |token: &&TokenTree| matches!(token, TokenTree::Group(_));
    let is_before = |token: &&TokenTree| is_group(token) || is_punct(token, '#') || is(token, &["pub"]);
    let mut words = tokens.iter().skip_while(is_before);
    let begins = words.next().is_some_and(|word| is(word, &["const", "static", "type"]));
    begins && !words.next().is_some_and(|word| is(word, &["async", "extern", "fn", "unsafe"]))
}

fn is_punct(token: &TokenTree, of: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == of)
}

/// Whether a build script looks for something in these tokens.
fn declares(tokens: TokenStream) -> bool {
    let mut open = vec![tokens.into_iter()];
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            Some(token) if is(&token, &["dynamic_kernel", "mod"]) => return true,
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
            None => drop(open.pop()),
        }
    }
    false
}

/// What is nested without a delimiter, since the last token that ends a statement, an argument or an element.
#[derive(Default)]
struct Statement {
    /// Keywords, assignments, arrows and closures, of which each takes all that follows.
    open: usize,
    /// `<`, less as many `>`: the levels of generic arguments.
    angles: usize,
    /// Those of `angles` behind a name in capitals or `::`, which are no comparisons and are still open behind a comma.
    typed: usize,
    /// Whether such a name, or `::`, stood before.
    is_type: bool,
    /// Whether the parameters of a closure began and did not end.
    bar: bool,
    /// Operators before an operand that does not stand there yet.
    prefixes: usize,
    /// Operators between operands.
    operators: usize,
    /// Fields, calls, indices and casts of the last operand.
    suffixes: usize,
    /// The most of them that an operand has.
    most_suffixes: usize,
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
    /// The level of a token, in so many others.
    fn level(&mut self, token: &TokenTree, around: usize) -> Result<usize, Errors> {
        self.take(token);
        let links = (self.operators + self.most_suffixes) / LINKS;
        let level = around + self.open + WEIGHT * self.angles + self.prefixes + links;
        let mut errors = Errors::default();
        if level > MAX_NESTING {
            errors.push(token, Problem::NestedTooDeep { most: MAX_NESTING.to_string() });
        }
        errors.finish(Some(level))
    }

    fn take(&mut self, token: &TokenTree) {
        let operator = matches!(token, TokenTree::Punct(p) if !matches!(p.as_char(), '#' | '\''));
        // The block of an `if` may follow on that of its condition.
        let block = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if self.last == Last::Block && !operator && !block && !is(token, &["else"]) {
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
            TokenTree::Ident(_) if is(token, &["as"]) => {
                self.suffix();
                self.last = Last::Operator;
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                self.is_type = token.to_string().starts_with(char::is_uppercase);
                self.prefixes = 0;
                self.last = Last::Operand;
            }
            // Its levels are inside of the prefixes that stand before it.
            TokenTree::Group(group) => {
                if self.last == Last::Operand {
                    self.suffix();
                }
                self.last = if group.delimiter() == Delimiter::Brace { Last::Block } else { Last::Operand };
            }
        }
    }

    fn suffix(&mut self) {
        self.suffixes += 1;
        self.most_suffixes = self.most_suffixes.max(self.suffixes);
    }

    /// An operator between operands.
    fn operator(&mut self) {
        self.operators += 1;
        self.suffixes = 0;
        self.prefixes = 0;
    }

    fn punct(&mut self, of: char, spacing: Spacing) {
        let last = match self.last {
            Last::Part(first) if !is_continued(first, of) => Last::Operator,
            last => last,
        };
        let after_operand = matches!(last, Last::Operand | Last::Block);
        match (of, last) {
            (';', _) => return *self = Statement::default(),
            (',', _) => {
                let (open, bar) = if self.bar { (self.open, true) } else { (0, false) };
                return *self = Statement { angles: self.typed, typed: self.typed, open, bar, ..Statement::default() };
            }
            ('#', _) | ('!', Last::Attribute) => return self.last = Last::Attribute,
            ('\'', _) => return self.last = Last::Quote,
            ('?', Last::Operand | Last::Block) => {
                self.suffix();
                return self.last = Last::Operand;
            }
            // The first `=` counted as an assignment.
            ('=', Last::Part('=')) => {
                self.open = self.open.saturating_sub(1);
                return self.last = Last::Operator;
            }
            ('=', Last::Part('!' | '>' | '.')) => return self.last = Last::Operator,
            ('=', Last::Part('<')) => self.angles = self.angles.saturating_sub(1),
            ('=' | '@', _) | ('>', Last::Part('-')) => self.open += 1,
            ('|', Last::Operator) => {
                self.open += 1;
                self.bar = !self.bar;
            }
            ('|', Last::Operand) if self.bar => {
                self.bar = false;
                return self.last = Last::Operator;
            }
            ('.', Last::Part('.')) => self.operator(),
            ('.', _) if after_operand => self.suffix(),
            ('<', _) => {
                self.angles += 1;
                self.typed += usize::from(self.is_type);
            }
            ('>', _) => self.angles = self.angles.saturating_sub(1),
            (':', Last::Part(':')) => self.is_type = true,
            (_, Last::Operator) => self.prefixes += 1,
            // No type has them: what stood before were comparisons and shifts.
            ('*' | '/' | '%' | '^' | '|', _) if after_operand => self.angles = 0,
            ('&', Last::Part('&')) => self.angles = 0,
            _ => {}
        }
        self.typed = self.typed.min(self.angles);
        self.is_type &= of == ':';
        if after_operand && matches!(of, '+' | '-' | '*' | '/' | '%' | '^' | '|' | '&' | '<' | '>') {
            self.operator();
        }
        self.last = match (spacing, last) {
            (Spacing::Joint, Last::Part('>')) if of == '>' => Last::Shift,
            // Another one would be a prefix.
            (_, Last::Part('&' | '|')) => Last::Operator,
            (Spacing::Joint, last) if last != Last::Operator => Last::Part(of),
            _ => Last::Operator,
        };
    }
}

/// Whether an operator may have these characters next to each other.
fn is_continued(first: char, second: char) -> bool {
    second == '=' || first == second && "&|<>.:".contains(first) || second == '>' && "-=".contains(first)
}

/// Words before an expression, a pattern or a type that may be as long as what follows.
const KEYWORDS: [&str; 16] = [
    "async", "await", "box", "break", "for", "if", "impl", "in", "let", "match", "move", "return", "static", "unsafe",
    "while", "yield",
];

fn is(token: &TokenTree, words: &[&str]) -> bool {
    matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word))
}
