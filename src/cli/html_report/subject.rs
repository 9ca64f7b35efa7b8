//! What the page tells of a kernel on a target: its records by micro-kernel and instance, and what stands beside them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode::core::codegen::{c, cuda};
use dietcode::core::dispatch::{Tuned, Winners, default_on_gpu};
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::machine::{CpuTarget, Target as Machine};
use dietcode::core::measure::{Instance, Summary};
use dietcode::core::search::{Outcome, Record, Shape, Target};
use dietcode::core::sketch::{Lowered, MicroKernel};
use dietcode::{Error, Result};

use crate::cli::counted;
use crate::cli::records::config_path;
use crate::cli::setup::Setup;
use crate::cli::target;

/// Micro-kernels that have a letter, a colour and a mark: as many as can be told apart.
pub(super) const SHOWN: usize = super::chart::MARKS;

/// A kernel on a target.
pub(super) struct Subject {
    /// Its place on the page.
    pub(super) number: usize,
    pub(super) kernel: String,
    pub(super) target: Target,
    pub(super) files: Vec<PathBuf>,
    pub(super) records: Vec<Record>,
    /// The instances that were measured, in order.
    pub(super) instances: Vec<Shape>,
    /// The numbers of threads of figures; 0: a GPU.
    pub(super) threads: Vec<usize>,
    /// Numbers of threads and instances of figures, in the order in which they came.
    pub(super) points: Vec<(usize, usize)>,
    pub(super) kernels: BTreeMap<String, Kernel>,
    /// The names of those that are told apart, in the order of their letters.
    pub(super) shown: Vec<String>,
    /// What runs each instance where nothing was tuned; empty where that is not known.
    defaults: Vec<Option<String>>,
    /// What code and predictions are made with, if it is there and fits.
    pub(super) nest: Option<Nest>,
    pub(super) tuned: Option<Tuned>,
    /// What is missing, and why, in sentences.
    pub(super) notices: Vec<String>,
}

/// A micro-kernel on record.
pub(super) struct Kernel {
    pub(super) schedule: MicroKernel,
    /// What made it, in a word.
    pub(super) made: String,
    pub(super) trial: u64,
    /// In GFLOP/s, by number of threads and instance.
    pub(super) figures: BTreeMap<(usize, usize), Summary>,
}

/// The nest, and the machine of the records.
pub(super) struct Nest {
    pub(super) setup: Setup,
    pub(super) machine: Machine,
}

impl Subject {
    /// Of records of one kernel on one target, with the configs that lie beside their files.
    pub(super) fn of(number: usize, records: Vec<Record>, files: Vec<PathBuf>) -> Subject {
        let first = records[0].clone();
        let mut notices = Vec::new();
        let nest = nest(&first, &files).map_err(|why| notices.push(format!("no sources and predictions: {why}"))).ok();
        let tuned = nest.as_ref().and_then(|nest| match nest.setup.tuned(nest.target()) {
            Ok(tuned) => Some(tuned),
            Err(miss) => {
                notices.push(format!("no dispatched micro-kernels: {miss}"));
                None
            }
        });
        let (records, others) = of_last_caches(records);
        if others > 0 {
            notices.push(format!(
                "left out: {}, for which the caches were not as for the last ones (warm, rotated or cold)",
                counted(others, "figure")
            ));
        }
        let mut instances: Vec<Shape> = Vec::new();
        let (mut threads, mut kernels) = (Vec::new(), BTreeMap::new());
        for record in &records {
            if let (Some((n, _)), Some(shape)) = (record.timed(), &record.workload.shape) {
                threads.push(n);
                instances.push(shape.clone());
            }
        }
        instances.sort();
        instances.dedup();
        threads.sort_unstable();
        threads.dedup();
        let mut points = Vec::new();
        for record in &records {
            let kernel = kernels.entry(record.name.clone()).or_insert_with(|| Kernel {
                schedule: record.schedule.clone(),
                made: made(record),
                trial: record.trial,
                figures: BTreeMap::new(),
            });
            let at = record.workload.shape.as_ref().and_then(|shape| instances.binary_search(shape).ok());
            if let (Some(at), Some(_), Outcome::Measured { threads, gflops, .. }) =
                (at, record.timed(), &record.outcome)
            {
                if !points.contains(&(*threads, at)) {
                    points.push((*threads, at));
                }
                // Of two figures, that of more samples; of as many, the later one.
                let known = kernel.figures.entry((*threads, at)).or_insert(*gflops);
                if gflops.repeats >= known.repeats {
                    *known = *gflops;
                }
            }
        }
        let mut subject = Subject {
            number,
            kernel: first.workload.kernel,
            target: first.target,
            files,
            records,
            instances,
            threads,
            points,
            kernels,
            shown: Vec::new(),
            defaults: Vec::new(),
            nest,
            tuned,
            notices,
        };
        subject.defaults = subject.find_defaults();
        subject.shown = subject.choose_shown();
        subject
    }

    /// How many figures a model made, where no such device was there; none: all were measured.
    pub(super) fn estimates(&self) -> Option<String> {
        let figures = || self.records.iter().filter(|record| record.timed().is_some());
        match figures().filter(|record| record.estimated).count() {
            0 => None,
            estimated if estimated == figures().count() => Some("all figures".to_owned()),
            estimated => Some(format!("{estimated} of {}", counted(figures().count(), "figure"))),
        }
    }

    fn find_defaults(&self) -> Vec<Option<String>> {
        let Some(nest) = &self.nest else { return Vec::new() };
        let Setup { def, program, .. } = &nest.setup;
        let shapes = (0..self.instances.len()).map(|at| self.extents(at));
        match &nest.machine {
            Machine::Cpu(cpu) => {
                let defaults = Winners::default_for(program, cpu);
                let name = |shape: Vec<i64>| defaults.schedules[defaults.decision.pick(&shape)].name();
                shapes.map(|shape| shape.map(name)).collect()
            }
            Machine::Cuda(limits) => {
                default_on_gpu(def, program, limits).map_or(Vec::new(), |one| vec![Some(one.name()); shapes.count()])
            }
        }
    }

    /// Those that are dispatched, the defaults, and the best on record.
    fn choose_shown(&self) -> Vec<String> {
        let points = || self.threads.iter().flat_map(|n| (0..self.instances.len()).map(move |at| (*n, at)));
        let used = (0..self.instances.len()).filter_map(|at| self.dispatched(at).map(str::to_owned));
        let defaults = (0..self.instances.len()).filter_map(|at| self.default(at).map(str::to_owned));
        let best = points().filter_map(|(n, at)| Some(self.best(n, at)?.0.to_owned()));
        let mut shown: Vec<String> = Vec::new();
        for name in used.chain(defaults).chain(best) {
            if shown.len() < SHOWN && !shown.contains(&name) {
                shown.push(name);
            }
        }
        shown
    }

    /// The micro-kernel that the tuned file's tree has at an instance.
    pub(super) fn dispatched(&self, at: usize) -> Option<&str> {
        Some(self.tuned.as_ref()?.tree.pick(&self.nest.as_ref()?.setup.vars, &self.extents(at)?))
    }

    /// What runs an instance where nothing was tuned.
    pub(super) fn default(&self, at: usize) -> Option<&str> {
        self.defaults.get(at)?.as_deref()
    }

    /// The name and GFLOP/s of the fastest at an instance.
    pub(super) fn best(&self, threads: usize, at: usize) -> Option<(&str, f64)> {
        let figures =
            self.kernels.iter().filter_map(|(name, kernel)| Some((name.as_str(), kernel.figure(threads, at)?)));
        figures.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// An instance's shape variables, as the nest declares them; none where a call does not take them.
    pub(super) fn extents(&self, at: usize) -> Option<Vec<i64>> {
        let Setup { vars, def, .. } = &self.nest.as_ref()?.setup;
        let extents: Vec<i64> = vars.iter().map(|var| self.instances[at].get(var).copied()).collect::<Option<_>>()?;
        Instance::of(def, &extents).is_ok().then_some(extents)
    }

    /// The shape variables of which the instances have more than one value.
    pub(super) fn varying(&self) -> Vec<&str> {
        let Some(first) = self.instances.first() else { return Vec::new() };
        let varies = |(var, value): &(&String, &i64)| self.instances.iter().any(|shape| shape.get(*var) != Some(value));
        first.iter().filter(varies).map(|(var, _)| var.as_str()).collect()
    }

    /// An instance by what tells it from the others.
    pub(super) fn label(&self, at: usize) -> String {
        let varying = self.varying();
        let parts = self.instances[at].iter().filter(|(var, _)| varying.contains(&var.as_str()));
        let label: Vec<String> = parts.map(|(var, value)| format!("{var}={value}")).collect();
        if label.is_empty() { "its only shape".to_owned() } else { label.join(" ") }
    }

    /// The position of a micro-kernel among those that are told apart.
    pub(super) fn series(&self, name: &str) -> Option<usize> {
        self.shown.iter().position(|shown| shown == name)
    }

    /// The generated source of a micro-kernel.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn source(&self, kernel: &Kernel) -> Result<String> {
        let nest = self.nest.as_ref().ok_or_else(|| Error::unavailable("the config is not there, or does not fit"))?;
        let (def, name, lowered) = (&nest.setup.def, kernel.schedule.name(), nest.lowered(kernel)?);
        Ok(match &nest.machine {
            Machine::Cpu(cpu) => c::translation_unit(def, &name, &lowered, &cpu.march)?.source,
            Machine::Cuda(_) => cuda::translation_unit(def, &name, &lowered)?.source,
        })
    }
}

impl Kernel {
    /// Median GFLOP/s at an instance.
    pub(super) fn figure(&self, threads: usize, at: usize) -> Option<f64> {
        self.figures.get(&(threads, at)).map(|summary| summary.median)
    }
}

impl Nest {
    /// The micro-kernel's loops.
    pub(super) fn lowered(&self, kernel: &Kernel) -> Result<Lowered> {
        kernel.schedule.lowered(&self.setup.program, &self.machine)
    }

    fn target(&self) -> target::Target {
        match &self.machine {
            Machine::Cpu(_) => target::Target::Cpu,
            Machine::Cuda(limits) => target::Target::Cuda(limits.capability),
        }
    }

    /// Cores or multiprocessors of a number of threads.
    pub(super) fn units(&self, threads: usize) -> usize {
        match &self.machine {
            Machine::Cpu(_) => threads,
            Machine::Cuda(limits) => limits.multiprocessors as usize,
        }
    }
}

/// Without the figures for which the caches were not as for the last one, and how many these are: they cannot be compared.
fn of_last_caches(mut records: Vec<Record>) -> (Vec<Record>, usize) {
    let caches = |record: &Record| match record.outcome {
        Outcome::Measured { cache, .. } => Some(cache),
        _ => None,
    };
    let (all, last) = (records.len(), records.iter().rev().find_map(caches));
    records.retain(|record| caches(record).is_none() || caches(record) == last);
    let others = all - records.len();
    (records, others)
}

/// The nest of a record, by a config beside one of the files.
fn nest(record: &Record, files: &[PathBuf]) -> Result<Nest> {
    let beside = files.iter().filter_map(|file| config_path(file)).find(|path| path.is_file());
    let path = beside.ok_or_else(|| {
        Error::unavailable(
            "found no config beside the records, expected <config>.json beside <config>.<target>.records.jsonl",
        )
    })?;
    let setup = Setup::read(&path)?;
    let (found, expected) = (format!("{:016x}", setup.def.source_hash()), &record.workload.source_hash);
    if found != *expected {
        let what = format!("the nest has the hash {found}, the records are of {}", expected.escape_debug());
        return Err(Error::unavailable(format!("{}: {what}", path.display())));
    }
    let machine = match &record.target {
        Target::Cpu { .. } => {
            let cpu = CpuTarget::detect(&setup.config.cpu.march)?;
            if Target::cpu(&cpu) != record.target {
                return Err(Error::unavailable("the records are of another CPU, compiler or -march"));
            }
            Machine::Cpu(cpu)
        }
        Target::Cuda { capability, .. } => Machine::Cuda(*DeviceLimits::nearest_to(capability)?),
    };
    Ok(Nest { setup, machine })
}

fn made(record: &Record) -> String {
    let said = record.made.and_then(|made| serde_json::to_value(made).ok());
    match said {
        Some(serde_json::Value::String(word)) => word,
        Some(serde_json::Value::Object(mutant)) => mutant
            .values()
            .next()
            .map_or_else(|| "mutant".to_owned(), |by| format!("mutant: {}", by.as_str().unwrap_or("?"))),
        _ => record.schedule.origin.family.clone(),
    }
}
