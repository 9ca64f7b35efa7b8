//! Calls as the functions of a C library make them, beside the same calls in Rust.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use dietcode_core::Result as Outcome;
use dietcode_core::abi::Status;
use dietcode_core::runtime::Kernel;
use dietcode_core::runtime::TensorMut;
use dietcode_core::runtime::exported::{self, Candidates, Operand};
use dietcode_core::runtime::tunable::{KernelCall, KernelOp};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::allocations;
use crate::fake::{self, call_shapes, expected};

/// A tensor as C hands it over.
pub(crate) fn tensor(data: *const f32, shape: &[i64], strides: &[i64]) -> Operand {
    let strides = if strides.is_empty() { ptr::null() } else { strides.as_ptr() };
    Operand::Tensor { data: data.cast::<c_void>(), shape: shape.as_ptr(), strides }
}

pub(crate) fn said() -> String {
    // SAFETY: it is a text, and this thread makes no call meanwhile.
    unsafe { CStr::from_ptr(exported::error_message()) }.to_str().unwrap().to_owned()
}

fn call(kernel: &Kernel, operands: [Operand; 3], threads: c_int) -> c_int {
    // SAFETY: tests hand over what is there, or what is refused.
    unsafe { exported::call(kernel, operands, threads) }
}

/// Calls with dense tensors of these shapes; what was computed, or what is wrong.
fn call_dense(kernel: &Kernel, shapes: [[i64; 2]; 3]) -> Result<Vec<f32>, String> {
    let data = |[rows, columns]: [i64; 2]| (0..rows * columns).map(|at| (at % 7) as f32 - 2.5).collect::<Vec<f32>>();
    let (x, w, mut y) = (data(shapes[0]), data(shapes[1]), data(shapes[2]));
    let operands = [x.as_ptr(), w.as_ptr(), y.as_mut_ptr().cast_const()];
    let operands = std::array::from_fn(|at| tensor(operands[at], &shapes[at], &[]));
    if call(kernel, operands, 0) == Status::Ok as c_int { Ok(y) } else { Err(said()) }
}

#[test]
fn what_is_computed_and_what_is_refused_is_what_rust_computes_and_refuses() {
    for shapes in [
        [[5, 3], [2, 3], [5, 2]],
        [[1, 1], [1, 1], [1, 1]],
        [[0, 3], [4, 3], [0, 4]],
        [[2, 0], [3, 0], [2, 3]],
        [[5, 768], [4, 700], [5, 4]],
        [[5, 3], [4, 3], [6, 4]],
    ] {
        let [x, w, y] = shapes.map(|shape| shape.map(|extent| usize::try_from(extent).unwrap()));
        for kernel in [&fake::GOOD, &fake::NATIVELESS, &fake::FUTURE, &fake::LOST] {
            let in_rust = call_shapes(kernel, &x, &w, &y).map_err(|error| error.to_string());
            assert_eq!(call_dense(kernel, shapes), in_rust, "{shapes:?}");
        }
    }
    assert_eq!(call_dense(&fake::GOOD, [[37, 11], [13, 11], [37, 13]]).unwrap(), expected(37, 11, 13));
}

#[test]
fn strides_are_counted_in_elements_and_say_nothing_of_one_element() {
    let (x, w, mut y) = ([1.0_f32, 2.0, 9.0, 3.0, 4.0, 9.0], [1.0_f32, 10.0], [-1.0_f32; 5]);
    let place = y.as_mut_ptr().cast_const();
    for (of_x, of_y) in [([3, 1], [3, 1]), ([3, 1], [3, i64::MIN])] {
        y.fill(-1.0);
        let operands =
            [tensor(x.as_ptr(), &[2, 2], &of_x), tensor(w.as_ptr(), &[1, 2], &[-7, 1]), tensor(place, &[2, 1], &of_y)];
        assert_eq!(call(&fake::GOOD, operands, 2), Status::Ok as c_int, "{}", said());
        assert_eq!(y, [21.0, -1.0, -1.0, 43.0, -1.0]);
    }
}

#[test]
fn a_tensor_without_elements_may_be_nowhere() {
    let w = [0.0_f32; 12];
    let operands =
        [tensor(ptr::null(), &[0, 3], &[]), tensor(w.as_ptr(), &[4, 3], &[]), tensor(ptr::null(), &[0, 4], &[-9, 5])];
    assert_eq!(call(&fake::GOOD, operands, 1), Status::Ok as c_int, "{}", said());
}

#[test]
fn what_only_c_gets_wrong_is_told() {
    let data = [0.0_f32; 64];
    let at = |offset: usize| data.as_ptr().wrapping_add(offset);
    let good = || [tensor(at(0), &[2, 3], &[]), tensor(at(8), &[4, 3], &[]), tensor(at(32), &[2, 4], &[])];
    let with_x = |x: Operand| [x, good()[1], good()[2]];
    let shapeless = Operand::Tensor { data: at(0).cast(), shape: ptr::null(), strides: ptr::null() };
    let row_major = "dense: `x`: tensors are row-major, but the array of shape [2, 3] has strides";
    for (operands, threads, status, sentence) in [
        (good(), -1, Status::Input, "cannot use -1 threads, at most 1024"),
        (good(), 1025, Status::Input, "cannot use 1025 threads, at most 1024"),
        (with_x(shapeless), 0, Status::Input, "dense: the shape of `x` is NULL, expected 2 extents"),
        (with_x(tensor(at(0), &[2, -3], &[])), 0, Status::Input, "dense: dimension 1 of `x` is -3, expected 0 or more"),
        (with_x(tensor(ptr::null(), &[2, 3], &[])), 0, Status::Input, "dense: `x` is NULL, expected 6 elements"),
        (with_x(tensor(at(0).wrapping_byte_add(2), &[2, 3], &[])), 0, Status::Input, "expected a multiple of 4"),
        (with_x(tensor(at(0), &[2, 3], &[-3, 1])), 0, Status::Input, row_major),
        (with_x(tensor(at(0), &[2, 3], &[1, 2])), 0, Status::Input, row_major),
        (with_x(tensor(at(0), &[2, 3], &[2, 1])), 0, Status::Input, "rows overlap: the stride of dimension 0 is 2"),
        (with_x(tensor(at(0), &[i64::MAX, 3], &[])), 0, Status::Input, "dense: `x`: a tensor of shape"),
        (with_x(tensor(at(0), &[2, 3], &[i64::MAX - 9, 1])), 0, Status::Input, "spans more memory than there is"),
        (with_x(tensor(at(33), &[2, 3], &[])), 0, Status::Input, "dense: the output `y` (bytes 0x"),
        (
            with_x(Operand::Scalar(1.0)),
            0,
            Status::Input,
            "dense: `x` must be a tensor of 2 dimensions, but is a scalar",
        ),
    ] {
        assert_eq!(call(&fake::GOOD, operands, threads), status as c_int, "{sentence}");
        assert!(said().contains(sentence), "{sentence}: {}", said());
    }
    assert_eq!(call(&fake::NATIVELESS, good(), 0), Status::Unavailable as c_int);
    assert_eq!(call(&fake::LOST, good(), 0), Status::Failed as c_int);
    let panicking = Kernel {
        signature: fake::DENSE,
        table: fake::GOOD.table,
        dispatch: |_| panic!("a test of what panics"),
        cuda: fake::GOOD.cuda,
    };
    assert_eq!(call(&panicking, good(), 0), Status::Internal as c_int);
    assert!(said().starts_with("dense: a defect of dietcode"), "{}", said());
}

/// A nest that fills the output with 9.
fn nines(call: &mut KernelCall<'_>) -> Outcome<()> {
    let [_, _, y] = call.operands()?;
    let mut y = TensorMut::<f32>::try_from(y)?;
    (0..y.shape()[0]).for_each(|i| (0..y.shape()[1]).for_each(|j| y[[i, j]] = 9.0));
    Ok(())
}

#[test]
fn candidates_have_numbers_and_names_and_one_that_is_not_there_is_told() {
    static GOOD: Candidates = Candidates::new(|| KernelOp::new(&fake::GOOD, nines));
    let name = |candidate| {
        let name = exported::candidate_name(&GOOD, candidate);
        // SAFETY: a name is a text that stays.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().unwrap())
    };
    let names = [0, 1, 2, 3, 4].map(|candidate| name(candidate).unwrap());
    assert_eq!(names, ["<dispatcher>", "good", "from_the_future", "greedy", "<nest>"]);
    assert_eq!([-1, 5, c_int::MIN, c_int::MAX].map(name), [None; 4]);
    // More iterations than the nest is tried for where nobody has asked for it.
    let (rows, terms) = (2, 1 << 20);
    let (x, w, mut y) = (vec![1.0_f32; rows * terms], vec![1.0_f32; terms], vec![0.0_f32; rows]);
    let shapes = [[rows, terms], [1, terms], [rows, 1]].map(|shape| shape.map(|extent| extent as i64));
    let mut by = |candidate, rows: i64| {
        y.fill(0.0);
        let shapes = [[rows, shapes[0][1]], shapes[1], [rows, 1]];
        let data = [x.as_ptr(), w.as_ptr(), y.as_mut_ptr().cast_const()];
        let operands: [Operand; 3] = std::array::from_fn(|at| tensor(data[at], &shapes[at], &[]));
        // SAFETY: they are there.
        let status = unsafe { exported::call_candidate(&fake::GOOD, (&GOOD, candidate), operands, 1) };
        (status, y.clone())
    };
    let ok = Status::Ok as c_int;
    for candidate in [0, 1] {
        assert_eq!(by(candidate, 2), (ok, vec![1_048_576.0; 2]));
    }
    assert_eq!(by(4, 2), (ok, vec![9.0; 2]));
    for candidate in 0..5 {
        assert_eq!(by(candidate, 0), (ok, vec![0.0; 2]), "nothing is to be computed");
    }
    for (candidate, status, sentence) in [
        (-1, Status::Input, "dense: found the candidate -1, expected 0 to 4"),
        (5, Status::Input, "dense: found the candidate 5, expected 0 to 4"),
        (2, Status::Unavailable, "compiled for"),
        (3, Status::Unavailable, "scratch memory"),
    ] {
        assert_eq!(by(candidate, 2).0, status as c_int, "{sentence}: {}", said());
        assert!(said().contains(sentence), "{sentence}: {}", said());
    }
    static PANICKING: Candidates = Candidates::new(|| panic!("a test of what panics"));
    assert!(exported::candidate_name(&PANICKING, 0).is_null());
    let operands: [Operand; 3] = std::array::from_fn(|_| tensor(ptr::null(), &[0, 0], &[]));
    // SAFETY: there is nothing to be there.
    let status = unsafe { exported::call_candidate(&fake::GOOD, (&PANICKING, 0), operands, 1) };
    assert_eq!(status, Status::Internal as c_int);
}

/// The kernel has no code, so nothing is read wherever a tensor is said to be.
#[test]
fn no_numbers_make_a_call_panic() {
    const ODD: [i64; 12] = [0, 0, 1, 1, 2, 3, 5, -1, i64::MIN, i64::MAX, 1 << 62, 0x5555_5555_5555_5555];
    let mut random = StdRng::seed_from_u64(1);
    let mut seen = [0; 5];
    for _ in 0..50_000 {
        let mut draw = || [0; 2].map(|_| ODD[random.random_range(0..ODD.len())]);
        let numbers: [[[i64; 2]; 2]; 3] = [(); 3].map(|()| [draw(), draw()]);
        let places = [64, 1 << 20, usize::MAX - 3].map(ptr::without_provenance::<f32>);
        let operands = std::array::from_fn(|at| tensor(places[at], &numbers[at][0], &numbers[at][1]));
        let status = call(&fake::NATIVELESS, operands, 1);
        assert_ne!(status, Status::Internal as c_int, "{numbers:?}: {}", said());
        seen[usize::try_from(status).unwrap()] += 1;
    }
    assert!(seen[Status::Ok as usize] > 0 && seen[Status::Input as usize] > 0, "{seen:?}");
}

#[test]
fn each_thread_has_its_own_message() {
    std::thread::scope(|scope| {
        for wrong in 100..108 {
            scope.spawn(move || {
                for _ in 0..50 {
                    assert!(
                        call_dense(&fake::GOOD, [[5, wrong], [4, 700], [5, 4]])
                            .unwrap_err()
                            .contains(&format!("K = {wrong}"))
                    );
                    assert_eq!(call_dense(&fake::GOOD, [[37, 11], [13, 11], [37, 13]]).unwrap(), expected(37, 11, 13));
                }
            });
        }
    });
}

#[test]
fn a_call_of_one_thread_allocates_nothing() {
    let (x, mut y) = ([1.0_f32], [0.0_f32]);
    let (shape, place) = ([1_i64, 1], y.as_mut_ptr().cast_const());
    let calls = |count: usize| {
        let operands =
            || [tensor(x.as_ptr(), &shape, &[]), tensor(x.as_ptr(), &shape, &shape), tensor(place, &shape, &[])];
        (0..count).for_each(|_| assert_eq!(call(&fake::GOOD, operands(), 1), Status::Ok as c_int));
    };
    // The first one finds out what the CPU can do.
    calls(1);
    assert_eq!(allocations::during(|| calls(100)), 0);
}
