//! `dietcode records`

mod filter;
mod progress;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;

use dietcode::core::search::{Record, prune, scan, unite};
use dietcode::{Error, Result};

pub(crate) use self::filter::{FilterArguments, config_path};
pub(crate) use self::progress::charts;
use super::files::each_once;
use super::report::ReportFiles;
use super::{counted, print, tell};

/// Prints, filters, joins and prunes files of tuning records.
///
/// Without more, the best micro-kernel of each instance on each target stands in a table; JSON has the records of the table, and
/// what is drawn is how the best of each run came with its trials. Files
/// are those that `dietcode tune` writes beside a config, <config>.cpu.records.jsonl, or `dietcode gpu-check` beside its result.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  dietcode records configs/bert_dense.cpu.records.jsonl
  dietcode records configs/*.records.jsonl --kernel dense --wkl T=43
  dietcode records a.jsonl --failed crash --since 2h
  dietcode records a.jsonl --plot progress.svg
  dietcode records merge a.jsonl b.jsonl -o both.jsonl
  dietcode records prune a.jsonl --best 5"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Files of records.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Every record in its order, not the best of each instance.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    report: ReportFiles,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Writes the records of several files to one, each once, by time.
    Merge {
        /// Files of records.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// The file, which is written whole or not at all, and may be one of the others. Records that it has stay, also those that
        /// a search appends meanwhile.
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Keeps the fastest micro-kernels of each instance, and one record of each that failed.
    ///
    /// What is left serves a new search: it begins with the best, and never tries again what failed. A run whose records were
    /// pruned cannot be resumed without measuring again.
    Prune {
        /// A file of records, which is replaced whole or not at all; a search may append to it meanwhile.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How many micro-kernels to keep of each instance on a target at a number of threads.
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
        best: u64,
    },
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Some(Command::Merge { files, output }) => merge(files, output),
        Some(Command::Prune { file, best }) => prune_file(file, usize::try_from(*best).unwrap_or(usize::MAX)),
        None => show(arguments),
    }
}

fn show(arguments: &Arguments) -> Result<()> {
    arguments.report.check()?;
    let records = read(&arguments.files, &arguments.filter)?;
    let shown: Vec<&Record> = match arguments.all || arguments.filter.failed.is_some() {
        true => records.iter().collect(),
        false => table::best(&records),
    };
    arguments.report.print(&table::text(&records, &shown))?;
    arguments.report.write(&shown, || charts(&records))
}

/// The records of files that a filter asks for. Lines that are none are told.
///
/// # Errors
/// A file that cannot be read, or that holds other lines only; one that is there twice.
pub(crate) fn read(files: &[PathBuf], filter: &FilterArguments) -> Result<Vec<Record>> {
    each_once(files, "file")?;
    let (asked, mut records, mut known) = (filter.filter()?, Vec::new(), None::<BTreeSet<String>>);
    for path in files {
        let instances = filter.instances(path);
        instances.variables.iter().for_each(|vars| known.get_or_insert_default().extend(vars.iter().cloned()));
        let scanned = scan(path, |record, _| {
            if let Some(shape) = &record.workload.shape {
                known.get_or_insert_default().extend(shape.keys().cloned());
            }
            records.extend((asked.matches(&record) && instances.has(&record)).then_some(record));
            Ok(())
        })?;
        scanned.notices(path).iter().for_each(|notice| tell(notice));
        if scanned.records == 0 && (scanned.foreign > 0 || scanned.torn > 0) {
            let what = "found none, expected tuning records, one JSON object a line";
            return Err(Error::input(format!("{}: {what}, as `dietcode tune` writes them", path.display())));
        }
    }
    // Of files without any, nothing can be told.
    known.iter().try_for_each(|known| filter.check_variables(known))?;
    Ok(records)
}

fn merge(files: &[PathBuf], output: &std::path::Path) -> Result<()> {
    let united = unite(files, output)?;
    united.notices.iter().for_each(|notice| tell(notice));
    print(&format!(
        "Written: {}, {}; {} were there more than once\n",
        output.display(),
        counted(united.records, "record"),
        united.duplicates
    ))
}

fn prune_file(file: &std::path::Path, best: usize) -> Result<()> {
    let pruned = prune(file, best)?;
    let mut text =
        format!("Written: {}, {} kept, {} dropped", file.display(), counted(pruned.kept, "record"), pruned.dropped);
    for (lines, what) in [(pruned.foreign, "that are no records kept"), (pruned.unreadable, "torn or too long dropped")]
    {
        if lines > 0 {
            text += &format!("; {} {what}", counted(lines, "line"));
        }
    }
    print(&format!("{text}\n"))
}
