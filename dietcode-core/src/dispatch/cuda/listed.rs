//! What a config's generators list for a device: what is valid there, and why the rest is not.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::config::Config;
use crate::ir::Program;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::message::without_numbers;
use crate::sketch::MicroKernel;

/// As many of a config's schedules are considered, from the first on, beside what families refuse: each is lowered, and a build shall not
/// take minutes.
const MOST: usize = 256;

/// The schedules for a device that were considered.
#[derive(Clone, Debug)]
pub struct Listed {
    config: PathBuf,
    capability: ComputeCapability,
    /// How many combinations the generators have; only the first few hundred are considered.
    pub total: u128,
    /// Those that are valid, in the config's order.
    pub valid: Vec<MicroKernel>,
    /// How many of the others there are, by reason; numbers in a reason are replaced by `n`.
    pub invalid: BTreeMap<String, usize>,
    /// The first of the reasons, with its numbers.
    first: Option<String>,
}

impl Listed {
    /// Looks at those of a config. None where it lists none.
    pub fn of(config: &Config, program: &Program, device: &DeviceLimits) -> Option<Listed> {
        let cuda = config.cuda.as_ref().filter(|cuda| cuda.count() > 0)?;
        let mut listed = Listed {
            config: config.path.clone(),
            capability: device.capability,
            total: cuda.count(),
            valid: Vec::new(),
            invalid: BTreeMap::new(),
            first: None,
        };
        let mut left = MOST;
        for found in cuda.candidates_on(program, device) {
            if found.is_ok() {
                let Some(less) = left.checked_sub(1) else { break };
                left = less;
            }
            let carried_out = match found {
                Ok(blocked) => blocked.micro_kernel(program, device).map_err(|e| e.to_string()),
                Err(refused) => Err(refused.reason),
            };
            match carried_out {
                Ok((micro_kernel, _)) => listed.valid.push(micro_kernel),
                Err(reason) => {
                    *listed.invalid.entry(without_numbers(&reason)).or_default() += 1;
                    listed.first.get_or_insert(reason);
                }
            }
        }
        Some(listed)
    }
}

/// For one of which none is valid: that, why, and what to do.
impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed { config, capability, total, .. } = self;
        let considered = self.valid.len() + self.invalid.values().sum::<usize>();
        let first = if u128::try_from(considered) == Ok(*total) { "" } else { "the first " };
        write!(
            f,
            "{}: targets.cuda.generators: none of {first}{considered} schedules is valid for {capability}, where the default serves instead; \
             the first is not because of: {}; `dietcode expand` counts the reasons on the config's devices",
            config.display(),
            self.first.as_deref().unwrap_or("there is none"),
        )
    }
}
