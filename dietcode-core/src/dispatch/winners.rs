//! The micro-kernels that a kernel is built with, and the way to them: what its tuned file says, if that holds here.

use std::path::Path;

use dietcode_syntax::KernelDef;

use super::{Expected, Gap, Miss, Named, Tree, Tuned, default};
use crate::codegen::registry::Decision;
use crate::config::Config;
use crate::cpu_features;
use crate::machine::CpuTarget;
use crate::sketch::MicroKernel;

/// What tuned files for a CPU are called: `<config>.cpu.tuned.json`.
pub const CPU: &str = "cpu";

/// Micro-kernels and the decision between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Winners {
    /// The rows of the kernel's table.
    pub schedules: Vec<MicroKernel>,
    /// Which of them serves which shape.
    pub decision: Decision,
    /// The same, with the names of the micro-kernels.
    pub tree: Tree,
    /// The file they are from; none for the default.
    pub tuned: Option<Tuned>,
    /// The config's instances that the file was not made for, if there are any.
    pub gap: Option<Gap>,
}

impl Winners {
    /// The winners beside a config.
    ///
    /// # Errors
    /// Why they are not to be used, in one line: there is no file, or it was made for something else, or it is no good.
    pub fn load(config: &Config, def: &KernelDef, target: &CpuTarget) -> Result<Winners, Miss> {
        Winners::load_from(&config.tuned_path(CPU), config, def, target)
    }

    /// The winners in any file that was tuned for a config.
    ///
    /// # Errors
    /// As [`Winners::load`].
    pub fn load_from(path: &Path, config: &Config, def: &KernelDef, target: &CpuTarget) -> Result<Winners, Miss> {
        let shape_vars = Config::shape_vars(def);
        let expected = Expected {
            kernel: &def.name,
            target: CPU,
            shape_vars: &shape_vars,
            source_hash: def.source_hash(),
            space_hash: &config.space_hash(),
            cpu: &target.model,
            features: &cpu_features::names(target.features),
            compiler: Some(&target.compiler),
        };
        let tuned = Tuned::load(path, &expected)?;
        let mut schedules = Vec::new();
        for Named { name, schedule, .. } in &tuned.micro_kernels {
            if let Some(violation) = schedule.violations_on_cpu(def, target).first() {
                let why = format!("its micro-kernel {name} is not valid: {violation}");
                return Err(Miss::unusable(path, CPU, &why));
            }
            schedules.push(schedule.clone());
        }
        let names: Vec<&str> = tuned.micro_kernels.iter().map(|named| named.name.as_str()).collect();
        let decision = resolve(&tuned.tree, &names, &shape_vars);
        let gap = tuned.gap(config, &shape_vars).map_err(|error| Miss::unusable(path, CPU, &error.to_string()))?;
        Ok(Winners { schedules, decision, tree: tuned.tree.clone(), tuned: Some(tuned), gap })
    }

    /// The micro-kernels that run where nothing was tuned: a tile, the nest as it stands, or both with a tree that was grown
    /// from what the cost model says of them.
    pub fn default_for(def: &KernelDef, target: &CpuTarget) -> Winners {
        let (schedules, tree) = default::default_for(def, target);
        let names: Vec<String> = schedules.iter().map(MicroKernel::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Winners { decision: resolve(&tree, &names, &Config::shape_vars(def)), schedules, tree, tuned: None, gap: None }
    }
}

/// Names become positions. Each is there: [`Tuned::load`] has checked it, or the tree was grown from these names.
pub(super) fn resolve(tree: &Tree, names: &[&str], shape_vars: &[String]) -> Decision {
    match tree {
        Tree::Leaf(name) => {
            let row = names.iter().position(|known| known == name);
            Decision::Pick(row.expect("a leaf names one of the micro-kernels"))
        }
        Tree::Split(split) => {
            let var = shape_vars.iter().position(|var| *var == split.condition.var);
            Decision::Split {
                var: var.expect("a split names a shape variable"),
                threshold: split.condition.at_most,
                below: Box::new(resolve(&split.then, names, shape_vars)),
                above: Box::new(resolve(&split.otherwise, names, shape_vars)),
            }
        }
    }
}
