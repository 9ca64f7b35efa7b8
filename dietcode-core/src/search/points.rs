//! Where a micro-kernel is checked and timed, so that what it does on workload instances is known without measuring it there.
//!
//! ```text
//! ragged   a small instance that no tile divides; for each shape variable, one that is long in it alone
//! timed    the cheapest instance, and the largest: where a call would take too long, as much of them as shows the same;
//!          of batches also so many of the largest instance's as a core's cache holds
//! ```
//!
//! The literature (DietCode, MLSys 2022) times a micro-kernel on a GPU at two sizes of the grid. A core of a CPU has one tile in flight;
//! what makes its tiles slower or faster is where their operands come from, and how often what was packed is used again. So the two
//! points differ in that, by the extents that differ between instances; the others stay: where N is 2304 always, what packing takes at
//! N = 64 says nothing. Only batches are as the instance's however few they are: there, whole tiles and operands within the cache are known
//! apart from the cheapest instance's edges.

use dietcode_syntax::{KernelDef, ShapeVar};

use super::WorkloadInstance;
use crate::ir::Program;
use crate::measure::{Device, Instance};
use crate::sketch::is_of_batches;

/// Instances on which micro-kernels are looked at; none of them needs to be a workload instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Where they are checked.
    pub ragged: Vec<Instance>,
    /// Where they are timed, each once: the cheapest one first, then the largest.
    pub timed: Vec<Instance>,
}

/// Operations of a call for each core or multiprocessor: about ten milliseconds on a fast core.
const OPERATIONS: f64 = 1e9;

/// Bytes of its tensors: what a core reads in about as long.
const BYTES: f64 = 1e8;

/// The share of a cache that operands may fill: of half of it, on pages that lie as they come, a part of some runs was in the next level.
const FILLED: f64 = 0.25;

/// Operations on a ragged instance, which the oracle carries out one by one.
const RAGGED: f64 = 4e6;

/// The same of one that is long in one extent. Where that alone is more, the finals check what is that long.
const LONG: f64 = 4.0 * RAGGED;

/// The other extents of an instance that is long in one.
const SHORT: i64 = 17;

/// Extents are halved down to this; shorter loops are another kernel.
const FEWEST: i64 = 32;

impl Points {
    /// Those of a device's kernel with these workload instances, of which there is at least one, in a setting.
    pub fn of(device: &dyn Device, workloads: &[WorkloadInstance], setting: usize) -> Points {
        let cache_bytes = device.cpu().map(|cpu| cpu.l2_bytes as f64);
        Points::with_cache((device.def(), device.program()), workloads, device.units(setting), cache_bytes)
    }

    fn with_cache(
        (def, program): (&KernelDef, &Program),
        workloads: &[WorkloadInstance],
        units: usize,
        cache_bytes: Option<f64>,
    ) -> Points {
        let extents = |at: usize| workloads.iter().map(move |workload| workload.instance.shape[at]);
        let vars = 0..def.shape_vars.len();
        let least: Vec<i64> = vars.clone().map(|at| extents(at).min().unwrap_or(1)).collect();
        let most: Vec<i64> = vars.clone().map(|at| extents(at).max().unwrap_or(1)).collect();
        let by_work = |a: &&WorkloadInstance, b: &&WorkloadInstance| a.instance.flops.total_cmp(&b.instance.flops);
        let quick = |instance: &Instance| {
            instance.flops <= OPERATIONS * units as f64 && bytes(instance) <= BYTES * units as f64
        };
        let timed = [workloads.iter().min_by(by_work), workloads.iter().max_by(by_work)].into_iter().flatten();
        let mut timed: Vec<Instance> = timed
            .map(|workload| {
                let varied = workload.instance.halved(def, &least, quick);
                varied.halved(def, &vec![FEWEST; least.len()], quick)
            })
            .collect();
        timed.extend(cache_bytes.zip(workloads.iter().max_by(by_work)).and_then(|(cache_bytes, largest)| {
            let is_kept =
                |(var, extent): (&ShapeVar, &i64)| if is_of_batches(program, &var.name) { 1 } else { *extent };
            let floor: Vec<i64> = def.shape_vars.iter().zip(&largest.instance.shape).map(is_kept).collect();
            let fits = |instance: &Instance| bytes(instance) <= FILLED * cache_bytes * units as f64;
            let few = largest.instance.halved(def, &floor, fits);
            (few != largest.instance && fits(&few)).then_some(few)
        }));
        let mut known: Vec<Vec<i64>> = Vec::new();
        timed.retain(|instance| {
            !known.contains(&instance.shape) && {
                known.push(instance.shape.clone());
                true
            }
        });
        let cheap = |instance: &Instance| instance.flops <= RAGGED;
        let odd = |shape: Vec<i64>, floor: &[i64]| {
            let shape: Vec<i64> = shape.into_iter().map(|extent| extent | 1).collect();
            Some(Instance::of(def, &shape).ok().filter(|of| !of.is_empty())?.halved(def, floor, cheap))
        };
        let long = vars.map(|var| {
            let extent = |at: usize| if at == var { most[at] } else { most[at].min(SHORT) };
            let floor: Vec<i64> = (0..most.len()).map(|at| if at == var { most[at] } else { 1 }).collect();
            odd((0..most.len()).map(extent).collect(), &floor).filter(|long| long.flops <= LONG)
        });
        let mut ragged: Vec<Instance> =
            [odd(most.clone(), &vec![1; most.len()])].into_iter().chain(long).flatten().collect();
        ragged.dedup();
        if ragged.is_empty() {
            // No odd shape keeps its indices in bounds: what the config has does.
            let smallest = workloads.iter().min_by(by_work);
            ragged.extend(smallest.map(|least| least.instance.halved(def, &vec![1; most.len()], cheap)));
        }
        Points { ragged, timed }
    }
}

/// Of all tensors.
fn bytes(instance: &Instance) -> f64 {
    let of = |(param, dtype): (usize, &dietcode_syntax::DType)| instance.elements(param) as f64 * dtype.bytes() as f64;
    instance.dtypes.iter().enumerate().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend;
    use crate::testing::{dense, kernel};

    /// Of a product at these values of M, K and N.
    fn points(shapes: &[[i64; 3]]) -> Points {
        let def = dense();
        let workload = |shape: &[i64; 3]| {
            let instance = Instance::of(&def, shape).unwrap();
            WorkloadInstance { wkl: [("at".to_owned(), shape[0])].into(), weight: 1.0, instance }
        };
        let workloads: Vec<_> = shapes.iter().map(workload).collect();
        Points::with_cache((&def, &frontend::program(&def)), &workloads, 1, None)
    }

    fn shapes(instances: &[Instance]) -> Vec<&[i64]> {
        instances.iter().map(|instance| &*instance.shape).collect()
    }

    /// `P` is `N + 1` at least, which no halving keeps, and no odd `N` beside an odd `P`.
    #[test]
    fn points_keep_their_indices_in_bounds() {
        let nest = "#[dynamic_kernel] fn f(x: &[f32; P], y: &mut [f32; N]) { for j in 0..N { y[j] = x[j + 1]; } }";
        let def = kernel(nest);
        let refusal = Instance::of(&def, &[19, 19]).unwrap_err().to_string();
        assert!(refusal.contains("the index `j + 1` of `x` runs from 1 to 19, and dimension 0 is 19"), "{refusal}");
        let instance = Instance::of(&def, &[17, 16]).unwrap();
        let workloads = [WorkloadInstance { wkl: [("N".to_owned(), 16)].into(), weight: 1.0, instance }];
        let points = Points::with_cache((&def, &frontend::program(&def)), &workloads, 1, None);
        assert_eq!((shapes(&points.ragged), shapes(&points.timed)), (vec![&[17, 16][..]], vec![&[17, 16][..]]));
    }

    #[test]
    fn what_differs_between_instances_is_shortened_and_the_rest_stays() {
        let points = points(&[[2048, 768, 2304], [80, 768, 2304]]);
        assert_eq!(shapes(&points.timed), [[80, 768, 2304], [256, 768, 2304]]);
        assert!(points.timed.iter().all(|instance| instance.flops <= OPERATIONS));
    }

    /// Of 192 products so many are timed as fit a part of the cache, where others than batches are the instance's.
    #[test]
    fn of_batches_some_are_timed_that_fit_the_cache() {
        let of = |nest: &str, shape: &[&[i64]]| {
            let def = kernel(nest);
            let workload = |shape: &&[i64]| {
                let instance = Instance::of(&def, shape).unwrap();
                WorkloadInstance { wkl: [("at".to_owned(), shape[1])].into(), weight: 1.0, instance }
            };
            let workloads: Vec<_> = shape.iter().map(workload).collect();
            let points = Points::with_cache((&def, &frontend::program(&def)), &workloads, 1, Some(2e6));
            points.timed.iter().map(|instance| instance.shape.clone()).collect::<Vec<_>>()
        };
        let nest =
            "#[dynamic_kernel] fn f(x: &[[[f32; K]; M]; B], w: &[[[f32; K]; N]; WB], y: &mut [[[f32; N]; M]; B]) {
            for b in 0..B { for i in 0..M { for j in 0..N { let mut acc = 0.0;
                for k in 0..K { acc += x[b][i][k] * w[b][j][k]; } y[b][i][j] = acc; } } } }";
        let batched = of(&nest.replace("WB", "B"), &[&[192, 5, 64, 5], &[192, 128, 64, 128]]);
        assert_eq!(batched[2..], [[3, 128, 64, 128]], "131,072 bytes each: {batched:?}");
        let shared = of(
            &nest.replace("[[[f32; K]; N]; WB]", "[[f32; K]; N]").replace("w[b]", "w"),
            &[&[192, 5, 64, 5], &[192, 128, 64, 128]],
        );
        assert_eq!(shared.len(), 2, "w is the same for all of them: {shared:?}");
    }

    #[test]
    fn one_large_instance_is_shortened_in_all_it_has() {
        let points = points(&[[8192, 8192, 8192]]);
        assert_eq!(points.timed.len(), 1);
        assert!(points.timed[0].flops <= OPERATIONS && points.timed[0].shape.iter().all(|extent| *extent >= 512));
        assert_eq!(shapes(&self::points(&[[31, 768, 64]]).timed), [[31, 768, 64]], "what is small stays whole");
    }

    #[test]
    fn ragged_instances_are_odd_and_reach_every_bound_that_an_instance_reaches() {
        let points = points(&[[2048, 768, 2304], [80, 768, 2304]]);
        assert!(points.ragged.iter().all(|i| i.flops <= RAGGED && i.shape.iter().all(|extent| extent % 2 == 1)));
        assert!(points.ragged[0].shape.iter().all(|extent| *extent > 80), "{:?}", points.ragged[0]);
        for (var, most) in [2048, 768, 2304].into_iter().enumerate() {
            assert!(points.ragged.iter().any(|i| i.shape[var] > most), "{var}: {:?}", shapes(&points.ragged));
        }
    }
}
