//! Which names a kernel, its parameters, variables and temporaries may have.

use crate::error::{Errors, Problem};
use crate::mangle::RESERVED_PREFIX;
use proc_macro2::Ident;

/// The most characters a name may have.
pub const MAX_NAME: usize = 64;

/// Keywords of C23 and C++23, what gcc and nvcc predefine without a leading underscore, and what `stdint.h`, `stddef.h`
/// and `math.h` define. All of them are valid Rust identifiers, so a user may well choose one.
#[rustfmt::skip]
const C_NAMES: &[&str] = &[
    // C
    "alignas", "alignof", "auto", "bool", "case", "char", "constexpr", "default", "do", "double", "float",
    "goto", "inline", "int", "long", "nullptr", "register", "restrict", "short", "signed", "sizeof",
    "static_assert", "switch", "thread_local", "typedef", "typeof", "typeof_unqual", "union", "unsigned",
    "void", "volatile",
    // C++
    "and", "and_eq", "asm", "bitand", "bitor", "catch", "char8_t", "char16_t", "char32_t", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "const_cast", "consteval", "constinit", "decltype", "delete",
    "dynamic_cast", "explicit", "export", "friend", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "operator", "or", "or_eq", "private", "protected", "public", "reinterpret_cast", "requires", "static_cast",
    "template", "this", "throw", "typeid", "typename", "using", "wchar_t", "xor", "xor_eq",
    // Predefined
    "linux", "unix", "i386", "main", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
    // Headers
    "FP_ILOGB0", "FP_ILOGBNAN", "FP_INFINITE", "FP_NAN", "FP_NORMAL", "FP_SUBNORMAL", "FP_ZERO", "HUGE_VAL",
    "HUGE_VALF", "HUGE_VALL", "INFINITY", "INT16_MAX", "INT16_MIN", "INT32_MAX", "INT32_MIN", "INT64_MAX",
    "INT64_MIN", "INT8_MAX", "INT8_MIN", "INTMAX_MAX", "INTMAX_MIN", "INTPTR_MAX", "INTPTR_MIN",
    "INT_FAST16_MAX", "INT_FAST16_MIN", "INT_FAST32_MAX", "INT_FAST32_MIN", "INT_FAST64_MAX", "INT_FAST64_MIN",
    "INT_FAST8_MAX", "INT_FAST8_MIN", "INT_LEAST16_MAX", "INT_LEAST16_MIN", "INT_LEAST32_MAX",
    "INT_LEAST32_MIN", "INT_LEAST64_MAX", "INT_LEAST64_MIN", "INT_LEAST8_MAX", "INT_LEAST8_MIN",
    "MATH_ERREXCEPT", "MATH_ERRNO", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_E", "M_LN10", "M_LN2", "M_LOG10E",
    "M_LOG2E", "M_PI", "M_PI_2", "M_PI_4", "M_SQRT1_2", "M_SQRT2", "NAN", "NULL", "PTRDIFF_MAX", "PTRDIFF_MIN",
    "SIG_ATOMIC_MAX", "SIG_ATOMIC_MIN", "SIZE_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX", "UINT8_MAX",
    "UINTMAX_MAX", "UINTPTR_MAX", "UINT_FAST16_MAX", "UINT_FAST32_MAX", "UINT_FAST64_MAX", "UINT_FAST8_MAX",
    "UINT_LEAST16_MAX", "UINT_LEAST32_MAX", "UINT_LEAST64_MAX", "UINT_LEAST8_MAX", "WCHAR_MAX", "WCHAR_MIN",
    "WINT_MAX", "WINT_MIN", "math_errhandling", "assert", "errno", "EOF", "offsetof", "size_t", "ptrdiff_t",
    "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t",
];

/// Constants, statics and constructors in scope where the nest is kept as Rust: a variable of that name would be a pattern there.
const RUST_NAMES: &[&str] = &["KERNEL", "None", "Some", "Ok", "Err", "f16", "bf16"];

/// Reports the name if it cannot be used; temporaries are held to the same rule, although they are put in place.
pub(crate) fn check(ident: &Ident, errors: &mut Errors) {
    let name = ident.to_string();
    if let Some(problem) = problem(&name) {
        errors.push(ident, problem);
    }
}

/// Reports the name of a constant if the generated Rust code has one of that name. It never reaches C: its value does.
pub(crate) fn check_constant(ident: &Ident, errors: &mut Errors) {
    let name = ident.to_string();
    if RUST_NAMES.contains(&&*name) {
        errors.push(ident, Problem::NameTaken { name });
    }
}

/// Whether generated code can have a variable of this name.
pub fn is_free(name: &str) -> bool {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    plain && problem(name).is_none()
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
