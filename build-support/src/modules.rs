//! Where the modules of a source stand that it declares and does not hold: `mod a;`, by the rules of the Rust reference.
//!
//! | declared in                                             | without `#[path]`               | with it                  |
//! |---------------------------------------------------------|---------------------------------|--------------------------|
//! | a crate's root, `mod.rs`, or a file named by `#[path]`  | `a.rs`, `a/mod.rs`              | beside the file          |
//! | any other, `f.rs`                                       | `f/a.rs`, `f/a/mod.rs`          | beside the file          |
//! | an inline module `m` of these                           | `m/a.rs`, …, `f/m/a.rs`, …      | in `m`, in `f/m`         |

use std::path::{Component, Path, PathBuf};

use dietcode_syntax::{Module, Step};

use crate::environment::Environment;

/// A source file, relative to the package's folder, and where modules that it declares are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// Whether they stand beside it, and not in a folder of its name.
    owns_folder: bool,
}

impl Source {
    /// A file that the build script lists.
    pub(crate) fn listed(file: &Path, environment: &Environment) -> Source {
        let in_full = identity(file, environment);
        let is_root = environment.manifest.roots.iter().any(|root| identity(root, environment) == in_full);
        let by_name = ["lib", "main", "mod"].iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name));
        Source { file: file.to_owned(), owns_folder: is_root || by_name }
    }

    /// The file of a module that this one declares; one of which there is no file is where it would be looked for first.
    pub(crate) fn module(&self, module: &Module, environment: &Environment) -> Option<Source> {
        let (own, around) = module.steps.split_last()?;
        let mut folder = self.file.parent()?.to_owned();
        let mut below = (!self.owns_folder).then(|| self.file.file_stem()).flatten().map(PathBuf::from);
        for Step { name, path } in around {
            match path {
                Some(path) => folder.push(path),
                None => folder.push(below.unwrap_or_default().join(name)),
            }
            below = None;
        }
        if let Some(path) = &own.path {
            return Some(Source { file: tidy(&folder.join(path)), owns_folder: true });
        }
        folder.extend(below);
        let flat = Source { file: tidy(&folder.join(format!("{}.rs", own.name))), owns_folder: false };
        let nested = Source { file: tidy(&folder.join(&own.name).join("mod.rs")), owns_folder: true };
        let there = |source: &Source| environment.manifest_dir.join(&source.file).is_file();
        Some(if !there(&flat) && there(&nested) { nested } else { flat })
    }
}

/// A file by the one name that it has on this machine, if it is there.
pub(crate) fn identity(file: &Path, environment: &Environment) -> PathBuf {
    let file = environment.manifest_dir.join(file);
    file.canonicalize().unwrap_or(file)
}

/// The path without `.` and without `folder/..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}
