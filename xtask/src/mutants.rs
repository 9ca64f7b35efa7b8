//! Planted mistakes: each patch in `tests/mutants` is one that a person might make, and the tests that it names must fail.
//!
//! ```text
//! The copy of a panel fills what hangs over with 1 instead of the reduction's identity.
//! Test: --package dietcode-core --features tuner,ndarray,results --test compiler lowering::
//!
//! --- a/dietcode-core/src/lower/passes/local_padding.rs
//! +++ b/dietcode-core/src/lower/passes/local_padding.rs
//! @@ …
//! ```
//!
//! A patch is applied to a copy of the tracked files in `target/mutants`, whose objects later patches share. A patch that does
//! not apply, or whose code does not compile, is no mistake that a test could find, and an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::{last_line, output};
use crate::steps::{root, target_folder};

/// The line that says how cargo is asked for the tests.
const TEST: &str = "Test: ";

/// Tries those of the patches that are named, or all of them. Whether each was found.
///
/// # Errors
/// A sentence: what cannot be read or written, and a name that no patch has.
pub(crate) fn run(wanted: &[String]) -> Result<bool, String> {
    let start = Instant::now();
    let patches = patches()?;
    if let Some(unknown) = wanted.iter().find(|name| !patches.iter().any(|patch| patch.name == **name)) {
        let names: Vec<&str> = patches.iter().map(|patch| &*patch.name).collect();
        return Err(format!("there is no patch `{unknown}` in tests/mutants; there are: {}", names.join(", ")));
    }
    let wanted: Vec<&Patch> =
        patches.iter().filter(|patch| wanted.is_empty() || wanted.contains(&patch.name)).collect();
    let copy = Copy::make()?;
    let mut found = 0;
    for patch in &wanted {
        let begin = Instant::now();
        let outcome = copy.tried(patch);
        copy.restore(patch)?;
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                found += 1;
                println!("{:40} found   {seconds:6.1} s", patch.name);
            }
            Err(why) => println!("{:40} FAILED  {seconds:6.1} s  {why}", patch.name),
        }
    }
    println!("{found} of {} planted mistakes were found, in {:.0} s", wanted.len(), start.elapsed().as_secs_f64());
    Ok(found == wanted.len())
}

/// A planted mistake.
struct Patch {
    name: String,
    path: PathBuf,
    /// Arguments of `cargo test`.
    test: Vec<String>,
    /// The files that it changes, relative to the root.
    files: Vec<String>,
}

/// All of them, by name.
fn patches() -> Result<Vec<Patch>, String> {
    let folder = root().join("tests").join("mutants");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Patch, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let test = text.lines().take_while(|line| !line.starts_with("--- ")).find_map(|line| line.strip_prefix(TEST));
    let test =
        test.ok_or_else(|| format!("{}: expected a line `{TEST}` with arguments of cargo test", path.display()))?;
    let files: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(|file| file.trim_end().to_owned()).collect();
    if files.is_empty() {
        return Err(format!("{}: expected a unified diff with lines `+++ b/FILE`", path.display()));
    }
    Ok(Patch {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_owned(),
        test: test.split_whitespace().map(str::to_owned).collect(),
        files,
    })
}

/// A copy of the tracked files.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    /// Brings the copy up to date. A file that is as it was keeps its time, so that cargo does not build it again.
    fn make() -> Result<Copy, String> {
        let copy = Copy { folder: target_folder().join("mutants") };
        let list = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
        let list = list.map_err(|e| format!("git: {e}"))?;
        let listed = String::from_utf8_lossy(&list.stdout).into_owned();
        let files: Vec<&str> = listed.split('\0').filter(|file| !file.is_empty()).collect();
        if !list.status.success() || files.is_empty() {
            return Err(format!("git ls-files lists nothing: {}", String::from_utf8_lossy(&list.stderr)));
        }
        // A module that is gone would still be found, and one in its place refused.
        copy.forget_others(&files)?;
        files.iter().try_for_each(|file| copy.update(file))?;
        Ok(copy)
    }

    fn update(&self, file: &str) -> Result<(), String> {
        let (from, to) = (root().join(file), self.folder.join(file));
        // A file that git knows may be deleted and not committed yet.
        let Ok(text) = fs::read(&from) else { return Ok(()) };
        if fs::read(&to).is_ok_and(|there| there == text) {
            return Ok(());
        }
        let parent = to.parent().expect("it stands in the folder");
        fs::create_dir_all(parent).and_then(|()| fs::write(&to, text)).map_err(|e| format!("{}: {e}", to.display()))
    }

    fn forget_others(&self, files: &[&str]) -> Result<(), String> {
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(&self.folder).expect("it was found there").to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if name != "Cargo.lock" && (!files.contains(&&*name) || !root().join(&name).exists()) {
                    fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Puts back what a patch has changed.
    fn restore(&self, patch: &Patch) -> Result<(), String> {
        patch.files.iter().try_for_each(|file| self.update(file))
    }

    /// Whether the tests find a patch; if not, why.
    fn tried(&self, patch: &Patch) -> Result<(), String> {
        // Here stands no repository: else git would take the paths as those of the one around it.
        let mut apply = Command::new("git");
        apply.env("GIT_CEILING_DIRECTORIES", target_folder()).arg("apply").arg(&patch.path);
        let applied = output(apply.current_dir(&self.folder))?;
        if !applied.status.success() {
            return Err(format!("it does not apply any more: {}", last_line(&applied.stderr)));
        }
        let built = output(self.cargo(patch, true))?;
        if !built.status.success() {
            return Err(format!("it does not compile: {}", String::from_utf8_lossy(&built.stderr)));
        }
        let tested = output(&mut self.cargo(patch, false))?;
        let none = "test result: ok. 0 passed";
        match tested.status.success() {
            true if last_line(&tested.stdout).starts_with(none) => Err("no test has the name that it gives".to_owned()),
            true => Err(format!("the tests pass: {}", last_line(&tested.stdout))),
            false => Ok(()),
        }
    }

    /// The call of cargo that builds the tests, or runs them.
    fn cargo(&self, patch: &Patch, build_only: bool) -> Command {
        let mut cargo = Command::new("cargo");
        let at = patch.test.iter().position(|word| word == "--").unwrap_or(patch.test.len());
        let (before, behind) = patch.test.split_at(at);
        cargo.arg("test").args(before).args(build_only.then_some("--no-run")).args(behind);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", target_folder()).env("DIETCODE_SKIP_NATIVE", "1");
        cargo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else nobody knows before all are tried, which takes an hour.
    #[test]
    fn every_patch_applies_and_names_one_test() {
        for patch in &patches().unwrap() {
            let mut apply = Command::new("git");
            apply.args(["apply", "--check"]).arg(&patch.path).current_dir(root());
            let applied = output(apply).unwrap();
            assert!(applied.status.success(), "{}: {}", patch.name, last_line(&applied.stderr));
            let mut words = patch.test.iter().take_while(|word| *word != "--");
            let mut names = Vec::new();
            while let Some(word) = words.next() {
                match &word[..] {
                    "--package" | "--features" | "--test" => drop(words.next()),
                    option if option.starts_with("--") => {}
                    name => names.push(name),
                }
            }
            assert!(
                names.len() <= 1,
                "{}: cargo takes one name of tests, others stand behind `--`: {names:?}",
                patch.name
            );
        }
    }

    #[test]
    fn every_patch_names_its_tests_and_files_that_are_there() {
        let patches = patches().unwrap();
        assert!(patches.len() >= 30, "{} patches", patches.len());
        for patch in &patches {
            assert!(patch.test.iter().any(|word| word == "--package"), "{}: which package?", patch.name);
            for file in &patch.files {
                assert!(root().join(file).is_file(), "{}: there is no {file}", patch.name);
            }
        }
    }
}
