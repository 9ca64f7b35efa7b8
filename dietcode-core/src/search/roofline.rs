//! What an instance can reach at most: the peak of fused multiply-adds, or what memory allows.

use crate::measure::{Device, Timing};
use crate::{Error, Result};

use super::WorkloadInstance;

/// Measured bounds of the instances of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// GFLOP/s: `[threads][instance]`.
    pub gflops: Vec<Vec<f64>>,
}

const TIMING: Timing = Timing::warm(5, 0.02, 1.0);

impl Roofline {
    /// Measures, at each number of threads, the peak of fused multiply-adds and, for each instance, how long it takes to read
    /// its inputs and write its output once, with warm caches as everything is measured.
    ///
    /// # Errors
    /// If measuring is not possible at all, or it is not known how to measure the bounds of the device.
    pub fn measure(device: &mut dyn Device, workloads: &[WorkloadInstance], threads: &[usize]) -> Result<Roofline> {
        let mut gflops = Vec::new();
        for threads in threads {
            let mut row = Vec::new();
            for workload in workloads {
                row.push(bound(device, workload, *threads)?);
            }
            gflops.push(row);
        }
        Ok(Roofline { gflops })
    }

    /// The weighted geometric mean of the shares of it that are reached: GFLOP/s as `[threads][instance]`. 0 where nothing
    /// was measured on an instance that counts.
    pub fn reached(&self, best: &[Vec<f64>], weights: &[f64]) -> f64 {
        let (mut logarithms, mut total) = (0.0, 0.0);
        for (best, bound) in best.iter().zip(&self.gflops) {
            for ((best, bound), weight) in best.iter().zip(bound).zip(weights).filter(|(_, weight)| **weight > 0.0) {
                logarithms += weight * (best / bound).ln();
                total += weight;
            }
        }
        if total > 0.0 { (logarithms / total).exp() } else { 0.0 }
    }
}

fn bound(device: &mut dyn Device, workload: &WorkloadInstance, threads: usize) -> Result<f64> {
    let unknown = || Error::input("found --until, expected a CPU: the bounds of other devices are not measured");
    let (peak, peak_flops) = device.peak(threads).ok_or_else(unknown)?;
    let stream = device.stream(&workload.instance)?.ok_or_else(unknown)?;
    let outcomes = device.measure(&workload.instance, vec![peak, stream], threads, TIMING)?;
    let flops = [peak_flops, workload.instance.flops];
    let bounds =
        outcomes.into_iter().zip(flops).filter_map(|(outcome, flops)| Some(outcome.ok()?.gflops(flops).median));
    bounds.reduce(f64::min).ok_or_else(|| {
        let (shape, why) = (&workload.instance.shape, "others took its cores");
        Error::unavailable(format!("--until: what this machine reaches at shape {shape:?} is not known, as {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::measure::{Failure, Instance, SimulatedDevice};
    use crate::search::testing::{dense, target};

    /// A search would wait for what it takes to be infinite.
    #[test]
    fn a_bound_that_others_do_not_let_be_measured_is_an_error() {
        let def = dense(96, 64);
        let instance = Instance::of(&def, &[64]).unwrap();
        let workloads = [WorkloadInstance { wkl: [("M".to_owned(), 64)].into(), weight: 1.0, instance }];
        let measured = |is_used: bool| {
            let seconds = move |_: &str, _: &Instance, _: usize| match is_used {
                true => Err(Failure::Unknown { clean: 0, asked: 5 }),
                false => Ok(0.5),
            };
            let mut device = SimulatedDevice::new(def.clone(), target(), Box::new(seconds)).with_peak(2e9);
            Roofline::measure(&mut device, &workloads, &[1])
        };
        // What reads and writes the tensors once takes as long as what completes so many more operations.
        let bound = measured(false).unwrap().gflops[0][0];
        assert!((bound - 2e-9 * workloads[0].instance.flops).abs() < 1e-9, "{bound}");
        let error = measured(true).unwrap_err();
        let why = "--until: what this machine reaches at shape [64] is not known, as others took its cores";
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::Unavailable, why));
    }

    #[test]
    fn shares_are_weighted_and_what_is_missing_is_nothing() {
        let roofline = Roofline { gflops: vec![vec![100.0, 50.0]] };
        assert!((roofline.reached(&[vec![90.0, 45.0]], &[1.0, 1.0]) - 0.9).abs() < 1e-12);
        assert!((roofline.reached(&[vec![100.0, 25.0]], &[1.0, 1.0]) - 0.5f64.sqrt()).abs() < 1e-12);
        assert!((roofline.reached(&[vec![100.0, 25.0]], &[1.0, 0.0]) - 1.0).abs() < 1e-12);
        assert_eq!(roofline.reached(&[vec![100.0, 0.0]], &[1.0, 1.0]), 0.0);
    }
}
