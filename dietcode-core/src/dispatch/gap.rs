//! What a tuned file that holds was not made for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use super::winners::CPU;
use super::{Instance, Tuned};
use crate::Result;
use crate::config::{Config, WklInst};

/// Instances of a config that its tuned file does not have: one line that says which, and what to do. The file stays in force,
/// since its micro-kernels serve any shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    kernel: String,
    /// The file's target, such as "cpu".
    pub target: String,
    config: PathBuf,
    /// How many instances the file was made for.
    tuned: usize,
    /// The first that is missing, for people.
    first: String,
    /// Positions of the missing ones in the config's `wkl_insts`.
    pub instances: Vec<usize>,
}

impl Tuned {
    /// The config's instances that were not tuned, if there are any: those whose shapes, as the config stands now, are not among the
    /// file's. What workload variables were called, or stood for, when it was made does not matter.
    ///
    /// # Errors
    /// As for [`Config::shape_of`].
    pub fn gap(&self, config: &Config, shape_vars: &[String]) -> Result<Option<Gap>> {
        let known: BTreeSet<&BTreeMap<String, i64>> = self.instances.iter().map(|instance| &instance.shape).collect();
        let mut missing = Vec::new();
        for (at, wkl) in config.wkl_insts.iter().enumerate() {
            let shape = shape_vars.iter().cloned().zip(config.shape_of(shape_vars, wkl)?).collect();
            if !known.contains(&shape) {
                missing.push((at, wkl, shape));
            }
        }
        Ok(missing.first().map(|(_, wkl, shape)| Gap {
            kernel: self.kernel.clone(),
            target: self.target.clone(),
            config: config.path.clone(),
            tuned: self.instances.len(),
            first: named(wkl, shape, &self.instances),
            instances: missing.iter().map(|(at, _, _)| *at).collect(),
        }))
    }
}

/// `T=200`; where the file has such an instance of another shape, `T=5 with K=1024`: what is other now. An instance without
/// variables is its shape.
fn named(wkl: &WklInst, shape: &BTreeMap<String, i64>, tuned: &[Instance]) -> String {
    if wkl.is_empty() {
        return listed(shape.iter());
    }
    let earlier = tuned.iter().find(|instance| instance.wkl == *wkl);
    let other = shape.iter().filter(|(var, value)| earlier.is_some_and(|e| e.shape.get(*var) != Some(*value)));
    match listed(other) {
        other if other.is_empty() => listed(wkl.iter()),
        other => format!("{} with {other}", listed(wkl.iter())),
    }
}

fn listed<'a>(values: impl Iterator<Item = (&'a String, &'a i64)>) -> String {
    values.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { kernel, target, tuned, first, instances, .. } = self;
        let config = self.config.display();
        let plural = if *tuned == 1 { "" } else { "s" };
        write!(f, "`{kernel}` was tuned for {tuned} instance{plural}")?;
        if target != CPU {
            write!(f, " on {target}")?;
        }
        match instances.len() - 1 {
            0 => write!(f, "; {first} of {config} is not among them")?,
            more => write!(f, "; {first} and {more} more of {config} are not among them")?,
        }
        // What runs on a GPU is not tuned by that command.
        if target == CPU { write!(f, "; run `dietcode tune {config}`") } else { Ok(()) }
    }
}
