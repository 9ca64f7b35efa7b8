//! Measures what was decided for each instance beside the default and the baselines: the figures of tables and tuned files.

use crate::Result;
use crate::config::Cache;
use crate::measure::{Baselines, Code, Comparison, Device, Failure, Finalist, Timing, compare};
use crate::search::WorkloadInstance;

/// A finalist's name: the micro-kernel that the tree is to pick.
pub const PICK: &str = "dietcode";

/// A finalist's name: the micro-kernel that runs where nothing was tuned.
pub const DEFAULT: &str = "default";

/// Enough rounds for a median with its spread.
const CAREFUL: Timing = Timing::warm(5, 0.05, 0.4);

/// An instance with the selected micro-kernel beside the baselines: a comparison for each number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Whether it is another one than the default.
    pub is_pick: bool,
    /// The comparisons, in the order of the numbers of threads.
    pub comparisons: Vec<Comparison>,
}

/// Measures a pick on its instance. Without a `pick` it is the default itself that was decided for.
///
/// # Errors
///
/// If measuring is not possible at all.
pub fn verify(
    device: &mut dyn Device,
    workload: &WorkloadInstance,
    pick: Option<&Code>,
    default: &Code,
    baselines: &Baselines,
    (settings, cache): (&[usize], Cache),
) -> Result<Verified> {
    let mut finalists = Vec::new();
    for (name, code) in pick.map(|pick| (PICK, pick)).into_iter().chain([(DEFAULT, default)]) {
        let implementation = device.implementation(code, &workload.instance)?;
        finalists.push(Finalist { name: name.to_owned(), implementation });
    }
    finalists.extend(baselines.finalists(device.def(), &workload.instance));
    let timing = Timing { cache, ..CAREFUL };
    let compared = settings.iter().map(|setting| compare(device, &workload.instance, &finalists, *setting, timing));
    let comparisons: Vec<Comparison> = compared.collect::<Result<_>>()?;
    Ok(Verified { is_pick: pick.is_some(), comparisons })
}

impl Verified {
    /// The name under which the micro-kernel that was taken stands in the comparisons.
    pub fn taken(&self) -> &'static str {
        if self.is_pick { PICK } else { DEFAULT }
    }

    /// Why the micro-kernel that was taken cannot be used after all.
    pub fn failure(&self) -> Option<&Failure> {
        let standings = self.comparisons.iter().flat_map(|comparison| &comparison.standings);
        let taken = standings.filter(|standing| standing.name == self.taken());
        taken.filter_map(|standing| standing.outcome.as_ref().err()).find(|failure| failure.is_its_own())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Sample, Standing};

    fn comparison(pick: Option<f64>, default: Option<f64>) -> Comparison {
        let standing = |name: &str, seconds: Option<f64>| Standing {
            name: name.into(),
            outcome: match seconds {
                Some(s) => Ok(Sample { seconds: vec![s], rel_err: 0.0, nearest: None, conditions: Vec::new() }),
                None => Err(Failure::Timeout { seconds: 1.0 }),
            },
        };
        let standings = vec![standing(PICK, pick), standing(DEFAULT, default)];
        Comparison { threads: 1, cache: Cache::Warm, standings, peak: None }
    }

    #[test]
    fn what_failed_is_told_if_it_is_what_was_taken() {
        let of = |pick, default, is_pick| Verified { is_pick, comparisons: vec![comparison(pick, default)] };
        assert!(of(None, None, false).failure().is_some());
        assert!(of(None, Some(1.0), false).failure().is_none());
        assert!(of(Some(1.0), None, true).failure().is_none());
    }
}
