//! Kernels, targets and workload instances at random: what spaces are generated of.

use std::sync::LazyLock;

use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_syntax::KernelDef;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::common::shipped;

/// Dense layers and batched products, a convolution, sums of rows, elementwise kernels, products for matrix units, and kernels that compute
/// in `f64`.
const KERNELS: [&str; 12] = [
    "dense",
    "dense_prepared",
    "dense_bias_relu",
    "batch_matmul",
    "conv2d",
    "row_sum",
    "outer",
    "gelu",
    "matmul_nt_f16",
    "matmul_nn_bf16",
    "dense_f64",
    "scaled_exp_f64",
];

/// The names of the targets: this CPU, one with 16 vector registers of 32 bytes, and three devices.
pub(crate) const TARGETS: [&str; 5] = ["cpu", "avx2", "sm_75", "sm_80", "sm_90"];

/// The kernels that are drawn from for a target: operands are prepared for CPUs.
pub(crate) fn kernels(target: &Target) -> Vec<KernelDef> {
    let is_drawn =
        |def: &KernelDef| KERNELS.contains(&&*def.name) && (def.prepared.is_empty() || target.cpu().is_some());
    shipped::kernels().into_iter().filter(is_drawn).collect()
}

/// A target by its name.
pub(crate) fn target(name: &str) -> Target {
    // Three calls of the compiler find it.
    static NATIVE: LazyLock<CpuTarget> =
        LazyLock::new(|| CpuTarget::of(&Toolchain::find("native").expect("a C compiler")));
    match name {
        "cpu" => Target::Cpu(NATIVE.clone()),
        "avx2" => Target::Cpu(CpuTarget {
            vector_bytes: 32,
            vector_registers: 16,
            l1_bytes: 32 << 10,
            l2_bytes: 256 << 10,
            ..NATIVE.clone()
        }),
        device => {
            let capability = device.parse().expect("a capability");
            Target::Cuda(*DeviceLimits::of(capability).expect("it is known"))
        }
    }
}

/// A space of a kernel for one to four instances, whose shape variables are from 1 to `most`, every other one a prime.
pub(crate) fn space(rng: &mut StdRng, def: &KernelDef, target: Target, most: i64) -> Space {
    let count = rng.random_range(1..=4);
    let instances: Vec<Vec<i64>> = (0..count).map(|_| shape(rng, def, most)).collect();
    Space::generate(def, target, &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{} at {instances:?}: {e}", def.name))
}

/// Values of the shape variables.
pub(crate) fn shape(rng: &mut StdRng, def: &KernelDef, most: i64) -> Vec<i64> {
    let is_prime = |n: &i64| *n > 1 && (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    let primes: Vec<i64> = (1..=most).filter(is_prime).collect();
    let value = |rng: &mut StdRng| match rng.random_bool(0.5) {
        true => *primes.choose(rng).expect("2 is a prime"),
        false => rng.random_range(1..=most),
    };
    def.shape_vars.iter().map(|_| value(rng)).collect()
}
