//! Compiling a file of kernels for the CPU, and launching them.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use dietcode_core::codegen::cuda::headers::{self, HOST_HEADERS};
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::runtime::cuda::HostArg;

use crate::common::on_gpu::Form;

type Entry = unsafe extern "C" fn(u32, u32, u64, *const HostArg, *mut c_char, u64) -> c_int;

/// A file of `kernels/`, compiled.
pub(crate) struct Kernels(libloading::Library);

/// The value of a kernel's parameter.
#[derive(Clone, Copy)]
pub(crate) struct Arg<'a> {
    value: [u8; 8],
    /// Of the memory behind it.
    bytes: u64,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Arg<'a> {
    pub(crate) fn tensor(address: usize, bytes: usize) -> Self {
        Arg { value: address.to_ne_bytes(), bytes: bytes as u64, lifetime: PhantomData }
    }
}

impl<'a, T> From<&'a [T]> for Arg<'a> {
    fn from(tensor: &'a [T]) -> Self {
        Arg::tensor(tensor.as_ptr() as usize, size_of_val(tensor))
    }
}

impl<'a, T> From<&'a mut [T]> for Arg<'a> {
    fn from(tensor: &'a mut [T]) -> Self {
        Arg::tensor(tensor.as_mut_ptr() as usize, size_of_val(tensor))
    }
}

impl From<i32> for Arg<'_> {
    fn from(value: i32) -> Self {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&value.to_ne_bytes());
        Arg { value: bytes, bytes: 0, lifetime: PhantomData }
    }
}

/// The arguments of a launch.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$($crate::cuda_host::emulator::Arg::from($arg)),*] };
}
pub(crate) use args;

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compiler/cuda_host/kernels").join(name).with_extension("cu")
}

/// Compiles a file of `kernels/` into a folder of its own, with these flags besides.
pub(crate) fn compile(name: &str, flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    headers::write(folder.path(), HOST_HEADERS).expect("the folder can be written");
    let target = env!("DIETCODE_TARGET");
    let mut build = cc::Build::new();
    build.cpp(true).target(target).host(target).opt_level(2).debug(false).cargo_metadata(false).warnings(false);
    let output = folder.path().join(name);
    let built = build
        .get_compiler()
        .to_command()
        .args(["-std=c++17", "-Wall", "-Werror", "-Wno-sign-compare", "-Wno-unused-but-set-variable", "-I"])
        .arg(folder.path())
        .args(flags)
        .args(["-x", "c++"])
        .arg(file(name))
        .arg("-o")
        .arg(&output)
        .output()
        .expect("the C++ compiler starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (folder, output)
}

impl Kernels {
    /// A file of `kernels/`, which is compiled once for all tests.
    pub(crate) fn of(name: &'static str) -> &'static Kernels {
        static COMPILED: Mutex<BTreeMap<&str, &OnceLock<Kernels>>> = Mutex::new(BTreeMap::new());
        let cell =
            *COMPILED.lock().expect("no test fails here").entry(name).or_insert_with(|| Box::leak(Box::default()));
        cell.get_or_init(|| Kernels::compile_with(name, &[]))
    }

    /// A file of `kernels/` as a search compiles kernels for the emulated device: every access is watched, by an emulator that is compiled once.
    pub(crate) fn watched(name: &'static str) -> &'static Kernels {
        static COMPILED: Mutex<BTreeMap<&str, &OnceLock<(tempfile::TempDir, Kernels)>>> = Mutex::new(BTreeMap::new());
        let cell =
            *COMPILED.lock().expect("no test fails here").entry(name).or_insert_with(|| Box::leak(Box::default()));
        let (_, kernels) = cell.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let library = folder.path().join(name);
            let compiler = HostCompiler::find().expect("a C++ compiler");
            let headers = Form::Watched.headers(&compiler);
            let built = compiler.shared_library(&file(name), &library, headers).output().expect("it starts");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            // SAFETY: the library has no initialisers. What it says of lines is read from its file.
            (folder, Kernels(unsafe { libloading::Library::new(library) }.expect("the library loads")))
        });
        kernels
    }

    pub(crate) fn compile_with(name: &str, flags: &[&str]) -> Kernels {
        let (_folder, library) = compile(name, &[flags, &["-shared", "-fPIC"]].concat());
        // SAFETY: the library has no initialisers.
        Kernels(unsafe { libloading::Library::new(library) }.expect("the library loads"))
    }

    /// Launches a kernel; the arguments have to be as many and of the types that it takes.
    pub(crate) fn launch(&self, symbol: &str, launch: (u32, u32, u64), args: &[Arg]) -> Result<(), String> {
        self.launch_with_room(symbol, launch, args, 1024)
    }

    /// The same with so many bytes for the sentence that says what was wrong.
    pub(crate) fn launch_with_room(
        &self,
        symbol: &str,
        (grid, block, shared_bytes): (u32, u32, u64),
        args: &[Arg],
        room: usize,
    ) -> Result<(), String> {
        let host_arg = |arg: &Arg<'_>| HostArg { value: arg.value.as_ptr().cast_mut().cast(), bytes: arg.bytes };
        let args: Vec<HostArg> = args.iter().map(host_arg).collect();
        let mut error = vec![b'?'; room];
        // SAFETY: the entry has this type, and the tensors are borrowed for as long as the arguments are.
        let status = unsafe {
            let entry = self.0.get::<Entry>(format!("{symbol}_host").as_bytes()).expect("the file has this kernel");
            entry(grid, block, shared_bytes, args.as_ptr(), error.as_mut_ptr().cast(), error.len() as u64)
        };
        let length = error.iter().position(|byte| *byte == 0).expect("the sentence ends");
        let sentence = String::from_utf8(error[..length].to_vec()).expect("the sentence is text");
        assert!(status != 0 || sentence.is_empty(), "{sentence}");
        if status == 0 { Ok(()) } else { Err(sentence) }
    }
}
