//! The nests, and micro-kernels for each.

use std::collections::BTreeMap;

use dietcode_core::frontend;
use dietcode_core::machine::CpuTarget;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::sketch::{Blocked, Stage, Tiled};
use dietcode_syntax::KernelDef;

/// The shape variables, in the order of the table of shapes.
pub(crate) const VARIABLES: [&str; 4] = ["B", "M", "N", "K"];

/// A product of 16-bit elements: sums in `f32`, one rounding, and an output that is read as it was.
const HALF: &str = "
    #[dynamic_kernel] fn gemm_f16(alpha: f32, a: &[[f16; K]; M], b: &[[bf16; N]; K], beta: f32, c: &mut [[f16; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = 0.0;
            if alpha != 0.0 { for k in 0..K { acc += f32::from(a[i][k]) * f32::from(b[k][j]); } }
            let v = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * f32::from(c[i][j]) };
            c[i][j] = f16::from_f32(v);
        } }
    }";

/// Those that the crate ships, and one of half precision.
pub(crate) fn nests() -> Vec<KernelDef> {
    let shipped = dietcode_syntax::scan(include_str!("../../../src/ops/gemm.rs")).expect("the source parses");
    let half = dietcode_syntax::scan(HALF).expect("the source parses");
    shipped.iter().chain(&half).map(|found| found.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}

fn sizes<const N: usize>(sizes: [(&str, i64); N]) -> BTreeMap<String, i64> {
    sizes.into_iter().map(|(name, size)| (name.to_owned(), size)).collect()
}

/// The default, and small tiles in many cache blocks: along each loop of the output in turn, packed and not.
pub(crate) fn on_cpu(def: &KernelDef, target: &CpuTarget) -> Vec<Tiled> {
    let packed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let blocks = |vector: &str, register: BTreeMap<String, i64>, pack: &[&str]| {
        let mut block_tile: BTreeMap<String, i64> =
            register.iter().map(|(name, size)| (name.clone(), 2 * size)).collect();
        block_tile.insert("k".into(), 8);
        let (register_tile, pack) = (register, packed(pack));
        Tiled { vector: Some(vector.into()), register_tile, block_tile, pack, ..Tiled::default() }
    };
    let mut all = vec![
        Tiled::default(),
        Tiled::default_for(&frontend::program(def), target),
        blocks("j", sizes([("i", 3), ("j", 16)]), &[]),
        blocks("j", sizes([("i", 4), ("j", 8), ("k", 2)]), &["a"]),
        blocks("i", sizes([("i", 16), ("j", 2)]), &["a", "b"]),
    ];
    if def.loops.iter().any(|l| l.name == "s") {
        all.push(blocks("s", sizes([("s", 8), ("i", 2), ("j", 3)]), &["b"]));
    }
    all
}

/// The default, one thread for each element, tiles filled by registers and ahead of time, and a split sum.
pub(crate) fn on_gpu(def: &KernelDef, device: &DeviceLimits) -> Vec<Blocked> {
    let default = Blocked::default_for(&frontend::program(def), device).expect("the nest has loops");
    let flat = Blocked { thread: sizes([("j", 32)]), ..Blocked::default() };
    let ahead = |asynchronous, stages| Blocked { asynchronous, stages, ..staged() };
    let persistent = Blocked { persistent: true, store: 4, ..staged() };
    vec![default, flat, ahead(false, 2), ahead(true, 3), persistent, split()]
}

fn staged() -> Blocked {
    let stage = Stage { pad: 1, reduce_outside: true, ..Stage::default() };
    Blocked {
        thread: sizes([("i", 4), ("j", 8)]),
        inner: sizes([("i", 2), ("j", 4)]),
        reduce: sizes([("k", 8)]),
        stage: [("a".to_owned(), stage), ("b".to_owned(), stage)].into(),
        ..Blocked::default()
    }
}

/// Two blocks share each sum; a second kernel adds the parts.
pub(crate) fn split() -> Blocked {
    Blocked { split: sizes([("k", 2)]), ..staged() }
}
