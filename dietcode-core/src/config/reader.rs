//! JSON with positions: every error says `file:line:column: key `a.b`: found …, expected …`.

use std::fs;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::nearest::nearest;
use crate::message::one_line;
use crate::{Error, Result};

/// The largest file that is read.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// The largest magnitude of an integer: every one up to it is exact in any JSON reader.
pub(super) const MAX_INTEGER: i64 = 1 << 53;

/// A JSON file.
pub(super) struct Source {
    path: PathBuf,
    text: String,
}

/// A value in a file and the way to it.
#[derive(Clone)]
pub(super) struct Node<'a> {
    source: &'a Source,
    value: &'a Value<'a>,
    key: String,
}

/// An object whose keys have been checked.
pub(super) struct Object<'a> {
    node: Node<'a>,
    properties: &'a [ObjectProp<'a>],
}

/// The bytes of a file of a kind of which none is larger than `most` bytes.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if it cannot be read, is larger, or is no file: reading a pipe or a device might never end.
pub fn read_file(path: &Path, most: u64, kind: &str) -> Result<Vec<u8>> {
    let error = |message: String| Error::input(format!("{}: {message}", path.display()));
    let unreadable = |e| error("cannot be read".to_string()).caused_by(e);
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(error("is not a file".to_string()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(error(format!("is larger than {} MiB, the largest {kind} there can be", most >> 20)));
    }
    Ok(bytes)
}

impl Source {
    /// Reads a file; not a file, too large, or not UTF-8 are errors that name it.
    pub(super) fn read(path: &Path) -> Result<Source> {
        if let Some(kernel) = kernel_path(path) {
            let what = "found a Rust source, expected a config, which is a JSON file";
            let how = format!("`dietcode tune --kernel {kernel} --wkl …` makes one for a kernel in it");
            return Err(Error::input(format!("{}: {what}; {how}", path.display())));
        }
        Source::from_bytes(path, read_file(path, MAX_BYTES, "config")?)
    }

    /// The same from memory.
    pub(super) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Source> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { path: path.to_path_buf(), text }),
            Err(e) => {
                let valid = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&e.as_bytes()[..valid]).into_owned();
                Err(Source { path: path.to_path_buf(), text }.error(valid, "found a byte that is not UTF-8"))
            }
        }
    }

    /// Parses strict JSON and hands the top value to `read`.
    pub(super) fn parse<T>(&self, read: impl FnOnce(Node<'_>) -> Result<T>) -> Result<T> {
        self.check_strict()?;
        let parsed = parse_to_ast(&self.text, &CollectOptions::default(), &STRICT)
            .map_err(|e| self.error(e.range().start, &e.kind().to_string()))?;
        match &parsed.value {
            Some(value) => read(Node { source: self, value, key: String::new() }),
            None => Err(self.error(0, "found an empty file, expected an object")),
        }
    }

    /// The parser that gives positions also takes dialects of JSON; what is JSON is decided by `serde_json`.
    fn check_strict(&self) -> Result<()> {
        let Err(e) = serde_json::from_str::<IgnoredAny>(&self.text) else { return Ok(()) };
        Err(self.no_json(&e))
    }

    /// Why the text is no JSON, or not what it is read as.
    fn no_json(&self, e: &serde_json::Error) -> Error {
        let lines = self.text.split_inclusive('\n').take(e.line().max(1) - 1).map(str::len);
        // It counts bytes, and names the last that it has read.
        let end = (lines.sum::<usize>() + e.column().max(1)).min(self.text.len() + 1);
        let at = (0..end).rfind(|at| self.text.is_char_boundary(*at)).unwrap_or_default();
        let said = e.to_string();
        let said = one_line(said.rsplit_once(" at line ").map_or(said.as_str(), |(message, _)| message));
        let (before, rest) = self.text.split_at(at);
        let is_data = e.classify() == serde_json::error::Category::Data;
        self.error(at, of_another_dialect(before, rest).filter(|_| !is_data).unwrap_or(&said))
    }

    /// An error at a byte of the text.
    fn error(&self, at: usize, message: &str) -> Error {
        let (line, column) = self.position(at);
        self.error_at(line, column, message)
    }

    /// Line and column of a byte.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        (line, before.rsplit('\n').next().unwrap_or("").chars().count() + 1)
    }

    fn error_at(&self, line: usize, column: usize, message: &str) -> Error {
        Error::input(format!("{}:{line}:{column}: {message}", one_line(&self.path.to_string_lossy())))
    }
}

/// What other dialects of JSON, and other languages, have where it ends to be JSON.
fn of_another_dialect(before: &str, rest: &str) -> Option<&'static str> {
    const WORDS: [(&[&str], &str); 6] = [
        (&["\u{feff}"], "found a byte order mark, expected JSON; save the file as UTF-8 without one"),
        (&["NaN", "nan", "Inf", "inf"], "found what is no number of JSON: it has no NaN and no infinity"),
        (&["True", "False", "None"], "found a word of Python; JSON has true, false and null"),
        (&["//", "/*"], "found a comment; JSON has none: there is the key `comment`"),
        (&["'"], "found a single quote; strings stand in double quotes"),
        (&["+", "."], "found what begins no number of JSON, such as `0.5` or `-2`"),
    ];
    let is_comma = before.trim_end().ends_with(',') && rest.starts_with(['}', ']']);
    let comma = is_comma.then_some("found a comma before the end, expected one only between elements");
    comma.or_else(|| {
        WORDS.iter().find(|(words, _)| words.iter().any(|word| rest.starts_with(word))).map(|found| found.1)
    })
}

/// What `--kernel` takes, where that or a source stands in place of a config.
fn kernel_path(path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    let is_source = |path: &str| path.ends_with(".rs");
    let is_named = text.rsplit_once(':').is_some_and(|(source, _)| is_source(source));
    if is_named { Some(text.into_owned()) } else { is_source(&text).then(|| format!("{text}:NAME")) }
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl<'a> Node<'a> {
    /// An object that has no other keys than these.
    pub(super) fn object(&self, allowed: &[&str]) -> Result<Object<'a>> {
        let object = self.open()?;
        match object.properties.iter().find(|p| !allowed.contains(&p.name.as_str())) {
            Some(unknown) => Err(self.unknown_key(unknown, allowed)),
            None => Ok(object),
        }
    }

    /// An object whose keys depend on what stands in it.
    pub(super) fn open(&self) -> Result<Object<'a>> {
        self.any_object("an object")
    }

    /// The entries of an object whose keys are up to the user.
    pub(super) fn entries(&self, expected: &str) -> Result<Vec<(&'a str, Node<'a>)>> {
        let object = self.any_object(expected)?;
        Ok(object.properties.iter().map(|p| (p.name.as_str(), self.child(p))).collect())
    }

    /// The elements of an array.
    pub(super) fn array(&self, expected: &str) -> Result<Vec<Node<'a>>> {
        let Value::Array(array) = self.value else { return Err(self.expected(expected)) };
        let element = |(at, value)| Node { source: self.source, value, key: format!("{}[{at}]", self.key) };
        Ok(array.elements.iter().enumerate().map(element).collect())
    }

    /// The elements of an array that must not be empty.
    pub(super) fn filled_array(&self, expected: &str) -> Result<Vec<Node<'a>>> {
        let elements = self.array(expected)?;
        if elements.is_empty() { Err(self.fail("an empty array", expected)) } else { Ok(elements) }
    }

    /// A string.
    pub(super) fn string(&self, expected: &str) -> Result<&'a str> {
        match self.value {
            Value::StringLit(literal) => Ok(&literal.value),
            _ => Err(self.expected(expected)),
        }
    }

    /// What a JSON file holds that the value names, relative to the folder of its own file.
    pub(super) fn file<T: DeserializeOwned>(&self, expected: &str) -> Result<T> {
        let folder = self.source.path.parent().unwrap_or(Path::new(""));
        let file = Source::read(&folder.join(self.string(expected)?)).map_err(|e| self.error(&e.to_string()))?;
        serde_json::from_str(&file.text).map_err(|e| self.error(&file.no_json(&e).to_string()))
    }

    /// A whole number; `5.0` is one too, as in JSON Schema.
    pub(super) fn integer(&self, range: RangeInclusive<i64>) -> Result<i64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let Value::NumberLit(literal) = self.value else { return Err(self.expected(&expected)) };
        let whole = |value: f64| (value.fract() == 0.0 && value.abs() <= MAX_INTEGER as f64).then_some(value as i64);
        let value = literal.value.parse().ok().or_else(|| literal.value.parse().ok().and_then(whole));
        value.filter(|value| range.contains(value)).ok_or_else(|| self.expected(&expected))
    }

    /// A whole number of things.
    pub(super) fn count(&self, range: RangeInclusive<i64>) -> Result<usize> {
        Ok(usize::try_from(self.integer(range)?).unwrap_or(usize::MAX))
    }

    /// A finite number that is acceptable.
    pub(super) fn number(&self, expected: &str, accept: impl Fn(f64) -> bool) -> Result<f64> {
        let Value::NumberLit(literal) = self.value else { return Err(self.expected(expected)) };
        let value = literal.value.parse().ok();
        value.filter(|v: &f64| v.is_finite() && accept(*v)).ok_or_else(|| self.expected(expected))
    }

    /// A factor or a weight: greater than 0, and neither so large nor so small that sums and products of some leave what a number
    /// can be.
    pub(super) fn factor(&self) -> Result<f64> {
        self.number("a number from 1e-9 to 1e9", |factor| (1e-9..=1e9).contains(&factor))
    }

    /// Yes or no.
    pub(super) fn boolean(&self) -> Result<bool> {
        match self.value {
            Value::BooleanLit(literal) => Ok(literal.value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Whether it is `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Value::NullKeyword(_))
    }

    /// Whether it is an object with this key.
    pub(super) fn has(&self, key: &str) -> bool {
        matches!(self.value, Value::Object(object) if object.properties.iter().any(|p| p.name.as_str() == key))
    }

    /// Whether it is a string.
    pub(super) fn is_string(&self) -> bool {
        matches!(self.value, Value::StringLit(_))
    }

    /// An error about this value.
    pub(super) fn expected(&self, expected: &str) -> Error {
        self.fail(&self.found(), expected)
    }

    /// An error about this value that says what was found in other words.
    pub(super) fn fail(&self, found: &str, expected: &str) -> Error {
        self.error(&format!("found {found}, expected {expected}"))
    }

    /// This value's position and key, for an error that shows only later.
    pub(super) fn place(&self) -> String {
        let (line, column) = self.source.position(self.value.start());
        format!("{}:{line}:{column}: key `{}`", self.source.path.display(), self.key)
    }

    /// An error with this value's position and key.
    pub(super) fn error(&self, message: &str) -> Error {
        self.error_near(self.value.start(), message)
    }

    fn error_near(&self, at: usize, message: &str) -> Error {
        if self.key.is_empty() {
            return self.source.error(at, message);
        }
        self.source.error(at, &format!("key `{}`: {message}", self.key))
    }

    fn any_object(&self, expected: &str) -> Result<Object<'a>> {
        let Value::Object(object) = self.value else { return Err(self.expected(expected)) };
        let mut seen = std::collections::HashSet::new();
        for property in &object.properties {
            if !seen.insert(property.name.as_str()) {
                return Err(self.child(property).error_near(property.start(), "found a second time, expected once"));
            }
        }
        Ok(Object { node: self.clone(), properties: &object.properties })
    }

    fn child(&self, property: &'a ObjectProp<'a>) -> Node<'a> {
        let name = shortened(property.name.as_str());
        let key = if self.key.is_empty() { name } else { format!("{}.{name}", self.key) };
        Node { source: self.source, value: &property.value, key }
    }

    fn unknown_key(&self, property: &'a ObjectProp<'a>, allowed: &[&str]) -> Error {
        let hint = match nearest(property.name.as_str(), allowed.iter().copied()) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        let message = format!("found an unknown key, expected one of {}{hint}", allowed.join(", "));
        self.child(property).error_near(property.start(), &message)
    }

    fn found(&self) -> String {
        match self.value {
            Value::StringLit(literal) => format!("the string \"{}\"", shortened(&literal.value)),
            Value::NumberLit(literal) => shortened(literal.value),
            Value::BooleanLit(literal) => literal.value.to_string(),
            Value::Object(_) => "an object".to_string(),
            Value::Array(_) => "an array".to_string(),
            Value::NullKeyword(_) => "null".to_string(),
        }
    }
}

impl<'a> Object<'a> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.properties.iter().find(|p| p.name.as_str() == key).map(|p| self.node.child(p))
    }

    /// Reads the value of a key, if it is there, into what is its default else.
    pub(super) fn read<T>(&self, key: &str, into: &mut T, read: impl FnOnce(&Node<'a>) -> Result<T>) -> Result<()> {
        if let Some(node) = self.get(key) {
            *into = read(&node)?;
        }
        Ok(())
    }

    /// The value of a key that must be there.
    pub(super) fn require(&self, key: &str, expected: &str) -> Result<Node<'a>> {
        self.get(key).ok_or_else(|| self.node.error(&format!("the key `{key}` is missing, expected {expected}")))
    }

    /// Checks a remark for people: a string.
    pub(super) fn check_comment(&self, key: &str) -> Result<()> {
        self.get(key).map_or(Ok(()), |comment| comment.string("a string").map(drop))
    }
}

/// The text on one line and not too long for a message.
fn shortened(text: &str) -> String {
    let line: String = text.escape_debug().take(40).collect();
    if line.len() < text.len() { line + "…" } else { line }
}
