//! NVIDIA's libraries in places of which the dynamic linker may know nothing: the folders of toolkits and of Python's wheels.
//!
//! A library that stands there needs others from beside it. Once those are loaded, the linker finds them by their names.

use std::path::{Path, PathBuf};

use libloading::Library;

use crate::machine::cuda::python_folders;

/// These folders of NVIDIA's wheels, wherever Python imports from. Python is asked when the first is taken, since it takes
/// longer to start than it takes to look anywhere else.
pub(super) fn of_wheels<const N: usize>(folders: [&'static str; N]) -> impl Iterator<Item = PathBuf> {
    let imports = std::iter::once_with(python_folders).flatten();
    imports.flat_map(move |import| folders.map(|folder| import.join(folder)))
}

/// Loads what stands beside a library and whose name begins so; it stays loaded as long as the values live.
pub(super) fn load_beside(library: &Path, prefix: &str) -> Vec<Library> {
    let entries = library.parent().into_iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    // SAFETY: NVIDIA's libraries may be loaded at any time.
    named.filter_map(|entry| unsafe { Library::new(entry.path()) }.ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_library_needs_is_found_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("inner.c"), "int inner(void) { return 7; }\n").unwrap();
        fs::write(folder.path().join("outer.c"), "int inner(void);\nint outer(void) { return inner(); }\n").unwrap();
        let shared = |source: &str, output: &str, arguments: &[&str]| {
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-fPIC", source, "-o", output]).args(arguments).current_dir(folder.path());
            assert!(cc.status().unwrap().success());
        };
        shared("inner.c", "libdietcode-inner.so.1", &["-Wl,-soname,libdietcode-inner.so.1"]);
        shared("outer.c", "libdietcode-outer.so.1", &["libdietcode-inner.so.1"]);
        let outer = folder.path().join("libdietcode-outer.so.1");
        // SAFETY: neither library does anything when it is loaded.
        let load = || unsafe { Library::new(&outer) };
        assert!(load().is_err(), "the linker does not know the folder");
        let beside = load_beside(&outer, "libdietcode-inner.so.");
        assert_eq!(beside.len(), 1);
        assert!(load().is_ok());
        assert!(load_beside(Path::new("libdietcode-outer.so.1"), "lib").is_empty(), "a mere name stands nowhere");
    }
}
