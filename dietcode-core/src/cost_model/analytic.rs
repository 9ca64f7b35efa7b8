//! The part of the cost that needs no learning, f_adapt = f_occupancy · f_padding, and f_MK read off measurements.
//!
//! A micro-kernel computes at some rate per core as long as it has whole tiles to compute and every core has one. What
//! an instance makes of that rate follows from its extents: tiles hang over the edge, and the last wave of blocks may
//! leave cores without work.

use std::collections::BTreeMap;

use dietcode_syntax::{KernelDef, Loop, Role};

use crate::sketch::{Blocked, Tiled};

/// How an instance fits a micro-kernel on a number of cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// Computed iterations per iteration asked for; 1 or more.
    pub padding_ratio: f64,
    /// Parallel tiles.
    pub grid: i64,
    /// Rounds in which the cores carry them out.
    pub waves: i64,
    /// Share of the cores' time that is used; at most 1.
    pub occupancy: f64,
    /// The cores.
    pub units: i64,
}

/// A micro-kernel's throughput where it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// How the instance fitted.
    pub adaptation: Adaptation,
    /// In GFLOP/s, of the operations asked for.
    pub gflops: f64,
}

impl Adaptation {
    /// Of a micro-kernel to a shape (the shape variables in declaration order) on `units` cores.
    pub fn of(def: &KernelDef, tiled: &Tiled, shape: &[i64], units: usize) -> Adaptation {
        Adaptation::of_tiles(def, shape, units, |l, extent| {
            let tile = tiled.register_size(&l.name).max(1);
            let block = tiled.block_size(&l.name, l.role).unwrap_or(tile).max(1);
            (tile, if l.role == Role::Spatial { div_ceil(extent, block) } else { 1 })
        })
    }

    /// Of a GPU's micro-kernel to a shape on `multiprocessors`. Blocks that share a sum count as parallel tiles.
    pub fn of_blocked(def: &KernelDef, blocked: &Blocked, shape: &[i64], multiprocessors: u32) -> Adaptation {
        let named = |sizes: &BTreeMap<String, i64>, l: &Loop| sizes.get(&l.name).copied().unwrap_or(1).max(1);
        Adaptation::of_tiles(def, shape, multiprocessors as usize, |l, extent| match l.role {
            Role::Spatial => {
                let tile = blocked.block_tile(&l.name).max(1);
                (tile, div_ceil(extent, tile))
            }
            Role::Reduce => {
                let parts = named(&blocked.split, l);
                (named(&blocked.reduce, l).saturating_mul(parts), parts)
            }
        })
    }

    /// `tile` gives a loop's tile, to whose multiples its extent is padded, and the parts of it that are carried out in
    /// parallel.
    fn of_tiles(def: &KernelDef, shape: &[i64], units: usize, tile: impl Fn(&Loop, i64) -> (i64, i64)) -> Adaptation {
        let units = i64::try_from(units).unwrap_or(1).max(1);
        let (mut padding_ratio, mut grid) = (1.0, 1i64);
        for l in &def.loops {
            let extent = extent(def, l, shape).max(1);
            let (tile, parts) = tile(l, extent);
            padding_ratio *= div_ceil(extent, tile) as f64 * tile as f64 / extent as f64;
            grid = grid.saturating_mul(parts);
        }
        let waves = div_ceil(grid, units);
        let occupancy = grid as f64 / (units as f64 * waves as f64);
        Adaptation { padding_ratio, grid, waves, occupancy, units }
    }

    /// f_adapt: the share of the cores' throughput that reaches the result.
    pub fn factor(&self) -> f64 {
        self.occupancy / self.padding_ratio
    }

    /// The throughput of all cores on this instance, for a micro-kernel's rate per core.
    pub fn throughput(&self, rate: f64) -> f64 {
        rate * self.units as f64 * self.factor()
    }
}

/// f_MK as a rate: GFLOP/s per core on whole tiles, the median of what the observations imply.
pub fn rate(observations: &[Observation]) -> Option<f64> {
    let implied = |o: &Observation| o.gflops / o.adaptation.throughput(1.0);
    let mut rates: Vec<f64> = observations.iter().map(implied).filter(|rate| rate.is_finite()).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    match rates.len() {
        0 => None,
        n if n % 2 == 1 => Some(rates[middle]),
        _ => Some((rates[middle - 1] + rates[middle]) / 2.0),
    }
}

/// The same of what was observed on so many cores, or else on any number of them.
pub fn rate_on(observations: &[Observation], units: usize) -> Option<f64> {
    let here: Vec<Observation> = observations.iter().copied().filter(|o| o.adaptation.units == units as i64).collect();
    rate(&here).or_else(|| rate(observations))
}

fn extent(def: &KernelDef, l: &Loop, shape: &[i64]) -> i64 {
    let value = |name: &str| def.value_at(shape, name).unwrap_or(0);
    l.extent.terms.iter().fold(l.extent.constant, |sum, (name, c)| sum.saturating_add(c.saturating_mul(value(name))))
}

fn div_ceil(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}

#[cfg(test)]
mod tests {
    use dietcode_syntax::{Affine, Expr, ShapeVar};

    use super::*;

    /// A nest `for i in 0..M  for j in 0..N  for k in 0..K`.
    fn nest() -> KernelDef {
        let names = [("i", "M", Role::Spatial), ("j", "N", Role::Spatial), ("k", "K", Role::Reduce)];
        KernelDef {
            name: "nest".into(),
            config: None,
            params: vec![],
            shape_vars: names.iter().map(|(_, var, _)| ShapeVar { name: (*var).into(), param: 0, dim: 0 }).collect(),
            loops: names
                .iter()
                .map(|(name, var, role)| Loop { name: (*name).into(), extent: Affine::var(*var), role: *role })
                .collect(),
            output: 0,
            output_index: vec![],
            reduction: None,
            epilogue: Expr::Acc,
            idle_reads: vec![],
        }
    }

    fn tiled(register: &[(&str, i64)], block: &[(&str, i64)]) -> Tiled {
        let tile = |sizes: &[(&str, i64)]| sizes.iter().map(|(name, size)| ((*name).to_string(), *size)).collect();
        Tiled { register_tile: tile(register), block_tile: tile(block), ..Tiled::default() }
    }

    #[test]
    fn the_example_of_the_literature() {
        // A loop of 100 carried out in tiles of 32: 128 iterations.
        let fit = Adaptation::of(&nest(), &tiled(&[("i", 32)], &[]), &[100, 1, 1], 2);
        assert_eq!(fit, Adaptation { padding_ratio: 1.28, grid: 4, waves: 2, occupancy: 1.0, units: 2 });
    }

    #[test]
    fn the_last_wave_leaves_cores_idle() {
        let fit = Adaptation::of(&nest(), &tiled(&[], &[("i", 10), ("j", 4)]), &[25, 4, 7], 2);
        assert_eq!((fit.grid, fit.waves, fit.occupancy), (3, 2, 0.75));
    }

    #[test]
    fn blocks_of_a_gpu_are_tiles_and_parts_of_sums() {
        let sizes = |sizes: &[(&str, i64)]| sizes.iter().map(|(name, size)| ((*name).to_string(), *size)).collect();
        let blocked = Blocked {
            thread: sizes(&[("i", 8), ("j", 16)]),
            inner: sizes(&[("i", 4), ("j", 4)]),
            reduce: sizes(&[("k", 8)]),
            split: sizes(&[("k", 2)]),
            ..Blocked::default()
        };
        let fit = Adaptation::of_blocked(&nest(), &blocked, &[33, 64, 15], 3);
        // 2 × 1 tiles of 32 × 64, each summed by two blocks in steps of 8.
        assert_eq!((fit.grid, fit.waves, fit.units), (4, 2, 3));
        assert!((fit.padding_ratio - 64.0 / 33.0 * 16.0 / 15.0).abs() < 1e-12, "{fit:?}");
    }

    #[test]
    fn a_rate_is_read_off_measurements() {
        for extents in [[1, 1, 1], [97, 13, 5], [2048, 2304, 768], [7, 100, 1]] {
            for units in [1, 2, 3, 64] {
                for tiles in [&[("i", 8), ("j", 48)][..], &[("i", 3), ("k", 4)], &[]] {
                    let fit = Adaptation::of(&nest(), &tiled(tiles, &[]), &extents, units);
                    assert!(fit.padding_ratio >= 1.0 && fit.occupancy > 0.0 && fit.occupancy <= 1.0, "{fit:?}");
                    let seen = Observation { adaptation: fit, gflops: fit.throughput(50.0) };
                    assert!((rate(&[seen, seen]).unwrap() - 50.0).abs() < 1e-9);
                }
            }
        }
        assert_eq!(rate(&[]), None);
    }
}
