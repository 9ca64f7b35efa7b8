//! Every micro-kernel of `configs/sm_80.json` and `configs/sm_90.json`: nvcc compiles it, its main loop is lean, and what it is made of,
//! carried out on the CPU, equals the reference at 12 shapes.
//!
//! A twelfth of them each time, by the day or by `DIETCODE_SEED`: twelve seeds in a row are all. `DIETCODE_ALL=1` takes all at
//! once. A failure prints the shape, the nest and the source.

mod banks;
mod compiled;
mod document;
mod edges;
mod main_loops;
pub(crate) mod oracle;
mod sets;
mod shapes;
mod table;
mod throughput;

use std::path::Path;
use std::sync::Mutex;

use dietcode_core::config::Config;
use dietcode_core::machine::cuda::{ComputeCapability, HostCompiler};

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::settings;
use compiled::Compiler;
use oracle::Oracles;
use sets::MicroKernel;
use shapes::{COUNT, GAPS, shapes};
use table::Table;

/// How many micro-kernels go into one shared library.
const BATCH: usize = 4;
/// The micro-kernels are shared out over so many seeds.
const TURNS: u64 = 12;

/// Those whose turn it is, or all.
fn chosen<T>(all: &[T], seed: u64, everything: bool) -> Vec<&T> {
    let turn = |at: usize| everything || at as u64 % TURNS == seed % TURNS;
    all.iter().enumerate().filter(|(at, _)| turn(*at)).map(|(_, one)| one).collect()
}

/// A micro-kernel at each of its shapes.
fn cases(kernel: &MicroKernel, seed: u64) -> Vec<Case> {
    let at = |(n, shape): (usize, Vec<i64>)| {
        let seed = seed.wrapping_mul(COUNT as u64).wrapping_add(n as u64);
        let instance = Instance { seed, def: kernel.def.clone(), shape, gap: GAPS[n], coarse: false };
        Case { instance, unit: kernel.unit.clone() }
    };
    shapes(&kernel.def, &kernel.blocked).into_iter().enumerate().map(at).collect()
}

#[test]
fn nvcc_compiles_them_and_they_equal_the_reference() {
    let (compiler, nvcc) = (HostCompiler::find().expect("a C++ compiler"), Compiler::find());
    let seed = settings::seed_of_the_day();
    let all = sets::distinct();
    let chosen = chosen(&all, seed, settings::all());
    println!("{} of {} micro-kernels", chosen.len(), all.len());
    let oracles = Oracles::compile(chosen.iter().map(|kernel| &kernel.def));
    let queue = Mutex::new(chosen.chunks(BATCH));
    let table = Mutex::new(Table::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let next = || queue.lock().expect("no worker fails while it asks").next();
                while let Some(batch) = next() {
                    let built = nvcc.kernels(batch);
                    let library = Library::compile(&compiler, batch.iter().map(|kernel| &kernel.unit));
                    for kernel in batch {
                        for case in cases(kernel, seed) {
                            let tensors = case.instance.tensors();
                            let expected = oracles.expected(&case.instance, &tensors, kernel.blocked.matrix_unit);
                            library.check(&case, &tensors, &expected);
                        }
                    }
                    let mut table = table.lock().expect("no worker fails while it adds");
                    batch.iter().zip(&built).for_each(|(kernel, built)| table.add(kernel, built));
                }
            });
        }
    });
    println!("{}", table.into_inner().expect("every worker has ended"));
}

/// The default of each kernel of the sets, and what the model chooses for the dense layer's config.
#[test]
fn what_a_build_chooses_without_measuring_does_not_spill() {
    let (nvcc, seed) = (Compiler::find(), settings::seed_of_the_day());
    let devices: Vec<ComputeCapability> = sets::SETS.map(|name| name.parse().expect("a set is of a device")).to_vec();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/bert_dense.json");
    let config = Config::read(config).unwrap_or_else(|e| panic!("{e}"));
    let dense = config.kernel_def().unwrap_or_else(|e| panic!("{e}"));
    let kernels = sets::kernels();
    let defaults = chosen(&kernels, seed, settings::all()).into_iter().map(|def| (def, None));
    let mut spilling = Vec::new();
    for (def, config) in defaults.chain([(&dense, Some(&config))]) {
        let choice = nvcc.choice(def, config, &devices);
        assert!(config.is_none() || choice.micro_kernels.len() > 1, "the model has something to choose from");
        for candidate in &choice.micro_kernels {
            let reports = candidate.reports.as_ref().expect("all that is chosen was compiled");
            assert_eq!(reports.len(), candidate.unit.launches.len() * candidate.devices.len());
            let spills = reports.iter().filter(|report| report.spills());
            spilling.extend(spills.map(|report| format!("`{}` of `{}`: {report:?}", candidate.name(), def.name)));
        }
    }
    assert!(spilling.is_empty(), "{}", spilling.join("\n"));
}

#[test]
fn as_many_seeds_in_a_row_as_there_are_turns_choose_all() {
    let all: Vec<usize> = (0..100).collect();
    for seed in [0, 7, 20_000] {
        let mut found: Vec<usize> = (seed..seed + TURNS).flat_map(|seed| chosen(&all, seed, false)).copied().collect();
        found.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(chosen(&all, seed, true).len(), 100);
    }
}

#[test]
fn each_set_has_at_least_sixty() {
    for set in sets::SETS {
        let found = sets::of(set);
        assert!(found.len() >= 60, "{set} has {}", found.len());
        let none_valid = sets::unused(set);
        assert!(none_valid.is_empty(), "{set}: no micro-kernel of these is valid:\n{}", none_valid.join("\n"));
    }
}

#[test]
fn every_product_is_there_with_threads_and_with_the_matrix_unit() {
    for set in sets::SETS {
        let found = sets::of(set);
        for batched in ["", "batch_"] {
            for form in ["nn", "nt", "tn", "tt"] {
                for dtype in ["", "_f16", "_bf16"] {
                    let name = format!("{batched}matmul_{form}{dtype}");
                    let has = |unit: bool| {
                        found.iter().any(|k| k.def.name == name && k.blocked.matrix_unit.is_some() == unit)
                    };
                    assert!(has(false) && has(true), "{set}: {name}");
                }
            }
        }
    }
}

#[test]
fn every_choice_is_there() {
    for set in sets::SETS {
        let missing = sets::missing_choices(sets::of(set));
        assert!(missing.is_empty(), "{set}: {missing:?}");
    }
}

#[test]
fn operands_of_matrix_instructions_lie_in_different_banks() {
    for kernel in sets::distinct().iter().filter(|kernel| kernel.blocked.matrix_unit.is_some()) {
        let conflicts = banks::conflicts(kernel);
        assert!(conflicts.is_empty(), "`{}` of `{}`: {}", kernel.unit.name, kernel.def.name, conflicts.join(", "));
    }
}
