//! The parameters of a kernel as its Rust functions take them.

use crate::paths;
use dietcode_syntax::DType;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, Pat, Type};

/// A parameter: its name and the name of its element type, as written.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) kind: Kind,
    pub(crate) element: Ident,
}

/// How a parameter is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// As a value.
    Scalar,
    /// As a tensor that is read.
    Input,
    /// As a tensor that was laid out before the call.
    Prepared,
    /// As the tensor that is written.
    Output,
}

/// The parameters of a function.
pub(crate) fn of(item: &ItemFn) -> Vec<Param> {
    item.sig.inputs.iter().map(param).collect()
}

/// The same, where some are laid out before the call.
pub(crate) fn of_call(item: &ItemFn, prepared: &[Ident]) -> Vec<Param> {
    let mut params = of(item);
    for param in params.iter_mut().filter(|param| param.kind == Kind::Input && prepared.contains(&param.name)) {
        param.kind = Kind::Prepared;
    }
    params
}

/// One without a plain name or type is an error, and a stand-in for it is known by its position only.
fn param(input: &FnArg) -> Param {
    let FnArg::Typed(typed) = input else {
        return Param { name: format_ident!("_"), kind: Kind::Input, element: format_ident!("f32") };
    };
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        _ => format_ident!("_"),
    };
    let element = element(&typed.ty);
    let kind = match &*typed.ty {
        Type::Path(_) if element.is_some() => Kind::Scalar,
        Type::Reference(ty) if ty.mutability.is_some() => Kind::Output,
        _ => Kind::Input,
    };
    Param { name, kind, element: element.unwrap_or_else(|| format_ident!("f32")) }
}

/// `f16` of `&[[f16; K]; M]`, if it is a type that elements may have.
fn element(ty: &Type) -> Option<Ident> {
    match ty {
        Type::Reference(reference) => element(&reference.elem),
        Type::Array(array) => element(&array.elem),
        Type::Path(path) => {
            path.path.get_ident().filter(|name| DType::ALL.iter().any(|known| *name == known.name())).cloned()
        }
        _ => None,
    }
}

/// `alpha: f32, x: impl Into<Input<'a, f32>>, y: impl Into<Output<'a, f32>>`, where `of` says what tensors are made into.
///
/// The element types are the user's tokens, so that `f16` is what it is where the nest stands.
pub(crate) fn inputs(params: &[Param], of: fn(&Param) -> TokenStream) -> TokenStream {
    let inputs = params.iter().map(|param| {
        let (name, ty) = (&param.name, taken(param, of));
        quote!(#name: #ty)
    });
    quote!(#(#inputs),*)
}

/// [`inputs`] of a function that does not use them.
pub(crate) fn unnamed(params: &[Param], of: fn(&Param) -> TokenStream) -> TokenStream {
    let types = params.iter().map(|param| taken(param, of));
    quote!(#(_: #types),*)
}

fn taken(param: &Param, of: fn(&Param) -> TokenStream) -> TokenStream {
    let ty = of(param);
    match param.kind {
        Kind::Scalar | Kind::Prepared => ty,
        Kind::Input | Kind::Output => quote!(impl ::core::convert::Into<#ty>),
    }
}

/// What a call takes: a tensor of the element type, wherever it is, or a value.
pub(crate) fn operand(param: &Param) -> TokenStream {
    let (core, element) = (paths::core(), &param.element);
    match param.kind {
        Kind::Scalar => quote!(#element),
        Kind::Input => quote!(#core::runtime::Input<'a, #element>),
        Kind::Prepared => quote!(&'a #core::runtime::Prepared<#element>),
        Kind::Output => quote!(#core::runtime::Output<'a, #element>),
    }
}

/// `[Arg::from(alpha), Arg::from(Into::<Input<'a, f32>>::into(x)), Arg::from(Into::<Output<'a, f32>>::into(y))]`
pub(crate) fn operands(params: &[Param]) -> TokenStream {
    let core = paths::core();
    let args = params.iter().map(|param| {
        let (name, ty) = (&param.name, operand(param));
        match param.kind {
            Kind::Scalar | Kind::Prepared => quote!(#core::runtime::Arg::from(#name)),
            Kind::Input | Kind::Output => {
                quote!(#core::runtime::Arg::from(::core::convert::Into::<#ty>::into(#name)))
            }
        }
    });
    quote!([#(#args),*])
}

/// What the reference takes: a tensor in host memory, or a value.
pub(crate) fn view(param: &Param) -> TokenStream {
    let (core, element) = (paths::core(), &param.element);
    match param.kind {
        Kind::Scalar => quote!(#element),
        Kind::Input | Kind::Prepared => quote!(#core::runtime::TensorRef<'a, #element>),
        Kind::Output => quote!(#core::runtime::TensorMut<'a, #element>),
    }
}

/// `<f32 as TryFrom<_>>::try_from(alpha)?, <TensorRef<'_, f32> as TryFrom<_>>::try_from(x)?`, of arguments.
pub(crate) fn viewed(params: &[Param]) -> TokenStream {
    let core = paths::core();
    let views = params.iter().map(|Param { name, kind, element }| {
        let ty = match kind {
            Kind::Scalar => quote!(#element),
            Kind::Input | Kind::Prepared => quote!(#core::runtime::TensorRef<'_, #element>),
            Kind::Output => quote!(#core::runtime::TensorMut<'_, #element>),
        };
        quote!(<#ty as ::core::convert::TryFrom<_>>::try_from(#name)?)
    });
    quote!(#(#views),*)
}

/// The element types by the names that [`inputs`] and a nest call them, for the module beside the function.
pub(crate) fn imports(params: &[Param]) -> TokenStream {
    let core = paths::core();
    let used = |name: &str| params.iter().any(|param| param.element == name);
    let imports = [(used("f16"), quote!(f16)), (used("bf16"), quote!(bf16))];
    let imports = imports.into_iter().filter_map(|(used, name)| used.then_some(name));
    quote!(#(use #core::#imports;)*)
}

/// `let x: TensorRef<'a, f32> = x.into(); let mut y: TensorMut<'a, f32> = y.into();`
pub(crate) fn views(params: &[Param]) -> TokenStream {
    let views = params.iter().filter(|param| param.kind != Kind::Scalar).map(|param| {
        let (name, ty) = (&param.name, view(param));
        let mutable = (param.kind == Kind::Output).then(|| quote!(mut));
        quote!(let #mutable #name: #ty = ::core::convert::Into::into(#name);)
    });
    quote!(#(#views)*)
}

/// `[Arg::from(alpha), Arg::from(x), Arg::from(y.reborrow())]`, of [`views`]
pub(crate) fn args(params: &[Param]) -> TokenStream {
    let core = paths::core();
    let args = params.iter().map(|Param { name, kind, .. }| match kind {
        Kind::Scalar | Kind::Input | Kind::Prepared => quote!(#core::runtime::Arg::from(#name)),
        Kind::Output => quote!(#core::runtime::Arg::from(#name.reborrow())),
    });
    quote!([#(#args),*])
}
