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
const NESTING: [&str; 35] = [
    "- ",
    "!",
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
    "A<",
    "a::<",
    "<a as ",
    "a < b - ",
    "fn() -> ",
    "Box<dyn Fn() -> ",
    "a @ ",
    "if a { } else ",
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
                let source = format!("fn f() {{ {open}{nested} x {close}; }}");
                // Some of it nests not in each place; what it is there, a parser may say, if it comes that far.
                drop(scan(&source).map(|_| panic!("it is no Rust: {open}{}", &nested[..20])));
            }
        }
        for deep in ["a = ", "if x < ", "if x { ", "A<", "-", "((", "||"] {
            let (nested, close) =
                (deep.repeat(200), deep.chars().rev().filter_map(closing).collect::<String>().repeat(200));
            let errors = scan(&format!("fn f() {{ let a = {nested} x {close}; }}")).expect_err("it is too deep");
            assert!(errors.to_string().contains("this is nested deeper than 192 levels"), "{errors}");
        }
    });
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
