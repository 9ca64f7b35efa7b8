//! What the expansion asks of the setting in which it is compiled. The build script has told cargo, and cargo rustc.

use std::env;
use std::path::{Path, PathBuf};

use dietcode_syntax::mangle;
use proc_macro2::{Span, TokenStream};
use quote::quote;

/// The path of the crate `dietcode_core`, which a package may have under another name or through the facade.
pub(crate) fn core() -> TokenStream {
    let told = env::var(mangle::CORE_VAR).ok().and_then(|path| path.parse::<TokenStream>().ok());
    let path = told.unwrap_or_else(|| quote!(dietcode_core));
    quote!(::#path)
}

/// A path as a link of rustdoc has it.
pub(crate) fn link(path: &TokenStream) -> String {
    path.to_string().replace(' ', "")
}

/// The file that the attribute stands in, as the build script would name it: relative to the package if it is in it.
pub(crate) fn file() -> Option<PathBuf> {
    let file = env::current_dir().ok()?.join(Span::call_site().local_file()?);
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)?;
    // The compiler runs in the workspace's folder, and either folder may be reached by a link.
    let (file, package) = (real(&file), real(&package));
    Some(file.strip_prefix(&package).map_or_else(|_| file.clone(), Path::to_path_buf))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
