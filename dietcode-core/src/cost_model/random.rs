//! A model that predicts random numbers: the baseline that other models are compared with.

use dietcode_syntax::KernelDef;

use super::CostModel;
use crate::sketch::Lowered;

/// Says for each structure and instance a number between 0 and 1, from a seed: the same in any order and on any thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random {
    /// Where it starts.
    pub seed: u64,
}

impl Random {
    fn number(self, structure: &[u8; 32], instance: &[i64], units: usize) -> f64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes()).update(structure).update(&units.to_le_bytes());
        for value in instance {
            hasher.update(&value.to_le_bytes());
        }
        let mut bits = [0; 8];
        hasher.finalize_xof().fill(&mut bits);
        // 53 bits are a fraction of their own; none is 0, which would say that it cannot run.
        ((u64::from_le_bytes(bits) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

impl CostModel for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn predict(&self, _: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>> {
        let row = |candidate: &&Lowered| {
            instances.iter().map(|instance| self.number(&candidate.hash, instance, units)).collect()
        };
        candidates.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_the_structure_and_the_instance_alone() {
        let number = |seed, structure, instance: &[i64]| Random { seed }.number(&[structure; 32], instance, 2);
        let one = number(1, 1, &[80, 768]);
        assert_eq!(one, number(1, 1, &[80, 768]));
        let others = [number(2, 1, &[80, 768]), number(1, 2, &[80, 768]), number(1, 1, &[768, 80])];
        assert!(others.iter().all(|other| *other != one), "{one} {others:?}");
        let all: Vec<f64> = (0..1000).map(|n| number(1, 1, &[n])).collect();
        assert!(all.iter().all(|number| *number > 0.0 && *number <= 1.0));
        assert!((all.iter().sum::<f64>() / 1000.0 - 0.5).abs() < 0.05);
    }
}
