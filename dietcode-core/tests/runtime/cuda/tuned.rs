//! Calls on devices whose candidates are tried at run time.

use std::time::Duration;

use dietcode_core::runtime::cuda::{CudaTensor, CudaView, CudaViewMut, Device};
use dietcode_core::runtime::set::{Configuration, Entry, Set};
use dietcode_core::runtime::tunable::{KernelCall, KernelOp, Outcome, Report, tuning};
use dietcode_core::runtime::{Arg, Input, Kernel, Output, Tensor, TensorMut, TensorRef};
use dietcode_core::{ErrorKind, Result};

use super::fake;
use crate::fake::expected;

const M: usize = 5;
const K: usize = 3;
const N: usize = 2;

fn data(shape: &[usize]) -> Tensor<f32> {
    Tensor::from_fn(shape, |at| (at % 7) as f32 - 2.5).unwrap()
}

fn op(kernel: &'static Kernel) -> KernelOp {
    KernelOp::new(kernel, |_| panic!("the nest is for host memory"))
}

/// A call on a device, with tuning on, and what it computes.
fn call(op: &KernelOp, device: &Device) -> Result<Vec<f32>> {
    let [x, w] = [&data(&[M, K]), &data(&[N, K])].map(|tensor| CudaTensor::upload(device, tensor).unwrap());
    let mut y = CudaTensor::<f32>::uninitialised(device, &[M, N])?;
    let mut args = [Input::from(&x).into(), Input::from(&w).into(), Output::from(&mut y).into()];
    tuning::scope(true, || op.call_args(&mut args))?;
    drop(args);
    assert_eq!(x.download()?.as_slice(), data(&[M, K]).as_slice(), "trials have operands of their own");
    Ok(y.download()?.as_slice().to_vec())
}

fn outcome<'a>(report: &'a Report, candidate: &str) -> &'a Outcome {
    &report.candidates.iter().find(|(name, _)| name == candidate).unwrap_or_else(|| panic!("no {candidate}")).1
}

fn is_valid(report: &Report, candidate: &str) -> bool {
    matches!(outcome(report, candidate), Outcome::Timed(_) | Outcome::Dropped(_))
}

#[test]
fn the_micro_kernels_of_a_device_are_candidates_of_its_calls() {
    let (op, device) = (op(&fake::WHOLE), Device::cuda_host());
    for _ in 0..2 {
        assert_eq!(call(&op, &device).unwrap(), expected(M, K, N));
    }
    let [report] = &*op.devices().reports() else { panic!("{:?}", op.devices().reports()) };
    let device = "device=sm_90/emulated_CUDA_device/2/0/unchecked";
    assert!(report.key.ends_with(device) && !report.key.contains("threads"), "{}", report.key);
    for candidate in ["<dispatcher>", "whole", "persistent", "split", "ampere"] {
        assert!(is_valid(report, candidate), "{candidate}: {report:?}");
    }
    for (candidate, why) in [("fails", "missed a barrier"), ("wide", "grid of"), ("crowded", "threads")] {
        let fault = outcome(report, candidate).fault();
        assert!(fault.is_some_and(|fault| fault.contains(why)), "{candidate}: {fault:?}");
    }
    let unemulated = outcome(report, "unemulated");
    assert!(matches!(unemulated, Outcome::Unsupported(_)), "{unemulated:?}");
    let names: Vec<&str> = op.candidates().collect();
    assert_eq!(names, ["<dispatcher>", "good", "from_the_future", "greedy", "<nest>"], "those in host memory");
}

#[test]
fn micro_kernels_of_other_devices_are_not_tried() {
    let (op, device) = (op(&fake::AMPERE), Device::cuda_host_like((8, 0)));
    assert_eq!(call(&op, &device).unwrap(), expected(M, K, N));
    let report = &op.devices().reports()[0];
    assert!(report.key.ends_with("device=sm_80/emulated_CUDA_device/2/0"), "{}", report.key);
    assert!(is_valid(report, "ampere") && is_valid(report, "split ampere"), "{report:?}");
    assert!(matches!(outcome(report, "whole"), Outcome::Unsupported(_)), "{report:?}");
}

#[test]
fn a_result_is_of_one_kind_of_device_or_of_host_memory() {
    let op = KernelOp::new(&fake::AMPERE, |_| Ok(()));
    for capability in [(8, 0), (9, 0), (8, 0)] {
        call(&op, &Device::cuda_host_like(capability)).unwrap();
    }
    assert_eq!(op.devices().reports().len(), 2);
    let (x, w, mut y) = (data(&[M, K]), data(&[N, K]), Tensor::<f32>::zeros(&[M, N]).unwrap());
    let mut args = [TensorRef::from(&x).into(), TensorRef::from(&w).into(), TensorMut::from(&mut y).into()];
    tuning::scope(true, || op.call_args(&mut args)).unwrap();
    assert_eq!((op.devices().reports().len(), op.reports().len()), (2, 1));
    assert!(op.reports()[0].key.contains("threads="), "{:?}", op.reports());
}

/// A dense layer by a program's own launches on the emulated device, whose memory is the host's.
fn own(call: &mut KernelCall<'_>, terms: usize) -> Result<()> {
    let device = call.device().filter(|device| *device == Device::cuda_host()).expect("it is called there");
    let [x, w, y] = call.operands()?;
    let (mut x, mut w) = (CudaView::<f32>::try_from(x)?, CudaView::<f32>::try_from(w)?);
    let mut y = CudaViewMut::<f32>::try_from(y)?;
    let ([rows, columns], strides) = ([y.shape()[0], y.shape()[1]], [x.strides()[0], w.strides()[0], y.strides()[0]]);
    let ((x, _x), (w, _w), (y, _y)) = (x.address_on(&device), w.address_on(&device), y.address_on(&device));
    let at = |address: u64, index: usize| {
        std::ptr::with_exposed_provenance_mut::<f32>(usize::try_from(address).unwrap()).wrapping_add(index)
    };
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        // SAFETY: the indices are in the shapes.
        unsafe {
            let term = |k: usize| *at(x, i * strides[0] + k) * *at(w, j * strides[1] + k);
            *at(y, i * strides[2] + j) = (0..terms).map(term).sum();
        }
    }
    Ok(())
}

#[test]
fn a_programs_own_candidate_computes_on_the_device_and_is_held_to_the_default() {
    let mut op = op(&fake::WHOLE);
    op.devices_mut().register("own", |call: &mut KernelCall<'_>| own(call, K)).unwrap();
    op.devices_mut().register("without a term", |call: &mut KernelCall<'_>| own(call, K - 1)).unwrap();
    op.devices_mut().register("nothing", |_: &mut KernelCall<'_>| Ok(())).unwrap();
    op.devices_mut()
        .register("on the host", |call: &mut KernelCall<'_>| {
            let [x, ..] = call.operands::<3>()?;
            TensorRef::<f32>::try_from(x).map(drop)
        })
        .unwrap();
    assert_eq!(call(&op, &Device::cuda_host()).unwrap(), expected(M, K, N));
    let report = &op.devices().reports()[0];
    assert!(is_valid(report, "own"), "{report:?}");
    assert!(matches!(outcome(report, "without a term"), Outcome::Wrong(_)), "{report:?}");
    // What was there before is what the caller's memory holds, of any value.
    assert!(matches!(outcome(report, "nothing"), Outcome::Wrong(_)), "{report:?}");
    assert!(outcome(report, "on the host").fault().unwrap().contains("in host memory"), "{report:?}");
}

#[test]
fn operands_that_are_not_what_they_are_taken_for_are_refused() {
    let (x, device) = (data(&[M, K]), Device::cuda_host());
    let on_host = CudaView::<f32>::try_from(Arg::from(TensorRef::from(&x))).err().unwrap();
    assert!(on_host.kind() == ErrorKind::Input && on_host.to_string().contains("in host memory"), "{on_host}");
    let on_device = CudaTensor::upload(&device, &x).unwrap();
    let of_doubles = CudaView::<f64>::try_from(Arg::from(Input::from(&on_device))).err().unwrap();
    assert!(of_doubles.to_string().contains("no tensor of f64 on a device"), "{of_doubles}");
    let written = CudaViewMut::<f32>::try_from(Arg::from(Input::from(&on_device))).err().unwrap();
    assert!(written.to_string().contains("that may be written"), "{written}");
}

#[test]
fn a_default_that_fails_is_the_calls_error_and_nothing_is_tried() {
    let op = op(&fake::FAILS);
    let error = call(&op, &Device::cuda_host()).unwrap_err();
    assert!(error.to_string().contains("missed a barrier"), "{error}");
    let report = &op.devices().reports()[0];
    assert!(report.untried.as_ref().unwrap().contains("missed a barrier"), "{report:?}");
}

#[test]
fn a_set_adds_its_micro_kernels_for_devices() {
    static ENTRIES: [Entry; 1] =
        [Entry { kernel: "dense", source_hash: 0x1234, cpu: None, cuda: Some(&fake::ROWS_OF_TABLE[1]) }];
    static SET: Set = Set {
        config: "sets/sm_90.json",
        cpu: Err("not asked for"),
        cuda: Err("not asked for"),
        cuda_host: Ok(()),
        configurations: &[Configuration { name: "first", family: "local", parameters: "{}", entries: &ENTRIES }],
    };
    let mut op = op(&fake::WHOLE);
    assert_eq!(op.register_all(&SET).unwrap(), 1);
    call(&op, &Device::cuda_host()).unwrap();
    assert!(is_valid(&op.devices().reports()[0], "sets/sm_90.json/first"), "{:?}", op.devices().reports());
}

#[test]
fn timed_calls_go_through_operands_on_the_device_in_turn_if_that_is_set() {
    use std::collections::HashSet;
    use std::sync::Mutex;
    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let name = "timed_calls_go_through_operands_on_the_device_in_turn_if_that_is_set";
    if !crate::thread_settings::is_child(name) {
        return crate::thread_settings::in_child_with("cuda::tuned", name, ("DIETCODE_TUNABLE_ROTATION_MIB", "1"));
    }
    let mut op = op(&fake::WHOLE);
    op.devices_mut()
        .register("own", |call: &mut KernelCall<'_>| {
            let device = call.device().expect("it is called on one");
            let [x, ..] = call.operands::<3>()?;
            SEEN.lock().unwrap().push(CudaView::<f32>::try_from(x)?.address_on(&device).0);
            own(call, K)
        })
        .unwrap();
    call(&op, &Device::cuda_host()).unwrap();
    let places: HashSet<u64> = SEEN.lock().unwrap().iter().copied().collect();
    assert!(places.len() > 1, "{places:?}");
    assert!(is_valid(&op.devices().reports()[0], "own"));
}

#[test]
#[cfg(target_os = "linux")]
fn trials_are_in_the_order_of_the_calls_stream_and_wait_for_no_graph() {
    let name = "cuda::tuned::trials_are_in_the_order_of_the_calls_stream_and_wait_for_no_graph";
    let Some(driver) = super::driver::Driver::of_test(name) else { return };
    let device = Device::cuda(0).unwrap();
    let [x, w] = [&data(&[M, K]), &data(&[N, K])].map(|tensor| CudaTensor::upload(&device, tensor).unwrap());
    let mut y = CudaTensor::<f32>::zeros(&device, &[M, N]).unwrap();
    let op = op(&fake::AMPERE);
    // The notes have an end.
    tuning::Settings::new().limit(Duration::from_millis(1)).apply().unwrap();
    let mut call = || {
        driver.notes();
        let mut args = [Input::from(&x).into(), Input::from(&w).into(), Output::from(&mut y).into()];
        tuning::scope(true, || op.call_args(&mut args)).unwrap();
        driver.notes()
    };
    driver.set_capturing(true);
    let launched = call();
    assert!(
        launched.starts_with("launched in 0x100 for (nil) with x at ") && launched.lines().count() == 1,
        "{launched}"
    );
    assert!(op.devices().reports().is_empty(), "a later call is tuned");
    driver.set_capturing(false);
    let notes = call();
    let launches = notes.lines().filter(|line| line.starts_with("launched"));
    let (of_call, of_trials): (Vec<&str>, Vec<&str>) = launches.partition(|line| *line == launched.trim_end());
    // Each of two candidates is called twice to be checked, and more often to be timed.
    assert!(of_call.len() == 1 && of_trials.len() > 8 && notes.ends_with(&launched), "{notes}");
    assert!(notes.lines().all(|line| line.contains("for (nil)")), "{notes}");
    for asked in ["written", "read", "waited", "freed"] {
        assert!(notes.contains(asked), "{asked}: {notes}");
    }
    let report = &op.devices().reports()[0];
    assert!(report.key.ends_with("device=sm_80/no_device_0/65536/13000"), "{}", report.key);
    assert!(is_valid(report, "ampere") && is_valid(report, "split ampere"), "{report:?}");
    assert_eq!(call(), launched, "what was found is used, and nothing is waited for");
    driver.set_capturing(true);
    assert_eq!(call(), launched, "also in a graph");
}
