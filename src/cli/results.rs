//! `dietcode results`

use std::path::PathBuf;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use dietcode::Result;
use dietcode::core::runtime::tunable::{Counted, Kept, KeptResult, merge_results, prune_results, read_results};
use serde_json::{Value, json};

use super::files::each_once;
use super::json::JsonArgument;
use super::{counted, print};

/// Prints, joins and prunes files in which programs keep what their tunable operations have found.
///
/// Such a file is what DIETCODE_TUNABLE_FILE names, or `tuning::Settings::file` in the program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode results print results.jsonl
  dietcode results print a.jsonl b.jsonl --json -
  dietcode results merge a.jsonl b.jsonl -o both.jsonl
  dietcode results prune results.jsonl --here")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints what is known of each key, what has ended processes, and what is not tuned.
    Print {
        /// Files of results.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        json: JsonArgument,
    },
    /// Adds what several files tell to one: of the same, what the last of them tells.
    Merge {
        /// Files of results.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// The file, which is written whole or not at all, and may be one of the others. If it is there, its lines stay.
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Leaves out lines that are damaged, or that later ones replace; those of another format stay.
    Prune {
        /// A file of results, which is replaced whole or not at all; programs may add to it meanwhile.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Leave out, too, what was found on another CPU or by another version of dietcode, and lines of another format.
        #[arg(long)]
        here: bool,
    },
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Print { files, json } => show(files, json),
        Command::Merge { files, output } => {
            each_once(files, "file")?;
            say(output, merge_results(files, output)?)
        }
        Command::Prune { file, here } => say(file, prune_results(file, *here)?),
    }
}

fn say(file: &std::path::Path, counted_lines: Counted) -> Result<()> {
    let Counted { kept, replaced, foreign, damaged } = counted_lines;
    let what = format!("{replaced} replaced, {foreign} of another version or CPU, {damaged} damaged");
    print(&format!("Written: {}, {} kept; dropped: {what}\n", file.display(), counted(kept, "line")))
}

fn show(files: &[PathBuf], json: &JsonArgument) -> Result<()> {
    each_once(files, "file")?;
    json.check()?;
    let (mut table, mut values) = (Table::new(), Vec::new());
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["operation", "key", "result", "used here"]);
    let mut damaged = String::new();
    for file in files {
        let (all, count) = read_results(file)?;
        if count > 0 {
            damaged += &format!("{}: {} damaged, or of another format\n", file.display(), counted(count, "line"));
        }
        for kept in &all {
            let foreign = kept.foreign.as_deref();
            table.add_row([kept.op.as_str(), &kept.key, &words(kept), foreign.unwrap_or("yes")]);
            values.push(value(kept));
        }
    }
    json.print(&format!("{table}\n{damaged}"))?;
    json.write(&values)
}

fn words(kept: &Kept) -> String {
    match &kept.result {
        KeptResult::Fastest(candidate, times) => {
            let times = times.iter().map(|(name, time)| format!("{name} {time:.1?}"));
            let over = match kept.rotation {
                0 => String::new(),
                bytes => format!(", over {} MiB of operands in turn", bytes.div_ceil(1 << 20)),
            };
            format!("`{candidate}` is the fastest{over}: {}", times.collect::<Vec<_>>().join(", "))
        }
        KeptResult::Ended(candidate) => format!("`{candidate}` has ended a process"),
        KeptResult::Untuned(1) => "not tuned, 1 call or more".to_owned(),
        KeptResult::Untuned(calls) => format!("not tuned, {calls} calls or more"),
    }
}

fn value(kept: &Kept) -> Value {
    let Kept { op, key, validators, result, rotation, foreign, .. } = kept;
    let result = match result {
        KeptResult::Fastest(candidate, times) => {
            let seconds: serde_json::Map<String, Value> =
                times.iter().map(|(name, time)| (name.clone(), json!(time.as_secs_f64()))).collect();
            json!({ "fastest": candidate, "seconds": seconds, "rotation": rotation })
        }
        KeptResult::Ended(candidate) => json!({ "ended": candidate }),
        KeptResult::Untuned(calls) => json!({ "untuned": calls }),
    };
    json!({ "op": op, "key": key, "validators": validators, "result": result, "foreign": foreign })
}
