//! Every kernel that the crate ships, as a program calls it, against the nest it was made from.
mod check;
mod devices;
mod double;
mod gemm;
mod ops;
mod products;
#[path = "../compiler/common/settings.rs"]
#[allow(dead_code, reason = "other programs read the rest of them")]
mod settings;
mod shapes;

use std::time::Duration;

use dietcode::ErrorKind;
use dietcode::ops::{dense, outer};
use dietcode::runtime::tunable::tuning;
use dietcode::runtime::{Tensor, TensorMut, TensorRef, with_threads};

use check::{agree, agree_exactly, agree_tuned, noise, outcome, outcome_on};
use gemm::GEMMS;
use ops::OPS;
use products::{CONVOLUTIONS, PRODUCTS};

#[test]
fn ragged_shapes() {
    for op in OPS {
        for dims in shapes::ragged(op.vars) {
            agree(op, &dims);
        }
    }
}

#[test]
fn shapes_far_from_any_that_was_tuned() {
    for op in OPS {
        for dims in shapes::far(op.vars) {
            agree(op, &dims);
        }
    }
}

/// Each product at a third of the ragged shapes: three neighbours in the table together see all of them.
#[test]
fn products_in_every_form_and_element_type() {
    for (number, op) in PRODUCTS.iter().flatten().chain(GEMMS).chain(&CONVOLUTIONS).enumerate() {
        for dims in shapes::ragged(op.vars).iter().skip(number % 3).step_by(3).chain(&shapes::far(op.vars)) {
            agree(op, dims);
        }
    }
}

/// As operations that are tuned at run time: at each far shape, at a third of the ragged ones and of each product at a twelfth, other ones each
/// day, or all with `DIETCODE_ALL=1`.
#[test]
fn tuned_at_run_time_or_not_kernels_compute_what_their_nests_say() {
    tuning::Settings::new().limit(Duration::from_millis(1)).apply().unwrap();
    let day = settings::seed_of_the_day() as usize;
    let agree_at_a_share = |number: usize, op: &ops::Op, of: usize| {
        let step = settings::count(of, 1);
        let ragged = shapes::ragged(op.vars);
        ragged.iter().skip((number + day) % step).step_by(step).for_each(|dims| agree_tuned(op, dims));
    };
    for (number, op) in OPS.iter().enumerate() {
        agree_at_a_share(number, op, 3);
        shapes::far(op.vars).iter().for_each(|dims| agree_tuned(op, dims));
    }
    for (number, op) in PRODUCTS.iter().flatten().chain(GEMMS).chain(&CONVOLUTIONS).enumerate() {
        agree_at_a_share(number, op, 12);
    }
}

#[test]
fn sums_over_many_blocks_are_rounded_once() {
    for op in PRODUCTS.iter().flatten() {
        let dims = [9, 17, 1201, 2];
        agree_exactly(op, &dims[..op.vars]);
    }
}

#[test]
fn zero_extents() {
    for op in OPS.iter().chain(PRODUCTS.iter().flatten()).chain(GEMMS).chain(&CONVOLUTIONS) {
        for at in 0..op.vars {
            let mut dims = vec![5; op.vars];
            dims[at] = 0;
            agree(op, &dims);
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for op in OPS.iter().chain(PRODUCTS.iter().flatten()).chain(GEMMS).chain(&CONVOLUTIONS) {
        for dims in [shapes::all(op.vars, 37), shapes::all(op.vars, 8), shapes::long(op.vars)] {
            let alone = outcome_on(1, op, &dims);
            for threads in 2..=4 {
                assert_eq!(outcome_on(threads, op, &dims), alone, "{} at {dims:?} on {threads} threads", op.name);
            }
        }
    }
}

#[test]
fn many_threads_call_at_once() {
    let dims = |op: &ops::Op, caller: usize| shapes::all(op.vars, 11 + caller);
    let alone = |caller: usize| OPS.iter().map(|op| outcome_on(1, op, &dims(op, caller))).collect::<Vec<_>>();
    let expected: Vec<_> = (0..8).map(alone).collect();
    std::thread::scope(|scope| {
        for (caller, expected) in expected.iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..10 {
                    for (op, expected) in OPS.iter().zip(expected) {
                        assert_eq!(&outcome(op, &dims(op, caller)), expected, "{} of caller {caller}", op.name);
                    }
                }
            });
        }
    });
}

#[test]
fn rows_that_lie_apart_are_read_and_written_and_nothing_between_them() {
    let (m, n, k, gap) = (19, 23, 29, 5);
    let wide = |rows: usize, columns: usize, seed: usize| -> Vec<f32> {
        (0..rows * (columns + gap)).map(|at| noise(seed + at)).collect()
    };
    let (x, w) = (wide(m, k, 1), wide(n, k, 2));
    let mut y = wide(m, n, 3);
    let before = y.clone();
    let view = |data, rows, columns| TensorRef::with_strides(data, &[rows, columns], &[columns + gap, 1]).unwrap();
    let (x, w) = (view(&x, m, k), view(&w, n, k));
    dense(x, w, TensorMut::with_strides(&mut y, &[m, n], &[n + gap, 1]).unwrap()).unwrap();

    let pack = |view: TensorRef<f32>, rows: usize, columns: usize| {
        Tensor::from_fn(&[rows, columns], |at| view[[at / columns, at % columns]]).unwrap()
    };
    let mut packed = Tensor::full(&[m, n], f32::NAN).unwrap();
    dense(&pack(x, m, k), &pack(w, n, k), &mut packed).unwrap();
    for (row, (y, before)) in y.chunks(n + gap).zip(before.chunks(n + gap)).enumerate() {
        assert_eq!(y[..n], packed.as_slice()[row * n..(row + 1) * n], "row {row}");
        assert_eq!(y[n..], before[n..], "what lies behind row {row}");
    }
}

#[test]
fn a_shape_that_does_not_fit_is_told_with_the_parameter_and_both_numbers() {
    let tensor = |shape: &[usize]| Tensor::zeros(shape).unwrap();
    for (x, w, y, words) in [
        (vec![5, 7], vec![3, 8], vec![5, 3], ["w", "8", "7"]),
        (vec![5, 7], vec![3, 7], vec![6, 3], ["y", "6", "5"]),
        (vec![5, 7], vec![3, 7], vec![5, 4], ["y", "4", "3"]),
        (vec![5, 7, 1], vec![3, 7], vec![5, 3], ["x", "3", "2"]),
        (vec![5], vec![3, 7], vec![5, 3], ["x", "1", "2"]),
    ] {
        let error = dense(&tensor(&x), &tensor(&w), &mut tensor(&y)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        let text = error.to_string();
        for word in words {
            assert!(text.split(|c: char| !c.is_alphanumeric()).any(|found| found == word), "`{word}` in: {text}");
        }
    }
}

#[test]
fn a_call_that_is_refused_writes_nothing() {
    let mut y = Tensor::full(&[4, 4], 7.0).unwrap();
    let (a, b) = (Tensor::zeros(&[4]).unwrap(), Tensor::zeros(&[5]).unwrap());
    with_threads(2, || outer(&a, &b, &mut y)).unwrap_err();
    assert!(y.as_slice().iter().all(|&v| v == 7.0));
}
