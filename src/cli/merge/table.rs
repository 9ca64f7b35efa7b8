//! The micro-kernels that were measured, each once, and their figures.

use std::collections::BTreeMap;

use dietcode::benchmark::results::Run;
use dietcode::core::dispatch::Seen;
use dietcode::core::ir::Program;
use dietcode::core::machine::Target;
use dietcode::core::measure::Summary;
use dietcode::core::search::WorkloadInstance;
use dietcode::core::sketch::{Lowered, MicroKernel};
use dietcode::{Error, Result};

use super::sources::Sources;

/// Micro-kernels, carried out, and which configurations they are of.
#[derive(Default)]
pub(super) struct Table {
    pub(super) schedules: Vec<(MicroKernel, Lowered)>,
    /// For each the micro-kernel's name, and that of a configuration it is of.
    pub(super) names: Vec<(String, String)>,
    /// From configurations to micro-kernels: two of them may come to the same.
    places: BTreeMap<String, usize>,
}

impl Table {
    /// Adds a schedule under its name and the configuration's; gives its position.
    pub(super) fn add(&mut self, schedule: (MicroKernel, Lowered), configuration: &str) -> usize {
        let same = |(known, _): &(MicroKernel, Lowered)| known.name() == schedule.0.name();
        let at = self.schedules.iter().position(same).unwrap_or_else(|| {
            self.names.push((schedule.0.name(), configuration.to_owned()));
            self.schedules.push(schedule);
            self.schedules.len() - 1
        });
        self.places.insert(configuration.to_owned(), at);
        at
    }

    /// Adds every configuration that has figures; one that is none on the nest and the target is an error.
    pub(super) fn add_configurations(&mut self, sources: &Sources, program: &Program, target: &Target) -> Result<()> {
        let entries = sources.instances.iter().flat_map(|(_, runs)| runs).flat_map(|run| &run.configurations);
        for entry in entries.filter(|entry| entry.outcome.sample().is_some()) {
            if !self.places.contains_key(&entry.name) {
                let made = entry.parameters.micro_kernel(program, target).map_err(|why| {
                    Error::input(format!("`{}` was measured, but it cannot be made here: {why}", entry.name))
                })?;
                self.add(made, &entry.name);
            }
        }
        Ok(())
    }

    /// The figures of all micro-kernels at an instance.
    fn seen(&self, workload: &WorkloadInstance, runs: &[Run]) -> Seen {
        let row = |run: &Run| {
            let mut row: Vec<Option<Summary>> = vec![None; self.schedules.len()];
            let entries = run.configurations.iter().map(|entry| (&entry.name, &entry.outcome));
            let baselines = run.baselines.iter().filter_map(|b| Some((b.micro_kernel.as_ref()?, &b.outcome)));
            for (name, outcome) in entries.chain(baselines) {
                if let (Some(at), Some(sample)) = (self.places.get(name), outcome.sample()) {
                    row[*at].get_or_insert(sample.gflops(run.flops));
                }
            }
            (run.threads, row)
        };
        Seen { workload: workload.clone(), gflops: runs.iter().map(row).collect() }
    }

    /// The same at all instances.
    pub(super) fn all_seen(&self, sources: &Sources) -> Vec<Seen> {
        sources.instances.iter().map(|(workload, runs)| self.seen(workload, runs)).collect()
    }
}
