//! Calls of a program in C with a device's number, a stream and addresses.

use std::ffi::{c_int, c_void};
use std::ptr;

use dietcode_core::abi::{CUDA_HOST, Status};
use dietcode_core::runtime::Kernel;
use dietcode_core::runtime::cuda::Device;
use dietcode_core::runtime::exported::{self, Operand};
#[cfg(target_os = "linux")]
use libloading::Symbol;

#[cfg(target_os = "linux")]
use super::driver::Driver;
use super::fake;
use crate::exported::{said, tensor};
use crate::fake::{GOOD, expected};

fn call(kernel: &Kernel, operands: [Operand; 3], device: c_int, stream: *mut c_void) -> c_int {
    // SAFETY: tests hand over what is there, or what is refused.
    unsafe { exported::call_on_device(kernel, operands, device, stream) }
}

#[test]
fn the_emulated_device_computes_where_the_tensors_lie() {
    for (m, k, n) in [(1, 1, 1), (5, 3, 2), (37, 11, 13), (0, 3, 2)] {
        for (kernel, gap) in [(&fake::WHOLE, 0), (&fake::PERSISTENT, 3), (&fake::SPLIT, 1)] {
            let data = |len: usize| (0..len).map(|at| (at % 7) as f32 - 2.5).collect::<Vec<f32>>();
            let (x, w, row) = (data(m * k), data(n * k), n + gap);
            let mut y = vec![-1.0_f32; m * row];
            let [m_, k_, n_, row_] = [m, k, n, row].map(|extent| i64::try_from(extent).unwrap());
            let (of_x, of_w, of_y, strides) = ([m_, k_], [n_, k_], [m_, n_], [row_, 1]);
            let operands = [
                tensor(x.as_ptr(), &of_x, &[]),
                tensor(w.as_ptr(), &of_w, &[]),
                tensor(y.as_mut_ptr().cast_const(), &of_y, &strides),
            ];
            assert_eq!(call(kernel, operands, CUDA_HOST, ptr::null_mut()), Status::Ok as c_int, "{}", said());
            let computed: Vec<f32> = y.chunks(row).flat_map(|row| row[..n].to_vec()).collect();
            assert_eq!(computed, expected(m, k, n), "{m} {k} {n}");
            assert!(y.chunks(row).all(|row| row[n..].iter().all(|between| *between == -1.0)));
        }
    }
}

#[test]
fn what_is_wrong_is_told_as_elsewhere() {
    let data = [0.0_f32; 64];
    let at = |offset: usize| data.as_ptr().wrapping_add(offset);
    let good = || [tensor(at(0), &[2, 3], &[]), tensor(at(8), &[4, 3], &[]), tensor(at(32), &[2, 4], &[])];
    let (no_stream, stream) = (ptr::null_mut(), ptr::without_provenance_mut(64));
    let with_x = |x: Operand| [x, good()[1], good()[2]];
    for (kernel, operands, device, stream, status, sentence) in [
        (&fake::WHOLE, good(), -2, no_stream, Status::Input, "dense: there is no device -2: expected 0 or more, or -1"),
        (
            &fake::WHOLE,
            good(),
            CUDA_HOST,
            stream,
            Status::Input,
            "dense: found the stream 0x40, but cuda-host has none",
        ),
        (&fake::WHOLE, with_x(tensor(ptr::null(), &[2, 3], &[])), CUDA_HOST, no_stream, Status::Input, "`x` is NULL"),
        (&fake::WHOLE, with_x(tensor(at(0), &[2, 5], &[])), CUDA_HOST, no_stream, Status::Input, "must be K = 5"),
        (
            &fake::WHOLE,
            with_x(tensor(at(33), &[2, 3], &[])),
            CUDA_HOST,
            no_stream,
            Status::Input,
            "the output `y` (bytes",
        ),
        (&fake::FAILS, good(), CUDA_HOST, no_stream, Status::Failed, "missed a barrier"),
        (&GOOD, good(), CUDA_HOST, no_stream, Status::Unavailable, "dense: there is no CUDA code: "),
    ] {
        assert_eq!(call(kernel, operands, device, stream), status as c_int, "{sentence}: {}", said());
        assert!(said().contains(sentence), "{sentence}: {}", said());
    }
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let nowhere: [Operand; 3] = std::array::from_fn(|_| tensor(ptr::null(), &[2, 2], &[]));
    // More than any machine has.
    let status = call(&fake::WHOLE, nowhere, 4096, ptr::null_mut());
    assert_eq!(status, Status::Unavailable as c_int, "{}", said());
    let expected = match Device::count() {
        Ok(_) => "dense: there is no device cuda:4096".to_owned(),
        Err(error) => format!("dense: {error}"),
    };
    assert!(said().starts_with(&expected), "{}", said());
}

#[test]
#[cfg(target_os = "linux")]
fn the_driver_is_asked_for_the_streams_and_addresses_of_the_caller() {
    let name = "cuda::lent::the_driver_is_asked_for_the_streams_and_addresses_of_the_caller";
    let Some(driver) = Driver::of_test(name) else { return };
    // SAFETY: it is that of `driver.c`, whose functions have these types.
    let (current, set_current): (
        Symbol<'_, unsafe extern "C" fn(*mut *mut c_void) -> c_int>,
        Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int>,
    ) = unsafe {
        let [current, set_current] = [c"cuCtxGetCurrent", c"cuCtxSetCurrent"];
        (driver.library.get(current).unwrap(), driver.library.get(set_current).unwrap())
    };
    let place = |address: usize| ptr::without_provenance::<f32>(address);
    let [own, stream] = [0x999, 0x40].map(ptr::without_provenance_mut::<c_void>);
    // SAFETY: as above.
    unsafe { set_current(own) };
    let asked = |kernel, [x, w, y]: [usize; 3], device, stream| {
        let operands = [tensor(place(x), &[2, 3], &[]), tensor(place(w), &[4, 3], &[]), tensor(place(y), &[2, 4], &[])];
        let status = call(kernel, operands, device, stream);
        let mut context = ptr::null_mut();
        // SAFETY: as above.
        unsafe { current(&mut context) };
        assert_eq!(context, own, "the thread's context is what it was");
        let new = driver.notes();
        if status == Status::Ok as c_int { Ok(new) } else { Err((status, said(), new)) }
    };
    let [first, second] = [[0x10000, 0x11000, 0x12000], [0x20000, 0x21000, 0x22000]];
    let launched = |context: &str, stream: &str, x: &str| format!("launched in {context} for {stream} with x at {x}\n");
    let one = launched("0x100", "0x40", "0x10000");
    assert_eq!(asked(&fake::AMPERE, first, 0, stream), Ok(one.clone()));
    assert_eq!(asked(&fake::AMPERE, second, 1, ptr::null_mut()), Ok(launched("0x101", "(nil)", "0x20000")));
    // Nothing is kept for a stream that may end.
    let split = format!("allocated for 0x40\n{one}{one}freed for 0x40\n");
    for _ in 0..2 {
        assert_eq!(asked(&fake::SPLIT_AMPERE, first, 0, stream), Ok(split.clone()));
    }
    let two = launched("0x100", "(nil)", "0x10000").repeat(2);
    assert_eq!(asked(&fake::SPLIT_AMPERE, first, 0, ptr::null_mut()), Ok(format!("allocated for (nil)\n{two}")));
    assert_eq!(asked(&fake::SPLIT_AMPERE, first, 0, ptr::null_mut()), Ok(two));
    for (places, device, status, sentence) in [
        (second, 0, Status::Input, "dense: `x`: found memory of cuda:1, expected memory of cuda:0"),
        (
            [0x10000, 0x4000, 0x12000],
            0,
            Status::Input,
            "dense: `w`: found the address 0x4000, where the driver knows of no",
        ),
        (first, 2, Status::Unavailable, "dense: there is no device cuda:2: the driver finds 2"),
    ] {
        let (found, said, notes) = asked(&fake::AMPERE, places, device, stream).unwrap_err();
        assert!(
            found == status as c_int && said.starts_with(sentence) && notes.is_empty(),
            "{sentence}: {said}, {notes}"
        );
    }
}
