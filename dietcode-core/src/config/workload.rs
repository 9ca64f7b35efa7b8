//! Shapes, workload instances and their weights.

use std::collections::{BTreeMap, BTreeSet};

use dietcode_syntax::Affine;

use super::nearest::nearest;
use super::reader::Node;
use super::{Config, MAX_EXTENT, expression, is_identifier};
use crate::{Error, Result};

/// A workload instance: the values of the workload variables.
pub type WklInst = BTreeMap<String, i64>;

impl Config {
    /// The extents of the kernel's shape variables, in their order, at a workload instance.
    ///
    /// # Errors
    /// If the config and the kernel do not have the same shape variables, the instance lacks a workload variable or has
    /// one too many, or an extent is negative or too large.
    pub fn shape_of(&self, shape_vars: &[String], wkl: &WklInst) -> Result<Vec<i64>> {
        let error = |message: String| Error::input(format!("{}: {message}", self.path.display()));
        let misfit = |message: String| Error::input(format!("{}: {message}", self.places.shape));
        if let Some((extra, _)) = self.shape.iter().find(|(name, _)| !shape_vars.contains(name)) {
            let function = &self.kernel.function;
            let known = match shape_vars {
                [] => "no shape variables".to_string(),
                _ => format!("the shape variables {}", shape_vars.join(", ")),
            };
            return Err(misfit(format!(
                "found `{extra}`, but `{function}` has {known}; an extent that is a number, or a constant that \
                 the kernel declares by `consts(…)`, is none"
            )));
        }
        check_variables(&self.shape, wkl).map_err(error)?;
        let extent_of = |var: &String| {
            let found = self.shape.iter().find(|(name, _)| name == var);
            let (_, affine) = found.ok_or_else(|| misfit(format!("the shape variable `{var}` is missing")))?;
            extent(var, affine, wkl, 0).map_err(error)
        };
        shape_vars.iter().map(extent_of).collect()
    }
}

pub(super) fn read_shape(node: &Node<'_>) -> Result<Vec<(String, Affine)>> {
    let mut shape = Vec::new();
    for (name, value) in node.entries("an object from shape variables to expressions")? {
        if !is_identifier(name) {
            return Err(value.error("found a key that is no identifier, expected the name of a shape variable"));
        }
        shape.push((name.to_string(), read_extent(&value)?));
    }
    Ok(shape)
}

fn read_extent(node: &Node<'_>) -> Result<Affine> {
    if node.is_string() {
        return expression::parse(node.string("")?).map_err(|problem| node.error(&problem));
    }
    let number = node.integer(1..=MAX_EXTENT);
    number
        .map(Affine::constant)
        .map_err(|_| node.expected(&format!("a whole number from 1 to {MAX_EXTENT} or an expression such as \"16*T\"")))
}

pub(super) fn read_wkl_insts(node: &Node<'_>, shape: &[(String, Affine)]) -> Result<Vec<WklInst>> {
    let read = |element: &Node<'_>| read_wkl_inst(element, shape);
    read_distinct(
        node,
        "found the same workload instance a second time, expected each once; its weight says how much it counts",
        read,
    )
}

/// Shapes that are given as they are: values of shape variables.
pub(super) fn read_shapes(node: &Node<'_>) -> Result<Vec<WklInst>> {
    let read = |element: &Node<'_>| read_values(element, "an object from shape variables to numbers", 1);
    read_distinct(node, "found the same shape a second time, expected each once", read)
}

fn read_distinct(node: &Node<'_>, twice: &str, read: impl Fn(&Node<'_>) -> Result<WklInst>) -> Result<Vec<WklInst>> {
    let mut instances: Vec<WklInst> = Vec::new();
    for element in &node.filled_array("an array of at least one workload instance, such as [{\"T\": 5}]")? {
        let wkl = read(element)?;
        if instances.contains(&wkl) {
            return Err(element.error(twice));
        }
        instances.push(wkl);
    }
    Ok(instances)
}

/// Numbers by name, from `least` to the largest extent.
fn read_values(node: &Node<'_>, expected: &str, least: i64) -> Result<WklInst> {
    let mut wkl = WklInst::new();
    for (name, value) in node.entries(expected)? {
        wkl.insert(name.to_string(), value.integer(least..=MAX_EXTENT)?);
    }
    Ok(wkl)
}

fn read_wkl_inst(node: &Node<'_>, shape: &[(String, Affine)]) -> Result<WklInst> {
    let wkl = read_values(node, "an object from workload variables to numbers", 0)?;
    check_variables(shape, &wkl).map_err(|problem| node.error(&problem))?;
    for (name, affine) in shape {
        extent(name, affine, &wkl, 1).map_err(|problem| node.error(&problem))?;
    }
    Ok(wkl)
}

pub(super) fn read_weights(node: &Node<'_>, instances: usize) -> Result<Vec<f64>> {
    let elements = node.array("an array of numbers from 1e-9 to 1e9")?;
    if elements.len() != instances {
        return Err(node.fail(&format!("{} weights", elements.len()), &format!("{instances}, one per instance")));
    }
    elements.iter().map(|element| element.factor()).collect()
}

/// The variables of the shape expressions.
pub(super) fn variables(shape: &[(String, Affine)]) -> BTreeSet<&str> {
    shape.iter().flat_map(|(_, affine)| &affine.terms).map(|(name, _)| name.as_str()).collect()
}

/// Each name must be one of the variables of the shape expressions.
pub(super) fn check_names<'a>(
    shape: &[(String, Affine)],
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), String> {
    let used = variables(shape);
    let Some(unknown) = names.into_iter().find(|name| !used.contains(name)) else { return Ok(()) };
    let near = nearest(unknown, used.iter().copied());
    let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    let expected = match used.len() {
        0 => "none, since no extent depends on one".to_string(),
        1 => listed(used.iter()),
        _ => format!("one of {}", listed(used.iter())),
    };
    let unknown = unknown.escape_debug();
    Err(format!("found the unknown workload variable `{unknown}`, expected {expected}{hint}"))
}

/// The instance must have the variables of the shape expressions, and no others.
fn check_variables(shape: &[(String, Affine)], wkl: &WklInst) -> Result<(), String> {
    check_names(shape, wkl.keys().map(String::as_str))?;
    let used = variables(shape);
    let missing: Vec<&str> = used.iter().copied().filter(|name| !wkl.contains_key(*name)).collect();
    let (are_missing, them) = match missing.len() {
        0 => return Ok(()),
        1 => (format!("the workload variable {} is missing", listed(missing.iter())), "it"),
        _ => (format!("the workload variables {} are missing", listed(missing.iter())), "them"),
    };
    if wkl.is_empty() {
        return Err(are_missing);
    }
    Err(format!("{are_missing}, expected {them} beside {}", listed(wkl.keys())))
}

fn listed(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names.map(|name| format!("`{}`", name.as_ref().escape_debug())).collect::<Vec<_>>().join(", ")
}

/// The value of a shape variable, from `least` to the largest extent.
pub(super) fn extent(name: &str, affine: &Affine, wkl: &WklInst, least: i64) -> Result<i64, String> {
    let value = affine
        .terms
        .iter()
        .try_fold(affine.constant, |sum, (var, coefficient)| sum.checked_add(coefficient.checked_mul(*wkl.get(var)?)?));
    let found = match value {
        Some(value) if (least..=MAX_EXTENT).contains(&value) => return Ok(value),
        Some(value) => value.to_string(),
        None => "more than fits 64 bits".to_string(),
    };
    let at: Vec<String> = wkl.iter().map(|(var, value)| format!("{var}={value}")).collect();
    Err(format!("`{name}` = {affine} is {found} at {}, expected from {least} to {MAX_EXTENT}", at.join(",")))
}
