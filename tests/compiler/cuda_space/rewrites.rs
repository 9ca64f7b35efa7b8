//! What follows from decisions: the schedules that traces come to, and when two of them are the same code.

use dietcode_core::schedule::{Instruction, Pipeline, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::Tf32;
use dietcode_syntax::KernelDef;

use super::sketches::{device, smallest, space, space_of_layer, space_of_tf32};
use crate::common::shipped::kernel;

/// The first sketch of a kernel with a variable, which neither shares sums nor overlaps copies.
fn sketch(space: &Space, variable: &str) -> Trace {
    let plain = |sketch: &&Trace| !sketch.to_string().contains("rfactor") && !sketch.to_string().contains("pipeline");
    let own = |sketch: &&Trace| sketch.variables().any(|var| &**var == variable);
    space.sketches.iter().filter(plain).find(own).unwrap_or_else(|| panic!("no sketch with {variable}")).clone()
}

/// The trace with decisions, the least of all others.
fn with(sketch: &Trace, decisions: &[(&str, i64)]) -> Trace {
    let mut all = smallest(sketch).decisions;
    all.extend(decisions.iter().map(|(var, value)| ((*var).into(), *value)));
    sketch.with(all)
}

/// The primitives of the kernels that a trace comes to.
fn primitives(space: &Space, trace: &Trace) -> String {
    let lowered = space.apply(trace).unwrap_or_else(|e| panic!("{e}"));
    let lines = lowered.schedules.iter().flat_map(|schedule| schedule.trace().iter().map(ToString::to_string));
    lines.collect::<Vec<String>>().join("\n")
}

/// The number in the last line that begins so: what a postprocessor says overrides what the trace said.
fn last(text: &str, beginning: &str) -> Option<i64> {
    let lines = text.lines().rev().find_map(|line| line.strip_prefix(beginning));
    lines.map(|rest| rest.trim_end_matches(')').parse().unwrap_or_else(|e| panic!("{rest}: {e}")))
}

/// Rows of 16, 6 and 5 elements; and so few that threads would be left without a vector.
#[test]
fn tiles_are_filled_by_the_widest_vectors_that_their_rows_allow() {
    let space = space(&kernel("dense"), device("sm_80"));
    let sketch = sketch(&space, "i_vthread");
    let tile = [("i_thread", 8), ("j_thread", 8), ("i_inner", 4), ("j_inner", 4)];
    for (steps, vector) in [(16, 4), (6, 2), (5, 1), (4, 2)] {
        let text = primitives(&space, &with(&sketch, &[&tile[..], &[("k_steps", steps)]].concat()));
        assert!(text.contains("x_shared = cache_read(x, shared, vector 4, "), "{text}");
        assert_eq!(last(&text, "vectorize_fetch(x_shared, ").unwrap_or(4), vector, "{steps} steps:\n{text}");
    }
}

#[test]
fn a_thread_stores_the_widest_vectors_of_its_run() {
    let space = space(&kernel("dense"), device("sm_80"));
    let sketch = sketch(&space, "i_vthread");
    for (run, lanes) in [(8, 4), (6, 2), (3, 1)] {
        let text = primitives(&space, &with(&sketch, &[("j_thread", 32), ("j_inner", run)]));
        assert_eq!(last(&text, "vectorize_store("), Some(lanes), "{run} neighbours:\n{text}");
    }
    // Where the inner part has one element, those of the outer part are neighbours; those of virtual threads are not.
    for (part, lanes) in [("j_outer", 4), ("j_vthread", 1)] {
        let text = primitives(&space, &with(&sketch, &[("j_thread", 32), (part, 8)]));
        assert_eq!(last(&text, "vectorize_store("), Some(lanes), "{part}:\n{text}");
    }
}

#[test]
fn lanes_of_a_warp_become_matrix_instructions_on_half_types_only() {
    let half = space(&kernel("matmul_nt_f16"), device("sm_80"));
    let text = primitives(&half, &smallest(&sketch(&half, "i_warp")));
    assert!(text.contains("tensorize(m16n8k16)"), "{text}");
    let single = space(&kernel("matmul_nt"), device("sm_80"));
    assert!(single.sketches.iter().all(|sketch| sketch.variables().all(|var| &**var != "i_warp")));
    assert!(single.sketches.iter().all(|sketch| !primitives(&single, &smallest(sketch)).contains("tensorize")));
}

#[test]
fn tensors_of_f32_are_rounded_with_leave_only() {
    for (tf32, primitive) in [(Tf32::Once, "tensorize(m16n8k8, tf32)"), (Tf32::Thrice, "tensorize(m16n8k8, 3 x tf32)")]
    {
        let single = space_of_tf32(&kernel("matmul_nt"), device("sm_80"), tf32);
        let text = primitives(&single, &smallest(&sketch(&single, "i_warp")));
        assert!(text.contains(primitive) && text.contains("shared, vector 4, pad 0, swizzle 4"), "{text}");
        let half = kernel("matmul_nt_f16");
        assert_eq!(space_of_tf32(&half, device("sm_80"), tf32).sketches, space(&half, device("sm_80")).sketches);
        let old = space_of_tf32(&kernel("matmul_nt"), device("sm_75"), tf32);
        assert_eq!(old.sketches, space(&kernel("matmul_nt"), device("sm_75")).sketches);
    }
}

/// Rows and columns of an instruction are channels and columns of the output. Where channels are contiguous, both factors lie as they are; of
/// planes, filters are transposed on their way.
#[test]
fn convolutions_become_matrix_instructions() {
    let layer = |name: &str, tf32| space_of_layer(&kernel(name), device("sm_80"), tf32);
    for (name, tf32, filters) in [
        ("conv2d_f16", Tf32::Forbidden, "shared, vector 8, pad 0, swizzle 8, reduce_outside"),
        ("conv2d_nhwc_f16", Tf32::Forbidden, "shared, vector 8, pad 0, swizzle 8"),
        ("conv2d", Tf32::Once, "shared, vector 4, pad 8, reduce_outside"),
    ] {
        let space = layer(name, tf32);
        let text = primitives(&space, &smallest(&sketch(&space, "o_warp")));
        assert!(text.contains("tensorize("), "{text}");
        assert!(text.contains(&format!("k_shared = cache_read(k, {filters})\n")), "{text}");
    }
    let none = layer("conv2d", Tf32::Forbidden);
    assert!(none.sketches.iter().all(|sketch| sketch.variables().all(|var| &**var != "o_warp")));
}

#[test]
fn what_nothing_binds_gets_a_grid_and_threads() {
    let space = space(&kernel("row_sum"), device("sm_75"));
    let text = primitives(&space, &Trace::new([]));
    assert!(text.contains("i_b, i_t = split(i, 128, pad)") && text.contains("bind(i_t, threadIdx.x)"), "{text}");
    assert!(text.contains("compute_at(y_tile, i_t)") && text.ends_with("decompose_reduction()"), "{text}");
}

#[test]
fn what_has_no_loop_to_share_out_is_one_thread_of_one_block() {
    let source = "#[dynamic_kernel] fn one(x: &[f32; 1], y: &mut [f32; 1]) { y[0] = x[0] + 1.0; }";
    let def: KernelDef = dietcode_syntax::scan(source).expect("the source parses")[0].parse().expect("it is a nest");
    let space = space(&def, device("sm_75"));
    let sketch = &space.sketches[0];
    assert_eq!(space.sketches.len(), 1);
    assert_eq!(primitives(&space, sketch), "enter_postproc()\nthread = add_unit_loop()\nbind(thread, threadIdx.x)");
    let nests = space.apply(sketch).unwrap_or_else(|e| panic!("{e}")).nests;
    assert_eq!((nests.len(), nests[0].threads(), nests[0].grid.is_none()), (1, 1, true));
}

/// The two loops between blocks along each of which one input stays the same are gone through in tiles.
#[test]
fn blocks_come_in_the_order_and_number_that_is_decided() {
    for (name, pair) in [("dense", "i_0, j_0"), ("batch_matmul", "i_0, j_0"), ("conv2d", "o_0, w_0")] {
        let space = space(&kernel(name), device("sm_80"));
        let sketch = sketch(&space, "raster_rows");
        let decided = |decisions: &[(&str, i64)]| with(&sketch, decisions);
        let trace = decided(&[("raster_rows", 4), ("raster_columns", 2), ("min_blocks", 3), ("persistent", 1)]);
        let text = primitives(&space, &trace);
        assert!(text.contains(&format!("block = fuse({pair})\nrasterize(block, 4 x 2)")), "{text}");
        assert!(text.contains("min_blocks(3)\npersistent(1)"), "{text}");
        let lowered = |trace: &Trace| space.apply(trace).unwrap_or_else(|e| panic!("{e}"));
        let nest = lowered(&trace).nest().clone();
        assert_eq!((nest.persistent, nest.min_blocks), (true, 3));
        // How wide tiles of one row are makes no difference, and all else does.
        let hash = |decisions: &[(&str, i64)]| lowered(&decided(decisions)).hash;
        assert_eq!(hash(&[("raster_columns", 8)]), hash(&[]));
        for other in ["raster_rows", "min_blocks", "persistent"] {
            let value = if other == "persistent" { 1 } else { 2 };
            assert_ne!(hash(&[(other, value)]), hash(&[]), "{other}");
        }
        let odd = Trace::new([&trace.instructions[..], &[Instruction::Persistent(2.into())]].concat());
        let refused =
            space.apply(&odd.with(trace.decisions.clone())).expect_err("it is no number of these").to_string();
        assert!(refused.contains("persistent: it is 2, expected 0 or 1"), "{refused}");
    }
}

/// A loop by another name is the same code; another size, or copies that overlap, are not.
#[test]
fn equal_hashes_are_equal_code() {
    let space = space(&kernel("dense"), device("sm_80"));
    let sketch = sketch(&space, "i_vthread");
    let decisions = [("i_thread", 8), ("j_thread", 8), ("i_inner", 4), ("k_steps", 8)];
    let trace = with(&sketch, &decisions);
    let hash = |trace: &Trace| space.apply(trace).unwrap_or_else(|e| panic!("{e}")).hash;
    let json = serde_json::to_string(&trace).expect("a trace is JSON");
    let renamed = json.replace("\"i_2\"", "\"rows\"");
    let renamed: Trace = serde_json::from_str(&renamed).expect("a trace");
    assert_ne!(renamed, trace);
    assert_eq!(hash(&renamed), hash(&trace));
    assert_ne!(hash(&with(&sketch, &[&decisions[..], &[("j_inner", 2)]].concat())), hash(&trace));
    let piped = Instruction::Pipeline(Pipeline::Registers);
    let piped = Trace::new([trace.instructions.to_vec(), vec![piped]].concat()).with(trace.decisions.clone());
    assert_ne!(hash(&piped), hash(&trace));
}
