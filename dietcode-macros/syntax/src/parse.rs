//! The front end as one function, a line per stage.

use crate::error::{Errors, Problem};
use crate::{Constant, Expr, KernelDef, attribute, body, helper, nest, nesting, prepared, signature};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, ItemFn, Signature};

/// Checks a function that carries `#[dynamic_kernel(args)]` and brings it into its canonical form.
///
/// # Errors
/// Everything that is wrong with the function, each at its own tokens, in source order.
pub fn parse_kernel(args: TokenStream, item: &ItemFn) -> Result<KernelDef, Errors> {
    let mut errors = Errors::default();
    let arguments = attribute::parse(args.clone(), signature::computes_in(&item.sig), &mut errors);
    check_attributes(&item.attrs, &mut errors);
    let signature = signature::parse(&item.sig, &arguments, &mut errors);
    let stmts = nest::parse(&item.block, &mut errors);
    let helpers = helper::parse(&item.block, signature.computes, &mut errors);
    let body = body::walk(&stmts, helpers, &item.sig.ident, &signature, &mut errors);
    let def = body.zip(signature.output).map(|(body, output)| {
        let def = KernelDef {
            name: item.sig.ident.to_string(),
            config: arguments.config,
            params: signature.params,
            shape_vars: signature.shape_vars,
            loops: body.loops,
            output,
            output_index: body.output_index,
            reduction: body.reduction,
            epilogue: body.epilogue,
            idle_reads: Vec::new(),
            prepared: Vec::new(),
        };
        let prepared = prepared::of(&def, &arguments.prepared, &mut errors);
        KernelDef { prepared, ..def.with_reads(body.reads) }
    });
    if let Some(def) = &def {
        check_scalars(def, &item.sig, &mut errors);
        let tokens = args.into_iter().chain(item.to_token_stream()).collect();
        check_constants(&arguments.constants, &tokens, &mut errors);
    }
    errors.finish(def)
}

/// The function that an attribute with these arguments stands on.
///
/// # Errors
/// If it stands on something else, or one of them is nested too deep.
pub fn parse_function(args: &TokenStream, item: &TokenStream) -> Result<ItemFn, Errors> {
    nesting::check(args.clone())?;
    nesting::check(item.clone())?;
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<Item>(item.clone()) {
        Ok(item) => {
            let mut errors = Errors::default();
            errors.push(item, Problem::NotAFunction);
            errors
        }
        Err(_) => error.into(),
    })
}

/// Whether an attribute is `dynamic_kernel`, by whatever path.
pub fn is_dynamic_kernel(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == "dynamic_kernel")
}

/// A scalar that nothing is computed with is a mistake. (A tensor that is not read may be there for its extents.)
fn check_scalars(def: &KernelDef, sig: &Signature, errors: &mut Errors) {
    for (at, (param, input)) in def.params.iter().zip(&sig.inputs).enumerate() {
        let is_this = |e: &Expr| matches!(e, Expr::Load { param, .. } if *param == at);
        if param.is_scalar() && !def.values().any(|value| value.any(&is_this)) {
            errors.push(input, Problem::UnusedScalar { name: param.name.clone() });
        }
    }
}

/// So is a constant that neither the function names nor the value of another one.
fn check_constants(constants: &[Constant], tokens: &TokenStream, errors: &mut Errors) {
    for Constant { name, .. } in constants {
        if count(tokens.clone(), name) == 1 {
            errors.push(name, Problem::UnusedConstant { name: name.to_string() });
        }
    }
}

/// How often a name stands in some tokens.
fn count(tokens: TokenStream, name: &Ident) -> usize {
    let of = |token| match token {
        TokenTree::Ident(ident) => usize::from(ident == *name),
        TokenTree::Group(group) => count(group.stream(), name),
        _ => 0,
    };
    tokens.into_iter().map(of).sum()
}

fn check_attributes(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in attributes.iter().filter(|attribute| is_dynamic_kernel(attribute.path())) {
        errors.push(attribute, Problem::AttributeTwice);
    }
}
