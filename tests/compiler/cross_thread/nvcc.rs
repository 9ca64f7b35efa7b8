//! nvcc takes what the emulator runs, for old and new devices, without a spill.

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::machine::cuda::{ComputeCapability, Nvcc};

use super::schedules::{Parameters, shared, sizes};
use super::{COLUMN_SUMS, CONVOLUTION, DENSE, ROW_SUMS, SCALED, kernel};

#[test]
fn a_device_takes_every_kernel() {
    let nvcc = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
    let devices: Vec<ComputeCapability> = ["sm_75", "sm_80", "sm_90"].map(|name| name.parse().unwrap()).into();
    let kernels = [
        (ROW_SUMS, Parameters { thread: sizes("i 4"), cross: sizes("k 32"), ..Parameters::default() }),
        (
            COLUMN_SUMS,
            Parameters {
                thread: sizes("j 32"),
                inner: sizes("j 2"),
                cross: sizes("k 8"),
                slowest: true,
                ..Parameters::default()
            },
        ),
        (
            DENSE,
            Parameters {
                thread: sizes("i 2, j 4"),
                inner: sizes("i 4, j 4"),
                cross: sizes("k 16"),
                steps: sizes("k 2"),
                stage: vec![("x".into(), shared(4)), ("w".into(), shared(4))],
                store: 4,
                persistent: true,
                ..Parameters::default()
            },
        ),
        (SCALED, Parameters { inner: sizes("i 2"), cross: sizes("k 100"), ..Parameters::default() }),
        (
            CONVOLUTION,
            Parameters { thread: sizes("w 8"), inner: sizes("o 4"), cross: sizes("c 8, s 3"), ..Parameters::default() },
        ),
    ];
    for (source, parameters) in kernels {
        let unit = parameters.unit(&kernel(source), "shared_sum").unwrap_or_else(|e| panic!("{e}"));
        let compiled = nvcc.compile(&unit.source, &devices, DEVICE_HEADERS);
        let compiled = compiled.unwrap_or_else(|e| panic!("{e}\n{}", unit.source));
        assert_eq!(compiled.report.len(), devices.len());
        for report in &compiled.report {
            assert!(!report.spills() && report.stack_frame == 0, "{report:?}\n{}", unit.source);
        }
    }
}
