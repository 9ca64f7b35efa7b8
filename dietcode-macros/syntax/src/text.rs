//! Tokens as a person writes them, for the "found …" of a sentence.
//!
//! A token stream keeps no white space, and a span gives its text only on nightly compilers, so the spaces are put back
//! by rule: none around paths, fields, indices and calls, one around binary operators.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ExprLit, Lit};

use crate::DType;
use crate::scope::{path, plain};

/// The most characters that are quoted.
const LONGEST: usize = 48;

/// The most characters of a part of what a sentence tells to write.
const LONGEST_TO_WRITE: usize = 240;

/// The text of some tokens, cut to a length that fits into a sentence.
pub(crate) fn text(tokens: impl ToTokens) -> String {
    cut(tokens, LONGEST)
}

/// The text of some tokens that a sentence tells to write, whole unless it is very long.
pub(crate) fn whole(tokens: impl ToTokens) -> String {
    cut(tokens, LONGEST_TO_WRITE)
}

/// An index as an element of a type.
pub(crate) fn number(index: &syn::Expr, dtype: DType) -> String {
    match plain(index) {
        syn::Expr::Lit(ExprLit { lit: Lit::Int(integer), .. }) => format!("{}.0", integer.base10_digits()),
        _ if path(index).is_some() => format!("{} as {dtype}", whole(index)),
        _ => format!("({}) as {dtype}", whole(index)),
    }
}

fn cut(tokens: impl ToTokens, longest: usize) -> String {
    let mut printer = TokenPrinter { out: String::new(), last: Last::Start, generics: 0 };
    printer.stream(tokens.to_token_stream());
    match printer.out.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", printer.out[..end].trim_end()),
        None => printer.out,
    }
}

/// What was printed last, as far as spaces depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Nothing, or something that the next token is glued to.
    Start,
    /// A name, a literal or a closed group.
    Operand,
    /// A binary operator or separator.
    Operator,
}

struct TokenPrinter {
    out: String,
    last: Last,
    generics: usize,
}

impl TokenPrinter {
    fn stream(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(_) => {
                    let end = operator(&tokens, at - 1);
                    let text: String = tokens[at - 1..end].iter().map(ToString::to_string).collect();
                    self.operator(&text);
                    at = end;
                }
                TokenTree::Group(group) => self.group(group.delimiter(), group.stream()),
                other => self.operand(&other.to_string()),
            }
        }
    }

    fn operand(&mut self, text: &str) {
        if self.last != Last::Start {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.last = Last::Operand;
    }

    fn group(&mut self, delimiter: Delimiter, inner: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{ ", " }"),
            Delimiter::None => ("", ""),
        };
        // A call and an index are glued to what they follow, but not to a keyword.
        let keyword = ["as", "else", "if", "in", "let", "match", "mut", "return"].contains(&self.last_word());
        let glued =
            self.last == Last::Operand && !keyword && matches!(delimiter, Delimiter::Parenthesis | Delimiter::Bracket);
        if self.last == Last::Operator || (self.last == Last::Operand && !glued) {
            self.out.push(' ');
        }
        self.out.push_str(open);
        self.last = Last::Start;
        self.stream(inner);
        self.out.push_str(close);
        self.last = Last::Operand;
    }

    fn operator(&mut self, text: &str) {
        let unary = self.last != Last::Operand && matches!(text, "&" | "*" | "-" | "!" | "&&" | "'" | "#");
        let generic = text == "<" && self.out.ends_with(char::is_alphanumeric) && self.ends_in_type()
            || text == ">" && self.generics > 0;
        match text {
            "'" | "#" | "&" | "*" | "-" | "!" | "&&" if unary => {
                if self.last == Last::Operator {
                    self.out.push(' ');
                }
                self.out.push_str(text);
                self.last = Last::Start;
            }
            "::" | "." | ".." | "..=" | "!" => {
                self.out.push_str(text);
                self.last = Last::Start;
            }
            "," | ";" | ":" | "?" => {
                self.out.push_str(text);
                self.last = if text == "?" { Last::Operand } else { Last::Operator };
            }
            "<" if generic => {
                self.generics += 1;
                self.out.push('<');
                self.last = Last::Start;
            }
            ">" if generic => {
                self.generics -= 1;
                self.out.push('>');
                self.last = Last::Operand;
            }
            _ => {
                if self.last != Last::Start {
                    self.out.push(' ');
                }
                self.out.push_str(text);
                self.last = Last::Operator;
            }
        }
    }

    fn last_word(&self) -> &str {
        self.out.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
    }

    /// Whether the last word looks like a type's name: shape variables are capitals too, but seldom words.
    fn ends_in_type(&self) -> bool {
        let word = self.last_word();
        word.len() > 1 && word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase)
    }
}

/// Where the operator that starts at a token ends: the longest of Rust's operators that the next characters make.
fn operator(tokens: &[TokenTree], start: usize) -> usize {
    const LONG: [&str; 22] = [
        "..=", "<<=", ">>=", "::", "..", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "==", "!=", "<=", ">=", "&&",
        "||", "->", "=>", "<<",
    ];
    let next: String = tokens[start..]
        .iter()
        .take(3)
        .map_while(|token| match token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        })
        .collect();
    start + LONG.iter().find(|long| next.starts_with(**long)).map_or(1, |long| long.len())
}

#[cfg(test)]
mod tests {
    use super::text;

    fn again(source: &str) -> String {
        text(source.parse::<proc_macro2::TokenStream>().expect("it lexes"))
    }

    #[test]
    fn code_reads_as_it_was_written() {
        for source in [
            "x[i][k + 1]",
            "f32::max(b[i], 0.0)",
            "b[i] > 0.0 && b[i] < 1.0",
            "*y",
            "-b[i] * -2.0",
            "(|| b[i])",
            "Vec<f32>",
            "&'static mut [f32; N]",
            "config = \"a.json\"",
            "0..=M",
            "x.max(1.0).exp()",
            "if a < b { c } else { d }",
            "x[i] as usize",
        ] {
            assert_eq!(again(source), source);
        }
    }

    #[test]
    fn long_code_is_cut() {
        assert_eq!(again(&"a + ".repeat(40)).chars().count(), 48);
    }
}
