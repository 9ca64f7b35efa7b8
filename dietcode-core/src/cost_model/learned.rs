//! The learned model: a micro-kernel's rate from its features, an instance's share of it from occupancy and padding.
//!
//! ```text
//! GFLOP/s[micro-kernel][instance] = score · best rate of the nest · units · f_occupancy / f_padding
//! score                           = base margin + Σ over stores of what the trees say of their features
//! ```
//!
//! A *rate* is f_MK, GFLOP/s per core or multiprocessor on whole tiles. The base margin is the analytic model's rate relative to the
//! best one that it had of a measured micro-kernel of the nest, and the trees learn what it leaves ([`pack_sum`](super::pack_sum)). Of a nest of which
//! nothing was measured, the analytic model's rates are scaled by what the trees say of others, relative to a margin of 1.
//!
//! Features are those of the grid at which a micro-kernel is measured, at the largest of the instances that were seen or asked for: one set for
//! all of them.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;
use rayon::prelude::*;

use super::pack_sum::Pack;
use super::trees::{Growing, Trees};
use super::{Adaptation, Analytic, CostModel, Observation, Observed, features, rate};
use crate::instance::Instance;
use crate::machine::Target;
use crate::sketch::Lowered;

/// The model. Without trees it is the analytic one.
#[derive(Clone, Debug)]
pub struct Learned {
    analytic: Analytic,
    trees: Option<Trees>,
    /// What was measured of each nest, by the hash of its source.
    nests: BTreeMap<u64, Nest>,
    /// The micro-kernels that were seen, in the order in which they were.
    programs: Vec<Program>,
}

/// The scales of a nest: its best rates, measured and by the analytic model of what was measured.
#[derive(Clone, Debug, PartialEq)]
struct Nest {
    measured: f64,
    analytic: f64,
    /// The largest instance that was seen first.
    shape: Vec<i64>,
}

/// A micro-kernel that was measured on so many cores or multiprocessors, or failed.
#[derive(Clone, Debug)]
struct Program {
    nest: u64,
    hash: [u8; 32],
    units: usize,
    features: Vec<[f32; features::COUNT]>,
    analytic: f64,
    observations: Vec<Observation>,
    failed: bool,
}

impl Program {
    /// The median of what its figures imply; none: it failed.
    fn rate(&self) -> Option<f64> {
        rate(&self.observations).filter(|_| !self.failed)
    }
}

impl Learned {
    /// For a target; with trees that were trained before, if there are any.
    pub fn new(target: Target, trees: Option<Trees>) -> Learned {
        Learned { analytic: Analytic { target }, trees, nests: BTreeMap::new(), programs: Vec::new() }
    }

    /// The trees, to be written.
    pub fn trees(&self) -> Option<&Trees> {
        self.trees.as_ref()
    }

    /// The analytic model's rate of each candidate at a shape.
    fn analytic_rates(&self, def: &KernelDef, candidates: &[&Lowered], shape: &[i64], units: usize) -> Vec<f64> {
        let gflops = self.analytic.predict(def, candidates, &[shape.to_vec()], units);
        let share = |candidate: &Lowered| Adaptation::of_schedule(candidate.schedule(), shape, units).throughput(1.0);
        candidates.iter().zip(gflops).map(|(candidate, row)| row[0] / share(candidate)).collect()
    }

    /// What the trees add to the margin of a candidate.
    fn residual(&self, candidate: &Lowered, shape: &[i64], units: usize) -> f64 {
        let Some(trees) = &self.trees else { return 0.0 };
        rows(candidate, shape, units).iter().map(|row| f64::from(trees.predict(row))).sum()
    }
}

/// A row of features for each store of a candidate's kernels.
pub fn rows(candidate: &Lowered, shape: &[i64], units: usize) -> Vec<[f32; features::COUNT]> {
    let units = i64::try_from(units).unwrap_or(i64::MAX);
    let of_nest = |nest| features::stores(nest, shape, Some(units));
    candidate.nests.iter().flat_map(of_nest).map(|(_, row)| row).collect()
}

/// The instance that takes most operations; of none, no values.
fn largest<'a>(def: &KernelDef, instances: impl Iterator<Item = &'a [i64]>) -> &'a [i64] {
    let flops = |shape: &[i64]| Instance::of(def, shape).map_or(0.0, |instance| instance.flops);
    instances.max_by(|a, b| flops(a).total_cmp(&flops(b)).then_with(|| a.cmp(b))).unwrap_or_default()
}

impl CostModel for Learned {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn predict(&self, def: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>> {
        if self.trees.is_none() || instances.is_empty() {
            return self.analytic.predict(def, candidates, instances, units);
        }
        let nest = self.nests.get(&def.source_hash()).filter(|nest| nest.measured > 0.0 && nest.analytic > 0.0);
        let asked = || largest(def, instances.iter().map(Vec::as_slice));
        let shape = nest.map_or_else(asked, |nest| &nest.shape);
        let rates = self.analytic_rates(def, candidates, shape, units);
        let row = |(candidate, analytic): (&&Lowered, &f64)| {
            let residual = self.residual(candidate, shape, units);
            // What the analytic model says cannot run, cannot; a rate of what can is above 0.
            let rate = match nest {
                _ if *analytic <= 0.0 => 0.0,
                Some(nest) => (analytic / nest.analytic + residual).max(LEAST) * nest.measured,
                None => analytic * (1.0 + residual).max(LEAST),
            };
            let share = |shape: &Vec<i64>| Adaptation::of_schedule(candidate.schedule(), shape, units).throughput(rate);
            instances.iter().map(share).collect()
        };
        candidates.par_iter().zip(&rates).map(row).collect()
    }

    /// Trains anew on all that was seen so far, of any number of nests.
    fn update(&mut self, seen: &[Observed<'_>]) {
        for observed in seen {
            self.keep(observed, seen);
        }
        for program in &self.programs {
            if let (Some(nest), Some(measured)) = (self.nests.get_mut(&program.nest), program.rate()) {
                nest.measured = nest.measured.max(measured);
                nest.analytic = nest.analytic.max(program.analytic);
            }
        }
        let scaled = |program: &Program| {
            self.nests.get(&program.nest).filter(|nest| nest.measured > 0.0 && nest.analytic > 0.0).cloned()
        };
        let known = self.programs.iter().filter_map(|program| Some((program, scaled(program)?)));
        let known: Vec<(&Program, Nest)> = known.collect();
        let pack = Pack::of(known.iter().map(|(program, _)| program.features.len()));
        if pack.rows() == 0 {
            return;
        }
        let label = |(program, nest): &(&Program, Nest)| program.rate().map_or(0.0, |rate| rate / nest.measured) as f32;
        let labels: Vec<f32> = known.iter().map(label).collect();
        let margin = |(program, nest): &(&Program, Nest)| (program.analytic / nest.analytic) as f32;
        let margins = pack.spread(&known.iter().map(margin).collect::<Vec<f32>>());
        let flat: Vec<f32> = known.iter().flat_map(|(program, _)| program.features.iter().flatten()).copied().collect();
        self.trees = Some(Trees::train(features::COUNT, &flat, &pack, &labels, &margins, &Growing::default()));
    }
}

impl Learned {
    /// Adds what was seen of one micro-kernel on an instance to what is known of it.
    fn keep(&mut self, observed: &Observed<'_>, all: &[Observed<'_>]) {
        let Observed { def, candidate, instance, units, gflops } = *observed;
        let name = def.source_hash();
        let same = |program: &Program| (program.nest, program.hash, program.units) == (name, candidate.hash, units);
        let at = self.programs.iter().position(same).unwrap_or_else(|| {
            let shape = || largest(def, all.iter().filter(|other| other.def.source_hash() == name).map(|o| o.instance));
            let new = || Nest { measured: 0.0, analytic: 0.0, shape: shape().to_vec() };
            let shape = self.nests.entry(name).or_insert_with(new).shape.clone();
            let analytic = self.analytic_rates(def, &[candidate], &shape, units)[0];
            let features = rows(candidate, &shape, units);
            let observations = Vec::new();
            self.programs.push(Program {
                nest: name,
                hash: candidate.hash,
                units,
                features,
                analytic,
                observations,
                failed: false,
            });
            self.programs.len() - 1
        });
        match gflops {
            None => self.programs[at].failed = true,
            Some(gflops) => {
                let adaptation = Adaptation::of_schedule(candidate.schedule(), instance, units);
                self.programs[at].observations.push(Observation { adaptation, gflops });
            }
        }
    }
}

/// The least score of what can run, and the least factor of its rate.
const LEAST: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use dietcode_syntax::KernelDef;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::cost_model::dense::DENSE;
    use crate::machine::CpuTarget;
    use crate::sketch::Space;
    use crate::sketch::rules::CustomRules;

    const SHAPES: [[i64; 3]; 3] = [[64, 768, 768], [384, 768, 768], [1000, 768, 768]];

    struct Drawn {
        def: KernelDef,
        target: Target,
        candidates: Vec<Lowered>,
        instances: Vec<Vec<i64>>,
    }

    fn drawn(count: usize) -> Drawn {
        let def: KernelDef = dietcode_syntax::scan(DENSE).unwrap()[0].parse().unwrap();
        let target = Target::Cpu(CpuTarget::detect("x86-64-v3").unwrap());
        let instances: Vec<Vec<i64>> = SHAPES.iter().map(|shape| shape.to_vec()).collect();
        let space = Space::generate(&def, target.clone(), &instances, &CustomRules::default()).unwrap();
        let sampler = space.sampler().unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let draw = |_| space.apply(&sampler.sample(&mut rng)).ok();
        Drawn { candidates: (0..count).filter_map(draw).collect(), def, target, instances }
    }

    /// A machine that the analytic model is wrong about: what is read again and again where sums are computed, it reads again.
    fn true_rate(drawn: &Drawn, candidate: &Lowered) -> f64 {
        let shape = SHAPES[2].to_vec();
        let analytic = Analytic { target: drawn.target.clone() };
        let gflops = analytic.predict(&drawn.def, &[candidate], std::slice::from_ref(&shape), 1)[0][0];
        let rows = rows(candidate, &shape, 1);
        let names = features::names();
        let at = |name: &str| names.iter().position(|known| known == name).unwrap();
        let main = rows.iter().max_by(|a, b| a[at("float_addsub")].total_cmp(&b[at("float_addsub")])).unwrap();
        let wrong = 1.0 + f64::from(main[at("B0.reuse_ct")] + main[at("B1.reuse_ct")]);
        gflops / Adaptation::of_schedule(candidate.schedule(), &shape, 1).throughput(1.0) / wrong.powi(2)
    }

    fn observed<'a>(drawn: &'a Drawn, candidates: &'a [Lowered]) -> Vec<Observed<'a>> {
        let of = |candidate: &'a Lowered| {
            drawn.instances.iter().map(move |instance| {
                let share = Adaptation::of_schedule(candidate.schedule(), instance, 1);
                let gflops = Some(share.throughput(true_rate(drawn, candidate)));
                Observed { def: &drawn.def, candidate, instance, units: 1, gflops }
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
        // The error of rates, relative to the best.
        let error = |candidates: &[&Lowered], predicted: &[Vec<f64>]| {
            let share =
                |candidate: &Lowered| Adaptation::of_schedule(candidate.schedule(), &SHAPES[2], 1).throughput(1.0);
            let truth: Vec<f64> = candidates.iter().map(|candidate| true_rate(&drawn, candidate)).collect();
            let best = truth.iter().copied().fold(0.0, f64::max);
            let rates = candidates.iter().zip(predicted).map(|(candidate, row)| row[2] / share(candidate));
            let squares: f64 = rates.zip(&truth).map(|(rate, truth)| ((rate - truth) / best).powi(2)).sum();
            (squares / candidates.len() as f64).sqrt()
        };
        let (before, corrected) = (error(&unseen, &before), error(&unseen, &after));
        assert!(corrected < 0.2 && corrected < 0.2 * before, "{before} {corrected}");
        let seen_ones: Vec<&Lowered> = seen.iter().collect();
        let fitted = error(&seen_ones, &model.predict(&drawn.def, &seen_ones, &drawn.instances, 1));
        assert!(fitted < corrected, "what was seen is known better: {fitted} {corrected}");
        // Instances differ by occupancy and padding alone, and figures are of the measured size.
        for (candidate, row) in unseen.iter().zip(&after) {
            let share = |at: usize| Adaptation::of_schedule(candidate.schedule(), &SHAPES[at], 1).throughput(1.0);
            let rates: Vec<f64> = (0..3).map(|at| row[at] / share(at)).collect();
            assert!(rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 1e-9), "{rates:?}");
            assert!(rates[0] > 0.0 && rates[0] < 200.0, "{rates:?}");
        }
        // The same was seen: the same trees, on any number of threads.
        let mut again = Learned::new(drawn.target.clone(), None);
        again.update(&observed(&drawn, seen));
        assert_eq!(again.trees(), model.trees());
    }

    #[test]
    fn what_failed_is_put_last_and_nothing_is_learned_from_nothing() {
        let drawn = drawn(60);
        let mut seen = observed(&drawn, &drawn.candidates);
        let mut rates: Vec<f64> = drawn.candidates.iter().map(|candidate| true_rate(&drawn, candidate)).collect();
        rates.sort_by(f64::total_cmp);
        let slow = |candidate: &Lowered| true_rate(&drawn, candidate) < rates[rates.len() / 2];
        let failed = drawn.candidates.iter().filter(|candidate| slow(candidate)).count();
        assert!(failed > 5 && failed < 55, "{failed}");
        seen.iter_mut().filter(|observed| slow(observed.candidate)).for_each(|observed| observed.gflops = None);
        let mut model = Learned::new(drawn.target.clone(), None);
        model.update(&[]);
        assert!(model.trees().is_none());
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
