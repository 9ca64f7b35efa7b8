//! Finds the kernels in the listed sources and their modules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dietcode_core::ir::Program;
use dietcode_core::{Error, frontend};
use dietcode_syntax::{Annotated, Cfg, Errors, KernelDef, Module, mangle, scan_with_modules};

use crate::builder::Kernels;
use crate::cfg;
use crate::environment::Environment;
use crate::modules::{Source, identity};
use crate::report::Report;

/// A kernel and where it stands.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) def: KernelDef,
    pub(crate) program: Program,
    /// The file that it stands in, as its package names it.
    pub(crate) file: PathBuf,
    /// `file:line:column` of its name.
    pub(crate) place: String,
    /// `file:line:column` of the string that names its config.
    pub(crate) config_place: String,
    /// Position of the [`Kernels`] that list it.
    pub(crate) group: usize,
}

/// What the sources hold.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The kernels that the compiler will see.
    pub(crate) kernels: Vec<Found>,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
}

/// A source to be read.
struct Pending {
    source: Source,
    group: usize,
    /// When it is compiled.
    cfg: Cfg,
    /// Whether the build script lists it; else it is a module of such a one.
    listed: bool,
}

/// All kernels of the listed sources and of their modules that the compiler will see, or all that is wrong with them.
pub(crate) fn read(groups: &[Kernels], environment: &Environment, report: &mut Report) -> Result<Sources, Vec<Error>> {
    let mut sources = Sources::default();
    let mut errors = Vec::new();
    let of = |(group, kernels): (usize, &Kernels)| {
        let pending = |file: &PathBuf| Pending {
            source: Source::listed(file, environment),
            group,
            cfg: Cfg::Constant(true),
            listed: true,
        };
        kernels.sources.iter().map(pending).collect::<Vec<_>>()
    };
    let mut pending: VecDeque<Pending> = groups.iter().enumerate().flat_map(of).collect();
    // What is listed is read as it is listed, whatever declares it besides.
    let mut known: BTreeSet<PathBuf> = pending.iter().map(|p| identity(&p.source.file, environment)).collect();
    while let Some(next) = pending.pop_front() {
        report.rerun_if_changed(&next.source.file);
        match annotated(&next, environment) {
            Ok(None) => {}
            Ok(Some((kernels, modules))) => {
                sources.files.push(next.source.file.clone());
                for kernel in kernels {
                    match found(&next, &kernel) {
                        Ok(kernel) => sources.kernels.push(kernel),
                        Err(problems) => errors.extend(problems),
                    }
                }
                let modules = modules.into_iter().filter_map(|module| {
                    let source = next.source.module(&module, environment)?;
                    let cfg = Cfg::All(vec![next.cfg.clone(), module.cfg]);
                    Some(Pending { source, group: next.group, cfg, listed: false })
                });
                pending.extend(modules.filter(|module| {
                    may_hold(&module.cfg, &environment.vars) && known.insert(identity(&module.source.file, environment))
                }));
            }
            Err(problems) => errors.extend(problems),
        }
    }
    errors.extend(doubles(&sources.kernels));
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

/// A kernel with its places.
fn found(next: &Pending, kernel: &Annotated) -> Result<Found, Vec<Error>> {
    let file = &next.source.file;
    let place = |(line, column)| format!("{}:{line}:{column}", file.display());
    let def = kernel.parse().map_err(|problems| placed(file, &problems))?;
    Ok(Found {
        program: frontend::program(&def),
        def,
        file: file.clone(),
        place: place((kernel.line, kernel.column)),
        config_place: place(kernel.config_place()),
        group: next.group,
    })
}

type Scanned = (Vec<Annotated>, Vec<Module>);

/// The annotated functions of a source that may be compiled, and the modules that it declares. That a module has no file is
/// for the compiler to say.
fn annotated(next: &Pending, environment: &Environment) -> Result<Option<Scanned>, Vec<Error>> {
    let file = &next.source.file;
    let text = match std::fs::read_to_string(environment.manifest_dir.join(file)) {
        Ok(text) => text,
        Err(error) if !next.listed && error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = if next.listed { "the build script lists it" } else { "it is a module of a listed file" };
            return Err(vec![
                Error::input(format!("{}: {why}, but it cannot be read", file.display())).caused_by(error),
            ]);
        }
    };
    let (kernels, modules) = scan_with_modules(&text).map_err(|problems| placed(file, &problems))?;
    let compiled =
        |kernel: &Annotated| may_hold(&Cfg::All(vec![next.cfg.clone(), kernel.cfg.clone()]), &environment.vars);
    Ok(Some((kernels.into_iter().filter(compiled).collect(), modules)))
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
