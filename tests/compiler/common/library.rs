//! C texts as shared libraries.

use std::fs;

use dietcode_core::codegen::DIETCODE_H;
use dietcode_core::machine::Toolchain;

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
