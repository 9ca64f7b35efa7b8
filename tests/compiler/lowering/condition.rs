//! Sums that are taken under a condition, and outputs that are read, as in BLAS.

use dietcode_core::frontend;
use dietcode_core::ir::{Expr, ForKind, Stmt};
use dietcode_core::lower::lower;
use dietcode_core::schedule::{Schedule, Staging, Tail};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::KernelDef;

use super::kernel;
use crate::common::avx512::target;
use crate::common::units;

fn gemm() -> KernelDef {
    kernel(
        "#[dynamic_kernel] fn gemm(alpha: f32, a: &[[f32; K]; M], b: &[[f32; K]; N], beta: f32, c: &mut [[f32; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 if alpha != 0.0 { for k in 0..K { acc += a[i][k] * b[j][k]; } }
                 c[i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j] };
             } }
         }",
    )
}

/// The condition is the number of terms, computed once; the reduction's loops know nothing of it.
#[test]
fn a_condition_on_a_sum_is_the_extent_of_its_loop() {
    let program = frontend::program(&gemm());
    let print = program.to_string();
    assert!(print.contains("let k_taken = if alpha != 0.0 { K } else { 0 }\n"), "{print}");
    assert!(print.contains("for k in 0..k_taken\n"), "{print}");
    let unit = units::tiled(&gemm(), &Tiled::default_for(&frontend::program(&gemm()), &target()), &target()).unwrap();
    let derived = "const dietcode_int k_taken = alpha != 0.0f ? K : 0;";
    assert_eq!(unit.source.matches(derived).count(), 1, "{}", unit.source);
}

/// Where the condition fails, no element of a window is copied either, though it has more of them than the sum has terms: as in BLAS,
/// the operands need not be there.
#[test]
fn nothing_is_copied_of_a_window_whose_sum_is_not_taken() {
    let def = kernel(
        "#[dynamic_kernel] fn f(x: &[f32; J + 2*K - 1], w: &[f32; K], alpha: f32, y: &mut [f32; J]) {
             for j in 0..J {
                 let mut acc = 0.0;
                 if alpha != 0.0 { for k in 0..K { acc += x[j + 2*k + 1] * w[k]; } }
                 y[j] = acc;
             }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("j", 8, Tail::Pad, ["j_0", "j_1"]).unwrap();
    schedule.split("k", 4, Tail::Clip, ["k_0", "k_1"]).unwrap();
    schedule.reorder(&["j_0", "k_0", "k_1", "j_1"]).unwrap();
    schedule.cache_write().unwrap();
    schedule.cache_read("x", Staging::Edge).unwrap();
    schedule.compute_at("x_view", Some("k_0")).unwrap();
    schedule.decompose_reduction().unwrap();
    let body = lower(&schedule).unwrap().body;
    let (mut copies, mut taken) = (0, 0);
    body.visit(&mut |stmt| match stmt {
        Stmt::Store { value: Expr::Load(from, _), .. } if &*from.name == "x" => copies += 1,
        Stmt::IfThenElse { condition, then, .. } if condition.to_string() == "0 < k_taken" => {
            then.visit(&mut |stmt| taken += usize::from(matches!(stmt, Stmt::Store { value: Expr::Load(..), .. })));
        }
        _ => {}
    });
    assert!(copies > 0 && copies == taken, "{body}");
}

/// Sums wait in a panel, since the output must still hold what the epilogue reads; and whether it reads it is decided around
/// the loops, whose stores are vectors on both sides.
#[test]
fn an_output_that_is_read_is_read_once_and_by_vectors() {
    let tiled = Tiled::default_for(&frontend::program(&gemm()), &target());
    let nest = lower(&tiled.schedule(&frontend::program(&gemm()), &target()).unwrap()).unwrap();
    assert!(nest.panels.iter().any(|(panel, _)| &*panel.name == "c_sums"), "{}", nest.body);
    let (mut reading, mut writing, mut ahead, mut behind) = (0, 0, 0, 0);
    nest.body.visit(&mut |stmt| {
        if let Stmt::For { kind: ForKind::Vectorized, body, .. } = stmt
            && let Stmt::Store { buffer, value, .. } = stored(body)
        {
            let of_scalars = |e: &Expr| matches!(e, Expr::Load(buffer, _) if buffer.is_scalar());
            let is_choice =
                |e: &Expr| matches!(e, Expr::Select(condition, ..) if condition.any(&mut |e| of_scalars(e)));
            assert!(!value.any(&mut |e| is_choice(e)), "a choice in {stmt}");
            let reads = value.any(&mut |e| matches!(e, Expr::Load(from, _) if *from == nest.output));
            match (*buffer == nest.output, reads) {
                (true, true) => reading += 1,
                (true, false) if matches!(value, Expr::Load(..)) => {
                    behind += 1;
                    assert!(behind <= ahead, "an edge is written before it is read:\n{}", nest.body);
                }
                (true, false) => writing += 1,
                (false, true) => ahead += 1,
                (false, false) => {}
            }
        }
    });
    // By the first block of the reduction, where it is the last, and by the last; each inside of the output, and at an edge in
    // rows whose columns all exist, and in vectors of which some do; and that of tiles of 8, 4, 2 and 1 rows by 3, 2 and 1 vectors.
    // What the edge reads it has read before it writes.
    assert_eq!([reading, writing, ahead, behind], [24, 72, 48, 48], "{}", nest.body);
}

/// The store in the body of a loop over lanes, all or some.
fn stored(body: &Stmt) -> &Stmt {
    match body {
        Stmt::IfThenElse { then, otherwise: None, .. } => then,
        store => store,
    }
}
