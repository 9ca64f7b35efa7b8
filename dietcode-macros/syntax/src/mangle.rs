//! The one place where names of generated things are made.
//!
//! | thing                       | name                                         |
//! |-----------------------------|----------------------------------------------|
//! | table of a kernel           | `dietcode2_table_<kernel>_<hash>_<contents>` |
//! | row of a micro-kernel       | `dietcode2_row_<kernel>_<hash>_<micro>`      |
//! | phase on a CUDA device      | `dietcode2_run_<kernel>_<hash>_<micro>`      |
//! | row of a configuration      | `dietcode2_row_<kernel>_<hash>_of_<name>_<contents>` |
//! | table of a set              | `dietcode2_set_<contents>`                   |
//! | dispatcher in C             | `dietcode_dispatch_<kernel>_<target>`        |
//! | what build.rs saw of it     | `DIETCODE_KERNEL_<KERNEL>`: `<hash> <place>` |
//! | files that build.rs read    | `DIETCODE_SOURCES`, with `;` between them    |
//! | path of `dietcode_core`     | `DIETCODE_CORE`                              |
//! | registry of a kernel        | `$OUT_DIR/dietcode/<kernel>/registry.rs`     |
//!
//! `2` is the version of the formats below: the C ABI of a micro-kernel and the layout of its table. `<hash>` is the
//! source hash of the nest, sixteen hexadecimal digits. `<contents>` tells apart the tables that two packages of one
//! program have for the same nest, and `<micro>` ends in what `-march=` said: one symbol always is one code.

/// Version of the ABI between generated code and the runtime.
pub const FORMAT_VERSION: u32 = 2;

/// Names that generated code keeps for itself: user's names must not start with it.
pub const RESERVED_PREFIX: &str = "dietcode";

/// The C symbol of a kernel's table of micro-kernels; `contents` identifies the rows.
pub fn table_symbol(kernel: &str, source_hash: u64, contents: &str) -> String {
    format!("dietcode{FORMAT_VERSION}_table_{kernel}_{source_hash:016x}_{contents}")
}

/// The C symbol of a micro-kernel's row.
pub fn row_symbol(kernel: &str, source_hash: u64, micro_kernel: &str) -> String {
    format!("dietcode{FORMAT_VERSION}_row_{kernel}_{source_hash:016x}_{micro_kernel}")
}

/// The symbol of a micro-kernel's phase on a CUDA device.
pub fn run_symbol(kernel: &str, source_hash: u64, micro_kernel: &str) -> String {
    format!("dietcode{FORMAT_VERSION}_run_{kernel}_{source_hash:016x}_{micro_kernel}")
}

/// What a configuration's kernels have in the place of a micro-kernel's name: no micro-kernel is called so, and a program may
/// have both; `contents` identifies what is generated for it.
pub fn configuration_stem(name: &str, contents: &str) -> String {
    format!("of_{name}_{contents}")
}

/// The C symbol of the table of a set's configurations; `contents` identifies these.
pub fn set_symbol(contents: &str) -> String {
    format!("dietcode{FORMAT_VERSION}_set_{contents}")
}

/// The C function that chooses among the micro-kernels of a kernel for a target, such as `cpu` or `sm_80`.
pub fn dispatch_symbol(kernel: &str, target: &str) -> String {
    format!("dietcode_dispatch_{kernel}_{target}")
}

/// The environment variable through which build.rs tells the macro which files it has read, relative to the package's folder.
pub const SOURCES_VAR: &str = "DIETCODE_SOURCES";

/// The environment variable through which build.rs tells the macro by which path the package's code names `dietcode_core`.
pub const CORE_VAR: &str = "DIETCODE_CORE";

/// The environment variable through which build.rs tells the macro that it has seen a kernel.
pub fn env_var(kernel: &str) -> String {
    format!("DIETCODE_KERNEL_{}", kernel.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_different_code_differ() {
        for symbol in [table_symbol, row_symbol, run_symbol] {
            let all =
                [("a", 1, "x"), ("b", 1, "x"), ("a", 2, "x"), ("a", 1, "y")].map(|(k, hash, of)| symbol(k, hash, of));
            let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "{all:?}");
            assert!(
                all.iter().all(|symbol| symbol.starts_with(&format!("{RESERVED_PREFIX}{FORMAT_VERSION}_"))),
                "{all:?}"
            );
        }
    }
}
