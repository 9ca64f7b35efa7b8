//! What the driver says, as errors of this crate.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use super::context::Context;
use crate::parallel::lock;
use crate::runtime::cuda::name::DeviceName;
use crate::{Error, ErrorKind};

/// "cuda:0 cannot be asked: …"
pub(super) fn of_driver(device: DeviceName, what: &str, error: DriverError) -> Error {
    let kind = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY
        | CUresult::CUDA_ERROR_NO_DEVICE
        | CUresult::CUDA_ERROR_INVALID_DEVICE
        | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE
        | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => ErrorKind::Unavailable,
        _ => ErrorKind::Failed,
    };
    Error::new(kind, format!("{device} {what}")).caused_by(error)
}

/// As [`of_driver`], on a device in use. Where a kernel that ran earlier has brought it down, the message says which was the
/// last: the driver reports it at the next call, whichever that is.
pub(super) fn of_device(context: &Context, what: &str, error: DriverError) -> Error {
    let last = lock(&context.last_launch);
    match &*last {
        Some(kernel) if is_sticky(error.0) => of_driver(
            context.name,
            &format!(
                "has failed while it ran kernels, the last launched being {kernel}; nothing runs on it until the program is \
                 started again ({what})"
            ),
            error,
        ),
        _ => of_driver(context.name, what, error),
    }
}

/// Errors of kernels that have begun, after which the driver's context is lost.
fn is_sticky(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
    )
}
