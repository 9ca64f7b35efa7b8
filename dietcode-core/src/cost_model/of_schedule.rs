//! How an instance fits any schedule: grid and padding, read off its loops and splits.

use super::Adaptation;
use super::loops::count;
use crate::ir::{Expr, ForKind};
use crate::schedule::{Relation, Schedule};
use crate::sketch::{Lowered, Remainder};

impl Adaptation {
    /// Of a micro-kernel: as [`of_schedule`](Adaptation::of_schedule), and of a cover both parts, which share the waves.
    pub fn of(lowered: &Lowered, shape: &[i64], units: usize) -> Adaptation {
        Adaptation::of_parts(lowered.schedule(), lowered.cover.as_deref(), shape, units)
    }

    /// The same of a schedule and of what covers the rest, if something does.
    pub(crate) fn of_parts(main: &Schedule, cover: Option<&Remainder>, shape: &[i64], units: usize) -> Adaptation {
        let parts = cover.map(|cover| (cover, cover.parts(shape)));
        let of = |schedule, shape: &Vec<i64>| Adaptation::of_schedule(schedule, shape, units);
        match parts {
            Some((cover, [Some(whole), Some(rest)])) => {
                let share = whole[cover.cut.position] as f64 / shape[cover.cut.position] as f64;
                let (main, rest) = (of(main, &whole), of(cover.rest.schedule(), &rest));
                let padding_ratio = share * main.padding_ratio + (1.0 - share) * rest.padding_ratio;
                Adaptation::of_grid(padding_ratio, main.grid as f64 + rest.grid as f64, units)
            }
            Some((cover, [None, Some(rest)])) => of(cover.rest.schedule(), &rest),
            _ => Adaptation::of_schedule(main, shape, units),
        }
    }

    /// Of a schedule to a shape (the shape variables in declaration order) on `units` cores or multiprocessors. Sums under a
    /// condition count as taken.
    pub fn of_schedule(schedule: &Schedule, shape: &[i64], units: usize) -> Adaptation {
        let value = |name: &str| schedule.value_at(shape, name).unwrap_or(0) as f64;
        let extent = |e: &Expr| count(&schedule.program.taken(e), &value).max(1.0);
        let parallel = |kind: ForKind| matches!(kind, ForKind::Parallel | ForKind::BlockIdx);
        let grid: f64 = schedule.loops.iter().filter(|l| parallel(l.kind)).map(|l| extent(&l.extent)).product();
        let padded = |(name, e): (&str, &Expr)| padding(schedule, name, extent(e), &extent);
        let padding_ratio = schedule.block.iters.iter().map(|iter| padded((&iter.name, &iter.extent))).product();
        Adaptation::of_grid(padding_ratio, grid, units)
    }

    fn of_grid(padding_ratio: f64, grid: f64, units: usize) -> Adaptation {
        let units = i64::try_from(units).unwrap_or(1).max(1);
        let waves = (grid / units as f64).ceil();
        let occupancy = grid / (units as f64 * waves);
        Adaptation { padding_ratio, grid: grid as i64, waves: waves as i64, occupancy, units }
    }
}

/// Iterations of all parts of a loop per iteration of its extent.
fn padding(schedule: &Schedule, name: &str, extent: f64, value: &impl Fn(&Expr) -> f64) -> f64 {
    let split = schedule.relations.iter().find_map(|relation| match relation {
        Relation::Split { parent, outer, inner, factor, guard, .. } if **parent == *name => {
            Some((outer, inner, value(factor), *guard))
        }
        _ => None,
    });
    let Some((outer, inner, factor, guard)) = split else { return 1.0 };
    let tiles = (extent / factor).ceil();
    let own = if guard { tiles * factor / extent } else { 1.0 };
    own * padding(schedule, outer, tiles, value) * padding(schedule, inner, factor, value)
}
