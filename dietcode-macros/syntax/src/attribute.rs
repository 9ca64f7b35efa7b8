//! The arguments of `#[dynamic_kernel(…)]`.

use crate::DType;
use crate::constant::{self, Constant};
use crate::error::{Errors, Problem};
use crate::prepared;
use crate::text::text;
use proc_macro2::{Ident, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, LitStr, Meta, Token};

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Arguments {
    /// The path in `config = "path"`, if it is given.
    pub(crate) config: Option<String>,
    /// What `consts(…)` declares.
    pub(crate) constants: Vec<Constant>,
    /// The names of those that were reported.
    pub(crate) broken: Vec<String>,
    /// What `prepared(…)` lists.
    pub(crate) prepared: Vec<Ident>,
}

/// The constants that the arguments of a kernel declare, which computes in a type; those that are in error are left out.
pub fn constants(args: TokenStream, computes: DType) -> Vec<Constant> {
    parse(args, computes, &mut Errors::default()).constants
}

/// The names of the operands that the arguments of a kernel list as prepared.
pub fn prepared_names(args: TokenStream) -> Vec<Ident> {
    parse(args, DType::F32, &mut Errors::default()).prepared
}

/// Reads the arguments as far as they make sense; floats are of the type that the nest computes in.
pub(crate) fn parse(args: TokenStream, computes: DType, errors: &mut Errors) -> Arguments {
    let written = args.clone();
    let mut arguments = Arguments::default();
    let metas = match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(args) {
        Ok(metas) => metas,
        Err(_) => {
            errors.push(&written, Problem::AttributeArgument { found: text(&written) });
            return arguments;
        }
    };
    let [mut constants, mut prepared_lists] = [0, 0];
    for meta in &metas {
        if let Meta::List(list) = meta
            && list.path.is_ident("consts")
        {
            constants += 1;
            match constants {
                1 => {
                    let Arguments { constants, broken, .. } = &mut arguments;
                    constant::parse(&list.tokens, computes, (constants, broken), errors);
                }
                _ => errors.push(meta, Problem::ConstantsTwice),
            }
            continue;
        }
        if let Meta::List(list) = meta
            && list.path.is_ident("prepared")
        {
            prepared_lists += 1;
            match prepared_lists {
                1 => prepared::parse(list, &mut arguments.prepared, errors),
                _ => errors.push(meta, Problem::PreparedListTwice),
            }
            continue;
        }
        match config_of(meta, errors) {
            None => {}
            Some(_) if arguments.config.is_some() => errors.push(meta, Problem::ConfigTwice),
            Some(path) => arguments.config = Some(path.value()),
        }
    }
    arguments
}

/// The path in `config = "…"`; anything else is reported.
fn config_of<'a>(meta: &'a Meta, errors: &mut Errors) -> Option<&'a LitStr> {
    let problem = match meta {
        Meta::NameValue(pair) if pair.path.is_ident("config") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) if path.value().is_empty() => Problem::ConfigEmpty,
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => return Some(path),
            other => Problem::ConfigNotAString { found: text(other) },
        },
        other => Problem::AttributeArgument { found: text(other) },
    };
    errors.push(meta, problem);
    None
}
