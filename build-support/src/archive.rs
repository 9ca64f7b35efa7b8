//! Joins objects into the static library that cargo links.

use std::path::Path;

use dietcode_core::{Error, ErrorKind, Result};

use crate::environment::Environment;

/// The name by which a kernel's library is linked: two packages of one program may have kernels of one name.
pub(crate) fn library(environment: &Environment, kernel: &str) -> String {
    format!("dietcode_{}_{kernel}", environment.package.replace('-', "_"))
}

/// Makes the library of these objects, which stand in `folder`.
pub(crate) fn join<'a>(
    environment: &Environment,
    folder: &Path,
    library: &str,
    stems: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false);
    build.target(&environment.target).host(&environment.host).opt_level(3).out_dir(folder);
    for stem in stems {
        build.object(folder.join(format!("{stem}.o")));
    }
    build.try_compile(library).map_err(|error| {
        Error::new(ErrorKind::Failed, format!("the objects of {} cannot be joined: {error}", folder.display()))
    })
}

/// The file in which a library stands.
pub(crate) fn file_name(library: &str) -> String {
    format!("lib{library}.a")
}
