//! The arguments for cuBLAS, carried out by a loop that reads matrices by columns as cuBLAS does.

use dietcode_syntax::KernelDef;

use super::*;
use crate::measure::Instance;

/// A product whose factors are transposed or not, of one or of a batch.
fn nest(transposed: [bool; 2], batched: bool) -> KernelDef {
    let matrix = |transposed: bool, rows: &str, cols: &str| {
        let [outer, inner] = if transposed { [cols, rows] } else { [rows, cols] };
        let one = format!("[[f32; {inner}]; {outer}]");
        if batched { format!("[{one}; B]") } else { one }
    };
    let at = |name: &str, transposed: bool, row: &str, col: &str| {
        let [outer, inner] = if transposed { [col, row] } else { [row, col] };
        let batch = if batched { "[b]" } else { "" };
        format!("{name}{batch}[{outer}][{inner}]")
    };
    let [ta, tb] = transposed;
    let (open, close) = if batched { ("for b in 0..B {", "}") } else { ("", "") };
    let text = format!(
        "#[dynamic_kernel] pub fn product(x: &{}, w: &{}, y: &mut {}) {{
            {open} for i in 0..M {{ for j in 0..N {{
                let mut acc = 0.0;
                for k in 0..K {{ acc += {} * {}; }}
                {} = acc;
            }} }} {close}
        }}",
        matrix(ta, "M", "K"),
        matrix(tb, "K", "N"),
        matrix(false, "M", "N"),
        at("x", ta, "i", "k"),
        at("w", tb, "k", "j"),
        at("y", false, "i", "j"),
    );
    crate::testing::kernel(&text)
}

/// What cuBLAS computes of these arguments.
fn carry_out(product: &Product, tensors: &mut [Vec<f64>]) {
    let [a, b, c] = product.operands;
    let element = |operand: Operand, entry: i32, row: i32, col: i32, transposed: bool| {
        let (row, col) = if transposed { (col, row) } else { (row, col) };
        assert!(row < operand.leading, "a column is no longer than the distance to the next");
        (operand.offset + i64::from(entry) * operand.stride + i64::from(col * operand.leading + row)) as usize
    };
    for entry in 0..product.batch {
        for row in 0..product.m {
            for col in 0..product.n {
                let sum: f64 = (0..product.k)
                    .map(|k| {
                        let left = tensors[a.param][element(a, entry, row, k, product.transposed[0])];
                        left * tensors[b.param][element(b, entry, k, col, product.transposed[1])]
                    })
                    .sum();
                let place = element(c, entry, row, col, false);
                let before = if product.beta == Coefficient::One { tensors[c.param][place] } else { 0.0 };
                tensors[c.param][place] = before + sum;
            }
        }
    }
}

#[test]
fn every_transposition_batched_or_not_is_the_product_of_the_nest() {
    for ta in [false, true] {
        for tb in [false, true] {
            for batch in [None, Some(2)] {
                for [m, n, k] in [[3, 4, 5], [1, 4, 5], [3, 1, 5], [3, 4, 1], [1, 1, 1]] {
                    check([ta, tb], batch, [m, n, k]);
                }
            }
        }
    }
}

fn check(transposed: [bool; 2], batch: Option<i64>, [m, n, k]: [i64; 3]) {
    let def = nest(transposed, batch.is_some());
    let value = |name: &str| match name {
        "M" => m,
        "N" => n,
        "K" => k,
        _ => batch.unwrap_or(1),
    };
    let shape: Vec<i64> = def.shape_vars.iter().map(|var| value(&var.name)).collect();
    let instance = Instance::of(&def, &shape).unwrap();
    let gemm = Gemm::of(&def, &instance).expect("it is a product");
    let product = Product::of(&gemm, DType::F32, false).expect("cuBLAS takes it");
    let fresh = |param: usize| (0..instance.elements(param)).map(|at| ((at * 7 + param) as f64).sin()).collect();
    let mut tensors: Vec<Vec<f64>> = (0..3).map(fresh).collect();
    carry_out(&product, &mut tensors);
    let at = |param: usize, entry: i64, row: i64, col: i64, transposed: bool| {
        let [rows, cols] = [instance.dims[param].iter().rev().nth(1).unwrap(), instance.dims[param].last().unwrap()];
        let (row, col) = if transposed { (col, row) } else { (row, col) };
        tensors[param][((entry * rows + row) * cols + col) as usize]
    };
    for entry in 0..batch.unwrap_or(1) {
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let sum = |k| at(0, entry, i, k, transposed[0]) * at(1, entry, k, j, transposed[1]);
            let expected: f64 = (0..k).map(sum).sum();
            assert!((at(2, entry, i, j, false) - expected).abs() < 1e-12, "{transposed:?} {batch:?} {m} {n} {k}");
        }
    }
}
