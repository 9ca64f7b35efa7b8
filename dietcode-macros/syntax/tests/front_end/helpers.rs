//! Functions inside a kernel's body: what their calls become, and which are refused.

use dietcode_syntax::{KernelDef, scan};
use std::fmt::Write;

/// A kernel with one input `x`, one scalar `s` and one output `y`, around functions and the value that is stored.
fn kernel(functions: &str, value: &str) -> String {
    format!(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], s: f32, y: &mut [f32; M]) {{
            {functions}
            for i in 0..M {{ y[i] = s; for k in 0..K {{ y[i] += {value}; }} }}
        }}"
    )
}

fn def(source: &str) -> KernelDef {
    scan(source).expect("it is Rust")[0].parse().unwrap_or_else(|errors| panic!("{errors}\nin {source}"))
}

fn errors(source: &str) -> Vec<String> {
    let errors = scan(source).expect("it is Rust")[0].parse().expect_err("it is refused");
    errors.iter().map(|(_, _, sentence)| sentence).collect()
}

/// The one error that a kernel has.
fn error(functions: &str, value: &str) -> String {
    let found = errors(&kernel(functions, value));
    let [error] = found.as_slice() else { panic!("one error, found {found:#?}") };
    error.clone()
}

#[test]
fn what_is_read_for_nothing_is_checked_like_all_else() {
    for (functions, value) in [
        ("fn first(a: f32, b: f32) -> f32 { a }", "first(x[i][k], x[i + 100][k])"),
        ("fn twice(a: f32) -> f32 { let b = a; 2.0 }", "x[i][k] * twice(x[i + 100][k])"),
    ] {
        let bounds = dietcode_syntax::bounds(&def(&kernel(functions, value)));
        assert!(bounds.iter().any(|bound| bound.index.to_string() == "i + 100"), "{bounds:?}");
    }
    let unused = "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {
        for i in 0..M { let t = x[i + 100]; let mut v = x[i + 7]; v = 1.0; y[i] = v; }
    }";
    let indices: Vec<String> = dietcode_syntax::bounds(&def(unused)).iter().map(|b| b.index.to_string()).collect();
    assert_eq!(indices, ["i + 7", "i + 100"]);
    let used = unused.replace("y[i] = v", "y[i] = v + t");
    assert_eq!(def(&used).idle_reads.len(), 1);
}

#[test]
fn declared_constants_are_known_inside() {
    let with = |functions: &str, value: &str| {
        kernel(functions, value).replace("[dynamic_kernel]", "[dynamic_kernel(consts(EPS = 1e-5))]")
    };
    let inlined = def(&with("", "x[i][k] + EPS"));
    assert_eq!(def(&with("fn shifted(v: f32) -> f32 { v + EPS }", "shifted(x[i][k])")), inlined);
    let shadowed = errors(&with("fn shifted(EPS: f32) -> f32 { EPS }", "shifted(x[i][k]) + EPS"));
    assert!(shadowed.iter().any(|sentence| sentence.contains("`EPS`")), "{shadowed:?}");
}

#[test]
fn a_call_is_replaced_by_the_body() {
    let inlined = def(&kernel("", "0.5 * (x[i][k] * s) * (1.0 + (x[i][k] * s * 0.5.sqrt()).erf())"));
    for functions in [
        "fn gelu(v: f32) -> f32 { 0.5 * v * (1.0 + (v * 0.5.sqrt()).erf()) }",
        // Documentation, `let`s, a function that is called before it stands there, one that nothing calls.
        "/// Exact.
         #[inline]
         fn gelu(x: f32) -> f32 { let half = 0.5 * x; half * (1.0 + normal(x)) }
         fn normal(v: f32) -> f32 { let v = v * root(); v.erf() }
         fn unused(a: f32, b: f32) -> f32 { if a < b { a } else { b } }
         fn root() -> f32 { 0.5.sqrt() }",
    ] {
        let found = def(&kernel(functions, "gelu(x[i][k] * s)"));
        assert_eq!(found, inlined, "{found}");
        assert_eq!(found.source_hash(), inlined.source_hash());
    }
}

#[test]
fn choices_and_arguments_are_values() {
    let found = def(&kernel(
        "fn leaky(v: f32, slope: f32) -> f32 { if v > 0.0 { v } else { let t = slope * v; t } }",
        "leaky(leaky(x[i][k], 0.5), s)",
    ));
    let inner = "if x[i][k] > 0.0 { x[i][k] } else { 0.5 * x[i][k] }";
    let print = format!("acc += if ({inner}) > 0.0 {{ {inner} }} else {{ s * ({inner}) }};");
    assert!(found.to_string().contains(&print), "{found}");
}

#[test]
fn what_a_function_cannot_be_is_said_once() {
    for (functions, value, expected) in [
        ("fn g<T>(v: f32) -> f32 { v }", "g(s)", "found `<…>`; a function inside a kernel is a plain `fn`"),
        ("const fn g(v: f32) -> f32 { v }", "g(s)", "found `const`; a function inside"),
        ("pub fn g(v: f32) -> f32 { v }", "g(s)", "found `pub`; a function inside"),
        ("fn g(v: f64) -> f32 { v }", "g(s)", "found the type `f64`; a function inside this kernel takes `f32`s"),
        ("fn g(v: &[f32; M]) -> f32 { v[0] }", "g(x)", "found the type `&[f32; M]`; a function inside"),
        ("fn g(v: f32) -> f64 { v }", "g(s)", "found the type `f64`; a function inside"),
        (
            "fn g(v: f32) { v }",
            "g(s)",
            "`g` returns nothing; a function inside a kernel returns an element: `fn g(v: f32) -> f32",
        ),
        ("fn g((a, b): f32) -> f32 { a }", "g(s)", "found the pattern `(a, b)`; a parameter is a plain name"),
        ("fn g(mut a: f32) -> f32 { a }", "g(s)", "found the pattern `mut a`; a parameter is a plain name"),
        ("fn g(a: f32, a: f32) -> f32 { a }", "g(s, s)", "the parameter `a` is declared twice"),
        (
            "fn g(v: f32) -> f32 { v + x[0][0] }",
            "g(s)",
            "unknown name `x`; a function inside a kernel knows its parameters",
        ),
        (
            "fn g(v: f32) -> f32 { v + s }",
            "g(s) + g(s)",
            "unknown name `s`; a function inside a kernel knows its parameters",
        ),
        ("fn g(v: f32) -> f32 { v * (K as f32) }", "g(s)", "unknown name `K`; a function inside a kernel knows"),
        ("fn g(v: f32) -> f32 { v[0] }", "g(s)", "`v` is indexed, but it is"),
        (
            "fn g(v: f32) -> f32 { for i in 0..2 { } v }",
            "g(s)",
            "found a statement; a branch, and the body of a function,",
        ),
        (
            "fn g(v: f32) -> f32 { let mut t = v; t }",
            "g(s)",
            "found a statement; a branch, and the body of a function,",
        ),
        ("fn g(v: f32) -> f32 { fn h(v: f32) -> f32 { v } v }", "g(s)", "found a statement; a branch, and the body"),
        ("fn g(v: f32) -> f32 { return v * 2.0; }", "g(s)", "write `v * 2.0`, without `return` and semicolon"),
        ("fn g(v: f32) -> f32 { return v }", "g(s)", "write `v`, without `return` and semicolon"),
        ("fn g(v: f32) -> f32 { return v; v }", "g(s)", "write `v`, without `return` and semicolon"),
        ("fn g(v: f32) -> f32 { v.sigmoid() }", "g(s) + g(s)", "unknown method `sigmoid`"),
        (
            "fn g(v: f32) -> f32 { h(v) }",
            "g(s)",
            "found a call of `h`; a nest calls functions that stand in the kernel's body",
        ),
        ("#[cold] fn g(v: f32) -> f32 { v }", "g(s)", "found an attribute inside the nest"),
        ("fn double(v: f32) -> f32 { v + v }", "double(s)", "the name `double` is taken in the generated C"),
        ("fn g(v: f32) -> f32 { g(v) }", "g(s)", "this call leads back to `g`, which it stands in"),
        (
            "fn g(v: f32) -> f32 { h(v) } fn h(v: f32) -> f32 { j(v) + j(v) } fn j(v: f32) -> f32 { g(v) }",
            "g(s) + h(s)",
            "this call leads back to `g`",
        ),
        ("fn g(v: f32) -> f32 { v }", "g(s, s)", "wrong number of arguments: found 2; `g` takes 1"),
        ("fn g(v: f32) -> f32 { v }", "g()", "wrong number of arguments: found 0; `g` takes 1"),
        ("fn g(v: f32) -> f32 { v }", "g(x)", "the tensor `x` is used as a whole"),
        ("fn g(v: f32) -> f32 { v }", "g(k)", "`k` is an index; write `k as f32`"),
        ("fn g(v: f32) -> f32 { v }", "g(2)", "found the integer `2`"),
        ("fn g(v: f32) -> f32 { v }", "g", "`g` is a function; call it to have an element: `g(…)`"),
        ("fn g(v: f32) -> f32 { v }", "x[i][g]", "`g` is a function; an index is made of"),
        ("fn g(v: f32) -> f32 { v }", "g[i]", "`g` is indexed, but it is a function"),
        ("fn g(v: f32) -> f32 { v.clamp(1.0, 0.5) }", "s", "`.clamp(1, 0.5)` has its bounds in the wrong order"),
    ] {
        let found = error(functions, value);
        assert!(found.contains(expected), "{found}\nof {functions}, expected {expected}");
    }
}

#[test]
fn names_of_functions_are_their_own() {
    for (functions, expected) in [
        ("fn x(v: f32) -> f32 { v }", "the name `x` is already a parameter"),
        ("fn s(v: f32) -> f32 { v }", "the name `s` is already a scalar parameter"),
        ("fn K(v: f32) -> f32 { v }", "the name `K` is already a shape variable"),
        ("fn k(v: f32) -> f32 { v }", "the name `k` is already a function"),
        ("fn g(v: f32) -> f32 { v } fn g(v: f32) -> f32 { -v }", "the name `g` is already a function"),
        ("fn g(g: f32) -> f32 { g }", "the name `g` is already a function"),
        ("fn g(v: f32) -> f32 { let g = v; g }", "the name `g` is already a function"),
    ] {
        let found = errors(&kernel(functions, "x[i][k]"));
        assert!(found.iter().any(|error| error.contains(expected)), "{found:?}\nof {functions}, expected {expected}");
    }
    // A function's own names are not those of the nest.
    assert!(def(&kernel("fn g(x: f32, i: f32) -> f32 { let k = x * i; k }", "g(x[i][k], s)")).reduction.is_some());
}

#[test]
fn a_function_stands_at_the_top() {
    let source = "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {
        for i in 0..M { fn g(v: f32) -> f32 { v } y[i] = g(x[i]); }
    }";
    let found = errors(source);
    assert!(found[0].contains("found a function inside a loop or branch; put it at the top"), "{found:?}");
}

/// Each function calls the next one twice: put in place, the bodies would have 2ⁿ operations, and this test would not end.
fn doubling(count: usize, forward: bool) -> String {
    let mut functions = String::new();
    for n in 0..count {
        let at = if forward { n } else { count - 1 - n };
        let _ = write!(functions, "fn g{at}(v: f32) -> f32 {{ g{0}(v) + g{0}(v * v) }} ", at + 1);
    }
    functions + &format!("fn g{count}(v: f32) -> f32 {{ v }}")
}

#[test]
fn bodies_that_multiply_are_refused_at_once() {
    assert!(def(&kernel(&doubling(4, true), "g0(x[i][k])")).reduction.is_some());
    for (count, forward) in [(20, true), (20, false), (60, true), (60, false), (500, true), (500, false)] {
        let found = errors(&kernel(&doubling(count, forward), "g0(x[i][k])"));
        assert!(
            found[0].contains("more than 4096 operations") || found[0].contains("deeper than 128 levels"),
            "{found:?}"
        );
    }
}

/// An argument that is large counts for each use of the parameter.
#[test]
fn arguments_count_where_they_are_used() {
    let square = "fn square(v: f32) -> f32 { v * v }";
    let calls = |n: usize| format!("{}x[i][k]{}", "square(".repeat(n), ")".repeat(n));
    assert!(def(&kernel(square, &calls(6))).reduction.is_some());
    assert!(error(square, &calls(40)).contains("more than 4096 operations"));
    let chain = |n: usize| (0..n).map(|n| format!("fn c{n}(v: f32) -> f32 {{ c{}(v) }} ", n + 1)).collect::<String>();
    let of = |n: usize| chain(n) + &format!("fn c{n}(v: f32) -> f32 {{ v }}");
    assert!(def(&kernel(&of(20), "c0(s) * x[i][k]")).reduction.is_some());
    assert!(errors(&kernel(&of(5000), "x[i][k]"))[0].contains("deeper than 128 levels"));
}

/// What is too much is reported at the call in the nest, where something can be done about it.
#[test]
fn too_much_is_reported_at_the_call() {
    let value = vec!["g0(x[i][k])"; 40].join(" + ");
    let functions = "fn g0(v: f32) -> f32 { g1(g1(v)) } fn g1(v: f32) -> f32 { v * v * v * v * v * v * v * v * v }";
    let source = kernel(functions, &value).replace('\n', " ");
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("it is refused");
    let (_, column, sentence) = errors.iter().next().expect("an error has a sentence");
    assert!(sentence.contains("more than 4096 operations"), "{sentence}");
    assert!(source[column - 1..].starts_with("g0(x[i][k]) +"), "{column} in {source}");
}
