//! The clocks and the temperature of a device while something is timed, by NVML, the driver's library that `nvidia-smi` asks.
//!
//! It is loaded when a worker starts: nothing is linked against it, and nothing is set.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use libloading::Library;

use crate::measure::Conditions;

/// What the driver comes with.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

type DeviceHandle = *mut c_void;
type Ask = unsafe extern "C" fn(DeviceHandle, c_uint, *mut c_uint) -> c_int;

/// `NVML_CLOCK_SM`, `NVML_CLOCK_MEM`, `NVML_TEMPERATURE_GPU`.
const CLOCK_SM: c_uint = 1;
const CLOCK_MEMORY: c_uint = 2;
const TEMPERATURE_GPU: c_uint = 0;

/// A loaded NVML with a handle of a device.
pub(super) struct Nvml {
    device: DeviceHandle,
    clock: Ask,
    temperature: Ask,
    shutdown: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl Nvml {
    /// Loads it for the device of an identifier (`GPU-…`), or says what is missing.
    pub(super) fn load(library: &Path, uuid: &str) -> Result<Nvml, String> {
        // SAFETY: NVIDIA's library may be loaded at any time.
        let library = unsafe { Library::new(library) }
            .map_err(|e| format!("NVML, {}, cannot be loaded: {e}", library.display()))?;
        let missing = |e: libloading::Error| format!("the NVML that was found lacks a function: {e}");
        let uuid = CString::new(uuid).map_err(|_| format!("`{uuid:?}` is no identifier of a device"))?;
        // SAFETY: all versions of the library declare these functions so.
        unsafe {
            let init = *library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2").map_err(missing)?;
            let by_uuid = *library
                .get::<unsafe extern "C" fn(*const c_char, *mut DeviceHandle) -> c_int>(b"nvmlDeviceGetHandleByUUID")
                .map_err(missing)?;
            let clock = *library.get::<Ask>(b"nvmlDeviceGetClockInfo").map_err(missing)?;
            let temperature = *library.get::<Ask>(b"nvmlDeviceGetTemperature").map_err(missing)?;
            let shutdown = *library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlShutdown").map_err(missing)?;
            match init() {
                0 => {}
                status => return Err(format!("NVML does not start: its status is {status}")),
            }
            // From here on it is shut down in the end.
            let mut nvml = Nvml { device: std::ptr::null_mut(), clock, temperature, shutdown, _library: library };
            match by_uuid(uuid.as_ptr(), &raw mut nvml.device) {
                0 => {}
                status => return Err(format!("NVML does not know {}: its status is {status}", uuid.to_string_lossy())),
            }
            nvml.conditions()
                .map(|_| ())
                .map_err(|status| format!("NVML does not say clocks and temperature: its status is {status}"))?;
            Ok(nvml)
        }
    }

    /// What the device is like at this moment, or the status with which it is not told.
    pub(super) fn conditions(&self) -> Result<Conditions, i32> {
        let ask = |function: Ask, what| {
            let mut value = 0;
            // SAFETY: the handle is of this library, which writes one integer.
            match unsafe { function(self.device, what, &raw mut value) } {
                0 => Ok(value),
                status => Err(status),
            }
        };
        Ok(Conditions {
            sm_mhz: ask(self.clock, CLOCK_SM)?,
            memory_mhz: ask(self.clock, CLOCK_MEMORY)?,
            celsius: ask(self.temperature, TEMPERATURE_GPU)?,
        })
    }
}

/// What a device was like in each round of samples: it is asked once in each, and what it does not say leaves a gap.
pub(super) struct Rounds<F> {
    ask: F,
    asked: usize,
    now: Option<Conditions>,
    /// Of each implementation, one for each of its samples.
    pub(super) of: Vec<Vec<Option<Conditions>>>,
}

impl<F: FnMut() -> Option<Conditions>> Rounds<F> {
    pub(super) fn new(implementations: usize, ask: F) -> Rounds<F> {
        Rounds { ask, asked: 0, now: None, of: vec![Vec::new(); implementations] }
    }

    /// A sample of an implementation was taken.
    pub(super) fn sampled(&mut self, at: usize) {
        if self.of[at].len() == self.asked {
            self.asked += 1;
            self.now = (self.ask)();
        }
        self.of[at].push(self.now);
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: it was started once, and the handle is not used again.
        unsafe { (self.shutdown)() };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// A library that knows one device, whose clocks and temperature are these numbers.
    const STUB: &str = r#"
#include <string.h>
static int started;
int nvmlInit_v2(void) { started++; return 0; }
int nvmlShutdown(void) { return started-- == 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = &started;
    return !started ? 1 : strcmp(uuid, "GPU-1") ? 6 : 0;
}
int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *mhz) {
    *mhz = type == 1 ? 1980 : type == 2 ? 2619 : 0;
    return device != &started;
}
"#;

    const TEMPERATURE: &str = "int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius) {
    *celsius = 41; return device != &started || sensor != 0; }";

    fn built(folder: &Path, name: &str, source: &str) -> PathBuf {
        let (file, library) = (folder.join(name).with_extension("c"), folder.join(name).with_extension("so"));
        fs::write(&file, source).unwrap();
        let mut cc = Command::new("cc");
        assert!(cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).status().unwrap().success());
        library
    }

    #[test]
    fn a_device_is_asked_once_in_a_round_and_each_sample_has_its_conditions() {
        let mut asked = 0;
        let mut rounds = Rounds::new(2, || {
            asked += 1;
            (asked != 2).then_some(Conditions { sm_mhz: 1000 + asked, memory_mhz: 1, celsius: 40 })
        });
        [0, 1, 1, 0, 0, 1].into_iter().for_each(|at| rounds.sampled(at));
        let clocks = rounds.of.iter().map(|of| of.iter().map(|c| c.map(|c| c.sm_mhz)).collect::<Vec<_>>());
        assert_eq!(clocks.collect::<Vec<_>>(), [[Some(1001), None, Some(1003)]; 2]);
        assert_eq!(asked, 3);
    }

    #[test]
    fn a_device_says_its_clocks_and_temperature_and_what_is_missing_has_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let whole = built(folder.path(), "whole", &format!("{STUB}{TEMPERATURE}"));
        let nvml = Nvml::load(&whole, "GPU-1").unwrap();
        assert_eq!(nvml.conditions(), Ok(Conditions { sm_mhz: 1980, memory_mhz: 2619, celsius: 41 }));
        let old = built(folder.path(), "old", STUB);
        for (library, uuid, sentence) in [
            (&whole, "GPU-2", "NVML does not know GPU-2: its status is 6"),
            (&old, "GPU-1", "lacks a function"),
            (&folder.path().join("none.so"), "GPU-1", "none.so, cannot be loaded"),
        ] {
            let why = Nvml::load(library, uuid).err().unwrap();
            assert!(why.contains(sentence), "{why}");
        }
    }
}
