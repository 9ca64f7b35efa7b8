//! The micro-kernels that serve where nothing was tuned, and the tree that says which of them serves which shape: a tile that fits most nests,
//! one that packs nothing, one with vectors across the output's neighbours, one whose lanes share the sum, a tile that prefetches the next
//! iteration of a batch, and the nest as it stands.
//!
//! Where rows of a matrix are no longer than a tile is wide, they lie as in a panel, and nothing is packed; of longer ones nothing is worth
//! a copy that few rows of the output use. A tile pays where values are used again; lanes share a sum where they are not, but lie contiguous
//! along it. Where nothing is summed the nest stands alone. Elsewhere the cost model predicts all at shapes of all sizes, and a tree is grown
//! that loses as little as possible by its own figures. Another one has to be clearly ahead of the nest: a nest that was taken wrongly is a
//! little slower, a tile that is nearly all padding is many times slower.

use dietcode_syntax::Role;

use super::Tree;
use super::grow::{Grower, Limits, Sample, Samples, variables};
use super::sampled::halton;
use crate::cost_model::cpu::Profile;
use crate::ir::{Expr, Program};
use crate::machine::{CpuTarget, Target};
use crate::sketch::{Lowered, MicroKernel, Tiled};

/// So many times slower than predicted each may be, the tile, the one with vectors across it, the one whose lanes share the sum, the tile
/// that asks ahead and the one that packs nothing: the model's error where two are close. The nest is as slow as predicted. Asking for what
/// is in a cache costs a few hundredths more than predicted on some CPUs (up to 0.14 with 2 MiB of second-level cache). Long rows in place
/// are on many pages at once, which is not predicted: of `y[i][j] += x[i][k] * w[k][j]` they were 1.2 to 2.4 times as fast as panels for one
/// row of the output, 0.8 to 1.2 times for 16 (N = 100 to 3072, AVX-512 and AVX2).
const DOUBT: [f64; 5] = [1.5, 1.6, 1.4, 1.55, 2.0];

/// The places of the nest and of the tile.
const NEST: usize = 0;
const TILE: usize = 1;

/// How many shapes the model predicts, half of them of sizes that people choose.
const SAMPLES: usize = 768;

/// The largest value of a shape variable among them is 2 to the power of this.
const LARGEST: f64 = 16.0;

/// More of them are small, where they differ most: the power of a uniform number that the logarithm is proportional to.
const SMALL: f64 = 1.7;

/// The deepest tree.
const DEPTH: usize = 6;

/// How much less all samples have to lose in the mean by a split, as a natural logarithm.
const WORTH: f64 = 0.0004;

/// The fewest samples on a side of a split.
const FEWEST: usize = 4;

/// A micro-kernel, carried out.
type Both = (MicroKernel, Lowered);

/// The default micro-kernels of a nest on a CPU, and the tree between their names.
pub(super) fn default_for(program: &Program, target: &CpuTarget) -> (Vec<Both>, Tree) {
    let tiled = Tiled::default_for(program, target);
    let nest = MicroKernel::nest(program);
    let lowered = nest.lowered(program, &Target::Cpu(target.clone())).expect("the nest as it stands takes nothing");
    let sums = program.blocks[0].iters_of(Role::Reduce).next().is_some();
    if !sums || tiled == Tiled::default() {
        let tree = Tree::Leaf(nest.name());
        return (vec![(nest, lowered)], tree);
    }
    let nest = (nest, lowered);
    let in_place = Tiled::in_place_for(program, target);
    let Some((short, rows)) = in_place.as_ref().and_then(|tiled| Some((tiled, short_rows(program, tiled)?))) else {
        return grown(program, target, nest, [Some(&tiled), in_place.as_ref()], None);
    };
    let Some((at, width)) = rows else { return grown(program, target, nest, [Some(short), None], None) };
    let [longest, shortest] = [width, width + 1].map(|width| (width as f64).log2());
    let (mut all, low) = grown(program, target, nest.clone(), [Some(short), None], Some((at, [0.0, longest])));
    let longer = Some((at, [shortest, LARGEST]));
    let (others, high) = grown(program, target, nest, [Some(&tiled), in_place.as_ref()], longer);
    all.extend(others.into_iter().filter(|(other, _)| !low.leaves().any(|leaf| *leaf == other.name())));
    (all, Tree::split(&*program.shape_vars[at], width, low, high))
}

/// The least and the greatest logarithm to the base 2 of a shape variable's values, given by its position.
type Range = (usize, [f64; 2]);

/// Where rows are no longer than a tile that packs nothing is wide, so that it serves for the one that packs: a shape variable that says how
/// long they are, or always.
fn short_rows(program: &Program, in_place: &Tiled) -> Option<Option<(usize, i64)>> {
    let block = &program.blocks[0];
    let vector = block.contiguous()?;
    let width = *in_place.register_tile.get(&**vector)?;
    let extent = &block.iters_of(Role::Spatial).find(|iter| iter.name == *vector)?.extent;
    match extent.as_int() {
        Some(extent) => (extent <= width).then_some(None),
        None => program.shape_vars.iter().position(|var| *extent == Expr::var(var.clone())).map(|at| Some((at, width))),
    }
}

/// Those of them that are fastest somewhere, and the tree between their names.
fn grown(
    program: &Program,
    target: &CpuTarget,
    nest: Both,
    [tiled, in_place]: [Option<&Tiled>; 2],
    range: Option<Range>,
) -> (Vec<Both>, Tree) {
    let [across, streaming] = [Tiled::across_for, Tiled::streaming_for].map(|of| of(program, target));
    let ahead = tiled.and_then(|tiled| tiled.ahead(program, target));
    let [tiled, in_place] = [tiled, in_place].map(|tiled| {
        tiled.map(|tiled| tiled.micro_kernel(program, target).expect("a default tile is valid for its nest"))
    });
    let others = [tiled, across, streaming, ahead, in_place];
    let (others, doubts): (Vec<Both>, Vec<f64>) =
        others.into_iter().zip(DOUBT).filter_map(|(other, doubt)| Some((other?, doubt))).unzip();
    let (all, doubts) = ([vec![nest], others].concat(), [vec![1.0], doubts].concat());
    let samples = samples(program, (&all, &doubts), target, range);
    let vars: Vec<String> = program.shape_vars.iter().map(|var| var.to_string()).collect();
    let choices: Vec<Tree> = all.iter().map(|(micro_kernel, _)| Tree::Leaf(micro_kernel.name())).collect();
    let limits = Limits { depth: DEPTH, worth: WORTH * SAMPLES as f64, fewest: FEWEST };
    let grower = Grower { quantities: &variables(&vars), choices: &choices, limits };
    let tree = by_turns(&grower, &Samples::of(&samples, vars.len()), [NEST, TILE]);
    let used = all.into_iter().filter(|(micro_kernel, _)| tree.leaves().any(|leaf| leaf == micro_kernel.name()));
    (used.collect(), tree)
}

/// Shapes with logarithms that fill their space evenly, and what the model says of them: of each micro-kernel the logarithm of its time,
/// with its doubt.
fn samples(
    program: &Program,
    (all, doubts): (&[Both], &[f64]),
    target: &CpuTarget,
    range: Option<Range>,
) -> Vec<Sample> {
    let profiles: Vec<Profile<'_>> = all.iter().map(|(_, lowered)| Profile::of(lowered)).collect();
    let cores = [1, usize::try_from(target.cores).unwrap_or(1)];
    let times = |shape: &[i64]| {
        let seconds = |of: &Profile<'_>| of.seconds_on(target, shape, cores).iter().map(|s| s.ln()).sum::<f64>();
        profiles.iter().zip(doubts).map(|(of, doubt)| seconds(of) / cores.len() as f64 + doubt.ln()).collect()
    };
    let sample = |n: usize| {
        let value = |at: usize| {
            let [least, most] = range.filter(|(var, _)| *var == at).map_or([0.0, LARGEST], |(_, range)| range);
            let value = (least + (most - least) * halton(n + 1, at).powf(SMALL)).exp2() as i64;
            let value = if n.is_multiple_of(2) { round(value) } else { value };
            value.max(least.exp2().round() as i64)
        };
        let shape: Vec<i64> = (0..program.shape_vars.len()).map(value).collect();
        Sample { costs: times(&shape), values: shape }
    };
    let count = if program.shape_vars.is_empty() { 1 } else { SAMPLES };
    (0..count).map(sample).collect()
}

/// The largest value not above this one that people would choose: with three significant bits, as 7, 14, 56, 64, 96 and 768.
fn round(value: i64) -> i64 {
    let unit = 1 << value.max(1).ilog2().saturating_sub(2);
    value / unit * unit
}

/// A tree between two of the micro-kernels. Which of the nest and the tile a leaf has stands before the next one is looked at: few samples lie
/// where a nest is ahead, and a tree of all would not find them.
fn by_turns(grower: &Grower<'_>, samples: &Samples<'_>, of: [usize; 2]) -> Tree {
    let leaf = |samples: &Samples<'_>, taken: usize| match of {
        [_, last] if last + 1 < grower.choices.len() => by_turns(grower, samples, [taken, last + 1]),
        _ => grower.choices[taken].clone(),
    };
    grower.grow(samples, &of, 0, &leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::avx512;
    use crate::testing::{BATCH, DENSE, DEPTHWISE, program};

    /// The kind of micro-kernel that serves a shape.
    fn family(nest: &str, shapes: &[&[i64]]) -> Vec<&'static str> {
        let program = program(nest);
        let (micro_kernels, tree) = default_for(&program, &avx512());
        let vars: Vec<String> = program.shape_vars.iter().map(|var| var.to_string()).collect();
        let avx512 = avx512();
        let named = |both: Option<Both>| both.map(|(micro_kernel, _)| micro_kernel.name());
        let carried_out = |tiled: &Tiled| tiled.micro_kernel(&program, &avx512).ok();
        let [streaming, across] = [Tiled::streaming_for, Tiled::across_for].map(|of| named(of(&program, &avx512)));
        let ahead = named(Tiled::default_for(&program, &avx512).ahead(&program, &avx512));
        let in_place = Tiled::in_place_for(&program, &avx512);
        let ahead_in_place = in_place.as_ref().and_then(|tiled| named(tiled.ahead(&program, &avx512)));
        let in_place = named(in_place.as_ref().and_then(carried_out));
        let pick = |shape: &&[i64]| {
            let name = tree.pick(&vars, shape);
            assert!(micro_kernels.iter().any(|(micro_kernel, _)| micro_kernel.name() == name), "{name}");
            match name {
                _ if streaming.as_deref() == Some(name) => "streaming",
                _ if across.as_deref() == Some(name) => "across",
                _ if ahead.as_deref() == Some(name) => "ahead",
                _ if in_place.as_deref() == Some(name) => "in place",
                _ if ahead_in_place.as_deref() == Some(name) => "in place, ahead",
                _ if name.starts_with("nest") => "nest",
                _ => "tiled",
            }
        };
        shapes.iter().map(pick).collect()
    }

    #[test]
    fn tiles_serve_where_values_are_used_again_and_fit() {
        let (large, column, tiny) = (&[2048, 768, 2304][..], &[16, 64, 1][..], &[1, 4, 1][..]);
        assert_eq!(family(DENSE, &[large, column, tiny]), ["tiled", "streaming", "nest"]);
    }

    #[test]
    fn lanes_share_long_sums_over_what_is_read_once() {
        let (one, two, eight) = (&[1, 2048, 2304][..], &[2, 2047, 2304][..], &[8, 768, 2304][..]);
        assert_eq!(family(DENSE, &[one, two, eight]), ["streaming"; 3]);
        let rows = "fn rows(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; } }";
        assert_eq!(family(rows, &[&[1000, 1000], &[1, 1_000_000]]), ["streaming"; 2]);
        // Not where inputs lie across the sum, nor where zeros behind its end are terms of it.
        let across = rows.replace("[[f32; K]; M]", "[[f32; M]; K]").replace("x[i][k]", "x[k][i]");
        let product =
            rows.replace("acc += x[i][k]", "acc *= x[i][k] * x[i][k] + 1.0").replace("acc = 0.0", "acc = 1.0");
        let window = rows.replace("f32; K]; M]", "f32; L]; K]").replace("x[i][k]", "x[k][i] * x[0][i + k]");
        for nest in [across, product, rows.replace("acc += x[i][k]", "acc = acc.max(x[i][k])"), window] {
            assert!(Tiled::streaming_for(&program(&nest), &avx512()).is_none(), "{nest}");
        }
    }

    #[test]
    fn short_sums_that_the_compiler_unrolls_are_left_to_it() {
        assert_eq!(family(DEPTHWISE, &[&[64, 56, 56], &[1, 1, 1], &[512, 7, 7]]), ["nest"; 3]);
        // Of run-time lengths nothing can be unrolled.
        let any =
            DEPTHWISE.replace("Q + 2", "Q + S - 1").replace("P + 2", "P + R - 1").replace("f32; 3]; 3]", "f32; S]; R]");
        let any = any.replace("0..3 { for s in 0..3", "0..R { for s in 0..S");
        let program = program(&any);
        let names: Vec<&str> = program.shape_vars.iter().map(|var| &**var).collect();
        assert_eq!(names, ["C", "P", "R", "Q", "S"]);
        assert_eq!(family(&any, &[&[64, 56, 3, 56, 3], &[64, 56, 3, 1, 3]]), ["tiled", "nest"]);
    }

    /// Tiles of 64 channels, which few numbers near 64 fill as 64 does: measured, they are ahead from there on, and where a width leaves
    /// lanes of vectors along it idle.
    #[test]
    fn convolutions_of_many_channels_have_vectors_along_them() {
        let conv = "fn conv(x: &[[[f32; Q + 2]; P + 2]; C], k: &[[[[f32; 3]; 3]; C]; O], y: &mut [[[f32; Q]; P]; O]) {
            for o in 0..O { for p in 0..P { for q in 0..Q {
                let mut acc = 0.0;
                for c in 0..C { for r in 0..3 { for s in 0..3 { acc += x[c][p + r][q + s] * k[o][c][r][s]; } } }
                y[o][p][q] = acc;
            } } } }";
        let program = program(conv);
        let names: Vec<&str> = program.shape_vars.iter().map(|var| &**var).collect();
        assert_eq!(names, ["C", "P", "Q", "O"]);
        let shapes: [&[i64]; 4] = [&[64, 56, 56, 64], &[256, 19, 19, 256], &[512, 7, 7, 512], &[32, 16, 16, 32]];
        assert_eq!(family(conv, &shapes), ["across", "across", "across", "tiled"]);
    }

    /// Measured, 192 products of 81 to 128 rows and columns, of which each begins with matrices from memory, gain 9 to 22%.
    #[test]
    fn tiles_of_a_batch_ask_for_the_next_one() {
        assert_eq!(family(BATCH, &[&[192, 81], &[192, 128], &[2000, 500]]), ["ahead"; 3]);
    }

    /// Measured, 192 products with a matrix of 5 to 128 rows of 64 in place are 1.2 to 2.4 times as fast as with it packed.
    #[test]
    fn short_rows_are_read_where_they_lie() {
        let nest = "fn batch(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
            for b in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0; for k in 0..K { acc += x[b][i][k] * w[b][k][j]; } y[b][i][j] = acc;
            } } } }";
        let one_head: &[&[i64]] = &[&[4, 5, 5, 64], &[4, 1, 500, 64], &[4, 500, 1, 64]];
        assert_eq!(family(nest, one_head), ["in place"; 3]);
        let many: &[&[i64]] = &[&[192, 81, 81, 64], &[192, 128, 128, 64], &[192, 128, 128, 65]];
        assert_eq!(family(nest, many), ["in place, ahead", "in place, ahead", "ahead"]);
        // An extent that no call changes.
        let literal = nest.replace("; N]", "; 64]").replace("0..N", "0..64");
        assert_eq!(family(&literal, &[&[4, 5, 5], &[192, 128, 128]]), ["in place", "in place, ahead"]);
        let innermost = "fn batch(x: &[[[f32; B]; K]; M], w: &[[[f32; B]; N]; K], y: &mut [[[f32; B]; N]; M]) {
            for i in 0..M { for j in 0..N { for b in 0..B {
                let mut acc = 0.0; for k in 0..K { acc += x[i][k][b] * w[k][j][b]; } y[i][j][b] = acc;
            } } } }";
        assert!(Tiled::in_place_for(&program(innermost), &avx512()).is_none());
        let wide = nest.replace("; N]", "; 80]").replace("0..N", "0..80");
        assert_eq!(family(&wide, &[&[192, 128, 128]]), ["ahead"]);
    }

    /// Measured from 100 columns on: 1.2 to 2.4 times as fast for one row, as fast for 12 of them, slower for 24.
    #[test]
    fn few_rows_are_no_reason_to_pack() {
        let nest = "fn product(x: &[[f32; K]; M], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[k][j]; } y[i][j] = acc;
            } } }";
        let program = program(nest);
        assert_eq!(program.shape_vars.iter().map(|var| &**var).collect::<Vec<_>>(), ["M", "K", "N"]);
        let shapes: [&[i64]; 6] =
            [&[1, 64, 100], &[2, 488, 1000], &[6, 768, 3072], &[24, 768, 3072], &[48, 64, 100], &[2048, 768, 768]];
        assert_eq!(family(nest, &shapes), ["in place", "in place", "in place", "tiled", "tiled", "tiled"]);
    }

    #[test]
    fn shapes_on_a_side_of_the_tree_are_of_that_side() {
        let (program, target) = (program(DENSE), avx512());
        let nest = MicroKernel::nest(&program);
        let lowered = nest.lowered(&program, &Target::Cpu(target.clone())).unwrap();
        for (at, [least, most]) in [(0, [65, 1 << 16]), (2, [17, 1 << 16]), (2, [1, 64])] {
            let range = Some((at, [least, most].map(|end| (end as f64).log2())));
            let samples = samples(&program, (&[(nest.clone(), lowered.clone())], &[1.0]), &target, range);
            assert!(samples.iter().all(|sample| (least..=most).contains(&sample.values[at])), "{at}: {least}..={most}");
        }
    }

    #[test]
    fn sizes_that_people_choose() {
        assert_eq!([0, 1, 7, 9, 57, 70, 111, 900].map(round), [0, 1, 7, 8, 56, 64, 96, 896]);
    }

    #[test]
    fn without_a_sum_the_nest_stands_alone() {
        for nest in [
            "fn axpy(a: f32, x: &[[f32; N]; M], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N { y[i][j] += a * x[i][j]; } } }",
            "fn transpose(x: &[[f32; M]; N], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N { y[i][j] = x[j][i]; } } }",
            "fn copy(x: &[f32; 1], y: &mut [f32; 1]) { y[0] = x[0]; }",
        ] {
            let (micro_kernels, tree) = default_for(&program(nest), &avx512());
            assert!(matches!(&micro_kernels[..], [(nest, _)] if nest.is_nest()), "{micro_kernels:?}");
            assert_eq!(tree, Tree::Leaf(micro_kernels[0].0.name()));
        }
    }

    /// That needs two splits at once: many channels alone do not say so among samples of which most have few of the other kind.
    #[test]
    fn what_gains_only_by_two_splits_is_found() {
        let program = program(
            "fn conv(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
                for o in 0..O { for h in 0..H { for w in 0..W {
                    let mut acc = 0.0;
                    for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
                    y[o][h][w] = acc;
                } } }
            }",
        );
        let target = CpuTarget { l2_bytes: 2 << 20, l3_bytes: 480 << 20, ..avx512() };
        let (micro_kernels, tree) = default_for(&program, &target);
        let vars: Vec<String> = program.shape_vars.iter().map(|var| var.to_string()).collect();
        let across = Tiled::across_for(&program, &target).expect("vectors along the channels").0.name();
        assert!(micro_kernels.iter().any(|(micro_kernel, _)| micro_kernel.name() == across));
        let shape = |channels: i64, size: i64| -> Vec<i64> {
            let value = |name: &String| match &name[..] {
                "C" | "O" => channels,
                "H" | "W" => size,
                _ => 3,
            };
            vars.iter().map(value).collect()
        };
        for (channels, size) in [(64, 56), (128, 28), (256, 14), (512, 7)] {
            assert_eq!(tree.pick(&vars, &shape(channels, size)), across, "{channels} channels, {size} by {size}");
        }
        assert_ne!(tree.pick(&vars, &shape(4, 56)), across);
    }

    #[test]
    fn the_same_nest_has_the_same_default_each_time() {
        let of = || {
            let (both, tree) = default_for(&program(DENSE), &avx512());
            (both.into_iter().map(|(micro_kernel, _)| micro_kernel).collect::<Vec<_>>(), tree)
        };
        assert_eq!(of(), of());
    }
}
