//! Space generation: the rules of a target, applied one after the other to the blocks of a program.
//!
//! ```text
//! blocks as the user wrote them ── inlined into one ── tiled, in each way that structure demands ──► sketches
//! ```
//!
//! Source: `PostOrderApply` of MetaSchedule; the order of the rules is that of its defaults for each target.

use std::collections::BTreeMap;
use std::sync::Arc;

use dietcode_syntax::{Affine, KernelDef, LoopDef};

use super::Space;
use crate::ir::{Name, Program};
use crate::machine::Target;
use crate::schedule::Trace;
use crate::sketch::Bounds;
use crate::sketch::apply::check_target;
use crate::sketch::rules::{self, Applied, CustomRules, PartialSketch};
use crate::{Error, Result, frontend};

impl Space {
    /// The sketches of a kernel on a target. Instances are values of its shape variables, in declaration order; without any, the
    /// loops whose extents they decide are unbounded.
    ///
    /// # Errors
    /// An instance of another number of values, or one at which a loop has no iteration; a rule for a block that there is
    /// not; what is wrong with a custom rule.
    pub fn generate(def: &KernelDef, target: Target, instances: &[Vec<i64>], custom: &CustomRules) -> Result<Space> {
        let bounds = Bounds { target, extents: extents(def, instances)? };
        let blocks = frontend::blocks(def);
        let program = blocks.clone().inlined();
        let (partial_sketches, _) = scheduled(blocks, bounds.clone(), custom)?;
        let sketches = partial_sketches
            .into_iter()
            .map(|partial| Trace::new(partial.instructions).with(partial.decisions))
            .collect();
        let rule = custom.of(&program.blocks[0].name);
        Ok(Space { def: def.clone(), program, bounds, sketches, templates: Vec::new(), rule })
    }
}

/// The partial sketches of all sketches, with the rules that made each.
///
/// # Errors
/// As [`Space::generate`], but for instances.
pub fn partial_sketches(def: &KernelDef, bounds: Bounds, custom: &CustomRules) -> Result<Vec<PartialSketch>> {
    Ok(scheduled(frontend::blocks(def), bounds, custom)?.0)
}

/// A rule that applies to no sketch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its name.
    pub rule: &'static str,
    /// The block that it was tried on.
    pub block: Name,
    /// Which of its conditions does not hold: a clause in which the block is called *it*.
    pub why: String,
}

/// The rules that have no effect on a block, in their order, with why that is.
///
/// # Errors
/// As [`Space::generate`], but for instances.
pub fn rules_without_effect(def: &KernelDef, bounds: Bounds, custom: &CustomRules) -> Result<Vec<WithoutEffect>> {
    Ok(scheduled(frontend::blocks(def), bounds, custom)?.1)
}

/// The partial sketches, and the rules that had no effect.
fn scheduled(
    blocks: Program,
    bounds: Bounds,
    custom: &CustomRules,
) -> Result<(Vec<PartialSketch>, Vec<WithoutEffect>)> {
    check_target(&blocks, &bounds.target)?;
    let rules = rules::all(&bounds.target, custom);
    let mut partial_sketches = vec![PartialSketch::new(blocks, Arc::new(bounds))];
    let mut without_effect = Vec::new();
    let blocks: Vec<Name> = partial_sketches[0].program.blocks.iter().map(|block| block.name.clone()).collect();
    for rule in &rules {
        for block in &blocks {
            let (mut next, mut reasons, mut applies) = (Vec::new(), Vec::new(), false);
            for partial in partial_sketches {
                // It may have been inlined.
                let Some(at) = partial.program.blocks.iter().position(|b| b.name == *block) else {
                    next.push(partial);
                    continue;
                };
                match rule.apply(partial.clone(), at)? {
                    Applied::Unmet(why) => {
                        reasons.push(why);
                        next.push(partial);
                    }
                    Applied::Made(mut made) => {
                        applies = true;
                        made.iter_mut().filter(|new| **new != partial).for_each(|new| new.rules.push(rule.name()));
                        next.extend(made);
                    }
                }
            }
            partial_sketches = next;
            let why = reasons.into_iter().next().filter(|_| !applies);
            without_effect.extend(why.map(|why| WithoutEffect { rule: rule.name(), block: block.clone(), why }));
        }
    }
    check_blocks(&partial_sketches[0], custom)?;
    Ok((partial_sketches, without_effect))
}

/// A rule for a block that is not there would silently do nothing.
fn check_blocks(partial: &PartialSketch, custom: &CustomRules) -> Result<()> {
    let mut blocks = partial.program.blocks.iter();
    let unknown = custom.blocks().find(|name| !blocks.clone().any(|block| *block.name == **name));
    let Some(rule) = unknown.and_then(|name| custom.of(name)) else { return Ok(()) };
    let there: Vec<String> = blocks.by_ref().map(|block| format!("`{}`", block.name)).collect();
    Err(Error::input(format!("{rule} has nothing to schedule: what is scheduled is {}", there.join(", "))))
}

/// The extents of each iteration variable at the instances, each once, ascending.
fn extents(def: &KernelDef, instances: &[Vec<i64>]) -> Result<BTreeMap<Name, Vec<i64>>> {
    let constant = |l: &&LoopDef| instances.is_empty() && l.extent.terms.is_empty();
    let constants = def.loops.iter().filter(constant).map(|l| (l.name.as_str().into(), vec![l.extent.constant]));
    let mut extents: BTreeMap<Name, Vec<i64>> = constants.collect();
    for instance in instances {
        if instance.len() != def.shape_vars.len() {
            let (found, expected) = (instance.len(), def.shape_vars.len());
            return Err(Error::input(format!("an instance of `{}` has {found} values, expected {expected}", def.name)));
        }
        for l in &def.loops {
            let extent = value(def, &l.extent, instance).filter(|extent| *extent > 0).ok_or_else(|| {
                let at: Vec<String> =
                    def.shape_vars.iter().zip(instance).map(|(var, v)| format!("{} = {v}", var.name)).collect();
                let (name, at) = (&l.name, at.join(", "));
                Error::input(format!(
                    "`{}` at {at}: the loop `{name}` in 0..{} has no iteration, or more than 2^63",
                    def.name, l.extent
                ))
            })?;
            extents.entry(l.name.as_str().into()).or_default().push(extent);
        }
    }
    for extents in extents.values_mut() {
        extents.sort_unstable();
        extents.dedup();
    }
    Ok(extents)
}

/// An extent at an instance, unless it is beyond 2⁶³.
fn value(def: &KernelDef, form: &Affine, instance: &[i64]) -> Option<i64> {
    let of = |name: &str| def.shape_vars.iter().position(|var| var.name == name).map(|at| instance[at]);
    form.terms.iter().try_fold(form.constant, |sum, (name, c)| sum.checked_add(c.checked_mul(of(name)?)?))
}
