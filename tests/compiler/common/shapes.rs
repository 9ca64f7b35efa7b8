//! Shapes that random nests are run at.

use dietcode_syntax::KernelDef;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Values of the shape variables, one in twenty zero; the whole nest stays small enough for the reference.
pub(crate) fn random(rng: &mut StdRng, def: &KernelDef) -> Vec<i64> {
    let primes = [1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67];
    loop {
        let value = |rng: &mut StdRng| match rng.random_range(0..20) {
            0 => 0,
            1..=9 => *primes.choose(rng).expect("there are primes"),
            _ => rng.random_range(1..=70),
        };
        let shape: Vec<i64> = def.shape_vars.iter().map(|_| value(rng)).collect();
        let literals = def.loops.iter().filter_map(|l| l.extent.as_constant());
        if shape.iter().copied().chain(literals).product::<i64>() <= 1 << 18 {
            return shape;
        }
        // Literals alone can be too many: then the variables are one.
        if def.loops.iter().filter_map(|l| l.extent.as_constant()).product::<i64>() > 1 << 18 {
            return vec![1; shape.len()];
        }
    }
}
