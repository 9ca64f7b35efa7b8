//! What a user's program is linked with, and what the macro in front of it is built of, as cargo resolves their features.

use std::path::Path;
use std::process::Command;

/// The packages that one of the workspace depends on, by their names.
fn dependencies(package: &str, options: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}", "--package", package]);
    let output = command.args(options).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<String> =
        lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names.retain(|name| name != package);
    names
}

#[test]
fn a_program_that_calls_kernels_is_linked_with_threads_and_numbers_and_no_parser() {
    #[rustfmt::skip]
    let expected = [
        "cfg-if", "crossbeam-deque", "crossbeam-epoch", "crossbeam-utils", "either", "half", "libc", "libm", "rayon",
        "rayon-core", "smallvec", "zerocopy",
    ];
    assert_eq!(dependencies("dietcode-core", &["--edges", "normal,no-proc-macro"]), expected);
    let runtime = ["--no-default-features", "--features", "runtime", "--edges", "normal,no-proc-macro"];
    assert_eq!(dependencies("dietcode-core", &runtime), expected);
}

#[test]
fn the_macro_is_built_of_what_parses_rust() {
    let expected = ["dietcode-syntax", "proc-macro2", "quote", "syn", "unicode-ident"];
    assert_eq!(dependencies("dietcode-macros", &["--edges", "normal,build"]), expected);
}
