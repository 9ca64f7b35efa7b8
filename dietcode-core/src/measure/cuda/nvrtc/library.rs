//! NVRTC's library: where it is, and its functions as `nvrtc.h` declares them.

use std::ffi::{OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::machine::cuda::Nvcc;
use crate::measure::cuda::libraries::{load_beside, of_wheels};
use crate::{Error, Result};

/// Names of the library, newest first; the last is that of a toolkit for developers.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// A program under compilation.
pub(super) type Program = *mut c_void;

/// The functions that a compilation needs. All but `error_string` return 0 or an error code.
pub(super) struct Nvrtc {
    pub(super) create: Create,
    pub(super) compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    pub(super) log_size: Size,
    pub(super) log: Text,
    pub(super) cubin_size: Size,
    pub(super) cubin: Text,
    pub(super) destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    pub(super) error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    /// Keeps the functions loaded.
    _library: Library,
    /// Keeps them found, which it asks for later.
    _builtins: Vec<Library>,
}

/// program, source, its name, the number of headers, their texts, their names
pub(super) type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
pub(super) type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
pub(super) type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

impl Nvrtc {
    /// Loads the first that is found: in the toolkits that the environment names, in that of nvcc, where the system looks,
    /// among Python's wheels.
    pub(super) fn find() -> Result<Nvrtc> {
        let mut tried = Vec::new();
        for place in places() {
            // It asks the system for its second library by name when it compiles.
            let builtins = load_beside(&place, "libnvrtc-builtins.so.");
            // SAFETY: NVRTC's library may be loaded at any time.
            match unsafe { Library::new(&place) } {
                Ok(library) => return Nvrtc::of(library, builtins, &place),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(Error::unavailable(format!(
            "NVRTC, CUDA's run-time compiler, was not found ({}): install CUDA 12.0 or newer, or its wheel (python3 -m pip \
                 install nvidia-cuda-nvrtc), and name the folder of the toolkit in the environment variable CUDA_HOME",
            tried.join("; ")
        )))
    }

    fn of(library: Library, builtins: Vec<Library>, place: &Path) -> Result<Nvrtc> {
        let missing =
            |error: libloading::Error| Error::unavailable(format!("{} is not NVRTC", place.display())).caused_by(error);
        // SAFETY: the functions have these types in nvrtc.h of every release from 12.0 on.
        unsafe {
            Ok(Nvrtc {
                create: *library.get(b"nvrtcCreateProgram").map_err(missing)?,
                compile: *library.get(b"nvrtcCompileProgram").map_err(missing)?,
                log_size: *library.get(b"nvrtcGetProgramLogSize").map_err(missing)?,
                log: *library.get(b"nvrtcGetProgramLog").map_err(missing)?,
                cubin_size: *library.get(b"nvrtcGetCUBINSize").map_err(missing)?,
                cubin: *library.get(b"nvrtcGetCUBIN").map_err(missing)?,
                destroy: *library.get(b"nvrtcDestroyProgram").map_err(missing)?,
                error_string: *library.get(b"nvrtcGetErrorString").map_err(missing)?,
                _library: library,
                _builtins: builtins,
            })
        }
    }
}

/// Where wheels put it, in a folder from which Python imports: those of CUDA 13, and those of CUDA 12.
const OF_WHEELS: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// Files that are there, and the names by themselves, for which the system knows places.
fn places() -> impl Iterator<Item = PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let homes = ["CUDA_HOME", "CUDA_PATH", "DIETCODE_TOOLKIT"].into_iter().filter_map(named);
    let nvcc = std::iter::once_with(|| Nvcc::find().ok().and_then(|nvcc| nvcc.toolkit())).flatten();
    let toolkits = homes.chain(nvcc).flat_map(|home| [home.join("lib64"), home.join("lib")]);
    files_in(toolkits).chain(NAMES.map(PathBuf::from)).chain(files_in(of_wheels(OF_WHEELS)))
}

fn files_in(folders: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).filter(|file| file.is_file())
}
