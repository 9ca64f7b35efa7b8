//! `dietcode report`: one page of HTML about records, which asks no host for anything.
//!
//! | file          | what it does                                                        |
//! |---------------|---------------------------------------------------------------------|
//! | `subject`     | records of a kernel on a target, and what lies beside their files   |
//! | `libraries`   | figures of others, by `--bench`                                     |
//! | `model`       | predictions, and what was learned                                   |
//! | `chart`       | axes and marks as SVG                                               |
//! | `page`        | the sections together, with the style and the script                |
//! | `kernels`     | what stands for a micro-kernel, and what a click on it shows        |
//! | the others    | a section each                                                      |
mod accuracy;
mod chart;
mod failures;
mod importance;
mod kernels;
mod libraries;
mod model;
mod page;
mod progress;
mod provenance;
mod regret;
mod shapes;
mod subject;
mod verdicts;

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode::core::doing::doing;
use dietcode::core::search::{Record, Target};
use dietcode::core::whole_file::{check_whole, write_whole};
use dietcode::{Error, Result};

use self::libraries::LibrariesArgument;
use self::subject::Subject;
use super::files::each_once;
use super::records::{FilterArguments, config_path, read};
use super::{counted, print, tell};

/// Draws records as a page of HTML: verdicts, progress, predictions, throughput, regret, failures, and each micro-kernel.
///
/// The page is one file that asks no host for anything. Records hold what was measured; what is dispatched and its regret come from the
/// tuned file, sources and predictions from the config, both beside the records, if they are there and fit this machine.
/// Nothing is measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode report configs/bert_dense.cpu.records.jsonl -o report.html
  dietcode report configs/*.records.jsonl -o all.html
  dietcode bench configs/bert_dense.json --json bench.json
  dietcode report configs/bert_dense.cpu.records.jsonl --bench bench.json -o report.html")]
pub(crate) struct Arguments {
    /// Files of records, such as <config>.cpu.records.jsonl.
    #[arg(value_name = "RECORDS", required = true)]
    files: Vec<PathBuf>,
    /// The page.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    libraries: LibrariesArgument,
}

/// A kernel on a target, with the config beside the file, in the order of the page.
type Key = (String, Target, String, Option<PathBuf>);

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { files, output, libraries } = arguments;
    each_once(files, "file")?;
    let unwritable = |e| Error::of_file(output, "cannot be written", e);
    let place = check_whole(output).map_err(unwritable)?;
    let is_input = files.iter().any(|file| file.canonicalize().is_ok_and(|file| file == place));
    if is_input || place.extension().is_some_and(|extension| ["json", "jsonl"].iter().any(|data| extension == *data)) {
        let found = output.display();
        return Err(Error::input(format!(
            "--output: found {found}, which would be lost; expected a page, such as report.html"
        )));
    }
    let mut groups: BTreeMap<Key, (Vec<Record>, Vec<PathBuf>)> = BTreeMap::new();
    for file in files {
        for record in read(std::slice::from_ref(file), &FilterArguments::default())? {
            let workload = &record.workload;
            let config = config_path(file).filter(|path| path.is_file());
            let key = (workload.kernel.clone(), record.target.clone(), workload.source_hash.clone(), config);
            let (records, of_files) = groups.entry(key).or_default();
            records.push(record);
            if of_files.last() != Some(file) {
                of_files.push(file.clone());
            }
        }
    }
    if groups.is_empty() {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Error::input(format!(
            "{}: found no records, expected those of a search: `dietcode tune` writes them",
            files.join(", ")
        )));
    }
    let _doing = doing("making the page".to_owned());
    let subject = |(number, (records, files))| Subject::of(number, records, files);
    let subjects: Vec<Subject> = groups.into_values().enumerate().map(subject).collect();
    for subject in &subjects {
        subject
            .notices
            .iter()
            .for_each(|notice| tell(&format!("`{}` on {}: {notice}", subject.kernel, subject.target.model())));
    }
    let page = page::page(&subjects, &libraries.read(&subjects)?);
    write_whole(output, [page.into_string()]).map_err(unwritable)?;
    let records = subjects.iter().map(|subject| subject.records.len()).sum();
    print(&format!("Written: {}, a page about {}\n", output.display(), counted(records, "record")))
}
