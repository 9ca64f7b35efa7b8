//! A source text without comments, layout, string literals and the names that it gives: equal for texts that are the same code.
//!
//! ```text
//! const float *restrict x_0 = x + i * 4; /* row */    →    const float * restrict v1 = v2 + v3 * 4 ;
//! ```
//!
//! An identifier becomes the number of its first occurrence, unless it stands for something outside of the text: a word of C
//! or CUDA, a member, what a header of this project declares, or a function that the text calls and does not declare.

use std::collections::{HashMap, HashSet};

/// Words and types of C, C++ and CUDA in generated text.
const WORDS: &str = "_Alignas _Static_assert alignas auto bool break case char const constexpr continue default do double \
    else enum extern false float for goto if inline int int16_t int32_t int64_t int8_t long nullptr register \
    reinterpret_cast restrict return short signed sizeof size_t static static_assert static_cast struct switch template true \
    typedef uint16_t uint32_t uint64_t uint8_t union unsigned using void volatile while blockDim blockIdx gridDim threadIdx";

/// Words behind which no declared name stands.
const NO_TYPE: &[&str] =
    &["const", "static", "inline", "extern", "volatile", "struct", "enum", "return", "else", "case"];

/// The text in its normal form.
pub(crate) fn normal_form(source: &str) -> String {
    let words: HashSet<&str> = WORDS.split_whitespace().collect();
    let tokens = tokens(source);
    let declared: HashSet<&str> = (2..tokens.len()).filter_map(|at| declared(&tokens, at, &words)).collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before]);
        let called = tokens.get(at + 1) == Some(&"(");
        let outside = || {
            matches!(before, "." | "->" | "::")
                || (called || ["dietcode_", "DIETCODE_", "__"].iter().any(|prefix| token.starts_with(prefix)))
                    && !declared.contains(token)
        };
        if !is_identifier(token) || words.contains(token) || outside() && !is_mangled(token) {
            text += token;
        } else {
            let next = numbers.len();
            text += &format!("v{}", numbers.entry(token).or_insert(next));
        }
        text.push(' ');
    }
    text
}

/// The name that is declared at a token: it stands behind a type, or behind a star behind one.
fn declared<'t>(tokens: &[&'t str], at: usize, words: &HashSet<&str>) -> Option<&'t str> {
    let (token, before, further) = (tokens[at], tokens[at - 1], tokens[at - 2]);
    let typed = is_identifier(before) && (!NO_TYPE.contains(&before) || before == "const" && further == "*");
    let pointer = before == "*" && words.contains(further);
    (is_identifier(token) && (typed || pointer)).then_some(token)
}

fn is_identifier(token: &str) -> bool {
    token.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

/// A symbol with the version of its mangling: it holds the kernel's and the micro-kernel's name.
fn is_mangled(token: &str) -> bool {
    token.strip_prefix("dietcode").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Identifiers, numbers, lines of the preprocessor and other characters; string literals are `""`. It goes by bytes, since the decoding
/// of characters is slow where the standard library's instances are not optimized.
fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_ascii_start();
    while let Some(first) = rest.chars().next() {
        let end = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
        let word = || rest.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_').unwrap_or(rest.len());
        // A number may have a point, and a sign in its exponent.
        let number =
            || rest.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'.').unwrap_or(rest.len());
        let (length, token) = match first {
            '/' if rest.starts_with("/*") => (end("*/"), None),
            '/' if rest.starts_with("//") => (end("\n"), None),
            '#' => (end("\n"), Some(rest[..end("\n")].trim_end())),
            '"' => (1 + rest[1..].find('"').map_or(0, |at| at + 1), Some("\"\"")),
            '-' if rest.starts_with("->") => (2, Some("->")),
            ':' if rest.starts_with("::") => (2, Some("::")),
            _ if is_identifier(rest) => (word(), Some(&rest[..word()])),
            _ if first.is_ascii_digit() => (number(), Some(&rest[..number()])),
            _ => (first.len_utf8(), Some(&rest[..first.len_utf8()])),
        };
        tokens.extend(token);
        rest = rest[length..].trim_ascii_start();
    }
    tokens
}

#[test]
fn names_comments_and_layout_do_not_matter() {
    let text =
        "static void dietcode_run_a(const float *restrict x) { /* one */ x[dietcode_imin(i, 2)] += 1.5e-3f; // two\n}";
    let same = "static void dietcode_run_b(const float *restrict y) {\n  y[dietcode_imin(j, 2)] += 1.5e-3f;\n}";
    assert_eq!(normal_form(text), normal_form(same));
}

#[test]
fn everything_else_does() {
    let text = "int f(int x, int y) { return dietcode_imin(x, y) + threadIdx.x * 2; }";
    for (from, to) in [("imin", "imax"), ("(x, y)", "(y, x)"), (".x", ".y"), ("* 2", "* 3"), ("+", "-"), ("return", "")]
    {
        assert_ne!(normal_form(text), normal_form(&text.replacen(from, to, 1)), "{from} → {to}");
    }
    assert_ne!(normal_form("#include \"a.h\"\nx"), normal_form("#include \"b.h\"\nx"));
}
