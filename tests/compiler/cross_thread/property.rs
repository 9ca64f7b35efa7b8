//! Property: random nests under random schedules whose threads share sums equal the reference within the bound.
//!
//! `DIETCODE_CASES` sets how many cases are tried (40), `DIETCODE_SEED` where the random numbers start. A failure prints the
//! seed of its case, the nest, the schedule and the first wrong element.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::ir::{Block, Name};
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::schedule::{Pipeline, SharedTile, Staging};
use dietcode_syntax::{KernelDef, Role};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::schedules::{Parameters, Sizes};
use crate::common::instance::Instance;
use crate::common::nests;
use crate::common::on_gpu::{Case, Library};
use crate::common::redrawn::Redrawn;
use crate::common::{settings, shapes};

/// How many cases go into one shared library.
const BATCH: usize = 10;

fn sizes(rng: &mut StdRng, names: &[&Name], from: &[i64]) -> Sizes {
    names.iter().map(|name| (name.to_string(), *from.choose(rng).expect("sizes"))).collect()
}

fn parameters(rng: &mut StdRng, block: &Block) -> Parameters {
    let names = |role| block.iters_of(role).map(|iter| &iter.name).collect::<Vec<&Name>>();
    let (spatial, sums) = (names(Role::Spatial), names(Role::Reduce));
    let mut parameters = Parameters {
        thread: sizes(rng, &spatial, &[1, 2, 3, 4]),
        vthread: sizes(rng, &spatial, &[1, 1, 1, 2]),
        inner: sizes(rng, &spatial, &[1, 1, 2, 3]),
        cross: sizes(rng, &sums, &[1, 2, 3, 4, 7, 8]),
        steps: sizes(rng, &sums, &[1, 2, 4]),
        runs: rng.random_bool(0.4),
        slowest: rng.random_bool(0.4),
        store: *[1, 2, 4].choose(rng).expect("widths"),
        persistent: rng.random_bool(0.3),
        partition: rng.random_bool(0.5),
        ..Parameters::default()
    };
    for (buffer, _) in block.update_reads() {
        let vector = *[1, 1, 2, 4].choose(rng).expect("widths");
        let tile =
            SharedTile { vector, pad: rng.random_range(0..=4), swizzle: 0, reduce_outside: rng.random_bool(0.5) };
        let input = buffer.name.to_string();
        match rng.random_range(0..4) {
            0 => {}
            1 => parameters.stage.push((input, Staging::Registers(vector))),
            _ => parameters.stage.push((input, Staging::Shared(tile))),
        }
    }
    if parameters.stage.iter().any(|(_, staging)| matches!(staging, Staging::Shared(_))) {
        let pipelines = [None, None, Some(Pipeline::Registers), Some(Pipeline::Async(3))];
        parameters.pipeline = *pipelines.choose(rng).expect("pipelines");
    }
    parameters
}

/// What a refusal may name: vectors that a read does not have, and a block that is too large.
const REFUSALS: [&str; 3] = ["vectors of", "is no vector", "has up to 1024 threads"];

/// A nest that sums, and a schedule that can be lowered; none: draw again.
fn draw(rng: &mut StdRng, number: usize, refused: &Redrawn) -> Option<(KernelDef, CudaUnit)> {
    let def = nests::any(rng, &format!("case{number}"));
    let program = frontend::program(&def);
    program.blocks[0].iters_of(Role::Reduce).next()?;
    let parameters = parameters(rng, &program.blocks[0]);
    match parameters.unit(&def, "shared_sum") {
        Ok(unit) => Some((def, unit)),
        Err(why) => {
            let why = why.to_string();
            assert!(REFUSALS.iter().any(|known| why.contains(known)), "{parameters:?}: {why}");
            refused.note();
            None
        }
    }
}

fn case(seed: u64, number: usize, refused: &Redrawn) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let (def, unit) = std::iter::repeat_with(|| draw(&mut rng, number, refused)).flatten().next().expect("endless");
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    Case { instance: Instance { seed, def, shape, gap, coarse: false }, unit }
}

#[test]
fn generated_cuda_equals_the_reference() {
    let (seed, cases) = (settings::seed_or(20_261_121), settings::cases(40, 400));
    let (compiler, refused) = (HostCompiler::find().expect("a C++ compiler"), Redrawn::default());
    for batch in (0..cases).collect::<Vec<usize>>().chunks(BATCH) {
        let cases: Vec<Case> = batch.iter().map(|&n| case(seed + n as u64, n, &refused)).collect();
        let library = Library::compile(&compiler, cases.iter().map(|case| &case.unit));
        for case in &cases {
            let tensors = case.instance.tensors();
            library.check(case, &tensors, &case.instance.expected(&tensors));
        }
    }
    refused.at_most(1.2, cases, "were refused");
}
