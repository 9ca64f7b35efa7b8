//! What only the compiler can tell: whether a name in the nest is a constant beside it, and which.
//!
//! A macro sees no items, so it asks by a pattern. Where there is no constant `K`, the pattern `K` is a new variable and
//! matches everything; else it matches the constant's value:
//!
//! ```text
//! const _: () = assert!(matches!(0, M) && matches!(1, M), "…");     a shape variable: no constant is both
//! const _: () = assert!(matches!(768, K), "…");                     declared as 768: nothing else
//! ```
//!
//! The literals have no suffix, so the constant may be of any type of integer or float.

use crate::paths;
use dietcode_syntax::{Constant, ConstantValue, KernelDef};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ItemFn;
use syn::visit::Visit;

/// An error at each shape variable that is a constant beside the function, and at each declared constant of another value.
pub(crate) fn checks(def: &KernelDef, item: &ItemFn, constants: &[Constant]) -> TokenStream {
    let mut names = Names(Vec::new());
    item.sig.inputs.iter().for_each(|input| names.visit_fn_arg(input));
    let of_def = |ident: &&Ident| def.shape_vars.iter().any(|var| **ident == var.name);
    let shape_vars = names.0.iter().filter(of_def).map(|ident| check(item, ident, &no_constant(ident)));
    let constants = constants.iter().map(|constant| check(item, &constant.name, &same_constant(constant)));
    quote!(#(#shape_vars)* #(#constants)*)
}

/// The names in a signature, each once.
struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        if !self.0.contains(ident) {
            self.0.push(ident.clone());
        }
    }
}

/// An item that is evaluated where the function is compiled.
fn check(item: &ItemFn, at: &Ident, check: &TokenStream) -> TokenStream {
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote_spanned! {at.span()=>
        #(#conditions)*
        #[allow(non_snake_case, unused, trivial_numeric_casts, clippy::all, clippy::pedantic, reason = "what is matched has any type")]
        const _: () = #check;
    }
}

fn no_constant(name: &Ident) -> TokenStream {
    let sentence = format!(
        "`{name}` is a constant beside the kernel, but the kernel takes it for a shape variable, which each call gives a value: \
         declare the constant, `#[dynamic_kernel(consts({name} = …))]`, or rename the shape variable"
    );
    quote_spanned! {name.span()=>
        ::core::assert!(::core::matches!(0, #name) && ::core::matches!(1, #name), #sentence)
    }
}

/// What the item's value is can only be found by trying, which takes no time where it is what was declared.
fn same_constant(Constant { name, value }: &Constant) -> TokenStream {
    let text = name.to_string();
    let (declared, most, kind, zero) = match value {
        ConstantValue::Integer(value) => (value.to_string(), "INTEGERS", "integer", "0"),
        ConstantValue::Float(_, digits) => (digits.clone(), "FLOATS", "float", "0.0"),
    };
    // All of it is spanned alike: the error is at the name, and a kernel may be written by a macro, whose names are its own.
    let spanned = |text: &str| -> TokenStream {
        let tokens: TokenStream = text.parse().expect("a number that the front end took, or a path");
        let at_name = |mut token: TokenTree| {
            token.set_span(name.span());
            token
        };
        tokens.into_iter().map(at_name).collect()
    };
    let core = spanned(&paths::core().to_string());
    let decimal = quote_spanned!(name.span()=> #core::runtime::Decimal);
    let (literal, zero) = (spanned(&declared), spanned(zero));
    let (most, kind) = (Ident::new(most, name.span()), Ident::new(kind, name.span()));
    // The other branch of `if` says that the type is one of numbers where there is no constant that says which.
    quote_spanned! {name.span()=>
        if !::core::matches!(#literal, #name) {
            let (mut at, mut found) = (0, ::core::option::Option::None);
            while at < #decimal::#most && found.is_none() {
                if ::core::matches!(if false { #zero } else { #decimal::#kind(at).value() as _ }, #name) {
                    found = ::core::option::Option::Some(#decimal::#kind(at));
                }
                at += 1;
            }
            #core::runtime::other_constant(#text, #declared, found);
        }
    }
}
