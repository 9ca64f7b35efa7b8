//! Which names a kernel, its parameters, variables and temporaries may have.

use crate::error::{Errors, Problem};
use crate::mangle::RESERVED_PREFIX;
use proc_macro2::Ident;

/// The most characters a name may have.
pub const MAX_NAME: usize = 64;

/// Keywords of C23 and C++23, what gcc and nvcc predefine without a leading underscore, and macros of the headers
/// that generated code includes. All of them are valid Rust identifiers, so a user may well choose one.
#[rustfmt::skip]
const C_NAMES: &[&str] = &[
    // C
    "alignas",
    "alignof",
    "auto",
    "bool",
    "case",
    "char",
    "constexpr",
    "default",
    "do",
    "double",
    "float",
    "goto",
    "inline",
    "int",
    "long",
    "nullptr",
    "register",
    "restrict",
    "short",
    "signed",
    "sizeof",
    "static_assert",
    "switch",
    "thread_local",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "void",
    "volatile",
    // C++
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "catch",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_cast",
    "template",
    "this",
    "throw",
    "typeid",
    "typename",
    "using",
    "wchar_t",
    "xor",
    "xor_eq",
    // Predefined
    "linux",
    "unix",
    "i386",
    "main",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    // Headers
    "NULL",
    "EOF",
    "NAN",
    "INFINITY",
    "HUGE_VAL",
    "HUGE_VALF",
    "M_E",
    "M_PI",
    "offsetof",
    "errno",
    "assert",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "INT32_MAX",
    "INT64_MAX",
    "INT64_MIN",
    "SIZE_MAX",
];

/// Constants and statics in scope where the nest is kept as Rust: a variable of that name would be a pattern there.
const RUST_NAMES: &[&str] = &["KERNEL", "None", "Some", "Ok", "Err"];

/// Reports the name if it cannot be used; temporaries are held to the same rule, although they are put in place.
pub(crate) fn check(ident: &Ident, errors: &mut Errors) {
    let name = ident.to_string();
    if let Some(problem) = problem(&name) {
        errors.push(ident, problem);
    }
}

fn problem(name: &str) -> Option<Problem> {
    let owned = || name.to_string();
    let prefix = name.get(..RESERVED_PREFIX.len());
    if name.starts_with("r#") {
        Some(Problem::NameRaw { name: owned() })
    } else if !name.is_ascii() {
        Some(Problem::NameNotAscii { name: owned() })
    } else if name.starts_with('_') {
        Some(Problem::NameUnderscore { name: owned() })
    } else if prefix.is_some_and(|p| p.eq_ignore_ascii_case(RESERVED_PREFIX)) {
        Some(Problem::NameReserved { name: owned(), prefix: RESERVED_PREFIX.to_string() })
    } else if name.len() > MAX_NAME {
        Some(Problem::NameTooLong { length: name.len().to_string(), most: MAX_NAME.to_string() })
    } else if C_NAMES.contains(&name) {
        Some(Problem::NameKeyword { name: owned() })
    } else if RUST_NAMES.contains(&name) {
        Some(Problem::NameTaken { name: owned() })
    } else {
        None
    }
}
