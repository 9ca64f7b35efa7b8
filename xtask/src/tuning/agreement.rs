//! `cargo xtask tuning --agreement`: whether a search says the same twice.
//!
//! ```text
//! seed-0, seed-1, seed-2    so many trials each, from other random choices         ─► other candidates: within 3%
//! again-1, again-2, again-3 the records of seed-0 without their verdicts, continued ─► the same candidates: within 3%
//! measured                  what all of them would run, by turns                    ─► figures of seed-0's file: within 5%, 10%
//! ```

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::runs::{Run, Runs};
use crate::command::{read, wkl_text};

/// How far apart what two runs chose may be, at every instance and number of threads.
const APART: f64 = 1.03;

/// How far a figure of a tuned file may be from the same measured again, on one thread and on more.
const OFF: [f64; 2] = [1.05, 1.10];

/// Searches, and decisions about the candidates of the first.
const RUNS: usize = 3;

/// The kinds of records that hold what was decided, not what was measured.
const DECIDED: [&str; 2] = ["verdict", "turns"];

/// What tuned files chose at an instance on a number of threads.
struct Choice {
    place: String,
    threads: u64,
    /// The micro-kernels and their GFLOP/s, measured by turns, in the order of the runs.
    of: Vec<(String, f64)>,
    /// GFLOP/s as the first tuned file has them.
    told: f64,
}

impl Choice {
    /// The ratio of the fastest to the slowest of some runs: 1 where all chose the same.
    fn apart(&self, runs: impl Iterator<Item = usize> + Clone) -> f64 {
        let chosen = runs.map(|run| &self.of[run]);
        if chosen.clone().all(|(name, _)| *name == self.of[0].0) {
            return 1.0;
        }
        let (least, most) = chosen.fold((f64::INFINITY, 0.0_f64), |(a, b), (_, g)| (a.min(*g), b.max(*g)));
        most / least
    }

    /// The ratio of what the first tuned file says and what was measured again, above 1.
    fn off(&self) -> f64 {
        let ratio = self.told / self.of[0].1;
        ratio.max(1.0 / ratio)
    }
}

/// Runs it, the decisions beside a process that takes a core for a third of the time if `disturb` says so; an error says what is too far
/// apart.
pub(super) fn measure(config: &Path, folder: &Path, trials: &str, disturb: bool) -> Result<(), String> {
    let of_seed = |seed: usize| Runs::new(config.to_owned(), folder.to_owned(), &seed.to_string());
    let seeds = (0..RUNS).map(|seed| of_seed(seed)?.tune(&format!("seed-{seed}"), &["--trials", trials]));
    let mut found = seeds.collect::<Result<Vec<Run>, String>>()?;
    let runs = of_seed(0)?;
    let again = |n| {
        let name = format!("{}-{n}", if disturb { "disturbed" } else { "again" });
        if !runs.file(&name, "json").exists() {
            undecided(&runs.file("seed-0", "records.jsonl"), &runs.file(&name, "records.jsonl"))?;
        }
        runs.tune(&name, &["--trials", trials, "--resume"])
    };
    let decide = || (1..=RUNS).map(again).collect::<Result<Vec<Run>, String>>();
    found.extend(if disturb { beside_load(decide)? } else { decide()? });
    let tuned = found.iter().map(|run| read(&run.tuned)).collect::<Result<Vec<Value>, String>>()?;
    let mut choices = Vec::new();
    for wkl in runs.instances()? {
        let name = if disturb { format!("{wkl} disturbed") } else { wkl.clone() };
        let rows = runs.compare(&name, &wkl, "dietcode", &found.iter().collect::<Vec<_>>())?;
        choices.extend(of_instance(&wkl, &rows, &found, &tuned)?);
    }
    print(&choices)
}

/// The records of a run as they were before its candidates were compared.
fn undecided(from: &Path, to: &Path) -> Result<(), String> {
    let text = fs::read_to_string(from).map_err(|e| format!("{}: {e}", from.display()))?;
    let mut left = String::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).map_err(|e| format!("{}: {e}", from.display()))?;
        if !DECIDED.iter().any(|kind| record["outcome"].get(kind).is_some()) {
            left += line;
            left.push('\n');
        }
    }
    fs::write(to, left).map_err(|e| format!("{}: {e}", to.display()))
}

/// Does something while a thread is busy for a third of each 300 ms.
fn beside_load<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(100) {
                    std::hint::spin_loop();
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// What was chosen at an instance, by tuned files and rows of `dietcode bench`.
fn of_instance(wkl: &str, rows: &[Value], found: &[Run], tuned: &[Value]) -> Result<Vec<Choice>, String> {
    let instance = |tuned: &'_ Value| {
        let instances = tuned["instances"].as_array()?;
        instances.iter().find(|of| of["wkl"].as_object().is_some_and(|of| wkl_text(of) == wkl)).cloned()
    };
    let of = |measurement: &Value| {
        let threads = measurement["threads"].as_u64()?;
        let of_run = |(run, tuned): (&Run, &Value)| {
            let file = run.tuned.file_name()?.to_string_lossy().into_owned();
            let is_its = |row: &&Value| {
                row["threads"] == threads && row["impl"].as_str().is_some_and(|name| name.ends_with(&file))
            };
            let gflops = rows.iter().find(is_its)?["gflops_median"].as_f64()?;
            Some((instance(tuned)?["micro_kernel"].as_str()?.to_owned(), gflops))
        };
        let of = found.iter().zip(tuned).map(of_run).collect::<Option<Vec<_>>>()?;
        Some(Choice { place: wkl.to_owned(), threads, of, told: measurement["gflops_measured"].as_f64()? })
    };
    let first = instance(&tuned[0]).ok_or_else(|| format!("{}: it has no instance {wkl}", found[0].tuned.display()))?;
    let measurements = first["measurements"].as_array().into_iter().flatten();
    measurements.map(|measured| of(measured).ok_or_else(|| format!("{wkl}: not all of them have a figure"))).collect()
}

/// Prints what was chosen; an error names what is too far apart.
fn print(choices: &[Choice]) -> Result<(), String> {
    println!(
        "\n| instance | threads | seeds apart | decisions apart | measured again | GFLOP/s |\n|---|---|---|---|---|---|"
    );
    let mut far = Vec::new();
    for choice in choices {
        let seeds = choice.apart(0..RUNS);
        let again = choice.apart((0..1).chain(RUNS..choice.of.len()));
        let gflops: Vec<String> = choice.of.iter().map(|(name, gflops)| format!("{name} {gflops:.1}")).collect();
        let (place, threads, off) = (&choice.place, choice.threads, choice.off());
        println!("| {place} | {threads} | {seeds:.3} | {again:.3} | {off:.3} | {} |", gflops.join(", "));
        let most_off = OFF[usize::from(threads > 1)];
        for (what, ratio, most) in [("seeds", seeds, APART), ("decisions", again, APART), ("figures", off, most_off)] {
            if ratio > most {
                far.push(format!("{place} on {threads} threads: {what} differ by a factor of {ratio:.3}, not {most}"));
            }
        }
    }
    if far.is_empty() { Ok(()) } else { Err(format!("too far apart:\n{}", far.join("\n"))) }
}
