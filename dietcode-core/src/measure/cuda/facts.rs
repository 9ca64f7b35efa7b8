//! What a device says of itself, and what the driver's tool says of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use serde::{Deserialize, Serialize};

use super::CudaDevice;
use super::cublas::CuBlas;
use super::nvml::{LIBRARY, Nvml};
use crate::machine::output_limited;
use crate::runtime::cuda::Device;

/// A device on which measurements were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Such as `cuda:0`.
    pub name: String,
    /// What its maker calls it.
    pub model: String,
    /// Whether it is the emulated one: then its times mean nothing.
    pub emulated: bool,
    /// Its compute capability, (9, 0) for sm_90.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Bytes of its second-level cache; 0 if it does not say.
    pub l2_bytes: u64,
    /// The highest clock of its multiprocessors in kHz, where the driver says it.
    pub clock_khz: Option<i32>,
    /// The highest clock of its memory in kHz.
    pub memory_clock_khz: Option<i32>,
    /// The width of its memory in bits.
    pub memory_bus_bits: Option<i32>,
    /// Whether its memory corrects errors.
    pub ecc: Option<bool>,
    /// The version of CUDA that the driver is of, such as `13.0`.
    pub driver_cuda: Option<String>,
    /// The version of cuBLAS.
    pub cublas: Option<i32>,
    /// Why there is none.
    pub no_cublas: Option<String>,
    /// Why samples are without clocks and temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_conditions: Option<String>,
    /// What `nvidia-smi` says at this moment: the driver, clocks, power, temperature. Empty where it is not there.
    pub nvidia_smi: BTreeMap<String, String>,
}

/// What `nvidia-smi` is queried for; nothing is set.
const QUERY: &[&str] = &[
    "driver_version",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.draw",
    "power.limit",
    "temperature.gpu",
    "utilization.gpu",
    "pstate",
];

/// It answers within a second.
const PATIENCE: Duration = Duration::from_secs(10);

impl DeviceFacts {
    /// Queries a device.
    pub(super) fn of(
        device: &Device,
        cublas: &Result<CuBlas, String>,
        nvml: &Result<Option<Nvml>, String>,
    ) -> DeviceFacts {
        let limits = device.limits();
        let context = device.stream().map(|stream| stream.context());
        let ask = |attribute| context.and_then(|context| context.attribute(attribute).ok());
        DeviceFacts {
            name: device.name().to_string(),
            model: device.model().to_owned(),
            emulated: CudaDevice::of(device) == CudaDevice::Emulated,
            capability: device.capability(),
            multiprocessors: limits.multiprocessors,
            memory_bytes: limits.memory_bytes,
            l2_bytes: ask(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map_or(0, |n| u64::try_from(n).unwrap_or(0)),
            clock_khz: ask(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            memory_clock_khz: ask(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            memory_bus_bits: ask(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            ecc: ask(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED).map(|n| n != 0),
            driver_cuda: context.and_then(|_| driver_version()),
            cublas: cublas.as_ref().ok().map(|library| library.version),
            no_cublas: cublas.as_ref().err().cloned(),
            no_conditions: nvml.as_ref().err().cloned(),
            nvidia_smi: context.map_or_else(BTreeMap::new, |context| nvidia_smi(context)),
        }
    }
}

/// 13000 is 13.0.
fn driver_version() -> Option<String> {
    let mut version = 0;
    // SAFETY: the driver is loaded, for there is a context; it writes one integer.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    (status == sys::CUresult::CUDA_SUCCESS).then(|| format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// The name of a device among all of the machine, also those that this process does not see.
fn identifier(context: &CudaContext) -> Option<String> {
    let uuid = context.uuid().ok()?;
    let hex: Vec<String> = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    Some(format!(
        "GPU-{}-{}-{}-{}-{}",
        hex[..4].concat(),
        hex[4..6].concat(),
        hex[6..8].concat(),
        hex[8..10].concat(),
        hex[10..].concat()
    ))
}

/// NVML for a device; none for the emulated one.
pub(super) fn nvml(device: &Device) -> Result<Option<Nvml>, String> {
    let Some(stream) = device.stream() else { return Ok(None) };
    let id = identifier(stream.context())
        .ok_or("the driver does not say the device's identifier, by which NVML is asked")?;
    Nvml::load(Path::new(LIBRARY), &id).map(Some)
}

/// One answer for each question. The device is named by its identifier: the tool counts devices that this process does not see.
fn nvidia_smi(context: &CudaContext) -> BTreeMap<String, String> {
    let Some(id) = identifier(context) else { return BTreeMap::new() };
    let mut command = Command::new("nvidia-smi");
    command.arg(format!("--id={id}")).arg(format!("--query-gpu={}", QUERY.join(","))).arg("--format=csv,noheader");
    let Ok(Some(output)) = output_limited(&mut command, PATIENCE) else { return BTreeMap::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<&str> = text.trim().split(", ").collect();
    // Without an answer to each question it is not known which is which.
    if !output.status.success() || answers.len() != QUERY.len() {
        return BTreeMap::new();
    }
    QUERY.iter().zip(answers).map(|(name, answer)| ((*name).to_owned(), answer.trim().to_owned())).collect()
}
