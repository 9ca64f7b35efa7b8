//! Occupancy is what NVIDIA's calculator says: a table of its answers, and the calculator itself on random kernels.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use dietcode_core::machine::cuda::{DEVICES, DeviceLimits, Limiter, Nvcc, Resources, blocks_per_sm, bounds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const TABLE: &str = include_str!("occupancy/nvidia.csv");

fn device(name: &str) -> &'static DeviceLimits {
    DeviceLimits::of(name.parse().unwrap()).unwrap()
}

#[test]
fn every_row_of_the_table_agrees() {
    let mut rows = 0;
    for line in TABLE.lines().skip(1) {
        let (target, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<u32> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
        let [threads, registers, shared_bytes, expected] = numbers[..] else { panic!("{line}") };
        let found = blocks_per_sm(device(target), &Resources { threads, registers, shared_bytes });
        assert_eq!(found.blocks, expected, "{line}: {found:?}");
        rows += 1;
    }
    assert_eq!(rows, 600);
}

#[test]
fn random_kernels_agree_with_the_toolkits_calculator() {
    let mut random = StdRng::seed_from_u64(11);
    let kernels: Vec<(&DeviceLimits, Resources)> = DEVICES
        .iter()
        .flat_map(|device| std::iter::repeat_n(device, 2000))
        .map(|device| (device, any_kernel(device, &mut random)))
        .collect();
    let expected = calculate(&kernels);
    assert_eq!(expected.len(), kernels.len());
    for ((device, resources), expected) in kernels.iter().zip(expected) {
        let found = blocks_per_sm(device, resources);
        assert_eq!(found.blocks, expected, "{}: {resources:?}: {found:?}", device.capability);
    }
}

/// Resources within and somewhat beyond what a device has.
fn any_kernel(device: &DeviceLimits, random: &mut StdRng) -> Resources {
    // The calculator takes the 256th register for one; no compiler gives it to a thread.
    let registers = if random.random_ratio(1, 20) { 300 } else { random.random_range(0..=255) };
    let most = if random.random_ratio(1, 2) { 8 << 10 } else { device.shared_per_block_opt_in + 4096 };
    Resources { threads: random.random_range(1..=1100), registers, shared_bytes: random.random_range(0..=most) }
}

/// What NVIDIA's calculator, compiled from the toolkit's header, says of each.
fn calculate(kernels: &[(&DeviceLimits, Resources)]) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("calculator");
    let toolkit = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc").toolkit().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compiler/occupancy/calculator.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut compile = Command::new(compiler);
    compile.arg("-I").arg(toolkit.join("include")).arg("-w").arg("-o").arg(&program).arg(source);
    assert!(compile.status().unwrap().success());

    let input: String = kernels.iter().map(|(device, resources)| line(device, resources)).collect();
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

fn line(device: &DeviceLimits, resources: &Resources) -> String {
    let numbers = [
        device.capability.major,
        device.capability.minor,
        device.warp_size,
        device.threads_per_block,
        device.threads_per_sm,
        device.registers_per_block,
        device.registers_per_sm,
        device.shared_per_block,
        device.shared_per_block_opt_in,
        device.shared_reserved_per_block,
        device.shared_per_sm,
        resources.threads,
        resources.registers,
        resources.shared_bytes,
    ];
    numbers.map(|number| number.to_string()).join(" ") + "\n"
}

#[test]
fn the_limiter_is_what_allows_no_more() {
    let limiter = |threads, registers, shared_bytes| {
        let found = blocks_per_sm(device("sm_80"), &Resources { threads, registers, shared_bytes });
        (found.blocks, found.limiter)
    };
    assert_eq!(limiter(32, 16, 0), (32, Limiter::Blocks));
    assert_eq!(limiter(1024, 16, 0), (2, Limiter::Warps));
    assert_eq!(limiter(256, 128, 0), (2, Limiter::Registers));
    assert_eq!(limiter(256, 32, 81 << 10), (2, Limiter::SharedMemory));
    assert_eq!(limiter(256, 32, 163 << 10), (1, Limiter::SharedMemory));
}

#[test]
fn what_no_device_has_is_not_launched_and_overflows_nothing() {
    let enormous = Resources { threads: u32::MAX, registers: u32::MAX, shared_bytes: u32::MAX };
    for device in DEVICES {
        assert_eq!(blocks_per_sm(device, &enormous).blocks, 0);
        assert_eq!(blocks_per_sm(device, &Resources::default()).blocks, 0, "a block has threads");
        let beyond = [
            (Resources { threads: 1025, ..Resources::default() }, Limiter::Warps),
            (Resources { threads: 32, registers: 256, shared_bytes: 0 }, Limiter::Registers),
            (Resources { threads: u32::MAX, registers: 255, shared_bytes: 0 }, Limiter::Warps),
            (Resources { threads: 1024, registers: 65, shared_bytes: 0 }, Limiter::Registers),
        ];
        for (resources, limiter) in beyond {
            let found = blocks_per_sm(device, &resources);
            assert_eq!((found.blocks, found.limiter), (0, limiter), "{}: {resources:?}", device.capability);
            assert_eq!(bounds(device, &resources).iter().map(|(_, blocks)| *blocks).min(), Some(0));
        }
    }
}
