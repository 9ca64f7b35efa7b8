//! Calls on devices whose candidates are tried at run time.

use std::sync::atomic::{AtomicUsize, Ordering};

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
    let [report] = &*op.reports() else { panic!("{:?}", op.reports()) };
    let device = "device=sm_90/emulated_CUDA_device/0/unchecked";
    assert!(report.key.ends_with(device) && !report.key.contains("threads"), "{}", report.key);
    for candidate in ["<dispatcher>", "cuda/whole", "cuda/persistent", "cuda/split", "cuda/ampere"] {
        assert!(is_valid(report, candidate), "{candidate}: {report:?}");
    }
    for (candidate, why) in [("cuda/fails", "missed a barrier"), ("cuda/wide", "grid of"), ("cuda/crowded", "threads")]
    {
        let fault = outcome(report, candidate).fault();
        assert!(fault.is_some_and(|fault| fault.contains(why)), "{candidate}: {fault:?}");
    }
    for candidate in ["good", "<nest>", "cuda/unemulated"] {
        let outcome = outcome(report, candidate);
        assert!(matches!(outcome, Outcome::Unsupported(_)), "{candidate}: {outcome:?}");
    }
}

#[test]
fn micro_kernels_of_other_devices_are_not_tried() {
    let (op, device) = (op(&fake::AMPERE), Device::cuda_host_like((8, 0)));
    assert_eq!(call(&op, &device).unwrap(), expected(M, K, N));
    let report = &op.reports()[0];
    assert!(report.key.ends_with("device=sm_80/emulated_CUDA_device/0"), "{}", report.key);
    assert!(is_valid(report, "cuda/ampere") && is_valid(report, "cuda/split ampere"), "{report:?}");
    assert!(matches!(outcome(report, "cuda/whole"), Outcome::Unsupported(_)), "{report:?}");
}

#[test]
fn a_result_is_of_one_kind_of_device_or_of_host_memory() {
    let op = KernelOp::new(&fake::AMPERE, |_| Ok(()));
    for capability in [(8, 0), (9, 0), (8, 0)] {
        call(&op, &Device::cuda_host_like(capability)).unwrap();
    }
    assert_eq!(op.reports().len(), 2);
    let (x, w, mut y) = (data(&[M, K]), data(&[N, K]), Tensor::<f32>::zeros(&[M, N]).unwrap());
    let mut args = [TensorRef::from(&x).into(), TensorRef::from(&w).into(), TensorMut::from(&mut y).into()];
    tuning::scope(true, || op.call_args(&mut args)).unwrap();
    let reports = op.reports();
    let on_host = reports.iter().find(|report| report.key.contains("threads=")).unwrap();
    assert!(matches!(outcome(on_host, "cuda/ampere"), Outcome::Unsupported(_)), "{on_host:?}");
    assert_eq!(reports.len(), 3);
}

/// A dense layer by a program's own launches on the emulated device, whose memory is the host's.
fn own(call: &mut KernelCall<'_>, terms: usize) -> Result<()> {
    assert_eq!(call.device(), Some(Device::cuda_host()));
    let [x, w, y] = call.operands()?;
    let (x, w) = (CudaView::<f32>::try_from(x)?, CudaView::<f32>::try_from(w)?);
    let y = CudaViewMut::<f32>::try_from(y)?;
    let element = |view: &CudaView<'_, f32>, [row, column]: [usize; 2]| {
        let address = std::ptr::with_exposed_provenance::<f32>(usize::try_from(view.address()).unwrap());
        // SAFETY: the index is in the shape.
        unsafe { *address.add(row * view.strides()[0] + column) }
    };
    for (i, j) in (0..y.shape()[0]).flat_map(|i| (0..y.shape()[1]).map(move |j| (i, j))) {
        let sum = (0..terms).map(|k| element(&x, [i, k]) * element(&w, [j, k])).sum();
        let address = std::ptr::with_exposed_provenance_mut::<f32>(usize::try_from(y.address()).unwrap());
        // SAFETY: the index is in the shape.
        unsafe { *address.add(i * y.strides()[0] + j) = sum };
    }
    Ok(())
}

#[test]
fn a_programs_own_candidate_computes_on_the_device_and_is_held_to_the_default() {
    let mut op = op(&fake::WHOLE);
    op.register("own", |call: &mut KernelCall<'_>| own(call, K)).unwrap();
    op.register("without a term", |call: &mut KernelCall<'_>| own(call, K - 1)).unwrap();
    op.register("nothing", |_: &mut KernelCall<'_>| Ok(())).unwrap();
    op.register("on the host", |call: &mut KernelCall<'_>| {
        let [x, ..] = call.operands::<3>()?;
        TensorRef::<f32>::try_from(x).map(drop)
    })
    .unwrap();
    assert_eq!(call(&op, &Device::cuda_host()).unwrap(), expected(M, K, N));
    let report = &op.reports()[0];
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
    let report = &op.reports()[0];
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
    assert!(is_valid(&op.reports()[0], "cuda/sets/sm_90.json/first"), "{:?}", op.reports());
}

#[test]
fn timed_calls_go_through_operands_on_the_device_in_turn_if_that_is_set() {
    use std::collections::HashSet;
    use std::sync::Mutex;
    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let name = "timed_calls_go_through_operands_on_the_device_in_turn_if_that_is_set";
    if !crate::thread_settings::is_child(name) {
        return crate::thread_settings::in_child_with("cuda::tuned", name, ("DIETCODE_TUNABLE_ROTATION_MIB", "1"));
    }
    let mut op = op(&fake::WHOLE);
    op.register("own", |call: &mut KernelCall<'_>| {
        let [x, ..] = call.operands::<3>()?;
        SEEN.lock().unwrap().push(CudaView::<f32>::try_from(x)?.address());
        CALLS.fetch_add(1, Ordering::Relaxed);
        own(call, K)
    })
    .unwrap();
    call(&op, &Device::cuda_host()).unwrap();
    let places: HashSet<u64> = SEEN.lock().unwrap().iter().copied().collect();
    assert!(places.len() > 1 && CALLS.load(Ordering::Relaxed) >= places.len(), "{}", places.len());
    assert!(is_valid(&op.reports()[0], "own"));
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
    assert!(op.reports().is_empty(), "a later call is tuned");
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
    let report = &op.reports()[0];
    assert!(report.key.ends_with("device=sm_80/no_device_0/13000"), "{}", report.key);
    assert!(is_valid(report, "cuda/ampere") && is_valid(report, "cuda/split ampere"), "{report:?}");
    assert_eq!(call(), launched, "what was found is used, and nothing is waited for");
    driver.set_capturing(true);
    assert_eq!(call(), launched, "also in a graph");
}
