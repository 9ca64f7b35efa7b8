//! Decisions that are over a limit are refused, each with a sentence that says which.

use dietcode_core::machine::Target;
use dietcode_core::schedule::{Instruction, Pipeline, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::CustomRules;

use super::sketches::{device, smallest, space};
use crate::common::avx512::target;
use crate::common::shipped::kernel;

/// The sentence by which a trace with these decisions, and the least of all others, is refused.
fn refused(space: &Space, sketch: &Trace, decisions: &[(&str, i64)]) -> String {
    let mut all = smallest(sketch).decisions;
    all.extend(decisions.iter().map(|(var, value)| ((*var).into(), *value)));
    match space.apply(&sketch.with(all)) {
        Ok(_) => panic!("{decisions:?} are within the limits"),
        Err(e) => e.to_string(),
    }
}

fn has(sketch: &Trace, wanted: &Instruction) -> bool {
    sketch.instructions.contains(wanted)
}

/// A sketch, decisions, and what they are refused with.
type Case<'c> = (&'c Trace, &'c [(&'c str, i64)], &'c str);

#[test]
fn each_limit_of_a_device_has_its_sentence() {
    let space = space(&kernel("dense"), device("sm_80"));
    let tiled = |sketch: &&Trace| sketch.variables().any(|var| &**var == "i_vthread");
    let plain = space.sketches.iter().find(tiled).expect("a sketch with tiles");
    let deep = Instruction::Pipeline(Pipeline::Async(4));
    let deep = space.sketches.iter().find(|sketch| has(sketch, &deep)).expect("a deep pipeline");
    let cases: [Case<'_>; 7] = [
        (plain, &[("i_thread", 64), ("j_thread", 32)], "a block has up to 1024 threads"),
        (
            plain,
            &[("j_thread", 32), ("i_vthread", 4), ("j_vthread", 4)],
            "vthreads: it takes 16 parts of a thread, the target allows 8",
        ),
        (
            plain,
            &[("j_thread", 32), ("i_inner", 16), ("j_inner", 16)],
            "registers of a thread: it takes 284 registers, the target allows 255",
        ),
        (
            plain,
            &[("i_thread", 32), ("j_thread", 32), ("i_inner", 8), ("j_inner", 8)],
            "registers of a multiprocessor: it takes 94208 registers of blocks that it shall hold, the target allows 65536",
        ),
        (plain, &[("j_thread", 32), ("i_outer", 65)], "innermost factor: it takes 65 iterations, the target allows 64"),
        (plain, &[("j_thread", 32), ("i_inner", 64), ("j_inner", 32)], "2048 copies, more than 1024"),
        (
            deep,
            &[("i_thread", 8), ("j_thread", 32), ("i_inner", 8), ("j_inner", 4), ("k_steps", 64)],
            "shared memory: it takes 204800 bytes, the target allows 166912",
        ),
    ];
    for (sketch, decisions, sentence) in cases {
        let found = refused(&space, sketch, decisions);
        assert!(found.contains(sentence), "{decisions:?}: {found}");
    }
}

#[test]
fn a_device_without_the_instructions_refuses_them() {
    let (new, old) = (space(&kernel("dense"), device("sm_80")), space(&kernel("dense"), device("sm_75")));
    let asynchronous = |sketch: &&Trace| has(sketch, &Instruction::Pipeline(Pipeline::Async(2)));
    assert!(!old.sketches.iter().any(|sketch| asynchronous(&sketch)));
    let sketch = new.sketches.iter().find(asynchronous).expect("a pipeline");
    let found = refused(&old, sketch, &[]);
    assert!(found.contains("an asynchronous copy: it needs compute capability"), "{found}");
}

#[test]
fn each_limit_of_a_cpu_has_its_sentence() {
    let instances = [vec![2048; 3]];
    let space = Space::generate(&kernel("dense"), Target::Cpu(target()), &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let along = |sketch: &&Trace| {
        let reads = |what: &Instruction| matches!(what, Instruction::CacheRead { into, .. } if &*into[0] == "w_panel");
        sketch.variables().any(|var| &**var == "j_lanes") && sketch.instructions.iter().any(reads)
    };
    let sketch = space.sketches.iter().find(along).expect("vectors along j, and a panel");
    let tile = [("i_register", 8), ("j_register", 5), ("j_lanes", 16)];
    let found = refused(&space, sketch, &tile);
    assert!(found.contains("vector registers: it takes 40 registers, the target allows 30"), "{found}");
    let panel = [("j_block", 64), ("j_lanes", 16), ("k_steps", 2048)];
    let found = refused(&space, sketch, &panel);
    assert!(found.contains("second-level cache: it takes 8388608 bytes, the target allows 1048576"), "{found}");
}
