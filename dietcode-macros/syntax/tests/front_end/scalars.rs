//! Scalar parameters, and sums that a condition on them leaves out.

use dietcode_syntax::{CompareOp, Expr, KernelDef, bounds, scan};

/// A kernel with scalars `alpha` and `beta`, one input `x`, and one output `y`, around a body.
fn parse(body: &str) -> Result<KernelDef, String> {
    let source = format!(
        "#[dynamic_kernel] fn f(alpha: f32, x: &[[f32; K]; M], beta: f32, y: &mut [f32; M]) {{ for i in 0..M {{ {body} }} }}"
    );
    scan(&source).expect("it is Rust")[0].parse().map_err(|errors| errors.to_string())
}

fn def(body: &str) -> KernelDef {
    let def = parse(body).unwrap_or_else(|errors| panic!("{errors}\nin {body}"));
    let again = scan(&def.to_string()).expect("the print is Rust")[0].parse();
    assert_eq!(again.unwrap_or_else(|errors| panic!("{errors}\nin {def}")), def);
    def
}

#[test]
fn a_product_with_factors_prints_as_it_is_written() {
    let source = "#[dynamic_kernel]
fn gemm(alpha: f32, a: &[[f32; K]; M], b: &[[f32; N]; K], beta: f32, c: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            if alpha != 0.0 {
                for k in 0..K {
                    acc += a[i][k] * b[k][j];
                }
            }
            c[i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j] };
        }
    }
}
";
    let def = scan(source).expect("it is Rust")[0].parse().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(def.to_string(), source);
    assert_eq!(format!("{:016x}", def.source_hash()), "7bdd9537562a769d", "it is written into tuned files");
    assert!(def.params[0].is_scalar() && !def.params[1].is_scalar());
    let condition = def.reduction.and_then(|sum| sum.condition).expect("the sum has one");
    let alpha = Expr::Load { param: 0, index: vec![] };
    assert_eq!((condition.op, condition.lhs, condition.rhs), (CompareOp::Ne, alpha, Expr::Literal(0.0)));
}

#[test]
fn scalars_are_elements_wherever_there_are_any() {
    let def = def(
        "let s = alpha * 2.0; let mut acc = beta - s; for k in 0..K { acc += x[i][k] * s; } y[i] = acc.max(-beta);",
    );
    let print = def.to_string();
    for part in [
        "fn f(alpha: f32, x: &[[f32; K]; M], beta: f32, y: &mut [f32; M]) {",
        "let mut acc = beta - alpha * 2.0;",
        "acc += x[i][k] * (alpha * 2.0);",
        "y[i] = acc.max(-beta);",
    ] {
        assert!(print.contains(part), "{part} in {print}");
    }
}

/// Each of these sums nothing where `alpha` is not above `beta`, and leaves what was there.
#[test]
fn forms_of_a_conditioned_sum_are_one() {
    let forms = [
        "let mut acc = y[i]; if alpha > beta { for k in 0..K { acc += x[i][k]; } } y[i] = acc;",
        "if (alpha > beta) { for k in 0..K { y[i] += x[i][k]; } }",
        "let a = alpha; let mut s = y[i]; if a > beta { for k in 0..K { let v = x[i][k]; s = s + v; } }; y[i] = s;",
    ];
    let first = def(forms[0]);
    for form in &forms[1..] {
        assert_eq!(def(form), first, "{form}");
    }
    let outside = "#[dynamic_kernel] fn f(alpha: f32, x: &[[f32; K]; M], beta: f32, y: &mut [f32; M]) {
        if alpha > beta { for k in 0..K { for i in 0..M { y[i] += x[i][k]; } } } }";
    assert_eq!(scan(outside).expect("it is Rust")[0].parse().expect("it is a kernel"), first);
    assert_ne!(def(&forms[0].replace("alpha > beta", "alpha >= beta")).source_hash(), first.source_hash());
}

#[test]
fn a_condition_may_compute() {
    let def = def("let limit = beta.abs() + 1.0; let mut acc = 0.0;
        if (if alpha < 0.0 { -alpha } else { alpha }) <= limit { for k in 0..K { acc += x[i][k]; } } y[i] = acc;");
    assert!(def.to_string().contains("if (if alpha < 0.0 { -alpha } else { alpha }) <= beta.abs() + 1.0 {\n"), "{def}");
}

#[test]
fn the_old_value_of_the_output_is_there_after_the_sum() {
    let def = def("let old = y[i]; y[i] = 0.0; for k in 0..K { y[i] += x[i][k]; } y[i] = alpha * y[i] + beta * old;");
    assert!(def.to_string().contains("let mut acc = 0.0;"), "{def}");
    assert!(def.to_string().contains("y[i] = alpha * acc + beta * y[i];"), "{def}");
}

/// Whether a sum is taken is not known when the tensors are checked.
#[test]
fn a_conditioned_read_is_checked_as_any_other() {
    let body = |sum: &str| format!("let mut acc = alpha; {sum} y[i] = acc + beta;");
    let plain = def(&body("for k in 0..K { acc += x[i][k + 1]; }"));
    let conditioned = def(&body("if alpha > beta { for k in 0..K { acc += x[i][k + 1]; } }"));
    assert_eq!(bounds(&plain).len(), 1);
    assert_eq!(bounds(&plain), bounds(&conditioned));
}

/// One of each; the words rustc prints for them stand in `tests/ui`.
#[test]
fn what_has_no_meaning_is_refused() {
    let sum = |around: &str| format!("let mut acc = alpha * beta; {around} y[i] = acc;");
    for (body, expected) in [
        (sum("if x[i][0] > 0.0 { for k in 0..K { acc += x[i][k]; } }"), "is the same throughout a call"),
        (sum("if i as f32 > beta { for k in 0..K { acc += x[i][k]; } }"), "is the same throughout a call"),
        (sum("if K as f32 > beta { for k in 0..K { acc += x[i][k]; } }"), "is the same throughout a call"),
        (sum("if alpha > 0.0 { for k in 0..K { acc += x[i][k]; } } else { acc = 1.0; }"), "nothing is summed"),
        (sum("for k in 0..K { if alpha > 0.0 { acc += x[i][k]; } }"), "write the choice as a value"),
        (sum("for k in 0..K { if alpha > 0.0 { for l in 0..2 { acc += x[i][k]; } } }"), "inside the loop over `k`"),
        (
            sum("if alpha > 0.0 { for k in 0..K { if beta > 0.0 { for l in 0..2 { acc += x[i][k]; } } } }"),
            "inside the loop",
        ),
        (sum("if alpha > 0.0 { acc = 1.0; for k in 0..K { acc += x[i][k]; } }"), "an assignment under a condition"),
        (sum("if alpha > 0.0 { for k in 0..K { acc += x[i][k]; } acc *= beta; }"), "an assignment under a condition"),
        (sum("for k in 0..K { acc += x[i][k]; } if alpha > 0.0 { for k in 0..K { acc += 1.0; } }"), "a second loop"),
        (sum("if alpha > 0.0 { if beta > 0.0 { for k in 0..K { acc += x[i][k]; } } }"), "write the choice as a value"),
        (sum("if alpha { for k in 0..K { acc += x[i][k]; } }"), "one comparison of elements"),
        ("y[i] = alpha[i] + beta;".to_string(), "`alpha` is indexed, but it is a scalar parameter"),
        ("y[i] = x[i][alpha] + beta;".to_string(), "`alpha` is a scalar parameter; an index is made of"),
        ("for k in 0..alpha { y[i] += beta; }".to_string(), "`alpha` is a scalar parameter; an index is made of"),
        ("alpha = 1.0; y[i] = alpha * beta;".to_string(), "assigned to but it is a scalar parameter"),
        ("let alpha = 1.0; y[i] = alpha * beta;".to_string(), "the name `alpha` is already a scalar parameter"),
        ("let unused = beta; y[i] = alpha;".to_string(), "the scalar parameter `beta` is never used"),
        ("y[i] = f32::from(alpha) + beta;".to_string(), "converts an element of a tensor of `f16`, `bf16`"),
    ] {
        let errors = parse(&body).err().unwrap_or_else(|| panic!("it is accepted: {body}"));
        assert!(errors.contains(expected), "{expected} in {errors}\nfor {body}");
    }
}
