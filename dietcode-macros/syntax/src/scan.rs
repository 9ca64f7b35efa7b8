//! Finds the annotated functions of a source file, and the modules that stand in other files, for the build script.

use crate::KernelDef;
use crate::cfg::{Cfg, cfg_attr};
use crate::described;
use crate::error::{Errors, Problem};
use crate::nesting;
use crate::parse::{is_dynamic_kernel, parse_kernel};
use proc_macro2::{LexError, LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ImplItemFn, ItemFn, ItemMod, Lit, Meta, Token, TraitItemFn};

/// A function that carries `#[dynamic_kernel]`.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The function, without the attribute: what the macro is given.
    pub item: ItemFn,
    /// The attribute's arguments.
    pub args: TokenStream,
    /// The line of the function's name, from 1.
    pub line: usize,
    /// The column of the function's name, from 1.
    pub column: usize,
    /// When the function is compiled: its own conditions and those of the modules around it.
    pub cfg: Cfg,
}

impl Annotated {
    /// The function in its canonical form.
    ///
    /// # Errors
    /// As [`parse_kernel`].
    pub fn parse(&self) -> Result<KernelDef, Errors> {
        parse_kernel(self.args.clone(), &self.item)
    }

    /// The line and column of the string in `config = "…"`, from 1; those of the name if there is none.
    pub fn config_place(&self) -> (usize, usize) {
        let tokens: Vec<TokenTree> = self.args.clone().into_iter().collect();
        let string = tokens.windows(3).find_map(|tokens| match tokens {
            [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(string)] if name == "config" => {
                Some(string)
            }
            _ => None,
        });
        string.map_or((self.line, self.column), |string| from_one(string.span().start()))
    }

    /// The lines of the function's documentation.
    pub fn docs(&self) -> Vec<String> {
        let texts = self.item.attrs.iter().filter_map(|attribute| string(attribute, "doc"));
        let lines = |text: String| {
            text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()).collect::<Vec<_>>()
        };
        texts.flat_map(lines).collect()
    }

    /// The function as it can stand in another file: public, with its documentation and the attribute, in which the config is this one. The
    /// nest is as it is written.
    pub fn elsewhere(&self, def: &KernelDef, config: &str) -> String {
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(self.args.clone()).unwrap_or_default();
        let others = metas.iter().filter(|meta| !meta.path().is_ident("config"));
        let others: String = others.map(|meta| format!(", {}", meta.to_token_stream())).collect();
        let docs: String = self.docs().iter().map(|line| format!("#[doc = {line:?}]\n")).collect();
        format!("{docs}#[dynamic_kernel(config = {config:?}{others})]\npub {}\n", described::nest(def, &self.item))
    }
}

/// `mod name;`: a module that stands in another file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The inline modules around it, outermost first, and it itself.
    pub steps: Vec<Step>,
    /// When it is compiled.
    pub cfg: Cfg,
}

/// What a module says about where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// What `#[path = "…"]` says. (One in a `cfg_attr` is not looked at: its file is to be listed.)
    pub path: Option<String>,
}

/// All annotated functions of a file, in source order, in inline modules and function bodies too.
///
/// # Errors
/// If the text is not Rust or is nested too deep, or an attribute that decides whether there is a kernel cannot be understood.
pub fn scan(source: &str) -> Result<Vec<Annotated>, Errors> {
    scan_with_modules(source).map(|(kernels, _)| kernels)
}

/// [`scan`], and the modules that the file declares and does not hold.
///
/// # Errors
/// As [`scan`].
pub fn scan_with_modules(source: &str) -> Result<(Vec<Annotated>, Vec<Module>), Errors> {
    let source = without_shebang(source.strip_prefix('\u{feff}').unwrap_or(source));
    let tokens = source.parse().map_err(|error: LexError| no_tokens(source, error.span()))?;
    let file = match nesting::shallow(tokens)? {
        Some(shallow) => syn::parse2(shallow)?,
        None => syn::parse_file(source)?,
    };
    let mut scan = Scan::default();
    scan.within(&file.attrs, |scan| visit::visit_file(scan, &file));
    scan.errors.finish(Some((scan.found, scan.modules)))
}

/// What stands behind a first line such as `#!/usr/bin/env run-cargo-script`, its end included; `#![…]` is an attribute.
fn without_shebang(source: &str) -> &str {
    let line = source.strip_prefix("#!").filter(|rest| !rest.trim_start().starts_with('['));
    line.map_or(source, |rest| rest.find('\n').map_or("", |end| &rest[end..]))
}

/// Why a text is no sequence of tokens, which the lexer found at a place: where something stands that is not closed at the end, or that closes
/// something else.
fn no_tokens(source: &str, span: Span) -> Errors {
    let at = |span: Span| source.split_at_checked(span.byte_range().start).unwrap_or((source, ""));
    let (before, rest) = at(span);
    let first = |text: &str| text.chars().next().map(String::from).unwrap_or_default();
    let found = first(rest);
    let problem = match &*found {
        "(" | "[" | "{" => Problem::Unclosed { found },
        // What stands before it is not closed at its own end, if there is anything to close.
        ")" | "]" | "}" => match before.parse::<TokenStream>() {
            Ok(_) => Problem::ClosesNothing { found },
            Err(open) => {
                let (line, column) = from_one(open.span().start());
                let open = first(at(open.span()).1);
                Problem::WronglyClosed { found, open, line: line.to_string(), column: column.to_string() }
            }
        },
        _ => Problem::NoToken { found },
    };
    Errors::at(span, problem)
}

#[derive(Default)]
struct Scan {
    found: Vec<Annotated>,
    modules: Vec<Module>,
    steps: Vec<Step>,
    conditions: Vec<Cfg>,
    errors: Errors,
}

impl Scan {
    /// Visits something that is compiled under the conditions of its attributes.
    fn within(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Scan)) {
        let condition = Cfg::of(attributes, &mut self.errors);
        self.conditions.push(condition);
        visit(self);
        self.conditions.pop();
    }

    /// The attribute's arguments and the condition under which it stands there, for each time it does.
    fn annotations(&mut self, attributes: &[Attribute]) -> Vec<(TokenStream, Option<Cfg>)> {
        let mut found = Vec::new();
        for attribute in attributes {
            if is_dynamic_kernel(attribute.path()) {
                found.push((arguments(&attribute.meta), None));
            } else if let Some((condition, metas)) = cfg_attr(attribute, &mut self.errors) {
                let metas = metas.iter().filter(|meta| is_dynamic_kernel(meta.path()));
                found.extend(metas.map(|meta| (arguments(meta), Some(condition.clone()))));
            }
        }
        found
    }

    fn method(&mut self, attributes: &[Attribute]) {
        if !self.annotations(attributes).is_empty() {
            for attribute in attributes.iter().filter(|attribute| !attribute.path().is_ident("doc")) {
                self.errors.push(attribute, Problem::NotAFunction);
            }
        }
    }
}

/// What `#[name = "…"]` says.
fn string(attribute: &Attribute, name: &str) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident(name) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn from_one(at: LineColumn) -> (usize, usize) {
    (at.line, at.column + 1)
}

/// What stands in the parentheses; nothing for a bare attribute.
fn arguments(meta: &Meta) -> TokenStream {
    match meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => pair.to_token_stream(),
        Meta::Path(_) => TokenStream::new(),
    }
}

impl Visit<'_> for Scan {
    fn visit_item_mod(&mut self, module: &ItemMod) {
        self.steps.push(Step {
            name: module.ident.unraw().to_string(),
            path: module.attrs.iter().find_map(|attribute| string(attribute, "path")),
        });
        self.within(&module.attrs, |scan| {
            if module.content.is_none() {
                scan.modules.push(Module { steps: scan.steps.clone(), cfg: Cfg::All(scan.conditions.clone()) });
            }
            visit::visit_item_mod(scan, module);
        });
        self.steps.pop();
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        self.within(&item.attrs, |scan| {
            for (args, condition) in scan.annotations(&item.attrs) {
                let mut item = item.clone();
                item.attrs.retain(|a| !is_dynamic_kernel(a.path()) && !a.path().is_ident("cfg_attr"));
                let (line, column) = from_one(item.sig.ident.span().start());
                let cfg = Cfg::All(scan.conditions.iter().cloned().chain(condition).collect());
                scan.found.push(Annotated { item, args, line, column, cfg });
            }
            visit::visit_item_fn(scan, item);
        });
    }

    fn visit_impl_item_fn(&mut self, method: &ImplItemFn) {
        self.method(&method.attrs);
        visit::visit_impl_item_fn(self, method);
    }

    fn visit_trait_item_fn(&mut self, method: &TraitItemFn) {
        self.method(&method.attrs);
        visit::visit_trait_item_fn(self, method);
    }
}
