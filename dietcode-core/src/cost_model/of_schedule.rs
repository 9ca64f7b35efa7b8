//! How an instance fits any schedule: grid and padding, read off its loops and splits.

use dietcode_syntax::KernelDef;

use super::Adaptation;
use super::loops::{count, taken};
use crate::frontend;
use crate::ir::{Expr, ForKind};
use crate::schedule::{Relation, Schedule};
use crate::sketch::MicroKernel;

impl Adaptation {
    /// Of a CPU's micro-kernel that is valid for the nest.
    pub fn of_micro_kernel(def: &KernelDef, micro_kernel: &MicroKernel, shape: &[i64], units: usize) -> Adaptation {
        match micro_kernel {
            MicroKernel::Tiled(tiled) => Adaptation::of(def, tiled, shape, units),
            MicroKernel::Blocked(blocked) => {
                Adaptation::of_blocked(def, blocked, shape, u32::try_from(units).unwrap_or(u32::MAX))
            }
            MicroKernel::Traced(traced) => {
                let program = frontend::program(def);
                let schedule = traced.trace.replay(&program, &program.blocks[0]);
                // One that does not replay serves nothing; as the untiled nest it is as bad as can be.
                let schedule = schedule.unwrap_or_else(|_| Schedule::new(&program, &program.blocks[0]));
                Adaptation::of_schedule(&schedule, shape, units)
            }
        }
    }

    /// Of a schedule to a shape (the shape variables in declaration order) on `units` cores or multiprocessors. Sums under a
    /// condition count as taken.
    pub fn of_schedule(schedule: &Schedule, shape: &[i64], units: usize) -> Adaptation {
        let vars = &schedule.program.shape_vars;
        let variable = |name: &str| vars.iter().position(|var| **var == *name).and_then(|at| shape.get(at));
        let value = |name: &str| variable(name).map_or(0.0, |value| *value as f64);
        let extent = |e: &Expr| count(&taken(e, schedule), &value).max(1.0);
        let parallel = |kind: ForKind| matches!(kind, ForKind::Parallel | ForKind::BlockIdx);
        let grid: f64 = schedule.loops.iter().filter(|l| parallel(l.kind)).map(|l| extent(&l.extent)).product();
        let padded = |(name, e): (&str, &Expr)| padding(schedule, name, extent(e));
        let padding_ratio = schedule.block.iters.iter().map(|iter| padded((&iter.name, &iter.extent))).product();
        let units = i64::try_from(units).unwrap_or(1).max(1);
        let waves = (grid / units as f64).ceil();
        let occupancy = grid / (units as f64 * waves);
        Adaptation { padding_ratio, grid: grid as i64, waves: waves as i64, occupancy, units }
    }
}

/// Iterations of all parts of a loop per iteration of its extent.
fn padding(schedule: &Schedule, name: &str, extent: f64) -> f64 {
    let split = schedule.relations.iter().find_map(|relation| match relation {
        Relation::Split { parent, outer, inner, factor, guard, .. } if **parent == *name => {
            Some((outer, inner, *factor as f64, *guard))
        }
        _ => None,
    });
    let Some((outer, inner, factor, guard)) = split else { return 1.0 };
    let tiles = (extent / factor).ceil();
    let own = if guard { tiles * factor / extent } else { 1.0 };
    own * padding(schedule, outer, tiles) * padding(schedule, inner, factor)
}
