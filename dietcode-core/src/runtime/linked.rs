//! What generated code says of native code, as a macro.
//!
//! A `registry.rs` becomes part of a user's crate, and that may say `#![forbid(unsafe_code)]`. So nothing unsafe stands in
//! it: what the build script vouches for is said here, and expands from this crate.
//!
//! Each target of a package that has a kernel's Rust side links its native side by itself: cargo hands a library that
//! a build script names to the package's library alone if it has one, and a binary or a test may have kernels too.

/// Declares what a build script has compiled.
///
/// | call                                    | what it stands for                                                     |
/// |-----------------------------------------|------------------------------------------------------------------------|
/// | `library "name"`                        | links that static library, and what its code calls                     |
/// | `table "symbol"`                        | the static `TABLE` of a kernel or a set                                |
/// | `host entry…`                           | the entries of kernels on the emulated device                          |
#[doc(hidden)]
#[macro_export]
macro_rules! dietcode_linked {
    (library $name:literal) => {
        #[link(name = $name, kind = "static")]
        // exp and tanh.
        #[cfg_attr(not(target_env = "msvc"), link(name = "m"))]
        unsafe extern "C" {}
    };
    (table $symbol:literal) => {
        unsafe extern "C" {
            #[link_name = $symbol]
            static MICRO_KERNELS: $crate::abi::Table;
        }
        // SAFETY: registry.c, which was generated beside this call, defines it as immutable data.
        pub(super) static TABLE: $crate::runtime::TableSource =
            $crate::runtime::TableSource::Linked(unsafe { &MICRO_KERNELS });
    };
    (host $($entry:ident)*) => {
        #[cfg_attr(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd"), link(name = "c++"))]
        #[cfg_attr(not(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd")), link(name = "stdc++"))]
        unsafe extern "C" {
            $(fn $entry(
                grid: u32,
                block: u32,
                shared_bytes: u64,
                args: *const $crate::runtime::cuda::HostArg,
                error: *mut ::core::ffi::c_char,
                error_len: u64,
            ) -> ::core::ffi::c_int;)*
        }
    };
}
