//! Which micro-kernels a kernel gets, and which of them serves which shape.

use std::path::Path;

use dietcode_core::codegen::registry::Decision;
use dietcode_core::config::Config;
use dietcode_core::dispatch::{Expected, Named, Tree, Tuned};
use dietcode_core::sketch::Tiled;
use dietcode_core::target::CpuTarget;
use dietcode_core::{Error, Result, cpu_features};

use crate::environment::Environment;
use crate::report::Report;
use crate::sources::Found;

/// What tuned files are called here.
const TARGET: &str = "cpu";

/// The rows of a kernel's table, and the way to them.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) schedules: Vec<Tiled>,
    pub(crate) decision: Decision,
}

/// The config that a kernel names, if it names one.
pub(crate) fn config(kernel: &Found, environment: &Environment, report: &mut Report) -> Result<Option<Config>> {
    let Some(name) = &kernel.def.config else { return Ok(None) };
    report.rerun_if_changed(Path::new(name));
    let config = Config::read(environment.manifest_dir.join(name)).map_err(|error| {
        Error::new(error.kind(), format!("{}: its config is no good", kernel.place)).caused_by(error)
    })?;
    let (wanted, found) = (&kernel.def.name, &config.kernel.function);
    if found != wanted {
        let message = format!("{}: {name} is a config of `{found}`, expected one of `{wanted}`", kernel.place);
        return Err(Error::input(message));
    }
    // Whether config and nest speak of the same shape variables shows on any instance.
    let shape_vars: Vec<String> = kernel.def.shape_vars.iter().map(|var| var.name.clone()).collect();
    config.wkl_insts.first().map_or(Ok(Vec::new()), |wkl| config.shape_of(&shape_vars, wkl))?;
    Ok(Some(config))
}

/// The winners in the tuned file, if there is one that fits; else the default micro-kernel, and one warning.
pub(crate) fn choose(
    kernel: &Found,
    config: Option<&Config>,
    target: &CpuTarget,
    report: &mut Report,
) -> Result<Choice> {
    let Some(config) = config else { return Ok(default(kernel, target)) };
    let path = config.tuned_path(TARGET);
    Ok(match winners(kernel, config, &path, target, report) {
        Ok(choice) => choice,
        Err(why) => {
            report.warning(&format!("`{}` runs a default micro-kernel: {why}", kernel.def.name));
            default(kernel, target)
        }
    })
}

fn default(kernel: &Found, target: &CpuTarget) -> Choice {
    Choice { schedules: vec![Tiled::default_for(&kernel.def, target)], decision: Decision::Pick(0) }
}

/// What a tuned file says, or why it does not hold.
fn winners(
    kernel: &Found,
    config: &Config,
    path: &Path,
    target: &CpuTarget,
    report: &mut Report,
) -> Result<Choice, String> {
    let def = &kernel.def;
    let shape_vars: Vec<String> = def.shape_vars.iter().map(|var| var.name.clone()).collect();
    let expected = Expected {
        kernel: &def.name,
        target: TARGET,
        shape_vars: &shape_vars,
        source_hash: def.source_hash(),
        space_hash: &config.space_hash(),
        cpu: &target.model,
        features: &cpu_features::names(target.features),
        compiler: &target.compiler,
    };
    let loaded = Tuned::load(path, &expected);
    report.rerun_if_changed(match &loaded {
        // Cargo takes a file that is not there for one that always changes, so the folder is watched for it.
        Err(miss) if miss.is_absent() => path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(path),
        _ => path,
    });
    let tuned = loaded.map_err(|miss| miss.to_string())?;
    let schedules: Vec<Tiled> = tuned.micro_kernels.iter().map(|named| named.tiled().clone()).collect();
    for schedule in &schedules {
        if let Some(violation) = schedule.violations(def, target).first() {
            return Err(format!("{}: its micro-kernel {} is not valid: {violation}", path.display(), schedule.name()));
        }
    }
    Ok(Choice { schedules, decision: resolve(&tuned.tree, &tuned.micro_kernels, &shape_vars) })
}

/// Names become positions. [`Tuned::load`] has checked that each is there.
fn resolve(tree: &Tree, micro_kernels: &[Named], shape_vars: &[String]) -> Decision {
    match tree {
        Tree::Leaf(name) => {
            let row = micro_kernels.iter().position(|named| named.name == *name);
            Decision::Pick(row.expect("a leaf names one of the micro-kernels"))
        }
        Tree::Split(split) => {
            let var = shape_vars.iter().position(|var| *var == split.condition.var);
            Decision::Split {
                var: var.expect("a split names a shape variable"),
                threshold: split.condition.at_most,
                below: Box::new(resolve(&split.then, micro_kernels, shape_vars)),
                above: Box::new(resolve(&split.otherwise, micro_kernels, shape_vars)),
            }
        }
    }
}
