//! What a dump says of a kernel, read back: the nest, the target and the trace of which `dietcode lower` shows every pass.

use std::path::Path;

use dietcode_syntax::{Errors, KernelDef, scan};
use serde::de::DeserializeOwned;

use super::Lowered;
use crate::frontend;
use crate::lower::{AFTER, Dump, KERNELS, SECTION};
use crate::machine::Target;
use crate::schedule::{Instruction, Trace};
use crate::{Error, Result};

/// The largest file that is read, in bytes.
pub const MOST_BYTES: u64 = 16 << 20;

/// A kernel to be lowered again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproduction {
    /// The nest.
    pub def: KernelDef,
    /// What it was scheduled for, if that is known.
    pub target: Option<Target>,
    /// All that was done to it; nothing is added.
    pub trace: Trace,
    /// Whether it is not the kernel that the trace makes, but the other one of a split sum.
    pub beside: bool,
}

/// The sections before the first pass. The target may be missing.
const SECTIONS: [&str; 4] = ["kernel", "nest", "target", "trace"];

impl Reproduction {
    /// Reads the text of a dump, of which the passes may be missing; `path` is what errors name.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with file, line and column, what was found and what was expected.
    pub fn parse(path: &Path, text: &str) -> Result<Reproduction> {
        let sections = sections(path, text)?;
        let of = |name: &str| sections.iter().find(|section| section.name == name);
        let required = |name: &str| {
            let expected = format!("expected a section `{SECTION}{name}` before the first pass");
            of(name).ok_or_else(|| Error::input(format!("{}: found none, {expected}", path.display())))
        };
        let kernel = required("kernel")?;
        let Some(place) = KERNELS.iter().position(|name| *name == kernel.text.trim()) else {
            let found = kernel.text.trim();
            return Err(kernel.error(1, 1, &format!("found `{found:.40}`, expected `main` or `beside`")));
        };
        Ok(Reproduction {
            def: required("nest")?.nest()?,
            target: of("target").map(Section::json).transpose()?,
            trace: required("trace")?.trace()?,
            beside: place == 1,
        })
    }

    /// The text of the dump: what this says, and every pass.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for a trace that does not fit the nest,
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) for a pass that breaks an invariant.
    pub fn dump(&self) -> Result<String> {
        let program = frontend::program(&self.def);
        let mut main = self.trace.replay(&program, &program.blocks[0])?;
        main.target = self.target.clone();
        let mut dump: Option<Dump> = None;
        Lowered::observed(main, &mut |kernel, pass, body| {
            if kernel.beside.is_some() == self.beside {
                dump.get_or_insert_with(|| Dump::of(kernel)).pass(pass, body);
            }
        })?;
        dump.map(|dump| dump.text().to_owned()).ok_or_else(|| {
            Error::input(format!("the trace splits no sum of `{}` for which another kernel is needed", self.def.name))
        })
    }
}

/// A section with the line behind its head, from 1.
struct Section<'t> {
    path: &'t Path,
    name: &'t str,
    text: &'t str,
    line: usize,
}

/// Those before the first pass.
fn sections<'t>(path: &'t Path, text: &'t str) -> Result<Vec<Section<'t>>> {
    let mut sections: Vec<Section<'t>> = Vec::new();
    let mut begin = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let end = begin + line.len();
        match line.trim_end().strip_prefix(SECTION) {
            Some(name) if name.starts_with(AFTER) => break,
            Some(name) => {
                let section = Section { path, name, text: &text[end..end], line: at + 2 };
                let known = SECTIONS.contains(&name);
                if !known || sections.iter().any(|section| section.name == name) {
                    let again = if known { " a second time" } else { "" };
                    let expected = format!("each of {} once, or `{AFTER}` and a pass", SECTIONS.join(", "));
                    return Err(section.error(0, 1, &format!("found `{name:.40}`{again}, expected {expected}")));
                }
                sections.push(section);
            }
            None => match sections.last_mut() {
                Some(section) => section.text = &text[end - line.len() - section.text.len()..end],
                None if line.trim().is_empty() => {}
                None => {
                    let found = line.trim_end();
                    let section = Section { path, name: "", text: "", line: at + 1 };
                    let expected = format!("expected `{SECTION}{}`", SECTIONS[0]);
                    return Err(section.error(1, 1, &format!("found `{found:.40}`, {expected}")));
                }
            },
        }
        begin = end;
    }
    Ok(sections)
}

impl Section<'_> {
    /// An error at a line of the section, from 1, and a column.
    fn error(&self, line: usize, column: usize, sentence: &str) -> Error {
        let line = (self.line + line).saturating_sub(1).max(1);
        Error::input(format!("{}:{line}:{column}: {sentence}", self.path.display()))
    }

    fn nest(&self) -> Result<KernelDef> {
        let placed = |problems: Errors| {
            let line =
                |(line, column, sentence): (usize, usize, String)| self.error(line, column, &sentence).to_string();
            Error::input(problems.iter().map(line).collect::<Vec<_>>().join("\n"))
        };
        let found = scan(self.text).map_err(placed)?;
        match found.as_slice() {
            [only] => only.parse().map_err(placed),
            all => Err(self.error(1, 1, &format!("found {} annotated functions, expected one", all.len()))),
        }
    }

    /// The instructions, or a whole trace with its decisions as a tuned file has it.
    fn trace(&self) -> Result<Trace> {
        match self.text.trim_start().starts_with('[') {
            true => Ok(Trace::new(self.json::<Vec<Instruction>>()?)),
            false => self.json(),
        }
    }

    fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.text).map_err(|e| {
            let sentence = e.to_string();
            // The position stands in front already.
            let sentence = sentence.rsplit_once(" at line ").map_or(&*sentence, |(sentence, _)| sentence);
            self.error(e.line(), e.column(), &format!("section `{}`: {sentence}", self.name))
        })
    }
}
