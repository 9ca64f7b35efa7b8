//! What an output must be, in double precision: all of it if it is small, else a sample of its elements.

use std::collections::BTreeMap;

use dietcode_syntax::{DType, KernelDef, Role};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::doing::doing;
use crate::instance::unflatten;
use crate::ir::{Name, Program};
use crate::measure::Instance;
use crate::measure::inputs;
use crate::reference::{self, Arithmetic, Tensors};
use crate::runtime::element::Rounded;
use crate::runtime::element::of_element;

/// So many elements are computed of a large output; each takes as many steps as there are terms in its sum.
const SAMPLE: usize = 1024;

/// An output of no more elements, whose sums have no more terms together, is computed as a whole.
const WHOLE: i64 = 1 << 16;
const WHOLE_TERMS: i64 = 1 << 22;

/// Elements of an output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// How many elements the nest writes; each once.
    pub written: usize,
    /// Which are known, by their number in row-major order.
    pub at: Vec<usize>,
    /// Their values.
    pub values: Vec<f64>,
    /// How far they may be off, for each arithmetic that is checked.
    pub bounds: Vec<(Arithmetic, Vec<f64>)>,
}

impl Expectation {
    /// What a kernel is expected to compute at an instance of inputs that are made from a seed, for implementations of these
    /// kinds of arithmetic.
    ///
    /// # Errors
    /// If the reference cannot be evaluated there.
    pub fn of(
        def: &KernelDef,
        program: &Program,
        instance: &Instance,
        arithmetic: &[Arithmetic],
        seed: u64,
    ) -> Result<Expectation> {
        let _doing = doing(format!("computing the reference of `{}` at shape {:?}", def.name, instance.shape));
        let shape = names(def).zip(instance.shape.iter().copied()).collect::<BTreeMap<Name, i64>>();
        let tensors = inputs(def, instance, seed);
        let spatial = extents(def, instance, Role::Spatial);
        let terms =
            extents(def, instance, Role::Reduce).iter().fold(1, |terms: i64, extent| terms.saturating_mul(*extent));
        let written = spatial.iter().product::<i64>() as usize;
        let iterations = sample(&spatial, most(written, terms), seed);
        let mut expected = Expectation { written, at: vec![], values: vec![], bounds: vec![] };
        for arithmetic in arithmetic {
            let parts: Vec<_> = iterations
                .par_chunks(16)
                .map(|part| reference::evaluate_at(program, &shape, &tensors, *arithmetic, part))
                .collect::<Result<_>>()?;
            // A quotient or a root may be infinite; there is no bound to compare it within.
            let seen: Vec<_> =
                parts.into_iter().flatten().filter(|(_, x)| x.value.is_finite() && x.error.is_finite()).collect();
            expected.at = seen.iter().map(|(at, _)| *at).collect();
            expected.values = seen.iter().map(|(_, x)| x.value).collect();
            expected.bounds.push((*arithmetic, seen.iter().map(|(_, x)| x.error).collect()));
        }
        Ok(expected)
    }
}

/// The names of a kernel's shape variables.
pub(super) fn names(def: &KernelDef) -> impl Iterator<Item = Name> {
    def.shape_vars.iter().map(|var| Name::from(&*var.name))
}

/// Of the loops of a role.
fn extents(def: &KernelDef, instance: &Instance, role: Role) -> Vec<i64> {
    let loops = def.loops.iter().filter(|l| l.role == role);
    loops.map(|l| l.extent.evaluate(|name| def.value_at(&instance.shape, name)).unwrap_or(0)).collect()
}

/// The tensors as a worker makes them, rounded to their element types.
fn inputs(def: &KernelDef, instance: &Instance, seed: u64) -> Tensors {
    let tensor = |param: usize| {
        let elements = inputs::elements(instance, seed, param).take(instance.elements(param));
        of_element!(DType, instance.dtypes[param], T => elements.map(|x| T::of(x).value()).collect::<Vec<f64>>())
    };
    (0..def.params.len()).map(|param| (Name::from(&*def.params[param].name), tensor(param))).collect()
}

/// How many elements are computed of so many, whose sums have so many terms each.
fn most(written: usize, terms: i64) -> usize {
    let elements = i64::try_from(written).unwrap_or(i64::MAX);
    let is_moderate = elements <= WHOLE && elements.saturating_mul(terms) <= WHOLE_TERMS;
    if is_moderate { written } else { SAMPLE }
}

/// All iterations if they are few, else some: corners and edges more often than others, since tiles hang over there.
fn sample(extents: &[i64], most: usize, seed: u64) -> Vec<Vec<i64>> {
    let all = extents.iter().fold(1usize, |product, n| product.saturating_mul(usize::try_from(*n).unwrap_or(0)));
    if all <= most {
        return (0..all).map(|at| unflatten(at, extents)).collect();
    }
    let mut rng = StdRng::seed_from_u64(seed ^ 0x5a17);
    let mut coordinate = |extent: i64| match rng.random_range(0..8) {
        0 => 0,
        1 | 2 => extent - 1,
        _ => rng.random_range(0..extent),
    };
    (0..most).map(|_| extents.iter().map(|extent| coordinate(*extent)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moderate_output_is_compared_whole() {
        assert_eq!([(256 * 256, 64), (7, 300_000), (0, 9)].map(|(n, terms)| most(n, terms)), [256 * 256, 7, 0]);
        assert_eq!([(256 * 257, 1), (4096, 1025), (7, i64::MAX)].map(|(n, terms)| most(n, terms)), [SAMPLE; 3]);
    }

    #[test]
    fn a_small_output_is_sampled_as_a_whole_and_a_large_one_within_its_extents() {
        assert_eq!(sample(&[2, 2], 4, 1), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(sample(&[0, 7], 4, 1), Vec::<Vec<i64>>::new());
        let some = sample(&[1000, 3], 500, 1);
        assert_eq!(some.len(), 500);
        assert!(some.iter().all(|at| (0..1000).contains(&at[0]) && (0..3).contains(&at[1])));
        assert!(some.iter().any(|at| at[0] == 999) && some.iter().any(|at| at[0] == 0));
    }
}
