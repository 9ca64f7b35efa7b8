//! `cargo xtask tuning`: what the search is worth, in two tables.
//!
//! ```text
//! enumerated   the config's own list of schedules, all of it          ┐
//! joint        so many trials for all instances together              ├─► each a tuned file and its seconds
//! T=5, T=24 …  as many trials for one instance alone, one run each    ┘
//! compared     all tuned files and the BLAS by turns ──► GFLOP/s
//! ```
//!
//! The machine must be left alone meanwhile. Every step that is done leaves a file in the folder, and is not done again when
//! the command is: it may be ended at any time. A run that was ended in its midst begins anew, since its time counts.

mod figures;
mod pace;
mod runs;

use std::path::{Path, PathBuf};

pub(crate) use figures::geometric_mean;
use figures::{Figures, print};
use runs::Runs;

/// What is asked for.
struct Options {
    config: PathBuf,
    folder: PathBuf,
    trials: String,
    seed: String,
}

const USAGE: &str = "\
usage: cargo xtask tuning [--trials N] [--seed N] [--folder DIR] [CONFIG]
       cargo xtask tuning --pace [--folder DIR]

  CONFIG     configs/bert_dense.json
  --trials   candidates of each run: 256
  --seed     where random choices start: 0
  --folder   where results are kept: target/tuning
  --pace     how many trials a search makes in a second, of shipped configs; fails where they are fewer than they must be
";

/// Runs it; an error is a sentence.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let (args, paced): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| **arg != "--pace");
    let mut options = options(&args)?;
    if !paced.is_empty() {
        return pace::measure(&options.folder);
    }
    // Runs with other options are other runs.
    let name = options.config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    options.folder.push(format!("{name}-{}-{}", options.trials, options.seed));
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let runs = Runs::new(&options)?;
    let enumerated = runs.tune("enumerated", &["--strategy", "enumerate", "--trials", "10000"])?;
    let trials = options.trials.as_str();
    let joint = runs.tune("joint", &["--strategy", "evolution", "--trials", trials])?;
    let mut single = Vec::new();
    for wkl in runs.instances()? {
        let arguments = ["--strategy", "evolution", "--trials", trials, "--wkl", wkl.as_str()];
        single.push(runs.tune(&wkl, &arguments)?);
    }
    let compared = runs.compare(&enumerated, &joint, &single)?;
    print(&Figures { trials: trials.to_owned(), joint, single, compared }, &options.folder.join("tuning.json"))
}

fn options(args: &[&str]) -> Result<Options, String> {
    let root = crate::steps::root();
    let mut options = Options {
        config: root.join("configs/bert_dense.json"),
        folder: root.join("target/tuning"),
        trials: "256".into(),
        seed: "0".into(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value =
            || args.next().map(|value| (*value).to_owned()).ok_or(format!("{arg}: a value is missing\n\n{USAGE}"));
        match *arg {
            "--trials" => options.trials = value()?,
            "--seed" => options.seed = value()?,
            "--folder" => options.folder = PathBuf::from(value()?),
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`\n\n{USAGE}")),
            config => options.config = Path::new(config).to_owned(),
        }
    }
    Ok(options)
}
