//! Checks that no test is left out: `tests/` holds those of several packages, and each names its own by path.

use std::fs;
use std::path::Path;

use crate::steps::root;

/// The files and folders of `tests/` that are a test, but of no package.
fn unclaimed(root: &Path) -> Vec<String> {
    let folders = fs::read_dir(root).expect("the root can be read").flatten().map(|entry| entry.path());
    let manifests: String = folders
        .chain([root.to_owned()])
        .filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok())
        .collect();
    let entries = fs::read_dir(root.join("tests")).expect("tests/ can be read").flatten();
    let tests = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let main = entry.path().join("main.rs").is_file().then(|| format!("tests/{name}/main.rs"));
        main.or_else(|| name.ends_with(".rs").then(|| format!("tests/{name}")))
    });
    tests.filter(|test| !manifests.contains(&format!("{test}\""))).collect()
}

#[test]
fn every_test_belongs_to_a_package() {
    let unclaimed = unclaimed(&root());
    assert!(unclaimed.is_empty(), "no Cargo.toml names {}: add a [[test]]", unclaimed.join(", "));
}
