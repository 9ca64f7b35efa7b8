//! `dietcode lower`

use std::path::PathBuf;

use dietcode::core::config::read_file;
use dietcode::core::sketch::{MOST_BYTES, Reproduction};
use dietcode::{Error, Result};

use super::print;

/// Lowers one kernel again, as a dump of `DIETCODE_DUMP_IR=DIR` or the report of a defect describes it, and prints the program
/// after every pass.
///
/// The file has sections, each behind a line `== NAME`: `kernel` (`main`, or `beside` for the other kernel of a split sum), `nest` (the
/// annotated function), `target` (which may be missing) and `trace` (the instructions as JSON, to which nothing is added). What follows
/// from `== after …` on is not read. What is printed is such a file too, with the passes of this version.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  DIETCODE_DUMP_IR=dumps dietcode emit configs/bert_dense.json -o out   a file for each kernel that is lowered
  dietcode lower dumps/dense_0123456789ab.ir")]
pub(crate) struct Arguments {
    /// The dump.
    file: PathBuf,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.file;
    let text = String::from_utf8(read_file(path, MOST_BYTES, "dump")?)
        .map_err(|e| Error::input(format!("{}: cannot be read", path.display())).caused_by(e))?;
    print(&Reproduction::parse(path, &text)?.dump()?)
}
