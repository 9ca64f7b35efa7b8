//! How far what is dispatched stays behind the best, as a tuned file keeps it.

use serde::{Deserialize, Serialize};

use crate::config::{Range, RegretBudget};
use crate::sketch::MicroKernel;

/// Over shapes of the range: the time of what is dispatched over that of the best of the finals' contestants, as figures of a search at
/// the tuned instances and as measured by turns elsewhere. On a device that is not there, both are estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regret {
    /// Between which values of the workload variables.
    pub range: Range,
    /// How many shapes of it, with the tuned instances.
    pub shapes: usize,
    /// At how many of them figures are what the model predicts: the time was over before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub predicted: usize,
    /// The weighted mean over them.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
    /// What was selected, in this order.
    pub selected: Vec<Selected>,
    /// One entry for each leaf of the tree that has a shape, in its order.
    pub regions: Vec<Region>,
    /// What came of the config's budget; none: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

/// What is dispatched, held against the config's budget at shapes that are drawn for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// What was asked for.
    pub budget: RegretBudget,
    /// How many shapes were measured, of those that were drawn last.
    pub shapes: usize,
    /// Whether they had a part in what is dispatched: since it did not keep the budget there, or since all of the range has.
    pub decided: bool,
    /// The weighted mean over them.
    pub mean: f64,
    /// The largest at any shape that was measured.
    pub worst: f64,
    /// What came of it.
    pub judgement: Judgement,
}

/// What came of a budget of regret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The shapes are all that were drawn, decided nothing or are all of the range, and keep it.
    Kept,
    /// They do not keep it, or did not before they decided, too.
    Broken,
    /// There was no time to measure all of them.
    NoTime,
    /// There is no contestant beside what is dispatched, such as where the default is the only one: nothing was measured against it.
    Alone,
}

/// A micro-kernel that was selected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// Its name.
    pub micro_kernel: String,
    /// The weighted mean if each shape had the best of this one and of those before.
    pub mean: f64,
}

/// The shapes of a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Where it is, such as `16 < M <= 488`; `any shape` if there is one leaf.
    pub shape: String,
    /// What runs there.
    pub micro_kernel: String,
    /// How many shapes.
    pub shapes: usize,
    /// The weighted mean over them.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
}

/// What runs a shape.
#[cfg(feature = "tuner")]
pub(super) struct Dispatched {
    /// The part of all shapes that it is of.
    pub region: String,
    /// The micro-kernel.
    pub micro_kernel: String,
    /// How much the shape counts.
    pub weight: f64,
    /// How much longer it takes there than the best.
    pub regret: f64,
}

impl Regret {
    /// Whether these are figures that a search can have written: ranges in order, of micro-kernels that are there, no time shorter than that
    /// of the best.
    ///
    /// # Errors
    /// What was found, and what was expected.
    pub(super) fn check(&self, micro_kernels: &[MicroKernel]) -> Result<(), String> {
        if let Some((var, [least, most])) = self.range.iter().find(|(_, [least, most])| least > most) {
            return Err(format!("its regret is of {var} from {least} to {most}, expected a range in order"));
        }
        let is_there = |name: &str| micro_kernels.iter().any(|known| known.origin.name == name);
        if let Some(region) = self.regions.iter().find(|region| !is_there(&region.micro_kernel)) {
            return Err(format!("its regret is of {:?}, which is not among its micro-kernels", region.micro_kernel));
        }
        let of_regions = self.regions.iter().flat_map(|region| [region.mean, region.worst]);
        let held_out = self.held_out.iter().flat_map(|held_out| [held_out.mean, held_out.worst]);
        let mut all = [self.mean, self.worst]
            .into_iter()
            .chain(of_regions)
            .chain(held_out)
            .chain(self.selected.iter().map(|s| s.mean));
        match all.find(|regret| !(1.0..=MOST).contains(regret)) {
            Some(regret) => Err(format!("its regret is {regret:?}, expected 1 to {MOST:?}")),
            None => Ok(()),
        }
    }
}

/// What is not written.
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// More than any micro-kernel loses at a shape.
const MOST: f64 = 1e9;

#[cfg(feature = "tuner")]
impl Regret {
    /// Of what runs some shapes.
    pub(super) fn of(
        (range, predicted): (Range, usize),
        mut selected: Vec<Selected>,
        all: &[Dispatched],
        held_out: Option<HeldOut>,
    ) -> Regret {
        let mut regions: Vec<(&str, Vec<&Dispatched>)> = Vec::new();
        for dispatched in all {
            match regions.iter_mut().find(|(region, _)| *region == dispatched.region) {
                Some((_, known)) => known.push(dispatched),
                None => regions.push((&dispatched.region, vec![dispatched])),
            }
        }
        let region = |(shape, all): (&str, Vec<&Dispatched>)| {
            let (mean, worst) = mean_and_worst(&all);
            let micro_kernel = all[0].micro_kernel.clone();
            Region { shape: shape.to_owned(), micro_kernel, shapes: all.len(), mean, worst }
        };
        let (mean, worst) = mean_and_worst(&all.iter().collect::<Vec<_>>());
        selected.iter_mut().for_each(|selected| selected.mean = rounded(selected.mean));
        let regions = regions.into_iter().map(region).collect();
        Regret { range, shapes: all.len(), predicted, mean, worst, selected, regions, held_out }
    }
}

#[cfg(feature = "tuner")]
impl HeldOut {
    /// Where nothing was measured.
    pub(super) fn unknown(budget: RegretBudget, judgement: Judgement) -> HeldOut {
        HeldOut { budget, shapes: 0, decided: false, mean: 1.0, worst: 1.0, judgement }
    }

    /// The same with what runs some shapes, and others that are known before them.
    pub(super) fn with(self, others: &[Dispatched], judges: &[Dispatched]) -> HeldOut {
        let (mean, _) = mean_and_worst(&judges.iter().collect::<Vec<_>>());
        let (_, worst) = mean_and_worst(&others.iter().chain(judges).collect::<Vec<_>>());
        HeldOut { shapes: judges.len(), mean, worst, ..self }
    }

    /// Whether the budget admits the figures.
    pub fn is_within(&self) -> bool {
        self.budget.admits(self.mean, self.worst)
    }
}

#[cfg(feature = "tuner")]
fn mean_and_worst(all: &[&Dispatched]) -> (f64, f64) {
    let weights: f64 = all.iter().map(|dispatched| dispatched.weight).sum();
    let sum: f64 = all.iter().map(|dispatched| dispatched.weight * dispatched.regret).sum();
    (rounded(sum / weights), rounded(all.iter().map(|dispatched| dispatched.regret).fold(1.0, f64::max)))
}

/// To what a person reads, and what comes back the same from a file.
#[cfg(feature = "tuner")]
fn rounded(regret: f64) -> f64 {
    (regret * 1000.0).round() / 1000.0
}
