//! Which micro-kernels a kernel gets, and which of them serves which shape.

use std::path::Path;

use dietcode_core::config::Config;
use dietcode_core::dispatch::{CPU, Winners};
use dietcode_core::machine::CpuTarget;
use dietcode_core::{Error, Result};

use crate::builder::Kernels;
use crate::environment::Environment;
use crate::report::{Report, Tuning};
use crate::sources::Found;

/// The config that a kernel names, if it names one.
pub(crate) fn config(kernel: &Found, environment: &Environment, report: &mut Report) -> Result<Option<Config>> {
    let Some(name) = &kernel.def.config else { return Ok(None) };
    report.rerun_if_changed(Path::new(name));
    let config = Config::read(environment.manifest_dir.join(name)).map_err(|error| {
        Error::new(error.kind(), format!("{}: its config is no good", kernel.config_place)).caused_by(error)
    })?;
    let (wanted, found) = (&kernel.def.name, &config.kernel.function);
    if found != wanted {
        let message = format!("{}: {name} is a config of `{found}`, expected one of `{wanted}`", kernel.config_place);
        return Err(Error::input(message));
    }
    // Whether config and nest speak of the same shape variables shows on any instance.
    let shape_vars = Config::shape_vars(&kernel.def);
    config.wkl_insts.first().map_or(Ok(Vec::new()), |wkl| config.shape_of(&shape_vars, wkl))?;
    Ok(Some(config))
}

/// The winners in the tuned file, if there is one that fits, with a warning where the config has instances that it was not made
/// for; else the default micro-kernel, and a warning.
pub(crate) fn choose(
    group: &Kernels,
    kernel: &Found,
    config: Option<&Config>,
    target: &CpuTarget,
    report: &mut Report,
) -> Winners {
    let name = &kernel.def.name;
    let untuned = |report: &mut Report, tuning| {
        if !group.allow_untuned {
            report.untuned(name, tuning);
        }
    };
    let program = &kernel.program;
    let Some(config) = config else {
        let shape_vars = kernel.def.shape_vars.iter().map(|var| var.name.clone()).collect();
        untuned(report, Tuning::Kernel(format!("{}:{name}", kernel.file.display()), shape_vars));
        return Winners::default_for(program, target);
    };
    let path = config.tuned_path(CPU);
    let loaded = Winners::load(config, &kernel.def, program, target);
    watch(&path, !matches!(&loaded, Err(miss) if miss.is_absent()), report);
    loaded.iter().filter_map(|winners| winners.gap.as_ref()).for_each(|gap| report.warning(&gap.to_string()));
    loaded.unwrap_or_else(|why| {
        match why.is_absent() {
            true => untuned(report, Tuning::Config(config.path.display().to_string())),
            false => report.warning(&format!("`{name}` runs a default micro-kernel: {why}")),
        }
        Winners::default_for(program, target)
    })
}

/// Watches a tuned file, which may not be there. Cargo takes a file that is not there for one that always changes, so its
/// folder is watched instead.
pub(crate) fn watch(path: &Path, there: bool, report: &mut Report) {
    let folder = path.parent().filter(|folder| !there && !folder.as_os_str().is_empty());
    report.rerun_if_changed(folder.unwrap_or(path));
}
