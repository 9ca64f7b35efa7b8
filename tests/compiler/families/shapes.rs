//! The shapes that a configuration is run at: its tiles, one more, one less, primes, 1, sums of nothing.

use dietcode_core::sketch::{Blocked, Tiled};
use dietcode_syntax::KernelDef;

use crate::common::instance::Instance;

/// α and β, one pair after the other.
const FACTORS: [(f64, f64); 5] = [(1.5, -0.5), (1.0, 0.0), (-1.0, 1.0), (0.0, 2.0), (0.5, 0.25)];

/// Elements between the rows of the tensors, likewise.
const GAPS: [usize; 4] = [0, 3, 4, 0];

/// Rows, columns and steps of a work item, and rows and columns of a work group.
pub(crate) struct Tiles {
    item: [i64; 3],
    group: [i64; 2],
}

impl Tiles {
    pub(crate) fn of_cpu(tiled: &Tiled) -> Tiles {
        let size = |name| tiled.register_size(name);
        let group = ["i", "j"].map(|name| tiled.block_tile.get(name).copied().unwrap_or(1));
        let steps = tiled.block_tile.get("k").copied().unwrap_or(1).min(32);
        Tiles { item: [size("i"), size("j"), steps], group }
    }

    pub(crate) fn of_gpu(blocked: &Blocked) -> Tiles {
        let inner = |name| blocked.inner.get(name).copied().unwrap_or(1);
        let steps = blocked.reduce.get("k").copied().unwrap_or(1);
        Tiles { item: [inner("i"), inner("j"), steps], group: ["i", "j"].map(|name| blocked.block_tile(name)) }
    }

    /// Rows, columns, steps.
    fn shapes(&self) -> [[i64; 3]; 10] {
        let ([i, j, k], [rows, columns]) = (self.item, self.group);
        [
            [1, 1, 1],
            [i, j, k],
            [i + 1, j - 1, k + 1],
            [i - 1, j + 1, k - 1],
            [rows.min(150) + 1, 3, 5],
            [2, columns.min(150) + 1, 7],
            [13, 17, 19],
            [5, 7, 0],
            [2 * i + 1, 2 * j + 1, k + 3],
            [23, 31, 2],
        ]
    }
}

/// A nest at each of the shapes, with a batch of 1 and of 7, and its tensors.
pub(crate) fn instances(def: &KernelDef, tiles: &Tiles) -> impl Iterator<Item = (Instance, Vec<Vec<f64>>)> {
    let shapes =
        tiles.shapes().into_iter().enumerate().flat_map(|(n, shape)| [(2 * n, 1, shape), (2 * n + 1, 7, shape)]);
    shapes.map(|(n, batch, [m, columns, k])| {
        let value = |name: &str| match name {
            "B" => batch,
            "M" => m.max(1),
            "N" => columns.max(1),
            _ => k.max(0),
        };
        let shape = def.shape_vars.iter().map(|var| value(&var.name)).collect();
        let gap = GAPS[n % GAPS.len()];
        let instance = Instance { seed: n as u64, def: def.clone(), shape, gap, coarse: false };
        let mut tensors = instance.tensors();
        let at = |name: &str| def.params.iter().position(|param| param.name == name).expect("a parameter");
        let (alpha, beta) = FACTORS[n % FACTORS.len()];
        (tensors[at("alpha")][0], tensors[at("beta")][0]) = (alpha, beta);
        if beta == 0.0 {
            tensors[at("c")].fill(f64::NAN);
        }
        (instance, tensors)
    })
}
