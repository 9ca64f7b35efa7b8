//! What a call accepts, and what it says about the rest.

use dietcode_core::runtime::{Affine, Kernel, Signature, SignatureLoop, Tensor, TensorMut, TensorRef, with_threads};
use dietcode_core::{ErrorKind, f16};

use crate::allocations;
use crate::fake::{self, call, call_shapes, expected};

fn error(kernel: &Kernel, x: &[usize], w: &[usize], y: &[usize]) -> String {
    call_shapes(kernel, x, w, y).unwrap_err().to_string()
}

#[test]
fn computes() {
    for (m, k, n) in [(1, 1, 1), (5, 3, 2), (37, 11, 13), (64, 5, 1)] {
        assert_eq!(call_shapes(&fake::GOOD, &[m, k], &[n, k], &[m, n]).unwrap(), expected(m, k, n), "{m} {k} {n}");
    }
}

#[test]
fn computes_on_strided_rows() {
    let x_data: Vec<f32> = (0..50).map(|at| at as f32).collect();
    let mut y_data = [-1.0_f32; 20];
    let x = TensorRef::with_strides(&x_data[3..], &[5, 2], &[10, 1]).unwrap();
    let y = TensorMut::with_strides(&mut y_data, &[5, 1], &[4, 1]).unwrap();
    call(&fake::GOOD, x, TensorRef::new(&[1.0, 0.5], &[1, 2]).unwrap(), y).unwrap();
    for i in 0..5 {
        let first = x_data[3 + 10 * i];
        assert_eq!(y_data[4 * i..4 * i + 4], [first + 0.5 * (first + 1.0), -1.0, -1.0, -1.0]);
    }
}

#[test]
fn owned_tensors_are_borrowed_by_into() {
    let x = Tensor::full(&[2, 3], 1.0_f32).unwrap();
    let mut y = Tensor::zeros(&[2, 2]).unwrap();
    call(&fake::GOOD, (&x).into(), (&x).into(), (&mut y).into()).unwrap();
    assert_eq!(y.as_slice(), [3.0; 4]);
}

#[test]
fn wrong_extent_names_parameter_dimension_and_both_numbers() {
    assert_eq!(
        error(&fake::GOOD, &[5, 768], &[4, 700], &[5, 4]),
        "dense: dimension 1 of `w` is 700, but must be K = 768; K = 768 is dimension 1 of `x`"
    );
    assert_eq!(
        error(&fake::GOOD, &[5, 3], &[4, 3], &[6, 4]),
        "dense: dimension 0 of `y` is 6, but must be M = 5; M = 5 is dimension 0 of `x`"
    );
}

#[test]
fn wrong_rank_is_an_error() {
    assert_eq!(
        error(&fake::GOOD, &[5, 3], &[12], &[5, 4]),
        "dense: `w` must have 2 dimensions, but has 1 (shape [12])"
    );
}

#[test]
fn wrong_number_or_kind_of_tensors_is_an_error() {
    let x = Tensor::<f32>::zeros(&[1, 1]).unwrap();
    let one = fake::GOOD.call(&mut [x.view().into()]).unwrap_err();
    assert_eq!(one.to_string(), "dense: it takes 3 arguments, but was called with 1");
    let inputs = fake::GOOD.call(&mut [x.view().into(), x.view().into(), x.view().into()]).unwrap_err();
    assert_eq!(inputs.to_string(), "dense: `y` is the output, a TensorMut, but was given as the other");
}

#[test]
fn another_element_type_is_an_error() {
    let (x, w) = (Tensor::<f32>::zeros(&[2, 3]).unwrap(), Tensor::<f16>::zeros(&[4, 3]).unwrap());
    let mut y = Tensor::<f32>::zeros(&[2, 4]).unwrap();
    let error = fake::GOOD.call(&mut [x.view().into(), w.view().into(), y.view_mut().into()]).unwrap_err();
    assert_eq!(error.to_string(), "dense: the elements of `w` must be f32, but are f16");
}

#[test]
fn no_spatial_iteration_is_a_no_op() {
    assert_eq!(call_shapes(&fake::GOOD, &[0, 3], &[4, 3], &[0, 4]).unwrap(), [0.0; 0]);
    assert_eq!(call_shapes(&fake::NATIVELESS, &[5, 3], &[0, 3], &[5, 0]).unwrap(), [0.0; 0]);
}

#[test]
fn no_reduction_iteration_still_stores() {
    assert_eq!(call_shapes(&fake::GOOD, &[2, 0], &[3, 0], &[2, 3]).unwrap(), [0.0; 6]);
}

#[test]
fn negative_extents_and_indices_out_of_bounds_are_errors() {
    let bind = |h: usize, r: usize, y: usize| {
        let (x, f) = (Tensor::<f32>::zeros(&[h]).unwrap(), Tensor::<f32>::zeros(&[r]).unwrap());
        let mut y = Tensor::<f32>::zeros(&[y]).unwrap();
        fake::WINDOW.bind(&[x.view().into(), f.view().into(), y.view_mut().into()])
    };
    assert_eq!(*bind(8, 2, 6).unwrap(), [8, 2]);
    assert_eq!(
        bind(8, 3, 6).unwrap_err().to_string(),
        "window: dimension 0 of `x` is 8, but its index `i + r + 1` runs from 1 to H + R - 3 = 8"
    );
    assert_eq!(
        bind(1, 1, 0).unwrap_err().to_string(),
        "window: dimension 0 of `y` is 0, but must be H - 2 = -1; H = 1 is dimension 0 of `x`"
    );
    const FEW: SignatureLoop =
        SignatureLoop { name: "i", extent: Affine { terms: &[(0, 1)], constant: -9 }, reduce: false };
    let shorter = Kernel { signature: Signature { loops: &[FEW], ..fake::WINDOW.signature }, ..fake::WINDOW };
    let (x, f, mut y) = ([0.0f32; 8], [0.0f32; 2], [0.0f32; 6]);
    let [x, f] = [TensorRef::new(&x, &[8]).unwrap(), TensorRef::new(&f, &[2]).unwrap()];
    let refused = shorter.bind(&[x.into(), f.into(), TensorMut::new(&mut y, &[6]).unwrap().into()]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "window: the loop over `i` would have H - 9 = -1 iterations; there must be 0 or more"
    );
    // Without spatial iterations nothing is indexed, without reduction iterations the index may still be used.
    bind(2, 3, 0).unwrap();
    bind(8, 0, 6).unwrap();
}

#[test]
fn the_output_must_not_overlap_an_input() {
    let mut data = [0.0_f32; 12];
    let start = data.as_mut_ptr();
    // SAFETY: no element is read or written, the call is refused.
    let (x, y) = unsafe {
        let x = TensorRef::from_raw_parts(start, &[2, 3], &[3, 1]).unwrap();
        (x, TensorMut::from_raw_parts(start.add(5), &[2, 2], &[2, 1]).unwrap())
    };
    let message = call(&fake::GOOD, x, TensorRef::new(&[0.0; 6], &[2, 3]).unwrap(), y).unwrap_err().to_string();
    assert!(message.starts_with("dense: the output `y` (bytes 0x"), "{message}");
    assert!(message.contains("overlaps the input `x` (bytes 0x"), "{message}");
}

#[test]
fn adjacent_tensors_do_not_overlap() {
    let mut data = [1.0_f32; 10];
    let (inputs, output) = data.split_at_mut(6);
    let x = TensorRef::new(inputs, &[2, 3]).unwrap();
    call(&fake::GOOD, x, x, TensorMut::new(output, &[2, 2]).unwrap()).unwrap();
    assert_eq!(data[6..], [3.0; 4]);
}

#[test]
fn a_missing_cpu_feature_is_named() {
    let future = call_shapes(&fake::FUTURE, &[1, 1], &[1, 1], &[1, 1]).unwrap_err();
    assert_eq!(future.kind(), ErrorKind::Unavailable);
    assert!(future.to_string().contains("unknown CPU features 0xc000000000000000"), "{future}");
}

#[test]
fn too_much_scratch_memory_is_an_error() {
    let greedy = call_shapes(&fake::GREEDY, &[1, 1], &[1, 1], &[1, 1]).unwrap_err();
    assert_eq!(greedy.kind(), ErrorKind::Unavailable);
    assert!(greedy.to_string().contains("1099511627776 bytes of scratch memory"), "{greedy}");
}

#[test]
fn missing_native_code_and_missing_rows_are_errors() {
    let nativeless = call_shapes(&fake::NATIVELESS, &[1, 1], &[1, 1], &[1, 1]).unwrap_err();
    assert_eq!(nativeless.kind(), ErrorKind::Unavailable);
    assert_eq!(
        nativeless.to_string(),
        "dense: there is no native code: DIETCODE_SKIP_NATIVE is set; unset it and build again"
    );
    assert_eq!(error(&fake::LOST, &[1, 1], &[1, 1], &[1, 1]), "dense: there is no micro-kernel 3, there are 3");
}

/// Neither checks, nor the choice of a micro-kernel, nor the launch: what a call costs before its kernel runs is some arithmetic.
#[test]
fn a_call_of_one_thread_allocates_nothing() {
    let (x, mut y) = (Tensor::full(&[1, 1], 1.0_f32).unwrap(), Tensor::zeros(&[1, 1]).unwrap());
    let mut calls = |count: usize| {
        (0..count).for_each(|_| call(&fake::GOOD, x.view(), x.view(), y.view_mut()).unwrap());
    };
    with_threads(1, || {
        // The first one finds out what the CPU can do.
        calls(1);
        assert_eq!(allocations::during(|| calls(100)), 0);
    });
}
