//! Which set file: the one that is named, that of a cargo feature, or the default for the machine.

use std::path::{Path, PathBuf};

use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::{Error, Result};

use crate::environment::{CONFIG, Environment};
use crate::report::Report;

/// The file, relative to the package's folder if it was named so.
pub(super) fn file(folder: &Path, environment: &Environment, report: &mut Report) -> Result<PathBuf> {
    report.rerun_if_env_changed(CONFIG);
    if let Some(named) = &environment.config {
        return if environment.manifest_dir.join(named).is_file() { Ok(named.clone()) } else { Err(not_there(named)) };
    }
    let shipped = of_features(folder, environment);
    match &shipped[..] {
        [] => Ok(folder.join(of_vectors(CpuTarget::of(&Toolchain::find("native")?).vector_bytes))),
        [(_, file)] => Ok(file.clone()),
        several => {
            let names: Vec<String> = several.iter().map(|(feature, _)| format!("`{feature}`")).collect();
            Err(Error::input(format!(
                "the features {} choose a set of configurations each, but one is compiled: enable one of them, or name a file \
                 in {CONFIG}",
                names.join(" and ")
            )))
        }
    }
}

/// The features for which there is a set of their name, in alphabetical order. So a set is shipped by putting it there. Cargo has
/// a feature `default` of its own, which chooses nothing.
fn of_features(folder: &Path, environment: &Environment) -> Vec<(String, PathBuf)> {
    let features = environment.vars.keys().filter_map(|name| name.strip_prefix("CARGO_FEATURE_"));
    let with_file = features
        .map(str::to_lowercase)
        .filter(|name| name != "default")
        .map(|name| (folder.join(format!("{name}.json")), name));
    let there = with_file.filter(|(file, _)| environment.manifest_dir.join(file).is_file());
    there.map(|(file, name)| (name, file)).collect()
}

/// The set for a machine that has vectors of so many bytes.
fn of_vectors(bytes: i64) -> &'static str {
    match bytes {
        64.. => "cpu_avx512.json",
        32.. => "cpu_avx2.json",
        _ => "default.json",
    }
}

fn not_there(named: &Path) -> Error {
    Error::input(format!(
        "{}: {CONFIG} names it, but it is no file: expected a set of configurations, named from the package's folder",
        named.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::of_vectors;

    #[test]
    fn machines_without_avx2_are_served_by_vectors_that_they_have() {
        assert_eq!(
            [64, 32, 16, 8].map(of_vectors),
            ["cpu_avx512.json", "cpu_avx2.json", "default.json", "default.json"]
        );
    }
}
