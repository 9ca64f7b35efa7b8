//! Nests at the edges of what a kernel may be, on every target: every sketch lowers with the least of everything, and draws
//! equal the reference.

use dietcode_core::schedule::Trace;
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::cases::{self, TARGETS};
use super::compiled::{Draw, carry_out};
use crate::common::instance::Instance;

/// Other operators than sums, in the forms that a nest may have them; sums over everything, of one element and of none; nests without
/// loops, with loops of one iteration, with constant extents only; windows, mirrored reads, sums that start with something, conditions,
/// half types, a tensor that is both factors, names that rules give themselves; a product over eight spatial axes; strides in two tensors, terms
/// that no zero makes neutral, integers, bytes and doubles, and outputs that are read before they are written.
const SOURCE: &str = include_str!("odd.txt");

/// Whether the product of the extents is large, so that each must be short: grids have an end, and a reference takes its time.
fn is_deep(def: &KernelDef) -> bool {
    def.shape_vars.len() > 3
}

pub(super) fn nests() -> Vec<KernelDef> {
    let functions = dietcode_syntax::scan(SOURCE).expect("the source parses");
    functions.iter().map(|function| function.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}

fn space(def: &KernelDef, target: &str) -> Space {
    let most = if is_deep(def) { 6 } else { 100 };
    let instances = [1, most].map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, cases::target(target), &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{} on {target}: {e}", def.name))
}

#[test]
fn every_sketch_of_odd_nests_has_draws_on_every_target() {
    let mut rng = StdRng::seed_from_u64(11);
    for (def, target) in nests().iter().flat_map(|def| TARGETS.map(|target| (def, target))) {
        let space = space(def, target);
        for sketch in &space.sketches {
            for trace in [sketch.least(), space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}"))] {
                let kernels = space.apply(&trace).unwrap_or_else(|e| panic!("{} on {target}: {e}\n{trace}", def.name));
                assert!(!kernels.nests.is_empty());
            }
        }
    }
}

/// Blocks of the grid would need an output for each.
#[test]
fn a_sum_over_everything_is_shared_by_the_threads_of_one_block() {
    for def in nests().iter().filter(|def| ["total", "total_of_rows", "added"].contains(&&*def.name)) {
        let space = space(def, "sm_80");
        let text: Vec<String> = space.sketches.iter().map(ToString::to_string).collect();
        assert!(text.len() == 1 && text[0].contains("_cross") && !text[0].contains("blockIdx"), "{text:?}");
    }
}

/// A draw of a nest, to be run at a shape.
fn draw(number: usize, extent: i64, def: &KernelDef, target: &str, rng: &mut StdRng) -> Draw {
    let trace: Trace = space(def, target).sample(rng).expect("a sketch has a draw");
    let def = KernelDef { name: format!("{}{number}", def.name), ..def.clone() };
    let shape = vec![if is_deep(&def) { extent.min(2) } else { extent }; def.shape_vars.len()];
    Draw::new(Instance { seed: number as u64, def, shape, gap: number % 2, coarse: true }, trace)
}

fn check(target: &str) {
    let mut rng = StdRng::seed_from_u64(12);
    let shapes = [1, 4, 67].into_iter().enumerate();
    let draws = nests().into_iter().flat_map(|def| shapes.clone().map(move |(n, extent)| (n, extent, def.clone())));
    let draws = draws.map(|(n, extent, def)| draw(n, extent, &def, target, &mut rng)).collect();
    carry_out(&cases::target(target), draws);
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_this_cpu() {
    check("cpu");
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_sm_75() {
    check("sm_75");
}

#[test]
fn draws_of_odd_nests_equal_the_reference_on_sm_80() {
    check("sm_80");
}
