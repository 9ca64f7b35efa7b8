//! nvcc, and the one place that says with which flags it is called.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::process::output_limited;
use super::super::toolchain;
use super::find::{Driver, find};
use super::{ComputeCapability, KernelReport};
use crate::scratch::Scratch;
use crate::{Error, Result};

/// A CUDA compiler that was checked to be new enough, with the host compiler that it preprocesses with.
#[derive(Clone, Debug)]
pub struct Nvcc {
    driver: Driver,
    host: Host,
    limit: Duration,
}

/// The C++ compiler behind nvcc.
#[derive(Clone, Debug)]
struct Host {
    /// None where `NVCC_CCBIN` names one, which nvcc reads itself.
    path: Option<PathBuf>,
    /// The first line of `--version`, or what `NVCC_CCBIN` says.
    version: String,
}

/// What a translation unit became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// A cubin, or a fatbin for several devices; `cuModuleLoadData` takes either.
    #[serde(skip)]
    pub image: Vec<u8>,
    /// One for each kernel on each device, sorted by capability and symbol.
    pub report: Vec<KernelReport>,
}

impl Compiled {
    /// The report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has no key that is not text") + "\n"
    }
}

/// What every translation unit is compiled with, besides the devices.
const FLAGS: &[&str] = &[
    "-O3",
    "-std=c++17",
    // Profilers show the generated line of an instruction. It costs nothing at run time.
    "-lineinfo",
    // The compile report.
    "-Xptxas",
    "-v",
    // Device code may call the constexpr functions of headers.
    "--expt-relaxed-constexpr",
];

/// The name of the file in which nvcc finds a translation unit, and which its messages name.
const SOURCE: &str = "kernel.cu";

/// No translation unit of this project takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(300);

impl Nvcc {
    /// Finds nvcc: `NVCC` names it; else it stands in `CUDA_HOME` or `CUDA_PATH`, on `PATH`, in `DIETCODE_TOOLKIT`, or
    /// among the wheels of `python3`. The first that is new enough is taken.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Unavailable`] if there is none or no C++ compiler, with what to install.
    pub fn find() -> Result<Nvcc> {
        Nvcc::find_with(|name| std::env::var_os(name))
    }

    /// Takes this program, whatever the environment names.
    ///
    /// # Errors
    ///
    /// As [`Nvcc::find`].
    pub fn named(path: &Path) -> Result<Nvcc> {
        Nvcc::find_with(|name| if name == "NVCC" { Some(path.into()) } else { std::env::var_os(name) })
    }

    fn find_with(variable: impl Fn(&str) -> Option<OsString>) -> Result<Nvcc> {
        let driver = find(variable)?;
        let host = match std::env::var_os("NVCC_CCBIN").filter(|value| !value.is_empty()) {
            Some(named) => Host { path: None, version: named.to_string_lossy().into_owned() },
            None => Host::find()?,
        };
        Ok(Nvcc { driver, host, limit: LIMIT })
    }

    /// Gives each compilation this long instead of five minutes.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Nvcc {
        Nvcc { limit, ..self }
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.driver.path
    }

    /// Such as `(13, 0)`.
    pub fn release(&self) -> (u32, u32) {
        self.driver.release
    }

    /// Such as `13.0.88`.
    pub fn version(&self) -> &str {
        &self.driver.version
    }

    /// What the C++ compiler behind it says of its version.
    pub fn host_version(&self) -> &str {
        &self.host.version
    }

    /// The folder that holds `bin`, `include` and the libraries; links to the program are followed.
    pub fn toolkit(&self) -> Option<PathBuf> {
        let path = fs::canonicalize(&self.driver.path).ok()?;
        Some(path.parent()?.parent()?.to_owned())
    }

    /// All arguments but the files: a cubin for one device; for several a fatbin, with the PTX of the newest for those to
    /// come.
    ///
    /// # Errors
    ///
    /// An input error if there is no device.
    pub fn flags(&self, devices: &[ComputeCapability]) -> Result<Vec<OsString>> {
        let devices: BTreeSet<ComputeCapability> = devices.iter().copied().collect();
        let mut flags: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        if let Some(host) = &self.host.path {
            flags.extend(["-ccbin".into(), host.into()]);
        }
        let newest = devices.last().ok_or_else(|| Error::input("nothing to compile for: name at least one device"))?;
        if devices.len() == 1 {
            flags.extend(["-cubin".into(), format!("-arch={newest}").into()]);
            return Ok(flags);
        }
        flags.push("-fatbin".into());
        let native = devices.iter().map(|device| format!("-gencode=arch=compute_{0},code=sm_{0}", device.number()));
        let ptx = format!("-gencode=arch=compute_{0},code=compute_{0}", newest.number());
        flags.extend(native.chain([ptx]).map(OsString::from));
        Ok(flags)
    }

    /// A command that compiles one `.cu` for these devices, with headers from a folder.
    ///
    /// # Errors
    ///
    /// An input error if there is no device.
    pub fn command(
        &self,
        source: &Path,
        output: &Path,
        devices: &[ComputeCapability],
        include: &Path,
    ) -> Result<Command> {
        let mut command = Command::new(&self.driver.path);
        command.args(self.flags(devices)?).arg("-I").arg(include).arg("-o").arg(output).arg(source).env("LC_ALL", "C");
        Ok(command)
    }

    /// Compiles a translation unit; `headers` are (name, text) of what it may include besides the toolkit's.
    ///
    /// The image is the same every time, if all functions have external linkage: nvcc gives `static` ones names of its own.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Failed`] with the compiler's words if it refuses the source, or if it takes too long;
    /// [`crate::ErrorKind::Unavailable`] if it cannot be run at all; an input error if there is no device.
    pub fn compile(&self, source: &str, devices: &[ComputeCapability], headers: &[(&str, &str)]) -> Result<Compiled> {
        let unavailable = |e| Error::unavailable("cannot run nvcc in a temporary folder").caused_by(e);
        let folder = Scratch::new()?;
        for (name, text) in headers.iter().chain([&(SOURCE, source)]) {
            fs::write(folder.path().join(name), placed(name, text)).map_err(unavailable)?;
        }
        let mut command = self.command(Path::new(SOURCE), Path::new("image"), devices, Path::new("."))?;
        command.current_dir(folder.path()).env("TMPDIR", folder.path());
        let output = output_limited(&mut command, self.limit).map_err(unavailable)?.ok_or_else(|| {
            let message = format!("nvcc did not end within {} s: {}", self.limit.as_secs_f64(), list(devices));
            Error::failed(message)
        })?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        if !output.status.success() {
            let message = format!("nvcc {} refuses a kernel for {}:\n{}", self.version(), list(devices), words(&text));
            return Err(Error::failed(message));
        }
        let image = fs::read(folder.path().join("image")).map_err(unavailable)?;
        Ok(Compiled { image, report: KernelReport::parse(&text) })
    }
}

impl Host {
    fn find() -> Result<Host> {
        let none_found = |cause: &dyn std::fmt::Display| {
            Error::unavailable(format!(
                "no C++ compiler was found, which nvcc needs ({cause}): install g++ (on Debian and Ubuntu: apt-get \
                     install g++), or name one in the environment variable CXX or NVCC_CCBIN"
            ))
        };
        let tool = toolchain::tool(true, none_found)?;
        let version = toolchain::version(&tool).map_err(|cause| none_found(&cause))?;
        Ok(Host { path: Some(tool.path().to_owned()), version })
    }
}

/// A file that says that it stands elsewhere: the image names its sources, and is to be free of where it was made.
fn placed(name: &str, text: &str) -> String {
    format!("#line 1 \"/dietcode/{name}\"\n{text}")
}

fn list(devices: &[ComputeCapability]) -> String {
    devices.iter().map(ComputeCapability::to_string).collect::<Vec<_>>().join(", ")
}

/// What the compiler complains of, without its report.
fn words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("ptxas info") && !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const SCALE: &str = r#"
        #include "factor.h"
        extern "C" __global__ void scale(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor(); }
    "#;
    const HEADERS: &[(&str, &str)] = &[("factor.h", "__device__ __forceinline__ float factor() { return 3.0f; }\n")];

    fn nvcc() -> Nvcc {
        Nvcc::find().expect("`cargo xtask toolkit` installs nvcc")
    }

    fn devices(names: &[&str]) -> Vec<ComputeCapability> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_kernel_becomes_a_cubin_with_its_report_the_same_every_time() {
        let compile = || nvcc().compile(SCALE, &devices(&["sm_90"]), HEADERS).unwrap();
        let compiled = compile();
        assert!(compiled.image.starts_with(b"\x7fELF"));
        let [report] = compiled.report.as_slice() else { panic!("{:?}", compiled.report) };
        assert_eq!((report.symbol.as_str(), report.capability.to_string().as_str()), ("scale", "sm_90"));
        assert!((1..=32).contains(&report.registers) && !report.spills(), "{report:?}");
        assert!(compile() == compiled, "two images differ");
    }

    #[test]
    fn several_devices_share_a_fatbin() {
        let compiled = nvcc().compile(SCALE, &devices(&["sm_90", "sm_75", "sm_80", "sm_80"]), HEADERS).unwrap();
        assert_eq!(compiled.image[..4], 0xBA55_ED50_u32.to_le_bytes());
        let found: Vec<String> = compiled.report.iter().map(|report| report.capability.to_string()).collect();
        assert_eq!(found, ["sm_75", "sm_80", "sm_90"]);
    }

    #[test]
    fn a_refused_kernel_is_told_in_the_compilers_words() {
        let error = nvcc().compile("__global__ void k() { y = 1; }", &devices(&["sm_80"]), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        let text = error.to_string();
        assert!(
            text.contains("kernel.cu(1)") && text.contains("\"y\" is undefined") && text.contains("sm_80"),
            "{text}"
        );
    }

    #[test]
    fn a_limit_ends_the_compiler() {
        let hurried = nvcc().with_limit(Duration::from_millis(1));
        let error = hurried.compile(SCALE, &devices(&["sm_80"]), HEADERS).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("did not end within 0.001 s"), "{error}");
    }

    #[test]
    fn without_a_device_there_is_nothing_to_compile_for() {
        assert_eq!(nvcc().compile(SCALE, &[], HEADERS).unwrap_err().kind(), ErrorKind::Input);
    }
}
