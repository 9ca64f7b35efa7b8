//! The parameters of a kernel as its Rust functions take them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, Pat, Type};

/// A parameter: its name, as written, and whether it is the output.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) mutable: bool,
}

/// The parameters of a function. One without a plain name, which is an error, gets a name of its own.
pub(crate) fn of(item: &ItemFn) -> Vec<Param> {
    item.sig.inputs.iter().enumerate().map(|(at, input)| param(at, input)).collect()
}

fn param(at: usize, input: &FnArg) -> Param {
    let FnArg::Typed(typed) = input else { return Param { name: format_ident!("dietcode_{at}"), mutable: false } };
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        _ => format_ident!("dietcode_{at}"),
    };
    Param { name, mutable: matches!(&*typed.ty, Type::Reference(ty) if ty.mutability.is_some()) }
}

/// `x: impl Into<TensorRef<'a, f32>>, y: impl Into<TensorMut<'a, f32>>`
pub(crate) fn inputs(params: &[Param]) -> TokenStream {
    let inputs = params.iter().map(|Param { name, mutable }| match mutable {
        false => quote!(#name: impl ::core::convert::Into<::dietcode_core::runtime::TensorRef<'a, f32>>),
        true => quote!(#name: impl ::core::convert::Into<::dietcode_core::runtime::TensorMut<'a, f32>>),
    });
    quote!(#(#inputs),*)
}

/// `[Arg::Ref(x.into()), Arg::Mut(y.into())]`
pub(crate) fn args(params: &[Param]) -> TokenStream {
    let args = params.iter().map(|Param { name, mutable }| match mutable {
        false => quote!(::dietcode_core::runtime::Arg::Ref(::core::convert::Into::into(#name))),
        true => quote!(::dietcode_core::runtime::Arg::Mut(::core::convert::Into::into(#name))),
    });
    quote!([#(#args),*])
}

/// The pattern that takes [`args`] apart again.
pub(crate) fn pattern(params: &[Param]) -> TokenStream {
    let patterns = params.iter().map(|Param { name, mutable }| match mutable {
        false => quote!(::dietcode_core::runtime::Arg::Ref(#name)),
        true => quote!(::dietcode_core::runtime::Arg::Mut(mut #name)),
    });
    quote!([#(#patterns),*])
}
