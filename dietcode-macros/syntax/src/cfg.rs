//! Conditional compilation, so that the build script sees the kernels that the compiler will see.

use crate::error::{Errors, Problem};
use crate::text::text;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitBool, LitStr, Token, parenthesized};

/// The predicate of a `#[cfg(…)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cfg {
    /// `all(…)`
    All(Vec<Cfg>),
    /// `any(…)`
    Any(Vec<Cfg>),
    /// `not(…)`
    Not(Box<Cfg>),
    /// `name` or `name = "value"`
    Option {
        /// The name.
        name: String,
        /// The value that is asked for, if one is.
        value: Option<String>,
    },
    /// `true` or `false`
    Constant(bool),
}

impl Cfg {
    /// Whether the predicate holds; `is_set` says it for `name` and for `name = "value"`.
    pub fn holds(&self, is_set: &dyn Fn(&str, Option<&str>) -> bool) -> bool {
        match self {
            Cfg::All(parts) => parts.iter().all(|part| part.holds(is_set)),
            Cfg::Any(parts) => parts.iter().any(|part| part.holds(is_set)),
            Cfg::Not(part) => !part.holds(is_set),
            Cfg::Option { name, value } => is_set(name, value.as_deref()),
            Cfg::Constant(value) => *value,
        }
    }

    /// The condition under which something with these attributes is compiled, `cfg_attr` included.
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Errors) -> Cfg {
        let mut parts = Vec::new();
        for attribute in attributes {
            if attribute.path().is_ident("cfg") {
                parts.extend(collect(attribute.parse_args::<Cfg>(), attribute, errors));
            } else if let Some((condition, metas)) = cfg_attr(attribute, errors) {
                for meta in metas.iter().filter(|meta| meta.path().is_ident("cfg")) {
                    let tokens = meta.require_list().map(|list| list.tokens.clone());
                    let inner = collect(tokens.and_then(syn::parse2::<Cfg>), meta, errors);
                    parts.extend(inner.map(|inner| Cfg::Any(vec![Cfg::Not(Box::new(condition.clone())), inner])));
                }
            }
        }
        Cfg::All(parts)
    }
}

/// The condition of a `#[cfg_attr(condition, …)]` and the attributes that it adds.
pub(crate) fn cfg_attr(attribute: &Attribute, errors: &mut Errors) -> Option<(Cfg, Vec<syn::Meta>)> {
    if !attribute.path().is_ident("cfg_attr") {
        return None;
    }
    let parsed = attribute.parse_args_with(|input: ParseStream<'_>| {
        let condition: Cfg = input.parse()?;
        input.parse::<Token![,]>()?;
        let metas = Punctuated::<syn::Meta, Token![,]>::parse_terminated(input)?;
        Ok((condition, metas.into_iter().collect()))
    });
    collect(parsed, attribute, errors)
}

fn collect<T>(parsed: syn::Result<T>, at: impl quote::ToTokens, errors: &mut Errors) -> Option<T> {
    if parsed.is_err() {
        errors.push(&at, Problem::CfgPredicate { found: text(&at) });
    }
    parsed.ok()
}

impl Parse for Cfg {
    fn parse(input: ParseStream<'_>) -> syn::Result<Cfg> {
        if let Some(constant) = input.parse::<Option<LitBool>>()? {
            return Ok(Cfg::Constant(constant.value));
        }
        let name: Ident = input.parse()?;
        if input.peek(syn::token::Paren) {
            let inner;
            parenthesized!(inner in input);
            let parts: Vec<Cfg> = Punctuated::<Cfg, Token![,]>::parse_terminated(&inner)?.into_iter().collect();
            return match (name.to_string().as_str(), <[Cfg; 1]>::try_from(parts)) {
                ("not", Ok([part])) => Ok(Cfg::Not(Box::new(part))),
                ("all", parts) => Ok(Cfg::All(parts.map_or_else(|parts| parts, Vec::from))),
                ("any", parts) => Ok(Cfg::Any(parts.map_or_else(|parts| parts, Vec::from))),
                _ => Err(syn::Error::new(name.span(), "unknown predicate")),
            };
        }
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse::<LitStr>()?.value()),
            None => None,
        };
        Ok(Cfg::Option { name: name.to_string(), value })
    }
}
