//! Throughput over the grid: what a micro-kernel does on 1, 2, 3, … tiles, beside what its points let expect.
//!
//! Source: DietCode (MLSys 2022), which draws a micro-kernel's throughput over the size of the grid: it rises within a wave, and
//! falls where a wave begins.

use serde::Serialize;

use super::{Points, WorkloadInstance};
use crate::config::Cache;
use crate::cost_model::{Adaptation, Analytic, Calibration, ModelledCall};
use crate::measure::{Device, Instance, Purpose, Timing};
use crate::schedule::Schedule;
use crate::sketch::MicroKernel;
use crate::{Error, Result};

/// A micro-kernel over its grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The micro-kernel's name.
    pub micro_kernel: String,
    /// The number of threads, or 0.
    pub setting: usize,
    /// What caches held before each call.
    pub cache: Cache,
    /// Cores or multiprocessors.
    pub units: usize,
    /// Tiles that one of them has under way at once.
    pub flight: usize,
    /// Where predictions start from, the smaller one first.
    pub points: Vec<Swept>,
    /// The median of how far predictions are off, as a share of what was measured.
    pub error: f64,
    /// By the number of tiles.
    pub grids: Vec<Swept>,
}

/// A grid of so many tiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Swept {
    /// How many.
    pub tiles: i64,
    /// Operations of a call.
    pub flops: f64,
    /// GFLOP/s, the median of repeats.
    pub measured: f64,
    /// GFLOP/s that the model expects before anything was measured.
    pub model: f64,
    /// GFLOP/s that are expected by the points.
    pub predicted: f64,
}

/// Waves that are swept over.
const WAVES: usize = 4;

/// The most sizes of a grid.
const SIZES: usize = 32;

const TIMING: Timing = Timing::warm(5, 0.02, 1.0).unchecked();

impl Sweep {
    /// Measures a micro-kernel of a config with these workload instances, with caches that hold so much before a call. None if it has one
    /// tile whatever the shape is. Grids at which others took the cores are left out.
    ///
    /// # Errors
    /// If it does not compile or is wrong, or measuring is not possible at all, or others took the cores at all grids or at a point that predictions
    /// start from.
    pub fn measure(
        device: &mut dyn Device,
        micro_kernel: &MicroKernel,
        workloads: &[WorkloadInstance],
        (setting, cache): (usize, Cache),
    ) -> Result<Option<Sweep>> {
        let def = device.def().clone();
        let lowered = micro_kernel.lowered(device.program(), device.target())?;
        let failed = |failure| Error::failed(format!("`{}` {failure}", micro_kernel.name()));
        let code = device.compile(micro_kernel, Purpose::Final).map_err(failed)?;
        let units = device.units(setting);
        let flight = code.report(device).iter().map(|launch| launch.blocks_per_sm as usize).min().unwrap_or(1).max(1);
        let points = Points::of(device, workloads, setting);
        let Some(largest) = points.timed.iter().max_by(|a, b| a.flops.total_cmp(&b.flops)) else { return Ok(None) };
        let most = WAVES * units * flight;
        let sizes = (1..=most).filter(|tiles| most <= SIZES || tiles % most.div_ceil(SIZES) == 0);
        let grids: Vec<Instance> =
            sizes.filter_map(|tiles| of_tiles(device, lowered.schedule(), largest, tiles as i64)).collect();
        if grids.len() < 2 {
            return Ok(None);
        }
        let mut time = |instance: &Instance, timing: Timing| -> Result<Option<f64>> {
            let implementation = device.implementation(&code, instance)?;
            match device.measure(instance, vec![implementation], setting, timing)?.swap_remove(0) {
                Err(failure) if failure.is_its_own() => Err(failed(failure)),
                outcome => Ok(outcome.ok().map(|sample| sample.seconds().median)),
            }
        };
        for instance in &points.ragged {
            time(instance, Timing::CHECK)?;
        }
        let mut seconds = |instances: &[Instance]| -> Result<Vec<Option<f64>>> {
            instances.iter().map(|instance| time(instance, Timing { cache, ..TIMING })).collect()
        };
        let (at_points, measured) = (seconds(&points.timed)?, seconds(&grids)?);
        let unknown = || {
            Error::unavailable(format!("`{}` has no figure to sweep from: others took the cores", micro_kernel.name()))
        };
        let at_points = at_points.into_iter().collect::<Option<Vec<f64>>>().ok_or_else(unknown)?;
        let known = grids.into_iter().zip(measured).filter_map(|(instance, seconds)| Some((instance, seconds?)));
        let (grids, measured): (Vec<Instance>, Vec<f64>) = known.unzip();
        if grids.is_empty() {
            return Err(unknown());
        }
        let model = Analytic { target: device.target().clone() };
        let shapes =
            |instances: &[Instance]| instances.iter().map(|instance| instance.shape.clone()).collect::<Vec<_>>();
        let expected = |instances: &[Instance]| model.seconds(&def, &lowered, &shapes(instances), units);
        let of_points = expected(&points.timed);
        let modelled = |instance: &Instance, time: f64| ModelledCall { flops: instance.flops, time };
        let of_point = |(at, point): (usize, &Instance)| (modelled(point, of_points[at]), at_points[at]);
        let calibration = Calibration::of(points.timed.iter().enumerate().map(of_point)).ok_or_else(unknown)?;
        let swept = |instance: &Instance, model: f64, measured: f64| Swept {
            tiles: Adaptation::of_schedule(lowered.schedule(), &instance.shape, units).grid,
            flops: instance.flops,
            measured: instance.flops * 1e-9 / measured,
            model: instance.flops * 1e-9 / model,
            predicted: instance.flops * 1e-9 / calibration.expected(modelled(instance, model)),
        };
        let all = |instances: &[Instance], model: &[f64], measured: &[f64]| -> Vec<Swept> {
            let all = instances.iter().zip(model).zip(measured);
            all.map(|((instance, model), measured)| swept(instance, *model, *measured)).collect()
        };
        let grids = all(&grids, &expected(&grids), &measured);
        Ok(Some(Sweep {
            micro_kernel: micro_kernel.name(),
            setting,
            cache,
            units,
            flight,
            points: all(&points.timed, &of_points, &at_points),
            error: error(&grids),
            grids,
        }))
    }
}

/// The median of how far predictions are off, as a share of what was measured.
fn error(grids: &[Swept]) -> f64 {
    let mut errors: Vec<f64> = grids.iter().map(|at| (at.predicted / at.measured - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// The largest instance with so many tiles, along the shape variable that makes most of them; the others as in `of`, but for those
/// that would make more than one tile each. None if there is none.
fn of_tiles(device: &dyn Device, schedule: &Schedule, of: &Instance, tiles: i64) -> Option<Instance> {
    let grid = |shape: &[i64]| Adaptation::of_schedule(schedule, shape, 1).grid;
    let with = |shape: &[i64], at: usize, value: i64| {
        let mut shape = shape.to_vec();
        shape[at] = value;
        shape
    };
    // The largest value of a variable at which there are no more than so many tiles.
    let largest = |shape: &[i64], at: usize, tiles: i64, limit: i64| {
        let (mut fits, mut exceeds) = (1, limit + 1);
        while exceeds - fits > 1 {
            let middle = fits.midpoint(exceeds);
            if grid(&with(shape, at, middle)) <= tiles { fits = middle } else { exceeds = middle }
        }
        with(shape, at, fits)
    };
    let vars = 0..of.shape.len();
    let one = vars.clone().fold(of.shape.clone(), |shape, at| {
        let fewest = grid(&with(&shape, at, 1));
        largest(&shape, at, fewest, of.shape[at])
    });
    let moved = |at: &usize| grid(&with(&one, *at, of.shape[*at])) > grid(&one);
    let along = vars.filter(moved).max_by_key(|at| grid(&with(&one, *at, of.shape[*at])))?;
    let shape = largest(&one, along, tiles, LONGEST);
    (grid(&shape) == tiles).then(|| Instance::of(device.def(), &shape).ok()).flatten()
}

/// The largest extent that is tried.
const LONGEST: i64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Target, avx512};
    use crate::measure::SimulatedDevice;
    use crate::search::testing::dense;
    use crate::sketch::{Lowered, Tiled};

    /// The default tile of a dense layer, swept over on a device that takes so many times as long as the model says; instances have
    /// 2048 rows.
    fn swept(units: usize, factor: fn(f64) -> f64) -> Sweep {
        let (def, target) = (dense(96, 64), avx512());
        let program = crate::frontend::program(&def);
        let (micro_kernel, _) = Tiled::default_for(&program, &target).micro_kernel(&program, &target).unwrap();
        let target = Target::Cpu(target);
        let lowered: Lowered = micro_kernel.lowered(&program, &target).unwrap();
        let (of, model) = (def.clone(), Analytic { target: target.clone() });
        let seconds = move |_: &str, instance: &Instance, setting: usize| {
            let model = model.seconds(&of, &lowered, std::slice::from_ref(&instance.shape), setting)[0];
            Ok(model * factor(model))
        };
        let mut device = SimulatedDevice::new(def.clone(), target, Box::new(seconds));
        let workload = |rows: i64| WorkloadInstance {
            wkl: [("M".to_owned(), rows)].into(),
            weight: 1.0,
            instance: Instance::of(&def, &[rows]).unwrap(),
        };
        let workloads = [workload(16), workload(2048)];
        Sweep::measure(&mut device, &micro_kernel, &workloads, (units, Cache::Warm)).unwrap().unwrap()
    }

    #[test]
    fn a_grid_of_each_size_is_measured_up_to_four_waves() {
        for units in [1, 3] {
            let sweep = swept(units, |_| 2.0);
            let tiles: Vec<i64> = sweep.grids.iter().map(|at| at.tiles).collect();
            // The 96 columns are two tiles of 48 whatever the number of rows is.
            assert_eq!((sweep.flight, tiles), (1, (1..=2 * units as i64).map(|rows| 2 * rows).collect()));
            assert!(sweep.error < 1e-9, "one factor everywhere is read off any points: {sweep:?}");
        }
    }

    #[test]
    fn the_error_is_the_median_of_what_predictions_are_off() {
        let at = |predicted: f64| Swept { tiles: 1, flops: 1e9, measured: 100.0, model: 50.0, predicted };
        assert!((error(&[90.0, 130.0, 200.0].map(at)) - 0.3).abs() < 1e-12);
    }
}
