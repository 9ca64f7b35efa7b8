//! Chooses, has the chosen compiled, and chooses again.

use std::collections::{BTreeMap, BTreeSet};

use dietcode_syntax::KernelDef;

use super::candidate::Candidate;
use super::listed::Listed;
use super::report::{DeviceReport, InstanceReport, LaunchResources, Report, Source};
use super::tuned;
use crate::codegen::registry::{Capability, Decision};
use crate::config::Config;
use crate::dispatch::fit::{Known, fit};
use crate::dispatch::grow::variables;
use crate::dispatch::sampled::sampled;
use crate::dispatch::winners::resolve;
use crate::dispatch::{Gap, Label, Miss, Scores, Tree, select};
use crate::ir::Program;
use crate::machine::cuda::{ComputeCapability, DeviceLimits, KernelReport, blocks_per_sm};
use crate::sketch::{Blocked, MicroKernel};
use crate::{Error, Result};

/// A kernel's micro-kernels for some devices, while they are being chosen.
#[derive(Debug)]
pub struct Selection {
    def: KernelDef,
    program: Program,
    vars: Vec<String>,
    /// The config's instances.
    shapes: Vec<Vec<i64>>,
    weights: Vec<f64>,
    /// Shapes that stand for their range, which get predicted labels.
    sampled: Vec<Vec<i64>>,
    tolerance: f64,
    devices: Vec<&'static DeviceLimits>,
    candidates: Vec<Candidate>,
    /// The trees of tuned files.
    tuned: BTreeMap<ComputeCapability, Tree>,
    from_config: bool,
    /// The tuned files that were not used, and why.
    pub misses: Vec<Miss>,
    /// What those that are used were not made for.
    pub gaps: Vec<Gap>,
    /// What the config lists for devices on which nothing of it is valid.
    pub unusable: Vec<Listed>,
}

/// The micro-kernels that were chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The rows of the kernel's table.
    pub micro_kernels: Vec<Candidate>,
    /// For each device the way to a row, oldest first.
    pub decisions: Vec<(Capability, Decision)>,
    /// Why they were chosen.
    pub report: Report,
}

impl Selection {
    /// Starts to choose micro-kernels of a nest and its program for these devices; `compiler` is nvcc's version, if there is one, for the
    /// provenance of tuned files.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if an instance of the config is none of the nest; [`crate::ErrorKind::Unavailable`] if no micro-kernel
    /// is possible at all.
    pub fn new(
        def: &KernelDef,
        program: &Program,
        config: Option<&Config>,
        capabilities: &[ComputeCapability],
        compiler: Option<&str>,
    ) -> Result<Selection> {
        let capabilities: BTreeSet<ComputeCapability> = capabilities.iter().copied().collect();
        let devices = capabilities.into_iter().map(DeviceLimits::of).collect::<Result<Vec<_>>>()?;
        let mut selection = Selection {
            def: def.clone(),
            program: program.clone(),
            vars: Config::shape_vars(def),
            shapes: Vec::new(),
            weights: Vec::new(),
            sampled: Vec::new(),
            tolerance: 0.0,
            devices,
            candidates: Vec::new(),
            tuned: BTreeMap::new(),
            from_config: false,
            misses: Vec::new(),
            gaps: Vec::new(),
            unusable: Vec::new(),
        };
        // The default comes first: of equals the first is chosen.
        for device in selection.devices.clone() {
            let default = Blocked::default_for(&selection.program, device);
            let default = default.and_then(|blocked| Some(blocked.micro_kernel(&selection.program, device).ok()?.0));
            selection.candidates_from(default);
        }
        if let Some(config) = config {
            selection.read(config, compiler)?;
        }
        match selection.devices.iter().find(|device| !selection.candidates.iter().any(|c| c.devices.contains(device))) {
            Some(device) => Err(selection.none_for(device)),
            None => Ok(selection),
        }
    }

    fn none_for(&self, device: &DeviceLimits) -> Error {
        let why = "its nest has no loop that blocks and threads could share, and its config names no micro-kernel";
        Error::unavailable(format!("found no micro-kernel of `{}` for {}: {why}", self.def.name, device.capability))
    }

    /// Takes in the instances, the candidates and the tuned files of a config.
    fn read(&mut self, config: &Config, compiler: Option<&str>) -> Result<()> {
        let shape = |wkl| config.shape_of(&self.vars, wkl);
        self.shapes = config.wkl_insts.iter().map(shape).collect::<Result<_>>()?;
        self.weights = config.weights.clone();
        self.sampled = sampled(config, &self.vars, &config.wkl_insts, |_| true).into_keys().collect();
        self.tolerance = config.search.tolerance;
        if config.cuda.is_none() {
            return Ok(());
        }
        for device in self.devices.clone() {
            self.read_tuned(config, device, compiler);
        }
        if self.devices.iter().any(|device| !self.tuned.contains_key(&device.capability)) {
            let before = self.candidates.len();
            let mut unusable = Vec::new();
            for device in self.devices.clone() {
                let Some(mut listed) = Listed::of(config, &self.program, device) else { continue };
                let valid = std::mem::take(&mut listed.valid);
                if valid.is_empty() && !self.tuned.contains_key(&device.capability) {
                    unusable.push((device, listed));
                }
                self.candidates_from(valid);
            }
            // What was made for another device may be valid there too.
            let serves = |device: &DeviceLimits| self.candidates[before..].iter().any(|c| c.devices.contains(&device));
            unusable.retain(|(device, _)| !serves(device));
            self.unusable = unusable.into_iter().map(|(_, listed)| listed).collect();
            self.from_config = self.candidates.len() > before;
        }
        Ok(())
    }

    fn read_tuned(&mut self, config: &Config, device: &'static DeviceLimits, compiler: Option<&str>) {
        match tuned::load(config, (&self.def, &self.program), device, compiler) {
            Ok((tuned, gap)) => {
                self.candidates_from(tuned.micro_kernels);
                self.gaps.extend(gap);
                self.tuned.insert(device.capability, tuned.tree);
            }
            Err(miss) => self.misses.push(miss),
        }
    }

    /// Adds those that are valid on any device, and whose trace is not there yet: names follow from it.
    fn candidates_from(&mut self, all: impl IntoIterator<Item = MicroKernel>) {
        for micro_kernel in all {
            if !self.candidates.iter().any(|candidate| candidate.name() == micro_kernel.name()) {
                let nest = (&self.def, &self.program);
                self.candidates.extend(Candidate::new(nest, micro_kernel, &self.devices));
            }
        }
    }

    /// What is chosen as things stand and was not compiled yet.
    pub fn wanted(&self) -> Vec<&Candidate> {
        let chosen = self.rows(&self.trees());
        chosen.into_iter().map(|at| &self.candidates[at]).filter(|candidate| candidate.reports.is_none()).collect()
    }

    /// Takes in what the compiler reported of a micro-kernel.
    pub fn learn(&mut self, name: &str, reports: Vec<KernelReport>) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.name() == name) {
            candidate.reports = Some(reports);
        }
    }

    /// The choice as things stand.
    pub fn finalize(&self) -> Choice {
        let trees = self.trees();
        let rows = self.rows(&trees);
        let names: Vec<&str> = rows.iter().map(|row| self.candidates[*row].name()).collect();
        let decision = |(device, tree): (&&'static DeviceLimits, &Tree)| {
            let ComputeCapability { major, minor } = device.capability;
            ((major, minor), resolve(tree, &names, &self.vars))
        };
        let report = |(device, tree): (&&'static DeviceLimits, &Tree)| self.report(device, tree);
        Choice {
            micro_kernels: rows.iter().map(|row| self.candidates[*row].clone()).collect(),
            decisions: self.devices.iter().zip(&trees).map(decision).collect(),
            report: Report {
                kernel: self.def.name.clone(),
                devices: self.devices.iter().zip(&trees).map(report).collect(),
            },
        }
    }

    /// The way to a micro-kernel on each device.
    fn trees(&self) -> Vec<Tree> {
        let tree = |device: &&'static DeviceLimits| {
            self.tuned.get(&device.capability).cloned().unwrap_or_else(|| self.predicted(device))
        };
        self.devices.iter().map(tree).collect()
    }

    /// The candidates at the leaves of all trees, each once, in the order of their first use.
    fn rows(&self, trees: &[Tree]) -> Vec<usize> {
        let mut rows = Vec::new();
        for leaf in trees.iter().flat_map(Tree::leaves) {
            let row = self.candidates.iter().position(|candidate| candidate.name() == leaf);
            rows.extend(row.filter(|row| !rows.contains(row)));
        }
        rows
    }

    /// The tree of what the model predicts.
    fn predicted(&self, device: &'static DeviceLimits) -> Tree {
        let usable: Vec<&Candidate> = self.candidates.iter().filter(|c| c.devices.contains(&device)).collect();
        let scores: Vec<Vec<f64>> = usable.iter().map(|c| self.scores(c, device)).collect();
        let scores = spilling_last(&usable, device, scores);
        let picks = select(Scores { scores: &scores, weights: &self.weights, tolerance: self.tolerance });
        let first = usable[0].name();
        let labels: Vec<Label<'_>> = self
            .shapes
            .iter()
            .zip(&picks)
            .map(|(shape, pick)| (&shape[..], pick.map_or(first, |pick| usable[pick].name())))
            .collect();
        let is_winner = |c: &&&Candidate| c.name() == first || labels.iter().any(|(_, label)| *label == c.name());
        let winners: Vec<String> = usable.iter().filter(is_winner).map(|c| c.name().to_owned()).collect();
        let throughput = |name: &String, shape: &[i64]| {
            let candidate = usable.iter().find(|candidate| candidate.name() == name && !candidate.spills(device));
            candidate.and_then(|c| c.predict(&self.def, device, shape)).map_or(0.0, |p| 1.0 / p.seconds)
        };
        let known = |shape: &Vec<i64>| {
            let throughput = winners.iter().map(|name| throughput(name, shape)).collect();
            Known { shape: shape.clone(), throughput, weight: 1.0, doubt: Known::PREDICTED }
        };
        let known: Vec<Known> = self.sampled.iter().map(known).collect();
        let winners: Vec<Tree> = winners.iter().cloned().map(Tree::Leaf).collect();
        fit((&self.vars, &variables(&self.vars)), &winners, &labels, &known)
    }

    /// Calls in a second on each instance.
    fn scores(&self, candidate: &Candidate, device: &'static DeviceLimits) -> Vec<f64> {
        let score = |shape: &Vec<i64>| candidate.predict(&self.def, device, shape).map_or(0.0, |p| 1.0 / p.seconds);
        self.shapes.iter().map(score).collect()
    }

    fn report(&self, device: &'static DeviceLimits, tree: &Tree) -> DeviceReport {
        let by_name = |name: &str| self.candidates.iter().find(|candidate| candidate.name() == name);
        let in_force = self.tuned.contains_key(&device.capability);
        let gap = self.gaps.iter().find(|gap| gap.target == device.capability.to_string());
        let instance = |(at, shape): (usize, &Vec<i64>)| {
            let name = tree.pick(&self.vars, shape);
            Some(InstanceReport {
                shape: self.vars.iter().cloned().zip(shape.iter().copied()).collect(),
                micro_kernel: name.to_owned(),
                tuned: in_force && !gap.is_some_and(|gap| gap.instances.contains(&at)),
                predicted: by_name(name)?.predict(&self.def, device, shape)?,
            })
        };
        let candidates = self.candidates.iter().filter(|c| c.devices.contains(&device)).count();
        let source = match in_force {
            true => Source::Tuned,
            false if self.from_config => Source::Predicted { candidates },
            false => Source::Default,
        };
        let chosen = self.rows(std::slice::from_ref(tree));
        DeviceReport {
            capability: device.capability,
            part: device.part.to_owned(),
            source,
            launches: chosen.into_iter().flat_map(|row| launches(&self.candidates[row], device)).collect(),
            instances: self.shapes.iter().enumerate().filter_map(instance).collect(),
        }
    }
}

/// What a micro-kernel that spills scores on an instance counts only if no other scores there.
fn spilling_last(all: &[&Candidate], device: &DeviceLimits, mut scores: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let spills: Vec<bool> = all.iter().map(|candidate| candidate.spills(device)).collect();
    for instance in 0..scores.first().map_or(0, Vec::len) {
        if spills.iter().zip(&scores).any(|(spills, of)| !spills && of[instance] > 0.0) {
            scores.iter_mut().zip(&spills).filter(|(_, spills)| **spills).for_each(|(of, _)| of[instance] = 0.0);
        }
    }
    scores
}

fn launches(candidate: &Candidate, device: &DeviceLimits) -> Vec<LaunchResources> {
    let of = |(launch, resources): (&crate::codegen::cuda::CudaLaunch, crate::machine::cuda::Resources)| {
        let occupancy = blocks_per_sm(device, &resources);
        let mut reports = candidate.reports.iter().flatten();
        LaunchResources {
            micro_kernel: candidate.name().to_owned(),
            symbol: launch.symbol.clone(),
            threads: resources.threads,
            registers: resources.registers,
            shared_bytes: resources.shared_bytes,
            blocks_per_sm: occupancy.blocks,
            limiter: occupancy.limiter.to_string(),
            report: reports.find(|r| r.capability == device.capability && r.symbol == launch.symbol).cloned(),
        }
    };
    candidate.unit.launches.iter().zip(candidate.resources(device)).map(of).collect()
}

#[cfg(test)]
mod tests;
