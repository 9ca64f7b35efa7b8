//! The part of the cost that needs no learning, f_adapt = f_occupancy · f_padding, and f_MK read off measurements.
//!
//! A micro-kernel computes at some rate per core as long as it has whole tiles to compute and every core has one. What
//! an instance makes of that rate follows from its extents: tiles hang over the edge, and the last wave of blocks may
//! leave cores without work.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Schedule, Tail};
    use crate::testing::{DENSE, program};

    /// The dense layer, of which each of these loops is split and the outer parts of the first are bound to `grid`.
    fn split(loops: &[(&str, i64)]) -> Schedule {
        let program = program(DENSE);
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        for (name, factor) in loops {
            schedule.split(name, *factor, Tail::Pad, [&format!("{name}_o"), &format!("{name}_i")]).unwrap();
        }
        schedule.parallel(&schedule.loop_names()[0].clone()).unwrap();
        schedule
    }

    /// How the schedule fits extents of `i`, `j` and `k`.
    fn of(loops: &[(&str, i64)], extents: [i64; 3], units: usize) -> Adaptation {
        let schedule = split(loops);
        let extent = |var: &crate::ir::Name| match &**var {
            "M" => extents[0],
            "N" => extents[1],
            _ => extents[2],
        };
        let shape: Vec<i64> = schedule.program.shape_vars.iter().map(extent).collect();
        Adaptation::of_schedule(&schedule, &shape, units)
    }

    #[test]
    fn the_example_of_the_literature() {
        // A loop of 100 carried out in tiles of 32: 128 iterations.
        let fit = of(&[("i", 32)], [100, 1, 1], 2);
        assert_eq!(fit, Adaptation { padding_ratio: 1.28, grid: 4, waves: 2, occupancy: 1.0, units: 2 });
    }

    #[test]
    fn the_last_wave_leaves_cores_idle() {
        let fit = of(&[("i", 10)], [25, 4, 7], 2);
        assert_eq!((fit.grid, fit.waves, fit.occupancy), (3, 2, 0.75));
    }

    #[test]
    fn a_rate_is_read_off_measurements() {
        for extents in [[1, 1, 1], [97, 13, 5], [2048, 2304, 768], [7, 100, 1]] {
            for units in [1, 2, 3, 64] {
                for tiles in [&[("i", 8), ("j", 48)][..], &[("i", 3), ("k", 4)], &[]] {
                    let fit = of(tiles, extents, units);
                    assert!(fit.padding_ratio >= 1.0 && fit.occupancy > 0.0 && fit.occupancy <= 1.0, "{fit:?}");
                    let seen = Observation { adaptation: fit, gflops: fit.throughput(50.0) };
                    assert!((rate(&[seen, seen]).unwrap() - 50.0).abs() < 1e-9);
                }
            }
        }
        assert_eq!(rate(&[]), None);
    }
}
