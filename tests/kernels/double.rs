//! Kernels that compute in `f64`.

use std::sync::LazyLock;

use dietcode::Result;
use dietcode::ops::{dense_f64, scaled_exp_f64};
use dietcode::runtime::cuda::{CudaTensor, Device};
use dietcode::runtime::tunable::{KernelOp, tuning};
use dietcode::runtime::{Tensor, with_threads};

use crate::check::noise;
use crate::shapes;

/// Numbers with 53 bits.
fn number(at: usize) -> f64 {
    f64::from(noise(at)) + f64::from(noise(at + 7_919)) * 2f64.powi(-24)
}

fn operands(dims: &[usize], number: impl Fn(usize) -> f64) -> Result<[Tensor<f64>; 2]> {
    let [m, n, k] = *dims else { unreachable!("three shape variables") };
    Ok([Tensor::from_fn(&[m, k], &number)?, Tensor::from_fn(&[n, k], |at| number(at + 1_000_003))?])
}

/// As `check::agree`, with u = 2⁻⁵³.
fn agrees(dims: &[usize], [x, w]: &[Tensor<f64>; 2], y: &Tensor<f64>) {
    let mut expected = Tensor::full(y.shape(), f64::NAN).unwrap();
    dense_f64::reference(x, w, &mut expected).unwrap();
    let absolute = |of: &Tensor<f64>| Tensor::from_fn(of.shape(), |at| of.as_slice()[at].abs()).unwrap();
    let mut magnitude = Tensor::zeros(y.shape()).unwrap();
    dense_f64::reference(&absolute(x), &absolute(w), &mut magnitude).unwrap();
    let n = dims[2] as f64 * f64::EPSILON / 2.0;
    let gamma = n / (1.0 - n);
    for (at, found) in y.as_slice().iter().enumerate() {
        let (expected, bound) = (expected.as_slice()[at], 2.1 * gamma * magnitude.as_slice()[at]);
        assert!((found - expected).abs() <= bound, "{dims:?}: element {at} is {found}, the nest says {expected}");
    }
}

#[test]
fn a_dense_layer_of_f64_is_within_its_bound() {
    static OP: LazyLock<KernelOp> = LazyLock::new(dense_f64::tunable);
    let device = Device::cuda_host();
    for (at, dims) in shapes::ragged(3).iter().chain(&shapes::far(3)).enumerate() {
        let both = operands(dims, number).unwrap();
        let [x, w] = &both;
        let mut y = Tensor::full(&dims[..2], f64::NAN).unwrap();
        with_threads(1 + at % 4, || dense_f64(x, w, &mut y)).unwrap();
        agrees(dims, &both, &y);
        if at % 8 == 0 {
            let mut tuned = Tensor::full(&dims[..2], f64::NAN).unwrap();
            tuning::scope(true, || dense_f64::tuned(&OP, x, w, &mut tuned)).unwrap();
            agrees(dims, &both, &tuned);
        }
        if at % 4 == 0 {
            let [x, w] = [x, w].map(|of| CudaTensor::upload(&device, of).unwrap());
            let mut there = CudaTensor::upload(&device, &Tensor::full(&dims[..2], f64::NAN).unwrap()).unwrap();
            dense_f64(&x, &w, &mut there).unwrap();
            agrees(dims, &both, &there.download().unwrap());
        }
    }
}

/// Sums of integers beyond 2²⁴, which `f32` does not hold, up to 2⁵³: exact in any order.
#[test]
fn sums_of_large_integers_are_exact() {
    for dims in shapes::ragged(3).iter().chain(&shapes::far(3)) {
        let integer = |at: usize| (f64::from(noise(at)) * f64::from(1 << 21)).round();
        let [x, w] = operands(dims, integer).unwrap();
        let [mut found, mut expected] = [0, 1].map(|_| Tensor::full(&dims[..2], f64::NAN).unwrap());
        dense_f64(&x, &w, &mut found).unwrap();
        dense_f64::reference(&x, &w, &mut expected).unwrap();
        assert_eq!(found.as_slice(), expected.as_slice(), "{dims:?}");
    }
}

/// In `f64` a result is off by few units of 2⁻⁵²; rounded once to `f32`, it is the nest's but where that stands between two numbers.
#[test]
fn what_is_stored_as_f32_is_rounded_once() {
    for (m, n) in [(1, 1), (3, 17), (5, 64), (2, 131)] {
        let x = Tensor::from_fn(&[m, n], noise).unwrap();
        let top = Tensor::from_fn(&[m], |at| 1.0 + number(at)).unwrap();
        let [mut found, mut expected] = [0, 1].map(|_| Tensor::full(&[m, n], f32::NAN).unwrap());
        scaled_exp_f64(&x, &top, 1.75, &mut found).unwrap();
        scaled_exp_f64::reference(&x, &top, 1.75, &mut expected).unwrap();
        for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!((found - expected).abs() <= f32::EPSILON * expected.abs(), "{found}, the nest says {expected}");
        }
        let same = found.as_slice().iter().zip(expected.as_slice()).filter(|(a, b)| a == b).count();
        assert!(1000 * same >= 999 * m * n, "{same} of {}", m * n);
    }
}
