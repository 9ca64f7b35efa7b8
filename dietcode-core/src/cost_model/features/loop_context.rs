//! Loop-context features: what each loop does to the data that is touched inside of it.
//!
//! Source: T. Chen et al., "Learning to Optimize Tensor Programs", NeurIPS 2018, appendix A; TVM's `get_itervar_feature`
//! (`src/autotvm/touch_extractor.cc`). Of a loop over `v`:
//!
//! ```text
//! _attr_   length, nest_level (1 is the outermost), topdown, bottomup: iterations of this loop times those of the loops around it,
//!          and inside of it; then which of BLOCK_X, BLOCK_Y, BLOCK_Z, THREAD_X, THREAD_Y, THREAD_Z, PARALLEL, UNROLL, VECTORIZE,
//!          SERIAL it is (a virtual thread is unrolled)
//! _arith_  additions and subtractions, multiplications, divisions of elements of which it is the innermost loop
//! NAME_n   of the n-th access of a buffer, which is buf[(stride · v) % mod + other] of its elements in a row:
//!          stride   0: the access does not move with v
//!          mod      -1: there is no remainder
//!          count    product of the lengths of this and of the loops inside whose stride is not 0
//!          reuse    the same of those whose stride is 0
//!          T_count, T_reuse   of a loop over blocks (over threads, or in parallel): count and reuse over those of the outermost
//!                   thread loop (serial loop) directly inside; 0 of others
//! ```
//!
//! bottomup is the largest count · reuse, and -1 of a loop that touches nothing.

use std::collections::BTreeMap;

use super::index::{Atom, Index};
use super::tree::{Access, Loop, Tree};
use crate::ir::ForKind;

/// The features of one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopFeatures {
    /// The loop's variable.
    pub var: String,
    /// The groups in their order: `_attr_`, `_arith_`, then accesses by their names.
    pub groups: Vec<(String, Vec<f64>)>,
}

const ATTRIBUTES: [&str; 4] = ["length", "nest_level", "topdown", "bottomup"];
const ARITHMETIC: [&str; 3] = ["add", "mul", "div"];
const TOUCH: [&str; 6] = ["stride", "mod", "count", "reuse", "T_count", "T_reuse"];
/// How many kinds of loops `_attr_` tells apart.
const KINDS: usize = 10;

/// How an access moves with a loop.
#[derive(Clone, Copy)]
struct Touch {
    stride: i64,
    modulo: i64,
    count: i64,
    reuse: i64,
    /// Count and reuse of the loop that one over blocks or threads is compared with.
    base: Option<(i64, i64)>,
}

/// Of every loop, in the order in which they begin. With `log`, each number x but nest_level and the kind is sign(x) · log2(1 + |x|).
pub(super) fn features(tree: &Tree, log: bool) -> Vec<LoopFeatures> {
    let mut touches: Vec<BTreeMap<String, Touch>> = tree.loops.iter().map(|_| BTreeMap::new()).collect();
    let mut arithmetic = vec![[0i64; 3]; tree.loops.len()];
    let mut around: Vec<Option<(usize, i64)>> = vec![None; tree.loops.len()];
    let mut seen = vec![0usize; tree.buffers.len()];
    for store in &tree.stores {
        let mut topdown = 1i64;
        for (depth, at) in store.path.iter().enumerate() {
            topdown = topdown.saturating_mul(tree.loops[*at].extent);
            around[*at] = Some((depth + 1, topdown));
        }
        if let Some(innermost) = store.path.last() {
            for (sum, count) in arithmetic[*innermost].iter_mut().zip(store.operations.arithmetic()) {
                *sum += count;
            }
        }
        for access in &store.accesses {
            let name = format!("{}_{}", tree.buffers[access.buffer].name, seen[access.buffer]);
            seen[access.buffer] += 1;
            for (at, touch) in store.path.iter().zip(touched(tree, &store.path, access)) {
                touches[*at].insert(name.clone(), touch);
            }
        }
    }
    let number = |x: i64| if log { (x.signum() as f64) * (1.0 + x.abs() as f64).log2() } else { x as f64 };
    let row = |(at, touches): (usize, BTreeMap<String, Touch>)| {
        let this = &tree.loops[at];
        let (level, topdown) = around[at].unwrap_or((0, 0));
        let bottomup = touches.values().map(|touch| touch.count.saturating_mul(touch.reuse)).max().unwrap_or(-1);
        let mut attributes = vec![number(this.extent), level as f64, number(topdown), number(bottomup)];
        attributes.extend((0..KINDS).map(|kind| f64::from(kind == kind_of(this))));
        let mut groups =
            vec![("_attr_".to_owned(), attributes), ("_arith_".to_owned(), arithmetic[at].map(number).to_vec())];
        for (name, Touch { stride, modulo, count, reuse, base }) in touches {
            let (t_count, t_reuse) = base.map_or((0, 0), |(c, r)| (count / c.max(1), reuse / r.max(1)));
            groups.push((name, [stride, modulo, count, reuse, t_count, t_reuse].map(number).to_vec()));
        }
        LoopFeatures { var: this.name.to_string(), groups }
    };
    touches.into_iter().enumerate().map(row).collect()
}

/// How an access moves with each of the loops around it.
fn touched(tree: &Tree, path: &[usize], access: &Access) -> Vec<Touch> {
    let strides = tree.buffers[access.buffer].strides();
    let flat =
        access.index.iter().zip(&strides).fold(Index::constant(0), |sum, (index, stride)| sum.add(index, *stride));
    let (mut count, mut reuse) = (1i64, 1i64);
    let mut touches: Vec<Touch> = Vec::with_capacity(path.len());
    for at in path.iter().rev() {
        let (stride, modulo) = movement(&flat, *at).unwrap_or((0, -1));
        let product = if stride == 0 { &mut reuse } else { &mut count };
        *product = product.saturating_mul(tree.loops[*at].extent);
        touches.push(Touch { stride, modulo, count, reuse, base: None });
    }
    touches.reverse();
    // A loop one level of parallelism below the one right around it is what all of that level around it are compared with; the
    // outermost such loop counts.
    for inner in (1..path.len()).rev() {
        let level = level(&tree.loops[path[inner]]) + 1;
        if self::level(&tree.loops[path[inner - 1]]) == level {
            let base = Some((touches[inner].count, touches[inner].reuse));
            let of_level = (0..inner).filter(|outer| self::level(&tree.loops[path[*outer]]) == level);
            of_level.for_each(|outer| touches[outer].base = base);
        }
    }
    touches
}

/// Stride and modulo of a loop in an index, if it moves with it.
fn movement(index: &Index, at: usize) -> Option<(i64, i64)> {
    index.terms.iter().find_map(|(scale, atom)| match atom {
        Atom::Loop(this) => (*this == at).then_some((*scale, -1)),
        Atom::Mod(inner, by) => {
            let (stride, modulo) = movement(inner, at)?;
            let modulo = if modulo < 0 { *by } else { modulo.min(*by) };
            Some((stride.saturating_mul(*scale), modulo.saturating_mul(scale.abs())))
        }
        Atom::Div(inner, by) => {
            let (stride, modulo) = movement(inner, at)?;
            // In the mean; what moves at all does not stand still.
            let slowed = |x: i64| match x.saturating_mul(*scale) / by {
                0 => x.signum() * scale.signum(),
                slowed => slowed,
            };
            Some((slowed(stride), if modulo < 0 { -1 } else { slowed(modulo).abs() }))
        }
        Atom::Other(loops, _) => loops.contains(&at).then_some((*scale, -1)),
    })
}

/// 2 over blocks, 1 over threads or in parallel, 0 one after the other.
fn level(this: &Loop) -> usize {
    match this.kind {
        ForKind::BlockIdx => 2,
        ForKind::ThreadIdx | ForKind::Parallel => 1,
        _ => 0,
    }
}

fn kind_of(this: &Loop) -> usize {
    match this.kind {
        ForKind::BlockIdx => this.axis,
        ForKind::ThreadIdx => 3 + this.axis,
        ForKind::Parallel => 6,
        ForKind::Unrolled | ForKind::VThread => 7,
        ForKind::Vectorized => 8,
        ForKind::Serial => 9,
    }
}

impl LoopFeatures {
    /// The names of the features of loops in a row, as `get_flatten_name` makes them: `f0.y._attr_.length`, …
    pub fn names(loops: &[LoopFeatures]) -> Vec<String> {
        let all = loops.iter().flat_map(|row| {
            row.groups.iter().flat_map(move |(group, values)| {
                (0..values.len()).map(move |at| format!("{}.{group}.{}", row.var, name(group, at)))
            })
        });
        all.enumerate().map(|(at, name)| format!("f{at}.{name}")).collect()
    }

    /// The features of loops in a row.
    pub fn flat(loops: &[LoopFeatures]) -> Vec<f64> {
        loops.iter().flat_map(|row| row.groups.iter().flat_map(|(_, values)| values.iter().copied())).collect()
    }
}

/// The name of a feature in its group.
fn name(group: &str, at: usize) -> String {
    match group {
        "_attr_" => {
            ATTRIBUTES.get(at).map_or_else(|| format!("ann_{}", at - ATTRIBUTES.len()), |name| (*name).to_owned())
        }
        "_arith_" => ARITHMETIC[at].to_owned(),
        _ => TOUCH[at].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cost_model::features::tree::Source;
    use crate::ir::{BinaryOp, Buffer, DType, Expr, Name, Scope, Stmt};

    const N: i64 = 128;

    fn buffer(name: &str) -> Arc<Buffer> {
        Arc::new(Buffer {
            name: name.into(),
            dtype: DType::F32,
            shape: vec![Expr::Int(N); 2],
            scope: Scope::Global,
            swizzle: 0,
        })
    }

    fn nested(loops: &[(&str, i64, ForKind)], body: Stmt) -> Stmt {
        loops
            .iter()
            .rev()
            .fold(body, |body, (name, extent, kind)| Stmt::for_(Name::from(*name), Expr::Int(*extent), *kind, body))
    }

    fn of(body: &Stmt, log: bool) -> Vec<LoopFeatures> {
        let params = [buffer("A"), buffer("B"), buffer("C")];
        features(
            &Tree::of(&Source {
                body,
                grid: None,
                params: &params,
                value: &|_| 0.0,
                unroll_max_step: &|_| 0,
                inside: None,
                choice_is_call: false,
            }),
            log,
        )
    }

    /// `C[y, x] += A[y, k] · B[k, x]`, by expressions for y, x and k.
    fn update(y: &Expr, x: &Expr, k: &Expr) -> Stmt {
        let at = |name, index: [&Expr; 2]| Expr::Load(buffer(name), index.map(Expr::clone).to_vec());
        let binary = |op, a, b| Expr::Binary(op, Arc::new(a), Arc::new(b));
        let product = binary(BinaryOp::Mul, at("A", [y, k]), at("B", [k, x]));
        let value = binary(BinaryOp::Add, at("C", [y, x]), product);
        Stmt::Store { buffer: buffer("C"), index: vec![y.clone(), x.clone()], value }
    }

    fn example() -> Stmt {
        let [y, x, k] = ["y", "x", "k"].map(Expr::var);
        let init = Stmt::Store { buffer: buffer("C"), index: vec![y.clone(), x.clone()], value: Expr::Float(0.0) };
        let sum = nested(&[("k", N, ForKind::Serial)], update(&y, &x, &k));
        nested(&[("y", N, ForKind::Serial), ("x", N, ForKind::Serial)], Stmt::seq([init, sum]))
    }

    #[test]
    fn the_example_of_the_literature() {
        let group =
            |name: &str, values: &[i64]| (name.to_owned(), values.iter().map(|x| *x as f64).collect::<Vec<f64>>());
        let serial = |numbers: [i64; 4]| group("_attr_", &[&numbers[..], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]].concat());
        let row = |var: &str, groups: Vec<(String, Vec<f64>)>| LoopFeatures { var: var.to_owned(), groups };
        let expected = [
            row(
                "y",
                vec![
                    serial([128, 1, 128, 2_097_152]),
                    group("_arith_", &[0, 0, 0]),
                    group("A_0", &[128, -1, 16384, 128, 0, 0]),
                    group("B_0", &[0, -1, 16384, 128, 0, 0]),
                    group("C_0", &[128, -1, 16384, 1, 0, 0]),
                    group("C_1", &[128, -1, 16384, 128, 0, 0]),
                    group("C_2", &[128, -1, 16384, 128, 0, 0]),
                ],
            ),
            row(
                "x",
                vec![
                    serial([128, 2, 16384, 16384]),
                    group("_arith_", &[0, 0, 0]),
                    group("A_0", &[0, -1, 128, 128, 0, 0]),
                    group("B_0", &[1, -1, 16384, 1, 0, 0]),
                    group("C_0", &[1, -1, 128, 1, 0, 0]),
                    group("C_1", &[1, -1, 128, 128, 0, 0]),
                    group("C_2", &[1, -1, 128, 128, 0, 0]),
                ],
            ),
            row(
                "k",
                vec![
                    serial([128, 3, 2_097_152, 128]),
                    group("_arith_", &[1, 1, 0]),
                    group("A_0", &[1, -1, 128, 1, 0, 0]),
                    group("B_0", &[128, -1, 128, 1, 0, 0]),
                    group("C_1", &[0, -1, 1, 128, 0, 0]),
                    group("C_2", &[0, -1, 1, 128, 0, 0]),
                ],
            ),
        ];
        let found = of(&example(), false);
        assert_eq!(found, expected);

        let names = LoopFeatures::names(&found);
        assert_eq!(
            (&*names[0], &*names[4], &*names[14]),
            ("f0.y._attr_.length", "f4.y._attr_.ann_0", "f14.y._arith_.add")
        );
        assert_eq!(names[22], "f22.y.A_0.T_reuse");
        assert_eq!(names.len(), LoopFeatures::flat(&found).len());
    }

    #[test]
    fn numbers_that_count_have_logarithms() {
        let (raw, log) = (of(&example(), false), of(&example(), true));
        assert_eq!(LoopFeatures::names(&raw), LoopFeatures::names(&log));
        let y = &log[0].groups;
        let plain = |x: f64| (1.0 + x).log2();
        assert_eq!(y[0].1[..4], [plain(128.0), 1.0, plain(128.0), plain(2_097_152.0)]);
        // -1, of which there is no remainder, keeps its sign.
        assert_eq!(y[2].1, [plain(128.0), -1.0, plain(16384.0), plain(128.0), 0.0, 0.0]);
    }

    #[test]
    fn loops_over_blocks_and_threads_are_compared_with_what_is_inside() {
        // 8 blocks of 16 rows, 4 × 32 threads for columns of 4; the sum in one thread, 16 rows of A at once.
        let [b, t, u, i, j, k] = ["b", "t", "u", "i", "j", "k"].map(Expr::var);
        let y = b * Expr::Int(16) + i;
        let x = t * Expr::Int(32) + u + j * Expr::Int(0);
        let loops = [
            ("b", 8, ForKind::BlockIdx),
            ("t", 4, ForKind::ThreadIdx),
            ("u", 32, ForKind::ThreadIdx),
            ("i", 16, ForKind::Serial),
            ("k", 128, ForKind::Unrolled),
        ];
        let found = of(&nested(&loops, update(&y, &x, &k)), false);
        let touch = |at: usize, name: &str| {
            found[at].groups.iter().find(|(group, _)| group == name).map(|(_, values)| values.clone()).unwrap()
        };
        // A[16·b + i, k]: of its 16,384 elements a block touches 2,048, and so does each of its threads.
        assert_eq!(touch(0, "A_0"), [2048.0, -1.0, 16384.0, 128.0, 16384.0 / 2048.0, 1.0]);
        assert_eq!(touch(1, "A_0"), [0.0, -1.0, 2048.0, 128.0, 1.0, 128.0]);
        assert_eq!(touch(2, "A_0"), [0.0, -1.0, 2048.0, 32.0, 1.0, 32.0]);
        assert_eq!(touch(3, "A_0"), [128.0, -1.0, 2048.0, 1.0, 0.0, 0.0]);
        // B[k, 32·t + u]: all of it in each block, 128 elements by a thread, 16 times each.
        assert_eq!(touch(0, "B_0"), [0.0, -1.0, 16384.0, 128.0, 1.0, 128.0 / 16.0]);
        assert_eq!(touch(1, "B_0"), [32.0, -1.0, 16384.0, 16.0, 16384.0 / 128.0, 1.0]);
        assert_eq!(touch(4, "B_0"), [128.0, -1.0, 128.0, 1.0, 0.0, 0.0]);
        let kinds: Vec<usize> =
            found.iter().map(|row| row.groups[0].1[4..].iter().position(|x| *x == 1.0).unwrap()).collect();
        assert_eq!(kinds, [0, 4, 3, 9, 7], "BLOCK_X, THREAD_Y, THREAD_X, SERIAL, UNROLL");
    }

    #[test]
    fn a_fused_loop_has_a_remainder() {
        let f = || Expr::var("f");
        let (y, x) = (f() / Expr::Int(16), f() % Expr::Int(16) * Expr::Int(8));
        let loops = [("f", 2048, ForKind::Parallel), ("k", 128, ForKind::Serial)];
        let found = of(&nested(&loops, update(&y, &x, &Expr::var("k"))), false);
        let groups = &found[0].groups;
        let b = &groups.iter().find(|(name, _)| name == "B_0").unwrap().1;
        // B[k, f % 16 · 8] is B + (8 · f) % 128.
        assert_eq!(b[..2], [8.0, 128.0]);
        let a = &groups.iter().find(|(name, _)| name == "A_0").unwrap().1;
        assert_eq!(a[..2], [8.0, -1.0], "A[f / 16, k]: 128 elements further every 16 iterations");
        assert_eq!((a[4], a[5]), (2048.0, 1.0), "the serial loop inside touches 128 elements once");
    }
}
