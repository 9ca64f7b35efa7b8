//! Kernels as operations.

use std::collections::HashSet;
use std::sync::Mutex;

use dietcode_core::Result;
use dietcode_core::runtime::set::{Configuration, CpuRow, Entry, Set};
use dietcode_core::runtime::tunable::{KernelCall, KernelOp, Outcome, tuning};
use dietcode_core::runtime::{Kernel, TensorMut, TensorRef, with_threads};

use crate::thread_settings::{in_child_with, is_child};
use crate::{allocations, fake};

/// A dense layer whose sums begin behind so many terms, and end as `last` says.
fn layer(call: &mut KernelCall<'_>, terms: usize, last: fn(f32) -> f32) -> Result<()> {
    let [x, w, y] = call.operands()?;
    let (x, w) = (TensorRef::<f32>::try_from(x)?, TensorRef::<f32>::try_from(w)?);
    let mut y = TensorMut::<f32>::try_from(y)?;
    for i in 0..y.shape()[0] {
        for j in 0..y.shape()[1] {
            y[[i, j]] = last((terms..x.shape()[1]).map(|k| x[[i, k]] * w[[j, k]]).sum());
        }
    }
    Ok(())
}

/// A dense layer as an operation, whose nest computes what the micro-kernels compute.
fn dense(kernel: &'static Kernel) -> KernelOp {
    KernelOp::new(kernel, |call| layer(call, 0, |sum| sum))
}

#[test]
fn a_kernel_is_computed_by_any_of_its_candidates_and_only_by_those_that_can() {
    let op = dense(&fake::GOOD);
    let names: Vec<&str> = op.candidates().collect();
    assert_eq!(names, ["<dispatcher>", "good", "from_the_future", "greedy", "<nest>"]);
    let (x, w, mut y) = (vec![0.5f32; 6 * 7], vec![2.0f32; 5 * 7], vec![f32::NAN; 6 * 5]);
    let mut call = || {
        let (x, w) = (TensorRef::new(&x, &[6, 7]).unwrap(), TensorRef::new(&w, &[5, 7]).unwrap());
        let y = TensorMut::new(&mut y, &[6, 5]).unwrap();
        tuning::scope(true, || op.call_args(&mut [x.into(), w.into(), y.into()])).unwrap();
    };
    call();
    call();
    assert_eq!(y, [7.0; 30]);
    let report = &op.reports()[0];
    let is_valid = |at: usize| matches!(report.candidates[at].1, Outcome::Timed(_) | Outcome::Dropped(_));
    assert!(is_valid(0) && is_valid(1) && is_valid(4), "{report:?}");
    assert!(report.candidates[2].1.fault().unwrap().contains("compiled for"), "{report:?}");
    assert!(report.candidates[3].1.fault().unwrap().contains("scratch memory"), "{report:?}");
    let refused = op.call_args(&mut []).unwrap_err().to_string();
    assert_eq!(refused, "dense: it takes 3 arguments, but was called with 0");
}

#[test]
fn a_candidate_that_leaves_out_a_term_or_an_element_of_a_kernel_is_wrong() {
    type Nest = fn(&mut KernelCall<'_>) -> Result<()>;
    let without_a_term: Nest = |call| layer(call, 1, |sum| sum);
    let nothing: Nest = |_| Ok(());
    // Of what is positive that is the product.
    let magnitude: Nest = |call| layer(call, 0, f32::abs);
    for nest in [without_a_term, nothing, magnitude] {
        let op = KernelOp::new(&fake::GOOD, nest);
        let (x, w, mut y) = (vec![0.5f32; 6 * 70], vec![2.0f32; 5 * 70], vec![f32::NAN; 6 * 5]);
        let (x, w) = (TensorRef::new(&x, &[6, 70]).unwrap(), TensorRef::new(&w, &[5, 70]).unwrap());
        let y = TensorMut::new(&mut y, &[6, 5]).unwrap();
        tuning::scope(true, || op.call_args(&mut [x.into(), w.into(), y.into()])).unwrap();
        let outcome = &op.reports()[0].candidates[4].1;
        assert!(matches!(outcome, Outcome::Wrong(what) if what.contains("the default computes")), "{outcome:?}");
    }
}

#[test]
fn timed_calls_go_through_operands_in_turn_if_that_is_set() {
    let name = "timed_calls_go_through_operands_in_turn_if_that_is_set";
    if !is_child(name) {
        return in_child_with("tunable::kernels", name, ("DIETCODE_TUNABLE_ROTATION_MIB", "1"));
    }
    let seen = |rotation: Option<u64>| {
        static SEEN: Mutex<Vec<(usize, u32)>> = Mutex::new(Vec::new());
        SEEN.lock().unwrap().clear();
        rotation.into_iter().for_each(|bytes| tuning::Settings::new().rotation(bytes).apply().unwrap());
        let op = KernelOp::new(&fake::GOOD, |call| {
            let [x, _, _] = call.operands()?;
            let x = TensorRef::<f32>::try_from(x)?;
            SEEN.lock().unwrap().push((x.as_ptr().addr(), x[[5, 69]].abs().to_bits()));
            layer(call, 0, |sum| sum)
        });
        let (x, w, mut y) = (vec![0.5f32; 6 * 70], vec![2.0f32; 5 * 70], vec![f32::NAN; 6 * 5]);
        let (x, w) = (TensorRef::new(&x, &[6, 70]).unwrap(), TensorRef::new(&w, &[5, 70]).unwrap());
        let y = TensorMut::new(&mut y, &[6, 5]).unwrap();
        tuning::scope(true, || op.call_args(&mut [x.into(), w.into(), y.into()])).unwrap();
        let outcome = &op.reports()[0].candidates[4].1;
        assert!(matches!(outcome, Outcome::Timed(_) | Outcome::Dropped(_)), "{outcome:?}");
        let (places, elements): (HashSet<usize>, HashSet<u32>) = SEEN.lock().unwrap().iter().copied().unzip();
        assert_eq!(elements.len(), 1, "all operands hold the same");
        places.len()
    };
    // As the environment has it, of which the settings go ahead.
    assert!(seen(None) > 1);
    assert_eq!(seen(Some(0)), 1);
    // Of two sets of three pages.
    assert_eq!(seen(Some(4 * 4096)), 2);
}

#[test]
fn each_field_of_a_kernels_key_matters_and_nothing_else_does() {
    let op = dense(&fake::GOOD);
    let (x, w, mut y) = (vec![0.5_f32; 4096], vec![2.0_f32; 4096], vec![0.0_f32; 4096]);
    let aligned = |data: &[f32]| (0..16).find(|at| data[*at..].as_ptr().addr().is_multiple_of(64)).unwrap();
    let (x0, w0, y0) = (aligned(&x), aligned(&w), aligned(&y));
    let mut known = 0;
    let mut is_new = |threads: usize, [m, n, k]: [usize; 3], offset: usize, stride: usize| {
        let x = TensorRef::with_strides(&x[x0 + offset..], &[m, k], &[stride.max(k), 1]).unwrap();
        let w = TensorRef::new(&w[w0..w0 + n * k], &[n, k]).unwrap();
        let y = TensorMut::new(&mut y[y0..y0 + m * n], &[m, n]).unwrap();
        let tuned = || op.call_args(&mut [x.into(), w.into(), y.into()]);
        with_threads(threads, || tuning::scope(true, tuned)).unwrap();
        let before = std::mem::replace(&mut known, op.reports().len());
        known > before
    };
    let shape = [6, 5, 8];
    assert!(is_new(1, shape, 0, 0));
    for (what, threads, shape, offset, stride) in [
        ("M", 1, [7, 5, 8], 0, 0),
        ("N", 1, [6, 4, 8], 0, 0),
        ("K", 1, [6, 5, 9], 0, 0),
        ("threads", 2, shape, 0, 0),
        ("alignment", 1, shape, 8, 0),
        ("a lesser alignment", 1, shape, 1, 0),
        ("rows apart by lines", 1, shape, 0, 32),
        ("rows apart", 1, shape, 0, 33),
    ] {
        assert!(is_new(threads, shape, offset, stride), "{what}");
        assert!(!is_new(threads, shape, offset, stride), "{what} again");
    }
    assert!(!is_new(1, shape, 16, 0), "an address that is as well aligned");
    assert!(!is_new(1, shape, 0, 48), "rows apart by other lines");
    let texts: Vec<String> = op.reports().into_iter().map(|report| report.key).collect();
    let expected = "nest=0000000000001234 M=6 K=8 N=5 x=f32/apart64/64 w=f32/dense/64 y=f32/dense/64 threads=1";
    assert!(texts.iter().any(|text| text == expected), "{texts:?}");
    let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "keys that differ have other texts");
}

#[test]
fn a_set_adds_the_configurations_that_serve_the_kernel() {
    const fn entry(kernel: &'static str, source_hash: u64) -> Entry {
        Entry { kernel, source_hash, cpu: Some(CpuRow { table: &fake::LINKED, row: 0 }), cuda: None }
    }
    const fn configuration(name: &'static str, entries: &'static [Entry]) -> Configuration {
        Configuration { name, family: "local", parameters: "{}", entries }
    }
    static SET: Set = Set {
        config: "sets/cpu.json",
        cpu: Ok(()),
        cuda: Err("not asked for"),
        cuda_host: Err("not asked for"),
        configurations: &[
            configuration("first", &[entry("conv", 1), entry("dense", 0x1234)]),
            configuration("other_nest", &[entry("dense", 0x4321)]),
            configuration("other_kernel", &[entry("conv", 0x1234)]),
        ],
    };
    let mut op = dense(&fake::GOOD);
    assert_eq!(op.register_all(&SET).unwrap(), 1);
    assert_eq!(op.candidates().last(), Some("sets/cpu.json/first"));
    assert!(op.register_all(&SET).unwrap_err().to_string().contains("already"));
}

#[test]
fn a_hit_allocates_nothing() {
    let op = dense(&fake::GOOD);
    let (x, w, mut y) = ([0.5f32; 6], [2.0f32; 6], [0.0f32; 4]);
    let mut call = || {
        let (x, w) = (TensorRef::new(&x, &[2, 3]).unwrap(), TensorRef::new(&w, &[2, 3]).unwrap());
        let y = TensorMut::new(&mut y, &[2, 2]).unwrap();
        op.call_args(&mut [x.into(), w.into(), y.into()]).unwrap();
    };
    let allocated = with_threads(1, || {
        tuning::scope(true, || {
            call();
            allocations::during(call)
        })
    });
    assert_eq!(allocated, 0);
}

#[test]
fn empty_outputs_are_the_defaults_and_sums_of_nothing_are_tuned() {
    let op = dense(&fake::GOOD);
    let call = |m: usize, k: usize| {
        let (x, w, mut y) = (vec![0.5f32; m * k], vec![2.0f32; k], vec![f32::NAN; m]);
        let (x, w) = (TensorRef::new(&x, &[m, k]).unwrap(), TensorRef::new(&w, &[1, k]).unwrap());
        let view = TensorMut::new(&mut y, &[m, 1]).unwrap();
        tuning::scope(true, || op.call_args(&mut [x.into(), w.into(), view.into()])).unwrap();
        y
    };
    assert!(call(0, 3).is_empty() && op.reports().is_empty());
    assert_eq!(call(2, 0), [0.0, 0.0]);
    assert_eq!(op.reports().len(), 1, "a sum of nothing is stored");
}
