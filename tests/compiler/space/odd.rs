//! Nests at the edges of what a kernel may be, on every target: every sketch lowers with the least of everything, and draws
//! equal the reference.

use dietcode_core::schedule::Trace;
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::cases::{self, TARGETS};
use super::compiled::{Draw, carry_out};
use crate::common::instance::Instance;

/// Other operators than sums, in the forms that a nest may have them; sums over everything, of one element and of none; nests without loops, with loops of one iteration, with constant extents only;
/// windows, mirrored reads, sums that start with something, conditions, half types, a tensor that is both factors, names that rules
/// give themselves; and a product over eight spatial axes.
const SOURCE: &str = r"
#[dynamic_kernel] fn total(x: &[f32; N], y: &mut [f32; 1]) {
    let mut acc = 0.0; for k in 0..N { acc += x[k]; } y[0] = acc; }
#[dynamic_kernel] fn total_of_rows(x: &[[f16; N]; M], w: &[[f32; N]; M], y: &mut [[f16; 1]; 1]) {
    let mut acc = 1.5; for k in 0..M { for l in 0..N { acc += f32::from(x[k][l]) * w[k][l]; } } y[0][0] = f16::from_f32(acc.max(0.0)); }
#[dynamic_kernel] fn added(x: &[f32; N], y: &mut [f32; 1]) { for k in 0..N { y[0] += x[k] * x[k]; } }
#[dynamic_kernel] fn row_max(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M { let mut acc = f32::NEG_INFINITY; for k in 0..N { acc = acc.max(x[i][k]); } y[i] = acc; } }
#[dynamic_kernel] fn least_of_both(x: &[[[f32; M]; N]; C], y: &mut [f32; M]) {
    for i in 0..M { for k in 0..C { for l in 0..N { y[i] = if x[k][l][i] > y[i] { y[i] } else { x[k][l][i] }; } } } }
#[dynamic_kernel] fn product_of_column(x: &[[f16; N]; M], b: &[f32; N], y: &mut [bf16; N]) {
    for j in 0..N { let mut acc = b[j]; for k in 0..M { acc *= f32::from(x[k][j]); } y[j] = bf16::from_f32(acc); } }
#[dynamic_kernel] fn pooled(x: &[[[f16; 2 * N + 1]; 2 * M + 1]; C], y: &mut [[[f16; N]; M]; C]) {
    for c in 0..C { for i in 0..M { for j in 0..N { let mut acc = f32::MIN;
        for r in 0..3 { for s in 0..3 { acc = f32::max(f32::from(x[c][2 * i + r][2 * j + s]), acc); } }
        y[c][i][j] = f16::from_f32(acc); } } } }
#[dynamic_kernel] fn furthest(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0;
        for k in 0..K { let v = x[i][k] * w[j][k]; acc = if v > acc { v } else { acc }; } y[i][j] = acc; } } }
#[dynamic_kernel] fn least_difference(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; M], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = b[i];
        for k in 0..K { acc = (x[i][k] - w[j][k]).min(acc); } y[i][j] = acc.max(y[i][j]); } } }
#[dynamic_kernel] fn largest_negative(x: &[f32; N], y: &mut [f32; 1]) {
    let mut acc = f32::NEG_INFINITY; for k in 0..N { acc = acc.max(-x[k]); } y[0] = acc; }
#[dynamic_kernel] fn one(x: &[f32; 1], y: &mut [f32; 1]) { y[0] = x[0] + 1.0; }
#[dynamic_kernel] fn one_iteration(x: &[f32; 1], y: &mut [f32; 1]) { for i in 0..1 { y[i] = x[i] + 1.0; } }
#[dynamic_kernel] fn one_term(x: &[[f32; 1]; M], w: &[[f32; 1]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..1 { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } } }
#[dynamic_kernel] fn constant(x: &[[f32; 3]; 7], w: &[[f32; 3]; 5], y: &mut [[f32; 7]; 5]) {
    for i in 0..7 { for j in 0..5 { let mut acc = 0.0; for k in 0..3 { acc += x[i][k] * w[j][k]; } y[j][i] = acc; } } }
#[dynamic_kernel] fn column(x: &[[f32; N]; M], y: &mut [[f32; 1]; M]) {
    for i in 0..M { let mut acc = 0.0; for k in 0..N { acc += x[i][k]; } y[i][0] = acc; } }
#[dynamic_kernel] fn window(x: &[bf16; 2 * N + 3], w: &[f32; 3], y: &mut [f32; N]) {
    for i in 0..N { let mut acc = 0.0; for k in 0..3 { acc += f32::from(x[2 * i + k]) * w[2 - k]; } y[i] = acc; } }
#[dynamic_kernel] fn if_alpha(alpha: f32, beta: f32, x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0;
        if alpha != 0.0 { for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); } }
        y[i][j] = alpha * acc + beta * y[i][j]; } } }
#[dynamic_kernel] fn distances(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[bf16; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = b[j];
        for k in 0..K { acc += (x[i][k] - w[j][k]).abs(); } y[i][j] = bf16::from_f32(acc); } } }
#[dynamic_kernel] fn channels_first(x: &[[f16; N + 2]; C], w: &[[[f16; 3]; C]; F], y: &mut [[f32; N]; F]) {
    for i in 0..F { for j in 0..N { let mut acc = 0.0; for c in 0..C { for r in 0..3 {
        acc += f32::from(x[c][j + r]) * f32::from(w[i][c][r]); } } y[i][j] = acc; } } }
#[dynamic_kernel] fn channels_last(x: &[[f16; C]; N + 2], w: &[[[f16; F]; C]; 3], y: &mut [[f32; F]; N]) {
    for i in 0..N { for j in 0..F { let mut acc = 0.0; for r in 0..3 { for c in 0..C {
        acc += f32::from(x[i + r][c]) * f32::from(w[r][c][j]); } } y[i][j] = acc; } } }
#[dynamic_kernel] fn named(x_panel: &[[f32; K]; M], x: &[[f32; K]; N], y_tile: &mut [[f32; N]; M]) {
    for block in 0..M { for thread in 0..N { let mut acc = 0.0;
        for block_0 in 0..K { acc += x_panel[block][block_0] * x[thread][block_0]; } y_tile[block][thread] = acc; } } }
#[dynamic_kernel] fn mirrored(x: &[[f32; N]; M], y: &mut [[[f32; M]; 1]; N]) {
    for i in 0..M { for j in 0..N { y[j][0][i] = x[i][N - 1 - j]; } } }
#[dynamic_kernel] fn filled(alpha: f32, y: &mut [f32; N]) { for i in 0..N { y[i] = alpha; } }
#[dynamic_kernel] fn nothing_shared(x: &[[[bf16; K]; N]; M], w: &[[[bf16; K]; N]; M], y: &mut [[f16; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0;
        for k in 0..K { acc += f32::from(x[i][j][k]) * f32::from(w[i][j][k]); } y[i][j] = f16::from_f32(acc); } } }
#[dynamic_kernel] fn same_twice(x: &[[f16; K]; M], y: &mut [[f32; M]; M]) {
    for i in 0..M { for j in 0..M { let mut acc = 0.0;
        for k in 0..K { acc += f32::from(x[i][k]) * f32::from(x[j][k]); } y[i][j] = acc; } } }
#[dynamic_kernel] fn eight(x: &[[[[[f32; K]; D]; C]; B]; A], w: &[[[[[f32; K]; H]; G]; F]; E], y: &mut [[[[[[[[f32; H]; G]; F]; E]; D]; C]; B]; A]) {
    for a in 0..A { for b in 0..B { for c in 0..C { for d in 0..D { for e in 0..E { for f in 0..F { for g in 0..G { for h in 0..H {
        let mut acc = 0.0; for k in 0..K { acc += x[a][b][c][d][k] * w[e][f][g][h][k]; } y[a][b][c][d][e][f][g][h] = acc;
    } } } } } } } } }
";

/// Whether the product of the extents is large, so that each must be short: grids have an end, and a reference takes its time.
fn is_deep(def: &KernelDef) -> bool {
    def.shape_vars.len() > 3
}

fn nests() -> Vec<KernelDef> {
    let functions = dietcode_syntax::scan(SOURCE).expect("the source parses");
    functions.iter().map(|function| function.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}

fn space(def: &KernelDef, target: &str) -> Space {
    let most = if is_deep(def) { 6 } else { 100 };
    let instances = [1, most].map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, cases::target(target), &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{} on {target}: {e}", def.name))
}

#[test]
fn every_sketch_of_odd_nests_has_draws_on_every_target() {
    let mut rng = StdRng::seed_from_u64(11);
    for (def, target) in nests().iter().flat_map(|def| TARGETS.map(|target| (def, target))) {
        let space = space(def, target);
        for sketch in &space.sketches {
            for trace in [sketch.least(), space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}"))] {
                let kernels = space.apply(&trace).unwrap_or_else(|e| panic!("{} on {target}: {e}\n{trace}", def.name));
                assert!(!kernels.nests.is_empty());
            }
        }
    }
}

/// Blocks of the grid would need an output for each.
#[test]
fn a_sum_over_everything_is_shared_by_the_threads_of_one_block() {
    for def in nests().iter().filter(|def| ["total", "total_of_rows", "added"].contains(&&*def.name)) {
        let space = space(def, "sm_80");
        let text: Vec<String> = space.sketches.iter().map(ToString::to_string).collect();
        assert!(text.len() == 1 && text[0].contains("_cross") && !text[0].contains("blockIdx"), "{text:?}");
    }
}

/// A draw of a nest, to be run at a shape.
fn draw(number: usize, extent: i64, def: &KernelDef, target: &str, rng: &mut StdRng) -> Draw {
    let trace: Trace = space(def, target).sample(rng).expect("a sketch has a draw");
    let def = KernelDef { name: format!("{}{number}", def.name), ..def.clone() };
    let shape = vec![if is_deep(&def) { extent.min(2) } else { extent }; def.shape_vars.len()];
    Draw::new(Instance { seed: number as u64, def, shape, gap: number % 2, coarse: true }, trace)
}

fn check(target: &str) {
    let mut rng = StdRng::seed_from_u64(12);
    let shapes = [1, 4, 67].into_iter().enumerate();
    let draws = nests().into_iter().flat_map(|def| shapes.clone().map(move |(n, extent)| (n, extent, def.clone())));
    let draws = draws.map(|(n, extent, def)| draw(n, extent, &def, target, &mut rng)).collect();
    carry_out(&cases::target(target), draws);
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_this_cpu() {
    check("cpu");
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_sm_75() {
    check("sm_75");
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_sm_80() {
    check("sm_80");
}
