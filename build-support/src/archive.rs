//! Joins objects into the static library that cargo links.

use std::fs;
use std::path::Path;

use dietcode_core::{Error, Result};

use crate::emit;
use crate::environment::Environment;

/// The name by which a kernel's library is linked: two packages of one program may have kernels of one name.
pub(crate) fn library(environment: &Environment, kernel: &str) -> String {
    format!("dietcode_{}_{kernel}", environment.package.replace('-', "_"))
}

/// Makes the library of these objects, which stand in `folder`, unless it is there and of the same ones.
pub(crate) fn join(environment: &Environment, folder: &Path, library: &str, stems: &[String]) -> Result<()> {
    let (file, key_file) = (folder.join(file_name(library)), folder.join(key_name(library)));
    let key = stems.join("\n") + "\n";
    if file.is_file() && fs::read_to_string(&key_file).is_ok_and(|found| found == key) {
        return Ok(());
    }
    // Objects that an older one has, and this one has not, must not stay in it.
    drop(fs::remove_file(&file));
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false);
    build.target(&environment.target).host(&environment.host).opt_level(3).out_dir(folder);
    for stem in stems {
        build.object(folder.join(format!("{stem}.o")));
    }
    build
        .try_compile(library)
        .map_err(|error| Error::failed(format!("the objects of {} cannot be joined: {error}", folder.display())))?;
    emit::write(&key_file, key)
}

/// The file that lists a library's objects.
pub(crate) fn key_name(library: &str) -> String {
    format!("{}.key", file_name(library))
}

/// The file in which a library stands.
pub(crate) fn file_name(library: &str) -> String {
    format!("lib{library}.a")
}
