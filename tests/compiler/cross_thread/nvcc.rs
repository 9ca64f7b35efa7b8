//! nvcc takes what the emulator runs, for old and new devices, without a spill.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::machine::cuda::{ComputeCapability, KernelReport, Nvcc};

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
    let unit = |(source, parameters): (&str, Parameters)| {
        parameters.unit(&kernel(source), "shared_sum").unwrap_or_else(|e| panic!("{e}"))
    };
    let units: Vec<CudaUnit> = kernels.into_iter().map(unit).collect();
    // As one file, since nvcc takes about as long to begin as with a kernel.
    let text: String = units.iter().map(|unit| &*unit.source).collect();
    let compiled = nvcc.compile(&text, &devices, DEVICE_HEADERS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for unit in &units {
        let is_own = |report: &&KernelReport| unit.launches.iter().any(|launch| launch.symbol == report.symbol);
        let reports: Vec<&KernelReport> = compiled.report.iter().filter(is_own).collect();
        assert_eq!(reports.len(), devices.len());
        for report in reports {
            assert!(!report.spills() && report.stack_frame == 0, "{report:?}\n{}", unit.source);
        }
    }
}
