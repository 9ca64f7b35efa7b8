//! Blocks that have equal shares of the steps of tiles: which steps each has, what the kernels compute, how a trace says it.

use std::collections::BTreeMap;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::frontend;
use dietcode_core::ir::{Expr, Name, Stmt};
use dietcode_core::machine::cuda::{ComputeCapability, HostCompiler, KernelReport, Nvcc};
use dietcode_core::schedule::{Schedule, Tail, Trace};
use dietcode_core::sketch::{Blocked, Lowered};
use dietcode_syntax::KernelDef;

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::rows::{DENSE_WITH_EPILOGUE, check_unit, device, instances, kernel};
use crate::common::units;

fn unit(def: &KernelDef, parameters: &str) -> CudaUnit {
    let blocked: Blocked = serde_json::from_str(parameters).expect("parameters");
    units::blocked(def, &blocked, device("sm_80")).unwrap_or_else(|e| panic!("{parameters}: {e}"))
}

/// Runs micro-kernels at shapes, with rows that follow each other and rows that do not.
fn check(source: &str, parameters: &[&str], shapes: &[&[i64]]) {
    let def = kernel(source);
    for parameters in parameters {
        let unit = unit(&def, parameters);
        assert_eq!(unit.launches.len(), 2, "the parts of tiles meet in a second kernel");
        check_unit(&unit, instances(&def, shapes));
    }
}

/// One tile and many blocks, fewer tiles than blocks, more; sums shorter than a step, and none at all; one wave of tiles that is shared, two, all.
#[test]
fn a_dense_layer_with_an_epilogue() {
    check(
        DENSE_WITH_EPILOGUE,
        &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 4}, "reduce": {"k": 8}, "stream": 7, "waves": 2,
                "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 4, "reduce_outside": true}},
                "stages": 3, "async": true, "store": 4, "raster": {"i": 2, "j": 2}}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 4}, "stream": 5,
                "stage": {"x": {}, "w": {}}, "stages": 2, "persistent": true, "stage_store": true, "store": 2}"#,
            r#"{"thread": {"j": 32}, "inner": {"i": 3}, "reduce": {"k": 4}, "stream": 3, "waves": 1024, "vthread": {"j": 2}}"#,
            r#"{"thread": {"i": 2, "j": 16}, "stream": 11, "waves": 2}"#,
        ],
        &[&[1, 1, 1], &[3, 5, 0], &[16, 32, 40], &[33, 70, 3], &[40, 65, 37], &[65, 129, 24], &[0, 7, 9]],
    );
}

/// A batch of products by matrix units, whose output is rounded once, also where parts meet.
#[test]
fn products_of_a_batch_by_matrix_units() {
    check(
        "#[dynamic_kernel] fn batched(a: &[[[f16; K]; M]; B], b: &[[[f16; N]; K]; B], y: &mut [[[f16; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += f32::from(a[n][i][k]) * f32::from(b[n][k][j]); }
                y[n][i][j] = f16::from_f32(acc * 0.5);
            } } }
        }",
        &[
            r#"{"thread": {"i": 2, "j": 1}, "inner": {"i": 1, "j": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stream": 6,
                "waves": 2, "stage": {"a": {"vector": 8, "pad": 8}, "b": {"vector": 8, "swizzle": 8}}, "stages": 3, "async": true,
                "store": 8, "stage_store": true}"#,
            r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 1}, "reduce": {"k": 16}, "matrix_unit": "half", "stream": 4,
                "stage": {"a": {}, "b": {}}, "store": 2}"#,
        ],
        &[&[1, 5, 9, 7], &[2, 40, 33, 70], &[3, 64, 32, 96], &[2, 33, 20, 0]],
    );
}

/// Several loops that are summed over make one line of steps.
#[test]
fn a_convolution() {
    check(
        "#[dynamic_kernel] fn conv(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
                y[o][h][w] = acc;
            } } }
        }",
        &[
            r#"{"thread": {"o": 4, "w": 8}, "inner": {"o": 2, "w": 2}, "reduce": {"c": 2, "r": 1, "s": 3}, "stream": 5, "waves": 2,
                "stage": {"x": {}, "k": {}}, "stages": 2}"#,
            r#"{"thread": {"o": 4, "w": 8}, "inner": {"h": 2}, "reduce": {"c": 3, "r": 2, "s": 2}, "stream": 9,
                "stage": {"x": {}, "k": {}}, "stages": 3, "async": true}"#,
        ],
        &[&[9, 3, 5, 3, 4, 10], &[5, 1, 2, 2, 7, 3], &[17, 2, 3, 1, 0, 9]],
    );
}

/// Parts of other reductions than sums meet by their operators, from the identity on.
#[test]
fn extremes() {
    check(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; M], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = b[i];
                for k in 0..K { let v = x[i][k] + w[j][k]; acc = acc.max(v); }
                y[i][j] = acc;
            } }
        }",
        &[r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2}, "reduce": {"k": 4}, "stream": 5, "waves": 2,
            "stage": {"x": {"vector": 4}, "w": {}}, "stages": 2}"#],
        &[&[3, 0, 5], &[5, 23, 9], &[40, 64, 30]],
    );
}

/// Blocks of a persistent grid come in another order: results are the same bit for bit.
#[test]
fn bits_depend_on_no_order_of_blocks() {
    let def = kernel(
        "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc;
            } }
        }",
    );
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let units = [false, true].map(|persistent| {
        let parameters =
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 4}, "stream": 7, "waves": 2"#;
        unit(&def, &format!(r#"{parameters}, "stage": {{"x": {{}}, "w": {{}}}}, "persistent": {persistent}}}"#))
    });
    for shape in [[40, 65, 37], [16, 32, 200], [9, 100, 61]] {
        let bits = units.each_ref().map(|unit| {
            let instance = Instance { seed: 3, def: def.clone(), shape: shape.to_vec(), gap: 0, coarse: false };
            let case = Case { instance, unit: unit.clone() };
            let mut memory = case.instance.memory(&case.instance.tensors());
            Library::compile(&compiler, [unit].into_iter()).run(&case, &mut memory);
            memory[def.output].values().map(f64::to_bits).collect::<Vec<_>>()
        });
        assert_eq!(bits[0], bits[1], "{shape:?}");
    }
}

/// nvcc takes both kernels of large tiles by threads and by matrix units, without a spill.
#[test]
fn devices_take_large_tiles() {
    let nvcc = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
    let devices: Vec<ComputeCapability> = ["sm_80", "sm_90"].map(|name| name.parse().expect("a capability")).into();
    let threads = r#""thread": {"i": 16, "j": 16}, "inner": {"i": 8, "j": 8}, "reduce": {"k": 8}, "stages": 2, "store": 4,
        "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 4, "pad": 4, "reduce_outside": true}}"#;
    let warps = r#""thread": {"i": 2, "j": 2}, "inner": {"i": 4, "j": 8}, "reduce": {"k": 32}, "matrix_unit": "half",
        "stage": {"x": {"vector": 8, "swizzle": 8}, "w": {"vector": 8, "swizzle": 8}}, "stages": 4, "async": true, "store": 8,
        "stage_store": true"#;
    let mut units = Vec::new();
    for (dtype, [open, close], parameters) in [("f32", ["", ""], threads), ("f16", ["f32::from(", ")"], warps)] {
        let def = kernel(&format!(
            "#[dynamic_kernel] fn dense(x: &[[{dtype}; K]; M], w: &[[{dtype}; K]; N], y: &mut [[f32; N]; M]) {{
                for i in 0..M {{ for j in 0..N {{
                    let mut acc = 0.0;
                    for k in 0..K {{ acc += {open}x[i][k]{close} * {open}w[j][k]{close}; }}
                    y[i][j] = acc;
                }} }}
            }}"
        ));
        for shares in ["", r#", "stream": 108, "waves": 2"#] {
            units.push((format!("{dtype}{shares}"), unit(&def, &format!("{{{parameters}{shares}}}"))));
        }
    }
    // As one file, since nvcc takes about as long to begin as with a kernel.
    let text: String = units.iter().map(|(_, unit)| &*unit.source).collect();
    let compiled = nvcc.compile(&text, &devices, DEVICE_HEADERS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for (name, unit) in &units {
        let is_own = |report: &&KernelReport| unit.launches.iter().any(|launch| launch.symbol == report.symbol);
        let reports: Vec<&KernelReport> = compiled.report.iter().filter(is_own).collect();
        assert_eq!(reports.len(), devices.len() * unit.launches.len());
        for report in reports {
            println!("{name} on {}: {} registers", report.capability, report.registers);
            assert!(!report.spills() && report.stack_frame == 0, "{report:?}\n{}", unit.source);
        }
    }
}

/// The tiles and steps of a schedule that is nothing but loops over them: `T` tiles of one element, `K` steps.
fn bare(shares: i64, waves: i64) -> Schedule {
    let def = kernel(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; T], y: &mut [f32; T]) {
            for t in 0..T { let mut acc = 0.0; for k in 0..K { acc += x[t][k]; } y[t] = acc; }
        }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut made = || {
        schedule.split("t", 1, Tail::Pad, ["t_b", "t_t"])?;
        schedule.bind_block("t_b")?;
        schedule.bind_thread("t_t")?;
        schedule.stream_k(["t_b", "k"], shares, waves, ["share", "piece", "own"])?;
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("piece"))?;
        schedule.decompose_reduction()
    };
    made().unwrap_or_else(|e| panic!("{e}"));
    schedule
}

/// Carries loops and `let`s out and tells, of each statement that accumulates or adds a part, the values of variables.
fn walk(stmt: &Stmt, values: &mut BTreeMap<Name, i64>, visit: &mut dyn FnMut(&Stmt, &BTreeMap<Name, i64>)) {
    let value = |e: &Expr, values: &BTreeMap<Name, i64>| {
        let known = values.iter().fold(e.clone(), |e, (name, value)| e.substitute(name, &Expr::Int(*value)));
        known.as_int().unwrap_or_else(|| panic!("`{known}` is no number"))
    };
    match stmt {
        Stmt::For { var, extent, body, .. } => {
            for n in 0..value(extent, values) {
                values.insert(var.clone(), n);
                walk(body, values, visit);
            }
            values.remove(var);
        }
        Stmt::Let { var, value: e, body } => {
            values.insert(var.clone(), value(e, values));
            walk(body, values, visit);
            values.remove(var);
        }
        Stmt::Allocate { body, .. } => walk(body, values, visit),
        Stmt::Seq(all) => all.iter().for_each(|stmt| walk(stmt, values, visit)),
        Stmt::IfThenElse { condition, then, .. } if value(condition, values) != 0 => walk(then, values, visit),
        Stmt::Store { .. } => visit(stmt, values),
        _ => {}
    }
}

/// Each step of each tile is in exactly one share, those of a share follow each other, and shares differ by a step at the most; each part of a
/// tile is read where it was left, once and in the order of the steps, and each output is written once.
#[test]
fn shares_are_a_partition() {
    for (shares, waves) in [(1, 1), (1, 1024), (2, 1), (3, 2), (5, 1), (5, 2), (8, 1024), (13, 2)] {
        let lowered = Lowered::of(bare(shares, waves)).unwrap_or_else(|e| panic!("{e}"));
        for (tiles, steps) in [(0, 3), (1, 1), (1, 40), (3, 7), (4, 0), (5, 5), (7, 1), (11, 4), (16, 3), (29, 6)] {
            partition([tiles, steps], [shares, waves], &lowered);
        }
    }
}

fn partition([tiles, steps]: [i64; 2], [shares, waves]: [i64; 2], lowered: &Lowered) {
    let case = format!("{tiles} tiles of {steps} steps, {shares} shares of the last {waves} waves");
    let whole = steps.max(1);
    let mut lines: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    // By place: the tile, and its first step there.
    let mut parts: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
    let mut written: Vec<i64> = Vec::new();
    let mut start = BTreeMap::from([("T".into(), tiles), ("K".into(), whole)]);
    let at = |index: &[Expr], values: &BTreeMap<Name, i64>| {
        let known = values.iter().fold(index[0].clone(), |e, (name, value)| e.substitute(name, &Expr::Int(*value)));
        known.as_int().expect("it is a number")
    };
    // With nothing to sum there is a step that adds nothing; here it is told apart by what is summed.
    walk(&lowered.nests[0].body, &mut start, &mut |stmt, values| {
        let Stmt::Store { buffer, index, value } = stmt else { return };
        let tile = values["t_b"];
        match &*buffer.name {
            "y" => written.push(tile),
            "y_parts" => {
                let place = at(index, values);
                let first = values["k_begin"];
                assert_eq!(parts.insert(place, [tile, first]), None, "{case}: place {place} is used twice");
            }
            _ if matches!(value, Expr::Float(_)) => {}
            _ => lines.entry(values["share"]).or_default().push(tile * whole + values["k_begin"] + values["own"]),
        }
    });
    let mut all: Vec<i64> = lines.values().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..tiles * whole).collect::<Vec<i64>>(), "{case}");
    for line in lines.values() {
        assert!(line.windows(2).all(|pair| pair[1] == pair[0] + 1), "{case}: {line:?}");
    }
    let of_shares = || (0..shares).map(|share| lines.get(&share).map_or(0, Vec::len));
    assert!(of_shares().max() <= of_shares().min().map(|least| least + 1), "{case}: {lines:?}");
    let mut read: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut start = BTreeMap::from([("T".into(), tiles), ("K".into(), whole)]);
    walk(&lowered.nests[1].body, &mut start, &mut |stmt, values| {
        let Stmt::Store { buffer, value, .. } = stmt else { return };
        let tile = values["t_b"];
        if &*buffer.name == "y" {
            written.push(tile);
        }
        value.visit(&mut |e| {
            if let Expr::Load(buffer, index) = e
                && &*buffer.name == "y_parts"
                && values["t_b_parts"] > 1
            {
                let [of, first] = parts.remove(&at(index, values)).unwrap_or_else(|| panic!("{case}: no such part"));
                assert_eq!(of, tile, "{case}");
                read.entry(tile).or_default().push(first);
            }
        });
    });
    assert!(parts.is_empty(), "{case}: {parts:?} are read by nobody");
    assert!(read.values().all(|firsts| firsts[0] == 0 && firsts.is_sorted()), "{case}: {read:?}");
    written.sort_unstable();
    assert_eq!(written, (0..tiles).collect::<Vec<i64>>(), "{case}");
}

/// A trace says it, and replays to the same loops.
#[test]
fn a_trace_says_it() {
    let schedule = bare(6, 2);
    let trace = Trace::new(schedule.trace());
    let text = trace.to_string();
    assert!(text.contains("share, piece, own = stream_k(t_b, k, 6 shares, 2 waves)\n"), "{text}");
    let json = serde_json::to_string(&trace).expect("a trace is JSON");
    let read: Trace = serde_json::from_str(&json).expect("it is one");
    assert_eq!(read, trace);
    let program = frontend::program(&kernel(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; T], y: &mut [f32; T]) {
            for t in 0..T { let mut acc = 0.0; for k in 0..K { acc += x[t][k]; } y[t] = acc; }
        }",
    ));
    let replayed = read.replay(&program, &program.blocks[0]).unwrap_or_else(|e| panic!("{e}"));
    let hash = |schedule: Schedule| Lowered::of(schedule).unwrap_or_else(|e| panic!("{e}")).hash;
    assert_eq!(hash(replayed), hash(schedule));
}

/// What is no loop over tiles, or none over their steps, is refused.
#[test]
fn what_cannot_be_shared_is_refused() {
    let def = kernel(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; }
        }",
    );
    let program = frontend::program(&def);
    let schedule = |bound: bool| {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("i", 32, Tail::Pad, ["i_b", "i_t"]).expect("it is serial");
        schedule.split("k", 4, Tail::Pad, ["k_0", "k_1"]).expect("it is serial");
        if bound {
            schedule.bind_block("i_b").expect("it is outermost");
            schedule.bind_thread("i_t").expect("32 threads");
        }
        schedule
    };
    let into = ["s", "p", "o"];
    for (bound, loops, sizes, into, expected) in [
        (false, ["i_b", "k_0"], [4, 1], into, "`i_b` is not the one loop over the tiles of a GPU's grid"),
        (true, ["i_t", "k_0"], [4, 1], into, "`i_t` is not the one loop over the tiles"),
        (true, ["i_b", "k_1"], [4, 1], into, "`k_1` is not the outermost loop of a sum"),
        (true, ["i_b", "k_0"], [0, 1], into, "0 shares of the last 1 waves; expected 1 to 65536 and 1 to 1024"),
        (true, ["i_b", "k_0"], [4, 1025], into, "4 shares of the last 1025 waves"),
        (true, ["i_b", "k_0"], [4, 1], ["s", "s", "o"], "two new loops are called `s`"),
        (true, ["i_b", "k_0"], [4, 1], ["x", "p", "o"], "the name `x` is taken"),
    ] {
        let error = schedule(bound).stream_k(loops, sizes[0], sizes[1], into).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut outside = schedule(true);
    outside.stream_k(["i_b", "k_0"], 4, 1, into).expect("it is legal");
    let tile = outside.cache_write().expect("there is none");
    outside.compute_at(&tile, Some("i_t")).expect_err("the tiles of a block are no constant");
}

/// The grid of a stream is that of its shares and of the tiles that stay whole, and not one that a device could launch where no integer of it
/// counts the steps.
#[test]
fn grids_are_counted() {
    let def = kernel(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; }
        }",
    );
    let unit = unit(&def, r#"{"thread": {"i": 32}, "reduce": {"k": 1}, "stream": 10, "waves": 2}"#);
    let blocks = |launch: usize, m: i64, k: i64| {
        let e = unit.launches[launch].blocks.substitute("M", &Expr::Int(m)).substitute("K", &Expr::Int(k));
        e.as_int().unwrap_or_else(|| panic!("`{e}` is no number"))
    };
    // 35 tiles: the last 15 are shared by 10.
    assert_eq!([blocks(0, 35 * 32, 100), blocks(1, 35 * 32, 100)], [30, 15]);
    assert_eq!([blocks(0, 7 * 32, 100), blocks(1, 7 * 32, 100)], [10, 7]);
    assert!(blocks(0, 35 * 32, 1 << 30) > i64::from(i32::MAX));
}
