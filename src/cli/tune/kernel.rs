//! One kernel of a run: from its config to a task of the search, and from what was found to its tuned file.

use std::cell::RefCell;

use dietcode::core::config::{Config, Search, Shapes, Strategy};
use dietcode::core::dispatch::{CPU, Searched, Winners, conclude};
use dietcode::core::doing::doing;
use dietcode::core::machine::Target;
use dietcode::core::measure::{Baselines, CpuHarness, Timing, compare};
use dietcode::core::search::strategy::{Propose, drawn, enumerated, evolved};
use dietcode::core::search::{
    self, Budget, Database, Defaults, Event, Found, Identity, Journal, Point, Roofline, Task, Tuning,
};
use dietcode::core::sketch::Space;
use dietcode::core::sketch::rules::{CustomRules, CustomSketch};
use dietcode::{Error, Result};

use super::Arguments;
use super::show::show;
use crate::cli::progress::Progress;
use crate::cli::report::Effort;
use crate::cli::setup::{Setup, cost_model, resolve_threads, wkl_text};

/// A kernel whose search is a [`Task`].
pub(super) struct Kernel<'a> {
    setup: Setup,
    baselines: Baselines,
    budget: Budget<'a>,
}

/// The BLAS is only shown beside the best: no finer than that.
const ROUGH: Timing = Timing::warm(3, 0.01, 1.0);

impl<'a> Kernel<'a> {
    /// Opens the bench and the records, and says what there is.
    pub(super) fn prepare(
        arguments: &Arguments,
        setup: Setup,
        budget: Budget<'a>,
        progress: &RefCell<Progress>,
        watch: &'a dyn Fn(Event),
    ) -> Result<(Kernel<'a>, Task<'a>)> {
        let mut lab = setup.lab(arguments.seed)?;
        let points = points(arguments, &setup)?;
        let threads = threads(&setup, &lab);
        let database = open_database(arguments, &setup, progress)?;
        let baselines = baselines(arguments, &mut lab, progress)?;
        let rivals = rivals(&mut lab, &baselines, &points, threads[0])?;
        progress.borrow_mut().expect_kernel(&setup.def.name, &points, &rivals);
        let proposer = proposer(&setup, &lab, &points, &progress.borrow())?;
        let roofline = arguments.until.map(|_| Roofline::measure(&mut lab, &points, &threads)).transpose()?;
        let identity =
            Identity { seed: setup.config.search.seed, space_hash: space_hash(&setup.config, &points, &threads) };
        let journal = journal(arguments, database, &lab, identity, &progress.borrow());
        let default = Winners::default_for(&setup.def, lab.target());
        let of = points.iter().map(|point| default.decision.pick(&point.instance.shape)).collect();
        let defaults = Defaults::new(&setup.def, default.schedules, of);
        let mut tuning = Tuning::new(lab, points, threads, defaults, budget, journal, watch);
        tuning.roofline = roofline;
        let settings = &setup.config.search;
        let task = Task { tuning, proposer, weight: settings.weight, per_round: settings.evolution.per_round };
        Ok((Kernel { setup, baselines, budget }, task))
    }

    /// Verifies and writes the winners, and shows them; `seconds` is how long the search took.
    pub(super) fn conclude(
        &self,
        arguments: &Arguments,
        task: &mut Task<'_>,
        found: &Found,
        seconds: f64,
        progress: &RefCell<Progress>,
    ) -> Result<()> {
        let Tuning { lab, points, threads, .. } = &mut task.tuning;
        let searched = Searched { config: &self.setup.config, points, threads, found };
        let count = points.len();
        let compared = |done| progress.borrow_mut().compared(done, count);
        let conclusion = conclude(lab, searched, &self.baselines, self.budget, compared)?;
        progress.borrow().finish();
        let output = arguments.output.clone().unwrap_or_else(|| self.setup.config.tuned_path(CPU));
        conclusion.tuned.save(&output)?;
        let effort = Effort { seconds, tried: found.tried, known: found.known };
        show(&conclusion, points, lab, &self.baselines, effort, &arguments.files)?;
        arguments.files.print(&format!("Written: {}\n", output.display()))
    }
}

/// The config's instances, or those of them that were asked for.
pub(super) fn points(arguments: &Arguments, setup: &Setup) -> Result<Vec<Point>> {
    let all = setup.points()?;
    if arguments.wkl.is_empty() {
        return Ok(all);
    }
    let chosen = |shapes: &Shapes| {
        let chosen: Vec<Point> = all.iter().filter(|point| shapes.contains(&point.wkl)).cloned().collect();
        if chosen.is_empty() {
            let there: Vec<String> = all.iter().map(|point| wkl_text(&point.wkl)).collect();
            return Err(Error::input(format!(
                "--wkl {shapes}: expected an instance of the config: {}",
                there.join(" ")
            )));
        }
        Ok(chosen)
    };
    let points = arguments.wkl.iter().map(chosen).collect::<Result<Vec<_>>>()?.concat();
    let again = |(at, point): &(usize, &Point)| points[..*at].iter().any(|earlier| earlier.wkl == point.wkl);
    match points.iter().enumerate().find(again) {
        None => Ok(points),
        Some((_, point)) => {
            let message = format!("--wkl {}: found a second time, expected each instance once", wkl_text(&point.wkl));
            Err(Error::input(message))
        }
    }
}

fn threads(setup: &Setup, lab: &CpuHarness) -> Vec<usize> {
    let asked: Vec<usize> = setup.config.search.threads.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    resolve_threads(&asked, lab.target().cores)
}

fn open_database(arguments: &Arguments, setup: &Setup, progress: &RefCell<Progress>) -> Result<Database> {
    let beside = || setup.config.path.with_extension(format!("{CPU}.records.jsonl"));
    let database = Database::open(&arguments.records.clone().unwrap_or_else(beside))?;
    database.notices.iter().for_each(|notice| progress.borrow().say(notice));
    Ok(database)
}

fn baselines(arguments: &Arguments, lab: &mut CpuHarness, progress: &RefCell<Progress>) -> Result<Baselines> {
    let blas = arguments.blas.find(lab)?;
    let baselines = Baselines::new(lab, blas)?;
    match baselines.blas() {
        Some(blas) => progress.borrow().say(&format!("BLAS: {} ({})", blas.name, blas.library.display())),
        None if arguments.blas.is_declined() => {}
        None => progress.borrow().say("BLAS: none found (--blas PATH names one)"),
    }
    Ok(baselines)
}

/// The BLAS's GFLOP/s on each instance, if there is one and it can.
fn rivals(lab: &mut CpuHarness, baselines: &Baselines, points: &[Point], threads: usize) -> Result<Vec<Option<f64>>> {
    let mut rivals = Vec::new();
    for Point { instance, .. } in points {
        let mut contestants = baselines.contestants(lab, instance);
        contestants.retain(|contestant| contestant.name.starts_with("blas"));
        let comparison = compare(lab, instance, &contestants, threads, ROUGH)?;
        let sample = comparison.standings.first().and_then(|standing| standing.outcome.as_ref().ok());
        rivals.push(sample.map(|sample| sample.gflops(instance.flops).median));
    }
    Ok(rivals)
}

fn proposer(setup: &Setup, lab: &CpuHarness, points: &[Point], progress: &Progress) -> Result<Box<dyn Propose>> {
    let (target, settings) = (lab.target(), &setup.config.search);
    progress.say(&format!("{}, {} cores, -march={}, {}", target.model, target.cores, target.march, target.compiler));
    if settings.strategy == Strategy::Enumerate {
        let listed = search::Space::of(&setup.config.cpu, &setup.def, target, settings.trials, settings.seed);
        describe(&listed, progress);
        return Ok(enumerated(&listed));
    }
    let instances: Vec<Vec<i64>> = points.iter().map(|point| point.instance.shape.clone()).collect();
    let target = Target::Cpu(target.clone());
    let custom = setup.config.custom_rules(CustomRules::default())?;
    let _doing = doing(format!("making the sketches of `{}`", setup.def.name));
    let space = Space::generate(&setup.def, target.clone(), &instances, &custom)?;
    let from = format!("{} of {} sketches", settings.strategy, space.sketches.len());
    let evolution = settings.evolution.clone();
    if settings.strategy == Strategy::Random {
        progress.say(&from);
        return Ok(drawn(space, evolution, settings.seed));
    }
    let model = cost_model(settings.model, target, settings.seed);
    progress.say(&format!("{from}, guided by the model \"{}\"", model.name()));
    Ok(evolved(space, model, evolution, settings.seed))
}

fn describe(space: &search::Space, progress: &Progress) {
    progress.say(&format!("{} candidates from {} schedules", space.candidates.len(), space.total));
    for (reason, count) in &space.invalid {
        progress.say(&format!("  {count} not valid: {reason}"));
    }
}

/// Runs on the same instances and numbers of threads, that choose in the same way from the same, have one.
fn space_hash(config: &Config, points: &[Point], threads: &[usize]) -> String {
    let Search { strategy, model, evolution, rules, .. } = &config.search;
    let rules: Vec<(&String, &CustomSketch)> = rules.iter().map(|(block, rule)| (block, &rule.by)).collect();
    let instances: Vec<(&[i64], f64)> = points.iter().map(|p| (&*p.instance.shape, p.weight)).collect();
    Identity::hash(&(config.space_hash(), strategy, model, evolution, rules, threads, instances))
}

fn journal(
    arguments: &Arguments,
    database: Database,
    lab: &CpuHarness,
    identity: Identity,
    progress: &Progress,
) -> Journal {
    if !arguments.resume {
        return Journal::begin(database, lab, identity);
    }
    let journal = Journal::resume(database, lab, identity);
    progress.say(&match journal.resumed() {
        0 => "no run with this config, seed, threads and instances is on record: beginning one".to_owned(),
        count => format!("continuing a run of which {count} candidates are on record"),
    });
    journal
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn runs_with_other_rules_do_not_continue_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |sketch: &str, comment: &str| {
            fs::write(folder.path().join("sketch.json"), sketch).unwrap();
            let text = format!(
                r#"{{ {comment} "kernel": {{ "source": "ops.rs", "function": "f" }}, "shape": {{ "N": 8 }}, "wkl_insts": [{{}}],
                    "search": {{ "rules": {{ "f": "sketch.json" }} }} }}"#
            );
            space_hash(&Config::parse(folder.path().join("c.json"), text).unwrap(), &[], &[1])
        };
        let (one, other) = (r#"{"instructions": []}"#, r#"{"instructions": ["decompose_reduction"]}"#);
        assert_eq!(hash(one, ""), hash(one, "\"comment\": \"moves the rule\",\n"));
        assert_ne!(hash(one, ""), hash(other, ""));
    }
}
