//! Nests in the forms that people write them, and the one form they come out in.

use dietcode_syntax::{Function, KernelDef, ReduceOp, scan};

fn def(source: &str) -> KernelDef {
    let found = scan(source).expect("it is Rust");
    let [annotated] = found.as_slice() else { panic!("one kernel, found {}", found.len()) };
    let def = annotated.parse().unwrap_or_else(|errors| panic!("{errors}\nin {source}"));
    assert_reads_back(&def);
    def
}

/// The print is a kernel itself, and the same one.
fn assert_reads_back(def: &KernelDef) {
    let print = def.to_string();
    let again = scan(&print).expect("the print is Rust")[0].parse().unwrap_or_else(|e| panic!("{e}\nin {print}"));
    assert_eq!(&again, def, "{print}");
    assert_eq!(again.source_hash(), def.source_hash());
}

/// A kernel with one input `x`, one vector `b` and one output `y`, around a body.
fn around(body: &str) -> String {
    format!("#[dynamic_kernel] fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {{ {body} }}")
}

const DENSE: &str = r#"
    /// Y = X · Wᵀ
    #[dynamic_kernel(config = "configs/bert_dense.json")]
    pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = 0.0; // a comment
            for k in 0..K { acc += x[i][k] * w[j][k]; }
            y[i][j] = acc;
        } }
    }"#;

#[test]
fn dense() {
    assert_eq!(
        def(DENSE).to_string(),
        r#"#[dynamic_kernel(config = "configs/bert_dense.json")]
fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}
"#
    );
    let vars: Vec<_> = def(DENSE).shape_vars.iter().map(|v| (v.name.clone(), v.param, v.dim)).collect();
    assert_eq!(vars, [("M".to_string(), 0, 0), ("K".to_string(), 0, 1), ("N".to_string(), 1, 0)]);
}

/// The hash is written into tuned files: it must not change from one version to the next without a new format version.
#[test]
fn the_hash_is_pinned() {
    assert_eq!(format!("{:016x}", def(DENSE).source_hash()), "805287af28f413a7");
}

const HALF: &str = r"
    #[dynamic_kernel]
    fn half(x: &[[f16; K]; M], w: &[bf16; K], y: &mut [bf16; M]) {
        for i in 0..M {
            let mut acc = f32::from(y[i]);
            for k in 0..K { let v = f32::from(x[i][k]); acc += v * f32::from((w[k])); }
            y[i] = (bf16::from_f32(acc.max(0.0)));
        }
    }";

#[test]
fn elements_of_16_bits_are_converted_where_they_are_read_and_stored() {
    assert_eq!(
        def(HALF).to_string(),
        "#[dynamic_kernel]
fn half(x: &[[f16; K]; M], w: &[bf16; K], y: &mut [bf16; M]) {
    for i in 0..M {
        let mut acc = f32::from(y[i]);
        for k in 0..K {
            acc += f32::from(x[i][k]) * f32::from(w[k]);
        }
        y[i] = bf16::from_f32(acc.max(0.0));
    }
}
"
    );
    assert_ne!(def(HALF).source_hash(), def(&HALF.replace("bf16", "f16")).source_hash());
}

#[test]
fn white_space_comments_and_visibility_do_not_change_the_hash() {
    let other = DENSE.replace("pub fn", "fn").replace("// a comment\n", "/* another */").replace("0..M", " 0 .. (M) ");
    assert_eq!(def(&other).source_hash(), def(DENSE).source_hash());
}

#[test]
fn a_nest_whose_config_moves_is_the_same_nest() {
    let named = "config = \"configs/bert_dense.json\"";
    assert!(DENSE.contains(named), "{DENSE}");
    for other in [DENSE.replace(named, "config = \"other.json\""), DENSE.replace(&format!("({named})"), "")] {
        assert_eq!(def(&other).source_hash(), def(DENSE).source_hash());
    }
}

#[test]
fn what_is_computed_changes_the_hash() {
    let hash = def(DENSE).source_hash();
    for (from, to) in [("0.0", "1.0"), ("* w", "+ w"), ("w[j][k]", "w[j][k] * 2.0"), ("fn dense", "fn other")] {
        assert_ne!(def(&DENSE.replace(from, to)).source_hash(), hash, "{from} → {to}");
    }
}

#[test]
fn batched_matmul_sums_into_what_is_there() {
    let def = def("#[dietcode::dynamic_kernel]
        fn bmm(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
            for b in 0..B { for k in 0..K { for i in 0..M { for j in 0..N { y[b][i][j] += x[b][i][k] * w[b][k][j]; } } } }
        }");
    assert_eq!(
        def.to_string(),
        "#[dynamic_kernel]
fn bmm(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = y[b][i][j];
                for k in 0..K {
                    acc += x[b][i][k] * w[b][k][j];
                }
                y[b][i][j] = acc;
            }
        }
    }
}
"
    );
}

#[test]
fn convolution() {
    let def = def("#[dynamic_kernel]
        fn conv2d(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                for c in 0..C { for r in 0..R { for s in 0..S { y[o][h][w] += x[c][h + r][w + s] * k[o][c][r][s]; } } }
            } } }
        }");
    let print = def.to_string();
    assert!(print.contains("x: &[[[f32; S + W - 1]; H + R - 1]; C]"), "{print}");
    assert!(print.contains("acc += x[c][h + r][s + w] * k[o][c][r][s];"), "{print}");
    assert!(dietcode_syntax::bounds(&def).is_empty(), "the types settle every index");
}

#[test]
fn row_sum_and_outer_product_and_elementwise() {
    let row = def(&around("for i in 0..M { let mut s = b[i]; for k in 0..K { s -= x[i][k]; } y[i] = s; }"));
    assert!(row.to_string().contains("acc += -x[i][k];"), "{row}");
    let outer = def("#[dynamic_kernel] fn outer(a: &[f32; M], b: &[f32; N], y: &mut [[f32; N]; M]) {
        for j in 0..N { for i in 0..M { y[i][j] = a[i] * b[j]; } } }");
    assert!(outer.reduction.is_none() && outer.loops[0].name == "j", "{outer}");
    let whole = def("#[dynamic_kernel] fn total(x: &[f32; N], y: &mut [f32; 1]) { for i in 0..N { y[0] += x[i]; } }");
    assert_eq!(whole.loops.len(), 1, "{whole}");
}

/// Each of these is the same sum with the same tail.
#[test]
fn forms_of_a_sum_are_one() {
    let forms = [
        "for i in 0..M { let mut a = 0.0; for k in 0..K { a += x[i][k]; } let v = a + b[i]; y[i] = if v > 0.0 { v } else { 0.0 }; }",
        "for i in 0..M { let mut a: f32 = 0.0; for k in 0..K { a = a + x[i][k]; } a += b[i]; y[i] = if a > 0.0 { a } else { 0.0 }; }",
        "for i in 0..M { y[i] = 0.0; for k in 0..K { y[i] += x[i][k]; } y[i] = y[i] + b[i]; y[i] = if y[i] > 0.0 { y[i] } else { 0.0 }; }",
        "for i in 0..M { y[i] = 0.0; for k in 0..K { let t = x[i][k]; y[i] = t + y[i]; }
         y[i] = { let v: f32 = y[i] + b[i]; if (v > 0.0) { v } else { 0f32 } }; }",
    ];
    let first = def(&around(forms[0]));
    assert!(first.to_string().contains("y[i] = if acc + b[i] > 0.0 { acc + b[i] } else { 0.0 };"), "{first}");
    for form in forms {
        assert_eq!(def(&around(form)), first, "{form}");
    }
}

#[test]
fn bounds_are_what_the_types_leave_open() {
    let def = def("#[dynamic_kernel] fn f(x: &[f32; L], k: &[f32; R], b: &[f32; 2], y: &mut [f32; H]) {
        for h in 0..H { let mut acc = b[1]; for r in 0..R { acc += x[h + r] * x[h + r] * k[R - 1 - r]; } y[h] = acc; } }");
    let bounds = dietcode_syntax::bounds(&def);
    let [bound] = bounds.as_slice() else { panic!("{bounds:?}") };
    assert_eq!((bound.param, bound.dim, bound.index.to_string().as_str()), (0, 0, "h + r"));
    assert_eq!((bound.least.to_string().as_str(), bound.greatest.to_string().as_str()), ("0", "H + R - 2"));
}

/// Long targets are compared to the end, not as they are quoted in messages.
#[test]
fn the_long_form_of_an_update_names_its_target_in_full() {
    let (i, j) = ("i".repeat(60), "j".repeat(60));
    let source = format!(
        "#[dynamic_kernel] fn f(y: &mut [[f32; N]; N]) {{
            for {i} in 0..N {{ for {j} in 0..N {{ for k in 0..N {{ y[{i}][{j}] = y[{i}][k] + 1.0; }} }} }} }}"
    );
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("another element is read").to_string();
    assert!(errors.contains("the output is overwritten in each iteration of `k`"), "{errors}");
}

#[test]
fn indices_are_affine_and_temporaries_are_put_in_place() {
    let def = def("#[dynamic_kernel]
        fn gather(x: &[f32; N], y: &mut [[f32; J]; I]) {
            for i in 0..I { for j in 0..J {
                let at = 2 * i + (j - 1) * 3;
                let last: usize = N - 1;
                y[i][j] = x[last - at] * (i as f32) + at as f32 - (3 as f32) * -1.5e-3_f32;
            } }
        }");
    assert!(
        def.to_string()
            .contains("y[i][j] = x[N - 2*i - 3*j + 2] * (i as f32) + ((2*i + 3*j - 3) as f32) - 3.0 * -0.0015;"),
        "{def}"
    );
    let bounds = dietcode_syntax::bounds(&def);
    let [bound] = bounds.as_slice() else { panic!("{bounds:?}") };
    assert_eq!((bound.param, bound.dim), (0, 0));
    assert_eq!(bound.least.to_string(), "-2*I - 3*J + N + 7");
    assert_eq!(bound.greatest.to_string(), "N + 2");
}

#[test]
fn methods_print_as_they_are_written() {
    let body =
        "for i in 0..M { y[i] = -(b[i] - x[i][0]).exp().max(-(1.0).tanh()).min(b[i].abs() / (b[i] / 2.0)).sqrt(); }";
    let print = def(&around(body)).to_string();
    let tail = "y[i] = -(b[i] - x[i][0]).exp().max(-1.0.tanh()).min(b[i].abs() / (b[i] / 2.0)).sqrt();";
    assert!(print.contains(tail), "{print}");
}

#[test]
fn every_function_prints_as_it_is_written() {
    let value = "b[i].clamp(-1.0, x[i][0]).powi(-3).powf(0.5).mul_add(b[i], 2.0).max(b[i].exp2().exp_m1()).ln().log2().ln_1p()\
        .sin().cos().erf().floor().ceil().round().powi(2147483647).powi(-2147483648).abs().min(b[i].exp().tanh().sqrt())";
    let print = def(&around(&format!("for i in 0..M {{ y[i] = -{value}; }}"))).to_string();
    assert!(print.contains(&format!("y[i] = -{value};")), "{print}");
    for function in Function::ALL.iter().filter(|function| **function != Function::Neg) {
        assert!(value.contains(&format!(".{function}(")), "{function} is not tried here");
    }
    let exponents = def(&around("for i in 0..M { y[i] = b[i].powi((2)) + b[i].powi(-(3)) + b[i].powi(-4i32); }"));
    assert!(exponents.to_string().contains("b[i].powi(2) + b[i].powi(-3) + b[i].powi(-4)"), "{exponents}");
}

#[test]
fn elements_may_be_updated_in_place() {
    let def = def(&around("for i in 0..M { y[i] *= b[i]; y[i] += 1.0; }"));
    assert!(def.to_string().contains("y[i] = y[i] * b[i] + 1.0;"), "{def}");
}

#[test]
fn the_printed_accumulator_has_a_name_of_its_own() {
    let def = def("#[dynamic_kernel] fn f(acc: &[[f32; acc1]; M], y: &mut [f32; M]) {
        for i in 0..M { for k in 0..acc1 { y[i] += acc[i][k]; } } }");
    assert!(def.to_string().contains("acc2 += acc[i][k];"), "{def}");
}

/// Every way to write a reduction, and the one that it comes out as.
#[test]
fn forms_of_reductions() {
    let cases = [
        (ReduceOp::Sum, "acc += x[i][k];", &["acc = acc + x[i][k];", "acc = (x[i][k]) + acc;"][..]),
        (ReduceOp::Sum, "acc += -x[i][k];", &["acc -= x[i][k];", "acc = acc - x[i][k];"]),
        (ReduceOp::Prod, "acc *= x[i][k];", &["acc = acc * x[i][k];", "acc = x[i][k] * acc;"]),
        (
            ReduceOp::Max,
            "acc = acc.max(x[i][k]);",
            &[
                "acc = x[i][k].max(acc);",
                "acc = f32::max(acc, x[i][k]);",
                "acc = f32::max(x[i][k], acc);",
                "acc = if x[i][k] > acc { x[i][k] } else { acc };",
                "acc = if x[i][k] >= acc { x[i][k] } else { acc };",
                "acc = if acc < x[i][k] { x[i][k] } else { acc };",
                "acc = if acc > x[i][k] { acc } else { x[i][k] };",
                "acc = if x[i][k] < acc { acc } else { (x[i][k]) };",
                "let v = x[i][k]; acc = if v > acc { v } else { acc };",
            ],
        ),
        (
            ReduceOp::Min,
            "acc = acc.min(x[i][k]);",
            &[
                "acc = x[i][k].min(acc);",
                "acc = f32::min(acc, x[i][k]);",
                "acc = if x[i][k] < acc { x[i][k] } else { acc };",
                "acc = if acc > x[i][k] { x[i][k] } else { acc };",
                "acc = if acc <= x[i][k] { acc } else { x[i][k] };",
                "acc = if x[i][k] > acc { acc } else { x[i][k] };",
            ],
        ),
    ];
    for (op, canonical, forms) in cases {
        for form in [canonical].iter().chain(forms) {
            for init in ["b[i]", "f32::NEG_INFINITY", "1.0"] {
                let nest = |update: &str| {
                    let body =
                        format!("for i in 0..M {{ let mut acc = {init}; for k in 0..K {{ {update} }} y[i] = acc; }}");
                    def(&around(&body))
                };
                assert_eq!(nest(form), nest(canonical), "{form}");
                assert_eq!(nest(form).reduction.map(|reduction| reduction.op), Some(op), "{form}");
                assert!(nest(form).to_string().contains(canonical), "{}", nest(form));
            }
        }
    }
}

#[test]
fn an_output_holds_an_extreme() {
    let in_place = def(&around("for i in 0..M { for k in 0..K { y[i] = y[i].min(x[i][k] * b[i]); } }"));
    let apart = "for i in 0..M { let mut acc = y[i]; for k in 0..K { acc = acc.min(x[i][k] * b[i]); } y[i] = acc; }";
    assert_eq!(in_place, def(&around(apart)));
}

#[test]
fn constants_of_f32_are_literals_that_read_back() {
    let body =
        "for i in 0..M { y[i] = b[i].max(f32::MIN).min(f32::MAX) + f32::INFINITY.max(-f32::INFINITY) * f32::EPSILON; }";
    let print = def(&around(body)).to_string();
    assert!(print.contains("b[i].max(-3.4028235e38).min(3.4028235e38)"), "{print}");
    assert!(print.contains("f32::INFINITY.max(f32::NEG_INFINITY) * 1.1920929e-7"), "{print}");
}

/// A nest with a parameter of `f64` computes in it: literals keep their bits, and all other elements are converted.
#[test]
fn a_nest_of_f64_reads_back() {
    let def = def("#[dynamic_kernel(consts(EPS = 1e-300, ONE = 1f64))]
         fn f(x: &[[f64; K]; M], w: &[f32; K], h: &[bf16; K], by: f32, alpha: f64, y: &mut [f32; M]) {
             fn twice(v: f64) -> f64 { v + 2f64 * v }
             for i in 0..M {
                 let mut acc: f64 = 0.1;
                 for k in 0..K {
                     let wide: f64 = f64::from(w[k]) * f64::from(h[k]);
                     acc += x[i][k] * twice(wide);
                 }
                 y[i] = (f64::max(acc, f64::MIN_POSITIVE) * alpha + f64::from(by) + EPS + ONE + i as f64) as f32;
             }
         }");
    let print = def.to_string();
    for part in [
        "let mut acc = 0.1;",
        "f64::from(w[k]) * f64::from(h[k])",
        "acc.max(2.2250738585072014e-308) * alpha + f64::from(by) + 1e-300 + 1.0 + (i as f64)) as f32;",
    ] {
        assert!(print.contains(part), "{part} in {print}");
    }
    let rounded = dietcode_syntax::DType::F64;
    assert_eq!((def.computes_in(), def.params[3].dtype.name(), rounded.read("0.1")), (rounded, "f32", Some(0.1)));
}

/// A nest of integers computes in them; one that has floats, too, sums integers where the accumulator is one, and converts the sum.
#[test]
fn nests_of_integers_read_back() {
    use dietcode_syntax::DType;
    let all = def("#[dynamic_kernel(consts(ZERO = 128))]
         fn f(x: &[[u8; K]; M], w: &[[i8; K]; N], b: &[i32; N], by: i32, y: &mut [[i32; N]; M]) {
             fn twice(v: i32) -> i32 { v + 2i32 * v }
             for i in 0..M { for j in 0..N {
                 let mut acc: i32 = b[j];
                 for k in 0..K {
                     let v: i32 = i32::from(x[i][k]) - ZERO as i32;
                     acc -= v * w[j][k] as i32;
                 }
                 y[i][j] = i32::max(twice(acc), i32::MIN).min(by) + i as i32 - -5;
             } }
         }");
    let print = all.to_string();
    for part in [
        "let mut acc = b[j];",
        "acc += -((i32::from(x[i][k]) - 128) * i32::from(w[j][k]));",
        "y[i][j] = (acc + 2 * acc).max(i32::MIN).min(by) + (i as i32) - -5;",
    ] {
        assert!(print.contains(part), "{part} in {print}");
    }
    let sum = |def: &KernelDef| def.reduction.as_ref().map(|sum| sum.dtype);
    assert_eq!((all.computes_in(), sum(&all)), (DType::I32, Some(DType::I32)));
    let scaled = def("#[dynamic_kernel]
         fn f(x: &[[u8; K]; M], w: &[[i8; K]; N], b: &[i32; N], s: &[f32; N], zero: i32, y: &mut [[f16; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = -zero;
                 for k in 0..K { acc += i32::from(x[i][k]) * i32::from(w[j][k]); }
                 let v = acc as f32 * s[j] + b[j] as f32;
                 y[i][j] = f16::from_f32(if v > zero as f32 { v } else { f32::from(x[i][0]) });
             } }
         }");
    let print = scaled.to_string();
    for part in
        ["let mut acc = -zero;", "(acc as f32) * s[j] + (b[j] as f32)", "> (zero as f32) {", "f32::from(x[i][0])"]
    {
        assert!(print.contains(part), "{part} in {print}");
    }
    assert_eq!((scaled.computes_in(), sum(&scaled)), (DType::F32, Some(DType::I32)));
    // The same accesses, summed as floats.
    let floats = def("#[dynamic_kernel] fn f(x: &[[u8; K]; M], s: f32, y: &mut [f32; M]) {
             for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += f32::from(x[i][k]); } y[i] = acc * s; } }");
    assert_eq!((floats.computes_in(), sum(&floats)), (DType::F32, Some(DType::F32)));
}
