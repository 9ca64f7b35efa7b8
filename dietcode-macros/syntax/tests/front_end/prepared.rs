//! Operands that are laid out before calls.

use dietcode_syntax::{KernelDef, Prepared, scan};

/// A kernel of these parameters and this body, with the operands of `list` prepared.
fn parse(list: &str, params: &str, body: &str) -> Result<KernelDef, String> {
    let source = format!("#[dynamic_kernel(prepared({list}))] fn f({params}) {{ {body} }}");
    scan(&source).expect("it is Rust")[0].parse().map_err(|errors| errors.to_string())
}

const DENSE: [&str; 2] = [
    "x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]",
    "for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } }",
];

fn layout(param: usize, axis: &str, dim: usize, [outer, inner]: [&[usize]; 2], panel: i64) -> Prepared {
    Prepared { param, axis: axis.into(), dim, outer: outer.into(), inner: inner.into(), panel }
}

#[test]
fn panels_lie_along_the_output_and_hold_the_sum() {
    let batched = "x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]";
    let product = "for b in 0..B { for i in 0..M { for j in 0..N { for k in 0..K { y[b][i][j] += x[b][i][k] * w[b][k][j]; } } } }";
    let wide = DENSE[0].replace("f32", "f64");
    let convolution = "x: &[[f32; W + S - 1]; C], w: &[[[f32; S]; C]; O], y: &mut [[f32; W]; O]";
    let window =
        "for o in 0..O { for j in 0..W { for c in 0..C { for s in 0..S { y[o][j] += x[c][j + s] * w[o][c][s]; } } } }";
    for (list, [params, body], expected) in [
        ("w", DENSE, vec![layout(1, "j", 0, [&[], &[1]], 16)]),
        // What does not move with the output's vectors is used element by element.
        ("x", DENSE, vec![layout(0, "i", 0, [&[], &[1]], 8)]),
        ("w, x", DENSE, vec![layout(0, "i", 0, [&[], &[1]], 8), layout(1, "j", 0, [&[], &[1]], 16)]),
        ("w", [batched, product], vec![layout(1, "j", 2, [&[0], &[1]], 16)]),
        // A vector has half as many elements of f64.
        ("w", [&wide, DENSE[1]], vec![layout(1, "j", 0, [&[], &[1]], 8)]),
        ("w", [convolution, window], vec![layout(1, "o", 0, [&[], &[1, 2]], 8)]),
    ] {
        let def = parse(list, params, body).unwrap_or_else(|errors| panic!("{errors}\nin {body}"));
        assert_eq!(def.prepared, expected, "{list} of {body}");
        let again = scan(&def.to_string()).expect("the print is Rust")[0].parse().expect("it is a kernel");
        assert_eq!(again, def);
        let plain = KernelDef { prepared: Vec::new(), ..def.clone() };
        assert_ne!(plain.source_hash(), def.source_hash(), "its code takes other operands");
    }
}

#[test]
fn what_cannot_be_prepared_is_told() {
    let [params, body] = DENSE;
    let twice = "for i in 0..M { let mut acc = w[i]; for k in 0..K { acc += x[i][k] * w[i]; } y[i] = acc; }";
    let window = "for i in 0..M { for k in 0..K { y[i] += x[i + k]; } }";
    let diagonal = "for i in 0..M { for k in 0..K { y[i] += x[i][i] * w[k]; } }";
    let elementwise = "for i in 0..M { y[i] = x[i]; }";
    for (list, params, body, part) in [
        ("", params, body, "found `prepared()`; operands that are laid out before calls are listed by their names"),
        ("w = 16", params, body, "w = 16"),
        ("w, w", params, body, "`w` is listed twice as prepared"),
        ("v", params, body, "`v` is listed as prepared, but it is no tensor"),
        ("y", params, body, "`y` is listed as prepared, but it is no tensor"),
        (
            "w",
            "x: &[[f32; K]; M], w: &[f32; M], y: &mut [f32; M]",
            twice,
            "not read in what is summed, or elsewhere too",
        ),
        ("x", "x: &[f32; M], y: &mut [f32; M]", elementwise, "not read in what is summed, or elsewhere too"),
        ("x", "x: &[f32; M + K - 1], w: &[f32; K], y: &mut [f32; M]", window, "indexed by just the variable of a loop"),
        ("x", "x: &[[f32; M]; M], w: &[f32; K], y: &mut [f32; M]", diagonal, "indexed by just the variable of a loop"),
    ] {
        let errors = parse(list, params, body).expect_err(body);
        assert!(errors.contains(part), "{part} in {errors}");
    }
    let source = "#[dynamic_kernel(prepared(x), prepared(w))] fn f(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";
    let errors = scan(source).expect("it is Rust")[0].parse().expect_err("it is given twice").to_string();
    assert!(errors.contains("`prepared(…)` is given twice"), "{errors}");
}
