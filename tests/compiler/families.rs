//! Configurations as micro-kernels: a sample of portBLAS's, and all of the sets that the project ships, on every general
//! product, carried out on the CPU and, by the emulator, as CUDA.
//!
//! Each at 10 ragged shapes, with a batch of 1 and of 7, with gaps between rows, by changing α and β: what is multiplied by 0
//! is not there. A part of them each time, by the day or by `DIETCODE_SEED`; `DIETCODE_ALL=1` takes all at once. A failure
//! prints the shape, the nest and the source.

mod nvcc;
mod refused;
mod sample;
mod shapes;

use std::sync::Mutex;

use dietcode_core::codegen::cuda;
use dietcode_core::frontend;
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::sketch::Family;
use dietcode_syntax::KernelDef;

use crate::common::{on_cpu, on_gpu, settings, units};
use shapes::{Tiles, instances};

/// How many micro-kernels go into one shared library.
const BATCH: usize = 5;
/// The pairs of a configuration and a nest are shared out over so many seeds.
const TURNS: usize = 32;

/// Whether it is a configuration's turn on a nest: each pair's comes once in so many seeds in a row, and no configuration's on
/// two nests at once.
fn turn(family: usize, nest: usize, seed: u64) -> bool {
    (family + 2 * nest) % TURNS == seed as usize % TURNS
}

/// Calls `run` on groups of the configurations whose turn it is on a nest, and which serve it.
fn each_group<M: Sync + Send>(
    sets: &[&str],
    serve: impl Fn(&Family, &KernelDef) -> Result<M, String> + Sync,
    run: impl Fn(&KernelDef, &[M]) + Sync,
) {
    let (seed, families, nests) = (settings::seed_of_the_day(), sample::families(sets), sample::nests());
    let mut groups = Vec::new();
    let (mut count, mut fitting) = (0, 0);
    for (n, def) in nests.iter().enumerate() {
        let mine = families.iter().enumerate().filter(|(f, _)| settings::all() || turn(*f, n, seed));
        let mine: Vec<&Family> = mine.map(|(_, family)| family).collect();
        fitting += mine.iter().filter(|family| refused::fits_layout(family, def)).count();
        let served: Vec<M> =
            mine.into_iter().filter_map(|family| refused::or_served(family, def, serve(family, def))).collect();
        count += served.len();
        let mut served = served.into_iter().peekable();
        while served.peek().is_some() {
            groups.push((def, served.by_ref().take(BATCH).collect::<Vec<M>>()));
        }
    }
    println!("{count} of {fitting} pairs that fit, {} in all", families.len() * nests.len());
    assert!(
        // Of all 3 in 4 and more; of a few the share may be less.
        if settings::all() { count * 4 > fitting * 3 } else { count * 2 > fitting },
        "{count} of {fitting} pairs are served: a device has no room for some, not for many"
    );
    let queue = Mutex::new(groups.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let next = || queue.lock().expect("no worker fails while it asks").next();
                while let Some((def, group)) = next() {
                    run(def, group);
                }
            });
        }
    });
}

#[test]
fn on_the_cpu() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    each_group(
        sample::FOR_CPUS,
        |family, def| family.on_cpu(&frontend::program(def), &target),
        |def, group| {
            let case = |(n, tiled)| {
                // One library holds several micro-kernels, each under the symbols of a nest of its own.
                let def = KernelDef { name: format!("{}_{n}", def.name), ..def.clone() };
                let unit = units::tiled(&def, tiled, &target).unwrap_or_else(|e| panic!("{e}"));
                let (instance, _) = instances(&def, &Tiles::of_cpu(tiled)).next().expect("there are shapes");
                on_cpu::Case { instance, unit, reference: units::oracle(&def), trace: tiled.name(), sizes: None }
            };
            let mut cases: Vec<on_cpu::Case> = group.iter().enumerate().map(case).collect();
            let library = on_cpu::Library::compile(&toolchain, &cases);
            for (case, tiled) in cases.iter_mut().zip(group) {
                for (instance, tensors) in instances(&case.instance.def.clone(), &Tiles::of_cpu(tiled)) {
                    let expected = instance.expected(&tensors);
                    case.instance = instance;
                    library.check(case, &tensors, &expected);
                }
            }
        },
    );
}

#[test]
fn on_a_gpu() {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    each_group(
        sample::FOR_GPUS,
        |family, def| family.on_gpu(&frontend::program(def), device),
        |def, group| {
            let unit = |blocked| units::blocked(def, blocked, device).unwrap_or_else(|e| panic!("{e}"));
            let units: Vec<cuda::CudaUnit> = group.iter().map(unit).collect();
            let library = on_gpu::Library::compile(&compiler, units.iter());
            for (unit, blocked) in units.iter().zip(group) {
                for (instance, tensors) in instances(def, &Tiles::of_gpu(blocked)) {
                    let expected = instance.expected(&tensors);
                    library.check(&on_gpu::Case { instance, unit: unit.clone() }, &tensors, &expected);
                }
            }
        },
    );
}

#[test]
fn every_pair_has_its_turn() {
    for (family, nest) in (0..100).flat_map(|family| (0..8).map(move |nest| (family, nest))) {
        assert!((0..TURNS as u64).any(|seed| turn(family, nest, seed)), "{family} {nest}");
    }
}
