//! From what a search on a GPU measured to a small set of micro-kernels and the tree between them.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;

use super::select::{Scores, select};
use super::{FORMAT, Instance, Label, Measurement, Named, Provenance, Tree, Tuned, today, train};
use crate::Result;
use crate::config::Config;
use crate::cost_model::cuda::Profile;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::search::{CudaCandidate, Point};

/// The micro-kernels of a kernel on a device, by what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// For each instance the candidate's position.
    pub picks: Vec<usize>,
    /// The same for every shape, by names.
    pub tree: Tree,
}

/// Picks among candidates, of which the first is the default.
///
/// As few as possible that are within `tolerance` of the best of each instance, and nowhere slower than the default; where
/// nothing was measured, the default.
///
/// # Errors
/// If there is no instance.
pub fn pick(def: &KernelDef, points: &[Point], candidates: &[CudaCandidate], tolerance: f64) -> Result<Picked> {
    let scores: Vec<Vec<f64>> =
        candidates.iter().map(|c| (0..points.len()).map(|point| c.score(point)).collect()).collect();
    let weights: Vec<f64> = points.iter().map(|point| point.weight).collect();
    let selected = select(Scores { scores: &scores, weights: &weights, tolerance });
    let picks: Vec<usize> =
        selected.into_iter().enumerate().map(|(point, pick)| not_slower(&scores, point, pick)).collect();
    let names: Vec<String> = picks.iter().map(|pick| candidates[*pick].blocked.name()).collect();
    // Different workload instances may have one shape, and then one micro-kernel: the first one's.
    let mut labels: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (point, name) in points.iter().zip(&names) {
        labels.entry(&point.instance.shape).or_insert(name);
    }
    let labels: Vec<Label<'_>> = labels.into_iter().collect();
    Ok(Picked { tree: train(&Config::shape_vars(def), &labels)?, picks })
}

/// The pick, or the default where that is faster.
fn not_slower(scores: &[Vec<f64>], point: usize, pick: Option<usize>) -> usize {
    pick.filter(|pick| scores[*pick][point] >= scores[0][point]).unwrap_or(0)
}

/// What was tuned, for what, on what.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The kernel.
    pub def: &'a KernelDef,
    /// The device's capability.
    pub capability: ComputeCapability,
    /// What its maker calls it.
    pub device: &'a str,
    /// [`CudaConfig::space_hash`](crate::config::CudaConfig::space_hash); empty if there is no config.
    pub space_hash: &'a str,
    /// The compiler with its version.
    pub compiler: &'a str,
}

impl Measured<'_> {
    /// The file of the winners.
    ///
    /// # Errors
    /// If the limits of the device are not known.
    pub fn tuned(&self, points: &[Point], candidates: &[CudaCandidate], picked: &Picked) -> Result<Tuned> {
        let vars = Config::shape_vars(self.def);
        let instance = |(point, pick): (&Point, &usize)| {
            let shape = &point.instance.shape;
            Ok(Instance {
                wkl: point.wkl.clone(),
                shape: vars.iter().cloned().zip(shape.iter().copied()).collect(),
                micro_kernel: picked.tree.pick(&vars, shape).to_owned(),
                measurements: self.measurement(point, &candidates[*pick], points)?.into_iter().collect(),
            })
        };
        let used = candidates.iter().filter(|c| picked.tree.leaves().any(|leaf| leaf == c.blocked.name()));
        Ok(Tuned {
            format: FORMAT,
            kernel: self.def.name.clone(),
            target: self.capability.to_string(),
            provenance: Provenance {
                source_hash: format!("{:016x}", self.def.source_hash()),
                space_hash: self.space_hash.to_owned(),
                cpu: String::new(),
                device: self.device.to_owned(),
                features: Vec::new(),
                compiler: self.compiler.to_owned(),
                date: today(),
            },
            micro_kernels: used.map(|c| Named::new(c.blocked.clone())).collect(),
            tree: picked.tree.clone(),
            instances: points.iter().zip(&picked.picks).map(instance).collect::<Result<_>>()?,
        })
    }

    /// What was measured of a candidate at a point, beside what the cost model expects there.
    fn measurement(&self, point: &Point, of: &CudaCandidate, points: &[Point]) -> Result<Option<Measurement>> {
        let at = points.iter().position(|other| std::ptr::eq(other, point));
        let Some(gflops) = at.and_then(|at| of.gflops[at]) else { return Ok(None) };
        let limits = DeviceLimits::of(self.capability)?;
        let profile = Profile::of(self.def, &of.blocked, limits, &of.built.unit)?;
        let resources = profile.resources(limits, (!of.built.report.is_empty()).then_some(&of.built.report));
        let seconds = profile.predict(self.def, limits, &resources, &point.instance.shape).seconds;
        Ok(Some(Measurement {
            threads: 0,
            gflops_predicted: point.instance.flops / seconds / 1e9,
            gflops_measured: gflops.median,
            gflops_iqr: gflops.iqr,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::cuda::translation_unit;
    use crate::dispatch::Expected;
    use crate::measure::cuda::Built;
    use crate::measure::{Failure, Instance as Workload, Summary};
    use crate::sketch::Blocked;

    const NEST: &str = "#[dynamic_kernel]
        pub fn product(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc;
            } }
        }";

    fn def() -> KernelDef {
        dietcode_syntax::scan(NEST).unwrap()[0].parse().unwrap()
    }

    fn capability() -> ComputeCapability {
        "sm_90".parse().unwrap()
    }

    fn points(def: &KernelDef) -> Vec<Point> {
        let point = |m: i64| {
            let instance = Workload::of(def, &[m, 64, 32]).unwrap();
            Point { wkl: [("M".to_owned(), m)].into(), weight: 1.0, instance }
        };
        [16, 512].map(point).into()
    }

    /// A candidate with so many threads along the rows, and these GFLOP/s.
    fn candidate(def: &KernelDef, threads: i64, gflops: [Option<f64>; 2]) -> CudaCandidate {
        let blocked = Blocked { thread: [("i".to_owned(), threads)].into(), ..Blocked::default() };
        let unit = translation_unit(def, &blocked, DeviceLimits::of(capability()).unwrap()).unwrap();
        let built = Built { unit, image: "image".into(), report: vec![], toolchain: "nvcc 13.0.88".into() };
        let gflops = gflops.map(|gflops| gflops.map(|median| Summary { median, iqr: 1.0, repeats: 9 })).into();
        CudaCandidate { blocked, built, gflops, failure: None }
    }

    #[test]
    fn no_pick_is_slower_than_the_default_or_has_failed() {
        let def = def();
        let points = points(&def);
        let picks = |candidates: &[CudaCandidate]| pick(&def, &points, candidates, 0.02).unwrap().picks;
        let default = candidate(&def, 32, [Some(100.0), Some(100.0)]);
        let large = candidate(&def, 64, [Some(99.0), Some(300.0)]);
        assert_eq!(picks(&[default.clone(), large.clone()]), [0, 1], "also where one alone would be close enough");
        let failed = CudaCandidate { failure: Some(Failure::Timeout { seconds: 1.0 }), ..large };
        assert_eq!(picks(&[default, failed]), [0, 0]);
        assert_eq!(picks(&[candidate(&def, 32, [None, None])]), [0, 0]);
    }

    #[test]
    fn the_file_of_winners_is_one_that_a_build_reads() {
        let def = def();
        let points = points(&def);
        let candidates =
            [candidate(&def, 32, [Some(100.0), Some(100.0)]), candidate(&def, 64, [Some(50.0), Some(300.0)])];
        let picked = pick(&def, &points, &candidates, 0.02).unwrap();
        let measured =
            Measured { def: &def, capability: capability(), device: "H", space_hash: "s", compiler: "13.0.88" };
        let tuned = measured.tuned(&points, &candidates, &picked).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        tuned.save(file.path()).unwrap();
        let expected = Expected {
            kernel: "product",
            target: "sm_90",
            shape_vars: &Config::shape_vars(&def),
            source_hash: def.source_hash(),
            space_hash: "s",
            cpu: "",
            features: &[],
            compiler: Some("13.0.88"),
        };
        assert_eq!(Tuned::load(file.path(), &expected).unwrap(), tuned);
        assert_eq!((tuned.micro_kernels.len(), &*tuned.provenance.device), (2, "H"));
        let seen = &tuned.instances[1].measurements[0];
        assert!(seen.gflops_measured == 300.0 && seen.gflops_predicted > 0.0, "{seen:?}");
    }
}
