//! That inlining gives back the one block, which these tests make directly.

use super::*;

/// The one block of a nest, without the way over several.
fn one_block(def: &KernelDef) -> Program {
    let mut program = blocks(def);
    let params = program.params.clone();
    let iters = program.blocks[program.blocks.len() / 2].iters.clone();
    program.blocks = vec![Block {
        name: def.name.as_str().into(),
        iters,
        output: params[def.output].clone(),
        output_index: def.output_index.iter().map(Expr::from).collect(),
        reduction: def.reduction.as_ref().map(|reduction| Reduction {
            op: reduction.op,
            dtype: reduction.dtype,
            init: element(&reduction.init, reduction.dtype, &params),
            update: element(&reduction.update, reduction.dtype, &params),
        }),
        epilogue: element(&def.epilogue, def.computes_in(), &params),
    }];
    program
}

fn kernels(source: &str) -> Vec<KernelDef> {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found.iter().map(|kernel| kernel.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}

/// Everything that the project ships, and the nests that a user may write around a sum.
fn all() -> Vec<KernelDef> {
    let shipped = [
        include_str!("../../../src/ops.rs"),
        include_str!("../../../src/ops/batched.rs"),
        include_str!("../../../src/ops/convolution.rs"),
        include_str!("../../../src/ops/gemm.rs"),
        include_str!("../../../src/ops/matmul.rs"),
    ];
    let around = "#[dynamic_kernel] fn starts(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 2.0 * b[i]; for k in 0..K { acc += x[i][k]; } y[i] = acc * acc + b[i] + y[i]; } }
        #[dynamic_kernel] fn scaled(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = alpha; for k in 0..K { acc += x[i][k]; } y[i] = acc * alpha; } }
        #[dynamic_kernel] fn turned(x: &[[[f32; K]; M]; N], y: &mut [[f32; M]; N]) {
            for i in 0..M { for j in 0..N { let mut acc = y[j][i];
                for k in 0..K { acc += x[j][i][k]; } y[j][i] = acc.max(0.0); } } }
        #[dynamic_kernel] fn one(x: &[f32; K], y: &mut [f32; 1]) {
            let mut acc = 0.0; for k in 0..K { acc += x[k]; } y[0] = acc; }";
    shipped.iter().chain(&[around]).flat_map(|source| kernels(source)).collect()
}

#[test]
fn all_that_is_elementwise_is_inlined_into_the_one_block() {
    for def in all() {
        assert_eq!(program(&def), one_block(&def), "{}", def.name);
    }
}

#[test]
fn a_sum_is_three_blocks_before() {
    let def = &kernels(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
        for i in 0..M { let mut acc = b[i]; for k in 0..K { acc += x[i][k]; } y[i] = acc.max(0.0); } }",
    )[0];
    let program = blocks(def);
    let names: Vec<&str> = program.blocks.iter().map(|block| &*block.name).collect();
    assert_eq!(names, ["f_start", "f", "f_store"]);
    let values: Vec<String> = program.blocks.iter().map(|block| block.epilogue.to_string()).collect();
    assert_eq!(values, ["b[i]", "acc", "max(dietcode_sum[i], 0.0)"]);
    assert!(program.blocks[1].reduction.as_ref().is_some_and(|sum| sum.init.to_string() == "dietcode_start[i]"));
}

#[test]
fn a_block_that_cannot_be_inlined_stays() {
    let def = &kernels("#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }")[0];
    let mut program = blocks(def);
    let error = program.compute_inline(0).expect_err("its output is stored").to_string();
    assert!(error.contains("block `f`") && error.contains("parameter of the kernel"), "{error}");
    let error = program.reverse_compute_inline(0).expect_err("it reads no intermediate").to_string();
    assert!(error.contains("alone reads one intermediate"), "{error}");
    assert_eq!(program, blocks(def));
}
