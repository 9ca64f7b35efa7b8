//! Finds the kernels in the listed sources.

use std::collections::BTreeMap;
use std::path::Path;

use dietcode_core::Error;
use dietcode_syntax::{Annotated, Cfg, Errors, KernelDef, mangle, scan};

use crate::Kernels;
use crate::cfg;
use crate::environment::Environment;
use crate::report::Report;

/// A kernel and where it stands.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) def: KernelDef,
    /// `file:line:column` of its name.
    pub(crate) place: String,
    /// Position of the [`Kernels`] that list it.
    pub(crate) group: usize,
}

/// All kernels of these sources that the compiler will see, or all that is wrong with them.
pub(crate) fn read(
    groups: &[Kernels],
    environment: &Environment,
    report: &mut Report,
) -> Result<Vec<Found>, Vec<Error>> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    let sources =
        groups.iter().enumerate().flat_map(|(group, kernels)| kernels.sources.iter().map(move |s| (group, s)));
    for (group, source) in sources {
        report.rerun_if_changed(source);
        match annotated(source, environment) {
            Ok(annotated) => {
                for (place, kernel) in annotated {
                    match kernel.parse() {
                        Ok(def) => found.push(Found { def, place, group }),
                        Err(problems) => errors.extend(placed(source, &problems)),
                    }
                }
            }
            Err(problems) => errors.extend(problems),
        }
    }
    errors.extend(doubles(&found));
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// The annotated functions of a source that may be compiled, each with its place.
fn annotated(source: &Path, environment: &Environment) -> Result<Vec<(String, Annotated)>, Vec<Error>> {
    let text = std::fs::read_to_string(environment.manifest_dir.join(source)).map_err(|error| {
        vec![
            Error::input(format!("{}: the build script lists it, but it cannot be read", source.display()))
                .caused_by(error),
        ]
    })?;
    let annotated = scan(&text).map_err(|problems| placed(source, &problems))?;
    let compiled = annotated.into_iter().filter(|kernel| may_hold(&kernel.cfg, &environment.vars));
    let with_place = |kernel: Annotated| (format!("{}:{}:{}", source.display(), kernel.line, kernel.column), kernel);
    Ok(compiled.map(with_place).collect())
}

/// Whether a predicate holds in some build that this run of the build script serves.
fn may_hold(predicate: &Cfg, vars: &BTreeMap<String, String>) -> bool {
    (0..1_u32 << cfg::UNKNOWN.len()).any(|assumed| {
        predicate.holds(&|name, value| match cfg::UNKNOWN.iter().position(|unknown| *unknown == name) {
            Some(bit) if value.is_none() => assumed >> bit & 1 == 1,
            _ => cfg::holds(vars, name, value),
        })
    })
}

fn placed(source: &Path, problems: &Errors) -> Vec<Error> {
    let sentence = |(line, column, sentence)| Error::input(format!("{}:{line}:{column}: {sentence}", source.display()));
    problems.iter().map(sentence).collect()
}

/// Two kernels whose generated things would have one name; upper and lower case are the same to a variable's name and to
/// some file systems.
fn doubles(found: &[Found]) -> Vec<Error> {
    let mut first: BTreeMap<String, &Found> = BTreeMap::new();
    let mut errors = Vec::new();
    for kernel in found {
        let name = &kernel.def.name;
        if let Some(other) = first.get(&mangle::env_var(name)) {
            errors.push(Error::input(format!(
                "{}: there is a kernel `{}` at {} already: expected names of which no two differ by upper and lower case \
                 only, within one package",
                kernel.place, other.def.name, other.place
            )));
        } else {
            first.insert(mangle::env_var(name), kernel);
        }
    }
    errors
}
