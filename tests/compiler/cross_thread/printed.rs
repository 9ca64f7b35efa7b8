//! What lowering makes of a shared sum, as text.

use dietcode_core::lower::lower;

use super::schedules::{Parameters, shared, sizes};
use super::{ADDED, ROW_SUMS, kernel};

fn lowered(source: &str, parameters: &Parameters) -> String {
    let schedule = parameters.schedule(&kernel(source)).unwrap_or_else(|e| panic!("{e}"));
    lower(&schedule).unwrap_or_else(|e| panic!("{e}")).body.to_string()
}

/// Five parts: the fifth waits for the second step, in which it is the third of three.
#[test]
fn parts_meet_by_halving_in_one_order() {
    let body = lowered(ROW_SUMS, &Parameters { thread: sizes("i 4"), cross: sizes("k 5"), ..Parameters::default() });
    let expected = "\
blockIdx.x i_b in 0..(M + 3) / 4
  threadIdx.x i_t in 0..4
    threadIdx.x k_c in 0..5
      allocate register y_tile
      y_tile = 0.0
      for k_0 in 0..(K + 4) / 5
        if i_b * 4 + i_t < M && k_0 * 5 + k_c < K
          y_tile = y_tile + x[i_b * 4 + i_t][k_0 * 5 + k_c]
      allocate shared y_cross[4][5]
      if k_c >= 3
        y_cross[i_t][k_c] = y_tile
      sync
      if k_c < 2
        y_tile = y_tile + y_cross[i_t][k_c + 3]
      if k_c >= 2 && k_c < 3
        y_cross[i_t][k_c] = y_tile
      sync
      if k_c < 1
        y_tile = y_tile + y_cross[i_t][k_c + 2]
      if k_c >= 1 && k_c < 2
        y_cross[i_t][k_c] = y_tile
      sync
      if k_c < 1
        y_tile = y_tile + y_cross[i_t][k_c + 1]
      sync
      if k_c == 0
        if i_b * 4 + i_t < M
          y[i_b * 4 + i_t] = y_tile
";
    assert_eq!(body, expected, "{body}");
}

/// The output is read once, by the thread that stores it, however many add to it.
#[test]
fn what_a_sum_starts_with_is_added_once() {
    let parameters = Parameters {
        thread: sizes("j 8"),
        inner: sizes("i 2"),
        cross: sizes("k 4"),
        steps: sizes("k 2"),
        stage: vec![("x".into(), shared(1)), ("w".into(), shared(1))],
        ..Parameters::default()
    };
    let body = lowered(ADDED, &parameters);
    let (sum, end) = body.split_once("if k_c == 0\n").expect(&body);
    assert!(!sum.contains("y[") && end.matches("y[").count() == 2, "{body}");
    // All 32 threads fill the tiles together.
    assert!(body.contains("let x_shared_e = (i_t * 8 + j_t) * 4 + k_c"), "{body}");
}
