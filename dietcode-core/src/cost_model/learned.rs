//! The learned model: by what factor a micro-kernel is slower or faster than the analytic model says, from its features.
//!
//! ```text
//! at each of two points   score    = base margin + Σ over stores of what the trees say of their features there
//!                         expected = score · best GFLOP/s of the nest at the point
//! at an instance          seconds of the analytic model · the factor that both points let expect (Calibration)
//! ```
//!
//! The points of a nest are where all of its micro-kernels are timed: the first two instances that are seen of it. One factor for all would not
//! do, since what is wrong about small operands is another thing than what is wrong about streaming. Between points, what an instance makes of
//! a micro-kernel by occupancy, padding, packing and caches is the analytic model's matter.
//!
//! The base margin is what the analytic model says relative to the most that it said of a measured micro-kernel of the nest, and the trees learn
//! what it leaves ([`pack_sum`](super::pack_sum)). Of a nest of which nothing was measured, the analytic model's figures are scaled by what the
//! trees say of others, relative to a margin of 1.
//!
//! Features are those of the grid at which a micro-kernel is measured.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;

use super::pack_sum::Pack;
use super::trees::{Growing, Trees};
use super::{Analytic, Calibration, CostModel, ModelledCall, Observed, features};
use crate::instance::Instance;
use crate::machine::Target;
use crate::sketch::Lowered;

/// The model. Without trees it is the analytic one.
#[derive(Clone, Debug)]
pub struct Learned {
    analytic: Analytic,
    trees: Option<Trees>,
    /// The points of each nest, by the hash of its source.
    nests: BTreeMap<u64, Vec<Point>>,
    /// What was seen of micro-kernels at points, in the order in which it was.
    samples: Vec<Sample>,
}

/// Where micro-kernels of a nest are compared: an instance on so many cores or multiprocessors.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    shape: Vec<i64>,
    units: usize,
    flops: f64,
    /// The best GFLOP/s that was measured, and the most that the analytic model said of what was.
    measured: f64,
    analytic: f64,
}

/// What was seen of a micro-kernel at a point of its nest.
#[derive(Clone, Debug)]
struct Sample {
    nest: u64,
    point: usize,
    hash: [u8; 32],
    features: Vec<[f32; features::COUNT]>,
    /// What the analytic model says, in GFLOP/s.
    analytic: f64,
    /// What was measured; 0: it failed.
    gflops: f64,
}

/// Points of a nest.
const POINTS: usize = 2;

/// The trees are asked once they have learned from so many micro-kernels. In recorded searches of a batched product, trees that had learned from
/// 8 or 16 of them ordered the next 96 worse than the analytic model did. From 32 to 192, of these and of the dense layer, the best of
/// the eight that they put first came to 97% of the best of the 96, with the analytic model's order to 94% (means of 20 cases).
const FEWEST: usize = 32;

/// The least score of what can run, and the least factor of its rate.
const LEAST: f64 = 1e-3;

impl Learned {
    /// For a target; with trees that were trained before, if there are any.
    pub fn new(target: Target, trees: Option<Trees>) -> Learned {
        Learned { analytic: Analytic { target }, trees, nests: BTreeMap::new(), samples: Vec::new() }
    }

    /// The trees, to be written.
    pub fn trees(&self) -> Option<&Trees> {
        self.trees.as_ref()
    }

    /// What the analytic model says of a candidate at a shape, in GFLOP/s.
    fn analytic(&self, def: &KernelDef, candidate: &Lowered, shape: &[i64], units: usize) -> f64 {
        self.analytic.predict(def, &[candidate], &[shape.to_vec()], units)[0][0]
    }

    /// By what factor a candidate takes longer than the analytic model says, which says `row` of the instances: of seconds at the
    /// points.
    fn calibration(
        &self,
        def: &KernelDef,
        trees: &Trees,
        candidate: &Lowered,
        points: &[&Point],
    ) -> Option<Calibration> {
        let pair = |point: &&Point| {
            let analytic = self.analytic(def, candidate, &point.shape, point.units);
            let residual = residual(trees, candidate, &point.shape, point.units);
            let score = (analytic / point.analytic + residual).max(LEAST);
            // What the analytic model says cannot run, cannot.
            (analytic > 0.0).then(|| {
                let modelled = ModelledCall { flops: point.flops, time: point.flops / analytic };
                (modelled, point.flops / (score * point.measured))
            })
        };
        Calibration::of(points.iter().map(pair).collect::<Option<Vec<_>>>()?)
    }

    /// Adds what was seen of one micro-kernel on an instance to what is known of it. Away from the points, only that it failed is.
    fn keep(&mut self, observed: &Observed<'_>) {
        let Observed { def, candidate, instance, units, gflops } = *observed;
        let name = def.source_hash();
        let points = self.nests.entry(name).or_default();
        let is_here = |point: &Point| point.shape == instance && point.units == units;
        if gflops.is_some() && points.len() < POINTS && !points.iter().any(is_here) {
            let flops = Instance::of(def, instance).map_or(0.0, |instance| instance.flops);
            points.push(Point { shape: instance.to_vec(), units, flops, measured: 0.0, analytic: 0.0 });
        }
        let concerned = points.iter().enumerate().filter(|(_, point)| gflops.is_none() || is_here(point));
        let concerned: Vec<(usize, Vec<i64>, usize)> =
            concerned.map(|(at, point)| (at, point.shape.clone(), point.units)).collect();
        for (point, shape, units) in concerned {
            let same = |sample: &&mut Sample| (sample.nest, sample.point, sample.hash) == (name, point, candidate.hash);
            if let Some(known) = self.samples.iter_mut().find(same) {
                known.gflops = gflops.unwrap_or(0.0);
                continue;
            }
            let analytic = self.analytic(def, candidate, &shape, units);
            let (features, gflops) = (rows(candidate, &shape, units), gflops.unwrap_or(0.0));
            self.samples.push(Sample { nest: name, point, hash: candidate.hash, features, analytic, gflops });
        }
    }
}

/// What trees add to the margin of a candidate.
fn residual(trees: &Trees, candidate: &Lowered, shape: &[i64], units: usize) -> f64 {
    rows(candidate, shape, units).iter().map(|row| f64::from(trees.predict(row))).sum()
}

/// A row of features for each store of a candidate's kernels.
pub fn rows(candidate: &Lowered, shape: &[i64], units: usize) -> Vec<[f32; features::COUNT]> {
    let units = i64::try_from(units).unwrap_or(i64::MAX);
    let of_nest = |nest| features::stores(nest, shape, Some(units));
    candidate.nests.iter().flat_map(of_nest).map(|(_, row)| row).collect()
}

impl CostModel for Learned {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn predict(&self, def: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>> {
        let analytic = self.analytic.predict(def, candidates, instances, units);
        let Some(trees) = &self.trees else { return analytic };
        let flops: Vec<f64> = instances.iter().map(|shape| Instance::of(def, shape).map_or(0.0, |i| i.flops)).collect();
        let largest = (0..instances.len()).max_by(|a, b| flops[*a].total_cmp(&flops[*b]));
        let points = self.nests.get(&def.source_hash()).into_iter().flatten();
        let points: Vec<&Point> = points.filter(|point| point.measured > 0.0 && point.analytic > 0.0).collect();
        let row = |(candidate, row): (&&Lowered, Vec<f64>)| -> Vec<f64> {
            let Some(largest) = largest else { return row };
            if points.is_empty() {
                let factor = (1.0 + residual(trees, candidate, &instances[largest], units)).max(LEAST);
                return row.iter().map(|gflops| gflops * factor).collect();
            }
            let Some(calibration) = self.calibration(def, trees, candidate, &points) else {
                return vec![0.0; row.len()];
            };
            let expected = |(gflops, flops): (&f64, &f64)| match *gflops > 0.0 {
                true => flops / calibration.expected(ModelledCall { flops: *flops, time: flops / gflops }),
                false => 0.0,
            };
            row.iter().zip(&flops).map(expected).collect()
        };
        candidates.iter().zip(analytic).map(row).collect()
    }

    fn learns(&self) -> bool {
        true
    }

    /// Trains anew on all that was seen so far, of any number of nests, once it is enough.
    fn update(&mut self, seen: &[Observed<'_>]) {
        seen.iter().for_each(|observed| self.keep(observed));
        for sample in self.samples.iter().filter(|sample| sample.gflops > 0.0) {
            let Some(point) = self.nests.get_mut(&sample.nest).and_then(|points| points.get_mut(sample.point)) else {
                continue;
            };
            point.measured = point.measured.max(sample.gflops);
            point.analytic = point.analytic.max(sample.analytic);
        }
        let at = |sample: &Sample| self.nests[&sample.nest][sample.point].clone();
        let scaled = |sample: &Sample| at(sample).measured > 0.0 && at(sample).analytic > 0.0;
        let known: Vec<(&Sample, Point)> = self.samples.iter().filter(|s| scaled(s)).map(|s| (s, at(s))).collect();
        if known.iter().filter(|(sample, _)| sample.point == 0).count() < FEWEST {
            return;
        }
        let pack = Pack::of(known.iter().map(|(sample, _)| sample.features.len()));
        let labels: Vec<f32> = known.iter().map(|(sample, point)| (sample.gflops / point.measured) as f32).collect();
        let margins: Vec<f32> = known.iter().map(|(sample, point)| (sample.analytic / point.analytic) as f32).collect();
        let margins = pack.spread(&margins);
        let flat: Vec<f32> = known.iter().flat_map(|(sample, _)| sample.features.iter().flatten()).copied().collect();
        self.trees = Some(Trees::train(features::COUNT, &flat, &pack, &labels, &margins, &Growing::default()));
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::machine::CpuTarget;
    use crate::sketch::Space;
    use crate::sketch::rules::CustomRules;
    use crate::testing::dense;

    const SHAPES: [[i64; 3]; 3] = [[64, 768, 768], [384, 768, 768], [1000, 768, 768]];

    struct Drawn {
        def: KernelDef,
        target: Target,
        candidates: Vec<Lowered>,
        instances: Vec<Vec<i64>>,
    }

    fn drawn(count: usize) -> Drawn {
        let def = dense();
        let target = Target::Cpu(CpuTarget::detect("x86-64-v3").unwrap());
        let instances: Vec<Vec<i64>> = SHAPES.iter().map(|shape| shape.to_vec()).collect();
        let space = Space::generate(&def, target.clone(), &instances, &CustomRules::default()).unwrap();
        let sampler = space.sampler().unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let draw = |_| space.apply(&sampler.sample(&mut rng)).ok();
        Drawn { candidates: (0..count).filter_map(draw).collect(), def, target, instances }
    }

    /// A machine that the analytic model is wrong about: what is read again and again where sums are computed, it reads again. GFLOP/s at
    /// each instance.
    fn true_row(drawn: &Drawn, candidate: &Lowered) -> Vec<f64> {
        let analytic = Analytic { target: drawn.target.clone() };
        let gflops = analytic.predict(&drawn.def, &[candidate], &drawn.instances, 1);
        let rows = rows(candidate, &SHAPES[2], 1);
        let names = features::names();
        let at = |name: &str| names.iter().position(|known| known == name).unwrap();
        let main = rows.iter().max_by(|a, b| a[at("float_addsub")].total_cmp(&b[at("float_addsub")])).unwrap();
        let wrong = 1.0 + f64::from(main[at("B0.reuse_ct")] + main[at("B1.reuse_ct")]);
        gflops[0].iter().map(|gflops| gflops / wrong.powi(2)).collect()
    }

    fn observed<'a>(drawn: &'a Drawn, candidates: &'a [Lowered]) -> Vec<Observed<'a>> {
        let of = |candidate: &'a Lowered| {
            drawn.instances.iter().zip(true_row(drawn, candidate)).map(move |(instance, gflops)| Observed {
                def: &drawn.def,
                candidate,
                instance,
                units: 1,
                gflops: Some(gflops),
            })
        };
        candidates.iter().flat_map(of).collect()
    }

    #[test]
    fn what_was_measured_corrects_the_analytic_model() {
        let drawn = drawn(240);
        let (seen, unseen) = drawn.candidates.split_at(160);
        let mut model = Learned::new(drawn.target.clone(), None);
        let unseen: Vec<&Lowered> = unseen.iter().collect();
        let predict = |model: &Learned| model.predict(&drawn.def, &unseen, &drawn.instances, 1);
        let before = predict(&model);
        let analytic = Analytic { target: drawn.target.clone() };
        assert_eq!(before, analytic.predict(&drawn.def, &unseen, &drawn.instances, 1));

        model.update(&observed(&drawn, seen));
        let after = predict(&model);
        assert_eq!((after.len(), after[0].len()), (unseen.len(), drawn.instances.len()));
        // The error at the largest instance, which is no point, relative to the best.
        let error = |candidates: &[&Lowered], predicted: &[Vec<f64>]| {
            let truth: Vec<f64> = candidates.iter().map(|candidate| true_row(&drawn, candidate)[2]).collect();
            let best = truth.iter().copied().fold(0.0, f64::max);
            let squares: f64 = predicted.iter().zip(&truth).map(|(row, truth)| ((row[2] - truth) / best).powi(2)).sum();
            (squares / candidates.len() as f64).sqrt()
        };
        let (before, corrected) = (error(&unseen, &before), error(&unseen, &after));
        assert!(corrected < 0.2 && corrected < 0.2 * before, "{before} {corrected}");
        let seen_ones: Vec<&Lowered> = seen.iter().collect();
        let fitted = error(&seen_ones, &model.predict(&drawn.def, &seen_ones, &drawn.instances, 1));
        assert!(fitted < corrected, "what was seen is known better: {fitted} {corrected}");
        // The same was seen: the same trees, on any number of threads.
        let mut again = Learned::new(drawn.target.clone(), None);
        again.update(&observed(&drawn, seen));
        assert_eq!(again.trees(), model.trees());
    }

    #[test]
    fn what_failed_is_put_last_and_nothing_is_learned_from_nothing() {
        let drawn = drawn(60);
        let mut seen = observed(&drawn, &drawn.candidates);
        let mut rates: Vec<f64> = drawn.candidates.iter().map(|candidate| true_row(&drawn, candidate)[2]).collect();
        rates.sort_by(f64::total_cmp);
        let slow = |candidate: &Lowered| true_row(&drawn, candidate)[2] < rates[rates.len() / 2];
        let failed = drawn.candidates.iter().filter(|candidate| slow(candidate)).count();
        assert!(failed > 5 && failed < 55, "{failed}");
        seen.iter_mut().filter(|observed| slow(observed.candidate)).for_each(|observed| observed.gflops = None);
        let mut model = Learned::new(drawn.target.clone(), None);
        model.update(&[]);
        // Three figures of each.
        model.update(&seen[..3 * (FEWEST - 1)]);
        assert!(model.trees().is_none(), "too few");
        model.update(&seen);
        let all: Vec<&Lowered> = drawn.candidates.iter().collect();
        let predicted = model.predict(&drawn.def, &all, &drawn.instances, 1);
        let mean = |failed: bool| {
            let rows: Vec<f64> =
                all.iter().zip(&predicted).filter(|(c, _)| slow(c) == failed).map(|(_, row)| row[2]).collect();
            rows.iter().sum::<f64>() / rows.len() as f64
        };
        assert!(mean(true) < 0.7 * mean(false), "{} {}", mean(true), mean(false));
    }
}
