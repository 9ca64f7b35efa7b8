//! What a configuration's file asserts is what its family demands: the compilers find the same conditions broken.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use dietcode_core::codegen::set::{Language, preamble};
use dietcode_core::machine::cuda::Nvcc;
use dietcode_core::sketch::Family;

/// Configurations that no set file makes, each with the conditions that it breaks, and one that breaks none.
const BROKEN: &[(&str, &[&str])] = &[
    (r#"{ "family": "naive", "cache_line_size": 64 }"#, &[]),
    (r#"{ "family": "naive", "cache_line_size": 66 }"#, &["cache_line_of_elements"]),
    (
        r#"{ "family": "local", "cache_line_size": 64, "item_rows": 4, "item_cols": 3, "wg_rows": 8, "wg_cols": 8,
             "tile_rows": 1, "tile_cols": 1, "vectorization_size": 4,
             "double_buffer": false, "no_bank_conflict_a": true, "no_bank_conflict_b": false }"#,
        &["wg_rows_divided"],
    ),
    (
        r#"{ "family": "local", "cache_line_size": 96, "item_rows": 3, "item_cols": 3, "wg_rows": 8, "wg_cols": 8,
             "tile_rows": 1, "tile_cols": 1, "vectorization_size": 4,
             "double_buffer": true, "no_bank_conflict_a": false, "no_bank_conflict_b": false }"#,
        &["wg_rows_divided", "wg_cols_divided", "cache_lines_filled"],
    ),
    (
        r#"{ "family": "non_local", "item_rows": 4, "item_cols": 4, "wg_rows": 8, "wg_cols": 4,
             "vectorization_size": 4, "vectorization": "partial" }"#,
        &["block_square"],
    ),
    (
        r#"{ "family": "non_local", "item_rows": 4, "item_cols": 8, "wg_rows": 8, "wg_cols": 4,
             "vectorization_size": 4, "vectorization": "full" }"#,
        &["cols_one_vector"],
    ),
];

fn configurations() -> impl Iterator<Item = (Family, BTreeSet<String>)> {
    let parsed = |(text, broken): &(&str, &[&str])| {
        let family: Family = from_json(text);
        (family, broken.iter().map(ToString::to_string).collect())
    };
    BROKEN.iter().map(parsed)
}

fn from_json(text: &str) -> Family {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The conditions of a configuration that a compiler names in what it complains of.
fn named(family: &Family, complaint: &str) -> BTreeSet<String> {
    let conditions = family.conditions().into_iter().map(|condition| condition.name);
    conditions.filter(|name| complaint.contains(&format!("\"{name}: "))).map(str::to_owned).collect()
}

/// What a compiler says of a text on its standard input.
fn complaint(program: &str, args: &[&str], text: &str) -> String {
    let mut command = Command::new(program);
    command.args(args).arg("-").env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr).into_owned()
}

#[test]
fn a_c_compiler_finds_the_broken_conditions() {
    for (family, broken) in configurations() {
        let said = complaint("cc", &["-std=gnu11", "-fsyntax-only", "-x", "c"], &preamble(&family, Language::C));
        assert_eq!(named(&family, &said), broken, "{}: {said}", family.name());
        assert_eq!(said.is_empty(), broken.is_empty(), "{said}");
        let violated = family.conditions().into_iter().filter(|condition| !condition.holds);
        assert_eq!(violated.map(|condition| condition.name.to_owned()).collect::<BTreeSet<_>>(), broken);
    }
}

#[test]
fn nvcc_finds_them_too() {
    let nvcc = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
    for (family, broken) in configurations() {
        let source = preamble(&family, Language::Cuda) + "extern \"C\" __global__ void empty() {}\n";
        let said = match nvcc.compile(&source, &["sm_90".parse().unwrap()], &[]) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(named(&family, &said), broken, "{}: {said}", family.name());
    }
}
