//! `reference`: the user's nest, kept as plain Rust over the same views.
//!
//! Every token of the nest keeps its span, so an editor still works on it. Five things change: `x[i][k]` becomes
//! `x[[i as usize, k as usize]]`, which views can be indexed by; loop variables are `i64`, so that an index such as
//! `i - r + R` means what it says even where a part of it is negative; float literals have the type that the nest computes in, as they have
//! in the kernel; declared constants are their values, since the items are not in scope here; and `v.erf()`, which Rust's floats do not have,
//! `v.clamp(a, b)`, which panics, and `f16::from_f64(v)`, which rounds twice, become calls of the runtime's functions.

use crate::{params, paths};
use dietcode_syntax::{Constant, ConstantValue, DType, KernelDef};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprCall, ExprForLoop, ExprLit, ExprMethodCall, ItemFn, Lit, LitFloat, LitInt, Local, Pat, PatType, Type,
    parse_quote_spanned,
};

/// The function `reference`. It runs after the same checks as a call, so no index in it leaves its tensor.
pub(crate) fn reference(def: &KernelDef, constants: &[Constant], item: &ItemFn) -> TokenStream {
    let (core, params) = (paths::core(), params::of(item));
    let (inputs, views, args) = (params::inputs(&params, params::view), params::views(&params), params::args(&params));
    let shape_vars = def.shape_vars.iter().map(|var| format_ident!("{}", var.name));
    let mut nest = (*item.block).clone();
    Rewrite { params: &params, constants, computes: def.computes_in() }.visit_block_mut(&mut nest);
    let nest = &nest.stmts;
    let doc = format!(
        "The nest of [`{0}`](fn@super::{0}) as it is written, run as plain Rust: the oracle that its micro-kernels are \
         checked against. Tensors are in host memory.\n\n# Errors\n\nThose of [`Kernel::bind`]({1}::runtime::Kernel::bind), before \
         anything is written.",
        def.name,
        paths::link(&core)
    );
    quote! {
        #[doc = #doc]
        #[allow(unused, clippy::all, clippy::pedantic, reason = "a nest is written for the front end, not for lints")]
        pub fn reference<'a>(#inputs) -> #core::Result<()> {
            #views
            let dietcode_shape = KERNEL.bind(&#args)?;
            let [#(#shape_vars),*] = *dietcode_shape else { ::core::unreachable!("it has one value per variable") };
            #(#nest)*
            ::core::result::Result::Ok(())
        }
    }
}

/// Methods whose meaning in a nest is that of a function of the runtime.
const OWN: [&str; 2] = ["erf", "clamp"];

struct Rewrite<'a> {
    params: &'a [params::Param],
    constants: &'a [Constant],
    computes: DType,
}

impl VisitMut for Rewrite<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match self.constant(expr).or_else(|| self.element(expr)) {
            Some(other) => *expr = other,
            None => visit_mut::visit_expr_mut(self, expr),
        }
        if let Expr::MethodCall(call) = expr
            && OWN.iter().any(|name| call.method == name)
        {
            let (core, function, receiver, args) = (paths::core(), &call.method, &call.receiver, &call.args);
            let span = function.span();
            *expr = parse_quote_spanned!(span=> #core::runtime::function::#function(#receiver, #args));
        }
        if let Expr::Call(ExprCall { func, args, .. }) = expr
            && let Expr::Path(path) = &**func
            && path.path.segments.len() == 2
            && let [Some(half), Some(function)] = [path.path.segments.first(), path.path.segments.last()]
            && function.ident == "from_f64"
        {
            let core = paths::core();
            *expr = parse_quote_spanned!(path.span()=> #half::from_f32(#core::runtime::function::to_odd(#args)));
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        // A constant becomes an `i64`; a literal takes the type that is wanted.
        let is_constant = call.method == "powi" && call.args.first_mut().is_some_and(is_name);
        visit_mut::visit_expr_method_call_mut(self, call);
        if let Some(exponent) = call.args.first_mut().filter(|_| is_constant) {
            *exponent = parse_quote_spanned!(exponent.span()=> (#exponent) as i32);
        }
    }

    fn visit_expr_for_loop_mut(&mut self, l: &mut ExprForLoop) {
        if let Expr::Range(range) = plain(&mut l.expr)
            && let Some(start) = &mut range.start
        {
            **start = match plain(start) {
                Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                    let literal = LitInt::new(&format!("{}i64", literal.base10_digits()), literal.span());
                    parse_quote_spanned!(literal.span()=> #literal)
                }
                start => parse_quote_spanned!(start.span()=> i64::from(#start)),
            };
        }
        visit_mut::visit_expr_for_loop_mut(self, l);
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if let Pat::Type(PatType { ty, .. }) = &mut local.pat
            && matches!(&**ty, Type::Path(ty) if ty.path.is_ident("usize"))
        {
            *ty = parse_quote_spanned!(ty.span()=> i64);
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_lit_float_mut(&mut self, literal: &mut LitFloat) {
        let zero = if literal.base10_digits().ends_with('.') { "0" } else { "" };
        *literal = LitFloat::new(&format!("{}{zero}{}", literal.base10_digits(), self.computes), literal.span());
    }
}

impl Rewrite<'_> {
    /// The value of a declared constant.
    fn constant(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Path(path) = expr else { return None };
        let constant = self.constants.iter().find(|constant| path.path.is_ident(&constant.name))?;
        let typed = match &constant.value {
            ConstantValue::Integer(value) => format!("{value}i64"),
            ConstantValue::Float(_, digits) => {
                format!("{}{}", digits.strip_suffix('.').unwrap_or(digits), self.computes)
            }
        };
        let value: TokenStream = typed.parse().expect("the front end took it for a number");
        Some(parse_quote_spanned!(path.span()=> (#value)))
    }

    /// `x[i][k]` as an index of a view, if the expression is an element of a tensor.
    fn element(&mut self, expr: &mut Expr) -> Option<Expr> {
        let span = expr.span();
        let mut indices = Vec::new();
        let mut base = plain(expr);
        while let Expr::Index(index) = base {
            indices.push(index.index.clone());
            base = plain(&mut index.expr);
        }
        let Expr::Path(tensor) = base else { return None };
        let is_tensor = self.params.iter().any(|param| tensor.path.is_ident(&param.name));
        indices.reverse();
        indices.iter_mut().for_each(|index| self.visit_expr_mut(index));
        (is_tensor && !indices.is_empty()).then(|| parse_quote_spanned!(span=> #tensor[[#((#indices) as usize),*]]))
    }
}

/// Whether an expression is a name, or one with a sign.
fn is_name(expr: &mut Expr) -> bool {
    match plain(expr) {
        Expr::Unary(unary) => is_name(&mut unary.expr),
        other => matches!(other, Expr::Path(_)),
    }
}

/// The expression without parentheses around it.
fn plain(mut expr: &mut Expr) -> &mut Expr {
    loop {
        expr = match expr {
            Expr::Paren(inner) => &mut inner.expr,
            Expr::Group(inner) => &mut inner.expr,
            other => return other,
        }
    }
}
