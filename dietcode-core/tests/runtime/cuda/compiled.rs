//! A real `.cu`, compiled for the emulated device, from the source to the checked result.

use std::process::Command;

use dietcode_core::codegen::cuda::headers::{self, HOST_HEADERS};
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::runtime::cuda::{
    CudaTensor, Device, Extent, HostEntry, KernelParts, LaunchParts, LoadedKernel, launch,
};
use dietcode_core::runtime::{Arg, Input, Output, Tensor};
use dietcode_core::{ErrorKind, Result};
use libloading::Library;

use crate::fake::expected;

/// The library of `dense.cu`. Its folder may go: what is loaded stays.
fn library() -> Library {
    let folder = tempfile::tempdir().unwrap();
    headers::write(folder.path(), HOST_HEADERS).unwrap();
    let (source, output) = (folder.path().join("dense.cu"), folder.path().join("dense.so"));
    std::fs::write(&source, include_str!("dense.cu")).unwrap();
    let mut compiler: Command = HostCompiler::find().unwrap().shared_library(&source, &output, folder.path());
    let log = compiler.output().unwrap();
    assert!(log.status.success(), "{}", String::from_utf8_lossy(&log.stderr));
    // SAFETY: it is a library of kernels, which does nothing when it is loaded.
    unsafe { Library::new(&output) }.unwrap()
}

fn load(library: &Library, symbol: &str, shared_bytes: u32) -> Result<LoadedKernel> {
    // SAFETY: `DIETCODE_ENTRY` gives it this type.
    let host = unsafe { library.get::<HostEntry>(format!("{symbol}_host")) }.ok().map(|entry| *entry);
    let launches = [LaunchParts { symbol, threads: 32, shared_bytes, persistent: true, host }];
    let parts = KernelParts { name: symbol, image: None, uses_workspace: false, launches: &launches };
    LoadedKernel::load(&Device::cuda_host(), &parts)
}

#[test]
fn a_file_of_cuda_is_compiled_launched_and_right() {
    let (device, library) = (Device::cuda_host(), library());
    let data = |shape: &[usize]| Tensor::from_fn(shape, |at| (at % 7) as f32 - 2.5).unwrap();
    for (m, k, n) in [(1, 1, 1), (5, 3, 2), (37, 11, 13), (7, 64, 40)] {
        let kernel = load(&library, "dense", 4 * k as u32).unwrap();
        let x = CudaTensor::upload(&device, &data(&[m, k])).unwrap();
        let w = CudaTensor::upload(&device, &data(&[n, k])).unwrap();
        let mut y = CudaTensor::<f32>::uninitialised(&device, &[m, n]).unwrap();
        let mut args = [Arg::from(Input::from(&x)), Input::from(&w).into(), Output::from(&mut y).into()];
        let extent = Extent { shape: &[m as i64, k as i64, n as i64], blocks: &[m as i64], workspace_bytes: 0 };
        // SAFETY: the tensors are those of `dense`, whose kernel stays in their shape.
        unsafe { launch(&device, &kernel, extent, &mut args) }.unwrap();
        assert_eq!(y.download().unwrap().as_slice(), expected(m, k, n), "{m} {k} {n}");
    }
}

#[test]
fn what_the_emulator_finds_is_the_error_of_the_launch() {
    let (device, library) = (Device::cuda_host(), library());
    let kernel = load(&library, "hangs", 0).unwrap();
    let mut y = CudaTensor::<f32>::zeros(&device, &[1]).unwrap();
    let extent = Extent { shape: &[3], blocks: &[1], workspace_bytes: 0 };
    // SAFETY: the kernel writes the first element.
    let launched = unsafe { launch(&device, &kernel, extent, &mut [Output::from(&mut y).into()]) };
    let error = launched.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    let text = error.to_string();
    assert!(text.starts_with("hangs on cuda-host, shape [3]: ") && text.contains("__syncthreads"), "{text}");
    assert_eq!(load(&library, "absent", 0).err().unwrap().kind(), ErrorKind::Unavailable);
}
