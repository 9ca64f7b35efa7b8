//! `dietcode init`: what it writes, what it leaves alone, and what it refuses. That what it writes runs is for `first_hour`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a crate in `crate`, or without one.
struct Place(tempfile::TempDir);

const MANIFEST: &str = "# Mine.
[package]
name    = \"mine\" # aligned
version = \"0.1.0\"
edition = \"2021\"

[dependencies] # none yet
";

const MAIN: &str = "fn main() {}\n";

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = place.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("crate").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Runs it on the folder `crate`.
    fn init(&self, arguments: &[&str]) -> Output {
        self.run(&[&["init", "crate"], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// What it says where it succeeds.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.init(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// It ends with this status and sentence, and nothing is written into the crate.
    fn refused(&self, arguments: &[&str], status: i32, sentence: &str) {
        let before = files(self.0.path());
        let output = self.init(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("dietcode: ") && said.contains(sentence), "{said}");
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert_eq!(files(self.0.path()), before);
    }
}

/// All files below a folder with what they hold, without git's.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(files(&entry.path())),
            false => all.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    all.sort();
    all
}

fn clone() -> &'static str {
    env!("CARGO_MANIFEST_DIR")
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let place = Place::new(&[]);
    let first = place.done(&["--name", "first-try"]);
    let (tune, enter) = ("dietcode tune configs/dense.json\n", "cd crate\n");
    assert!(first.contains("written  src/ops.rs\n") && first.contains(tune) && first.contains(enter), "{first}");
    for (name, text) in [
        ("src/ops.rs", "pub fn dense("),
        ("src/main.rs", "dense::reference"),
        ("build.rs", "[\"src/ops.rs\"]"),
        ("Cargo.toml", "name = \"first-try\""),
        ("configs/dense.json", "\"../src/ops.rs\""),
    ] {
        assert!(place.read(name).contains(text), "{name}: {}", place.read(name));
    }
    let before = files(place.0.path());
    assert_eq!(place.done(&[]), "crate: nothing is written, all of it is there\n");
    assert_eq!(files(place.0.path()), before);
}

#[test]
fn a_crate_of_ones_own_keeps_what_it_has() {
    let place = Place::new(&[("crate/Cargo.toml", MANIFEST), ("crate/src/main.rs", MAIN)]);
    let said = place.done(&[]);
    let added = format!(
        "dietcode-core = {{ path = \"{0}/dietcode-core\" }}\n\n[build-dependencies]\ndietcode-build = {{ path = \"{0}/build-support\" }}\n",
        clone()
    );
    assert_eq!(place.read("Cargo.toml"), format!("{MANIFEST}{added}"));
    assert_eq!(place.read("src/main.rs"), MAIN);
    assert!(said.contains("src/main.rs is left as it is; add the module"), "{said}");
    fs::write(place.path("src/main.rs"), "mod ops;\nfn main() {}\n").unwrap();
    assert!(place.done(&[]).starts_with("crate: nothing is written"));
}

#[test]
fn files_that_are_there_are_left_and_the_lines_printed() {
    let own = "// Mine.\n";
    let files = ["Cargo.toml", "src/main.rs", "src/ops.rs", "build.rs", "configs/dense.json"];
    let texts = [MANIFEST, MAIN, own, "fn main() {}\n", "{}"];
    let named: Vec<String> = files.iter().map(|name| format!("crate/{name}")).collect();
    let there: Vec<(&str, &str)> = named.iter().map(String::as_str).zip(texts).collect();
    let place = Place::new(&there);
    let said = place.done(&[]);
    for (name, text) in files.iter().zip(texts).skip(1) {
        assert_eq!(place.read(name), text, "{name}");
    }
    for line in [
        "add the nest:\n\n    use dietcode_core::dynamic_kernel;\n",
        "add the call in its `main`:\n\n    fn main() {\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    // Kernels of one's own need none of ours, and a module may be a folder.
    fs::rename(place.path("src/ops.rs"), place.path("ops")).unwrap();
    fs::remove_dir_all(place.path("configs")).unwrap();
    fs::create_dir(place.path("src/ops")).unwrap();
    fs::write(place.path("src/ops/mod.rs"), "use dietcode_core::dynamic_kernel;").unwrap();
    place.done(&[]);
    assert!(!place.path("configs").exists() && !place.path("src/ops.rs").exists());
}

/// `cargo new` comes first as often as not; what it wrote is nobody's.
#[test]
fn the_program_that_cargo_wrote_is_replaced() {
    let hello = "fn main() {\n    println!(\"Hello, world!\");\n}\n";
    let place = Place::new(&[("crate/Cargo.toml", MANIFEST), ("crate/src/main.rs", hello)]);
    place.done(&[]);
    assert!(place.read("src/main.rs").contains("ops::dense(&x, &w, &mut y)?"));
}

#[test]
fn a_library_is_told_where_its_module_belongs() {
    let library = "//! Mine.\n";
    let place = Place::new(&[("crate/Cargo.toml", MANIFEST), ("crate/src/lib.rs", library)]);
    let said = place.done(&[]);
    assert!(said.contains("src/lib.rs is left as it is; add the module:\n\n    pub mod ops;\n"), "{said}");
    assert!(said.contains("    cargo build\n") && !said.contains("cargo run"), "{said}");
    assert!(!place.path("src/main.rs").exists() && place.read("src/lib.rs") == library);
    // Native code is linked to the library, so that a program beside it changes nothing.
    fs::write(place.path("src/main.rs"), MAIN).unwrap();
    assert!(place.done(&[]).contains("src/lib.rs is left as it is"));

    let elsewhere = format!("{MANIFEST}[lib]\npath = \"code/lib.rs\"\n");
    let place = Place::new(&[("crate/Cargo.toml", &elsewhere), ("crate/code/lib.rs", library)]);
    place.done(&[]);
    assert!(place.read("build.rs").contains("[\"code/ops.rs\"]") && place.path("code/ops.rs").is_file());
    assert!(place.read("configs/dense.json").contains("\"../code/ops.rs\""));
}

#[test]
fn dependencies_that_are_there_are_kept() {
    let with = |lines: &str| format!("{MANIFEST}{lines}");
    let core = |key: &str, more: &str| {
        let package = if key == "dietcode-core" { "" } else { "package = \"dietcode-core\", " };
        format!("{key} = {{ {package}path = \"{}/dietcode-core\"{more} }}\n", clone())
    };
    let place = Place::new(&[("crate/Cargo.toml", &with(&core("fast-nests", ""))), ("crate/src/main.rs", MAIN)]);
    place.done(&[]);
    assert!(place.read("src/ops.rs").starts_with("use fast_nests::dynamic_kernel;"), "it is known by that name");
    assert!(place.read("Cargo.toml").starts_with(&(with(&core("fast-nests", "")) + "\n[build-dependencies]\n")));

    let tests_only = with(&format!("[dev-dependencies]\n{}", core("dietcode-core", "")));
    let place = Place::new(&[("crate/Cargo.toml", &tests_only), ("crate/src/main.rs", MAIN)]);
    place.done(&[]);
    assert_eq!(place.read("Cargo.toml").matches("dietcode-core = ").count(), 2);

    let optional = with(&core("dietcode-core", ", optional = true"));
    let place = Place::new(&[("crate/Cargo.toml", &optional), ("crate/src/main.rs", MAIN)]);
    let output = place.init(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`dietcode-core` stands under [dependencies], but not for every build"), "{said}");

    let place = Place::new(&[("crate/Cargo.toml", MANIFEST), ("crate/src/main.rs", MAIN)]);
    place.done(&["--git", "https://example.org/dietcode"]);
    assert!(place.read("Cargo.toml").contains("dietcode-core = { git = \"https://example.org/dietcode\" }"));
}

#[test]
fn what_no_kernel_can_be_added_to_is_refused() {
    let refused = |manifest: &str, sentence: &str| {
        let place = Place::new(&[("crate/Cargo.toml", manifest), ("crate/src/main.rs", MAIN)]);
        place.refused(&[], 2, sentence);
    };
    refused("[workspace]\nmembers = []\n", "found a workspace without a package of its own; run `dietcode init` in");
    refused(&MANIFEST.replace("2021", "2015"), "found edition 2015, expected 2018 or newer");
    refused(&MANIFEST.replace("edition = \"2021\"\n", ""), "found edition 2015, expected 2018 or newer");
    refused(&MANIFEST.replace("mine", "dietcode-core"), "the package has the name of one that it would depend on");
    refused(&MANIFEST.replace("edition", "build = false\nedition"), "found `build = false`");
    refused("[package\n", "cargo says: error: ");
    Place::new(&[("crate/Cargo.toml", MANIFEST)]).refused(&[], 2, "cargo says: error: ");
    Place::new(&[("crate/notes.txt", "")]).refused(&[], 2, "found a folder with files and without a Cargo.toml");
    Place::new(&[("crate", "")]).refused(&[], 3, "expected an empty folder, or one that is not there yet");
    Place::new(&[]).refused(&["--path", "nowhere"], 2, "--path nowhere: found no clone of dietcode there");
    Place::new(&[]).refused(&["--name", "no name"], 2, "cargo says: error: invalid character ` ` in package name");
    Place::new(&[]).refused(&["--name", "dietcode-core"], 2, "the package has the name of one");
    assert_eq!(Place::new(&[]).run(&["init", "1st"]).status.code(), Some(2));

    let place = Place::new(&[("crate/Cargo.toml", MANIFEST), ("crate/src/main.rs", MAIN), ("crate/configs", "")]);
    let output = place.init(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(3) && said.contains("configs: cannot be made"), "{said}");
    assert_eq!(place.read("Cargo.toml"), MANIFEST, "it comes last");
}
