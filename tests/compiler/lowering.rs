//! The passes, by the IR they print.
//!
//! The expected prints are the files in `tests/compiler/lowering`; `DIETCODE_BLESS=1` writes them anew, to be read before they
//! are committed.

mod condition;
mod edges;
mod prefetch;
mod prepared;

use std::path::Path;

use dietcode_core::frontend;
use dietcode_core::ir::{DType, Expr, Scope, Stmt};
use dietcode_core::lower::{lower, lower_observed};
use dietcode_core::schedule::{Schedule, Size, Staging, Tail, Trace};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::KernelDef;

use crate::common::avx512::target;
use crate::common::units;

fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}"))
}

/// The statements before and after a pass.
fn around(schedule: &Schedule, pass: &str) -> [Stmt; 2] {
    let mut seen = Vec::new();
    let observe = &mut |name: &'static str, body: &Stmt| seen.push((name, body.clone()));
    lower_observed(schedule, observe).unwrap_or_else(|e| panic!("{e}"));
    let after = seen.iter().position(|(name, _)| *name == pass).expect("the pipeline has the pass");
    [seen[after - 1].1.clone(), seen[after].1.clone()]
}

/// Whether a sum into the tile stands under a condition; one around all of the tile chooses among tiles.
fn compute_is_guarded(stmt: &Stmt, guarded: bool) -> bool {
    match stmt {
        Stmt::Store { buffer, value: Expr::Binary(_, sum, _), .. } => {
            let accumulates = matches!(&**sum, Expr::Load(from, _) if from == buffer);
            guarded && accumulates && matches!(buffer.scope, Scope::Local | Scope::Register)
        }
        Stmt::IfThenElse { then, otherwise, .. } => {
            compute_is_guarded(then, true) || otherwise.iter().any(|stmt| compute_is_guarded(stmt, true))
        }
        Stmt::Allocate { buffer, body } if matches!(buffer.scope, Scope::Local | Scope::Register) => {
            compute_is_guarded(body, false)
        }
        Stmt::For { body, .. } | Stmt::Let { body, .. } | Stmt::Allocate { body, .. } | Stmt::View { body, .. } => {
            compute_is_guarded(body, guarded)
        }
        Stmt::Seq(stmts) => stmts.iter().any(|stmt| compute_is_guarded(stmt, guarded)),
        Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => false,
    }
}

/// Compares the prints before and after local padding with the file of that name.
fn expect_padded(name: &str, [before, after]: &[Stmt; 2]) {
    expect(name, &format!("before local_padding\n\n{before}\nafter local_padding\n\n{after}"));
}

/// Compares prints with the file of that name.
fn expect(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compiler/lowering").join(name);
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        std::fs::write(&path, found).expect("the expected print can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(found, expected, "{} differs; DIETCODE_BLESS=1 writes it anew", path.display());
}

/// An extent of 80 in a loop of 100, the example of the DietCode paper (MLSys 2022, section 4.3).
#[test]
fn an_extent_of_80_in_a_loop_of_100() {
    let def = kernel(
        "#[dynamic_kernel] fn rows(x: &[[f32; K]; 80], y: &mut [f32; 80]) {
             for i in 0..80 { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("i", 100, Tail::Pad, ["i_0", "i_1"]).unwrap();
    schedule.reorder(&["i_0", "k", "i_1"]).unwrap();
    let tile = schedule.cache_write().unwrap();
    let panel = schedule.cache_read("x", Staging::Always).unwrap().remove(0);
    schedule.compute_at(&tile, Some("i_0")).unwrap();
    schedule.compute_at(&panel, Some("k")).unwrap();
    schedule.decompose_reduction().unwrap();
    let prints = around(&schedule, "local_padding");
    expect_padded("extent_80_in_100.txt", &prints);
    assert!(compute_is_guarded(&prints[0], false));
    assert!(!compute_is_guarded(&prints[1], false));
}

#[test]
fn dense_of_prime_extents() {
    let def = kernel(
        "#[dynamic_kernel] fn dense(x: &[[f32; 769]; 37], w: &[[f32; 769]; 101], y: &mut [[f32; 101]; 37]) {
             for i in 0..37 { for j in 0..101 {
                 let mut acc = 0.0;
                 for k in 0..769 { acc += x[i][k] * w[j][k]; }
                 y[i][j] = acc;
             } }
         }",
    );
    let sizes = |sizes: &[(&str, i64)]| sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let tiled = Tiled {
        vector: Some("j".into()),
        register_tile: sizes(&[("i", 4), ("j", 32), ("k", 2)]),
        block_tile: sizes(&[("i", 8), ("j", 64), ("k", 256)]),
        pack: vec!["w".into()],
        ..Tiled::default()
    };
    tiled.micro_kernel(&frontend::program(&def), &target()).unwrap_or_else(|e| panic!("{e}"));
    let prints = around(&tiled.schedule(&frontend::program(&def), &target()).unwrap(), "local_padding");
    expect_padded("dense_prime.txt", &prints);
    assert!(compute_is_guarded(&prints[0], false));
    assert!(!compute_is_guarded(&prints[1], false));
}

const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 0.0;
        for k in 0..K { acc += x[i][k] * w[j][k]; }
        y[i][j] = acc;
    } }
}";

/// The schedule of a valid micro-kernel for it.
fn dense(parameters: &str) -> Schedule {
    let (def, tiled): (_, Tiled) = (kernel(DENSE), serde_json::from_str(parameters).expect("parameters"));
    tiled.micro_kernel(&frontend::program(&def), &target()).unwrap_or_else(|e| panic!("{e}"));
    tiled.schedule(&frontend::program(&def), &target()).unwrap()
}

/// The first panels are packed before the loop, the next ones in it, into the other half; and what is packed there is still
/// transposed in registers.
#[test]
fn the_next_panel_is_packed_before_the_current_is_used() {
    let doubled = dense(
        r#"{"vector": "j", "register_tile": {"i": 4, "j": 16}, "block_tile": {"i": 8, "j": 32, "k": 64}, "pack": ["x", "w"],
            "pad": {"w": 16}, "double_buffer": true}"#,
    );
    let [before, after] = around(&doubled, "double_buffer").map(|stmt| stmt.to_string());
    assert!(before.contains("allocate panel w_panel[2][65][16]") && !before.contains("k_0_half"), "{before}");
    let place = |text: &str| after.find(text).unwrap_or_else(|| panic!("{text} is not in\n{after}"));
    let first = place("allocate panel w_panel[2][2][65][16]");
    let filled = place("w_panel[0][j_1][k_1][j_v] = ");
    let steps = place("let k_0_half = k_0 % 2");
    let next = place("w_panel[1 - k_0_half][j_1][k_1][j_v] = ");
    let used = place("* w_panel[k_0_half][j_1][k_1][j_v]");
    assert!(first < filled && filled < steps && steps < next && next < used, "{after}");
    let nest = lower(&doubled).unwrap().body.to_string();
    assert!(nest.contains("w_panel[1 - k_0_half][j_1][0][0] = transpose w"), "{nest}");
}

/// What is contiguous along the sum is transposed for a few steps at a time.
#[test]
fn a_loaded_operand_is_transposed_for_each_step() {
    let loaded = dense(
        r#"{"vector": "j", "lanes": 8, "register_tile": {"i": 4, "j": 8, "k": 8}, "block_tile": {"k": 256}, "load": ["w"]}"#,
    );
    let nest = lower(&loaded).unwrap().body.to_string();
    assert!(nest.contains("w_panel[0][0] = transpose w") && nest.contains("of 8 lanes, 8 columns"), "{nest}");
}

/// What local padding makes of a nest whose `k` goes in padded steps of 4 over a panel of `x`.
fn with_padded_steps(def: &KernelDef) -> Stmt {
    let program = frontend::program(def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("k", 4, Tail::Pad, ["k_0", "k_1"]).unwrap();
    schedule.cache_read("x", Staging::Always).unwrap();
    schedule.compute_at("x_panel", Some("k_0")).unwrap();
    schedule.decompose_reduction().unwrap();
    let [_, after] = around(&schedule, "local_padding");
    after
}

/// `exp(0)` is not 0: a sum over padding would be wrong, so the predicate must stay.
#[test]
fn a_guard_stays_where_padding_would_be_summed() {
    let def = kernel(
        "#[dynamic_kernel] fn sum_exp(x: &[[f32; K]; M], y: &mut [f32; M]) {
             for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k].exp(); } y[i] = acc; }
         }",
    );
    let after = with_padded_steps(&def);
    assert!(compute_is_guarded(&after, false), "{after}");
    let sizes = |size| [("k".to_owned(), size)].into();
    let padded = Tiled { register_tile: sizes(4), block_tile: sizes(64), ..Tiled::default() };
    let error = padded.micro_kernel(&frontend::program(&def), &target()).expect_err("nothing pads it").to_string();
    assert!(error.contains("register_tile: `k` cannot be padded"), "{error}");
}

/// The size of an outer step may be a parameter; where it begins has a name, so that indices stay affine, and what is staged is as
/// large as it says.
#[test]
fn a_size_may_be_known_at_run_time_only() {
    let def = kernel(DENSE);
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.parameter("block", 64).unwrap();
    schedule.split("k", Size(vec![2.into(), "block".into()]), Tail::Clip, ["k_0", "k_1"]).unwrap();
    schedule.split("j", 8, Tail::Pad, ["j_0", "j_1"]).unwrap();
    schedule.reorder(&["i", "j_0", "k_0", "k_1", "j_1"]).unwrap();
    schedule.cache_read("w", Staging::Always).unwrap();
    schedule.compute_at("w_panel", Some("k_0")).unwrap();
    schedule.decompose_reduction().unwrap();
    let nest = lower(&schedule).unwrap();
    let body = nest.body.to_string();
    assert!(body.contains("let k_0_start = k_0 * (block * 2)") && body.contains("[i][k_0_start + k_1]"), "{body}");
    assert!(body.contains("panel w_panel[block * 2][8]"), "{body}");
    assert_eq!((&*nest.shape_vars[3], &*nest.parameters), ("block", &[64][..]));
    assert_eq!([1, 64].map(|block| nest.scratch_bytes(&[block])), [64, 64 * 64]);

    let trace = Trace::new(schedule.trace().to_vec());
    assert!(trace.to_string().contains("block = parameter(64)\nk_0, k_1 = split(k, 2·block, clip)"), "{trace}");
    let json = serde_json::to_string(&trace).unwrap();
    let trace: Trace = serde_json::from_str(&json).unwrap();
    assert_eq!(trace.replay(&program, &program.blocks[0]).unwrap().trace(), schedule.trace());

    let mut other = Schedule::new(&program, &program.blocks[0]);
    let mut refused = |name: &str, value, tail| {
        let declared = other.parameter(name, value);
        let made = declared.and_then(|()| other.split("i", Size::product([name]), tail, ["a", "b"]));
        made.expect_err("it is refused").to_string()
    };
    assert!(refused("b0", 4, Tail::Pad).contains("split of `i` by b0: only a constant can be padded"));
    assert!(refused("b1", 0, Tail::Clip).contains("it is 0; expected a value from 1 to 2^31"));
    assert!(refused("b2", 1 << 32, Tail::Clip).contains("it is 4294967296; expected"));
    assert!(refused("K", 4, Tail::Clip).contains("the name `K` is taken"));
    let undeclared = other.split("i", Size::product(["Q"]), Tail::Clip, ["a", "b"]).unwrap_err().to_string();
    assert!(undeclared.contains("`Q` is open"), "{undeclared}");
}

/// Staged copies hold what makes the update the operator's identity; where nothing does, the guard stays.
/// The third of 5 rows by ranges of 2 has one, and the fourth none.
#[test]
fn a_loop_may_be_split_into_ranges() {
    let copy = |extent: &str| {
        kernel(&format!(
            "#[dynamic_kernel] fn f(x: &[f32; {extent}], y: &mut [f32; {extent}]) {{ for i in 0..{extent} {{ y[i] = x[i]; }} }}"
        ))
    };
    let program = frontend::program(&copy("M"));
    let new = || Schedule::new(&program, &program.blocks[0]);
    let mut schedule = new();
    schedule.split_into("i", 4, ["i_r", "i_1"]).unwrap();
    let text = lower(&schedule).unwrap().body.to_string();
    let whole = "for i_r in 0..4
  let i_r_start = i_r * ((M + 3) / 4)
  if i_r_start + ((M + 3) / 4 - 1) < M
    for i_1 in 0..(M + 3) / 4
      y[i_r_start + i_1] = x[i_r_start + i_1]
  else
    for i_1 in 0..min((M + 3) / 4, M - i_r_start)
      y[i_r_start + i_1] = x[i_r_start + i_1]
";
    assert_eq!(text, whole);
    let constant = frontend::program(&copy("5"));
    let mut of_five = Schedule::new(&constant, &constant.blocks[0]);
    of_five.split_into("i", 4, ["i_r", "i_1"]).unwrap();
    let text = lower(&of_five).unwrap().body.to_string();
    assert!(text.contains("for i_1 in 0..2") && text.contains("if i_r * 2 + 1 < 5"), "{text}");
    let refused = |schedule: &mut Schedule, name: &str, ranges, into| {
        schedule.split_into(name, ranges, into).expect_err("it is refused").to_string()
    };
    let mut clipped = new();
    clipped.split("i", 8, Tail::Clip, ["i_0", "i_1"]).unwrap();
    let of_clipped = refused(&mut clipped, "i_1", 2, ["a", "b"]);
    assert!(of_clipped.contains("split_into of `i_1`: its extent depends on `i_0`"), "{of_clipped}");
    let sentences = [
        (refused(&mut new(), "i", 0, ["a", "b"]), "split_into of `i`: 0 ranges; expected 1 to 65536"),
        (refused(&mut new(), "i", 2, ["a", "a"]), "split_into of `i`: both new loops are called `a`"),
        (refused(&mut new(), "i", 2, ["M", "a"]), "the name `M` is taken"),
        (refused(&mut new(), "q", 2, ["a", "b"]), "no loop `q`"),
    ];
    for (found, expected) in sentences {
        assert!(found.contains(expected), "{found}, expected {expected}");
    }
}

#[test]
fn padding_is_what_changes_nothing() {
    for (update, padding) in [
        ("acc += 2.0 * x[i][k]", Some("0.0")),
        ("acc *= x[i][k]", Some("1.0")),
        ("acc *= -x[i][k]", Some("-1.0")),
        ("acc *= x[i][k] * b[i]", None),
        ("acc *= x[i][k] + 1.0", None),
        ("acc = acc.max(x[i][k])", Some("-inf")),
        ("acc = acc.max(3.0 - x[i][k])", Some("inf")),
        ("acc = acc.min(x[i][k] * x[i][k])", Some("inf")),
        ("acc = acc.max(x[i][k] * b[i])", None),
        ("acc = acc.max(x[i][k].abs())", None),
        ("acc = acc.max(x[i][k].exp())", None),
    ] {
        let def = kernel(&format!(
            "#[dynamic_kernel] fn reduced(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {{
                 for i in 0..M {{ let mut acc = 0.5; for k in 0..K {{ {update}; }} y[i] = acc; }}
             }}"
        ));
        let after = with_padded_steps(&def);
        assert_eq!(compute_is_guarded(&after, false), padding.is_none(), "{update}: {after}");
        if let Some(padding) = padding {
            assert!(after.to_string().contains(&format!("else {{ {padding} }}")), "{update}: {after}");
        }
    }
}

/// `0 · ∞` is NaN: padding one factor is not enough if the other is read from memory that is not padded.
#[test]
fn a_guard_stays_where_only_one_factor_is_padded() {
    let def = kernel(
        "#[dynamic_kernel] fn scaled(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
             for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * b[i]; } y[i] = acc; }
         }",
    );
    let after = with_padded_steps(&def);
    assert!(compute_is_guarded(&after, false), "{after}");
}

/// Whatever the nest is, its default micro-kernel computes without a predicate.
#[test]
fn defaults_compute_without_predicates() {
    let nests = [
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += x[i][k] * w[j][k]; } } } }",
        "#[dynamic_kernel] fn f(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
            for b in 0..B { for i in 0..M { for j in 0..N { for k in 0..K { y[b][i][j] += x[b][i][k] * w[b][k][j]; } } } } }",
        "#[dynamic_kernel] fn f(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W { for c in 0..C { for r in 0..R { for s in 0..S {
                y[o][h][w] += x[c][h + r][w + s] * k[o][c][r][s];
            } } } } } } }",
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { for k in 0..K { y[i] += x[i][k]; } } }",
    ];
    for nest in nests {
        let def = kernel(nest);
        let tiled = Tiled::default_for(&frontend::program(&def), &target());
        tiled.micro_kernel(&frontend::program(&def), &target()).unwrap_or_else(|e| panic!("{e}"));
        let nest = lower(&tiled.schedule(&frontend::program(&def), &target()).unwrap()).unwrap();
        assert!(!compute_is_guarded(&nest.body, false), "{}", nest.body);
        assert!(tiled.vector.is_some() && !tiled.register_tile.is_empty(), "{tiled:?} is no real tile for\n{def}");
    }
}

/// The copy of a row at the edge would be as long as the row.
#[test]
fn a_missing_block_of_a_reduction_is_told() {
    let def = kernel(
        "#[dynamic_kernel] fn rows(x: &[[f32; K]; M], y: &mut [f32; M]) {
             for i in 0..M { for k in 0..K { y[i] += x[i][k]; } }
         }",
    );
    let sizes = |name: &str, size| [(name.to_owned(), size)].into();
    let rows = Tiled { register_tile: sizes("i", 2), ..Tiled::default() };
    let error = rows.micro_kernel(&frontend::program(&def), &target()).expect_err("it has no size").to_string();
    assert!(error.contains("along `k` is `K`, not a constant; split the loop, by its `block_tile`"), "{error}");
    let blocked = Tiled { block_tile: sizes("k", 64), ..rows };
    blocked.micro_kernel(&frontend::program(&def), &target()).unwrap_or_else(|e| panic!("{e}"));
}

/// Of each refusal the key or the limit, with the numbers.
#[test]
fn parameters_that_do_not_fit_are_told() {
    let program = frontend::program(&kernel(DENSE));
    for (parameters, expected) in [
        (
            r#"{"vector": "j", "register_tile": {"j": 7}}"#,
            "register_tile: `j` is 7; the vector loop's must be a multiple of 2",
        ),
        (r#"{"lanes": 8}"#, "lanes: no loop is that of vectors"),
        (r#"{"vector": "j", "register_tile": {"j": 12}, "lanes": 3}"#, "lanes: they are 3, expected 1, 2, 4, 8 or 16"),
        (
            r#"{"vector": "j", "register_tile": {"j": 12}, "lanes": 8}"#,
            "lanes: they are 8; expected a number that divides the register tile's 12 along `j`",
        ),
        (
            r#"{"register_tile": {"i": 4}, "block_tile": {"i": 6}}"#,
            "block_tile: `i` is 6, not a multiple of the register tile's 4",
        ),
        (r#"{"pad": {"w": 16}}"#, "pad: `w` is not packed"),
        (r#"{"block_tile": {"k": 64}, "pack": ["w"], "load": ["w"]}"#, "cache_read: `w` is staged already"),
        (r#"{"block_tile": {"k": 64}, "double_buffer": true}"#, "pipeline: nothing is packed into panels"),
        (r#"{"double_buffer": true}"#, "double_buffer: no reduction has a block"),
        (r#"{"raster": {"i": 2}}"#, "raster: it names 1 loops; two make a tile of blocks"),
        (r#"{"register_tile": {"i": 8, "j": 8}, "block_tile": {"k": 64}}"#, "vector registers: it takes 64 registers"),
        (
            r#"{"vector": "j", "register_tile": {"i": 16, "j": 96}, "block_tile": {"k": 64}}"#,
            "vector registers: it takes 96 registers",
        ),
        (r#"{"register_tile": {"i": 64, "j": 32}, "block_tile": {"k": 64}}"#, "unroll: with `"),
    ] {
        let tiled: Tiled = serde_json::from_str(parameters).expect("parameters");
        let error = tiled.micro_kernel(&program, &target()).map(drop).expect_err(parameters).to_string();
        assert!(error.contains(expected), "{parameters}: {error}");
    }
}

/// Where a clipped loop is padded, the bound moves with the loop outside: its last iteration says nothing of the others.
#[test]
fn a_view_of_a_padded_split_of_a_clipped_loop_is_never_inside() {
    let def = kernel(
        "#[dynamic_kernel] fn dot(x: &[[f32; K]; M], y: &mut [f32; M]) {
             for i in 0..M { for k in 0..K { y[i] += x[i][k]; } }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("k", 64, Tail::Clip, ["k_0", "k_1"]).unwrap();
    schedule.split("k_0", 4, Tail::Clip, ["k_2", "k_3"]).unwrap();
    schedule.split("k_1", 3, Tail::Pad, ["k_4", "k_5"]).unwrap();
    schedule.cache_read("x", Staging::Edge).unwrap();
    schedule.compute_at("x_view", Some("k_2")).unwrap();
    schedule.decompose_reduction().unwrap();
    let nest = lower(&schedule).unwrap();
    let mut views = Vec::new();
    nest.body.visit(&mut |stmt| {
        if let Stmt::View { inside, .. } = stmt {
            views.push(inside.clone());
        }
    });
    assert_eq!(views, [Expr::Int(0)], "{}", nest.body);
}

/// The copy of a window's view at an edge has each element once, unless a padded sum would see elements that are not its own.
#[test]
fn a_view_of_a_window_copies_each_element_once() {
    let def = kernel(
        "#[dynamic_kernel] fn rows(x: &[[f32; W + S - 1]; C], f: &[[f32; S]; C], y: &mut [f32; W]) {
             for w in 0..W { for c in 0..C { for s in 0..S { y[w] += x[c][w + s] * f[c][s]; } } }
         }",
    );
    let program = frontend::program(&def);
    let copy = |tail: Tail| {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("w", 4, Tail::Pad, ["w_0", "w_1"]).unwrap();
        schedule.split("c", 8, Tail::Pad, ["c_0", "c_1"]).unwrap();
        schedule.split("s", 3, tail, ["s_0", "s_1"]).unwrap();
        schedule.reorder(&["w_0", "c_0", "s_0", "c_1", "s_1", "w_1"]).unwrap();
        schedule.cache_write().unwrap();
        schedule.cache_read("x", Staging::Edge).unwrap();
        schedule.compute_at("x_view", Some("s_0")).unwrap();
        schedule.decompose_reduction().unwrap();
        let mut copies = Vec::new();
        lower(&schedule).unwrap().body.visit(&mut |stmt| {
            if let Stmt::View { edge, .. } = stmt {
                copies.push((edge.buffer.shape.iter().map(Expr::as_int).collect::<Vec<_>>(), edge.steps.clone()));
            }
        });
        copies
    };
    // Along c_1, s_1 and w_1.
    let window = (vec![Some(8), Some(6)], vec![vec![1, 0], vec![0, 1], vec![0, 1]]);
    assert_eq!(copy(Tail::Clip), [window]);
    let places = (vec![Some(8), Some(3), Some(4)], vec![vec![1, 0, 0], vec![0, 1, 0], vec![0, 0, 1]]);
    assert_eq!(copy(Tail::Pad), [places]);
}

/// Two extents below zero have a positive product.
#[test]
fn a_loop_to_less_than_zero_has_no_iterations() {
    let def = kernel(
        "#[dynamic_kernel] fn inner(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
             for i in 0..M - 2 { for j in 0..N - 2 { y[i][j] = x[i + 2][j + 2]; } }
         }",
    );
    let tiled = Tiled::default().schedule(&frontend::program(&def), &target()).unwrap();
    let (_, tiles) = lower(&tiled).unwrap().grid.expect("the loops over tiles are parallel");
    assert_eq!(tiles.to_string(), "max(M - 2, 0) * max(N - 2, 0)");
}

/// Nothing is divided by the extent of an empty reduction, although its loop runs to initialise the tile.
#[test]
fn fused_reductions_may_be_empty() {
    let def = kernel(
        "#[dynamic_kernel] fn sum(x: &[[[f32; K]; C]; M], y: &mut [f32; M]) {
             for i in 0..M { for c in 0..C { for k in 0..K { y[i] += x[i][c][k]; } } }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.fuse("c", "k", "ck").unwrap();
    let text = lower(&schedule).unwrap().body.to_string();
    assert!(text.contains("max(K, 1)") && text.contains("k < K") && text.contains("c < C"), "{text}");
}

/// A padded split of a loop of constant extent has a guard, which says nothing of whether the sum is empty.
#[test]
fn a_reduction_with_a_ragged_constant_loop_may_be_empty() {
    let def = kernel(
        "#[dynamic_kernel] fn sum(x: &[[f32; K]; M], y: &mut [f32; M]) {
             for i in 0..M { for k in 0..K { y[i] += x[i][k]; } }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("k", 1, Tail::Pad, ["ka", "kb"]).unwrap();
    schedule.split("kb", 2, Tail::Pad, ["kc", "kd"]).unwrap();
    let text = lower(&schedule).unwrap().body.to_string();
    assert!(text.contains("max(K, 1)") && text.contains("ka + kd < K"), "{text}");
}

/// What a split by 1 leaves inside has its iteration also where there is nothing to sum, and so have loops that it is split or fused into.
#[test]
fn loops_inside_of_one_of_each_element_do_not_end_with_it() {
    let def = kernel(
        "#[dynamic_kernel] fn sum(x: &[[[f32; C]; K]; M], y: &mut [f32; M]) {
             for i in 0..M { for k in 0..K { for c in 0..C { y[i] += x[i][k][c]; } } }
         }",
    );
    let program = frontend::program(&def);
    let inside = |within: &dyn Fn(&mut Schedule)| {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("k", 1, Tail::Clip, ["k_0", "k_1"]).unwrap();
        within(&mut schedule);
        schedule.cache_write().unwrap();
        schedule.compute_at("y_tile", Some("k_0")).unwrap();
        schedule.decompose_reduction().unwrap();
        lower(&schedule).unwrap().body.to_string()
    };
    let split = inside(&|schedule| schedule.split("k_1", 48, Tail::Clip, ["k_2", "k_3"]).unwrap());
    assert!(split.contains("k_0 + k_3 < K"), "{split}");
    let fused = inside(&|schedule| schedule.fuse("k_1", "c", "kc").unwrap());
    assert!(fused.contains("k_0 + k_1 < K"), "{fused}");
}

/// The `let`s of a fused loop stand in every copy of an unrolled one: each copy is a scope.
#[test]
fn copies_of_a_fused_loop_declare_names_of_their_own() {
    let def = kernel(
        "#[dynamic_kernel] fn twice(x: &[[f32; 4]; 2], y: &mut [[f32; 4]; 2]) {
             for i in 0..2 { for j in 0..4 { y[i][j] = x[i][j] * 2.0; } }
         }",
    );
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.fuse("i", "j", "ij").unwrap();
    schedule.unroll("ij").unwrap();
    let source = units::scheduled(&def, "unrolled", &schedule).unwrap().source;
    let mut declared = vec![0];
    for line in source.lines() {
        let line = line.trim();
        match line {
            _ if line.ends_with('{') => declared.push(0),
            "}" => _ = declared.pop(),
            _ if line.starts_with("const dietcode_int i =") => *declared.last_mut().unwrap() += 1,
            _ => {}
        }
        assert!(declared.last().is_none_or(|names| *names < 2), "{source}");
    }
}

fn half_dense() -> KernelDef {
    kernel(
        "#[dynamic_kernel] fn dense(x: &[[f16; K]; M], w: &[[bf16; K]; N], y: &mut [[f16; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
                 y[i][j] = f16::from_f32(acc);
             } }
         }",
    )
}

/// Partial sums wait as `f32`, so that every element of an output of 16 bits is rounded once; and panels are converted
/// when they are filled, views are not.
#[test]
fn partial_sums_of_a_half_output_wait_in_a_panel() {
    let def = half_dense();
    let mut tiled = Tiled::default_for(&frontend::program(&def), &target());
    // So many rows are a view.
    tiled.register_tile.extend([("i".into(), 9), ("j".into(), 16)]);
    tiled.block_tile.extend([("i".into(), 72), ("j".into(), 16)]);
    let nest = lower(&tiled.schedule(&frontend::program(&def), &target()).unwrap()).unwrap();
    let dtype = |name: &str| {
        let panel = nest.panels.iter().find(|(panel, _)| panel.name.starts_with(name));
        panel.unwrap_or_else(|| panic!("a panel {name} in {}", nest.body)).0.dtype
    };
    assert_eq!([dtype("y_sums"), dtype("w_panel"), dtype("x_view_edge")], [DType::F32, DType::F32, DType::F16]);
    let mut read_back = false;
    nest.body.visit(&mut |stmt| {
        if let Stmt::Store { value, .. } = stmt {
            value.visit(&mut |e| read_back |= matches!(e, Expr::Load(from, _) if *from == nest.output));
        }
    });
    assert!(!read_back, "{}", nest.body);
}

#[test]
fn partial_sums_without_a_constant_extent_are_refused_for_a_half_output() {
    let def = half_dense();
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("k", 64, Tail::Clip, ["k_0", "k_1"]).unwrap();
    schedule.reorder(&["k_0", "i", "j", "k_1"]).unwrap();
    let tile = schedule.cache_write().unwrap();
    schedule.compute_at(&tile, Some("j")).unwrap();
    let error = lower(&schedule).unwrap_err().to_string();
    assert!(error.contains("`y`") && error.contains("extent along `i` is not constant"), "{error}");
}
