//! The program after every pass, as text, behind what it was made of: `DIETCODE_DUMP_IR=DIR`.
//!
//! ```text
//! == kernel
//! main                       or `beside`, of the other kernel of a split sum
//! == nest
//! fn dense(…) { … }
//! == target
//! {"cuda":"sm_80"}           if it is known: lowering does not ask
//! == trace
//! [
//! {"split":{"parent":"i",…}},
//! …
//! ]
//! == after nest
//! for block in 0..…
//! == after local_padding: no change
//! ```
//!
//! What stands before the first pass says all that the passes depend on: `dietcode lower FILE` replays it
//! ([`crate::sketch::Reproduction`]), so that a dump is a complete report of a defect.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Observer;
use crate::ir::Stmt;
use crate::schedule::{Instruction, Schedule};
use crate::whole_file::write_whole;
use crate::{Error, ErrorKind, Result};

/// The variable that names the folder of the dumps; empty is as if it were not set.
pub const DUMP_IR: &str = "DIETCODE_DUMP_IR";

/// What begins a section of a dump.
pub(crate) const SECTION: &str = "== ";

/// The first words of the section that a pass has.
pub(crate) const AFTER: &str = "after ";

/// The kernel that a schedule's own trace makes, and the one that follows from the trace of that one.
pub(crate) const KERNELS: [&str; 2] = ["main", "beside"];

/// The folder of the dumps, made if it is not there; none: nothing is to be dumped.
///
/// # Errors
/// [`ErrorKind::Unavailable`] if it cannot be made.
pub fn dump_folder() -> Result<Option<PathBuf>> {
    let Some(folder) = named() else { return Ok(None) };
    std::fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, e))?;
    // A folder that is there may still refuse files, which has to be known before long work begins.
    tempfile::tempfile_in(&folder).map_err(|e| unwritable(&folder, e))?;
    Ok(Some(folder))
}

fn named() -> Option<PathBuf> {
    std::env::var_os(DUMP_IR).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn unwritable(folder: &Path, e: std::io::Error) -> Error {
    let message = format!("{DUMP_IR} names {}, where no file can be written", folder.display());
    Error::unavailable(message).caused_by(e)
}

/// Runs the passes, and writes what each made into the folder of the dumps, if there is one.
///
/// # Errors
/// Those of the passes, of which the internal ones name a file; [`ErrorKind::Unavailable`] if the folder cannot be written.
pub(super) fn dumped(
    schedule: &Schedule,
    observe: Observer<'_>,
    passes: impl Fn(&Schedule, Observer<'_>) -> Result<Stmt>,
) -> Result<Stmt> {
    let mut dump = named().map(|folder| (folder, Dump::of(schedule)));
    let made = passes(schedule, &mut |pass, body| {
        observe(pass, body);
        if let Some((_, dump)) = &mut dump {
            dump.pass(pass, body);
        }
    });
    match (made, dump) {
        (Err(e), dump) if e.kind() == ErrorKind::Internal => {
            // Nobody prints the passes in case that one fails: they run again.
            let dump = dump.map_or_else(
                || {
                    let mut dump = Dump::of(schedule);
                    drop(passes(schedule, &mut |pass, body| dump.pass(pass, body)));
                    dump
                },
                |(_, dump)| dump,
            );
            Err(defect(schedule, &e, &dump))
        }
        (made, Some((folder, dump))) => {
            let written = std::fs::create_dir_all(&folder).and_then(|()| dump.write(&folder));
            written.map_err(|e| unwritable(&folder, e))?;
            made
        }
        (made, None) => made,
    }
}

/// An error that only this project can have made, with the file that shows it.
fn defect(schedule: &Schedule, why: &Error, dump: &Dump) -> Error {
    let name = &schedule.program.name;
    let folder = named().unwrap_or_else(std::env::temp_dir);
    let written = std::fs::create_dir_all(&folder).and_then(|()| dump.write(&folder));
    let what = "this is a defect of dietcode, not of what it was given";
    Error::new(
        ErrorKind::Internal,
        match written {
            Ok(path) => format!(
                "`{name}`: {why}; {what}: please report it with the file {}, which shows every pass and which `dietcode \
                 lower` replays",
                path.display()
            ),
            Err(e) => format!(
                "`{name}`: {why}; {what}: please report it with what {DUMP_IR}=DIR writes (no file can be written in {}: {e})",
                folder.display()
            ),
        },
    )
}

/// The text of a dump while passes are added to it.
pub struct Dump {
    name: String,
    text: String,
    /// What the last pass made.
    last: String,
}

impl Dump {
    /// What a schedule is made of, without a pass yet.
    pub fn of(schedule: &Schedule) -> Dump {
        let kernel = KERNELS[usize::from(schedule.beside.is_some())];
        let target = schedule.target.as_ref().map(|target| format!("{SECTION}target\n{}\n", json(target)));
        let instructions: &[Instruction] = schedule.beside.as_deref().unwrap_or(schedule.trace());
        let trace: Vec<String> = instructions.iter().map(json).collect();
        let text = format!(
            "{SECTION}kernel\n{kernel}\n{SECTION}nest\n{}{}{SECTION}trace\n[\n{}\n]\n",
            schedule.program.nest,
            target.unwrap_or_default(),
            trace.join(",\n")
        );
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Dump { name: format!("{}_{}.ir", schedule.program.name, &hash[..12]), text, last: String::new() }
    }

    /// Adds what a pass made.
    pub fn pass(&mut self, pass: &str, body: &Stmt) {
        let body = body.to_string();
        if body == self.last {
            self.line(&format!("{SECTION}{AFTER}{pass}: no change"));
        } else {
            self.line(&format!("{SECTION}{AFTER}{pass}"));
            self.text += &body;
            self.last = body;
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a String takes all that is written");
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn write(&self, folder: &Path) -> std::io::Result<PathBuf> {
        let path = folder.join(&self.name);
        write_whole(&path, [&self.text])?;
        Ok(path)
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers can be written as JSON")
}
