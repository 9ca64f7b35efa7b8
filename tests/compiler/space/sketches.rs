//! Which sketches there are, and that each of them lowers.

use std::collections::BTreeMap;
use std::path::Path;

use dietcode_core::frontend;
use dietcode_core::lower::lower;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::Trace;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Bounds, Space, Tiled, apply, partial_sketches};
use dietcode_syntax::{KernelDef, Prepared};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::common::avx512::target;
use crate::common::nests;
use crate::common::shipped::{kernel, kernels};
use crate::common::units;

pub(crate) fn space(def: &KernelDef, custom: &CustomRules) -> dietcode_core::Result<Space> {
    let instances = [40, 96].map(|size| vec![size; def.shape_vars.len()]);
    Space::generate(def, Target::Cpu(target()), &instances, custom)
}

/// Carries every sketch out with the least of everything.
fn every_sketch_lowers(def: &KernelDef) -> usize {
    let space = space(def, &CustomRules::default()).unwrap_or_else(|e| panic!("{}: {e}", def.name));
    assert_eq!(space.program, frontend::program(def));
    for sketch in &space.sketches {
        space.apply(&sketch.least()).unwrap_or_else(|e| panic!("{e}\n{}\n{sketch}", space.program));
    }
    space.sketches.len()
}

#[test]
fn every_sketch_of_every_shipped_kernel_lowers() {
    for def in kernels() {
        let sketches = every_sketch_lowers(&def);
        assert!((1..=24).contains(&sketches), "{}: {sketches} sketches", def.name);
    }
}

#[test]
fn every_sketch_of_random_nests_lowers() {
    let mut rng = StdRng::seed_from_u64(5);
    for n in 0..150 {
        every_sketch_lowers(&nests::prepared(nests::any(&mut rng, &format!("nest{n}"))));
    }
}

/// The first and the last sketch of the dense layer, and what made each; `DIETCODE_BLESS=1` writes them anew.
#[test]
fn the_sketches_of_the_dense_layer() {
    let bounds = space(&kernel("dense"), &CustomRules::default()).expect("it has a space").bounds;
    let partial_sketches =
        partial_sketches(&kernel("dense"), bounds, &CustomRules::default()).expect("it has sketches");
    let print = |at: usize| {
        let partial = &partial_sketches[at];
        format!(
            "sketch {} of {}: {}\n{}",
            at + 1,
            partial_sketches.len(),
            partial.rules.join(", "),
            Trace::new(partial.instructions.clone())
        )
    };
    let found = format!("{}\n{}", print(0), print(partial_sketches.len() - 1));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compiler/space/dense.txt");
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the expected print can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(found, expected, "{} differs; DIETCODE_BLESS=1 writes it anew", path.display());
}

/// The decisions that make the family's default of one of the sketches: a tile of 8 rows of 3 vectors, 64 of them in a block, and smaller
/// ones at the edges.
#[test]
fn the_default_of_the_family_is_in_the_space() {
    let (def, target) = (kernel("dense"), target());
    let program = frontend::program(&def);
    let schedule = Tiled::default_for(&program, &target).schedule(&program, &target).expect("it is valid");
    let space = space(&def, &CustomRules::default()).expect("it has a space");
    let decided = [("i_register", 8), ("i_block", 64), ("j_register", 3), ("j_lanes", 16), ("k_steps", 384)];
    let decided = decided.into_iter().chain([("i_halvings", 3), ("j_halvings", 3)]);
    let of_family = in_order(&lower(&schedule).expect("it lowers").body.to_string());
    let same = space.sketches.iter().filter(|sketch| {
        let mut trace = sketch.least();
        trace.decisions.extend(decided.clone().map(|(var, value)| (var.into(), value)));
        // Panels of both inputs are too large for the caches with these blocks.
        apply(&program, &Target::Cpu(target.clone()), &trace)
            .is_ok_and(|applied| in_order(&applied.nests[0].body.to_string()) == of_family)
    });
    // Where a block has one tile along j, its two orders are the same.
    assert_eq!(same.count(), 2, "{}", lower(&schedule).expect("it lowers").body);
}

/// A text with its names in the order in which they appear.
fn in_order(text: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut renamed = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = if is_word(c) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (word, after) = rest.split_at(end);
        rest = after;
        if !c.is_ascii_alphabetic() {
            renamed.push_str(word);
            continue;
        }
        let at = names.iter().position(|name| *name == word).unwrap_or_else(|| {
            names.push(word);
            names.len() - 1
        });
        renamed.push_str(&format!("v{at}"));
    }
    renamed
}

#[test]
fn a_sketch_is_c_like_any_schedule() {
    let def = kernel("conv2d");
    let space = space(&def, &CustomRules::default()).expect("it has a space");
    let printed = |sketch: &Trace| units::traced(&def, &sketch.least(), &target()).expect("it is printed").source;
    let sources: Vec<String> = space.sketches.iter().map(printed).collect();
    for staged in ["k_panel", "x_view"] {
        assert!(sources.iter().any(|source| source.contains(staged)), "no sketch has {staged}: {}", sources[0]);
    }
}

#[test]
fn instances_that_make_no_sense_are_refused() {
    let def = kernel("conv2d");
    let refused = |instances: &[Vec<i64>]| {
        let custom = CustomRules::default();
        Space::generate(&def, Target::Cpu(target()), instances, &custom).expect_err("it makes no sense").to_string()
    };
    assert!(refused(&[vec![1, 2]]).contains("has 2 values, expected"));
    let empty = refused(&[vec![3; def.shape_vars.len()], vec![0; def.shape_vars.len()]]);
    assert!(empty.contains("the loop `o` in 0..O has no iteration") && empty.contains("O = 0"), "{empty}");
}

#[test]
fn a_gpu_has_no_space_of_operands_that_are_laid_out_before_calls() {
    let def = KernelDef { prepared: Prepared::of(&kernel("dense"), 1).into_iter().collect(), ..kernel("dense") };
    assert_eq!(def.prepared.len(), 1);
    let device = DeviceLimits::of("sm_90".parse().expect("it is one")).expect("it is known");
    let gpu = Bounds { target: Target::Cuda(*device), extents: BTreeMap::new() };
    let refusal = partial_sketches(&def, gpu, &CustomRules::default()).unwrap_err().to_string();
    assert!(refusal.contains("`dense` reads `w` as it is laid out before calls, which is for CPUs only"), "{refusal}");
}
