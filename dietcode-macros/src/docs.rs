//! What `cargo doc` shows of a kernel, behind what its author wrote: the signature of the function says `impl Into<…>` only.

use dietcode_syntax::{KernelDef, described};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use crate::paths;

/// The `#[doc]` attribute of the function; `core` is the path of `dietcode_core`.
pub(crate) fn of_call(def: &KernelDef, item: &ItemFn, core: &TokenStream) -> TokenStream {
    let text = [parameters(def, core), shape(def), nest(def, item), errors(def, core)].concat();
    // What the author wrote ends in a paragraph of its own.
    let text = format!("\n{text}");
    quote!(#[doc = #text])
}

fn parameters(def: &KernelDef, core: &TokenStream) -> String {
    let core = paths::link(core);
    let line = |(at, param)| format!("* `{param}`: {}\n", described::role(def, at));
    let lines: String = def.params.iter().enumerate().map(line).collect();
    format!(
        "# Parameters\n\n{lines}\nA tensor is in host memory or on a CUDA device. One that is read is anything that becomes an \
         [`Input`]({core}::runtime::Input), one that is written anything that becomes an [`Output`]({core}::runtime::Output).\n\n"
    )
}

fn shape(def: &KernelDef) -> String {
    let lines: String = described::extents(def).iter().map(|line| format!("* {line}\n")).collect();
    format!("# Shape\n\nA call reads the extents off its tensors, whose dimensions count from 0.\n\n{lines}\n")
}

fn nest(def: &KernelDef, item: &ItemFn) -> String {
    let text = described::nest(def, item);
    // A comment in the nest may hold a fence itself.
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("# Nest\n\n{fence}text\n{text}\n{fence}\n\n")
}

fn errors(def: &KernelDef, core: &TokenStream) -> String {
    let core = paths::link(core);
    let indices = match &described::checked_indices(def)[..] {
        [] => String::new(),
        indices => format!("; an index leaves its tensor ({})", indices.join(", ")),
    };
    format!(
        "# Errors\n\n\
         * [`ErrorKind::Input`]({core}::ErrorKind::Input), before anything is written: a rank, an element type or an extent is \
         not that of the nest{indices}; the output overlaps an input; the tensors are not all in one place.\n\
         * [`ErrorKind::Unavailable`]({core}::ErrorKind::Unavailable): there is no code for the place of the tensors, this CPU lacks \
         a feature that the code was compiled for, or memory or threads are not available.\n\
         * [`ErrorKind::Failed`]({core}::ErrorKind::Failed): a launch on a CUDA device fails.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::of_call;
    use dietcode_syntax::{parse_function, parse_kernel};
    use quote::quote;

    fn docs(item: &str) -> String {
        let item = parse_function(&quote!(), &item.parse().expect("it lexes")).expect("it is a function");
        let def = parse_kernel(quote!(), &item).expect("it is a kernel");
        let attribute = of_call(&def, &item, &quote!(::d::core));
        let attribute: syn::ItemFn = syn::parse_quote!(#attribute fn f() {});
        let value = &attribute.attrs[0].meta.require_name_value().expect("it is a #[doc = …]").value;
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value else { panic!("it is a string") };
        text.value()
    }

    const CONVOLUTION: &str = "
        pub fn conv(x: &[[f32; W + S - 1]; C], k: &[[f32; S]; C], by: f32, y: &mut [f32; W]) {
            for w in 0..W {
                for c in 0..C { // ```
                    for s in 0..S {
                        y[w] += by * x[c][w + s] * k[c][s];
                    }
                }
            }
        }";

    #[test]
    fn all_that_a_call_must_bring_is_told() {
        let text = docs(CONVOLUTION);
        for line in [
            "# Parameters",
            "* `x: &[[f32; S + W - 1]; C]`: a tensor of rank 2, which is read",
            "* `by: f32`: a scalar",
            "* `y: &mut [f32; W]`: a tensor of rank 1, which is read and written",
            "# Shape",
            "* `C` is dimension 0 of `x`",
            "* `S` is dimension 1 of `k`",
            "* dimension 1 of `x` has to be `S + W - 1`",
            "* dimension 0 of `k` has to be `C`",
            "# Nest",
            "# Errors",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(text.contains("[`ErrorKind::Failed`](::d::core::ErrorKind::Failed)"), "{text}");
        assert!(!text.contains("leaves its tensor"), "no index can: {text}");
        assert!(text.starts_with('\n'), "it is a paragraph of its own");
    }

    #[test]
    fn the_nest_is_as_it_is_written() {
        let text = docs(CONVOLUTION);
        let nest = "````text
fn conv(x: &[[f32; W + S - 1]; C], k: &[[f32; S]; C], by: f32, y: &mut [f32; W]) {
    for w in 0..W {
        for c in 0..C { // ```
";
        assert!(text.contains(nest) && text.contains("\n}\n````\n"), "{text}");
    }

    #[test]
    fn an_index_that_is_checked_is_named() {
        let text = docs("fn f(x: &[f32; N], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i + 2]; } }");
        assert!(text.contains("an index leaves its tensor (`i + 2` in dimension 0 of `x`)"), "{text}");
        let text = docs("fn f(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = 1.0; } }");
        assert!(text.contains("* `x: &[f32; N]`: a tensor of rank 1, of which only the extents are read"), "{text}");
    }
}
