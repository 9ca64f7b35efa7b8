//! What the cost model says of shared memory, against what the emulator counts: random traces of dense layers, products by matrix instructions
//! and convolutions, `DIETCODE_CASES` others, `DIETCODE_SEED` where the random numbers start.
//!
//! Of each launch, at a ragged shape, the wavefronts of all loads from shared memory and those of all stores are the same numbers: the
//! model's, of a block at that shape times the blocks, and the emulator's, of what lanes did in all blocks. Lanes that a condition on threads and on
//! unrolled loops excludes take no part in either; other conditions exclude lanes of the emulator only, and none stands
//! around an access to shared memory but on the steps of a pipeline, which the model counts. Where blocks have shares of a stream of steps,
//! the model knows an average: such traces are drawn again.

use std::collections::BTreeMap;

use dietcode_core::codegen::cuda;
use dietcode_core::cost_model::cuda::Work;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::parallel;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Lowered, MicroKernel, Space};
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::{settings, shipped};
use crate::space::cases;

/// Dense layers in threads of their own and by matrix instructions, with rows along the sum and across it; convolutions by both.
const KERNELS: [&str; 7] =
    ["dense", "batch_matmul", "conv2d", "matmul_nt_f16", "matmul_tn_f16", "matmul_nn_bf16", "conv2d_nhwc_f16"];

/// How many cases go into one shared library.
const BATCH: usize = 10;

/// The largest value of a shape variable, and the most iterations of a nest.
const MOST: i64 = 70;
const ITERATIONS: i64 = 1 << 13;

struct Drawn {
    case: Case,
    lowered: Lowered,
    trace: String,
}

/// The draw of a number: the kernels take turns.
fn draw(seed: u64, number: usize) -> Drawn {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1 << 20).wrapping_add(number as u64));
    let mut def = shipped::kernel(KERNELS[number % KERNELS.len()]);
    def.name = format!("case{number}");
    let target = cases::target(["sm_80", "sm_90", "sm_75"][number / KERNELS.len() % 3]);
    let (trace, lowered) = std::iter::repeat_with(|| {
        let space = space(&mut rng, &def, &target);
        let trace = space.sample(&mut rng).expect("a sketch has a draw");
        let lowered = space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
        (trace, lowered)
    })
    .find(|(_, lowered)| is_counted(lowered))
    .expect("some use shared memory");
    let unit = cuda::translation_unit(&def, &MicroKernel::of(&lowered).name(), &lowered).expect("it is for a GPU");
    let mut most = MOST;
    let shape = std::iter::repeat_with(|| {
        most -= 1;
        cases::shape(&mut rng, &def, most.max(2))
    });
    let shape = shape.into_iter().find(|shape| shape.iter().product::<i64>() <= ITERATIONS).expect("small ones are");
    let instance = Instance { seed, def, shape, gap: 0, coarse: true };
    Drawn { case: Case { instance, unit }, lowered, trace: trace.to_string() }
}

/// At extents of a layer, where matrix instructions have their place, or at any.
fn space(rng: &mut StdRng, def: &KernelDef, target: &Target) -> Space {
    let extents = [16, 32, 64, 128, 256];
    let large = def.shape_vars.iter().map(|_| *extents.choose(rng).expect("there are some")).collect();
    match rng.random_bool(0.7) {
        true => Space::generate(def, target.clone(), &[large], &CustomRules::default()).expect("it has sketches"),
        false => cases::space(rng, def, target.clone(), MOST),
    }
}

/// Whether it uses shared memory, and all blocks go through as many steps.
fn is_counted(lowered: &Lowered) -> bool {
    lowered.nests.iter().any(|nest| !nest.panels.is_empty())
        && lowered.nests.iter().all(|nest| nest.expected.is_empty())
}

/// What the model says of all blocks: wavefronts of loads and of stores.
fn predicted(Drawn { case, lowered, .. }: &Drawn) -> [f64; 2] {
    let names: Vec<&str> = case.instance.def.shape_vars.iter().map(|var| &*var.name).collect();
    let known: BTreeMap<&str, i64> = names.into_iter().zip(case.instance.shape.iter().copied()).collect();
    let value = |name: &str| known.get(name).map_or(0.0, |value| *value as f64);
    let mut all = [0.0; 2];
    for ((schedule, nest), launch) in lowered.schedules.iter().zip(&lowered.nests).zip(&case.unit.launches) {
        let counts = Work::of(schedule, nest).at(&value);
        let blocks = case.count(&launch.blocks) as f64;
        all[0] += blocks * counts.loaded_wavefronts;
        all[1] += blocks * counts.stored_wavefronts;
    }
    all
}

#[test]
fn the_model_counts_what_the_emulator_counts() {
    let (count, seed) = (settings::cases(28, 1_000), settings::seed_or(20_261_127));
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let numbers: Vec<usize> = (0..count).collect();
    let batches: Vec<Vec<usize>> = numbers.chunks(BATCH).map(<[usize]>::to_vec).collect();
    let wrong = std::sync::Mutex::new(Vec::new());
    parallel::each(batches, 2, |batch| {
        let drawn: Vec<Drawn> = batch.into_iter().map(|number| draw(seed, number)).collect();
        let library = Library::counting(&compiler, drawn.iter().map(|drawn| &drawn.case.unit));
        for drawn in &drawn {
            let Drawn { case, lowered, trace } = drawn;
            let tensors = case.instance.tensors();
            let mut memory = case.instance.memory(&tensors);
            memory[case.instance.def.output] = case.instance.output(&tensors);
            library.run(case, &mut memory);
            let (found, predicted) = (library.wavefronts().map(|count| count as f64), predicted(drawn));
            assert!(found[0] + found[1] > 0.0, "it uses shared memory: {trace}");
            // Where tiles inside have a body of their own, a block's number is an average.
            let differs = |(found, predicted): (&f64, f64)| (found - predicted).abs() > 1e-9 * found;
            if found.iter().zip(predicted).any(differs) {
                let loops: String = lowered.nests.iter().map(|nest| nest.body.to_string()).collect();
                let what = format!(
                    "{} at {:?}: counted {found:?}, predicted {predicted:?}",
                    case.instance.def.name, case.instance.shape
                );
                wrong.lock().expect("no other has failed").push(format!("{what}\n{trace}\n{loops}"));
            }
        }
    });
    let wrong = wrong.into_inner().expect("no other has failed");
    assert!(wrong.is_empty(), "{} of {count} traces:\n{}", wrong.len(), wrong.join("\n"));
}
