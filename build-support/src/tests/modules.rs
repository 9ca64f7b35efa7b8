//! Modules in other files: which are read, and as a part of what.

use super::package::{OUTER, Package, quiet};
use crate::cargo::Manifest;
use crate::kernels;

/// A kernel of this name, and declarations before it.
fn kernel(declarations: &str, name: &str) -> String {
    [declarations, &OUTER.replace("outer", name)].concat()
}

/// The kernels that the build script has seen, with their files, in the order in which it has.
fn seen(lines: &[String]) -> Vec<String> {
    let seen = lines.iter().filter_map(|line| line.strip_prefix("cargo::rustc-env=DIETCODE_KERNEL_"));
    let parts = seen.map(|line| line.split_once('=').unwrap());
    parts.map(|(name, value)| format!("{name} {}", value.split([' ', ':']).nth(1).unwrap())).collect()
}

fn told(lines: &[String], line: &str) -> bool {
    lines.iter().any(|told| told == line)
}

/// Without compiling, which is not what is asked here.
fn package(ops: &str) -> Package {
    let mut package = Package::new(ops);
    package.skip_native = true;
    package
}

#[test]
fn modules_are_found_where_the_compiler_finds_them() {
    let package = package(&kernel("mod a; mod b; pub mod c { mod d; mod e { pub mod r#f; } }", "top"));
    package.write("ops/a.rs", kernel("mod aa;", "a"));
    package.write("ops/a/aa.rs", kernel("", "aa"));
    package.write("ops/b/mod.rs", kernel("mod bb;", "b"));
    package.write("ops/b/bb.rs", kernel("", "bb"));
    package.write("ops/c/d.rs", kernel("", "d"));
    package.write("ops/c/e/f.rs", kernel("", "f"));
    let lines = package.build_with(quiet()).unwrap();
    let expected = [
        "TOP ops.rs",
        "A ops/a.rs",
        "B ops/b/mod.rs",
        "D ops/c/d.rs",
        "F ops/c/e/f.rs",
        "AA ops/a/aa.rs",
        "BB ops/b/bb.rs",
    ];
    assert_eq!(seen(&lines), expected);
    assert!(told(&lines, "cargo::rerun-if-changed=ops/c/e/f.rs"), "{lines:#?}");
    let sources = "cargo::rustc-env=DIETCODE_SOURCES=ops.rs;ops/a.rs;ops/b/mod.rs;ops/c/d.rs;ops/c/e/f.rs;ops/a/aa.rs;ops/b/bb.rs";
    assert!(told(&lines, sources), "{lines:#?}");
}

#[test]
fn paths_are_those_of_the_reference() {
    let package = package(
        "#[path = \"elsewhere/x.rs\"] mod x;
         mod y { #[path = \"z.rs\"] mod z; }
         #[path = \"folder\"] mod v { mod w; }
         #[path = \"../ops.rs\"] mod never;",
    );
    package.write("elsewhere/x.rs", kernel("mod beside; #[path = \"./down/../up.rs\"] mod up;", "x"));
    package.write("elsewhere/beside.rs", kernel("", "beside"));
    package.write("elsewhere/up.rs", kernel("", "up"));
    package.write("ops/y/z.rs", kernel("", "z"));
    package.write("folder/w.rs", kernel("", "w"));
    let expected =
        ["X elsewhere/x.rs", "Z ops/y/z.rs", "W folder/w.rs", "BESIDE elsewhere/beside.rs", "UP elsewhere/up.rs"];
    assert_eq!(seen(&package.build_with(quiet()).unwrap()), expected);
}

#[test]
fn modules_of_a_root_stand_beside_it() {
    let mut package = package("");
    package.write("tests/root.rs", kernel("mod part;", "root"));
    package.write("tests/part.rs", kernel("", "part"));
    package.write("src/lib.rs", kernel("mod of_lib;", "of_root"));
    package.write("src/of_lib.rs", kernel("", "of_lib"));
    package.manifest = Manifest { roots: vec![package.path("tests/root.rs")], ..Manifest::default() };
    let lines = package.build_of(&["tests/root.rs", "src/lib.rs"]).unwrap();
    let expected = ["ROOT tests/root.rs", "OF_ROOT src/lib.rs", "PART tests/part.rs", "OF_LIB src/of_lib.rs"];
    assert_eq!(seen(&lines), expected);
}

#[test]
fn what_is_listed_is_built_as_it_is_listed_and_once() {
    let package = package("mod listed; mod other; #[path = \"ops/other.rs\"] mod again;");
    package.write("ops/listed.rs", kernel("", "listed"));
    package.write("ops/other.rs", kernel("#[path = \"../ops.rs\"] mod around;", "other"));
    let listed = kernels(["./ops/listed.rs"]);
    assert_eq!(
        seen(&package.build_with(quiet().and(listed)).unwrap()),
        ["LISTED ./ops/listed.rs", "OTHER ops/other.rs"]
    );
}

#[test]
fn modules_that_are_not_compiled_are_not_read() {
    let package = package("#[cfg(feature = \"no\")] mod off; #[cfg(test)] mod tests; mod nowhere;");
    package.write("ops/off.rs", "this is no Rust");
    package.write("ops/tests.rs", kernel("#![cfg(unix)]", "never"));
    let mut lines = package.build_with(quiet()).unwrap();
    assert_eq!(seen(&lines), ["NEVER ops/tests.rs"; 0]);
    lines.retain(|line| line.starts_with("cargo::rerun-if-changed=ops"));
    let changed = |file| format!("cargo::rerun-if-changed={file}");
    // That there is no file is told by the compiler; one that comes is noticed.
    assert_eq!(lines, ["ops.rs", "ops/tests.rs", "ops/nowhere.rs"].map(changed));
}

#[test]
fn what_is_wrong_in_a_module_has_its_place() {
    let package = package("mod a;");
    package.write("ops/a.rs", "fn f( {");
    assert!(package.build().unwrap_err()[0].starts_with("ops/a.rs:1:"));
    package.write("ops/a.rs", OUTER.replace("a[i]", "a[i * i]"));
    assert!(package.build().unwrap_err()[0].starts_with("ops/a.rs:6:"));
    package.write("ops/a.rs", [0xff, 0xfe]);
    let errors = package.build().unwrap_err();
    assert!(errors[0].starts_with("ops/a.rs: it is a module of a listed file, but it cannot be read"), "{errors:#?}");
}
