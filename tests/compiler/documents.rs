//! Files and folders that the documents for developers name are there.
//!
//! A path is what stands between backticks, outside of fenced blocks, of letters, digits and `_ . - /` alone, so that placeholders
//! (`configs/<kernel>.json`), patterns and commands are none, and
//!
//! * begins with a folder of the repository and a slash: it is there from the root on,
//! * or has another slash, and begins with a folder of `dietcode-core/src` or ends with a known extension: it is there from that folder on,
//! * or is a name with a known extension: a file anywhere in the repository is called so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents.
const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// The folders of the repository.
const FOLDERS: [&str; 10] = [
    "benches",
    "build-support",
    "configs",
    "dietcode-core",
    "dietcode-macros",
    "docs",
    "examples",
    "src",
    "tests",
    "xtask",
];

/// Where shorter paths begin.
const CORE: &str = "dietcode-core/src";

/// How files end that stand in the repository. Some are of generated files only, such as `registry.def`.
const EXTENSIONS: [&str; 11] = ["csv", "cuh", "h", "json", "md", "patch", "rs", "sh", "stderr", "toml", "txt"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What all files of the repository are called, without their folders.
fn file_names(root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            let is_ours = if folder.as_path() == root { FOLDERS.contains(&&*name) } else { name != "target" };
            if !path.is_dir() {
                names.insert(name);
            } else if is_ours {
                folders.push(path);
            }
        }
    }
    names
}

/// What stands between backticks, with the number of its line.
fn spans<'t>(document: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    let mut spans = Vec::new();
    let mut is_fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            let parts: Vec<&str> = line.split('`').collect();
            assert!(parts.len() % 2 == 1, "{document}:{}: a backtick without another one", at + 1);
            spans.extend(parts.into_iter().skip(1).step_by(2).map(|span| (at + 1, span)));
        }
    }
    spans
}

/// Whether what a path names is there; none: it is no path.
fn is_there(span: &str, root: &Path, names: &BTreeSet<String>) -> Option<bool> {
    let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c));
    let extension = Path::new(span).extension().and_then(|extension| extension.to_str());
    let is_file = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    let core = root.join(CORE);
    match span.split_once('/') {
        _ if !is_plain => None,
        Some(("", _)) => None,
        Some((first, _)) if FOLDERS.contains(&first) => Some(root.join(span).exists()),
        Some((first, _)) if is_file || core.join(first).is_dir() => Some(core.join(span).exists()),
        None if is_file => Some(names.contains(span)),
        _ => None,
    }
}

#[test]
fn paths_in_documents_are_there() {
    let root = root();
    let names = file_names(&root);
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        let mut count = 0;
        for (line, span) in spans(document, &text) {
            if let Some(is_there) = is_there(span, &root, &names) {
                count += 1;
                missing.extend((!is_there).then(|| format!("{document}:{line}: {span}")));
            }
        }
        assert!(count > 40, "{document} names {count} paths");
    }
    assert!(missing.is_empty(), "these are not there:\n{}", missing.join("\n"));
}

#[test]
fn paths_are_told_from_other_words() {
    let root = root();
    let names = file_names(&root);
    let is_there = |span: &str| is_there(span, &root, &names);
    for there in ["tests/README.md", "src/cli/", "lower/mod.rs", "codegen/cuda", "frontend.rs", "Cargo.toml"] {
        assert_eq!(is_there(there), Some(true), "{there}");
    }
    for gone in ["tests/gone.md", "src/gone", "lower/gone.rs", "codegen/gone", "gone/mod.rs", "gone.rs"] {
        assert_eq!(is_there(gone), Some(false), "{gone}");
    }
    for word in
        ["configs/<kernel>.json", "examples/*", "cargo xtask test", ".cu", "registry.def", "c/d", "/", "f32", "-march"]
    {
        assert_eq!(is_there(word), None, "{word}");
    }
    let text = "`a` b `c`\n```\n`d`\n```\n`e`";
    assert_eq!(spans("x.md", text), [(1, "a"), (1, "c"), (5, "e")]);
}
