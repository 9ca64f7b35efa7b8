//! The shapes at which a micro-kernel is checked: whole tiles, and what hangs over their edges in every way.

use dietcode::core::schedule::MatrixUnit;
use dietcode::core::sketch::Blocked;
use dietcode::core::syntax::{KernelDef, Role};

/// How many shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shapes {
    /// Three: whole tiles, ragged with gaps between rows, and 1.
    Quick,
    /// Twelve.
    Full,
}

/// A shape with what it is for.
pub(super) struct Shape {
    pub(super) label: &'static str,
    /// The shape variables in declaration order.
    pub(super) extents: Vec<i64>,
    /// Unused elements between rows.
    pub(super) gap: usize,
}

/// Extents of a tile's size: of what is not summed, of what is, and the gap between rows. The first three are the quick ones.
type Pattern = (&'static str, fn(i64) -> i64, fn(i64) -> i64, usize);

const PATTERNS: &[Pattern] = &[
    ("two tiles", |t| 2 * t, |t| 2 * t, 0),
    ("tile + 1, gaps", |t| t + 1, |t| t + 1, 3),
    ("1", |_| 1, |_| 1, 0),
    ("one tile", |t| t, |t| t, 0),
    ("tile - 1", |t| t - 1, |t| t - 1, 0),
    ("tile + 1, whole sums", |t| t + 1, |t| 3 * t, 0),
    ("whole, sums of tile - 1", |t| 2 * t, |t| t - 1, 0),
    ("short sums", |t| t + t / 2, |_| 3, 0),
    ("primes", |t| prime_from(t + t / 3), |t| prime_from(2 * t), 0),
    ("primes, gaps", |t| prime_from(t / 2), |t| prime_from(t), 5),
    ("half a tile", |t| t / 2, |t| 4 * t, 0),
    ("aligned gaps", |t| 2 * t - 1, |t| 2 * t + 1, 8),
];

/// The shapes for a micro-kernel.
pub(super) fn shapes(def: &KernelDef, blocked: &Blocked, which: Shapes) -> Vec<Shape> {
    let count = if which == Shapes::Quick { 3 } else { PATTERNS.len() };
    let shape = |(label, spatial, summed, gap): &Pattern| {
        let extent = |var: &str| {
            let (tile, role) = tile(def, blocked, var);
            match role {
                Role::Spatial => spatial(tile).max(1),
                Role::Reduce => summed(tile).max(1),
            }
        };
        let extents = def.shape_vars.iter().map(|var| extent(&var.name)).collect();
        Shape { label, extents, gap: *gap }
    };
    PATTERNS[..count].iter().map(shape).collect()
}

/// The largest tile of the loops that a shape variable counts, and whether they are summed over.
fn tile(def: &KernelDef, blocked: &Blocked, var: &str) -> (i64, Role) {
    let loops = def.loops.iter().filter(|l| l.extent.coefficient(var) != 0);
    let size = |of: &std::collections::BTreeMap<String, i64>, name: &str| of.get(name).copied().unwrap_or(1);
    let tiles = loops.map(|l| match l.role {
        Role::Reduce => (size(&blocked.reduce, &l.name) * size(&blocked.split, &l.name), l.role),
        Role::Spatial => (blocked.block_tile(&l.name) * unit(blocked, &l.name), l.role),
    });
    tiles.max_by_key(|(tile, _)| *tile).unwrap_or((1, Role::Spatial))
}

/// What a matrix instruction has of a loop, at most: tiles are counted in them.
fn unit(blocked: &Blocked, name: &str) -> i64 {
    match blocked.matrix_unit {
        Some(MatrixUnit::Half | MatrixUnit::Tf32 | MatrixUnit::Tf32x3)
            if blocked.thread.contains_key(name) || blocked.inner.contains_key(name) =>
        {
            16
        }
        _ => 1,
    }
}

fn prime_from(least: i64) -> i64 {
    let is_prime = |n: &i64| *n > 1 && (2..=n.isqrt()).all(|d| n % d != 0);
    (least.max(2)..).find(is_prime).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_become_extents() {
        assert_eq!([0, 7, 8, 90].map(prime_from), [2, 7, 11, 97]);
        let text = include_str!("../../ops.rs");
        let kernels = dietcode::core::syntax::scan(text).unwrap();
        let def = kernels.iter().find(|kernel| kernel.item.sig.ident == "dense").unwrap().parse().unwrap();
        let blocked = Blocked {
            thread: [("i".to_owned(), 16)].into(),
            inner: [("i".to_owned(), 4)].into(),
            reduce: [("k".to_owned(), 8)].into(),
            ..Blocked::default()
        };
        let vars: Vec<&str> = def.shape_vars.iter().map(|var| var.name.as_str()).collect();
        assert_eq!(vars, ["M", "K", "N"]);
        let seen = shapes(&def, &blocked, Shapes::Full);
        assert_eq!(seen.len(), 12);
        assert_eq!((&seen[0].extents[..], &seen[1].extents[..], seen[1].gap), (&[128, 16, 2][..], &[65, 9, 2][..], 3));
        assert!(seen.iter().all(|shape| shape.extents.iter().all(|extent| *extent >= 1)));
        assert_eq!(shapes(&def, &blocked, Shapes::Quick).len(), 3);
        let unit = Blocked { matrix_unit: Some(MatrixUnit::Tf32), ..blocked };
        assert_eq!(shapes(&def, &unit, Shapes::Quick)[0].extents, [2048, 16, 2]);
    }
}
