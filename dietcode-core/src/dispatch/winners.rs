//! The micro-kernels that a kernel is built with, and the way to them: what its tuned file says, if that holds here.

use std::path::Path;

use dietcode_syntax::KernelDef;

use super::{Expected, Gap, Miss, Tree, Tuned, default};
use crate::Error;
use crate::codegen::registry::Decision;
use crate::codegen::{TranslationUnit, c};
use crate::config::Config;
use crate::cpu_features;
use crate::ir::Program;
use crate::machine::{CpuTarget, Target};
use crate::sketch::{Lowered, MicroKernel};

/// What tuned files for a CPU are called: `<config>.cpu.tuned.json`.
pub const CPU: &str = "cpu";

/// Micro-kernels and the decision between them.
#[derive(Clone, Debug)]
pub struct Winners {
    /// The rows of the kernel's table.
    pub schedules: Vec<MicroKernel>,
    /// The same, carried out.
    pub lowered: Vec<Lowered>,
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
    pub fn load(config: &Config, def: &KernelDef, program: &Program, target: &CpuTarget) -> Result<Winners, Miss> {
        Winners::load_from(&config.tuned_path(CPU), config, (def, program), target)
    }

    /// The winners in any file that was tuned for a config.
    ///
    /// # Errors
    /// As [`Winners::load`].
    pub fn load_from(
        path: &Path,
        config: &Config,
        (def, program): (&KernelDef, &Program),
        target: &CpuTarget,
    ) -> Result<Winners, Miss> {
        let shape_vars = Config::shape_vars(def);
        let expected = Expected {
            kernel: &def.name,
            target: CPU,
            shape_vars: &shape_vars,
            source_hash: def.source_hash(),
            space_hashes: &config.space_hashes(CPU),
            cpu: &target.model,
            features: &cpu_features::names(target.features),
            compiler: Some(&target.compiler),
        };
        let tuned = Tuned::load(path, &expected)?;
        let schedules = tuned.micro_kernels.clone();
        let mut lowered = Vec::new();
        for micro_kernel in &schedules {
            lowered.push(micro_kernel.lowered(program, &Target::Cpu(target.clone())).map_err(|e| {
                let why = format!("its micro-kernel {} is not valid: {e}", micro_kernel.name());
                Miss::unusable(path, CPU, &why)
            })?);
        }
        let names: Vec<&str> = tuned.micro_kernels.iter().map(|named| named.origin.name.as_str()).collect();
        let decision = resolve(&tuned.tree, &names, &shape_vars);
        let gap = tuned.gap(config, &shape_vars).map_err(|error| Miss::unusable(path, CPU, &error.to_string()))?;
        Ok(Winners { schedules, lowered, decision, tree: tuned.tree.clone(), tuned: Some(tuned), gap })
    }

    /// The translation units of the table's rows.
    ///
    /// # Errors
    /// As [`translation_unit`](c::translation_unit).
    pub fn units(&self, def: &KernelDef, march: &str) -> Result<Vec<TranslationUnit>, Error> {
        let rows = self.schedules.iter().zip(&self.lowered);
        rows.map(|(micro_kernel, lowered)| c::translation_unit(def, &micro_kernel.name(), lowered, march)).collect()
    }

    /// The micro-kernels that run where nothing was tuned: a tile, the nest as it stands, or both with a tree that was grown
    /// from what the cost model says of them.
    pub fn default_for(program: &Program, target: &CpuTarget) -> Winners {
        let (both, tree) = default::default_for(program, target);
        let (schedules, lowered): (Vec<MicroKernel>, Vec<Lowered>) = both.into_iter().unzip();
        let names: Vec<&str> = schedules.iter().map(|micro_kernel| micro_kernel.origin.name.as_str()).collect();
        let vars: Vec<String> = program.shape_vars.iter().map(|var| var.to_string()).collect();
        Winners { decision: resolve(&tree, &names, &vars), schedules, lowered, tree, tuned: None, gap: None }
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
            let of = split.condition.of.map(&|name| shape_vars.iter().position(|var| var == name));
            Decision::Split {
                of: of.expect("a split names shape variables"),
                threshold: split.condition.at_most,
                below: Box::new(resolve(&split.then, names, shape_vars)),
                above: Box::new(resolve(&split.otherwise, names, shape_vars)),
            }
        }
    }
}
