//! The arguments of `#[dynamic_kernel(…)]`.

use crate::error::{Errors, Problem};
use crate::text::text;
use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, LitStr, Meta, Token};

/// The path in `config = "path"`, if it is given.
pub(crate) fn parse(args: TokenStream, errors: &mut Errors) -> Option<String> {
    let written = args.clone();
    let metas = match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(args) {
        Ok(metas) => metas,
        Err(_) => {
            errors.push(&written, Problem::AttributeArgument { found: text(&written) });
            return None;
        }
    };
    let mut config: Option<String> = None;
    for meta in &metas {
        match config_of(meta) {
            Err(problem) => errors.push(meta, problem),
            Ok(_) if config.is_some() => errors.push(meta, Problem::ConfigTwice),
            Ok(path) => config = Some(path.value()),
        }
    }
    config
}

fn config_of(meta: &Meta) -> Result<&LitStr, Problem> {
    let pair = match meta {
        Meta::NameValue(pair) if pair.path.is_ident("config") => pair,
        other => return Err(Problem::AttributeArgument { found: text(other) }),
    };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) if path.value().is_empty() => Err(Problem::ConfigEmpty),
        Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Ok(path),
        other => Err(Problem::ConfigNotAString { found: text(other) }),
    }
}
