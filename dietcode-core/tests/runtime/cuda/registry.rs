//! The CUDA half of a generated registry: the text that is expected is compiled into this test, and tried.
//!
//! `DIETCODE_BLESS=1` writes `registry/expected.rs` anew, to be read before it is committed.

use std::ffi::{c_char, c_int};

use dietcode_core::codegen::cuda::CudaLaunch;
use dietcode_core::codegen::quantity::Quantity;
use dietcode_core::codegen::registry::{CudaEntry, Decision, cuda_rs, skipped_cuda_rs};
use dietcode_core::ir::Expr;
use dietcode_core::runtime::cuda::{CudaTable, CudaTableSource, HostArg};
use dietcode_core::syntax::ShapeVar;
use proptest::prelude::*;

mod generated {
    use ::dietcode_core;

    include!("registry/expected.rs");
}

#[unsafe(no_mangle)]
unsafe extern "C" fn small_host(_: u32, _: u32, _: u64, _: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    7
}

fn vars() -> Vec<ShapeVar> {
    ["M", "K", "N"].map(|name| ShapeVar { name: name.into(), param: 0, dim: 0 }).to_vec()
}

fn var(name: &str) -> Expr {
    Expr::var(name)
}

fn launch(symbol: &str, blocks: Expr, persistent: bool) -> CudaLaunch {
    CudaLaunch { symbol: symbol.into(), threads: 128, shared_bytes: 49152, blocks, persistent }
}

/// Blocks of 64 × 32.
fn blocks() -> Expr {
    var("M").ceil_div(64) * var("N").ceil_div(32)
}

/// Where an expression has every operator.
fn odd() -> Expr {
    let halved = (var("K") - Expr::Int(7)) / (var("N") % Expr::Int(5));
    Expr::select(var("M").lt(Expr::Int(3)), var("K").max(Expr::Int(-2)), halved.min(var("M")))
}

fn entries() -> Vec<CudaEntry> {
    let small = CudaEntry {
        name: "small".into(),
        launches: vec![launch("small", blocks(), true)],
        workspace: None,
        image_file: None,
        capabilities: Vec::new(),
        ptx: None,
        host: true,
    };
    let split = CudaEntry {
        name: "split".into(),
        launches: vec![launch("split_halves", blocks() * Expr::Int(2), false), launch("split_add", odd(), false)],
        workspace: Some(var("M") * var("N") * Expr::Int(8)),
        image_file: Some("image.bin".into()),
        capabilities: vec![(8, 0), (9, 0)],
        ptx: Some((9, 0)),
        host: false,
    };
    vec![small, split]
}

fn split_at(of: &str, threshold: i64, below: usize, above: usize) -> Decision {
    let of = Quantity::parse(of).unwrap().map(&|name| ["M", "K", "N"].iter().position(|var| var == name)).unwrap();
    let pick = |row| Box::new(Decision::Pick(row));
    Decision::Split { of, threshold, below: pick(below), above: pick(above) }
}

fn decisions() -> Vec<((u32, u32), Decision)> {
    let tiles = "max(8 - M, (K + 47) / 48 * N - 3) * 100 / max(min(M, N), 1)";
    vec![((8, 0), split_at("M", 64, 0, 1)), ((9, 0), split_at(tiles, 1000, 1, 0)), ((7, 5), Decision::Pick(0))]
}

#[test]
fn the_text_is_the_one_that_is_compiled_here() {
    let text =
        cuda_rs(&entries(), &decisions(), &vars()) + &skipped_cuda_rs("it has \"none\"").replace("CUDA:", "NONE:");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runtime/cuda/registry/expected.rs");
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert!(text == expected, "{path} differs from\n{text}\nDIETCODE_BLESS=1 writes it anew");
}

fn table() -> &'static CudaTable {
    match &generated::CUDA {
        CudaTableSource::Linked(table) => table,
        CudaTableSource::Skipped(why) => panic!("{why}"),
    }
}

#[test]
fn the_constants_are_those_of_the_entries() {
    let [small, split] = table().micro_kernels else { panic!("there are two") };
    assert!((small.name, split.name) == ("small", "split") && !small.uses_workspace && split.uses_workspace);
    assert!(small.image.is_none() && small.launches[0].persistent && split.launches[1].host.is_none());
    let image = split.image.unwrap();
    assert_eq!((image.bytes, image.capabilities, image.ptx), (&b"image"[..], &[(8, 0), (9, 0)][..], Some((9, 0))));
    assert_eq!((split.launches[0].symbol, split.launches[0].threads), ("split_halves", 128));
    assert_eq!(split.launches[0].shared_bytes, 49152);
    let entry = small.launches[0].host.unwrap();
    // SAFETY: it looks at nothing.
    assert_eq!(unsafe { entry(1, 1, 0, std::ptr::null(), std::ptr::null_mut(), 0) }, 7);
    assert!(matches!(&generated::NONE, CudaTableSource::Skipped("it has \"none\"")));
}

/// The value of an expression with every step saturated, and what is divided by zero as large as can be.
fn value(expr: &Expr, shape: &[i64]) -> i64 {
    let names = ["M", "K", "N"];
    let clamped = |wide: i128| wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    use dietcode_core::ir::BinaryOp::*;
    match expr {
        Expr::Int(value) => *value,
        Expr::Var(name) => shape[names.iter().position(|known| *known == &**name).unwrap()],
        Expr::Binary(op, a, b) => {
            let (a, b) = (i128::from(value(a, shape)), i128::from(value(b, shape)));
            match op {
                Add => clamped(a + b),
                Sub => clamped(a - b),
                Mul => clamped(a * b),
                Div => a.checked_div_euclid(b).map_or(i64::MAX, clamped),
                Mod => a.checked_rem_euclid(b).map_or(i64::MAX, clamped),
                Min => clamped(a.min(b)),
                Max => clamped(a.max(b)),
                And => i64::from(a != 0 && b != 0),
            }
        }
        Expr::Compare(op, a, b) => i64::from(dietcode_core::ir::holds(*op, &value(a, shape), &value(b, shape))),
        Expr::Select(c, a, b) => value(if value(c, shape) != 0 { a } else { b }, shape),
        other => panic!("{other}"),
    }
}

proptest! {
    #[test]
    fn counts_are_those_of_the_expressions(shape in prop::array::uniform3(prop_oneof![0..2000_i64, 0..=i64::MAX])) {
        let [small, split] = table().micro_kernels else { panic!("there are two") };
        prop_assert_eq!((small.launches[0].blocks)(&shape), value(&blocks(), &shape));
        prop_assert_eq!((split.launches[0].blocks)(&shape), value(&(blocks() * Expr::Int(2)), &shape));
        prop_assert_eq!((split.launches[1].blocks)(&shape), value(&odd(), &shape));
        let workspace = entries().remove(1).workspace.unwrap();
        prop_assert_eq!((split.workspace_bytes)(&shape), value(&workspace, &shape));
        prop_assert_eq!((small.workspace_bytes)(&shape), 0);
    }

    #[test]
    fn a_device_gets_the_tree_of_the_largest_capability_that_it_has(
        shape in prop::array::uniform3(0..2000_i64),
        capability in (5..13_u32, 0..10_u32),
    ) {
        let mut decisions = decisions();
        decisions.sort_by_key(|(capability, _)| *capability);
        let tree = decisions.iter().rev().find(|(least, _)| *least <= capability).unwrap_or(&decisions[0]);
        prop_assert_eq!((table().dispatch)(&shape, capability), tree.1.pick(&shape));
    }
}
