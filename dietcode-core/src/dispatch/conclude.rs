//! From what a search found to the tuned file: select, verify, train, teach.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use dietcode_syntax::KernelDef;

use super::foresee;
use super::grow::Label;
use super::select::{Scores, select};
use super::train::train;
use super::verify::{Verified, verify};
use super::{Instance, Measurement, Named, Provenance, Tree, Tuned};
use crate::config::{Config, WklInst};
use crate::cost_model::Adaptation;
use crate::machine::CpuTarget;
use crate::measure::{Baselines, CpuHarness, Unit};
use crate::search::{Budget, Candidate, Found, Point};
use crate::{Error, ErrorKind, Result, cpu_features};

/// The winners, and how they were found to be.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// What is written.
    pub tuned: Tuned,
    /// One entry per instance; `None` where the search was ended before it was verified.
    pub verified: Vec<Option<Verified>>,
}

/// What was searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    /// The config.
    pub config: &'a Config,
    /// The workload instances.
    pub points: &'a [Point],
    /// The numbers of threads.
    pub threads: &'a [usize],
    /// What came of it.
    pub found: &'a Found,
}

/// Selects, verifies each pick beside the baselines (`done` is told how many), trains the tree.
///
/// # Errors
///
/// If measuring is not possible at all, nothing was measured on any instance, or the default failed where the pick does
/// not stand.
pub fn conclude(
    lab: &mut CpuHarness,
    searched: Searched<'_>,
    baselines: &Baselines,
    budget: Budget<'_>,
    mut done: impl FnMut(usize),
) -> Result<Conclusion> {
    let Searched { config, points, threads, found } = searched;
    let mut picks = picks(found, points, config.search.tolerance);
    let mut verified = Vec::new();
    for (at, point) in points.iter().enumerate() {
        if budget.is_stopped() {
            verified.push(None);
            continue;
        }
        let pick = Some(picks[at]).filter(|pick| *pick != found.default[at]);
        let pick = pick.map(|pick| unit(lab, &found.candidates[pick])).transpose()?;
        let default = unit(lab, &found.candidates[found.default[at]])?;
        let seen = verify(lab, point, pick.as_ref(), &default, baselines, threads)?;
        if let Some(failure) = seen.failure() {
            let shape = &point.instance.shape;
            let why = format!(
                "`{}` at {shape:?}: neither the pick nor the default micro-kernel passed: {failure}",
                lab.def().name
            );
            return Err(Error::new(ErrorKind::Check, why));
        }
        if !seen.stands {
            picks[at] = found.default[at];
        }
        verified.push(Some(seen));
        done(at + 1);
    }
    let tuned = tuned(lab, searched, &picks, &verified)?;
    Ok(Conclusion { tuned, verified })
}

fn unit(lab: &CpuHarness, candidate: &Candidate) -> Result<Unit> {
    let what = || format!("`{}` of `{}`", candidate.micro_kernel.name(), lab.def().name);
    candidate.unit(lab).map_err(|failure| Error::new(ErrorKind::Failed, format!("{} {failure}", what())))
}

/// The selected micro-kernel of each instance; the default where none was measured.
fn picks(found: &Found, points: &[Point], tolerance: f64) -> Vec<usize> {
    let score = |candidate: &Candidate| (0..points.len()).map(|at| candidate.score(at)).collect();
    let scores: Vec<Vec<f64>> = found.candidates.iter().map(score).collect();
    let weights: Vec<f64> = points.iter().map(|p| p.weight).collect();
    let selected = select(Scores { scores: &scores, weights: &weights, tolerance });
    selected.into_iter().zip(&found.default).map(|(pick, default)| pick.unwrap_or(*default)).collect()
}

fn tuned(lab: &CpuHarness, searched: Searched<'_>, picks: &[usize], verified: &[Option<Verified>]) -> Result<Tuned> {
    let Searched { config, points, found, .. } = searched;
    let def = lab.def();
    let vars = Config::shape_vars(def);
    let names: Vec<String> = picks.iter().map(|pick| found.candidates[*pick].micro_kernel.name()).collect();
    // Different workload instances may have one shape, and then one micro-kernel: the first one's.
    let mut labels: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (point, name) in points.iter().zip(&names) {
        labels.entry(&point.instance.shape).or_insert(name);
    }
    let labels: Vec<(&[i64], &str)> = labels.into_iter().collect();
    let tree = taught(train(&vars, &labels)?, searched, lab, picks, &labels)?;
    if let Some((shape, name)) = labels.iter().find(|(shape, name)| tree.pick(&vars, shape) != *name) {
        return Err(Error::new(ErrorKind::Check, format!("the decision tree does not lead {shape:?} to {name}")));
    }
    let instance = |at: usize| {
        let point = &points[at];
        Instance {
            wkl: point.wkl.clone(),
            shape: vars.iter().cloned().zip(point.instance.shape.iter().copied()).collect(),
            micro_kernel: tree.pick(&vars, &point.instance.shape).to_owned(),
            measurements: measurements(searched, &found.candidates[picks[at]], at, verified[at].as_ref()),
        }
    };
    let instances = (0..points.len()).map(instance).collect();
    let used = found.candidates.iter().filter(|c| tree.leaves().any(|leaf| leaf == c.micro_kernel.name()));
    Ok(Tuned {
        format: super::FORMAT,
        kernel: def.name.clone(),
        target: super::CPU.into(),
        provenance: provenance(def, config, lab.target()),
        micro_kernels: used.map(|c| Named::new(&c.micro_kernel)).collect(),
        tree,
        instances,
    })
}

/// The tree of the measured shapes, taught what is foreseen of the winners at shapes around them.
fn taught(tree: Tree, searched: Searched<'_>, lab: &CpuHarness, picks: &[usize], labels: &[Label<'_>]) -> Result<Tree> {
    let Searched { config, points, threads, found } = searched;
    let vars = Config::shape_vars(lab.def());
    let instances: Vec<WklInst> = points.iter().map(|point| point.wkl.clone()).collect();
    let winners: BTreeMap<String, usize> =
        picks.iter().map(|at| (found.candidates[*at].micro_kernel.name(), *at)).collect();
    let throughput = |name: &str, shape: &[i64]| {
        let Some(winner) = winners.get(name).map(|at| &found.candidates[*at]) else { return 0.0 };
        let at = |(n, units): (usize, &usize)| {
            let adaptation = Adaptation::of_schedule(&winner.schedule, shape, *units);
            adaptation.throughput(winner.rate(n).unwrap_or(0.0)).ln()
        };
        (threads.iter().enumerate().map(at).sum::<f64>() / threads.len() as f64).exp()
    };
    let names: Vec<String> = winners.keys().cloned().collect();
    foresee::taught(tree, (config, &vars), &instances, labels, &names, throughput)
}

/// What was predicted and measured of an instance's micro-kernel; nothing where it was not measured.
fn measurements(
    searched: Searched<'_>,
    candidate: &Candidate,
    at: usize,
    verified: Option<&Verified>,
) -> Vec<Measurement> {
    let measurement = |(n, threads): (usize, &usize)| {
        let sample = verified.and_then(|v| v.comparisons[n].sample(v.taken()));
        let seen = sample.map(|s| s.gflops(searched.points[at].instance.flops));
        Some(Measurement {
            threads: *threads as i64,
            gflops_predicted: rounded(candidate.adaptations[n][at].throughput(candidate.rate(n).unwrap_or(0.0))),
            gflops_measured: rounded(seen.map(|s| s.median).or(candidate.gflops[n][at])?),
            gflops_iqr: rounded(seen.map_or(0.0, |s| s.iqr)),
        })
    };
    searched.threads.iter().enumerate().filter_map(measurement).collect()
}

/// To what a person reads, and what comes back the same from a file.
fn rounded(gflops: f64) -> f64 {
    (gflops * 1000.0).round() / 1000.0
}

/// Where the winners on a CPU come from: measured today.
pub fn provenance(def: &KernelDef, config: &Config, target: &CpuTarget) -> Provenance {
    Provenance {
        source_hash: format!("{:016x}", def.source_hash()),
        space_hash: config.space_hash(),
        cpu: target.model.clone(),
        device: String::new(),
        features: cpu_features::names(target.features).into_iter().map(str::to_owned).collect(),
        compiler: target.compiler.clone(),
        date: today(),
    }
}

/// The day in UTC, as YYYY-MM-DD.
pub fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400);
    let (year, month, day) = civil(days as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day counted from 1970-01-01 (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, date) in
            [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (11_017, (2000, 3, 1)), (20_453, (2025, 12, 31))]
        {
            assert_eq!(civil(days), date);
        }
    }
}
