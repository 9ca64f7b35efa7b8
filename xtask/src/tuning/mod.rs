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

mod agreement;
mod figures;
mod layer;
mod pace;
mod runs;
mod sweep;

use std::path::PathBuf;

use figures::{Figures, print};
pub(crate) use figures::{geometric_mean, median};
use runs::Runs;

use crate::steps::root;

/// What is asked for.
#[derive(clap::Parser)]
pub(crate) struct Options {
    #[arg(default_value_os_t = root().join("configs/bert_dense.json"))]
    config: PathBuf,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/tuning"))]
    folder: PathBuf,
    /// Candidates of each run.
    #[arg(long, value_name = "N", default_value = "256")]
    trials: String,
    /// Where random choices start.
    #[arg(long, value_name = "N", default_value = "0")]
    seed: String,
    /// How many trials a search makes in a second, of shipped configs; fails where they are fewer than they must be.
    #[arg(long)]
    pace: bool,
    /// How far predictions by measurements at a few points are from what micro-kernels do on small grids; fails where that is more than a tenth.
    #[arg(long)]
    sweep: bool,
    /// Whether searches from other seeds, decisions about the same candidates, and measurements of what was chosen agree; fails where they
    /// do not.
    #[arg(long)]
    agreement: bool,
    /// Whether one search of the kernels of a BERT layer finds as much as one for each, in the same time; fails where it does not.
    #[arg(long, conflicts_with = "agreement")]
    layer: bool,
    /// Decide beside a process that takes a core for a third of the time.
    #[arg(long, requires = "agreement")]
    disturb: bool,
}

/// Runs it; an error is a sentence.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.pace {
        return pace::measure(&options.folder);
    }
    if options.sweep {
        return sweep::measure(&options.folder);
    }
    if options.layer {
        return layer::measure(&options.folder.join(format!("layer-{}", options.seed)), &options.seed);
    }
    // Runs with other options are other runs.
    let Options { config, folder, trials, seed, .. } = options;
    let name = config.file_stem().unwrap_or_default().to_string_lossy();
    if options.agreement {
        let folder = folder.join(format!("{name}-{trials}-agreement"));
        return agreement::measure(config, &folder, trials, options.disturb);
    }
    let folder = folder.join(format!("{name}-{trials}-{seed}"));
    let runs = Runs::new(config.clone(), folder.clone(), seed)?;
    let enumerated = runs.tune("enumerated", &["--strategy", "enumerate", "--trials", "10000"])?;
    let joint = runs.tune("joint", &["--strategy", "evolution", "--trials", trials])?;
    let mut single = Vec::new();
    for wkl in runs.instances()? {
        let arguments = ["--strategy", "evolution", "--trials", trials, "--wkl", wkl.as_str()];
        single.push(runs.tune(&wkl, &arguments)?);
    }
    let mut compared = Vec::new();
    for run in &single {
        compared.extend(runs.compare(&run.name, &run.name, "blas", &[&enumerated, &joint, run])?);
    }
    print(&Figures { trials: trials.to_owned(), joint, single, compared }, &folder.join("tuning.json"))
}
