//! From a Rust block to the statements a nest is made of: loops, a condition around loops, `let`s and assignments, nothing
//! else.
//!
//! This stage looks at the form only. A statement that has no place in a nest is reported and left out, so that the
//! rest of the function is still checked; what names mean is the next stage's matter.

use crate::BinaryOp;
use crate::error::{Errors, Problem};
use crate::helper::is_helper;
use crate::text::text;
use proc_macro2::Ident;
use syn::visit::Visit;
use syn::{
    Attribute, BinOp, Block, Expr, ExprForLoop, ExprIf, ExprRange, Item, ItemFn, Local, Pat, PatIdent, RangeLimits,
    Type,
};

/// The most loops a nest may have.
pub const MAX_LOOPS: usize = 16;

/// A statement of a nest.
pub(crate) enum Stmt<'a> {
    For(For<'a>),
    If(If<'a>),
    Let(Let<'a>),
    Assign(Assign<'a>),
    /// A `let` that was reported: these names exist, and their uses are not reported again.
    Broken(Vec<&'a Ident>),
}

/// `for var in start..end { body }`. The range is `None` if it was reported.
pub(crate) struct For<'a> {
    pub(crate) var: &'a Ident,
    pub(crate) range: Option<Range<'a>>,
    pub(crate) body: Vec<Stmt<'a>>,
    pub(crate) token: syn::Token![for],
}

/// `start..end`, or `start..=end`.
#[derive(Clone, Copy)]
pub(crate) struct Range<'a> {
    pub(crate) whole: &'a Expr,
    pub(crate) start: &'a Expr,
    pub(crate) end: &'a Expr,
    pub(crate) inclusive: bool,
}

/// `if condition { … }`, with a loop inside.
pub(crate) struct If<'a> {
    pub(crate) condition: &'a Expr,
    pub(crate) body: Vec<Stmt<'a>>,
    pub(crate) token: syn::Token![if],
}

/// `let name: ty = value;`
pub(crate) struct Let<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) mutable: bool,
    pub(crate) ty: Option<&'a Type>,
    pub(crate) value: &'a Expr,
}

/// `target op value;`, where no operator is a plain `=`.
pub(crate) struct Assign<'a> {
    pub(crate) target: &'a Expr,
    pub(crate) op: Option<BinaryOp>,
    pub(crate) value: &'a Expr,
}

/// The statements of a function's body.
pub(crate) fn parse<'a>(body: &'a Block, errors: &mut Errors) -> Vec<Stmt<'a>> {
    Attributes { errors }.visit_block(body);
    block(body.stmts.iter().filter(|stmt| !is_helper(stmt)), 0, errors)
}

/// Reports every attribute inside the body, wherever it stands. A function may have documentation, and be `#[inline]`.
struct Attributes<'a> {
    errors: &'a mut Errors,
}

impl Visit<'_> for Attributes<'_> {
    fn visit_attribute(&mut self, attribute: &Attribute) {
        self.errors.push(attribute, Problem::InnerAttribute);
    }

    fn visit_item_fn(&mut self, function: &ItemFn) {
        let allowed = |attribute: &&Attribute| ["doc", "inline"].iter().any(|name| attribute.path().is_ident(name));
        function
            .attrs
            .iter()
            .filter(|attribute| !allowed(attribute))
            .for_each(|attribute| self.visit_attribute(attribute));
        self.visit_signature(&function.sig);
        self.visit_block(&function.block);
    }
}

fn block<'a>(stmts: impl IntoIterator<Item = &'a syn::Stmt>, depth: usize, errors: &mut Errors) -> Vec<Stmt<'a>> {
    stmts.into_iter().filter_map(|stmt| statement(stmt, depth, errors)).collect()
}

fn statement<'a>(stmt: &'a syn::Stmt, depth: usize, errors: &mut Errors) -> Option<Stmt<'a>> {
    match stmt {
        syn::Stmt::Local(local) => Some(binding(local, errors).map_or_else(Stmt::Broken, Stmt::Let)),
        syn::Stmt::Expr(expr, _) => expression(expr, depth, errors),
        syn::Stmt::Item(Item::Fn(function)) => {
            errors.push(&function.sig, Problem::HelperPlace);
            None
        }
        syn::Stmt::Item(Item::Const(item)) => {
            let (name, value) = (item.ident.to_string(), text(&item.expr));
            errors.push(item, Problem::StatementConst { name, value });
            None
        }
        syn::Stmt::Item(item) => reject(item, "an item", errors),
        syn::Stmt::Macro(call) => reject(call, "a macro call", errors),
    }
}

fn expression<'a>(expr: &'a Expr, depth: usize, errors: &mut Errors) -> Option<Stmt<'a>> {
    match expr {
        Expr::ForLoop(l) => for_loop(l, depth, errors).map(Stmt::For),
        Expr::Assign(assign) => Some(Stmt::Assign(Assign { target: &assign.left, op: None, value: &assign.right })),
        Expr::Binary(binary) => {
            let op = match binary.op {
                BinOp::AddAssign(_) => BinaryOp::Add,
                BinOp::SubAssign(_) => BinaryOp::Sub,
                BinOp::MulAssign(_) => BinaryOp::Mul,
                BinOp::DivAssign(_) => BinaryOp::Div,
                op if text(op).ends_with('=')
                    && !matches!(op, BinOp::Eq(_) | BinOp::Le(_) | BinOp::Ge(_) | BinOp::Ne(_)) =>
                {
                    errors.push(op, Problem::AssignOperator { found: text(op) });
                    return None;
                }
                _ => return reject(expr, "an expression whose value is dropped", errors),
            };
            Some(Stmt::Assign(Assign { target: &binary.left, op: Some(op), value: &binary.right }))
        }
        Expr::If(choice) => conditioned(choice, depth, errors).map(Stmt::If),
        other => reject(other, describe(other), errors),
    }
}

fn reject<'a>(at: impl quote::ToTokens, found: &str, errors: &mut Errors) -> Option<Stmt<'a>> {
    errors.push(at, Problem::Statement { found: found.to_string() });
    None
}

fn for_loop<'a>(l: &'a ExprForLoop, depth: usize, errors: &mut Errors) -> Option<For<'a>> {
    if let Some(label) = &l.label {
        errors.push(label, Problem::Label { found: label.name.to_string() });
    }
    if depth == MAX_LOOPS {
        errors.push(l.for_token, Problem::TooManyLoops { most: MAX_LOOPS.to_string() });
        return None;
    }
    let range = range(&l.expr, errors);
    let body = block(&l.body.stmts, depth + 1, errors);
    let var = plain_name(&l.pat).filter(|(_, mutable)| !mutable);
    if var.is_none() {
        errors.push(&l.pat, Problem::LoopPattern { found: text(&l.pat) });
    }
    Some(For { var: var?.0, range, body, token: l.for_token })
}

/// A condition around a loop; every other choice is one between values.
fn conditioned<'a>(choice: &'a ExprIf, depth: usize, errors: &mut Errors) -> Option<If<'a>> {
    let is_loop = |stmt: &syn::Stmt| matches!(stmt, syn::Stmt::Expr(Expr::ForLoop(_), _));
    if !choice.then_branch.stmts.iter().any(is_loop) {
        errors.push(choice.if_token, Problem::StatementIf);
        return None;
    }
    if let Some((token, _)) = &choice.else_branch {
        errors.push(token, Problem::ElseOfSum);
    }
    Some(If { condition: &choice.cond, body: block(&choice.then_branch.stmts, depth, errors), token: choice.if_token })
}

/// A range with both ends.
fn range<'a>(whole: &'a Expr, errors: &mut Errors) -> Option<Range<'a>> {
    let problem = match whole {
        Expr::Paren(inner) => return range(&inner.expr, errors),
        Expr::Group(inner) => return range(&inner.expr, errors),
        Expr::Range(ExprRange { start: Some(start), end: Some(end), limits, .. }) => {
            return Some(Range { whole, start, end, inclusive: matches!(limits, RangeLimits::Closed(_)) });
        }
        Expr::Range(ExprRange { start: Some(start), end: None, .. }) => Problem::LoopEnd { start: text(start) },
        other => Problem::LoopRange { found: text(other) },
    };
    errors.push(whole, problem);
    None
}

/// A `let` of a plain name, in a nest or in a branch of an `if`; else the names that it would have bound.
pub(crate) fn binding<'a>(local: &'a Local, errors: &mut Errors) -> Result<Let<'a>, Vec<&'a Ident>> {
    let (pattern, ty) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
        pattern => (pattern, None),
    };
    let Some((name, mutable)) = plain_name(pattern) else {
        errors.push(pattern, Problem::LetPattern { found: text(pattern) });
        let mut names = Names(Vec::new());
        names.visit_pat(pattern);
        return Err(names.0);
    };
    match &local.init {
        Some(init) if init.diverge.is_none() => return Ok(Let { name, mutable, ty, value: &init.expr }),
        Some(init) => errors.push(&init.expr, Problem::LetElse),
        None => errors.push(name, Problem::LetWithoutValue { name: name.to_string() }),
    }
    Err(vec![name])
}

/// The names that a pattern binds.
struct Names<'a>(Vec<&'a Ident>);

impl<'a> Visit<'a> for Names<'a> {
    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.0.push(&pattern.ident);
    }
}

/// The name in a pattern that is just a name, and whether it is `mut`.
pub(crate) fn plain_name(pattern: &Pat) -> Option<(&Ident, bool)> {
    match pattern {
        Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => Some((&p.ident, p.mutability.is_some())),
        _ => None,
    }
}

/// What an expression is called in a sentence.
pub(crate) fn describe(expr: &Expr) -> &'static str {
    match expr {
        Expr::Array(_) | Expr::Repeat(_) => "an array",
        Expr::Assign(_) => "an assignment",
        Expr::Async(_) | Expr::Await(_) => "`async` code",
        Expr::Block(_) => "a block",
        Expr::Break(_) => "a `break`",
        Expr::Call(_) => "a function call",
        Expr::Cast(_) => "a cast",
        Expr::Closure(_) => "a closure",
        Expr::Const(_) => "a `const` block",
        Expr::Continue(_) => "a `continue`",
        Expr::Field(_) => "a field access",
        Expr::ForLoop(_) => "a `for` loop",
        Expr::Index(_) => "an element whose value is dropped",
        Expr::Let(_) => "a `let` condition",
        Expr::Lit(_) => "a literal",
        Expr::Loop(_) => "a `loop`",
        Expr::Macro(_) => "a macro call",
        Expr::Match(_) => "a `match`",
        Expr::MethodCall(_) => "a method call",
        Expr::Path(_) => "a name",
        Expr::Range(_) => "a range",
        Expr::Reference(_) => "a reference",
        Expr::Return(_) => "a `return`",
        Expr::Struct(_) => "a struct",
        Expr::Try(_) => "a `?`",
        Expr::Tuple(_) => "a tuple",
        Expr::Unary(_) => "a unary operator",
        Expr::Unsafe(_) => "an `unsafe` block",
        Expr::While(_) => "a `while` loop",
        _ => "an expression",
    }
}
