//! Launches without a kernel's table, as a tuner makes them.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};

use dietcode_core::runtime::cuda::{
    CudaTensor, Device, Extent, HostArg, HostEntry, KernelParts, LaunchParts, LoadedKernel, launch,
};
use dietcode_core::runtime::{Arg, Input};
use dietcode_core::{ErrorKind, Result};

thread_local! {
    /// (grid, block, shared bytes) of the launches on this thread.
    static LAUNCHES: RefCell<Vec<(u32, u32, u64)>> = const { RefCell::new(Vec::new()) };
    /// The workspace of the last launch of `look`.
    static WORKSPACE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn record(grid: u32, block: u32, shared: u64, _: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    LAUNCHES.with_borrow_mut(|launches| launches.push((grid, block, shared)));
    0
}

/// Reads as many bytes of its workspace as its shape variable says, and overwrites them.
unsafe extern "C" fn look(_: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    // SAFETY: the parameters are the workspace and a shape variable.
    let bytes = unsafe {
        let len = *(*args.add(1)).value.cast::<i32>() as usize;
        std::slice::from_raw_parts_mut(*(*args).value.cast::<*mut u8>(), len)
    };
    WORKSPACE.set(bytes.to_vec());
    bytes.fill(7);
    0
}

const fn part(symbol: &str, host: HostEntry, persistent: bool) -> LaunchParts<'_> {
    LaunchParts { symbol, threads: 32, shared_bytes: 96, persistent, host: Some(host) }
}

fn load(launches: &[LaunchParts<'_>], uses_workspace: bool) -> Result<LoadedKernel> {
    LoadedKernel::load(&Device::cuda_host(), &KernelParts { name: "candidate", image: None, uses_workspace, launches })
}

fn run(kernel: &LoadedKernel, shape: &[i64], blocks: &[i64], workspace_bytes: i64) -> Result<()> {
    // SAFETY: these kernels touch nothing but their workspace.
    unsafe { launch(&Device::cuda_host(), kernel, Extent { shape, blocks, workspace_bytes }, &mut []) }
}

#[test]
fn grids_are_cut_down_left_out_or_refused() {
    let kernel = load(&[part("plain", record, false), part("persistent", record, true)], false).unwrap();
    let resident = Device::cuda_host().limits().multiprocessors * 2;
    for (blocks, grids) in
        [([3, 3], vec![3, 3]), ([0, 1], vec![1]), ([-5, 0], vec![]), ([7, (1 << 31) - 1], vec![7, resident])]
    {
        LAUNCHES.take();
        run(&kernel, &[1], &blocks, 0).unwrap();
        assert_eq!(LAUNCHES.take(), grids.iter().map(|grid| (*grid, 32, 96)).collect::<Vec<_>>(), "{blocks:?}");
    }
    for blocks in [1 << 31, i64::from(u32::MAX), 1 << 32, i64::MAX] {
        let error = run(&kernel, &[1], &[blocks, 1], 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains("the device takes at most 2147483647"), "{error}");
        let error = run(&kernel, &[1], &[1, blocks], 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains("a kernel counts at most 2147483647"), "{error}");
        assert_eq!(LAUNCHES.take(), []);
    }
}

#[test]
fn shape_variables_are_ints_on_a_device_with_room_for_the_last_tile() {
    let kernel = load(&[part("plain", record, false)], false).unwrap();
    run(&kernel, &[2_146_435_071], &[1], 0).unwrap();
    let error = run(&kernel, &[1, 2_146_435_072], &[1], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert_eq!(
        error.to_string(),
        "candidate on cuda-host, shape [1, 2146435072]: shape variable 1 is 2146435072; on CUDA devices it can be at most \
         2146435071"
    );
}

#[test]
fn extents_of_tensors_are_ints_too() {
    let device = Device::cuda_host();
    let kernel = load(&[part("plain", record, false)], false).unwrap();
    let x = CudaTensor::full(&device, &[0, 2_146_435_072], 0.0_f32).unwrap();
    let mut args = [Arg::from(Input::from(&x))];
    // SAFETY: the kernel touches no memory.
    let launched =
        unsafe { launch(&device, &kernel, Extent { shape: &[], blocks: &[1], workspace_bytes: 0 }, &mut args) };
    let error = launched.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.to_string().contains("argument 0 has an extent of 2146435072"), "{error}");
}

#[test]
fn a_workspace_grows_and_is_as_good_as_fresh() {
    let kernel = load(&[part("look", look, false)], true).unwrap();
    for bytes in [16, 1000, 3, 1 << 20] {
        run(&kernel, &[bytes], &[1], bytes).unwrap();
        assert_eq!(WORKSPACE.take(), vec![0xff; bytes as usize]);
    }
    let error = run(&kernel, &[1], &[1], 1 << 50).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("cannot allocate 1125899906842624 bytes of device memory"), "{error}");
    run(&kernel, &[16], &[1], 16).unwrap();
}

#[test]
fn a_kernel_runs_on_its_device_only() {
    let kernel = load(&[part("plain", record, false)], false).unwrap();
    let other = Device::cuda_host_like((8, 0));
    // SAFETY: the kernel touches no memory.
    let launched = unsafe { launch(&other, &kernel, Extent { shape: &[], blocks: &[1], workspace_bytes: 0 }, &mut []) };
    let message = launched.unwrap_err().to_string();
    assert_eq!(
        message,
        "candidate on cuda-host as 8.0, shape []: it was loaded on cuda-host with 1 launches, not for this device and 1 grids"
    );
    assert!(run(&kernel, &[], &[1, 1], 0).is_err(), "two grids for one launch");
}

#[test]
fn too_much_shared_memory_is_an_error() {
    let large = LaunchParts { shared_bytes: 300 << 10, ..part("large", record, false) };
    let error = load(&[large], false).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.to_string(),
        "candidate on cuda-host: a block of its kernel `large` needs 307200 bytes of shared memory, but the device has 232448"
    );
}

/// Reads a tensor's pointer and strides and two shape variables as the parameters are laid out.
unsafe extern "C" fn parameters(_: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    // SAFETY: the parameters are two tensors, of ranks 3 and 1, and two shape variables.
    unsafe {
        let tensor = |at: usize| **(*args.add(at)).value.cast::<*const f32>();
        let stride = |at: usize| *(*args.add(at)).value.cast::<i64>();
        let var = |at: usize| *(*args.add(at)).value.cast::<i32>();
        assert_eq!((tensor(0), tensor(1)), (1.5, 2.5));
        assert_eq!((stride(2), stride(3), var(4), var(5)), (20, 5, 8, 9));
    }
    0
}

#[test]
fn parameters_stand_in_the_order_of_the_table() {
    let device = Device::cuda_host();
    let x = CudaTensor::full(&device, &[3, 4, 5], 1.5_f32).unwrap();
    let y = CudaTensor::full(&device, &[2], 2.5_f32).unwrap();
    let kernel = load(&[part("parameters", parameters, false)], false).unwrap();
    let mut args = [Arg::from(Input::from(&x)), Arg::from(Input::from(&y))];
    // SAFETY: the kernel reads the first elements of both.
    unsafe { launch(&device, &kernel, Extent { shape: &[8, 9], blocks: &[1], workspace_bytes: 0 }, &mut args) }
        .unwrap();
}
