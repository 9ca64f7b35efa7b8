//! Whether the build script knows a kernel as it stands, and if not, why not and what to do.
//!
//! The build script reads files. It does not see a file that it does not list, nor a function that a macro writes, and the
//! two need other remedies. `line!()` tells them apart: it is the line of the outermost macro call, and so that of the attribute
//! itself unless a macro has written it.

use std::env;
use std::path::{Path, PathBuf};

use dietcode_syntax::{KernelDef, mangle};
use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::paths;

/// Why there is no generated code for a kernel, as an error in the user's crate; nothing if there is.
pub(crate) fn refusal(def: &KernelDef) -> Option<TokenStream> {
    let variable = mangle::env_var(&def.name);
    let seen = env::var(&variable).ok();
    let (hash, place) = seen.as_deref().and_then(|seen| seen.split_once(' ')).unwrap_or_default();
    if hash == format!("{:016x}", def.source_hash()) {
        return None;
    }
    let name = &def.name;
    let as_it_stands = match place {
        "" => unseen(name, paths::file(), env::var(mangle::SOURCES_VAR).ok()),
        place => format!(
            "kernel `{name}` is not the one that the build script has read at {place}: the kernels of a package need names of \
             their own"
        ),
    };
    let written = format!(
        "kernel `{name}` is written by a macro, and the build script reads what stands in a file, not what a macro makes of it: \
         write the function out"
    );
    let line = u32::try_from(Span::call_site().start().line).unwrap_or_default();
    Some(quote! {
        const _: () = match (::core::option_env!(#variable), ::core::line!()) {
            (_, #line) => ::core::panic!("{}", #as_it_stands),
            _ => ::core::panic!("{}", #written),
        };
    })
}

/// A kernel of a name that the build script has not read.
fn unseen(name: &str, file: Option<PathBuf>, read: Option<String>) -> String {
    let file = file.unwrap_or_else(|| "<file>".into());
    let listed = file.display();
    let Some(read) = read else {
        return format!(
            "kernel `{name}` is not known to a build script: Cargo.toml needs `dietcode-build` under [build-dependencies], and \
             build.rs `fn main() {{ dietcode_build::kernels([\"{listed}\"]).compile(); }}`"
        );
    };
    let mut files: Vec<&str> = read.split(';').filter(|read| !read.is_empty()).collect();
    if files.iter().any(|read| Path::new(read) == file) {
        return format!(
            "kernel `{name}` does not stand in {listed} as the build script has read it: a kernel is a function of the file \
             itself, outside the calls of macros, and a `cfg` that it is under is known to cargo"
        );
    }
    let last = file.to_string_lossy();
    files.push(&last);
    format!(
        "kernel `{name}` is not known to the build script, which has not read {listed}: list the file in build.rs, \
         `dietcode_build::kernels({files:?})`"
    )
}

#[cfg(test)]
mod tests {
    use super::unseen;

    #[test]
    fn each_remedy_is_the_one_for_what_is_missing() {
        let unseen = |file: &str, read: Option<&str>| unseen("k", Some(file.into()), read.map(str::to_owned));
        let nothing = unseen("src/ops.rs", None);
        assert!(nothing.contains("[build-dependencies]") && nothing.contains("kernels([\"src/ops.rs\"])"), "{nothing}");
        let unlisted = unseen("src/more.rs", Some("src/ops.rs;src/ops/a.rs"));
        assert!(unlisted.contains("has not read src/more.rs"), "{unlisted}");
        assert!(unlisted.contains("kernels([\"src/ops.rs\", \"src/ops/a.rs\", \"src/more.rs\"])"), "{unlisted}");
        let hidden = unseen("src/ops.rs", Some("src/ops.rs"));
        assert!(hidden.contains("does not stand in src/ops.rs") && !hidden.contains("list"), "{hidden}");
    }
}
