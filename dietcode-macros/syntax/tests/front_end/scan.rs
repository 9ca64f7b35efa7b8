//! Which functions of a file the build script sees, and when.

use dietcode_syntax::{Annotated, scan};

const BODY: &str = "(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";

fn found(source: &str) -> Vec<Annotated> {
    scan(&source.replace("BODY", BODY)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn names(source: &str) -> Vec<String> {
    found(source).iter().map(|annotated| annotated.item.sig.ident.to_string()).collect()
}

#[test]
fn every_form_of_the_attribute_is_found() {
    let source = "
        #[dynamic_kernel] fn a BODY
        /// Documented.
        #[dynamic_kernel(config = \"b.json\")] #[inline] pub fn b BODY
        #[dietcode_core::dynamic_kernel] fn c BODY
        fn not_this_one() {}
        mod inner { pub mod deeper { #[::dietcode::dynamic_kernel()] pub(crate) fn d BODY } }
        fn main() { #[dynamic_kernel] fn e BODY }
    ";
    assert_eq!(names(source), ["a", "b", "c", "d", "e"]);
    let b = &found(source)[1];
    assert_eq!((b.line, b.column), (4, 63));
    assert_eq!(b.parse().expect("it is a kernel").config.as_deref(), Some("b.json"));
    assert!(b.item.attrs.iter().all(|attribute| !attribute.path().is_ident("dynamic_kernel")));
}

#[test]
fn conditions_of_functions_and_modules_around_them_apply() {
    let source = "
        #![cfg(not(windows))]
        #[cfg(feature = \"big\")]
        mod big { #![cfg(any(unix, test))] #[dynamic_kernel] #[cfg(all(debug, true))] fn f BODY }
    ";
    let cfg = &found(source)[0].cfg;
    let holds = |set: &[(&str, Option<&str>)]| cfg.holds(&|name, value| set.contains(&(name, value)));
    let all = [("feature", Some("big")), ("unix", None), ("debug", None)];
    assert!(holds(&all));
    for missing in 0..all.len() {
        let rest: Vec<_> = (0..all.len()).filter(|at| *at != missing).map(|at| all[at]).collect();
        assert!(!holds(&rest), "without {:?}", all[missing]);
    }
    assert!(!holds(&[&all[..], &[("windows", None)]].concat()));
}

#[test]
fn cfg_attr_is_looked_into() {
    let source = "
        #[cfg_attr(gpu, doc = \"x\", dynamic_kernel(config = \"a.json\"))] fn a BODY
        #[cfg_attr(gpu, cfg(fast))] #[dynamic_kernel] fn b BODY
        #[cfg_attr(gpu, inline)] fn c() {}
    ";
    assert_eq!(names(source), ["a", "b"]);
    let holds = |at: usize, set: &[&str]| found(source)[at].cfg.holds(&|name, _| set.contains(&name));
    assert!(holds(0, &["gpu"]) && !holds(0, &[]));
    assert!(holds(1, &[]) && holds(1, &["gpu", "fast"]) && !holds(1, &["gpu"]));
    assert!(found(source)[0].parse().is_ok());
}

#[test]
fn what_cannot_be_understood_is_an_error_with_its_place() {
    let error = |source: &str| scan(&source.replace("BODY", BODY)).expect_err("it is refused").to_string();
    assert!(error("fn f( {").starts_with("1:"), "{}", error("fn f( {"));
    assert!(error("\n  #[cfg(maybe(a))] #[dynamic_kernel] fn f BODY").starts_with("2:3: found `#[cfg(maybe(a))]`"));
    assert!(error("#[cfg(not(a, b))] #[dynamic_kernel] fn f BODY").contains("cfg predicate"));
    let method = error("struct S; impl S { #[dynamic_kernel] fn f BODY }");
    assert!(method.starts_with("1:20: dynamic_kernel stands on something that is not a free function"), "{method}");
}

/// The build script and the macro read the same function with different attributes on it.
#[test]
fn text_and_tokens_give_the_same_hash() {
    let annotated = &found("#[dynamic_kernel(config = \"a.json\")] /* why */ pub fn f BODY")[0];
    let tokens: proc_macro2::TokenStream = format!("#[inline] fn f {BODY}").parse().expect("it lexes");
    let item = dietcode_syntax::parse_function(&proc_macro2::TokenStream::new(), &tokens).expect("it is a function");
    let def = dietcode_syntax::parse_kernel("config = \"a.json\"".parse().expect("it lexes"), &item);
    assert_eq!(def.expect("it is a kernel").source_hash(), annotated.parse().expect("it is a kernel").source_hash());
}

#[test]
fn what_is_not_closed_is_named_where_it_is_opened() {
    for (source, sentence) in [
        ("fn a() {}\nfn b() {\n    c(", "3:6: `(` is not closed"),
        ("fn a() {}\n fn b() { { }\n", "2:9: `{` is not closed"),
        ("fn é() { a[(1];\n} fn b() {", "1:14: found `]`, but `(` at 1:12 is to be closed first"),
        ("fn a() {\n (\n}", "3:1: found `}`, but `(` at 2:2 is to be closed first"),
        ("\u{feff}fn a() { (é } }", "found `}`, but `(` at 1:10 is to be closed first"),
        ("fn a() { } }", "1:12: found `}`, which closes nothing"),
        (
            "fn a() { \"b }",
            "1:10: found `\"`, with which no token of Rust begins; of a string or comment, the end may be missing",
        ),
        ("fn a() { /* b }", "1:10: found `/`, with which no token"),
    ] {
        let errors = scan(source).expect_err("it is no sequence of tokens").to_string();
        assert!(errors.contains(sentence), "{errors}");
    }
}
