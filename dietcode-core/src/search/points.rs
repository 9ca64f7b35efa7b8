//! Where a micro-kernel is checked and timed, so that what it does on workload instances is known without measuring it there.
//!
//! ```text
//! ragged   a small instance that no tile divides; for each shape variable, one that is long in it alone
//! timed    the cheapest instance, and the largest: where a call would take too long, as much of them as shows the same
//! ```
//!
//! The literature (DietCode, MLSys 2022) times a micro-kernel on a GPU at two sizes of the grid. A core of a CPU has one tile in flight;
//! what makes its tiles slower or faster is where their operands come from, and how often what was packed is used again. So the two
//! points differ in that, by the extents that differ between instances; the others stay: where N is 2304 always, what packing takes at
//! N = 64 says nothing.

use dietcode_syntax::KernelDef;

use super::WorkloadInstance;
use crate::measure::Instance;

/// Instances on which micro-kernels are looked at; none of them needs to be a workload instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Where they are checked.
    pub ragged: Vec<Instance>,
    /// Where they are timed, the smaller one first; one alone where both are the same.
    pub timed: Vec<Instance>,
}

/// Operations of a call for each core or multiprocessor: about ten milliseconds on a fast core.
const OPERATIONS: f64 = 1e9;

/// Bytes of its tensors: what a core reads in about as long.
const BYTES: f64 = 1e8;

/// Operations on a ragged instance, which the oracle carries out one by one.
const RAGGED: f64 = 4e6;

/// The same of one that is long in one extent. Where that alone is more, the finals check what is that long.
const LONG: f64 = 4.0 * RAGGED;

/// The other extents of an instance that is long in one.
const SHORT: i64 = 17;

/// Extents are halved down to this; shorter loops are another kernel.
const FEWEST: i64 = 32;

impl Points {
    /// Those of a kernel with these workload instances, of which there is at least one, on so many cores or multiprocessors.
    pub fn of(def: &KernelDef, workloads: &[WorkloadInstance], units: usize) -> Points {
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
        timed.dedup();
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
    use crate::testing::{dense, kernel};

    /// Of a product at these values of M, K and N.
    fn points(shapes: &[[i64; 3]]) -> Points {
        let def = dense();
        let workload = |shape: &[i64; 3]| {
            let instance = Instance::of(&def, shape).unwrap();
            WorkloadInstance { wkl: [("at".to_owned(), shape[0])].into(), weight: 1.0, instance }
        };
        Points::of(&def, &shapes.iter().map(workload).collect::<Vec<_>>(), 1)
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
        let points = Points::of(&def, &workloads, 1);
        assert_eq!((shapes(&points.ragged), shapes(&points.timed)), (vec![&[17, 16][..]], vec![&[17, 16][..]]));
    }

    #[test]
    fn what_differs_between_instances_is_shortened_and_the_rest_stays() {
        let points = points(&[[2048, 768, 2304], [80, 768, 2304]]);
        assert_eq!(shapes(&points.timed), [[80, 768, 2304], [256, 768, 2304]]);
        assert!(points.timed.iter().all(|instance| instance.flops <= OPERATIONS));
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
