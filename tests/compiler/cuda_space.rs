//! The sketches for GPUs of every kernel in `src/ops`: with the smallest decisions they lower for every device, with others the
//! emulator carries them out and they equal the reference; what is over a limit is refused before anything is compiled.
//!
//! An eighth of the sketches of some kernels is carried out, by the day or by `DIETCODE_SEED`; all with `DIETCODE_ALL=1`.

mod limits;
mod rewrites;
mod sketches;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::schedule::{Combine, Instruction, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::Tf32;
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::settings;
use crate::common::shipped::{kernel, kernels};
use crate::common::units;
use sketches::{DEVICES, device, small, smallest, space, space_of_layer, space_of_tf32};

/// The kernels that are carried out.
const CARRIED_OUT: [&str; 12] = [
    "dense",
    "dense_bias_relu",
    "conv2d",
    "conv2d_f16",
    "conv2d_nhwc_f16",
    "row_sum",
    "outer",
    "gelu",
    "gemm_nn",
    "batch_matmul_tt",
    "matmul_tn_f16",
    "matmul_nt_bf16",
];
/// Their sketches are shared out over so many seeds.
const TURNS: usize = 8;
/// How many micro-kernels go into one shared library.
const BATCH: usize = 8;
/// Extents: one element, less than a tile, more than one, with a rest.
const EXTENTS: [i64; 5] = [1, 7, 16, 33, 40];
/// The same where there are many loops.
const FEW: [i64; 4] = [1, 3, 5, 9];

#[test]
fn every_sketch_lowers_for_every_device() {
    for def in kernels().into_iter().filter(|def| def.prepared.is_empty()) {
        for name in DEVICES {
            let space = space(&def, device(name));
            let count = space.sketches.len();
            assert!((1..=64).contains(&count), "{count} sketches of {}", def.name);
            for sketch in &space.sketches {
                space.apply(&smallest(sketch)).unwrap_or_else(|e| panic!("{} on {name}: {e}\n{sketch}", def.name));
            }
        }
    }
}

/// A micro-kernel of a kernel on `sm_80`.
struct Drawn {
    def: KernelDef,
    trace: Trace,
    unit: CudaUnit,
}

fn drawn(space: &Space, rng: &mut StdRng, wanted: impl Fn(usize, &Trace) -> bool) -> Vec<Drawn> {
    let (def, device) = (&space.def, device("sm_80"));
    let sketches = space.sketches.iter().enumerate().filter(|(at, sketch)| wanted(*at, sketch));
    let draw = |(_, sketch)| {
        let trace = small(space, sketch, rng);
        let unit = units::traced_on_gpu(def, &trace, &device).unwrap_or_else(|e| panic!("{e}"));
        Drawn { def: def.clone(), trace, unit }
    };
    sketches.map(draw).collect()
}

fn of(name: &str) -> Space {
    space(&kernel(name), device("sm_80"))
}

/// Carries micro-kernels out at three shapes each.
fn check(drawn: &[Drawn], seed: u64) {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let workers = |batches: &[&[Drawn]]| batches.iter().for_each(|batch| check_batch(&compiler, batch, seed));
    let batches: Vec<&[Drawn]> = drawn.chunks(BATCH).collect();
    let (one, other) = batches.split_at(batches.len().div_ceil(2));
    std::thread::scope(|scope| {
        [one, other].map(|half| scope.spawn(|| workers(half))).map(|worker| {
            worker.join().expect("every case holds");
        })
    });
}

fn check_batch(compiler: &HostCompiler, batch: &[Drawn], seed: u64) {
    let library = Library::compile(compiler, batch.iter().map(|drawn| &drawn.unit));
    for (n, Drawn { def, trace, unit }) in batch.iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(seed + n as u64);
        for gap in [0, 0, 3] {
            let extents = if def.shape_vars.len() > 3 { FEW.as_slice() } else { &EXTENTS };
            let shape = def.shape_vars.iter().map(|_| *extents.choose(&mut rng).expect("there are some")).collect();
            let coarse = unit.source.contains("mma");
            let instance = Instance { seed: rng.random(), def: def.clone(), shape, gap, coarse };
            let case = Case { instance, unit: unit.clone() };
            let tensors = case.instance.tensors();
            println!("{} {:?} {:?}", def.name, case.instance.shape, trace.decisions);
            library.check(&case, &tensors, &case.instance.expected(&tensors));
        }
    }
}

#[test]
fn sketches_carried_out_equal_the_reference() {
    let (seed, every) = (settings::seed_of_the_day(), settings::all());
    let mut rng = StdRng::seed_from_u64(seed);
    let turn = |at: usize, _: &Trace| every || at % TURNS == seed as usize % TURNS;
    let all: Vec<Drawn> = CARRIED_OUT.into_iter().flat_map(|name| drawn(&of(name), &mut rng, turn)).collect();
    check(&all, seed);
}

/// Sums that blocks share, in both ways, and matrix instructions, every day: the half whose turn it is of each third sketch that has them.
#[test]
fn shared_sums_and_matrix_units_equal_the_reference() {
    let (seed, every) = (settings::seed_of_the_day(), settings::all());
    let mut rng = StdRng::seed_from_u64(5);
    let mut drawn = |space: &Space, what: fn(&Instruction) -> bool| {
        let turn = |at: usize| every || (at / 3) % 2 == seed as usize % 2;
        let wanted =
            |at: usize, sketch: &Trace| at.is_multiple_of(3) && turn(at) && sketch.instructions.iter().any(what);
        let drawn = drawn(space, &mut rng, wanted);
        assert!(!drawn.is_empty(), "no sketch of {} has its turn", space.def.name);
        drawn
    };
    let shared = |way: &Instruction| matches!(way, Instruction::Rfactor(Combine::Workspace));
    let atomic = |way: &Instruction| matches!(way, Instruction::Rfactor(Combine::Atomic));
    let warps = |tiles: &Instruction| tiles.variables().iter().any(|var| var.ends_with("_warp"));
    let mut all = drawn(&of("dense"), shared);
    all.extend(drawn(&of("dense"), atomic));
    let mut matrices = drawn(&of("matmul_nt_f16"), warps);
    for (name, tf32) in [("matmul_nt", Tf32::Once), ("matmul_tn", Tf32::Once), ("matmul_nt", Tf32::Thrice)] {
        matrices.extend(drawn(&space_of_tf32(&kernel(name), device("sm_80"), tf32), warps));
    }
    for (name, tf32) in [
        ("conv2d_f16", Tf32::Forbidden),
        ("conv2d_nhwc_f16", Tf32::Forbidden),
        ("conv2d", Tf32::Once),
        ("conv2d", Tf32::Thrice),
    ] {
        matrices.extend(drawn(&space_of_layer(&kernel(name), device("sm_80"), tf32), warps));
    }
    assert!(matrices.iter().all(|drawn| drawn.unit.source.contains("mma")));
    all.extend(matrices);
    assert!(all.iter().any(|drawn| drawn.unit.workspace_bytes.is_some()));
    check(&all, 5);
}
