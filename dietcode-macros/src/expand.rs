//! The items that a kernel becomes.

use crate::{constant, params, reference};
use dietcode_syntax::{Errors, KernelDef, mangle, parse_function, parse_kernel};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::ItemFn;

/// A function of the kernel's name, which calls it, and a module of that name, which holds its parts.
pub(crate) fn expand(args: TokenStream, item: &TokenStream) -> TokenStream {
    let item = match parse_function(item) {
        Ok(function) => function,
        Err(errors) => {
            let errors = errors.to_compile_error();
            return quote!(#errors #item);
        }
    };
    match parse_kernel(args, &item) {
        Ok(def) => kernel(&def, &item),
        Err(errors) => skeleton(&errors, &item),
    }
}

fn kernel(def: &KernelDef, item: &ItemFn) -> TokenStream {
    let name = &item.sig.ident;
    let args = params::args(&params::of(item));
    let call = call(item, &quote!(#name::KERNEL.call(&mut #args)));
    let registry = registry(def);
    let signature = constant::signature(def);
    let reference = reference::reference(def, item);
    let module = module(
        item,
        &quote! {
            #registry
            /// The kernel: its name, its signature, its micro-kernels.
            pub static KERNEL: ::dietcode_core::runtime::Kernel = ::dietcode_core::runtime::Kernel {
                signature: #signature,
                table: &registry::TABLE,
                dispatch: registry::dispatch,
            };
            #reference
        },
    );
    quote!(#call #module)
}

/// The function that users call. It keeps their attributes and documentation.
fn call(item: &ItemFn, body: &TokenStream) -> TokenStream {
    let (attributes, visibility, name) = (&item.attrs, &item.vis, &item.sig.ident);
    let inputs = params::inputs(&params::of(item));
    quote! {
        #(#attributes)*
        #visibility fn #name<'a>(#inputs) -> ::dietcode_core::Result<()> {
            #body
        }
    }
}

/// The module beside it. It keeps their conditions.
fn module(item: &ItemFn, items: &TokenStream) -> TokenStream {
    let (visibility, name) = (&item.vis, &item.sig.ident);
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let doc = format!("The parts of the kernel [`{name}`](fn@{name}).");
    quote! {
        #(#conditions)*
        #[doc = #doc]
        #[allow(dead_code, non_snake_case, unreachable_pub, reason = "a program need not use every part of a kernel")]
        #visibility mod #name {
            #items
        }
    }
}

/// What the build script generated. An environment variable that only the build script sets leads to it.
///
/// `env!` expands its message before it looks up the name. So a file that build.rs does not list is one error, the
/// sentence below, and neither `OUT_DIR` nor the file in it is reported as missing on top.
fn registry(def: &KernelDef) -> TokenStream {
    let name = &def.name;
    let variable = mangle::env_var(name);
    let unlisted = format!(
        "kernel `{name}` is not known to the build script: list this file in build.rs: \
         dietcode_build::kernels([\"<file>\"]).compile()"
    );
    let differs = format!(
        "kernel `{name}` is not the one that the build script read: kernels need distinct names, and a kernel must stand \
         in its file as it is, not be written by a macro"
    );
    let hash = Literal::byte_string(format!("{:016x}", def.source_hash()).as_bytes());
    let path = format!("/dietcode/{name}/registry.rs");
    let listed = quote!(::core::env!(#variable, #unlisted));
    quote! {
        const _: () = match #listed.as_bytes() {
            #hash => {}
            _ => ::core::panic!(#differs),
        };
        mod unlisted {
            pub(super) static TABLE: ::dietcode_core::runtime::TableSource =
                ::dietcode_core::runtime::TableSource::Skipped("the build script does not list its file");
            pub(super) fn dispatch(_: &[i64]) -> usize {
                0
            }
        }
        mod registry {
            #[allow(unused_imports, reason = "what is generated stands before it")]
            pub(super) use super::unlisted::*;
            ::core::include!(::core::concat!(::core::env!("OUT_DIR", #listed), #path));
        }
    }
}

/// All errors, and items of the right names, so that callers do not get errors of their own.
fn skeleton(errors: &Errors, item: &ItemFn) -> TokenStream {
    let errors = errors.to_compile_error();
    let inputs = params::inputs(&params::of(item));
    let body = quote!(::core::unreachable!("the kernel has errors"));
    let call = call(item, &body);
    let signature = constant::empty(&item.sig.ident);
    let module = module(
        item,
        &quote! {
            /// Stands in for a kernel that has errors.
            pub static KERNEL: ::dietcode_core::runtime::Kernel = ::dietcode_core::runtime::Kernel {
                signature: #signature,
                table: &::dietcode_core::runtime::TableSource::Skipped("it has errors"),
                dispatch: |_| 0,
            };
            /// Stands in for a kernel that has errors.
            #[allow(unused_variables, reason = "it has no body")]
            pub fn reference<'a>(#inputs) -> ::dietcode_core::Result<()> {
                #body
            }
        },
    );
    quote!(#errors #[allow(unused_variables, reason = "it has no body")] #call #module)
}
