//! The measuring process of a device, with hand-written CUDA on the emulated one: each thing that a micro-kernel may do wrong
//! has its own reason, and those before and behind it are measured.

use std::time::Duration;

use dietcode::core::codegen::cuda::{self, CudaLaunch, CudaUnit};
use dietcode::core::frontend;
use dietcode::core::ir::{Expr, Name};
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::measure::cuda::{Built, CudaCompiler, CudaDevice, CudaHarness};
use dietcode::core::measure::{Failure, Implementation, Instance, Limits, Timing};
use dietcode::core::reference::Arithmetic;
use dietcode::core::sketch::Blocked;
use dietcode::core::syntax::{KernelDef, scan};

const NEST: &str = "#[dynamic_kernel]
    pub fn twice(x: &[f32; N], y: &mut [f32; N]) {
        for i in 0..N { y[i] = x[i] + x[i]; }
    }";

/// Long enough for all but the one that does not end.
const LIMITS: Limits =
    Limits { start: Duration::from_secs(60), run: Duration::from_secs(4), prepare: Duration::from_secs(60) };

/// A measurement harness on a device, in workers of the command.
fn harness(def: &KernelDef, device: CudaDevice) -> CudaHarness {
    let worker = [env!("CARGO_BIN_EXE_dietcode").to_owned(), "worker".to_owned(), device.to_string()];
    let limits = DeviceLimits::of("sm_90".parse().unwrap()).unwrap();
    CudaHarness::new(def.clone(), limits, None, worker.map(Into::into).to_vec(), LIMITS, 7)
}

fn def() -> KernelDef {
    scan(NEST).unwrap()[0].parse().unwrap()
}

/// A micro-kernel with this body: `i` is the element of a thread.
fn unit(name: &str, body: &str) -> CudaUnit {
    unit_of(name, "const float *x, float *y", body)
}

/// The same with other parameters.
fn unit_of(name: &str, parameters: &str, body: &str) -> CudaUnit {
    let source = format!(
        "#include \"dietcode.cuh\"
extern \"C\" __global__ void {name}({parameters}, int N) {{
    const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
    {body}
}}
DIETCODE_ENTRY({name})
"
    );
    let blocks = Expr::Var(Name::from("N"));
    let launch = CudaLaunch { symbol: name.into(), threads: 32, shared_bytes: 0, blocks, persistent: false };
    let needs = "sm_80".parse().unwrap();
    let arithmetic = Arithmetic::F32;
    CudaUnit { name: name.into(), launches: vec![launch], workspace_bytes: None, needs, arithmetic, source }
}

#[test]
fn whatever_a_micro_kernel_does_the_others_are_measured() {
    let device = CudaDevice::Emulated;
    let compiler = CudaCompiler::find(device, "sm_90".parse().unwrap(), None).unwrap();
    let def = def();
    let mut harness = harness(&def, device);
    let instance = Instance::of(&def, &[45]).unwrap();
    let mut units = vec![
        unit("right", "if (i < N) y[i] = 2 * x[i];"),
        unit("wrong", "if (i < N) y[i] = i == 40 ? 3 * x[i] : 2 * x[i];"),
        unit("lazy", "if (i + 1 < N) y[i] = 2 * x[i];"),
        unit("beside", "if (i <= N) y[i] = i < N ? 2 * x[i] : 0;"),
        unit("greedy", "if (i < N) y[i] = 2 * x[i] + 0 * x[i + 1];"),
        unit("nowhere", "if (i == 3) *static_cast<volatile float *>(nullptr) = 1;"),
        unit("crash", "if (i == 3) __builtin_trap();"),
        unit("endless", "for (volatile int spin = 0;; spin = spin + 1) {}"),
        unit("misled", "if (threadIdx.x > 3) __syncthreads();"),
        unit("also_right", "if (i < N) y[i] = x[i] + x[i];"),
    ];
    // Kernels of few libraries, since a compiler gets all of them; it refuses one.
    let refused = units.len() / 2;
    units.insert(refused, unit("refused", "missing(x, y);"));
    let mut built = compiler.build_together(&units);
    let failure = built.remove(refused).unwrap_err();
    assert!(matches!(&failure, Failure::Compile { message } if message.contains("missing")), "{failure}");
    let launched = |built: Result<Built, Failure>| {
        let built = built.unwrap_or_else(|failure| panic!("{failure}"));
        Implementation::launched(&built, &def, &instance.shape).unwrap()
    };
    let implementations: Vec<Implementation> = built.into_iter().map(launched).collect();
    let outcomes = harness.measure_with_gap(&instance, 0, implementations, Timing::warm(3, 0.0, 1.0)).unwrap();
    let kinds: Vec<&str> =
        outcomes.iter().map(|outcome| outcome.as_ref().map_or_else(Failure::kind, |_| "measured")).collect();
    assert_eq!(
        kinds,
        ["measured", "wrong", "wrong", "launch", "launch", "launch", "crash", "timeout", "launch", "measured"],
        "{outcomes:#?}"
    );
    assert!(matches!(&outcomes[1], Err(Failure::Wrong { index, elements: 1, .. }) if *index == [40]), "{outcomes:?}");
    for (outcome, beside) in [
        (&outcomes[3], "writes bytes 180 to 183 of parameter 1, which has 180"),
        (&outcomes[4], "reads bytes 180 to 183 of parameter 0, which has 180"),
        (&outcomes[5], "writes 4 bytes where nothing is"),
    ] {
        let is_told = |failure: &Failure| matches!(failure, Failure::Launch { message } if message.contains(beside));
        assert!(outcome.as_ref().is_err_and(is_told), "{outcome:?}");
    }
    assert!(matches!(&outcomes[6], Err(Failure::Crash { signal, .. }) if signal == "SIGILL"), "{outcomes:?}");
    for outcome in [&outcomes[0], &outcomes[9]] {
        let sample = outcome.as_ref().unwrap();
        assert!(
            sample.seconds.len() == 3 && sample.seconds.iter().all(|s| *s > 0.0) && sample.rel_err == 0.0,
            "{sample:?}"
        );
    }
}

/// All 32 bits of integers are numbers, so that a result may be the one that outputs begin as.
#[test]
fn whatever_integer_a_kernel_computes_is_written() {
    let device = CudaDevice::Emulated;
    let compiler = CudaCompiler::find(device, "sm_90".parse().unwrap(), None).unwrap();
    let nest = "#[dynamic_kernel] pub fn all(c: i32, y: &mut [i32; N]) { for i in 0..N { y[i] = c; } }";
    let def: KernelDef = scan(nest).unwrap()[0].parse().unwrap();
    let mut harness = harness(&def, device);
    // More elements than are compared: the others are known to be written.
    let instance = Instance::of(&def, &[4500]).unwrap();
    let unit = |name: &str, body: &str| {
        let built = compiler.build_one(&unit_of(name, "int c, int *y", body)).unwrap();
        Implementation::launched(&built, &def, &instance.shape).unwrap()
    };
    let implementations =
        vec![unit("right", "if (i < N) y[i] = c;"), unit("lazy", "if (i < N && i != 2000) y[i] = c;")];
    let poison = -0x7fd1_e7c0;
    for c in [poison, !poison, 0] {
        let instance = instance.clone().with_scalars(&def, &[("c", f64::from(c))]).unwrap();
        let outcomes = harness.measure_with_gap(&instance, 3, implementations.clone(), Timing::CHECK).unwrap();
        assert!(outcomes[0].is_ok(), "{c}: {outcomes:?}");
        let failure = outcomes[1].as_ref().map_err(Failure::kind);
        assert!(matches!(failure, Err("unwritten" | "wrong")), "{c}: {outcomes:?}");
    }
}

/// Scalars reach a kernel by their value, and the output holds what is read of it before each check.
#[test]
fn a_kernel_with_scalars_is_measured() {
    let device = CudaDevice::Emulated;
    let compiler = CudaCompiler::find(device, "sm_90".parse().unwrap(), None).unwrap();
    let def: KernelDef = scan(include_str!("../../src/ops/gemm.rs")).unwrap()[0].parse().unwrap();
    let mut harness = harness(&def, device);
    let limits = DeviceLimits::of("sm_90".parse().unwrap()).unwrap();
    let program = frontend::program(&def);
    let (micro_kernel, lowered) =
        Blocked::default_for(&program, limits).unwrap().micro_kernel(&program, limits).unwrap();
    let unit = cuda::translation_unit(&def, &micro_kernel.name(), &lowered).unwrap();
    let built = compiler.build_one(&unit).unwrap();
    let shape = vec![2; def.shape_vars.len()];
    for values in [&[][..], &[("alpha", 1.0), ("beta", 0.0)], &[("beta", 1.0)]] {
        let instance = Instance::of(&def, &shape).unwrap().with_scalars(&def, values).unwrap();
        let implementation = Implementation::launched(&built, &def, &instance.shape).unwrap();
        let outcomes = harness.measure_with_gap(&instance, 3, vec![implementation], Timing::CHECK).unwrap();
        assert!(outcomes[0].is_ok(), "{values:?}: {outcomes:?}");
    }
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let error = harness(&def(), CudaDevice::Cuda(4711)).describe().unwrap_err();
    assert_eq!(error.kind(), dietcode::ErrorKind::Unavailable, "{error}");
}
