//! Device memory: there and back, not enough of it, parts of it.

use dietcode_core::runtime::cuda::{CudaTensor, Device};
use dietcode_core::runtime::{Tensor, TensorRef};
use dietcode_core::{ErrorKind, bf16, f16};

#[test]
fn what_was_uploaded_is_downloaded() {
    let device = Device::cuda_host();
    for shape in [&[][..], &[1], &[7], &[0, 3], &[2, 3, 5]] {
        let x = Tensor::from_fn(shape, |at| f16::from_f32(at as f32)).unwrap();
        let there = CudaTensor::upload(&device, &x).unwrap();
        assert_eq!(there.shape(), shape);
        assert_eq!(there.download().unwrap().as_slice(), x.as_slice());
    }
}

#[test]
fn a_view_with_strides_becomes_dense() {
    let data: Vec<f32> = (0..60).map(|at| at as f32).collect();
    let x = TensorRef::with_strides(&data[2..], &[2, 3, 2], &[30, 8, 1]).unwrap();
    let there = CudaTensor::upload(&Device::cuda_host(), x).unwrap();
    let expected = [2.0, 3.0, 10.0, 11.0, 18.0, 19.0, 32.0, 33.0, 40.0, 41.0, 48.0, 49.0];
    assert_eq!(there.download().unwrap().as_slice(), expected);
}

#[test]
fn fresh_memory_is_of_no_use() {
    let device = Device::cuda_host();
    let fresh = CudaTensor::<bf16>::uninitialised(&device, &[3, 3]).unwrap().download().unwrap();
    assert!(fresh.as_slice().iter().all(|value| value.is_nan()));
    assert!(CudaTensor::full(&device, &[3], 2.5_f32).unwrap().download().unwrap().as_slice() == [2.5; 3]);
    assert!(CudaTensor::<f32>::zeros(&device, &[3]).unwrap().download().unwrap().as_slice() == [0.0; 3]);
}

#[test]
fn too_large_a_tensor_is_an_error_and_the_next_one_is_not() {
    let device = Device::cuda_host();
    for shape in [&[1 << 31, 4][..], &[1 << 40], &[1 << 61]] {
        let error = CudaTensor::<f32>::full(&device, shape, 1.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().starts_with("cuda-host: cannot allocate"), "{error}");
    }
    assert!(CudaTensor::<f32>::zeros(&device, &[usize::MAX, 2]).is_err(), "a shape that there cannot be");
    assert_eq!(CudaTensor::full(&device, &[2], 1.0_f32).unwrap().download().unwrap().as_slice(), [1.0; 2]);
}

#[test]
fn parts_are_in_the_tensor_or_an_error() {
    let mut x = CudaTensor::<f32>::zeros(&Device::cuda_host(), &[4, 6]).unwrap();
    assert_eq!(x.view().narrow(0, 4..4).unwrap().shape(), [0, 6]);
    assert_eq!(
        x.view().narrow(1, 3..7).unwrap_err().to_string(),
        "a tensor of shape [4, 6] has no indices 3..7 in dimension 1"
    );
    assert!(x.view().narrow(2, 0..0).is_err());
    #[expect(clippy::reversed_empty_ranges, reason = "what it is to refuse")]
    let backwards = x.view_mut().narrow(0, 3..2);
    assert!(backwards.is_err());
    assert_eq!(x.window(24, &[0, 6], &[6, 1]).unwrap().shape(), [0, 6]);
    let beyond = x.window(25, &[0, 6], &[6, 1]).unwrap_err().to_string();
    assert_eq!(beyond, "a window begins at element 25, but the tensor has 24 elements");
    assert!(x.window_mut(usize::MAX, &[0], &[1]).is_err());
}

#[test]
fn emulated_memory_is_not_the_drivers() {
    assert!(CudaTensor::<f32>::zeros(&Device::cuda_host(), &[1]).unwrap().into_slice().is_err());
}
