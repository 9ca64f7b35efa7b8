//! C texts as shared libraries.

use std::fs;

use dietcode_core::codegen::DIETCODE_H;
use dietcode_core::machine::Toolchain;

use crate::common::settings;

/// Compiles a text that has no initialisers as a build does, but for flags that come behind those of a build.
pub(crate) fn library(toolchain: &Toolchain, text: &str, flags: &[&str]) -> libloading::Library {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [c, so] = ["text.c", "text.so"].map(|name| folder.path().join(name));
    fs::write(folder.path().join("dietcode.h"), DIETCODE_H).expect("the folder can be written");
    fs::write(&c, text).expect("the folder can be written");
    let built = toolchain.shared_library(text, &c, &so).args(flags).output().expect("the compiler starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // SAFETY: the library has no initialisers.
    unsafe { libloading::Library::new(&so) }.expect("the library loads")
}

/// Whether a text is one of those of which all is tried: with `DIETCODE_ALL=1`, and one of so many else, by what it says and the day.
pub(crate) fn is_chosen(text: &str, of: u64) -> bool {
    let number = u64::from(blake3::hash(text.as_bytes()).as_bytes()[0]).wrapping_add(settings::seed_of_the_day());
    settings::all() || number.is_multiple_of(of)
}
