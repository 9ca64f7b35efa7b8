//! The parameters of a kernel as its Rust functions take them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, Pat, Type};

/// A parameter: its name, as written, and whether it is the output.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) mutable: bool,
}

/// The parameters of a function.
pub(crate) fn of(item: &ItemFn) -> Vec<Param> {
    item.sig.inputs.iter().map(param).collect()
}

/// One without a plain name is an error, and a stand-in for it is named by its position only.
fn param(input: &FnArg) -> Param {
    let FnArg::Typed(typed) = input else { return Param { name: format_ident!("_"), mutable: false } };
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        _ => format_ident!("_"),
    };
    Param { name, mutable: matches!(&*typed.ty, Type::Reference(ty) if ty.mutability.is_some()) }
}

/// `x: impl Into<TensorRef<'a, f32>>, y: impl Into<TensorMut<'a, f32>>`
pub(crate) fn inputs(params: &[Param]) -> TokenStream {
    let inputs = params.iter().map(|param| {
        let (name, ty) = (&param.name, view(param));
        quote!(#name: impl ::core::convert::Into<#ty>)
    });
    quote!(#(#inputs),*)
}

/// [`inputs`] of a function that does not use them.
pub(crate) fn unnamed(params: &[Param]) -> TokenStream {
    let types = params.iter().map(view);
    quote!(#(_: impl ::core::convert::Into<#types>),*)
}

fn view(param: &Param) -> TokenStream {
    match param.mutable {
        false => quote!(::dietcode_core::runtime::TensorRef<'a, f32>),
        true => quote!(::dietcode_core::runtime::TensorMut<'a, f32>),
    }
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
