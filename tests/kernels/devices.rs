//! One function for tensors in host memory and on devices. The emulated device carries out the same `.cu` files as a real one.

use dietcode::ErrorKind;
use dietcode::ops::dense;
use dietcode::runtime::Tensor;
use dietcode::runtime::cuda::{CudaTensor, Device};

use crate::check::agree_there;
use crate::ops::OPS;
use crate::shapes;

/// Each kernel at a quarter of the ragged shapes, and far from those that it was chosen for.
#[test]
fn kernels_on_the_emulated_device_agree_with_their_nests() {
    let device = Device::cuda_host();
    for (number, op) in OPS.iter().filter(|op| op.there.is_some()).enumerate() {
        for dims in shapes::ragged(op.vars).iter().skip(number % 4).step_by(4).chain(&shapes::far(op.vars)) {
            agree_there(op, &device, dims);
        }
    }
}

/// Shapes around those of the config, so that each of the micro-kernels that were chosen has its turn.
#[test]
fn the_dense_layer_is_dispatched_on_the_emulated_device() {
    let dense = OPS.iter().find(|op| op.name == "dense").unwrap();
    for m in [1, 79, 80, 83, 384, 691, 2048] {
        agree_there(dense, &Device::cuda_host(), &[m, 65, 33]);
    }
}

#[test]
fn the_function_of_a_kernel_takes_every_kind_of_tensor_but_no_mixture() {
    let device = Device::cuda_host();
    let (x, w) = (Tensor::full(&[5, 11], 2.0_f32).unwrap(), Tensor::full(&[7, 11], 0.5).unwrap());
    let (x_there, w_there) = (CudaTensor::upload(&device, &x).unwrap(), CudaTensor::upload(&device, &w).unwrap());
    let mut y = Tensor::zeros(&[5, 7]).unwrap();
    let mut y_there = CudaTensor::uninitialised(&device, &[5, 7]).unwrap();

    dense(&x, w.view(), &mut y).unwrap();
    assert_eq!(y.as_slice(), [11.0; 35]);
    for mixed in [
        dense(&x_there, &w, &mut y_there),
        dense(x_there.view(), &w_there, &mut y),
        dense(&x, w.view(), y_there.view_mut()),
    ] {
        let error = mixed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().starts_with("dense: its tensors must be in one place, but `x` is "), "{error}");
    }
}
