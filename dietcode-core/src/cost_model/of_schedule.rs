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
        let value = |name: &str| schedule.program.value_at(shape, name).unwrap_or(0) as f64;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cost_model::dense::DENSE;
    use crate::machine::CpuTarget;
    use crate::sketch::{Blocked, Tiled};

    /// Shapes in the order of the kernel's variables, whichever that is.
    const SHAPES: [[i64; 3]; 6] = [[1, 1, 1], [97, 13, 5], [2048, 2304, 768], [7, 100, 1], [81, 80, 79], [33, 64, 129]];

    fn dense() -> KernelDef {
        dietcode_syntax::scan(DENSE).unwrap()[0].parse().unwrap()
    }

    fn sizes(names: [&str; 3], sizes: [i64; 3]) -> BTreeMap<String, i64> {
        names.into_iter().zip(sizes).filter(|(_, size)| *size > 0).map(|(name, size)| (name.to_owned(), size)).collect()
    }

    fn check(schedule: &Schedule, of: impl Fn(&[i64], usize) -> Adaptation) {
        for shape in SHAPES {
            for units in [1, 2, 7, 108] {
                let (expected, found) = (of(&shape, units), Adaptation::of_schedule(schedule, &shape, units));
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs();
                let counts = |a: &Adaptation| (a.grid, a.waves, a.units);
                assert_eq!(counts(&expected), counts(&found), "{shape:?}");
                assert!(close(expected.padding_ratio, found.padding_ratio), "{shape:?} {expected:?} {found:?}");
                assert!(close(expected.occupancy, found.occupancy), "{shape:?} {expected:?} {found:?}");
            }
        }
    }

    #[test]
    fn a_schedule_of_a_cpu_fits_like_the_parameters_that_it_was_made_of() {
        let (def, program) = (dense(), frontend::program(&dense()));
        let target = CpuTarget::detect("native").unwrap();
        for register in [[1, 1, 1], [8, 48, 1], [3, 16, 4], [80, 5, 1], [16, 0, 3]] {
            for blocks in [[0, 0, 96], [1, 1, 1], [5, 2, 100], [512, 3, 7]] {
                let block = [0, 1, 2].map(|at: usize| blocks[at] * register[at].max(1));
                let tiled = Tiled {
                    register_tile: sizes(["i", "j", "k"], register),
                    block_tile: sizes(["i", "j", "k"], block),
                    ..Tiled::default()
                };
                let schedule = tiled.schedule(&program, &target).unwrap();
                check(&schedule, |shape, units| Adaptation::of(&def, &tiled, shape, units));
            }
        }
    }

    #[test]
    fn a_schedule_of_a_gpu_fits_like_the_parameters_that_it_was_made_of() {
        let (def, program) = (dense(), frontend::program(&dense()));
        for thread in [[1, 32, 0], [16, 16, 0], [10, 16, 0]] {
            for inner in [[1, 1, 0], [4, 4, 0], [3, 8, 0]] {
                for (reduce, split) in [(8, 1), (16, 2), (5, 3)] {
                    let blocked = Blocked {
                        thread: sizes(["i", "j", "k"], thread),
                        vthread: sizes(["i", "j", "k"], [inner[0], 1, 0]),
                        inner: sizes(["i", "j", "k"], inner),
                        reduce: sizes(["i", "j", "k"], [0, 0, reduce]),
                        split: sizes(["i", "j", "k"], [0, 0, split]),
                        ..Blocked::default()
                    };
                    let schedules = blocked.schedules(&program).unwrap();
                    let main = schedules.iter().find(|schedule| schedule.rfactor.is_some()).unwrap_or(&schedules[0]);
                    check(main, |shape, units| Adaptation::of_blocked(&def, &blocked, shape, units as u32));
                }
            }
        }
    }
}
