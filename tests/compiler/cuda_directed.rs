//! Micro-kernels for a GPU that random ones seldom are: carried out on the CPU and compared with the reference, or refused.

use dietcode_core::Result;
use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::lower::lower;
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::schedule::{Combine, MatrixUnit, Schedule, SharedTile, Staging, Tail};
use dietcode_core::sketch::Blocked;
use dietcode_syntax::KernelDef;

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::units;

fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}\n{source}"))
}

fn unit(def: &KernelDef, parameters: &str) -> Result<CudaUnit> {
    let blocked: Blocked = serde_json::from_str(parameters).expect("parameters");
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    units::blocked(def, &blocked, device)
}

/// Runs a micro-kernel at shapes, with rows that follow each other and rows that do not.
fn check(source: &str, parameters: &str, shapes: &[&[i64]]) {
    let def = kernel(source);
    let unit = unit(&def, parameters).unwrap_or_else(|e| panic!("{e}"));
    let library = Library::compile(&HostCompiler::find().expect("a C++ compiler"), [&unit].into_iter());
    for (shape, gap) in shapes.iter().flat_map(|shape| [0, 1, 8].map(|gap| (shape.to_vec(), gap))) {
        let instance = Instance { seed: gap as u64, def: def.clone(), shape, gap, coarse: true };
        let case = Case { instance, unit: unit.clone() };
        let tensors = case.instance.tensors();
        library.check(&case, &tensors, &case.instance.expected(&tensors));
    }
}

/// Blocks leave their parts in a workspace, and a second kernel combines them with what the accumulator starts with: a part may be
/// empty, and staged tiles hold what changes nothing where they hang over the edge.
#[test]
fn parts_of_other_reductions_than_sums() {
    for (init, update) in [
        ("f32::NEG_INFINITY", "acc = acc.max(v)"),
        ("b[i]", "acc = if v < acc { v } else { acc }"),
        ("y[i][j]", "acc = f32::min(v, acc)"),
        ("b[i]", "acc *= v"),
    ] {
        // Of infinities on both sides the sum is one, and their product is none.
        let with = if update.contains("*=") { "*" } else { "+" };
        let source = format!(
            "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; M], y: &mut [[f32; N]; M]) {{
                for i in 0..M {{ for j in 0..N {{ let mut acc = {init};
                    for k in 0..K {{ let v = x[i][k] {with} w[j][k]; {update}; }} y[i][j] = acc; }} }}
            }}"
        );
        for parameters in [
            r#"{"thread": {"j": 8}, "inner": {"i": 2}, "split": {"k": 3}, "reduce": {"k": 4}}"#,
            r#"{"thread": {"i": 4, "j": 4}, "split": {"k": 2}, "reduce": {"k": 8}, "stages": 3, "async": true,
                "stage": {"x": {"vector": 4}, "w": {}}}"#,
        ] {
            check(&source, parameters, &[&[3, 0, 5], &[1, 1, 1], &[5, 23, 9], &[4, 64, 8]]);
        }
    }
}

/// The operand of the columns moves along a loop inside of theirs: what follows a fragment are not the next columns.
#[test]
fn fragments_come_in_pairs_only_where_columns_follow() {
    check(
        "#[dynamic_kernel] fn conv(x: &[[f16; W + S - 1]; H + R - 1], k: &[[[f16; S]; R]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for w in 0..W { for h in 0..H {
                let mut acc = 0.0;
                for r in 0..R { for s in 0..S { acc += f32::from(x[h + r][w + s]) * f32::from(k[o][r][s]); } }
                y[o][h][w] = acc;
            } } }
        }",
        r#"{"thread": {"o": 1, "w": 1}, "inner": {"h": 2}, "reduce": {"s": 16, "r": 1}, "stage": {"x": {}, "k": {}},
            "matrix_unit": "half"}"#,
        &[&[9, 10, 7, 3, 16], &[20, 17, 16, 1, 5]],
    );
    check(
        "#[dynamic_kernel] fn batched(a: &[[[f16; K]; M]; B], b: &[[[f16; K]; N]; B], y: &mut [[[f32; N]; M]; B]) {
            for j in 0..N { for i in 0..M { for n in 0..B {
                let mut acc = 0.0;
                for k in 0..K { acc += f32::from(a[n][i][k]) * f32::from(b[n][j][k]); }
                y[n][i][j] = acc;
            } } }
        }",
        r#"{"thread": {"i": 1, "j": 2, "n": 2}, "inner": {"n": 2}, "reduce": {"k": 16}, "stage": {"a": {}, "b": {}},
            "matrix_unit": "half"}"#,
        &[&[3, 20, 9, 33], &[4, 40, 40, 5]],
    );
}

/// Two tiles of one tensor, one aligned to vectors where the other begins four elements later.
#[test]
fn a_tensor_is_read_at_two_places() {
    check(
        "#[dynamic_kernel] fn shifted(w: &[f32; K], x: &[[f32; K + 4]; M], y: &mut [[f32; M]; M]) {
            for i in 0..M { for j in 0..M {
                let mut acc = w[0];
                for k in 0..K { acc += x[i][k] * x[j][k + 4] - x[i][k + 4]; }
                y[i][j] = acc;
            } }
        }",
        r#"{"thread": {"i": 4, "j": 9}, "inner": {"j": 4}, "vthread": {"i": 3}, "reduce": {"k": 8}, "stages": 2,
            "stage": {"x": {"vector": 4, "reduce_outside": true}}, "persistent": true, "split": {"k": 2}}"#,
        &[&[5, 12], &[64, 37], &[7, 1]],
    );
}

#[test]
fn names_of_the_nest_meet_none_of_the_kernel() {
    check(
        "#[dynamic_kernel] fn dense(expf: &[[f32; K]; M], tanhf: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for e in 0..M { for f in 0..N {
                let mut acc = 0.0;
                for v in 0..K { acc += expf[e][v] * tanhf[f][v]; }
                y[e][f] = acc.exp().tanh();
            } }
        }",
        r#"{"thread": {"e": 4, "f": 4}, "inner": {"e": 3, "f": 4}, "reduce": {"v": 8},
            "stage": {"expf": {"vector": 2}, "tanhf": {}}}"#,
        &[&[20, 9, 33]],
    );
}

const PRODUCT: &str = "#[dynamic_kernel] fn product(a: &[[f16; K]; M], b: &[[f16; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 0.0;
        for k in 0..K { acc += f32::from(a[i][k]) * f32::from(b[j][k]); }
        y[i][j] = acc;
    } }
}";

#[test]
fn parameters_that_no_kernel_can_have_are_refused() {
    let sum = "#[dynamic_kernel] fn sum(x: &[[[[[f32; D]; C]; B]; A]; M], y: &mut [f32; M]) {
        for i in 0..M {
            let mut acc = 0.0;
            for a in 0..A { for b in 0..B { for c in 0..C { for d in 0..D { acc += x[i][a][b][c][d]; } } } }
            y[i] = acc;
        }
    }";
    for (source, parameters, expected) in [
        (PRODUCT, r#"{"thread": {"j": 32}, "store": 0}"#, "store: it is 0, expected 1 to 16"),
        (PRODUCT, r#"{"thread": {"j": 32}, "store": -3}"#, "store: it is -3, expected 1 to 16"),
        (
            PRODUCT,
            r#"{"thread": {"i": 1}, "reduce": {"k": 16}, "stage": {"a": {"pad": 1}, "b": {}}, "matrix_unit": "half"}"#,
            "rows of `a_shared` have 17 elements, padding included; expected a multiple of 8",
        ),
        (
            sum,
            r#"{"thread": {"i": 32}, "reduce": {"a": 65536, "b": 65536, "c": 65536, "d": 65536}, "stage": {"x": {}}}"#,
            "a tile of 32 × 65536 × 65536 × 65536 × 65536 elements is larger than any shared memory",
        ),
        (
            PRODUCT,
            r#"{"thread": {"j": 32}, "split": {"k": 65536}, "reduce": {"k": 32}}"#,
            "overhang: it takes 2097152 elements behind the end, the target allows 1048576",
        ),
    ] {
        let error = unit(&kernel(source), parameters).expect_err(parameters).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

const SHARED: Staging = Staging::Shared(SharedTile { vector: 1, pad: 0, swizzle: 0, reduce_outside: false });

/// Schedules of [`PRODUCT`] whose primitives are legal one by one, and together would race, read outside of a tensor or
/// compute something else.
#[test]
fn primitives_that_do_not_fit_together_are_refused() {
    type Build = fn(&mut Schedule) -> Result<()>;
    let cases: [(Build, &str); 7] = [
        (
            |s| {
                s.parameter("size", 2)?;
                threads(s, Tail::Pad)
            },
            "parameter: `size` is one of a CPU's code",
        ),
        (|s| split_sum(s), "blocks share the sum over `k_s`, but no rfactor"),
        (
            |s| {
                split_sum(s)?;
                s.rfactor(Combine::Workspace)?;
                let tile = s.cache_write()?;
                s.compute_at(&tile, Some("k_0"))
            },
            "rfactor: the tile stands inside of the reduction `k_0`",
        ),
        (
            |s| {
                split_sum(s)?;
                s.rfactor(Combine::Atomic)?;
                s.unroll("k_s")
            },
            "rfactor: no reduction is bound to the grid any more",
        ),
        (
            |s| {
                threads(s, Tail::Pad)?;
                s.cache_read("a", Staging::Edge).map(|_| ())
            },
            "cache_read: `a_view` is not shared by the block's threads",
        ),
        (
            |s| {
                threads(s, Tail::Clip)?;
                s.cache_read("a", SHARED)?.iter().try_for_each(|tile| s.compute_at(tile, Some("k_0")))
            },
            "its extent along `k` is no constant",
        ),
        (|s| rows_and_columns_exchanged(s), "number 4 and 8 lanes; an instruction has 8 and 4"),
    ];
    let program = frontend::program(&kernel(PRODUCT));
    for (build, expected) in cases {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        build(&mut schedule).unwrap_or_else(|e| panic!("{e}"));
        let error = lower(&schedule).err().unwrap_or_else(|| panic!("lowered, expected: {expected}")).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Columns between threads, steps in tiles of 16.
fn threads(s: &mut Schedule, tail: Tail) -> Result<()> {
    s.split("j", 32, Tail::Pad, ["j_b", "j_t"])?;
    s.split("k", 16, tail, ["k_0", "k_1"])?;
    s.bind_block("i")?;
    s.bind_block("j_b")?;
    s.bind_thread("j_t")
}

/// The same, with sums that blocks share.
fn split_sum(s: &mut Schedule) -> Result<()> {
    s.split("j", 32, Tail::Pad, ["j_b", "j_t"])?;
    s.split("k", 4, Tail::Pad, ["k_0", "k_s"])?;
    s.reorder(&["k_s", "i", "j_b", "j_t", "k_0"])?;
    ["k_s", "i", "j_b"].into_iter().try_for_each(|name| s.bind_block(name))?;
    s.bind_thread("j_t")
}

/// An instruction whose lanes are 4 along the rows and 8 along the columns.
fn rows_and_columns_exchanged(s: &mut Schedule) -> Result<()> {
    s.split("i", 8, Tail::Pad, ["i_b", "i_i"])?;
    s.split("i_i", 4, Tail::Pad, ["i_h", "i_l"])?;
    s.split("j", 16, Tail::Pad, ["j_b", "j_i"])?;
    s.split("j_i", 2, Tail::Pad, ["j_q", "j_p"])?;
    s.split("k", 16, Tail::Pad, ["k_0", "k_e"])?;
    s.reorder(&["i_b", "j_b", "i_l", "j_q", "k_0", "i_h", "j_p", "k_e"])?;
    s.fuse("i_l", "j_q", "thread")?;
    ["i_b", "j_b"].into_iter().try_for_each(|name| s.bind_block(name))?;
    s.bind_thread("thread")?;
    let tile = s.cache_write()?;
    let inputs = [s.cache_read("a", SHARED)?, s.cache_read("b", SHARED)?].concat();
    s.compute_at(&tile, Some("thread"))?;
    inputs.iter().try_for_each(|input| s.compute_at(input, Some("k_0")))?;
    s.decompose_reduction()?;
    s.tensorize(MatrixUnit::Half)
}
