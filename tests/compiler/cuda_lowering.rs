//! The passes on their way to a GPU, by the IR they print.
//!
//! The expected prints are the files in `tests/compiler/cuda_lowering`; `DIETCODE_BLESS=1` writes them anew, to be read before they
//! are committed.

use std::path::Path;

use dietcode_core::frontend;
use dietcode_core::ir::Stmt;
use dietcode_core::lower::{lower, lower_observed};
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::{Schedule, Tail};
use dietcode_core::sketch::Blocked;
use dietcode_syntax::KernelDef;

fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}"))
}

const DENSE: &str =
    "#[dynamic_kernel] fn dense(x: &[[f32; 770]; 960], w: &[[f32; 770]; 2304], y: &mut [[f32; 2304]; 960]) {
    for i in 0..960 { for j in 0..2304 {
        let mut acc = 0.0;
        for k in 0..770 { acc += x[i][k] * w[j][k]; }
        y[i][j] = acc;
    } }
}";

const DENSE_F16: &str = "#[dynamic_kernel] fn dense(x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 0.0;
        for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
        y[i][j] = acc;
    } }
}";

fn device() -> &'static DeviceLimits {
    DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known")
}

/// The schedule of a valid micro-kernel.
fn schedule(def: &KernelDef, parameters: &str) -> Schedule {
    let blocked: Blocked = serde_json::from_str(parameters).expect("parameters");
    blocked.micro_kernel(&frontend::program(def), device()).unwrap_or_else(|e| panic!("{e}"));
    blocked.schedule(&frontend::program(def)).expect("a valid schedule")
}

/// The statements before and after a pass.
fn around(schedule: &Schedule, pass: &str) -> [String; 2] {
    let mut seen = Vec::new();
    lower_observed(schedule, &mut |name, body: &Stmt| seen.push((name, body.to_string())))
        .unwrap_or_else(|e| panic!("{e}"));
    let after = seen.iter().position(|(name, _)| *name == pass).expect("the pipeline has the pass");
    [seen[after - 1].1.clone(), seen[after].1.clone()]
}

/// Compares prints with the file of that name.
fn expect(name: &str, pass: &str, [before, after]: &[String; 2]) {
    expect_text(name, &format!("before {pass}\n\n{before}\nafter {pass}\n\n{after}"));
}

pub(crate) fn expect_text(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compiler/cuda_lowering").join(name);
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        std::fs::write(&path, found).expect("the expected print can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(found, expected, "{} differs; DIETCODE_BLESS=1 writes it anew", path.display());
}

/// What stands between the two barriers of the only loop that has some.
fn between_barriers(print: &str) -> &str {
    let parts: Vec<&str> = print.split("sync\n").collect();
    assert_eq!(parts.len(), 3, "{print}");
    parts[1]
}

/// 770 = 4 · 192 + 2: the last tile of the reduction hangs over, and so may every tile if the compiler did not know better.
#[test]
fn local_padding_leaves_no_condition_between_the_barriers() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 4},
        "stage": {"x": {"vector": 1, "reduce_outside": true}, "w": {"vector": 1, "reduce_outside": true}}}"#;
    let prints = around(&schedule(&dense, parameters), "local_padding");
    expect("dense_960_2304_770.txt", "local_padding", &prints);
    let [before, after] = prints.each_ref().map(|print| between_barriers(print));
    let conditional =
        |text: &str| text.lines().any(|line| line.trim_start().starts_with("if") || line.contains("= if"));
    assert!(conditional(before), "{before}");
    assert!(!conditional(after), "{after}");
    let sum = "y_tile[i_i2][j_i2] = y_tile[i_i2][j_i2] + x_shared[";
    assert!(before.contains(sum) && after.contains(sum), "the sum has gone from between the barriers:\n{after}");
}

#[test]
fn vectors_are_copied_with_the_number_of_elements_that_exist() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
        "stage": {"x": {"vector": 2, "reduce_outside": true}, "w": {"vector": 4, "pad": 4}}, "store": 4}"#;
    let [_, after] = around(&schedule(&dense, parameters), "vector_copy");
    for copy in [
        "x_shared[x_shared_k][x_shared_i] = copy x[i_b * 64 + x_shared_i][k_0 * 8 + x_shared_k], 770 - (k_0 * 8 + x_shared_k) of 2 lanes, 64 apart",
        "w_shared[w_shared_j][w_shared_k] = copy w[j_b * 64 + w_shared_j][k_0 * 8 + w_shared_k], 770 - (k_0 * 8 + w_shared_k) of 4 lanes\n",
        "copy y_out[0]",
    ] {
        assert!(after.contains(copy), "{copy} is not in\n{after}");
    }
}

/// Each thread its own, without a barrier; what hangs over the edge is zero.
#[test]
fn operands_are_held_in_registers() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 4}, "load": {"x": 4, "w": 1},
        "raster": {"i": 4, "j": 2}}"#;
    let [before, after] = around(&schedule(&dense, parameters), "vector_copy");
    for text in ["allocate local x_held[4][4]", "allocate local w_held[4][4]", "let i_b_band = block / "] {
        assert!(before.contains(text), "{text} is not in\n{before}");
    }
    let copy = "x_held[i_i2][k_i_step * 4] = copy x[i_b * 32 + (i_t * 4 + i_i2)][k_0 * 4 + k_i_step * 4], 770 - (k_0 * 4 + k_i_step * 4) of 4 lanes";
    assert!(after.contains(copy) && !after.contains("sync"), "{after}");
}

#[test]
fn matrix_instructions_replace_the_innermost_loops() {
    let dense = kernel(DENSE_F16);
    let parameters = r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 32}, "matrix_unit": "half",
        "stage": {"x": {"vector": 8, "pad": 8}, "w": {"vector": 8, "pad": 8}}, "stages": 3, "async": true}"#;
    let schedule = schedule(&dense, parameters);
    let prints = around(&schedule, "tensorize");
    expect("dense_f16_tensorize.txt", "tensorize", &prints);
    let [_, after] = around(&schedule, "pipeline");
    let at = |text: &str| after.find(text).unwrap_or_else(|| panic!("{text} is not in\n{after}"));
    assert!(at("async copy") < at("commit") && at("commit") < at("wait for all but 1"), "{after}");
    assert!(at("wait for all but 1") < at(" sync\n") && at(" sync\n") < at("mma"), "{after}");
    assert_eq!(after.matches("sync\n").count(), 2, "one barrier for each step, and one behind them:\n{after}");
}

#[test]
fn three_products_for_one_take_the_small_ones_first() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 16}, "matrix_unit": "tf32x3",
        "stage": {"x": {"vector": 4, "pad": 4}, "w": {"vector": 4, "pad": 4}}}"#;
    expect("dense_tf32x3_tensorize.txt", "tensorize", &around(&schedule(&dense, parameters), "tensorize"));
}

/// Copies that wait in registers are rounded on their way out of them, where their data have arrived.
#[test]
fn elements_are_rounded_to_tf32_when_they_are_stored() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 16}, "matrix_unit": "tf32", "stages": 2,
        "stage": {"x": {"vector": 4, "pad": 4}, "w": {"pad": 4}}}"#;
    let [_, after] = around(&schedule(&dense, parameters), "pipeline");
    let (first, steady) = after.split_once("for k_0").expect("the main loop");
    assert_eq!(first.matches(", as tf32\n").count(), 2, "the first tiles:\n{first}");
    assert_eq!(steady.matches(", as tf32\n").count(), 2, "the next tiles:\n{steady}");
    for text in [
        "] = copy x_shared_next[x_shared_f][0], 4 of 4 lanes, as tf32\n",
        "] = copy w_shared_next[w_shared_f][0], 1 of 1 lanes, as tf32\n",
        "= load 1 A x_shared[k_0 % 2]",
    ] {
        assert!(steady.contains(text), "{text} is not in\n{steady}");
    }
}

#[test]
fn registers_carry_the_next_tile_over_the_computation() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8}, "stages": 2,
        "stage": {"x": {"vector": 2, "reduce_outside": true}, "w": {"vector": 2, "reduce_outside": true}}}"#;
    let [_, after] = around(&schedule(&dense, parameters), "pipeline");
    let (_, steady) = after.split_once("for k_0").expect("the main loop");
    let load = steady.find("x_shared_next[0][0] = copy x[").expect(steady);
    let sum = steady.find("y_tile[").expect(steady);
    let store = steady.find("copy x_shared_next[0][0]").expect(steady);
    assert!(load < sum && sum < store && store < steady.find("sync").expect(steady), "{steady}");
    assert!(after.contains("allocate shared x_shared[2][8][64]"), "{after}");
}

/// The operands of a step are read under the products of the one before it; those of a tile's first step as soon as it is there.
#[test]
fn fragments_are_read_a_step_ahead() {
    let dense = kernel(DENSE_F16);
    let parameters = r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 64}, "matrix_unit": "half", "stages": 3,
        "async": true, "fragments": 2, "stage": {"x": {"vector": 8, "pad": 8}, "w": {"vector": 8, "pad": 8}}}"#;
    expect("dense_f16_fragments.txt", "pipeline", &around(&schedule(&dense, parameters), "pipeline"));
}

/// What threads multiply one by one, they read of both tiles into registers.
#[test]
fn operands_of_threads_are_read_a_step_ahead() {
    let dense = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 2}, "reduce": {"k": 3}, "stages": 2, "fragments": 2,
        "stage": {"x": {"reduce_outside": true}, "w": {"reduce_outside": true}}}"#;
    let [_, after] = around(&schedule(&dense, parameters), "pipeline");
    let (_, steady) = after.split_once("for k_0").expect("the main loop");
    let places = [
        "x_shared_fragment[1][i_i2] = x_shared[k_0 % 2][1][i_t * 4 + i_i2]",
        "y_tile[i_i2][j_i2] = y_tile[i_i2][j_i2] + x_shared_fragment[step % 2][i_i2] * w_shared_fragment[step % 2][j_i2]",
        "if step + 2 < 3",
        "x_shared_fragment[(step + 2) % 2][i_i2] = x_shared[k_0 % 2][step + 2][i_t * 4 + i_i2]",
        "sync",
        "x_shared_fragment[0][i_i2] * w_shared_fragment[0][j_i2]",
        "x_shared_fragment[0][i_i2] = x_shared[(k_0 + 1) % 2][0][i_t * 4 + i_i2]",
    ];
    let mut rest = steady;
    for text in places {
        let at = rest.find(text).unwrap_or_else(|| panic!("{text} is not where it should be in\n{steady}"));
        rest = &rest[at + text.len()..];
    }
}

/// Sums of a warp's instruction lie in pairs all over the tile; on the way through shared memory they become whole rows, with the
/// epilogue's other operands read by vectors.
#[test]
fn sums_change_hands_in_shared_memory() {
    let dense = kernel(
        "#[dynamic_kernel] fn f(x: &[[f16; K]; M], w: &[[f16; K]; N], b: &[f16; N], y: &mut [[f16; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
                 y[i][j] = f16::from_f32(acc + f32::from(b[j]));
             } }
         }",
    );
    let parameters = r#"{"thread": {"i": 2, "j": 2}, "inner": {"i": 4, "j": 8}, "reduce": {"k": 32}, "matrix_unit": "half",
        "stage": {"x": {"vector": 8, "pad": 8}, "w": {"vector": 8, "pad": 8}}, "stages": 3, "async": true, "store": 8,
        "stage_store": true}"#;
    let prints = around(&schedule(&dense, parameters), "vector_copy");
    expect("dense_f16_staged_store.txt", "vector_copy", &prints);
    let (_, after) = prints[1].split_once("allocate shared y_shared[2][16][136]").expect("a part of the tile");
    for text in [
        "= y_tile[i_m][j_n][i_h][j_i4]",
        "b_in0[0] = copy b[j_b * 128 + y_shared_2]",
        "y_out[dietcode_lane] = y_shared[y_shared_0][y_shared_1][y_shared_2 + dietcode_lane] + b_in0[dietcode_lane]",
        "y[i_b * 128 + (y_shared_0 * 64 + (i_m * 16 + y_shared_1))][j_b * 128 + y_shared_2] = copy y_out[0]",
    ] {
        assert!(after.contains(text), "{text} is not in\n{after}");
    }
    assert_eq!(after.matches("sync\n").count(), 2, "once before and once after the sums are taken\n{after}");
}

/// Sums on their way are known by where they lie in the output: a predicate that cuts a loop of one of its dimensions says nothing of that.
#[test]
fn sums_change_hands_only_where_predicates_can_follow() {
    let batch = kernel(
        "#[dynamic_kernel] fn f(x: &[[[f32; K]; M]; B], w: &[[[f32; K]; N]; B], y: &mut [[[f32; N]; M]; B]) {
             for b in 0..B { for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 for k in 0..K { acc += x[b][i][k] * w[b][j][k]; }
                 y[b][i][j] = acc;
             } } }
         }",
    );
    let program = frontend::program(&batch);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut scheduled = || {
        schedule.split("b", 2, Tail::Pad, ["b_b", "b_v"])?;
        schedule.split("i", 12, Tail::Pad, ["i_b", "i_x"])?;
        schedule.split("i_x", 4, Tail::Pad, ["i_c", "i_d"])?;
        schedule.split("i_c", 2, Tail::Pad, ["i_t", "i_v"])?;
        schedule.split("j", 16, Tail::Pad, ["j_b", "j_t"])?;
        schedule.reorder(&["b_b", "i_b", "j_b", "i_t", "k", "b_v", "i_v", "i_d", "j_t"])?;
        schedule.fuse("b_b", "i_b", "blocks")?;
        schedule.fuse("blocks", "j_b", "block")?;
        schedule.bind_block("block")?;
        schedule.bind_thread("i_t")?;
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("i_t"))?;
        schedule.decompose_reduction()
    };
    scheduled().expect("the schedule is legal");
    lower(&schedule).expect("without it, each thread asks for itself");
    schedule.stage_store(0).expect("a padding");
    let error = lower(&schedule).expect_err("rows 12 to 15 are of the next block").to_string();
    assert!(error.contains("< 3` cuts through it; its inner splits must divide it"), "{error}");
}

/// A dense layer with an epilogue, and a schedule for it, whose blocks share sums as `how` says.
fn shared_sum(how: &str) -> (KernelDef, Blocked) {
    let dense = kernel(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 for k in 0..K { acc += x[i][k] * w[j][k]; }
                 y[i][j] = (acc + b[j]).max(0.0);
             } }
         }",
    );
    let tiles =
        r#""thread": {"i": 8, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "stage": {"x": {}, "w": {}}"#;
    (dense, serde_json::from_str(&format!("{{{tiles}, {how}}}")).expect("parameters"))
}

/// The loops of its two kernels.
fn printed(def: &KernelDef, blocked: &Blocked) -> [String; 2] {
    let kernels = blocked.micro_kernel(&frontend::program(def), device()).expect("a valid schedule").1.schedules;
    let [main, second] = kernels.as_slice() else { panic!("{} kernels, expected two", kernels.len()) };
    [main, second].map(|schedule| lower(schedule).unwrap().body.to_string())
}

/// Split sums: parts go to a workspace without an epilogue, and a second kernel adds them; or to the output, atomically.
#[test]
fn parts_of_sums_meet_in_a_workspace_or_atomically() {
    let (dense, blocked) = shared_sum(r#""split": {"k": 4}"#);
    let [main, second] = printed(&dense, &blocked);
    assert!(main.contains("y_parts[k_s][") && !main.contains("b["), "{main}");
    assert!(second.contains("max(y_tile + b[") && second.contains("for k_s in 0..4"), "{second}");
    let atomic = Blocked { atomic: true, ..blocked };
    let error = atomic.micro_kernel(&frontend::program(&dense), device()).expect_err("it holds a maximum").to_string();
    assert!(error.contains("what is added atomically must be f32 and hold the sum as it is"), "{error}");
}

/// Each block that shares a sum has a contiguous range of its tiles; what hangs over the end of the last is padded.
#[test]
fn parts_of_sums_are_contiguous_ranges() {
    let (dense, blocked) = shared_sum(r#""split": {"k": 4}, "ranges": true"#);
    let [main, second] = printed(&dense, &blocked);
    assert!(main.contains("let k_s_start = k_s * (((K + 7) / 8 + 3) / 4)"), "{main}");
    assert!(main.contains("for k_2 in 0..((K + 7) / 8 + 3) / 4"), "{main}");
    assert!(main.contains("y_parts[k_s][") && second.contains("for k_s in 0..4"), "{main}{second}");
    let trace = blocked.micro_kernel(&frontend::program(&dense), device()).expect("a valid schedule").0.trace;
    assert!(trace.to_string().contains("k_s, k_2 = split_into(k_0, k_split ranges)"), "{trace}");
}

/// Shares of the steps of tiles: which steps a block has of which tiles is computed once for each tile, and what it does not sum whole is left for
/// the second kernel, which adds parts in the order of their steps.
#[test]
fn parts_of_tiles_meet_in_the_order_of_their_steps() {
    let (dense, blocked) = shared_sum(r#""stream": 108, "waves": 2"#);
    let [main, second] = printed(&dense, &blocked);
    expect_text("dense_stream_k.txt", &format!("main\n\n{main}\nsecond\n\n{second}"));
    assert!(!second.contains("x[") && !second.contains("w["), "{second}");
}

/// Every refusal names the key and the numbers.
#[test]
fn what_is_not_valid_is_told() {
    let dense = kernel(DENSE);
    let half = kernel(DENSE_F16);
    let copy = kernel(
        "#[dynamic_kernel] fn copy(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
             for i in 0..M { for j in 0..N { y[i][j] = x[i][j]; } }
         }",
    );
    let total =
        kernel("#[dynamic_kernel] fn total(x: &[f32; K], y: &mut [f32; 1]) { for k in 0..K { y[0] += x[k]; } }");
    let cases = [
        (&dense, r#"{"thread": {"q": 2}}"#, "thread: `q` is not a spatial loop of `dense`"),
        (&dense, r#"{"thread": {"i": 0}}"#, "thread: `i` is 0, expected 1 to 65536"),
        (&dense, r#"{"thread": {"i": 64, "j": 32}}"#, "bind: a block has up to 1024 threads, `thread` has 2048"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "inner": {"i": 16, "j": 16}}"#,
            "registers of a thread: it takes 280 registers, the target allows 255",
        ),
        (&dense, r#"{"thread": {"i": 8}, "stages": 3}"#, "more than 2 need `async`"),
        (&dense, r#"{"thread": {"i": 8}, "async": true}"#, "pipeline: nothing is staged in shared memory"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "reduce": {"k": 8}, "stage": {"x": {}, "w": {}}, "async": true}"#,
            "asynchronous copies need 2 to 8",
        ),
        (&dense, r#"{"thread": {"i": 8}, "raster": {"i": 4}}"#, "raster: it names 1 loops; two make a tile of blocks"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "reduce": {"k": 8}, "stage": {"x": {}}, "load": {"x": 1}}"#,
            "cache_read: `x` is staged already",
        ),
        (&dense, r#"{"thread": {"i": 8}, "ranges": true}"#, "ranges: no blocks share a sum by `split`"),
        (&dense, r#"{"thread": {"i": 8}, "atomic": true}"#, "rfactor: no reduction is bound to the grid"),
        (&dense, r#"{"thread": {"i": 8}, "waves": 2}"#, "waves: 2 of them, but no blocks share tiles by `stream`"),
        (&copy, r#"{"thread": {"i": 8}, "stream": 4}"#, "stream: there is no sum whose steps blocks could share"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "split": {"k": 2}, "stream": 4}"#,
            "stream: blocks share sums by `split`, too",
        ),
        (&dense, r#"{"thread": {"i": 8}, "atomic": true, "stream": 4}"#, "stream: blocks share sums by `split`, too"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "reduce": {"k": 4096}, "split": {"k": 512}}"#,
            "overhang: it takes 2097152 elements behind the end, the target allows 1048576",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8}, "reduce": {"k": 4096}, "split": {"k": 512}, "ranges": true}"#,
            "overhang: it takes 2097152 elements behind the end, the target allows 1048576",
        ),
        (&dense, r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 64, "j": 32}}"#, "unroll: with `"),
        (&copy, r#"{"thread": {"i": 8}, "stages": 2}"#, "pipeline: nothing is staged in shared memory"),
        (&total, r#"{"reduce": {"k": 8}}"#, "`total` has no loop that blocks and threads could share"),
        (
            &half,
            r#"{"thread": {"i": 2}, "vthread": {"i": 2}, "reduce": {"k": 16}, "stage": {"x": {}, "w": {}}, "matrix_unit": "half"}"#,
            "vthread: a matrix unit has none",
        ),
        (
            &half,
            r#"{"thread": {"i": 2}, "reduce": {"k": 16}, "load": {"x": 1, "w": 1}, "matrix_unit": "half"}"#,
            "is not staged in shared memory",
        ),
        (
            &half,
            r#"{"thread": {"i": 8}, "reduce": {"k": 32}, "stage": {"x": {"pad": 8, "swizzle": 8}, "w": {}}}"#,
            "cache_read: `x` padded by 8 and swizzled by 8: its rows are one or the other",
        ),
        (&dense, r#"{"thread": {"i": 8}, "stage": {"y": {}}}"#, "stage: `y` is not an input"),
        (
            &dense,
            r#"{"thread": {"i": 512}, "min_blocks": 5}"#,
            "threads of a multiprocessor: it takes 2560 threads of blocks that it shall hold, the target allows 2048",
        ),
        (&dense, r#"{"inner": {"i": 8}}"#, "thread: a block has a single thread"),
        (
            &copy,
            r#"{"thread": {"i": 8}, "fragments": 2}"#,
            "buffer_fragments: 2 sets, but no pipeline fills tiles in shared memory ahead",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8}, "reduce": {"k": 4}, "stage": {"x": {}}, "load": {"w": 1}, "stages": 2, "fragments": 2}"#,
            "buffer_fragments: `w_held` is read into registers for all steps of a tile",
        ),
        (&copy, r#"{"thread": {"i": 8}, "stage_store": true}"#, "stage_store: there are no sums to store"),
        (
            &dense,
            r#"{"thread": {"i": 8}, "inner": {"i": 4}, "stage_store": true}"#,
            "stage_store: no neighbours of the output are sums of one block",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8, "j": 3}, "inner": {"j": 2}, "store": 4, "stage_store": true}"#,
            "stage_store: rows of 6 sums and 4 elements of padding are no vectors of 4",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8, "j": 8}, "split": {"k": 2}, "atomic": true, "stage_store": true}"#,
            "stage_store: parts of sums are added to the output by the threads that have them",
        ),
        (&dense, r#"{"thread": {"i": 8}, "matrix_unit": "half"}"#, "`x` is f32, which Half does not multiply"),
        (
            &half,
            r#"{"thread": {"i": 1}, "matrix_unit": "half"}"#,
            "reduce: no loop's tile is a multiple of the 16 steps",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8}, "inner": {"j": 8}, "reduce": {"k": 8}, "stage": {"x": {"vector": 4}}}"#,
            "stage: `w` moves along `k` and is not staged",
        ),
        (
            &dense,
            r#"{"thread": {"i": 8, "j": 8}, "reduce": {"k": 6}, "stage": {"x": {"vector": 4}, "w": {}}}"#,
            "vectors of 4 do not divide its 6 elements along `k`",
        ),
        (
            &dense,
            r#"{"thread": {"i": 32, "j": 32}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 256}, "stage": {"x": {}, "w": {}}}"#,
            "shared memory: it takes 262144 bytes, the target allows 166912",
        ),
    ];
    for (def, parameters, expected) in cases {
        let blocked: Blocked = serde_json::from_str(parameters).expect("parameters");
        let found = blocked.micro_kernel(&frontend::program(def), device()).expect_err(parameters).to_string();
        assert!(found.contains(expected), "{parameters}: {found}, expected {expected}");
    }
    let turing = DeviceLimits::of("sm_75".parse().unwrap()).unwrap();
    let asynchronous =
        r#"{"thread": {"i": 8, "j": 8}, "reduce": {"k": 8}, "stage": {"x": {}, "w": {}}, "stages": 2, "async": true}"#;
    let asynchronous: Blocked = serde_json::from_str(asynchronous).unwrap();
    let error = asynchronous.micro_kernel(&frontend::program(&dense), turing).expect_err("it is too old").to_string();
    assert!(error.contains("an asynchronous copy: it needs compute capability sm_80, the device has sm_75"), "{error}");
}
