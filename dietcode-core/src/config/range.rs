//! `range`: between which values of its workload variables a program calls the kernel.

use std::collections::BTreeMap;

use dietcode_syntax::Affine;

use super::reader::Node;
use super::workload::{WklInst, check_names, extent, variables};
use super::{Config, MAX_EXTENT};
use crate::Result;

/// The least and the largest value of workload variables, both included.
pub type Range = BTreeMap<String, [i64; 2]>;

const EXPECTED: &str = "an array of the least and the largest value, such as [1, 512]";

impl Config {
    /// The range of each workload variable for some of the config's instances: as the config says, or else what the instances span
    /// and a factor of two around it, at least 1. A variable of which they have one value keeps it.
    pub fn range_of(&self, instances: &[WklInst]) -> Range {
        let of = |name: &&str| {
            let [least, most] = span(name, instances)?;
            let around =
                if least == most { [least; 2] } else { [(least / 2).max(1).min(least), most.saturating_mul(2)] };
            Some(((*name).to_owned(), self.range.get(*name).copied().unwrap_or(around)))
        };
        variables(&self.shape).iter().filter_map(of).collect()
    }
}

/// The least and the largest value of a variable; none: no instance has it.
fn span(name: &str, instances: &[WklInst]) -> Option<[i64; 2]> {
    let values = || instances.iter().filter_map(|wkl| wkl.get(name).copied());
    Some([values().min()?, values().max()?])
}

/// Pairs by variable, each of which contains the instances. An extent that depends on one variable alone is valid at both of its ends.
pub(super) fn read(node: &Node<'_>, shape: &[(String, Affine)], instances: &[WklInst]) -> Result<Range> {
    let mut range = Range::new();
    for (name, node) in node.entries("an object from workload variables to ranges, such as {\"T\": [1, 512]}")? {
        check_names(shape, [name]).map_err(|problem| node.error(&problem))?;
        let pair = read_pair(&node, name, instances)?;
        for (extent_of, affine) in
            shape.iter().filter(|(_, affine)| matches!(&*affine.terms, [(var, _)] if var == name))
        {
            let at = |value| extent(extent_of, affine, &WklInst::from([(name.to_owned(), value)]), 1);
            pair.into_iter().try_for_each(|end| at(end).map(drop)).map_err(|problem| node.error(&problem))?;
        }
        range.insert(name.to_owned(), pair);
    }
    Ok(range)
}

fn read_pair(node: &Node<'_>, name: &str, instances: &[WklInst]) -> Result<[i64; 2]> {
    let [least, most] = match &node.array(EXPECTED)?[..] {
        [least, most] => [least.integer(0..=MAX_EXTENT)?, most.integer(0..=MAX_EXTENT)?],
        other => return Err(node.fail(&format!("an array of {}", other.len()), EXPECTED)),
    };
    if least > most {
        return Err(node.fail(&format!("[{least}, {most}]"), &format!("the least value first: [{most}, {least}]")));
    }
    let [first, last] = span(name, instances).unwrap_or([least, most]);
    if first < least || last > most {
        let expected = format!("a range that contains all instances: from {first} or less to {last} or more");
        return Err(node.fail(&format!("[{least}, {most}]"), &expected));
    }
    Ok([least, most])
}
