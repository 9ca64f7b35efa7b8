//! Where a set's files stand.

use std::path::PathBuf;

use dietcode_core::Result;

use crate::emit;
use crate::environment::Environment;

/// The folder of all files.
pub(super) fn folder(environment: &Environment) -> PathBuf {
    environment.out_dir.join("dietcode-set")
}

/// Writes `registry.rs`, which comes last: where it is new, all that it names is there. The program includes it as it is, so
/// it brings in `dietcode_core` by that name itself.
pub(super) fn registry(environment: &Environment, text: &str) -> Result<()> {
    let core = format!("use ::{} as dietcode_core;\n\n", environment.manifest.core);
    emit::write(&folder(environment).join("registry.rs"), core + text)
}
