//! What a device says of itself, also where there is none.

use dietcode_core::ErrorKind;
use dietcode_core::runtime::cuda::{Device, DeviceName};

#[test]
fn a_device_that_is_not_there_is_an_error() {
    match Device::count() {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let same = Device::cuda(0).unwrap_err();
            assert_eq!(same.to_string(), error.to_string());
            assert!(same.to_string().contains("CUDA device") || same.to_string().contains("finds no device"), "{same}");
        }
        Ok(devices) => {
            let error = Device::cuda(devices).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let message = format!("there is no device cuda:{devices}: the driver finds {devices}, counted from cuda:0");
            assert_eq!(error.to_string(), message);
        }
    }
    assert_eq!(Device::open(DeviceName::Cuda(i32::MAX as usize)).unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn the_emulated_device_is_one_device_and_one_per_capability() {
    let device = Device::cuda_host();
    assert_eq!(
        (device.name(), device.to_string().as_str()),
        (DeviceName::CudaHost, "cuda-host (emulated CUDA device)")
    );
    assert_eq!(device, Device::cuda_host());
    assert!(
        device != Device::cuda_host_like((9, 0)) && Device::cuda_host_like((8, 0)) != Device::cuda_host_like((8, 6))
    );
    assert_eq!(Device::cuda_host_like((7, 5)).capability(), (7, 5));
    assert_eq!((device.limits().max_blocks, device.limits().max_threads), (i32::MAX as u32, 1024));
    device.synchronize().unwrap();
}
