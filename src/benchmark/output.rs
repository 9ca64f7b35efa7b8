//! The files that a run leaves: results as JSON, and a flat table.

use super::arguments::Arguments;
use super::results::{Outcome, Results, Run};
use dietcode_core::whole_file::{folder, write_whole};
use dietcode_core::{Error, Result};

/// Fails at once, not after minutes of measuring, if a file that is to be written cannot be.
pub(super) fn check(arguments: &Arguments) -> Result<()> {
    for path in arguments.json_file().into_iter().chain(&arguments.csv) {
        let odd = |expected: &str| Error::input(format!("{}: cannot be written: expected {expected}", path.display()));
        let folder = folder(path);
        if path.file_name().is_none() || !folder.is_dir() {
            return Err(odd("the path of a file in a folder that is there"));
        }
        // The file takes the place of what is there, which must not be a folder, a device, or the end of a pipe.
        if path.exists() && !path.is_file() {
            return Err(odd("the path of a file, which is written whole or not at all"));
        }
        tempfile::tempfile_in(folder).map_err(|e| odd("a folder that files can be written to").caused_by(e))?;
    }
    if arguments.json_file().is_some() && arguments.json_file() == arguments.csv.as_ref() {
        return Err(Error::input(
            "--json and --csv name the same file, expected two: the second would replace the first",
        ));
    }
    Ok(())
}

/// Writes what was asked for, each file whole or not at all.
pub(super) fn write(results: &Results, arguments: &Arguments) -> Result<()> {
    arguments.json_file().map_or(Ok(()), |path| results.write(path))?;
    arguments.csv.iter().try_for_each(|path| {
        write_whole(path, [table(results)?]).map_err(|e| Error::of_file(path, "cannot be written", e))
    })
}

const HEAD: [&str; 13] = [
    "kernel",
    "shape",
    "threads",
    "name",
    "family",
    "outcome",
    "seconds_median",
    "seconds_iqr",
    "repeats",
    "gflops_median",
    "rel_err",
    "vs_library",
    "vs_dispatched",
];

/// One line for each configuration and baseline of each run.
fn table(results: &Results) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let lines = std::iter::once(HEAD.map(str::to_owned).to_vec()).chain(results.runs.iter().flat_map(lines));
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("the table cannot be made: {e}"));
    for line in lines {
        writer.write_record(&line).map_err(|e| failed(&e))?;
    }
    writer.into_inner().map_err(|e| failed(&e))
}

fn lines(run: &Run) -> Vec<Vec<String>> {
    let library = run.baselines.iter().find(|baseline| baseline.micro_kernel.is_none());
    let baselines = run.baselines.iter().map(|b| line(run, &b.name, "baseline", &b.outcome, [None, None]));
    let configurations = run.configurations.iter().map(|entry| {
        let of = |name: &str| entry.ratios.get(name).copied();
        let ratios = [library.and_then(|library| of(&library.name)), of(super::bench::DISPATCHED)];
        line(run, &entry.name, entry.parameters.family(), &entry.outcome, ratios)
    });
    baselines.chain(configurations).collect()
}

fn line(run: &Run, name: &str, family: &str, outcome: &Outcome, ratios: [Option<f64>; 2]) -> Vec<String> {
    let shape: Vec<String> = run.shape.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let told = match outcome {
        Outcome::Measured(_) => "measured".to_owned(),
        Outcome::Failed(failure) => format!("failed: {failure}"),
        Outcome::Unserved(why) => format!("unserved: {why}"),
        Outcome::NotReached => "not reached".to_owned(),
    };
    let mut line = vec![run.kernel.clone(), shape.join(" "), run.threads.to_string(), name.into(), family.into(), told];
    line.extend(match outcome.sample() {
        Some(sample) => {
            let (time, rate) = (sample.seconds(), sample.gflops(run.flops));
            [time.median, time.iqr, time.repeats as f64, rate.median, sample.rel_err].map(|x| x.to_string()).to_vec()
        }
        None => vec![String::new(); 5],
    });
    line.extend(ratios.map(|ratio| ratio.map_or_else(String::new, |ratio| ratio.to_string())));
    line
}
