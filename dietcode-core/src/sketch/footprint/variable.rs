//! The variables of a sketch, the values that they may take, and the axes whose tiles they are.

use std::collections::BTreeMap;

use crate::ir::Name;
use crate::schedule::{self, Instruction, Level, Part, Size, Trace};
use crate::sketch::MAX_EXTENT;
use crate::{Error, Result};

/// A sampled variable.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub(crate) name: Name,
    pub(crate) domain: Domain,
}

/// The values of a variable.
#[derive(Clone, Debug)]
pub(crate) enum Domain {
    /// From 1 on; lanes are 2, 4, 8 or 16.
    Factor { axis: usize, level: Level },
    /// One of a few numbers, with their weights.
    Number { candidates: Vec<i64>, weights: Vec<f64> },
    /// The position of a place among so many, outermost first.
    Place { count: usize },
}

/// A [`Size`] with variables by number.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) constant: i64,
    pub(crate) vars: Vec<usize>,
}

impl Product {
    /// The product as a trace names it.
    pub(crate) fn of(size: &Size, vars: &[Var]) -> Product {
        let mut product = Product { constant: 1, vars: Vec::new() };
        for part in &size.0 {
            match part {
                Part::Int(value) => product.constant = product.constant.saturating_mul(*value),
                Part::Var(name) => product.vars.extend(vars.iter().position(|var| var.name == *name)),
            }
        }
        product
    }

    /// Its value.
    pub(crate) fn value(&self, values: &[i64]) -> i64 {
        self.vars.iter().fold(self.constant, |product, var| product.saturating_mul(values[*var]))
    }
}

/// The lanes that vectors have.
pub(crate) const LANES: [i64; 4] = [2, 4, 8, 16];

impl Var {
    /// The value that needs least of the hardware: the smallest number, the innermost place.
    pub(crate) fn least(&self) -> i64 {
        match &self.domain {
            Domain::Factor { level: Level::Lanes, .. } => LANES[0],
            Domain::Factor { .. } => 1,
            Domain::Number { candidates, .. } => candidates.iter().copied().min().unwrap_or(1),
            Domain::Place { count } => *count as i64 - 1,
        }
    }

    /// Whether it is a value of the variable, whatever the hardware has.
    pub(crate) fn admits(&self, value: i64) -> bool {
        match &self.domain {
            Domain::Factor { level: Level::Lanes, .. } => LANES.contains(&value),
            Domain::Factor { .. } => (1..=1 << 31).contains(&value),
            Domain::Number { candidates, .. } => candidates.contains(&value),
            Domain::Place { count } => usize::try_from(value).is_ok_and(|at| at < *count),
        }
    }

    /// Its level, if it is a factor.
    pub(crate) fn level(&self) -> Option<Level> {
        match self.domain {
            Domain::Factor { level, .. } => Some(level),
            _ => None,
        }
    }

    /// What [`Var::admits`], in words.
    pub(crate) fn expected(&self) -> String {
        let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        match &self.domain {
            Domain::Factor { level: Level::Lanes, .. } => format!("one of {}", list(&LANES)),
            Domain::Factor { .. } => "1 to 2^31".into(),
            Domain::Number { candidates, .. } => format!("one of {}", list(candidates)),
            Domain::Place { count } => format!("the position of one of {count} places"),
        }
    }
}

/// An iteration variable with factors.
#[derive(Clone, Debug)]
pub(crate) struct SampledAxis {
    pub(crate) name: Name,
    /// Its factors, outermost first.
    pub(crate) vars: Vec<usize>,
    /// The largest extent that an instance has; [`MAX_EXTENT`] where there is none.
    pub(crate) most: i64,
    /// The largest number that divides the extents of all instances.
    pub(crate) shared: i64,
    /// All that do.
    pub(crate) divisors: Vec<i64>,
    /// The part of a tile that no factor decides: the rows of a matrix instruction, a number that is drawn for itself.
    pub(crate) grain: Product,
}

impl SampledAxis {
    /// Whether tiles that divide all extents are worth it: there are more divisors than factors, and they reach the square root
    /// of the largest extent. A constant extent that is no prime is like that; `16·T` at many `T` is not.
    pub(crate) fn has_perfect_tiles(&self) -> bool {
        let reaches = self.shared.saturating_mul(self.shared) >= self.most;
        reaches && self.divisors.len() > self.vars.len()
    }
}

/// The divisors of a positive number, ascending. Of a number beyond 2³² those between 2¹⁶ and a 2¹⁶th of it are missing: no tile is
/// so large, and they would take too long.
pub(crate) fn divisors(n: i64) -> Vec<i64> {
    let small: Vec<i64> = (1..=n.isqrt().min(1 << 16)).filter(|d| n % d == 0).collect();
    let large = small.iter().rev().map(|d| n / d).filter(|d| *d > n.isqrt());
    small.iter().copied().chain(large).collect()
}

/// The variables of a sketch in the order of their declaration, and its axes; one without extents is unbounded.
///
/// # Errors
/// An axis with an extent that is not positive, a variable that is declared twice or has no values.
pub(crate) fn variables(sketch: &Trace, extents: &BTreeMap<Name, Vec<i64>>) -> Result<(Vec<Var>, Vec<SampledAxis>)> {
    let (mut vars, mut axes) = (Vec::new(), Vec::new());
    for instruction in sketch.instructions.iter() {
        match instruction {
            Instruction::SampleTiles(tiles) => {
                for tile in tiles {
                    let factors = vars.len()..vars.len() + tile.factors.len();
                    axes.push(axis(extents, tile, factors.collect())?);
                    let axis = axes.len() - 1;
                    let factor = |f: &schedule::Factor| (f.var.clone(), Domain::Factor { axis, level: f.level });
                    vars.extend(tile.factors.iter().map(factor).map(|(name, domain)| Var { name, domain }));
                }
            }
            Instruction::SampleCategorical { into, candidates, weights } => {
                let domain = Domain::Number { candidates: candidates.clone(), weights: weights.clone() };
                if let Some(odd) = candidates.iter().find(|value| !(0..=1 << 31).contains(*value)) {
                    return Err(Error::input(format!("the sketch samples `{into}` from {odd}, expected 0 to 2^31")));
                }
                let is_finite = weights.iter().sum::<f64>().is_finite() && weights.iter().all(|weight| *weight >= 0.0);
                let weighted = weights.len() == candidates.len() && is_finite;
                vars.push(checked(into, domain, !candidates.is_empty() && weighted)?);
            }
            Instruction::SampleComputeLocation { into, candidates } => {
                let domain = Domain::Place { count: candidates.len() };
                vars.push(checked(into, domain, !candidates.is_empty())?);
            }
            _ => {}
        }
    }
    axes.iter_mut().for_each(|axis| axis.grain = grain(sketch, &vars, axis));
    match (1..vars.len()).find(|&n| vars[..n].iter().any(|var: &Var| var.name == vars[n].name)) {
        Some(n) => Err(Error::input(format!("the sketch samples `{}` twice:\n{sketch}", vars[n].name))),
        None => Ok((vars, axes)),
    }
}

/// The elements of an axis in one iteration of its outermost loop: the first split has all of the tile below.
pub(super) fn tile_of(sketch: &Trace, vars: &[Var], axis: &Name) -> Product {
    let first = sketch.instructions.iter().find_map(|instruction| match instruction {
        Instruction::Split { parent, factor, .. } if parent == axis => Some(Product::of(factor, vars)),
        _ => None,
    });
    first.unwrap_or(Product { constant: 1, vars: Vec::new() })
}

/// What of a tile is no factor of its axis.
fn grain(sketch: &Trace, vars: &[Var], axis: &SampledAxis) -> Product {
    let mut grain = tile_of(sketch, vars, &axis.name);
    grain.vars.retain(|var| vars[*var].level().is_none());
    grain.constant = grain.constant.max(1);
    grain
}

fn checked(name: &Name, domain: Domain, sound: bool) -> Result<Var> {
    if sound {
        return Ok(Var { name: name.clone(), domain });
    }
    Err(Error::input(format!(
        "the sketch samples `{name}` from no candidates, or from some without a weight each, of which the sum is a number"
    )))
}

fn axis(extents: &BTreeMap<Name, Vec<i64>>, tile: &schedule::Axis, vars: Vec<usize>) -> Result<SampledAxis> {
    let name = tile.name.clone();
    let extents = extents.get(&name).map_or(&[][..], Vec::as_slice);
    if let Some(odd) = extents.iter().find(|extent| **extent < 1) {
        return Err(Error::input(format!(
            "the sketch has tiles along `{name}`, which has {odd} elements at an instance"
        )));
    }
    let most = extents.iter().max().copied().unwrap_or(MAX_EXTENT);
    let shared = extents.iter().copied().reduce(gcd).unwrap_or(1);
    let divisors = divisors(shared);
    Ok(SampledAxis { name, vars, most, shared, divisors, grain: Product { constant: 1, vars: Vec::new() } })
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_of_any_number_are_found_in_no_time() {
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(2_147_483_647), [1, 2_147_483_647]);
        let of_the_largest = divisors(i64::MAX);
        assert!(of_the_largest.iter().all(|d| i64::MAX % d == 0) && of_the_largest.is_sorted());
        assert_eq!((of_the_largest[1], of_the_largest.last()), (7, Some(&i64::MAX)));
    }
}
