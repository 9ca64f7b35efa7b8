//! From what a search on a GPU measured to a small set of micro-kernels and the tree between them.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;

use super::select::{Scores, select};
use super::{FORMAT, Instance, Label, Measurement, Named, Provenance, Tree, Tuned, today, train};
use crate::Result;
use crate::config::Config;
use crate::cost_model::cuda::Profile;
use crate::search::{CudaCandidate, Point};
use crate::target::cuda::{ComputeCapability, DeviceLimits};

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
        let profile = Profile::of(self.def, &of.blocked, &of.built.unit)?;
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
