//! What a tuned file that holds was not made for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::winners::CPU;
use super::{Asked, Instance, Tuned};
use crate::Result;
use crate::config::{Config, WklInst};

/// What a config asks for and its tuned file was not made for, or the other way round: one line that says what, and what to do. The file
/// stays in force, since its micro-kernels serve any shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    kernel: String,
    /// The file's target, such as "cpu".
    pub target: String,
    config: PathBuf,
    /// How many instances the file was made for.
    tuned: usize,
    /// What is other, for people; there is at least one.
    changes: Vec<String>,
    /// Positions of the instances that it was not made for in the config's `wkl_insts`.
    pub instances: Vec<usize>,
}

impl Tuned {
    /// What the config, as it stands now, asks for that the file was not made for, and what the file was made for besides; none: nothing.
    /// Instances are told apart by their shapes: what workload variables were called, or stood for, does not matter. Of weights, the
    /// range and the budget of regret, older files say nothing.
    ///
    /// # Errors
    /// As for [`Config::shape_of`].
    pub fn gap(&self, config: &Config, shape_vars: &[String]) -> Result<Option<Gap>> {
        let mut shapes = Vec::new();
        for wkl in &config.wkl_insts {
            shapes.push(shape_vars.iter().cloned().zip(config.shape_of(shape_vars, wkl)?).collect());
        }
        let known: BTreeMap<&Shape, usize> =
            self.instances.iter().enumerate().map(|(at, instance)| (&instance.shape, at)).collect();
        let of_config: Vec<(usize, &WklInst, &Shape)> =
            config.wkl_insts.iter().zip(&shapes).enumerate().map(|(at, (wkl, shape))| (at, wkl, shape)).collect();
        let (kept, missing): (Vec<_>, Vec<_>) =
            of_config.into_iter().partition(|(_, _, shape)| known.contains_key(shape));
        let path = config.path.display();
        let mut changes = Vec::new();
        changes.extend(told(missing.iter().map(|(_, wkl, shape)| named(wkl, shape, &self.instances)), |which, are| {
            format!("{which} of {path} {are} not among them")
        }));
        // One of another shape under the same name was told already.
        let is_gone = |instance: &&Instance| {
            !shapes.contains(&instance.shape) && !missing.iter().any(|(_, wkl, _)| **wkl == instance.wkl)
        };
        let gone = self.instances.iter().filter(is_gone);
        changes.extend(told(gone.map(|instance| named(&instance.wkl, &instance.shape, &[])), |which, are| {
            format!("{which} of them {are} not in {path} any more")
        }));
        if let Some(Asked { weights, range, regret }) = &self.asked {
            let changed = kept.iter().filter_map(|(at, wkl, shape)| {
                let (was, is) = (weights.get(known[shape])?, config.weights[*at]);
                (*was != is).then(|| format!("{} from {was} to {is}", named(wkl, shape, &[])))
            });
            changes.extend(told(changed, |which, _| format!("its weights changed, of {which}")));
            changes.extend(other("range", range, &config.range));
            changes.extend(other("regret", regret, &config.regret));
        }
        changes.extend(other("cache", &self.provenance.cache, &config.search.cache));
        Ok((!changes.is_empty()).then(|| Gap {
            kernel: self.kernel.clone(),
            target: self.target.clone(),
            config: config.path.clone(),
            tuned: self.instances.len(),
            changes,
            instances: missing.iter().map(|(at, _, _)| *at).collect(),
        }))
    }
}

/// The values of shape variables.
type Shape = BTreeMap<String, i64>;

/// The first of some and how many more there are, in a sentence that gets `is` or `are`; none of none.
fn told(some: impl Iterator<Item = String>, sentence: impl Fn(&str, &str) -> String) -> Option<String> {
    let some: Vec<String> = some.collect();
    match some.len().checked_sub(1)? {
        0 => Some(sentence(&some[0], "is")),
        more => Some(sentence(&format!("{} and {more} more", some[0]), "are")),
    }
}

/// What was asked for under a key and is asked for now, where that is other.
fn other<T: PartialEq + Serialize>(key: &str, was: &T, is: &T) -> Option<String> {
    let [old, new] = [was, is].map(|value| match serde_json::to_string(value) {
        Ok(text) if text != "{}" && text != "null" => text,
        _ => "nothing".to_owned(),
    });
    (was != is).then(|| format!("its `{key}` was {old} and is {new}"))
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
        let Gap { kernel, target, tuned, changes, .. } = self;
        let config = self.config.display();
        let plural = if *tuned == 1 { "" } else { "s" };
        write!(f, "`{kernel}` was tuned for {tuned} instance{plural}")?;
        if target != CPU {
            write!(f, " on {target}")?;
        }
        write!(f, "; {}", changes.join("; "))?;
        // What runs on a GPU is not tuned by that command.
        if target == CPU { write!(f, "; run `dietcode tune {config}`") } else { Ok(()) }
    }
}
