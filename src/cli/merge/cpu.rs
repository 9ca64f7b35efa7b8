//! Merging what was measured on a CPU.

use dietcode::benchmark::results::{Cpu, Machine, Run};
use dietcode::core::cost_model::{Adaptation, Observation, rate_on};
use dietcode::core::cpu_features;
use dietcode::core::dispatch::{CPU, Measurement, Seen, Tree, Winners, labels, predicted_tree, provenance};
use dietcode::core::machine::{CpuTarget, Target};
use dietcode::core::measure::Summary;
use dietcode::core::search::geometric_mean;
use dietcode::{Error, Result};

use super::sources::Sources;
use super::table::Table;
use super::{Merged, joined, tuned};
use crate::cli::setup::Setup;

/// Makes the tuned file of the CPU.
pub(super) fn merge(setup: &Setup, sources: &Sources) -> Result<Merged> {
    let target = CpuTarget::detect(&setup.config.cpu.march)?;
    check_machine(sources, &target)?;
    let winners = Winners::load(&setup.config, &setup.def, &setup.program, &target)
        .unwrap_or_else(|_| Winners::default_for(&setup.program, &target));
    let mut table = Table::default();
    let ran: Vec<Option<usize>> = sources.instances.iter().map(|(_, runs)| ran(&mut table, runs, &winners)).collect();
    table.add_configurations(sources, &setup.program, &Target::Cpu(target.clone()))?;
    let seen = table.all_seen(sources);
    let mut joined = joined(setup, &table.names, &seen, &ran)?;
    let model = Model { setup, table: &table, seen: &seen };
    joined.tree = model.tree(&joined.picks);
    let provenance = provenance(&setup.def, &setup.config, &target);
    let measurements = |of: &Seen, pick| Ok(model.measurements(of, pick));
    let tuned = tuned(setup, CPU.into(), provenance, (&table, &seen, &joined), measurements)?;
    Ok(Merged { seen, names: table.names, joined, tuned })
}

/// A tuned file says on which machine it holds, and merging needs its caches and registers.
fn check_machine(sources: &Sources, target: &CpuTarget) -> Result<()> {
    let Machine::Cpu(Cpu { cpu, features, compiler, .. }) = &sources.machine else { return Ok(()) };
    let here = cpu_features::names(target.features).join(" ");
    let facts = [
        ("CPU", cpu, &target.model),
        ("compiler", compiler, &target.compiler),
        ("features", &features.join(" "), &here),
    ];
    match facts.into_iter().find(|(_, there, here)| there != here) {
        None => Ok(()),
        Some((what, there, here)) => Err(Error::input(format!(
            "{}: found results of the {what} `{there}`, expected `{here}`, which is here with the config's march; merge where \
             it was measured, and build the set with the config's march",
            sources.first.display()
        ))),
    }
}

/// What the dispatcher ran at an instance, if its schedule is known: it is one of the table, so that it stays where it is faster.
fn ran(table: &mut Table, runs: &[Run], winners: &Winners) -> Option<usize> {
    let name = runs.iter().flat_map(|run| &run.baselines).find_map(|baseline| baseline.micro_kernel.as_ref())?;
    let row = winners.schedules.iter().position(|schedule| schedule.name() == *name)?;
    Some(table.add((winners.schedules[row].clone(), winners.lowered[row].clone()), name))
}

/// What was seen of the micro-kernels, and what is expected of them elsewhere.
struct Model<'a> {
    setup: &'a Setup,
    table: &'a Table,
    seen: &'a [Seen],
}

impl Model<'_> {
    /// What a micro-kernel is expected to do at a shape, by what was seen of it.
    fn expected(&self, at: usize, shape: &[i64], threads: usize) -> f64 {
        let lowered = &self.table.schedules[at].1;
        let fit = |shape: &[i64], threads: usize| Adaptation::of(lowered, shape, threads);
        let all =
            self.seen.iter().flat_map(|seen| seen.gflops.iter().map(move |(threads, row)| (seen, *threads, row[at])));
        let observation = |(seen, threads, gflops): (&Seen, usize, Option<Summary>)| {
            Some(Observation { adaptation: fit(&seen.workload.instance.shape, threads), gflops: gflops?.median })
        };
        let rate = rate_on(&all.filter_map(observation).collect::<Vec<_>>(), threads);
        rate.map_or(0.0, |rate| fit(shape, threads).throughput(rate))
    }

    /// The tree of the picks, and of what is predicted at shapes that were not measured.
    fn tree(&self, picks: &[usize]) -> Tree {
        let Model { setup, seen, .. } = self;
        let names: Vec<String> = self.table.names.iter().map(|(name, _)| name.clone()).collect();
        let threads: Vec<usize> = seen.iter().flat_map(|seen| seen.gflops.keys().copied()).collect();
        let throughput = |name: &str, shape: &[i64]| {
            let Some(at) = names.iter().position(|known| known == name) else { return 0.0 };
            geometric_mean(threads.iter().map(|threads| self.expected(at, shape, *threads)))
        };
        let mut winners: Vec<String> = picks.iter().map(|pick| names[*pick].clone()).collect();
        winners.sort_unstable();
        winners.dedup();
        let instances: Vec<_> = seen.iter().map(|seen| seen.workload.wkl.clone()).collect();
        let labels = labels(&names, seen, picks);
        predicted_tree((&setup.config, &setup.def), &instances, &labels, &winners, throughput)
    }

    /// What was measured of a micro-kernel at an instance, beside what is expected of it there.
    fn measurements(&self, of: &Seen, pick: usize) -> Vec<Measurement> {
        let measurement = |(threads, row): (&usize, &Vec<Option<Summary>>)| {
            let gflops = row[pick]?;
            let predicted = self.expected(pick, &of.workload.instance.shape, *threads);
            Some(Measurement::of(*threads, predicted, gflops.median, gflops.iqr))
        };
        of.gflops.iter().filter_map(measurement).collect()
    }
}
