use dietcode_syntax::{DType, LoopDef, Param, ReduceOp, Reduction, ShapeVar};

use super::*;

/// A nest from indices written as sums of variables: `"h+r"`.
struct Nest {
    params: Vec<(&'static str, Vec<&'static str>)>,
    loops: Vec<(&'static str, &'static str, Role)>,
    a: Vec<&'static str>,
    b: Vec<&'static str>,
    c: Vec<&'static str>,
}

fn sum(text: &str) -> Affine {
    text.split('+').fold(Affine::constant(0), |sum, term| match term.trim().parse() {
        Ok(n) => sum.add_scaled(&Affine::constant(n), 1).unwrap(),
        Err(_) => sum.add_scaled(&Affine::var(term.trim()), 1).unwrap(),
    })
}

fn sums(texts: &[&str]) -> Vec<Affine> {
    texts.iter().map(|t| sum(t)).collect()
}

impl Nest {
    fn def(&self) -> KernelDef {
        let param = |at: usize| {
            let (name, dims) = &self.params[at];
            Param { name: (*name).into(), dtype: DType::F32, dims: sums(dims), mutable: at == 2 }
        };
        let load = |param: usize, index: &[&str]| Expr::Load { param, index: sums(index) };
        let product = Expr::Binary(BinaryOp::Mul, Box::new(load(0, &self.a)), Box::new(load(1, &self.b)));
        let names = ["B", "M", "N", "K"];
        KernelDef {
            name: "nest".into(),
            config: None,
            params: (0..3).map(param).collect(),
            shape_vars: names.iter().map(|n| ShapeVar { name: (*n).into(), param: 0, dim: 0 }).collect(),
            loops: self
                .loops
                .iter()
                .map(|(n, e, role)| LoopDef { name: (*n).into(), extent: sum(e), role: *role })
                .collect(),
            output: 2,
            output_index: sums(&self.c),
            reduction: Some(Reduction {
                dtype: DType::F32,
                op: ReduceOp::Sum,
                init: Expr::Literal(0.0),
                update: product,
                condition: None,
            }),
            epilogue: Expr::Acc,
            idle_reads: Vec::new(),
            prepared: Vec::new(),
        }
    }

    fn gemm(&self) -> Option<Gemm> {
        let def = self.def();
        let instance = Instance::of(&def, &[2, 5, 7, 11]).unwrap();
        Gemm::of(&def, &instance)
    }
}

fn dense() -> Nest {
    Nest {
        params: vec![("x", vec!["M", "K"]), ("w", vec!["N", "K"]), ("y", vec!["M", "N"])],
        loops: vec![("i", "M", Role::Spatial), ("j", "N", Role::Spatial), ("k", "K", Role::Reduce)],
        a: vec!["i", "k"],
        b: vec!["j", "k"],
        c: vec!["i", "j"],
    }
}

#[test]
fn a_dense_layer_is_a_product_with_a_transposed_factor() {
    let gemm = dense().gemm().unwrap();
    assert_eq!((gemm.m, gemm.n, gemm.k), (5, 7, 11));
    assert_eq!((gemm.a.row, gemm.a.col), (11, 1));
    assert_eq!((gemm.b.row, gemm.b.col), (1, 11));
    assert_eq!((gemm.c.row, gemm.c.col), (7, 1));
    assert_eq!([gemm.alpha, gemm.beta], [Coefficient::One, Coefficient::Zero]);
    assert!(gemm.batch.is_empty());
}

#[test]
fn a_batch_shared_by_both_factors_is_a_loop() {
    let nest = Nest {
        params: vec![("x", vec!["B", "M", "K"]), ("w", vec!["B", "K", "N"]), ("y", vec!["B", "M", "N"])],
        loops: vec![
            ("b", "B", Role::Spatial),
            ("i", "M", Role::Spatial),
            ("j", "N", Role::Spatial),
            ("k", "K", Role::Reduce),
        ],
        a: vec!["b", "i", "k"],
        b: vec!["b", "k", "j"],
        c: vec!["b", "i", "j"],
    };
    let gemm = nest.gemm().unwrap();
    assert_eq!(gemm.batch, [Batch { extent: 2, a: 55, b: 77, c: 35 }]);
    assert_eq!((gemm.m, gemm.n, gemm.k), (5, 7, 11));
}

#[test]
fn a_batch_of_one_factor_only_makes_more_rows() {
    let nest = Nest {
        params: vec![("x", vec!["B", "M", "K"]), ("w", vec!["K", "N"]), ("y", vec!["B", "M", "N"])],
        loops: vec![
            ("b", "B", Role::Spatial),
            ("i", "M", Role::Spatial),
            ("j", "N", Role::Spatial),
            ("k", "K", Role::Reduce),
        ],
        a: vec!["b", "i", "k"],
        b: vec!["k", "j"],
        c: vec!["b", "i", "j"],
    };
    let gemm = nest.gemm().unwrap();
    assert_eq!((gemm.m, gemm.batch.len()), (10, 0));
    assert_eq!((gemm.a.row, gemm.c.row), (11, 7));
}

#[test]
fn what_is_no_product_is_not_taken_for_one() {
    let with = |change: &dyn Fn(&mut KernelDef)| {
        let mut def = dense().def();
        change(&mut def);
        let instance = Instance::of(&def, &[2, 5, 7, 11]).unwrap();
        Gemm::of(&def, &instance)
    };
    assert!(with(&|_| ()).is_some());
    assert!(with(&|def| def.epilogue = Expr::Call(dietcode_syntax::Function::Neg, vec![Expr::Acc])).is_none());
    assert!(with(&|def| def.reduction.as_mut().unwrap().init = Expr::Literal(1.0)).is_none());
    assert!(with(&|def| def.reduction.as_mut().unwrap().op = ReduceOp::Max).is_none());
    assert!(with(&|def| def.reduction.as_mut().unwrap().update = Expr::Literal(1.0)).is_none());
    let accumulated = with(&|def| {
        def.reduction.as_mut().unwrap().init = Expr::Load { param: 2, index: def.output_index.clone() };
    });
    assert_eq!(accumulated.unwrap().beta, Coefficient::One);
}

/// Parameters: alpha, a, b, beta, c.
#[test]
fn the_general_products_are_recognised_with_their_factors_and_as_they_lie() {
    let nests = dietcode_syntax::scan(include_str!("../../../../../src/ops/gemm.rs")).unwrap();
    assert_eq!(nests.len(), 8);
    for nest in nests {
        let def: KernelDef = nest.parse().unwrap();
        let shape: Vec<i64> = def.shape_vars.iter().map(|var| [2, 5, 7, 11]["BMNK".find(&var.name).unwrap()]).collect();
        let gemm = Gemm::of(&def, &Instance::of(&def, &shape).unwrap()).unwrap_or_else(|| panic!("{}", def.name));
        assert_eq!([gemm.alpha, gemm.beta], [Coefficient::Param(0), Coefficient::Param(3)]);
        assert_eq!((gemm.m, gemm.n, gemm.k, gemm.batch[0].extent), (5, 7, 11, 2));
        let interleaved = def.name.ends_with("interleaved");
        let between = if interleaved { 2 } else { 1 };
        let matrix = |transposed: bool, rows: i64, cols: i64| if transposed { (1, rows) } else { (cols, 1) };
        let transposed = def.name.trim_start_matches("gemm_").as_bytes();
        for (found, (row, col)) in [
            (gemm.a, matrix(transposed[0] == b't', 5, 11)),
            (gemm.b, matrix(transposed[1] == b't', 11, 7)),
            (gemm.c, matrix(false, 5, 7)),
        ] {
            assert_eq!((found.row, found.col), (row * between, col * between), "{}", def.name);
        }
        assert_eq!([gemm.blas_can(), gemm.blas_can_on_copies()], [!interleaved, true]);
    }
}

#[test]
fn a_sum_that_is_scaled_or_conditioned_in_another_way_is_no_product_of_blas() {
    let nest = |condition: &str, stored: &str| {
        let text = format!(
            "#[dynamic_kernel] fn f(alpha: f32, a: &[[f32; K]; M], b: &[[f32; N]; K], beta: f32, c: &mut [[f32; N]; M]) {{
                 for i in 0..M {{ for j in 0..N {{
                     let mut acc = 0.0;
                     if {condition} {{ for k in 0..K {{ acc += a[i][k] * b[k][j]; }} }}
                     c[i][j] = {stored};
                 }} }}
             }}"
        );
        let def: KernelDef = crate::testing::kernel(&text);
        Gemm::of(&def, &Instance::of(&def, &[5, 11, 7]).unwrap()).map(|gemm| [gemm.alpha, gemm.beta])
    };
    let [alpha, beta] = [Coefficient::Param(0), Coefficient::Param(3)];
    let sum = "if beta == 0.0 { alpha * acc } else { alpha * acc + c[i][j] * beta }";
    assert_eq!(nest("alpha != 0.0", sum), Some([alpha, beta]));
    assert_eq!(nest("beta != 0.0", sum), None);
    assert_eq!(nest("alpha > 0.0", sum), None);
    for stored in [
        "alpha * acc + beta * c[i][j]",
        "if beta == 0.0 { acc } else { alpha * acc + beta * c[i][j] }",
        "if alpha == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j] }",
        "if beta == 1.0 { alpha * acc } else { alpha * acc + beta * c[i][j] }",
        "if beta == 0.0 { alpha * acc } else { alpha * acc - beta * c[i][j] }",
    ] {
        assert_eq!(nest("alpha != 0.0", stored), None, "{stored}");
    }
}
