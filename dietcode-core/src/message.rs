//! Text that is not this project's own, as it may stand in a message: out of files, the environment, other programs.

use std::borrow::Cow;

/// The text as a terminal shows it and nothing else: control characters are escaped as Rust does it. Lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && c != '\n' && c != '\t')
}

/// The same on one line: a name, a word, a value.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

/// Control characters, and those that turn the direction of what stands behind them.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// `takes 33 registers of 16 lanes` and `takes 40 registers of 16 lanes` are one reason; `conv2d` and `r1` are names.
#[cfg(feature = "compiler")]
pub(crate) fn without_numbers(violation: &str) -> String {
    let mut reason = String::new();
    let (mut in_number, mut in_name) = (false, false);
    for c in violation.chars() {
        let digit = c.is_ascii_digit() && !in_name;
        match digit {
            true if in_number => {}
            true => reason.push('n'),
            false => reason.push(c),
        }
        in_number = digit;
        in_name = !digit && (c.is_alphanumeric() || c == '_');
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_nothing_else() {
        assert_eq!(printable("\u{1b}[31mred\u{7}\r\u{9b}2J\u{202e}"), r"\u{1b}[31mred\u{7}\r\u{9b}2J\u{202e}");
        assert_eq!(printable("two\n\tlines"), "two\n\tlines");
        assert_eq!(one_line("two\n\tlines"), r"two\n\tlines");
        assert!(matches!(printable("γₙ ≤ „ü“ \\ \""), Cow::Borrowed(_)));
    }
}
