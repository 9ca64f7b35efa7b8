//! What the rules for CPUs share: how an axis becomes loops.

use super::{PartialSketch, SketchLoop, product, variable};
use crate::ir::{ForKind, IterVar, Name};
use crate::schedule::{Axis, Factor, Instruction, Level, Part, Size, Tail};

/// Whether the iterations of a level are unrolled, or lanes: they are the tile that hangs over the edge.
pub(super) fn is_of_tile(level: Level) -> bool {
    matches!(level, Level::Register | Level::Lanes | Level::Unroll)
}

/// The factors of an axis that are drawn together with those of the others.
pub(super) fn axis(name: &Name, levels: &[Level]) -> Axis {
    let factor = |level: &Level| Factor { var: variable(name, *level), level: *level };
    Axis { name: name.clone(), factors: levels.iter().map(factor).collect() }
}

/// Splits an axis into a loop for each level, and the one outside of them. The tile hangs over the edge, so it is split off first;
/// what stands outside of it is clipped, from the inside out, but for the parts of a shared sum, which are as many at every shape.
///
/// ```text
/// j      →      j_tiles, j_tile      →      j_tiles, j_3, j_4      →      j_blocks, j_2, j_3, j_4      →      j_0, j_1, j_2, j_3, j_4
/// ```
///
/// Where an instruction takes a piece of the axis, so many lanes or steps, that is the innermost loop of the tile, of the level of lanes.
pub(super) fn split(
    partial: &mut PartialSketch,
    iter: &IterVar,
    sampled: &[Level],
    piece: Option<i64>,
) -> Vec<SketchLoop> {
    let name = &iter.name;
    let levels: Vec<Level> = sampled.iter().copied().chain(piece.map(|_| Level::Lanes)).collect();
    let of_tile = levels.iter().position(|level| is_of_tile(*level)).unwrap_or(levels.len());
    let below = |n: usize| {
        let Size(mut parts) = product(name, sampled.get(n..).unwrap_or_default());
        parts.extend(piece.map(Part::Int));
        Size(parts)
    };
    let loop_name = |n: usize| format!("{name}_{n}");
    let mut rest = name.clone();
    let mut made = Vec::new();
    if of_tile < levels.len() {
        let several = levels.len() - of_tile > 1;
        let tile = if several { format!("{name}_tile") } else { loop_name(levels.len()) };
        let mut tile = cut(partial, &mut rest, below(of_tile), Tail::Pad, [&format!("{name}_tiles"), &tile]);
        for n in of_tile + 1..levels.len() {
            let inner = cut(partial, &mut tile, below(n), Tail::Pad, [&loop_name(n), &loop_name(n + 1)]);
            made.push(std::mem::replace(&mut tile, inner));
        }
        made.push(tile);
    }
    for n in (0..of_tile).rev() {
        let outer = if n == 0 { loop_name(0) } else { format!("{name}_blocks") };
        let tail = if levels[n] == Level::Split { Tail::Pad } else { Tail::Clip };
        made.insert(0, cut(partial, &mut rest, product(name, &levels[n..=n]), tail, [&outer, &loop_name(n + 1)]));
    }
    made.insert(0, rest);
    let levels = std::iter::once(None).chain(levels.into_iter().map(Some));
    let of =
        |(made, level)| SketchLoop { name: made, axis: name.clone(), level, role: iter.role, kind: ForKind::Serial };
    made.into_iter().zip(levels).map(of).collect()
}

/// Splits a loop, which becomes the outer one of the two; returns the inner one.
fn cut(partial: &mut PartialSketch, parent: &mut Name, factor: Size, tail: Tail, wishes: [&str; 2]) -> Name {
    let into = wishes.map(|wish| partial.fresh(wish));
    let split = Instruction::Split { parent: parent.clone(), factor, tail, into: into.clone() };
    partial.instructions.push(split);
    let [outer, inner] = into;
    *parent = outer;
    inner
}
