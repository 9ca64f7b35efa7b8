//! Checks that no test is left out: `tests/` holds those of several packages, each of which names its own by path, and a test
//! of many files names each of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::root;

/// What a folder holds.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("it can be read").map(|entry| entry.expect("it can be read").path()).collect()
}

/// The files and folders of `tests/` that are a test, but of no package.
fn unclaimed(root: &Path) -> Vec<String> {
    let manifests: String =
        entries(root).iter().filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok()).collect();
    let manifests = manifests + &fs::read_to_string(root.join("Cargo.toml")).expect("the root is a package");
    let tests = entries(&root.join("tests")).into_iter().filter_map(|entry| {
        let name = entry.file_name()?.to_str()?.to_owned();
        let main = entry.join("main.rs").is_file().then(|| format!("tests/{name}/main.rs"));
        main.or_else(|| name.ends_with(".rs").then(|| format!("tests/{name}")))
    });
    tests.filter(|test| !manifests.contains(&format!("{test}\""))).collect()
}

/// The files below this folder that no file names, by `mod` or as text. What is a module's parent is `main.rs` or `mod.rs` beside
/// it, or the file that is called like its folder; a folder without one holds no modules.
fn unnamed(folder: &Path) -> Vec<String> {
    let beside = ["main.rs", "mod.rs"].map(|name| folder.join(name));
    let parent = beside.into_iter().chain([folder.with_extension("rs")]).find_map(|file| fs::read_to_string(file).ok());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries(folder).into_iter().partition(|entry| entry.is_dir());
    let sources = files.iter().filter(|file| file.extension().is_some_and(|it| it == "rs"));
    let modules = sources.filter(|file| !["main.rs", "mod.rs"].iter().any(|name| file.ends_with(name)));
    let is_unnamed = |file: &&PathBuf| {
        let stem = file.file_stem().and_then(|it| it.to_str()).expect("our files have such names");
        let names = [format!("mod {stem};"), format!("mod {stem} {{"), format!("/{stem}.rs\""), "/*.rs".to_owned()];
        parent.as_ref().is_some_and(|text| !names.iter().any(|name| text.contains(name)))
    };
    let own = modules.filter(is_unnamed).map(|file| file.display().to_string());
    own.chain(folders.iter().flat_map(|folder| unnamed(folder))).collect()
}

#[test]
fn every_test_belongs_to_a_package() {
    let unclaimed = unclaimed(&root());
    assert!(unclaimed.is_empty(), "no Cargo.toml names {}: add a [[test]]", unclaimed.join(", "));
}

#[test]
fn every_file_of_a_test_is_named_by_another() {
    let tests = ["tests", "dietcode-core/tests", "dietcode-macros/syntax/tests"].map(|folder| root().join(folder));
    let folders = tests.iter().flat_map(|tests| entries(tests)).filter(|entry| entry.is_dir());
    let unnamed: Vec<String> = folders.flat_map(|folder| unnamed(&folder)).collect();
    assert!(unnamed.is_empty(), "no `mod` names {}", unnamed.join(", "));
}
