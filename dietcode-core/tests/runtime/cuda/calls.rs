//! One call for all places: where the tensors are decides what carries it out.

use dietcode_core::runtime::cuda::{CudaTensor, Device};
use dietcode_core::runtime::{Arg, Input, Kernel, Output, Tensor};
use dietcode_core::{Error, ErrorKind, Result, f16};

use super::fake;
use crate::fake::expected;

/// What the macro's function does.
fn call<'a>(
    kernel: &Kernel,
    x: impl Into<Input<'a, f32>>,
    w: impl Into<Input<'a, f32>>,
    y: impl Into<Output<'a, f32>>,
) -> Result<()> {
    kernel.call(&mut [Arg::from(x.into()), Arg::from(w.into()), Arg::from(y.into())])
}

fn data(shape: &[usize]) -> Tensor<f32> {
    Tensor::from_fn(shape, |at| (at % 7) as f32 - 2.5).unwrap()
}

/// The result of a call on a device.
fn on(device: &Device, kernel: &Kernel, m: usize, k: usize, n: usize) -> Result<Vec<f32>> {
    let x = CudaTensor::upload(device, &data(&[m, k]))?;
    let w = CudaTensor::upload(device, &data(&[n, k]))?;
    let mut y = CudaTensor::uninitialised(device, &[m, n])?;
    call(kernel, &x, &w, &mut y)?;
    Ok(y.download()?.as_slice().to_vec())
}

fn error(kernel: &Kernel) -> Error {
    on(&Device::cuda_host(), kernel, 5, 3, 2).unwrap_err()
}

#[test]
fn tensors_say_where_a_call_runs() {
    let (x, w) = (data(&[5, 3]), data(&[2, 3]));
    let mut y = Tensor::zeros(&[5, 2]).unwrap();
    // In host memory the same kernel takes the native path, which has no CUDA table to go wrong with.
    call(&fake::LOST, &x, w.view(), &mut y).unwrap();
    assert_eq!(y.as_slice(), expected(5, 3, 2));
    assert_eq!(on(&Device::cuda_host(), &fake::WHOLE, 5, 3, 2).unwrap(), expected(5, 3, 2));
}

#[test]
fn every_way_of_launching_computes_the_same() {
    let device = Device::cuda_host();
    for (m, k, n) in [(1, 1, 1), (5, 3, 2), (37, 11, 13), (64, 5, 1), (3, 0, 4)] {
        for kernel in [&fake::WHOLE, &fake::PERSISTENT, &fake::SPLIT] {
            assert_eq!(on(&device, kernel, m, k, n).unwrap(), expected(m, k, n), "{m} {k} {n}");
        }
    }
}

#[test]
fn no_spatial_iteration_launches_nothing() {
    assert_eq!(on(&Device::cuda_host(), &fake::FAILS, 0, 3, 2).unwrap(), [0.0; 0]);
}

#[test]
fn views_of_views_are_operands_too() {
    let device = Device::cuda_host();
    let (x, w) =
        (CudaTensor::upload(&device, &data(&[5, 3])).unwrap(), CudaTensor::upload(&device, &data(&[2, 3])).unwrap());
    let mut y = CudaTensor::<f32>::uninitialised(&device, &[5, 2]).unwrap();
    let x = x.view();
    let mut out = y.view_mut();
    call(&fake::WHOLE, &x, w.view(), &mut out).unwrap();
    call(&fake::WHOLE, x, &w, out).unwrap();
    assert_eq!(y.download().unwrap().as_slice(), expected(5, 3, 2));
}

#[test]
fn rows_that_are_not_adjacent_are_read_and_written_in_place() {
    let device = Device::cuda_host();
    let x = CudaTensor::upload(&device, &Tensor::from_fn(&[5, 10], |at| at as f32).unwrap()).unwrap();
    let w = CudaTensor::upload(&device, &Tensor::from_slice(&[1.0, 0.5], &[1, 2]).unwrap()).unwrap();
    let mut y = CudaTensor::full(&device, &[6, 4], -1.0).unwrap();
    let columns = x.view().narrow(1, 3..5).unwrap();
    assert_eq!((columns.shape(), columns.strides()), (&[5, 2][..], &[10, 1][..]));
    let column = y.view_mut().narrow(0, 1..6).unwrap().narrow(1, 2..3).unwrap();
    call(&fake::WHOLE, columns, &w, column).unwrap();
    let y = y.download().unwrap();
    for (row, found) in y.as_slice().chunks(4).enumerate() {
        let first = 10.0 * (row as f32 - 1.0) + 3.0;
        let sum = if row == 0 { -1.0 } else { first + 0.5 * (first + 1.0) };
        assert_eq!(found, [-1.0, -1.0, sum, -1.0], "row {row}");
    }
}

#[test]
fn tensors_in_different_places_are_an_error_that_names_them() {
    let (host, other) = (Device::cuda_host(), Device::cuda_host_like((8, 6)));
    let x = CudaTensor::upload(&host, &data(&[5, 3])).unwrap();
    let mut y = CudaTensor::zeros(&other, &[5, 2]).unwrap();
    let mixed = call(&fake::WHOLE, &x, &data(&[2, 3]), &mut y).unwrap_err();
    assert_eq!(mixed.kind(), ErrorKind::Input);
    assert_eq!(
        mixed.to_string(),
        "dense: its tensors must be in one place, but `x` is on cuda-host, `w` is in host memory, `y` is on cuda-host as 8.6; \
         copy them to one device"
    );
    assert!(call(&fake::WHOLE, &x, &x, &mut y).is_err(), "two devices");
}

#[test]
fn the_checks_of_a_call_hold_on_devices() {
    let device = Device::cuda_host();
    let x = CudaTensor::upload(&device, &data(&[5, 3])).unwrap();
    let mut y = CudaTensor::zeros(&device, &[4, 5]).unwrap();
    let extent = call(&fake::WHOLE, &x, &x, &mut y).unwrap_err().to_string();
    assert_eq!(extent, "dense: dimension 0 of `y` is 4, but must be M = 5; M = 5 is dimension 0 of `x`");

    let half = CudaTensor::<f16>::zeros(&device, &[5, 3]).unwrap();
    let mut y = CudaTensor::<f32>::zeros(&device, &[5, 5]).unwrap();
    let args = &mut [Input::from(&x).into(), Input::from(&half).into(), Output::from(&mut y).into()];
    assert_eq!(fake::WHOLE.call(args).unwrap_err().to_string(), "dense: the elements of `w` must be f32, but are f16");
    let args = &mut [Input::from(&x).into(), Input::from(&x).into(), Input::from(&y).into()];
    assert!(fake::WHOLE.call(args).unwrap_err().to_string().contains("`y` is the output"));
}

#[test]
fn the_output_must_not_overlap_an_input_on_a_device() {
    let device = Device::cuda_host();
    let w = CudaTensor::upload(&device, &data(&[3, 3])).unwrap();
    let both = Box::into_raw(Box::new(CudaTensor::upload(&device, &data(&[9, 3])).unwrap()));
    let rows = |x: std::ops::Range<usize>, y: std::ops::Range<usize>| {
        // SAFETY: it is borrowed twice, which is what the call is to find out.
        let (x, y) = unsafe { ((*both).view().narrow(0, x).unwrap(), (*both).view_mut().narrow(0, y).unwrap()) };
        call(&fake::WHOLE, x, &w, y)
    };
    let message = rows(0..4, 3..7).unwrap_err().to_string();
    assert!(message.contains("the output `y` (bytes 0x") && message.contains("overlaps the input `x`"), "{message}");
    rows(0..4, 4..8).unwrap();
    // SAFETY: it came from a box, and nothing borrows it any more.
    drop(unsafe { Box::from_raw(both) });
}

#[test]
fn a_dispatcher_sees_shape_and_capability() {
    let like = |capability| on(&Device::cuda_host_like(capability), &fake::BY_CAPABILITY, 5, 3, 2);
    assert_eq!(like((8, 6)).unwrap_err().kind(), ErrorKind::Unavailable, "it has no image");
    assert_eq!(on(&Device::cuda_host(), &fake::BY_CAPABILITY, 5, 3, 2).unwrap(), expected(5, 3, 2));
    assert!(on(&Device::cuda_host(), &fake::BY_CAPABILITY, 5, 1, 2).is_err(), "the other row");
}

#[test]
fn an_image_that_does_not_serve_the_device_is_an_error_with_both() {
    let like = |capability| on(&Device::cuda_host_like(capability), &fake::AMPERE, 5, 3, 2);
    for served in [(8, 0), (8, 9), (9, 0)] {
        assert_eq!(like(served).unwrap(), expected(5, 3, 2));
    }
    let turing = like((7, 5)).unwrap_err();
    assert_eq!(turing.kind(), ErrorKind::Unavailable);
    assert_eq!(
        turing.to_string(),
        "dense: micro-kernel `ampere` on cuda-host as 7.5: its code is for 8.0 and 9.0, but the device is of compute \
         capability 7.5; name it in the config's `targets.cuda`, or in `.cuda([…])` in build.rs, and build again with nvcc"
    );
    let nothing = on(&Device::cuda_host_like((8, 0)), &fake::WHOLE, 5, 3, 2).unwrap_err().to_string();
    assert!(nothing.contains("for want of nvcc") && nothing.contains("compute capability 8.0"), "{nothing}");
    assert_eq!(on(&Device::cuda_host(), &fake::AMPERE, 5, 3, 2).unwrap(), expected(5, 3, 2));
}

#[test]
fn what_was_not_compiled_is_named() {
    let message = "dense: micro-kernel `unemulated` on cuda-host: `device_only` was not compiled for the emulated device; add \
                   `.cuda_host()` in build.rs and build again";
    assert_eq!(error(&fake::UNEMULATED).to_string(), message);
    assert_eq!(error(&fake::LOST).to_string(), "dense: there is no CUDA micro-kernel 9, there are 9");
    let none = error(&crate::fake::GOOD);
    assert_eq!(none.kind(), ErrorKind::Unavailable);
    assert_eq!(none.to_string(), "dense: there is no CUDA code: its config has no CUDA target");
}

#[test]
fn grids_and_blocks_beyond_the_device_are_errors_and_the_next_call_works() {
    let wide = error(&fake::WIDE);
    assert_eq!(wide.kind(), ErrorKind::Input);
    assert_eq!(
        wide.to_string(),
        "dense: micro-kernel `wide` on cuda-host, shape [5, 3, 2]: it needs a grid of 9223372036854775807 blocks, but the \
         device takes at most 2147483647"
    );
    let crowded = error(&fake::CROWDED).to_string();
    assert!(crowded.contains("a block of its kernel `whole` needs 2048 threads, but the device has 1024"), "{crowded}");
    assert_eq!(on(&Device::cuda_host(), &fake::WHOLE, 5, 3, 2).unwrap(), expected(5, 3, 2));
}

#[test]
fn a_kernel_that_fails_says_why() {
    let failed = error(&fake::FAILS);
    assert_eq!(failed.kind(), ErrorKind::Failed);
    let start = "dense: micro-kernel `fails` on cuda-host, shape [5, 3, 2]: thread 5 of block 2 missed a barrier!!!";
    assert!(failed.to_string().starts_with(start), "{failed}");
}

#[test]
fn many_threads_may_call_at_once() {
    let good = expected(9, 8, 7);
    std::thread::scope(|scope| {
        for kernel in [&fake::SPLIT, &fake::WHOLE, &fake::SPLIT, &fake::PERSISTENT] {
            let good = &good;
            scope.spawn(move || {
                (0..20).for_each(|_| assert_eq!(on(&Device::cuda_host(), kernel, 9, 8, 7).unwrap(), *good));
            });
        }
    });
}
