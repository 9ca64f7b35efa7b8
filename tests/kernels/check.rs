//! Whether a kernel computes what its nest says.

use dietcode::runtime::cuda::{CudaTensor, Device};
use dietcode::runtime::tunable::tuning;
use dietcode::runtime::{Tensor, with_threads};

use crate::ops::{Call, Op};

/// The smallest normal number of the element types, from which on the error of a store is relative.
const SMALL: f64 = 1.0 / (1 << 14) as f64;

/// Runs a kernel and its nest on fresh inputs; each element may differ by what rounding explains, and no more.
///
/// A sum of n products, in any order, is within γ(n)·Σ|xᵢ·wᵢ| of the exact one, where γ(n) = n·u / (1 − n·u) and u = 2⁻²⁴
/// (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). Both sides are such sums, and the nest itself, run on
/// the absolute values, gives Σ|xᵢ·wᵢ|. Each side then rounds once to the output's type.
pub(crate) fn agree(op: &Op, dims: &[usize]) {
    agrees(op, dims, &outcome(op, dims));
}

/// The same of the kernel as an operation: untuned, whose bits are the kernel's, while it is tuned, and when it is.
pub(crate) fn agree_tuned(op: &Op, dims: &[usize]) {
    let outcome = |on: bool| tuning::scope(on, || outcome_of(op.tunable, op, dims));
    assert_eq!(outcome(false), outcome_of(op.kernel, op, dims), "{} at {dims:?}", op.name);
    agrees(op, dims, &outcome(true));
    agrees(op, dims, &outcome(true));
}

/// The same with the tensors on a device.
pub(crate) fn agree_there(op: &Op, device: &Device, dims: &[usize]) {
    let call = op.there.expect("the kernel was compiled for devices");
    let upload = |tensor: &Tensor<f32>| CudaTensor::upload(device, tensor).unwrap();
    let mut y = upload(&output(op, dims));
    let inputs: Vec<CudaTensor<f32>> = inputs(op, dims).iter().map(upload).collect();
    call(&inputs, &mut y).unwrap_or_else(|error| panic!("{} at {dims:?}: {error}", op.name));
    agrees(op, dims, &bits(&y.download().unwrap()));
}

fn agrees(op: &Op, dims: &[usize], found: &[u32]) {
    let inputs = inputs(op, dims);
    let mut expected = output(op, dims);
    (op.reference)(&inputs, &mut expected).unwrap();
    let mut magnitude = absolute(&output(op, dims));
    let absolute_inputs: Vec<_> = inputs.iter().map(absolute).collect();
    (op.reference)(&absolute_inputs, &mut magnitude).unwrap();

    let n = (op.roundings)(dims) as f64 * f64::from(f32::EPSILON) / 2.0;
    let gamma = n / (1.0 - n);
    assert_eq!(found.len(), expected.as_slice().len());
    for (at, found) in found.iter().enumerate() {
        let (found, expected) = (f32::from_bits(*found), expected.as_slice()[at]);
        // The magnitude is itself rounded down by at most a factor 1 − γ(n); 2.1 leaves room for that.
        let sums = 2.1 * gamma * f64::from(magnitude.as_slice()[at]) + f64::from(f32::MIN_POSITIVE);
        let (found, expected) = (f64::from(found), f64::from(expected));
        let bound = sums * (1.0 + 2.0 * op.stored) + op.stored * (found.abs() + expected.abs() + SMALL);
        let difference = found - expected;
        let name = op.name;
        assert!(difference.abs() <= bound, "{name} at {dims:?}: element {at} is {found}, the nest says {expected}");
    }
}

/// Runs a kernel and its nest on small integers, whose sums are exact in any order: both must give the same numbers, also
/// where the output's type rounds them, for they round once.
pub(crate) fn agree_exactly(op: &Op, dims: &[usize]) {
    let integer = |tensor: &Tensor<f32>| Tensor::from_fn(tensor.shape(), |at| (3.0 * tensor.as_slice()[at]).round());
    let inputs: Vec<_> = inputs(op, dims).iter().map(|tensor| integer(tensor).unwrap()).collect();
    let [mut found, mut expected] = [output(op, dims), output(op, dims)];
    (op.kernel)(&inputs, &mut found).unwrap();
    (op.reference)(&inputs, &mut expected).unwrap();
    assert_eq!(found.as_slice(), expected.as_slice(), "{} at {dims:?}", op.name);
}

/// The bits of the kernel's result on the inputs that belong to a shape.
pub(crate) fn outcome(op: &Op, dims: &[usize]) -> Vec<u32> {
    outcome_of(op.kernel, op, dims)
}

fn outcome_of(call: Call, op: &Op, dims: &[usize]) -> Vec<u32> {
    let mut y = output(op, dims);
    call(&inputs(op, dims), &mut y).unwrap_or_else(|error| panic!("{} at {dims:?}: {error}", op.name));
    bits(&y)
}

fn bits(tensor: &Tensor<f32>) -> Vec<u32> {
    tensor.as_slice().iter().map(|v| v.to_bits()).collect()
}

/// The same on so many threads.
pub(crate) fn outcome_on(threads: usize, op: &Op, dims: &[usize]) -> Vec<u32> {
    with_threads(threads, || outcome(op, dims))
}

/// Numbers between -1 and 1 that look random (the finaliser of SplitMix64).
pub(crate) fn noise(at: usize) -> f32 {
    let mut z = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 40) as f32 / (1 << 23) as f32) - 1.0
}

fn inputs(op: &Op, dims: &[usize]) -> Vec<Tensor<f32>> {
    let mut shapes = (op.shapes)(dims);
    shapes.pop();
    let seeded =
        |(seed, shape): (usize, &Vec<usize>)| Tensor::from_fn(shape, |at| noise(at + 1_000_003 * seed)).unwrap();
    shapes.iter().enumerate().map(seeded).collect()
}

/// What stands in the output before the call: numbers if it is added to, else a poison that must be gone afterwards.
fn output(op: &Op, dims: &[usize]) -> Tensor<f32> {
    let shapes = (op.shapes)(dims);
    let shape = shapes.last().expect("every kernel has an output");
    Tensor::from_fn(shape, |at| if op.accumulates { noise(at + 77) } else { f32::NAN }).unwrap()
}

fn absolute(tensor: &Tensor<f32>) -> Tensor<f32> {
    Tensor::from_fn(tensor.shape(), |at| tensor.as_slice()[at].abs()).unwrap()
}
