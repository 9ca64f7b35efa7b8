//! `cargo xtask peers`: the libraries that others wrote, and the project's kernels beside them.
//!
//! ```text
//! families.json: a config, and what libraries call its nest ─┐
//! wheels and a crate ──► a process a library ────────────────┼──► rounds, by turns ──► results.json ──► tables, picture, verdict
//! a tuned file ──► `dietcode bench --turns` ─────────────────┘
//! ```
//!
//! A figure is of clean samples only, on both sides. The library that a shape is compared with is chosen on odd rounds and compared on even
//! ones (`statistics`), so that the best of many is not the luckiest.

mod families;
mod library;
#[path = "../../../src/cli/plot.rs"]
#[allow(dead_code, reason = "the command draws over other axes too")]
mod plot;
pub(crate) mod provision;
mod results;
mod statistics;
mod tables;
mod turns;

use std::path::PathBuf;

use families::Family;
use library::LIBRARIES;
use results::{Results, on};
use statistics::Mean;

use crate::command::read;

const USAGE: &str = "\
usage: cargo xtask peers [FAMILY...] [--threads 1,2] [--rounds N] [--libraries NAME,...] [--tuned DIR] [--shapes FILE] [--families FILE]
                         [--json FILE] [--plot FILE] [--below RATIO] [--shape-below RATIO]
       cargo xtask peers --read FILE[,FILE...] [FAMILY...] [--json FILE] [--plot FILE] [--below RATIO] [--shape-below RATIO]

  FAMILY         those of xtask/peers/families.json: all of them
  --families     another file of families: a config each, and what libraries call its nest
  --shapes       a file with further shapes, {\"few_rows\": [{\"M\": 7}], ...}, which are compared for themselves
  --tuned        where tuned files are, FAMILY.cpu.tuned.json: beside the configs; what is not tuned runs its default
  --threads      numbers of threads: 1,2
  --rounds       how often each has its turn at a shape, at least 4: 8
  --libraries    which of those that are known: all of them
  --read         tables of what --json has written, from one file or several; nothing is measured
  --json         where results are written, after each shape: target/peers/results.json
  --plot         where they are drawn, as an SVG
  --below        fail where the 95% interval of a family's geometric mean reaches below this ratio to the best library of each shape
  --shape-below  fail where a shape is below this ratio
";

/// What is asked for.
struct Options {
    families: Vec<String>,
    file: PathBuf,
    shapes: Option<PathBuf>,
    tuned: Option<PathBuf>,
    threads: Vec<usize>,
    rounds: usize,
    libraries: Vec<String>,
    read: Vec<PathBuf>,
    json: Option<PathBuf>,
    plot: Option<PathBuf>,
    below: Option<f64>,
    shape_below: Option<f64>,
}

/// Runs it. Whether the bars hold; an error is a sentence.
pub(crate) fn run(args: &[&str]) -> Result<bool, String> {
    if args.iter().any(|arg| ["--help", "-h"].contains(arg)) {
        print!("{USAGE}");
        return Ok(true);
    }
    let options = options(args)?;
    let path = options.json.clone().or(options.read.is_empty().then(|| provision::folder().join("results.json")));
    let keep = |results: &Results| path.iter().try_for_each(|path| results.write(path));
    let results = if options.read.is_empty() {
        measure(&options, &keep)?
    } else {
        let files = options.read.iter().map(|path| read(path)).collect::<Result<Vec<Results>, String>>()?;
        Results::joined(files)?
    };
    let results = results.of(&options.families)?;
    keep(&results)?;
    let means = statistics::means(&results);
    tables::print(&results, &means);
    path.iter().for_each(|path| eprintln!("results are in {}", path.display()));
    options.plot.iter().try_for_each(|path| tables::draw(&results, path))?;
    let failures = failures(&options, &means);
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(failures.is_empty())
}

/// Measures; `keep` has what there is after each shape.
fn measure(options: &Options, keep: &dyn Fn(&Results) -> Result<(), String>) -> Result<Results, String> {
    let families = Family::read(&options.file, &options.families, options.shapes.as_deref())?;
    let program = crate::command::built()?;
    let provided = provision::ensure(&options.libraries)?;
    turns::measure(&families, (&provided, &program), options, keep)
}

/// What does not hold. What is unknown does not hold either.
fn failures(options: &Options, means: &[Mean]) -> Vec<String> {
    let mut failures = Vec::new();
    for mean in means {
        let place = format!("{} on {}", mean.family, on(mean.threads));
        if let Some(bar) = options.below.filter(|bar| mean.plain.is_none_or(|found| found.low < *bar)) {
            let found = mean.plain.map_or_else(|| "unknown".to_owned(), |found| found.text());
            failures.push(format!("{place}: the ratio is {found}, expected at least {bar}"));
        }
        for shape in &mean.shapes {
            if let Some(bar) = options.shape_below.filter(|bar| shape.ratio().is_none_or(|ratio| ratio < *bar)) {
                let found = shape.ratio().map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
                failures.push(format!("{place}, {}: the ratio is {found}, expected at least {bar}", shape.wkl));
            }
        }
    }
    failures
}

fn options(args: &[&str]) -> Result<Options, String> {
    let mut options = Options {
        families: Vec::new(),
        file: crate::steps::root().join("xtask/peers/families.json"),
        shapes: None,
        tuned: None,
        threads: vec![1, 2],
        rounds: 8,
        libraries: LIBRARIES.iter().map(|library| library.name.to_owned()).collect(),
        read: Vec::new(),
        json: None,
        plot: None,
        below: None,
        shape_below: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if !arg.starts_with('-') {
            options.families.push((*arg).to_owned());
            continue;
        }
        let value = args.next().ok_or(format!("{arg}: a value is missing\n\n{USAGE}"))?;
        let path = || Some(PathBuf::from(value));
        let list = || value.split(',').map(str::to_owned).collect::<Vec<String>>();
        let number = |least: f64| {
            let number = value.parse().ok().filter(|number: &f64| number.is_finite() && *number >= least);
            number.ok_or_else(|| format!("{arg}: found `{value}`, expected a number of at least {least}"))
        };
        match *arg {
            "--families" => options.file = PathBuf::from(value),
            "--shapes" => options.shapes = path(),
            "--tuned" => options.tuned = path(),
            "--threads" => {
                let count = |count: &str| count.parse().ok().filter(|count| *count > 0);
                let counts: Option<Vec<usize>> = value.split(',').map(count).collect();
                options.threads = counts
                    .ok_or_else(|| format!("{arg}: found `{value}`, expected numbers of threads, such as 1,2"))?;
                if let Some(again) = twice(&options.threads) {
                    return Err(format!("{arg}: found {again} twice in `{value}`, expected each number once"));
                }
            }
            // Two even rounds are the least of which there is a variance.
            "--rounds" => options.rounds = number(4.0)? as usize,
            "--libraries" => options.libraries = list(),
            "--read" => options.read = list().into_iter().map(PathBuf::from).collect(),
            "--json" => options.json = path(),
            "--plot" => options.plot = path(),
            "--below" => options.below = Some(number(0.0)?),
            "--shape-below" => options.shape_below = Some(number(0.0)?),
            option => return Err(format!("there is no option `{option}`\n\n{USAGE}")),
        }
    }
    Ok(options)
}

/// The first that stands among those before it.
fn twice<T: PartialEq>(all: &[T]) -> Option<&T> {
    all.iter().enumerate().find_map(|(at, one)| all[..at].contains(one).then_some(one))
}

#[cfg(test)]
mod tests;
