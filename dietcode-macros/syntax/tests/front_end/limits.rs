//! Functions that are too deep or too large are refused before some stage runs out of stack or memory.

use dietcode_syntax::scan;

use crate::stack;

fn refused(value: &str, lets: &str) -> String {
    let source = format!(
        "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{ for i in 0..M {{ {lets} y[i] = {value}; }} }}"
    );
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("it is refused");
    errors.iter().map(|(_, _, sentence)| sentence).next().expect("an error has a sentence")
}

#[test]
fn depth() {
    stack::run(depths);
}

fn depths() {
    let deep = "nested deeper than 128 levels";
    assert!(refused(&format!("x[i]{}", " + x[i]".repeat(1000)), "").contains(deep));
    assert!(refused(&format!("{}x[i]{}", "-(".repeat(80), ")".repeat(80)), "").contains(deep));
    assert!(refused(&format!("x[{}i{}]", "(".repeat(150), ")".repeat(150)), "").contains(deep));
}

/// What nests in expressions, types and patterns, with and without delimiters.
const NESTING: [&str; 44] = [
    "- ",
    "!",
    "--!!&&",
    "{-----",
    "= &&&&",
    "={a<b}- -",
    "& & ",
    "&'a mut ",
    "- #[a] ",
    "*const ",
    "( ",
    "[",
    "a[",
    "x.f(",
    "if x { ",
    "if x = ",
    "for i in 0 .. ",
    "match x { _ => ",
    "return ",
    "a = ",
    "a += ",
    "a >>= ",
    "a == ",
    "a==b>=",
    "a != -",
    "a >= ",
    "|a|",
    "| a | ",
    "||",
    "|a, b| ",
    "static || ",
    "A<",
    "A<B, ",
    "A::<B, ",
    "a::<",
    "<a as ",
    "a < b - ",
    "fn() -> ",
    "Box<dyn Fn() -> ",
    "a @ ",
    "if a { } else ",
    "if { a } { } else ",
    "{ } = ",
    "let A = ",
];

#[test]
fn syntax_that_is_nested_too_deep_for_a_parser() {
    stack::run(|| {
        for nested in NESTING {
            let nested = nested.repeat(5_000);
            for open in ["let a = ", "let a: ", "let ", ""] {
                // Without the parentheses that would close it, it is no tree of tokens.
                let close: String = nested.chars().rev().filter_map(closing).collect();
                let source = format!("#[dynamic_kernel] fn f() {{ {open}{nested} x {close}; }}");
                // Some of it nests not in each place; what it is there, a parser may say, if it comes that far.
                drop(scan(&source).map(|_| panic!("it is no Rust: {open}{}", &nested[..20])));
            }
        }
        for deep in ["a = ", "if x < ", "if x { ", "A<", "-", "((", "||"] {
            let (nested, close) =
                (deep.repeat(200), deep.chars().rev().filter_map(closing).collect::<String>().repeat(200));
            let errors = scan(&format!("#[dynamic_kernel] fn f() {{ let a = {nested} x {close}; }}"))
                .expect_err("it is too deep");
            assert!(errors.to_string().contains("this is nested deeper than 192 levels"), "{errors}");
        }
    });
}

/// What a parser has a loop for, and what its tree is as deep as long.
const CHAINS: [&str; 22] = [
    " + x[i]",
    " - -x[i]",
    " * (x[i])",
    ".max(x[i])",
    ".f::<A>(x[i])",
    "[0]",
    "[0][1](a)",
    "(a)",
    ".a",
    ".0",
    "?",
    " as f32",
    ".await",
    " .. a",
    " ..=a",
    " && a == b",
    "||a",
    "|a",
    " >> 1",
    "=&&&&&a",
    "::a",
    " else if a { }",
];

#[test]
fn chains_that_are_long() {
    stack::run(|| {
        for link in CHAINS {
            // Those that can be parsed are as long as can be, those of which nothing else is known, much longer.
            for length in [191, 570, 1_150, 5_000] {
                for first in ["y[i] = x[i]", "let a = x", "if a { }", "y[i] = x[0", "y[i] = f(x"] {
                    let close: String =
                        first.chars().rev().filter_map(closing).filter(|c| !first.contains(*c)).collect();
                    let source = format!(
                        "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{ for i in 0..M {{ {first}{}{close}; }} }}",
                        link.repeat(length)
                    );
                    let refused = scan(&source).and_then(|kernels| kernels[0].parse());
                    assert!(refused.is_err(), "{first}{link}");
                }
            }
        }
        for link in [" + x[i]", ".max(x[i])", " - (x[i] * 2.0)"] {
            let of = |length: usize| {
                let value = format!("x[i]{}", link.repeat(length));
                let nest = format!("for i in 0..M {{ y[i] = {value}; }}");
                let kernels = scan(&format!("#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{ {nest} }}"));
                kernels
                    .and_then(|kernels| kernels[0].parse())
                    .map_or_else(|errors| errors.to_string(), |_| "a kernel".into())
            };
            assert_eq!(of(120), "a kernel");
            for (length, sentence) in [
                (130, "the expression is nested deeper than 128 levels; split it"),
                (2_500, "this is nested deeper than 192 levels; split it"),
            ] {
                assert!(of(length).contains(sentence), "{}", of(length));
            }
        }
    });
}

#[test]
fn a_file_may_begin_with_the_line_of_an_interpreter() {
    let source = format!(
        "#!/usr/bin/env it's\nfn long() -> u32 {{ 1{} }}\n#[dynamic_kernel] fn k(x: &[f32; M], y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = x[i]; }} }}",
        " + 1".repeat(20_000)
    );
    stack::run(move || {
        assert_eq!(scan(&source).expect("one kernel").len(), 1);
        assert_eq!(scan("#! [allow(unused)]\n").expect("an attribute").len(), 0);
    });
}

#[test]
fn functions_without_a_kernel_may_be_as_long_and_deep_as_they_are() {
    let kernel = "#[dynamic_kernel] fn k(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";
    let [sum, calls, choices, table] = [" + 1", ".max(1)", "if a { 1 } else ", "((a, "];
    let sum = format!("fn sum() -> u32 {{ 1{} }}", sum.repeat(20_000));
    let calls = format!("impl A {{ fn calls() -> u32 {{ 1{} }} }}", calls.repeat(20_000));
    let choices = format!("mod m {{ fn choices() -> u32 {{ {} {{ 1 }} }} }}", choices.repeat(3_000));
    let table = format!("fn table() {{ {}a{} }}", table.repeat(20_000), "))".repeat(20_000));
    let flags = format!("#[allow(unused)] pub(crate) const FLAGS: u32 = 1{};", " | 2".repeat(20_000));
    let value = format!("static VALUE: u8 = {}1{};", "(".repeat(20_000), ")".repeat(20_000));
    let named = format!("type Named = {}u8{};", "A<".repeat(20_000), ">".repeat(20_000));
    for long in [&sum, &calls, &choices, &table, &flags, &value, &named] {
        for source in [
            format!("{long}\n{kernel}"),
            format!("{kernel} {long}"),
            format!("fn outer() {{ {long} {kernel} {long} }}"),
        ] {
            stack::run(move || {
                let kernels = scan(&source).unwrap_or_else(|errors| panic!("{errors}: {}", &source[..60]));
                assert_eq!(kernels.iter().map(|kernel| kernel.item.sig.ident.to_string()).collect::<Vec<_>>(), ["k"]);
                kernels[0].parse().expect("it is a kernel");
            });
        }
    }
    let line = |source: String| stack::run(move || assert_eq!(scan(&source).expect("it is Rust")[0].line, 3));
    line(format!("\n{sum}\n{kernel}"));
    line(format!("{flags}\n{value}\n{kernel}"));
    // What a build script looks for, and a kernel's own nest, are never left out.
    for (open, close) in [("const A: u8 = {", "};"), ("const fn f() -> u8 {", "}")] {
        let source = format!("{open} {kernel} 1{} {close}", " + 1".repeat(20_000));
        let errors = scan(&source).expect_err("it is too deep").to_string();
        assert!(errors.contains("this is nested deeper than 192 levels; split it"), "{errors}");
    }
    let deep = kernel.replace("x[i];", &format!("x[i]{};", " + x[i]".repeat(2_500)));
    let errors = scan(&format!("mod m {{ {deep} {sum} }}")).expect_err("it is too deep").to_string();
    assert!(errors.contains("this is nested deeper than 192 levels; split it"), "{errors}");
}

fn closing(open: char) -> Option<char> {
    [('(', ')'), ('[', ']'), ('{', '}')].into_iter().find(|pair| pair.0 == open).map(|pair| pair.1)
}

#[test]
fn what_is_long_is_not_deep() {
    let long = [
        "#![doc = \"a\"]\n".repeat(500),
        format!("fn f(x: T) -> bool {{ {} x }}", "x && !x || -x < *x ^ ".repeat(500)),
        format!("fn f(x: T) -> bool {{ {} x }}", "x == 1 || x!=2 && x >= 3 || x<=4 || ".repeat(500)),
        format!("fn f(x: T) {{ {} }}", "if x < y { } for i in 0..n { } a = 1; #[b] { } -x; ".repeat(500)),
        format!(
            "fn f(x: T) {{ {} }}",
            "x = v.iter().map(|a| a).map(|a: &'a T| -> T { a }).filter(|_| true); ".repeat(200)
        ),
        format!("fn f(x: T) {{ match x {{ {} _ => {{}} }} }}", "A | B if x < 1 => 1, ".repeat(500)),
        format!("impl<'a> T {{ {} }}", "#[a] fn f<'a>(a: &'a mut A<B<C>>) -> &'a T { a } ".repeat(500)),
    ];
    for source in long {
        stack::run(move || drop(scan(&source).unwrap_or_else(|errors| panic!("{errors}: {}", &source[..60]))));
    }
}

#[test]
fn size_that_temporaries_add_and_multiply_to() {
    for value in ["-a#", "a# * a#"] {
        let lets = |n: usize| format!("let a{} = {};", n + 1, value.replace('#', &n.to_string()));
        let lets: String = (0..300).map(lets).collect();
        assert!(refused("a300", &format!("let a0 = x[i]; {lets}")).contains("more than 4096 operations"));
    }
}

#[test]
fn coefficients_that_overflow() {
    let too_large = "a coefficient or constant is larger than 536870912";
    for index in ["99999999999999999999", "536870913 * i", "-536870912 * 2 * i", "i + 536870912 + 1"] {
        assert!(refused(&format!("x[{index}]"), "").contains(too_large), "{index}");
    }
    let lets: String = (0..70).map(|n| format!("let a{} = a{n} + a{n};", n + 1)).collect();
    assert!(refused("x[a70]", &format!("let a0 = i; {lets}")).contains(too_large));
}

#[test]
fn counts_that_the_runtime_holds() {
    let many = |n: usize| (0..n).map(|at| format!("x{at}: &[f32; N{at}], ")).collect::<String>();
    let source = format!("#[dynamic_kernel] fn f({} y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = 0.0; }} }}", many(16));
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("it is refused").to_string();
    assert!(
        errors.contains("has 17 parameters; at most 16") && errors.contains("has 17 shape variables; at most 16"),
        "{errors}"
    );
}
