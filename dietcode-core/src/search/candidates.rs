//! The candidates: a config's generators, cut down to what is valid for the nest and the CPU.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::config::CpuConfig;
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::message::without_numbers;
use crate::sketch::{MicroKernel, Tiled};

/// Valid candidates in the order in which they are tried, and what was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The candidates.
    pub candidates: Vec<MicroKernel>,
    /// How many schedules the generators stand for.
    pub total: u128,
    /// How many of those that were looked at are not valid, by reason; numbers in a reason are replaced by `n`.
    pub invalid: BTreeMap<String, usize>,
}

/// Spaces up to this size are listed in full and shuffled; larger ones are drawn from.
const LISTED: u128 = 1 << 16;

/// Without a limit from the config; more than any budget allows.
const MOST_TRIALS: usize = 10_000;

impl Candidates {
    /// At most `trials` valid candidates, each trace once, in an order that depends on `seed` only.
    pub fn of(config: &CpuConfig, program: &Program, target: &CpuTarget, trials: Option<u64>, seed: u64) -> Candidates {
        let trials = trials.and_then(|n| usize::try_from(n).ok()).unwrap_or(MOST_TRIALS).min(MOST_TRIALS);
        let mut rng = StdRng::seed_from_u64(seed);
        let mut space = Candidates { candidates: Vec::new(), total: config.count(), invalid: BTreeMap::new() };
        if space.total <= LISTED {
            let all = config.candidates_on(program, target);
            let mut all: Vec<Result<Tiled, String>> =
                all.map(|found| found.map_err(|refused| refused.reason)).collect();
            all.shuffle(&mut rng);
            space.take(all.into_iter(), program, target, trials);
        } else {
            let mut seen = BTreeSet::new();
            let mut draw = |_| config.get(rng.random_range(0..config.count()), program, target);
            let drawn = (0..trials.saturating_mul(16)).filter_map(&mut draw);
            let fresh: Vec<Result<Tiled, String>> =
                drawn.filter(|drawn| drawn.as_ref().map_or(true, |tiled| seen.insert(tiled.clone()))).collect();
            space.take(fresh.into_iter(), program, target, trials);
        }
        space
    }

    fn take(
        &mut self,
        all: impl Iterator<Item = Result<Tiled, String>>,
        program: &Program,
        target: &CpuTarget,
        trials: usize,
    ) {
        let mut names = HashSet::new();
        for found in all {
            if self.candidates.len() == trials {
                break;
            }
            let valid = found.and_then(|tiled| tiled.micro_kernel(program, target).map_err(|e| e.to_string()));
            match valid {
                // Different parameters may make one trace, such as `lanes` that is what the CPU has.
                Ok((micro_kernel, _)) if names.insert(micro_kernel.name()) => self.candidates.push(micro_kernel),
                Ok(_) => {}
                Err(reason) => *self.invalid.entry(without_numbers(&reason)).or_default() += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::frontend;
    use crate::machine::avx512;
    use crate::search::testing::dense;

    #[test]
    fn parameters_that_make_one_trace_are_one_candidate() {
        let config = r#"{ "kernel": { "source": "dense.rs", "function": "dense" }, "shape": { "M": "M" },
            "wkl_insts": [{ "M": 16 }], "targets": { "cpu": { "generators": [
                { "family": "tiled", "vector": ["j"], "register_tile": [{ "i": 8, "j": 16 }], "lanes": [null, 16, 8],
                  "block_tile": [{ "i": 64, "j": 64, "k": 64 }] }] } } }"#;
        let config = Config::parse("dense.json", config).unwrap();
        let program = frontend::program(&dense(96, 64));
        for trials in [None, Some(2)] {
            let found = Candidates::of(&config.cpu, &program, &avx512(), trials, 1);
            assert_eq!((found.candidates.len(), found.total, found.invalid.len()), (2, 3, 0), "{found:?}");
            assert_ne!(found.candidates[0].name(), found.candidates[1].name());
        }
    }

    #[test]
    fn reasons_are_told_apart_by_their_words() {
        assert_eq!(without_numbers("takes 33 registers of 16 lanes"), "takes n registers of n lanes");
        assert_eq!(without_numbers("takes 7 registers of 160 lanes"), "takes n registers of n lanes");
        assert_eq!(without_numbers("`conv2d`: x_2 is 12, in 7"), "`conv2d`: x_2 is n, in n");
    }
}
