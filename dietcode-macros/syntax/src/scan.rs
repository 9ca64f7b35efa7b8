//! Finds the annotated functions of a source file, for the build script.

use crate::KernelDef;
use crate::cfg::{Cfg, cfg_attr};
use crate::error::{Errors, Problem};
use crate::parse::{is_dynamic_kernel, parse_kernel};
use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, ItemFn, ItemMod, Meta, TraitItemFn};

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
}

/// All annotated functions of a file, in source order, in inline modules and function bodies too.
///
/// # Errors
/// If the text is not Rust, or an attribute that decides whether there is a kernel cannot be understood.
pub fn scan(source: &str) -> Result<Vec<Annotated>, Errors> {
    let file = syn::parse_file(source)?;
    let mut scan = Scan { found: Vec::new(), conditions: Vec::new(), errors: Errors::default() };
    scan.within(&file.attrs, |scan| visit::visit_file(scan, &file));
    scan.errors.finish(Some(scan.found))
}

struct Scan {
    found: Vec<Annotated>,
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

/// What stands in the parentheses; nothing for a bare attribute.
fn arguments(meta: &Meta) -> TokenStream {
    match meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => quote::ToTokens::to_token_stream(pair),
        Meta::Path(_) => TokenStream::new(),
    }
}

impl Visit<'_> for Scan {
    fn visit_item_mod(&mut self, module: &ItemMod) {
        self.within(&module.attrs, |scan| visit::visit_item_mod(scan, module));
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        self.within(&item.attrs, |scan| {
            for (args, condition) in scan.annotations(&item.attrs) {
                let mut item = item.clone();
                item.attrs.retain(|a| !is_dynamic_kernel(a.path()) && !a.path().is_ident("cfg_attr"));
                let at = item.sig.ident.span().start();
                let cfg = Cfg::All(scan.conditions.iter().cloned().chain(condition).collect());
                scan.found.push(Annotated { item, args, line: at.line, column: at.column + 1, cfg });
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
