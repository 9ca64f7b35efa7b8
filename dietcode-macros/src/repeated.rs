//! Warnings about work that a nest does again and again.
//!
//! ```text
//! for t in 0..T {
//!     for d in 0..D {                        each of the D iterations sums the same terms
//!         let mut sum = 0.0;
//!         for e in 0..D { sum += x[t][e] * x[t][e]; }
//!         y[t][d] = x[t][d] / sum.sqrt();
//!     }
//! }
//! ```
//!
//! A macro on the stable compiler has no warnings, so each is the use of something deprecated, which has the sentence as its
//! note and the loop's place as its own. It stands in the function, where `#[allow(deprecated)]` on it holds.

use dietcode_syntax::{Affine, Expr, KernelDef, LoopDef, Role};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{ExprForLoop, ItemFn, Pat};

/// A warning at each spatial loop that the terms of the sum do not depend on.
pub(crate) fn warnings(def: &KernelDef, item: &ItemFn) -> TokenStream {
    let Some(sum) = &def.reduction else { return TokenStream::new() };
    let again =
        |l: &&LoopDef| l.role == Role::Spatial && l.extent.as_constant() != Some(1) && !depends(&sum.update, &l.name);
    let again: Vec<&LoopDef> = def.loops.iter().filter(again).collect();
    let over: Vec<String> =
        def.loops.iter().filter(|l| l.role == Role::Reduce).map(|l| format!("`{}`", l.name)).collect();
    let mut variables = Variables(Vec::new());
    variables.visit_block(&item.block);
    let warnings = again.iter().filter_map(|l| {
        let at = variables.0.iter().find(|variable| **variable == l.name)?;
        let note = format!(
            "the sum over {} does not depend on `{}`, and each of the {} iterations of this loop computes it again; \
             write two kernels, one that stores the sums, and one that reads them",
            over.join(" and "),
            l.name,
            l.extent
        );
        Some(warning(at, &note))
    });
    quote!(#(#warnings)*)
}

fn warning(at: &Ident, note: &str) -> TokenStream {
    let name = format_ident!("sum_computed_again", span = at.span());
    quote_spanned! {at.span()=>
        {
            #[deprecated(note = #note)]
            #[allow(non_upper_case_globals, reason = "the compiler's sentence names it")]
            const #name: () = ();
            #name
        }
    }
}

/// Whether a value changes with a loop.
fn depends(value: &Expr, var: &str) -> bool {
    let moves = |index: &Affine| index.coefficient(var) != 0;
    value.any(&|e| match e {
        Expr::Load { index, .. } => index.iter().any(moves),
        Expr::Index(index) => moves(index),
        _ => false,
    })
}

/// The variables of the loops.
struct Variables(Vec<Ident>);

impl<'ast> Visit<'ast> for Variables {
    fn visit_expr_for_loop(&mut self, l: &'ast ExprForLoop) {
        if let Pat::Ident(pattern) = &*l.pat {
            self.0.push(pattern.ident.clone());
        }
        visit::visit_expr_for_loop(self, l);
    }
}

#[cfg(test)]
mod tests {
    use super::warnings;
    use dietcode_syntax::parse_kernel;
    use proc_macro2::TokenStream;

    /// The sentences of the warnings.
    fn said(nest: &str) -> Vec<String> {
        let item = syn::parse_str(nest).expect("it is a function");
        let def = parse_kernel(TokenStream::new(), &item).unwrap_or_else(|errors| panic!("{errors}"));
        let text = warnings(&def, &item).to_string();
        let notes = text.split("note = \"").skip(1).filter_map(|rest| rest.split(';').next());
        notes.map(str::to_string).collect()
    }

    #[test]
    fn a_sum_that_a_loop_does_not_change_is_computed_again() {
        let rms = "fn f(x: &[[f32; D]; T], y: &mut [[f32; D]; T]) {
            for t in 0..T { for d in 0..D {
                let mut sum = 0.0;
                for e in 0..D { sum += x[t][e] * x[t][e]; }
                y[t][d] = x[t][d] / sum.sqrt();
            } } }";
        let again = |of: &str, times: &str| {
            format!(
                "the sum over `e` does not depend on `{of}`, and each of the {times} iterations of this loop computes it again"
            )
        };
        assert_eq!(said(rms), [again("d", "D")]);
        let total = rms.replace("x[t][e] * x[t][e]", "x[0][e]").replace("0..T", "2..T");
        assert_eq!(said(&total), [again("t", "T - 2"), again("d", "D")]);
    }

    #[test]
    fn what_every_loop_changes_is_not() {
        for update in ["x[i][k] * w[j][k]", "x[i][k] + j as f32", "x[i + j][k]", "x[0][k] * w[i - j + N][0]"] {
            let nest = format!(
                "fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {{
                    for i in 0..M {{ for j in 0..N {{ for k in 0..K {{ y[i][j] += {update}; }} }} }} }}"
            );
            assert_eq!(said(&nest), [""; 0], "{update}");
        }
        // Nothing is computed again by one iteration, or without a sum.
        assert_eq!(
            said("fn f(x: &[f32; K], y: &mut [f32; 1]) { for i in 0..1 { for k in 0..K { y[i] += x[k]; } } }"),
            [""; 0]
        );
        assert_eq!(
            said("fn f(x: &[f32; M], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N { y[i][j] = x[i]; } } }"),
            [""; 0]
        );
    }
}
