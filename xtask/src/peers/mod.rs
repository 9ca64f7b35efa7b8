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

use clap::builder::RangedU64ValueParser as At;
use families::Family;
use library::LIBRARIES;
use results::{Results, on};
use statistics::Mean;

use crate::command::{at_least, read};
use crate::steps::root;

/// What is asked for.
#[derive(clap::Parser)]
pub(crate) struct Options {
    /// Those of the file of families; all of them.
    #[arg(value_name = "FAMILY")]
    families: Vec<String>,
    /// The file of families: a config each, and what libraries call its nest.
    #[arg(long = "families", value_name = "FILE", default_value_os_t = root().join("xtask/peers/families.json"))]
    file: PathBuf,
    /// A file with further shapes, {"few_rows": [{"M": 7}], ...}, which are compared for themselves.
    #[arg(long, value_name = "FILE")]
    shapes: Option<PathBuf>,
    /// Where tuned files are, FAMILY.cpu.tuned.json, if not beside the configs; what is not tuned runs its default.
    #[arg(long, value_name = "DIR")]
    tuned: Option<PathBuf>,
    /// Numbers of threads.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2", value_parser = At::<usize>::new().range(1..))]
    threads: Vec<usize>,
    /// How often each has its turn at a shape. Two even rounds are the least of which there is a variance.
    #[arg(long, value_name = "N", default_value = "8", value_parser = At::<usize>::new().range(4..))]
    rounds: usize,
    /// Which of those that are known.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = LIBRARIES.iter().map(|library| library.name))]
    libraries: Vec<String>,
    /// Tables of what --json has written, from one file or several; nothing is measured.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    read: Vec<PathBuf>,
    /// Where results are written, after each shape, if not to target/peers/results.json.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where they are drawn, as an SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Fail where the 95% interval of a family's geometric mean reaches below this ratio to the best library of each shape.
    #[arg(long, value_name = "RATIO", value_parser = at_least(0.0))]
    below: Option<f64>,
    /// Fail where a shape is below this ratio.
    #[arg(long, value_name = "RATIO", value_parser = at_least(0.0))]
    shape_below: Option<f64>,
}

/// Runs it. Whether the bars hold; an error is a sentence.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    if let Some(again) = twice(&options.threads) {
        return Err(format!("--threads: found {again} twice, expected each number once"));
    }
    let path = options.json.clone().or(options.read.is_empty().then(|| provision::folder().join("results.json")));
    let keep = |results: &Results| path.iter().try_for_each(|path| results.write(path));
    let results = if options.read.is_empty() {
        measure(options, &keep)?
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
    let failures = failures(options, &means);
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

/// The first that stands among those before it.
fn twice<T: PartialEq>(all: &[T]) -> Option<&T> {
    all.iter().enumerate().find_map(|(at, one)| all[..at].contains(one).then_some(one))
}

#[cfg(test)]
mod tests;
