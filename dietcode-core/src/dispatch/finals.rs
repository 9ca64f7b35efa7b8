//! The last decision: which micro-kernel each instance has.
//!
//! | word       | what it is                                                                                             |
//! |------------|--------------------------------------------------------------------------------------------------------|
//! | region     | the instances for which the figures of the search select one micro-kernel: a part of the tree           |
//! | holder     | what has the region: at first the default of each of its instances                                      |
//! | challenger | what other regions have already, then the best of the region by those figures, as far as they may be its best |
//! | duel       | holder and challenger by turns, at all instances of the region and all settings, until [`paired`] tells |
//! | veto       | a duel of the holder at one instance alone, against its default and what was the best there             |
//!
//! Who wins for certain is the next holder. So what is equal is the default, or else what other regions have already, and nobody
//! wins who was in no duel. Every verdict is on record, and read there when a run is continued. The first duels of a region and the
//! vetoes of defaults have more of the time than the others.

#[cfg(test)]
mod tests;

use super::select::{Scores, select};
use crate::Result;
use crate::doing::doing;
use crate::measure::paired::{LOOKS, Verdict, gains, look};
use crate::measure::{Failure, Timing};
use crate::search::{Found, Outcome, Part, Phase, Shape, Tuning};

/// The most challengers of a region, of those that the figures of a search do not tell apart from its best.
const MOST: usize = 8;

/// A micro-kernel (its position among what was found); none: the default of each instance.
type Player = Option<usize>;

/// What the duels work on.
struct Finals<'f, 't> {
    tuning: &'f mut Tuning<'t>,
    found: &'f Found,
}

/// Decides for each instance: the position of its micro-kernel among what was found.
///
/// # Errors
/// If measuring is not possible at all, or records cannot be written.
pub(super) fn decide(tuning: &mut Tuning<'_>, found: &Found, tolerance: f64) -> Result<Vec<usize>> {
    let regions = regions(tuning, found, tolerance);
    let mut finals = Finals { tuning, found };
    let mut decided = found.default.clone();
    let (mut used, mut done): (Vec<usize>, usize) = (Vec::new(), 0);
    for (selected, region) in &regions {
        for (at, player) in region.iter().zip(finals.players(*selected, region, &used)?) {
            decided[*at] = player.unwrap_or(found.default[*at]);
            used.extend(player.filter(|player| !used.contains(player)));
        }
        done += region.len();
        finals.tuning.progress(Phase::Finals, done, Some(decided.len()));
    }
    Ok(decided)
}

/// The instances by what the figures of the search select for them, the region that weighs most first.
fn regions(tuning: &Tuning<'_>, found: &Found, tolerance: f64) -> Vec<(usize, Vec<usize>)> {
    let instances = 0..tuning.workloads.len();
    let score = |candidate: usize| instances.clone().map(|at| found.expected_score(candidate, at)).collect();
    let scores: Vec<Vec<f64>> = (0..found.candidates.len()).map(score).collect();
    let weights: Vec<f64> = tuning.workloads.iter().map(|workload| workload.weight).collect();
    let mut regions: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, selected) in select(Scores { scores: &scores, weights: &weights, tolerance }).into_iter().enumerate() {
        let selected = selected.unwrap_or(found.default[at]);
        match regions.iter_mut().find(|(known, _)| *known == selected) {
            Some((_, region)) => region.push(at),
            None => regions.push((selected, vec![at])),
        }
    }
    let weight = |region: &[usize]| region.iter().map(|at| weights[*at]).sum::<f64>();
    regions.sort_by(|(_, a), (_, b)| weight(b).total_cmp(&weight(a)));
    regions
}

impl Finals<'_, '_> {
    /// Who has each instance of a region for which `selected` was selected; other regions have those in `used`.
    fn players(&mut self, selected: usize, region: &[usize], used: &[usize]) -> Result<Vec<Player>> {
        let challengers = self.challengers(selected, region, used);
        let vetoes = if region.len() > 1 { 2 * region.len() } else { 0 };
        let rivals = challengers.len() + vetoes;
        let mut holder = None;
        for challenger in challengers {
            let is_due = challenger == selected || used.contains(&challenger);
            if self.duel(region, holder, Some(challenger), rivals, is_due)? == Some(Verdict::Wins) {
                holder = Some(challenger);
            }
        }
        let mut players = vec![holder; region.len()];
        for (at, player) in region.iter().zip(&mut players).filter(|_| vetoes > 0) {
            let best = self.best(*at);
            // Where nobody won all of the region, the best of each instance may win there.
            for (challenger, is_due) in [(None, true), (Some(best), player.is_none())] {
                match self.duel(&[*at], *player, challenger, rivals, is_due)? {
                    Some(Verdict::Wins) => *player = challenger,
                    // Without time for it, nobody knows whether the default is faster at this instance.
                    None if challenger.is_none() => *player = None,
                    _ => {}
                }
            }
        }
        Ok(players)
    }

    /// In the order in which they challenge: of equal ones, the first stays.
    fn challengers(&self, selected: usize, region: &[usize], used: &[usize]) -> Vec<usize> {
        let score = |candidate: &usize| {
            region.iter().map(|at| self.found.expected_score(*candidate, *at).ln()).sum::<f64>() / region.len() as f64
        };
        let all = 0..self.found.candidates.len();
        let best = all.clone().map(|candidate| score(&candidate)).fold(f64::NEG_INFINITY, f64::max);
        let may_be_best = |candidate: &usize| score(candidate) >= best - self.tuning.uncertainty();
        let mut others: Vec<usize> =
            all.filter(may_be_best).filter(|at| *at != selected && !used.contains(at)).collect();
        others.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let first = used.iter().copied().filter(may_be_best);
        let own = Some(selected).filter(|selected| !used.contains(selected));
        let mut challengers: Vec<usize> = first.chain(own).chain(others).collect();
        challengers.truncate(MOST);
        challengers
    }

    /// The best of an instance by the figures of the search.
    fn best(&self, instance: usize) -> usize {
        let score = |at: &usize| self.found.expected_score(*at, instance);
        let all = 0..self.found.candidates.len();
        all.max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or(self.found.default[instance])
    }

    /// What comes of a challenger at some instances; nothing where it took no end. One that is due has more time.
    fn duel(
        &mut self,
        region: &[usize],
        holder: Player,
        challenger: Player,
        rivals: usize,
        is_due: bool,
    ) -> Result<Option<Verdict>> {
        let differs = |at: &usize| self.position(holder, *at) != self.position(challenger, *at);
        let instances: Vec<usize> = region.iter().copied().filter(differs).collect();
        let Some(first) = instances.first() else { return Ok(None) };
        let shapes: Vec<Shape> = instances.iter().map(|at| self.tuning.shape(*at)).collect();
        let one = &self.found.candidates[self.position(challenger, *first)];
        let against = holder.map_or_else(|| "default".to_owned(), |at| self.found.candidates[at].micro_kernel.name());
        let name = one.micro_kernel.name();
        if let Some(verdict) = self.tuning.journal.verdict(&name, &against, &shapes) {
            return Ok(Some(verdict));
        }
        let _doing = doing(format!("deciding between `{name}` and `{against}`"));
        let mut seen = Vec::new();
        let verdict = self.fight(&instances, (holder, challenger), rivals, is_due, &mut seen)?;
        if let Some(verdict) = verdict {
            let outcome = Outcome::Verdict { against, shapes, verdict, pairs: seen.len() };
            let report = one.report(&*self.tuning.device);
            self.tuning.journal.write(one, report, None, outcome)?;
        }
        Ok(verdict)
    }

    /// Takes pairs, whose gains are put in `seen`, until they tell or there are enough.
    fn fight(
        &mut self,
        instances: &[usize],
        (holder, challenger): (Player, Player),
        rivals: usize,
        is_due: bool,
        seen: &mut Vec<f64>,
    ) -> Result<Option<Verdict>> {
        let mut places: Vec<(usize, usize)> =
            instances.iter().flat_map(|at| self.tuning.threads.iter().map(|setting| (*at, *setting))).collect();
        for wanted in LOOKS {
            let pairs = wanted.saturating_sub(seen.len()).div_ceil(places.len().max(1));
            if pairs == 0 {
                continue;
            }
            let mut left = Vec::new();
            for place in places {
                if self.tuning.budget.is_over(if is_due { Part::DueDuels } else { Part::Duels }) {
                    return Ok(None);
                }
                match self.pairs((holder, challenger), place, pairs)? {
                    // Where others take the cores there is nothing to be waited for.
                    Ok(gains) if gains.is_empty() => {}
                    Ok(gains) => {
                        seen.extend(gains);
                        left.push(place);
                    }
                    Err(verdict) => return Ok(verdict),
                }
            }
            places = left;
            if let Some(verdict) = look(seen, rivals) {
                return Ok(Some(verdict));
            }
        }
        Ok(Some(if seen.len() < LOOKS[0] { Verdict::Unknown } else { Verdict::Equal }))
    }

    /// So many gains of a challenger at an instance and a setting, none where others took the cores; or else what its failure, or the
    /// holder's, comes to.
    fn pairs(
        &mut self,
        (holder, challenger): (Player, Player),
        (at, setting): (usize, usize),
        pairs: usize,
    ) -> Result<Result<Vec<f64>, Option<Verdict>>> {
        let instance = self.tuning.workloads[at].instance.clone();
        let device = &mut *self.tuning.device;
        let mut implementations = Vec::new();
        let (lost, won) = (Err(Some(Verdict::Loses)), Err(Some(Verdict::Wins)));
        for (player, failed) in [(challenger, &lost), (holder, &won)] {
            match self.found.candidates[player.unwrap_or(self.found.default[at])].code(device) {
                Ok(code) => implementations.push(device.implementation(code, &instance)?),
                Err(_) => return Ok(failed.clone()),
            }
        }
        let timing = Timing { cold: self.tuning.cold, ..Timing::warm(2 * pairs, 0.0, f64::MAX) };
        let measured = device.measure(&instance, implementations, setting, timing)?;
        Ok(match &measured[..] {
            [Ok(one), Ok(other)] => Ok(gains(&one.seconds, &other.seconds)),
            [Err(Failure::Stopped), _] | [_, Err(Failure::Stopped)] => Err(None),
            [Err(failure), _] if failure.is_its_own() => lost,
            [_, Err(failure)] if failure.is_its_own() => won,
            _ => Ok(Vec::new()),
        })
    }

    fn position(&self, player: Player, instance: usize) -> usize {
        player.unwrap_or(self.found.default[instance])
    }
}
