//! One function for tensors in host memory and on devices.

use dietcode::ErrorKind;
use dietcode::ops::dense;
use dietcode::runtime::Tensor;
use dietcode::runtime::cuda::{CudaTensor, Device};

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
        dense(&x, &w.view(), y_there.view_mut()),
    ] {
        let error = mixed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().starts_with("dense: its tensors must be in one place, but `x` is "), "{error}");
    }
}
