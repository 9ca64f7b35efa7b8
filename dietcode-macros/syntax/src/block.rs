//! Blocks with a value at their end, and the `let`s in them and in the nest.

use crate::conversion::is_type;
use crate::error::Problem;
use crate::nest::{Let, binding};
use crate::scope::{Meaning, Scope};
use crate::text::text;
use crate::{DType, Expr};
use syn::Type;

impl Scope<'_> {
    /// `{ let t = …; value }`
    pub(crate) fn branch(&mut self, block: &syn::Block, depth: usize) -> Option<Expr> {
        let outer = self.names.len();
        let value = self.branch_value(block, depth);
        self.names.truncate(outer);
        value
    }

    fn branch_value(&mut self, block: &syn::Block, depth: usize) -> Option<Expr> {
        let (last, before) = match block.stmts.split_last() {
            Some((syn::Stmt::Expr(syn::Expr::Return(last), _), _)) => return self.fail(last, returned(last)),
            Some((syn::Stmt::Expr(last, None), before)) => (last, before),
            _ => return self.fail(block, Problem::BranchValue),
        };
        for stmt in before {
            match stmt {
                syn::Stmt::Local(local) => match binding(local, self.errors) {
                    Ok(local) => self.temporary(&local, depth),
                    Err(names) => self.declare_broken(&names),
                },
                syn::Stmt::Expr(syn::Expr::Return(early), _) => self.errors.push(early, returned(early)),
                other => self.errors.push(other, Problem::BranchStatement),
            }
        }
        self.value_at(last, depth)
    }

    /// An immutable `let` of an index or an element.
    pub(crate) fn bind(&mut self, local: &Let<'_>) {
        self.temporary(local, 0);
    }

    fn temporary(&mut self, local: &Let<'_>, depth: usize) {
        let meaning = match self.holds_index(local) {
            _ if local.mutable && depth > 0 => self.fail(local.name, Problem::BranchStatement),
            None => None,
            Some(true) => self.index(local.value).map(Meaning::Index),
            Some(false) => {
                let dtype = if self.inside > 0 { self.computes } else { self.type_of_let(local) };
                let value = self.within(dtype, |scope| scope.value_at(local.value, depth));
                value.map(|value| Meaning::Element(value, dtype))
            }
        };
        self.declare(local.name, meaning.unwrap_or(Meaning::Broken));
    }

    /// Whether a `let` holds an index: its type says so, or else its value does.
    pub(crate) fn holds_index(&mut self, local: &Let<'_>) -> Option<bool> {
        match local.ty {
            None => Some(self.is_index(local.value)),
            Some(ty) if is_type(ty, self.signature.computes) => Some(false),
            Some(ty) if self.signature.sums_integers() && is_type(ty, DType::I32) => Some(false),
            Some(Type::Path(ty)) if ty.path.is_ident("usize") => Some(true),
            Some(other) => {
                let computes_in = self.computes.to_string();
                self.fail(other, Problem::LetType { found: text(other), computes_in })
            }
        }
    }
}

/// What to say of a `return`.
fn returned(at: &syn::ExprReturn) -> Problem {
    Problem::BranchReturn { value: at.expr.as_ref().map_or_else(|| "value".to_string(), text) }
}
