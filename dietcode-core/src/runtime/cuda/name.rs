//! Devices as people write them: `cpu`, `cuda`, `cuda:1`, `cuda-host`.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The name of a device, which need not be there.
///
/// ```
/// # use dietcode_core::runtime::cuda::DeviceName;
/// assert_eq!("cuda:1".parse::<DeviceName>()?, DeviceName::Cuda(1));
/// assert_eq!("cuda".parse::<DeviceName>()?.to_string(), "cuda:0");
/// assert!("cuda:one".parse::<DeviceName>().is_err());
/// # Ok::<(), dietcode_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// The processor that the program runs on.
    Cpu,
    /// The CUDA device of this ordinal, as the driver counts them.
    Cuda(usize),
    /// The emulated CUDA device, which is on every machine.
    CudaHost,
}

impl FromStr for DeviceName {
    type Err = Error;

    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with what was found and what is possible.
    fn from_str(text: &str) -> Result<DeviceName> {
        match text {
            "cpu" => Ok(DeviceName::Cpu),
            "cuda" => Ok(DeviceName::Cuda(0)),
            "cuda-host" => Ok(DeviceName::CudaHost),
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(|| {
                    Error::input(format!(
                        "there is no kind of device {text:?}; there are `cpu`, `cuda`, `cuda:<ordinal>` and `cuda-host`"
                    ))
                })?;
                ordinal_of(ordinal).map(DeviceName::Cuda).ok_or_else(|| {
                    Error::input(format!(
                        "the device {text:?} is malformed: after `cuda:` comes a number from 0 to {}, but {ordinal:?} was found",
                        i32::MAX
                    ))
                })
            }
        }
    }
}

/// Digits only: what `usize` parses otherwise, `+1` say, is no name. The driver counts devices in a C `int`.
fn ordinal_of(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ordinal: i32 = digits.then(|| text.parse().ok())??;
    usize::try_from(ordinal).ok()
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            DeviceName::CudaHost => f.write_str("cuda-host"),
        }
    }
}
