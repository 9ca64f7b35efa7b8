//! The same files, compiled by nvcc: that a device's compiler takes what the emulator runs, and spills nothing.

use std::fs;

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::machine::cuda::{ComputeCapability, Nvcc};

use super::accesses;
use super::emulator::file;

fn compile(name: &str, capabilities: &[&str]) -> Result<usize, String> {
    let source = fs::read_to_string(file(name)).expect("the file is there");
    let nvcc = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
    let devices: Vec<ComputeCapability> = capabilities.iter().map(|name| name.parse().unwrap()).collect();
    let compiled = nvcc.compile(&source, &devices, DEVICE_HEADERS).map_err(|error| error.to_string())?;
    for report in &compiled.report {
        assert!(!report.spills() && report.stack_frame == 0, "{report:?}");
    }
    Ok(compiled.report.len())
}

#[test]
fn a_device_takes_every_kernel() {
    for (name, kernels) in [
        ("copies", 14),
        ("numbers", 14),
        ("warp", 7),
        ("ldmatrix", 4),
        ("blocks", 6),
        ("mistakes", 17),
        ("users_own", 3),
    ] {
        assert_eq!(compile(name, &["sm_75", "sm_80", "sm_90"]), Ok(3 * kernels), "{name}");
    }
    for (name, kernels) in [("async", 14), ("tf32", 1), ("mma", 9), ("accesses", accesses::KERNELS)] {
        assert_eq!(compile(name, &["sm_80", "sm_90"]), Ok(2 * kernels), "{name}");
    }
}

#[test]
fn a_device_that_is_too_old_is_told_which_function_it_lacks() {
    for (name, function) in [("async", "dietcode_commit"), ("tf32", "dietcode_tf32"), ("mma", "dietcode_mma")] {
        let error = compile(name, &["sm_75"]).unwrap_err();
        assert!(error.contains(function) && error.contains("it is a deleted function"), "{error}");
    }
}
