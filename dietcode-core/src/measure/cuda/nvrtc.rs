//! Compiles a candidate in this process, in a fraction of the time that starting nvcc takes.
//!
//! NVRTC is loaded when it is first asked for, and is found as nvcc is: in `CUDA_HOME`, `CUDA_PATH` or `DIETCODE_TOOLKIT`,
//! beside nvcc, where the system looks for libraries, or among Python's wheels. It needs no GPU.

mod library;

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use self::library::{Nvrtc, Program, Size, Text};
use crate::machine::cuda::{Compiled, ComputeCapability, KernelReport};
use crate::{Error, Result};

/// Whether NVRTC can be loaded on this machine.
pub fn available() -> bool {
    nvrtc().is_ok()
}

/// Compiles a translation unit to a cubin for one compute capability, with the report that nvcc makes of it.
///
/// `headers` are (name, text) of what the source includes; no other file is read. `flags` are NVRTC's, `-lineinfo` say.
///
/// # Errors
/// [`crate::ErrorKind::Unavailable`] if there is no NVRTC, with what to install; [`crate::ErrorKind::Input`] if a text has a NUL in it;
/// [`crate::ErrorKind::Failed`] with the compiler's log if the source does not compile.
pub fn compile(
    source: &str,
    headers: &[(&str, &str)],
    capability: ComputeCapability,
    flags: &[&str],
) -> Result<Compiled> {
    let compilation = Compilation::new(nvrtc()?, source, headers)?;
    let target = format!("--gpu-architecture={capability}");
    let flags =
        strings([target.as_str(), "--std=c++17", "--ptxas-options=-v"].into_iter().chain(flags.iter().copied()))?;
    let pointers = pointers(&flags);
    // SAFETY: the program is alive, and so are the flags.
    let status = unsafe { (compilation.nvrtc.compile)(compilation.program, count(&pointers), pointers.as_ptr()) };
    let log = compilation.bytes(compilation.nvrtc.log_size, compilation.nvrtc.log)?;
    let log = String::from_utf8_lossy(&log);
    let log = log.trim_end_matches('\0').trim_end();
    if status != 0 {
        let message = format!("NVRTC cannot compile it for {capability}: {}\n{log}", compilation.nvrtc.words(status));
        return Err(Error::failed(message));
    }
    let image = compilation.bytes(compilation.nvrtc.cubin_size, compilation.nvrtc.cubin)?;
    Ok(Compiled { image, report: KernelReport::parse(log) })
}

fn nvrtc() -> Result<&'static Nvrtc> {
    static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    let found = NVRTC.get_or_init(|| Nvrtc::find().map_err(|error| error.to_string()));
    found.as_ref().map_err(|why| Error::unavailable(why.clone()))
}

/// A program of NVRTC, destroyed in the end.
struct Compilation {
    nvrtc: &'static Nvrtc,
    program: Program,
}

impl Compilation {
    fn new(nvrtc: &'static Nvrtc, source: &str, headers: &[(&str, &str)]) -> Result<Compilation> {
        let source = &strings([source].into_iter())?[0];
        let (names, texts) = (strings(headers.iter().map(|h| h.0))?, strings(headers.iter().map(|h| h.1))?);
        let (names, texts) = (pointers(&names), pointers(&texts));
        let mut program = ptr::null_mut();
        let name = c"candidate.cu".as_ptr();
        // SAFETY: NVRTC copies the texts, which are alive until it returns.
        let status = unsafe {
            (nvrtc.create)(&mut program, source.as_ptr(), name, count(&names), texts.as_ptr(), names.as_ptr())
        };
        nvrtc.check(status)?;
        Ok(Compilation { nvrtc, program })
    }

    /// A result whose size is asked for first.
    fn bytes(&self, size: Size, text: Text) -> Result<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program is alive.
        self.nvrtc.check(unsafe { size(self.program, &mut len) })?;
        let mut bytes = vec![0_u8; len];
        // SAFETY: the program is alive, and there is room for as much as NVRTC has asked for.
        self.nvrtc.check(unsafe { text(self.program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        // SAFETY: it was created, and is destroyed once.
        unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

impl Nvrtc {
    fn check(&self, status: c_int) -> Result<()> {
        match status {
            0 => Ok(()),
            status => Err(Error::failed(format!("NVRTC has failed: {}", self.words(status)))),
        }
    }

    /// What a status means.
    fn words(&self, status: c_int) -> String {
        // SAFETY: it returns a constant for every number.
        unsafe { CStr::from_ptr((self.error_string)(status)) }.to_string_lossy().into_owned()
    }
}

fn strings<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<CString>> {
    let nul = |e| Error::input("what NVRTC is to compile has a NUL in it").caused_by(e);
    texts.map(|text| CString::new(text).map_err(nul)).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

fn count(pointers: &[*const c_char]) -> c_int {
    c_int::try_from(pointers.len()).expect("there are fewer than 2³¹ headers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::codegen::cuda::headers::DEVICE_HEADERS;

    const SM_90: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

    #[test]
    fn a_kernel_becomes_a_cubin() {
        assert!(available(), "`cargo xtask toolkit` installs NVRTC");
        let source =
            "#include \"dietcode.cuh\"\nextern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }\n";
        for capability in [SM_90, ComputeCapability { major: 7, minor: 5 }] {
            let Compiled { image, report } = compile(source, DEVICE_HEADERS, capability, &["-lineinfo"]).unwrap();
            assert!(image.starts_with(b"\x7fELF"));
            assert!(image.windows(5).any(|window| window == b"twice"), "{capability}");
            let [report] = report.try_into().expect("one kernel");
            assert!(report.symbol == "twice" && report.capability == capability && report.registers > 0, "{report:?}");
        }
    }

    #[test]
    fn what_does_not_compile_is_an_error_with_the_log() {
        let error = compile("__global__ void k() { missing(); }", &[], SM_90, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        let text = error.to_string();
        assert!(text.contains("candidate.cu(1)") && text.contains("\"missing\" is undefined"), "{text}");
        let unknown = compile("", &[], SM_90, &["--no-such-flag"]).unwrap_err().to_string();
        assert!(unknown.contains("sm_90") && unknown.contains("NVRTC_ERROR_INVALID_OPTION"), "{unknown}");
        assert_eq!(compile("\0", &[], SM_90, &[]).unwrap_err().kind(), ErrorKind::Input);
    }
}
