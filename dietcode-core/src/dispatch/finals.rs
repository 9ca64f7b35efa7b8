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
//! The gain of a pair is the mean of what all settings gain: one micro-kernel serves an instance at any number of threads, and of gains that
//! differ by setting, say 0 and 15%, the median may be near either.
//!
//! Who wins for certain is the next holder. So what is equal is the default, or else what other regions have already, and nobody
//! wins who was in no duel. Then it is decided which micro-kernels there are to be (`members`): who has an instance, and who was in duels,
//! lost none, and serves other shapes of the range, at which all of them are measured by turns. Where these are too many, an instance has
//! one that its default does not win over, or its default. Every verdict is on record, and read there when a run is continued. The first
//! duels of a region and the vetoes of defaults have more of the time than the others.
//!
//! Where there is no time for a duel, figures of the search that are far apart ([`FAR`]) decide in its place. Where they are not, who has an
//! instance stays, and the best there by figures is among those that what is dispatched is compared with.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use super::InRange;
use super::boundary;
use super::elsewhere;
use super::members::{Matrix, Member};
use super::select::{Scores, select};
use crate::Result;
use crate::config::Config;
use crate::doing::doing;
use crate::measure::{Failure, Instance, Purpose, Timing};
use crate::paired::{LOOKS, Verdict, gains, look};
use crate::search::{Found, Outcome, Part, Phase, Shape, Tuning};
use crate::sketch::MicroKernel;

/// The most challengers of a region, of those that the figures of a search do not tell apart from its best.
const MOST: usize = 8;

/// The duels of an instance whose micro-kernel is in doubt.
const DOUBTED: usize = 2;

/// So many times at most shapes of the range are measured, all but the first time between those that were before.
const BISECTIONS: usize = 6;

/// Figures of a search that differ by more than this, and by more than two of one micro-kernel do, tell who is faster: the logarithm of their
/// ratio. They were taken at different times, between which a machine may come to half its clock.
const FAR: f64 = LN_2;

/// A micro-kernel (its position among what was found); none: the default of each instance.
type Player = Option<usize>;

/// What the duels work on.
struct Finals<'f, 't> {
    tuning: &'f mut Tuning<'t>,
    found: &'f Found,
    /// The gains of one candidate over another at an instance: a veto begins with what the duel for the region took there.
    taken: BTreeMap<(usize, usize, usize), Vec<f64>>,
    /// Who won a duel or was equal in one.
    stood: BTreeSet<usize>,
    /// Who lost one.
    lost: BTreeSet<usize>,
    /// The instances at which a duel told something.
    told: BTreeSet<usize>,
    /// Those at which the time ended a duel that was due.
    cut: BTreeSet<usize>,
}

/// What is to be decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim<'a> {
    /// How far below its best micro-kernel an instance may be, as a fraction.
    pub tolerance: f64,
    /// The most micro-kernels.
    pub most: usize,
    /// The config, and shapes of its range that are none of the instances.
    pub range: Option<(&'a Config, &'a InRange)>,
}

/// What was decided.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    /// For each instance the position of its micro-kernel among what was found.
    pub picks: Vec<usize>,
    /// The micro-kernels that there are to be, by the same positions; the picks are among them.
    pub members: Vec<Member>,
    /// What is known of them and of those that they were selected from.
    pub matrix: Matrix,
}

/// Decides which micro-kernel each instance has, and which there are to be.
///
/// Every region has the duels that are due before any has others: where the time ends early, it is the choice between near-copies
/// that is not made.
///
/// # Errors
/// If measuring is not possible at all, or records cannot be written.
pub(super) fn decide(tuning: &mut Tuning<'_>, found: &Found, aim: Aim<'_>) -> Result<Decided> {
    let regions = regions(tuning, found, aim.tolerance);
    let mut finals = Finals::new(tuning, found);
    let mut decided = found.default.clone();
    let (mut used, mut contests): (Vec<usize>, Vec<Contest>) = (Vec::new(), Vec::new());
    for (selected, region) in regions {
        let contest = finals.begin(selected, region, &used)?;
        let holds = |holder: &usize| !used.contains(holder) && contest.players.contains(&Some(*holder));
        used.extend(contest.holder.filter(holds));
        contests.push(contest);
    }
    let mut done = 0;
    for mut contest in contests {
        finals.end(&mut contest)?;
        for (at, player) in contest.region.iter().zip(&contest.players) {
            decided[*at] = player.unwrap_or(found.default[*at]);
        }
        done += contest.region.len();
        finals.tuning.progress(Phase::Finals, done, Some(decided.len()));
    }
    finals.select(decided, aim)
}

/// Decides once more about an instance whose micro-kernel is much slower there than it was expected to be: against the next of those that
/// were measured there, and against the default, of which each replaces it by a certain win alone. Gives whether one did.
///
/// # Errors
/// As for [`decide`].
pub(super) fn doubt(
    tuning: &mut Tuning<'_>,
    found: &Found,
    decided: &mut Decided,
    most: usize,
    at: usize,
) -> Result<bool> {
    let (pick, default) = (decided.picks[at], found.default[at]);
    let is_next = |other: &usize| {
        let is_member = decided.members.iter().any(|member| member.at == *other);
        let may_be = is_member || decided.members.len() < most && !decided.matrix.has_failed(*other);
        ![pick, default].contains(other) && may_be && found.candidates[*other].score(at) > 0.0
    };
    let score = |other: &usize| found.expected_score(*other, at);
    let next = (0..found.candidates.len()).filter(is_next).max_by(|a, b| score(a).total_cmp(&score(b)));
    // All contests' at once, which are at least as many as those of the region that it is of.
    let rivals = MOST + (3 + DOUBTED) * decided.picks.len();
    let mut finals = Finals::new(tuning, found);
    let mut player = Some(pick).filter(|pick| *pick != default);
    for challenger in [next, None] {
        if finals.duel(&[at], player, challenger, rivals, Part::Comparison)? == Some(Verdict::Wins) {
            player = challenger;
        }
    }
    let won = player.unwrap_or(default);
    if won == pick {
        return Ok(false);
    }
    let expected = tuning.expected_at(&found.candidates[won], &decided.matrix.shapes);
    decided.matrix.won(won, at, &expected);
    decided.picks[at] = won;
    decided.members = decided.matrix.with_picks(std::mem::take(&mut decided.members), &decided.picks);
    Ok(true)
}

/// A region, and who has it so far.
struct Contest {
    region: Vec<usize>,
    /// Who challenges when the duels that are due are over.
    others: Vec<usize>,
    /// How many duels there are at the most, for each instance.
    rivals: usize,
    holder: Player,
    /// Who has each instance.
    players: Vec<Player>,
}

/// The instances by what the figures of the search select for them; the region first whose duels let hope for most in a second.
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
    let hope = |(selected, region): &(usize, Vec<usize>)| {
        let score = |candidate: usize, at: usize| found.expected_score(candidate, at);
        let gain = |at: &usize| weights[*at] * (score(*selected, *at) / score(found.default[*at], *at)).ln();
        let seconds = |at: &usize| tuning.workloads[*at].instance.flops / score(*selected, *at);
        region.iter().map(gain).sum::<f64>() / region.iter().map(seconds).sum::<f64>()
    };
    regions.sort_by(|a, b| hope(b).total_cmp(&hope(a)));
    regions
}

impl<'f, 't> Finals<'f, 't> {
    /// Before the first duel.
    fn new(tuning: &'f mut Tuning<'t>, found: &'f Found) -> Finals<'f, 't> {
        let [stood, lost, told, cut] = [const { BTreeSet::new() }; 4];
        Finals { tuning, found, taken: BTreeMap::new(), stood, lost, told, cut }
    }

    /// The duels that are due for a region for which `selected` was selected; other regions have those in `used`.
    fn begin(&mut self, selected: usize, region: Vec<usize>, used: &[usize]) -> Result<Contest> {
        let challengers = self.challengers(selected, &region, used);
        // At each instance two vetoes, of who has the region first and of who has it in the end, and its best one; and two duels more where
        // its micro-kernel is in doubt.
        let vetoes = if region.len() > 1 { 3 * region.len() } else { 0 };
        let rivals = challengers.len() + vetoes + DOUBTED * region.len();
        let is_due = |challenger: &usize| *challenger == selected || used.contains(challenger);
        let (due, others): (Vec<usize>, Vec<usize>) = challengers.into_iter().partition(is_due);
        let mut contest = Contest { players: vec![None; region.len()], region, others, rivals, holder: None };
        self.challenge(&mut contest, &due, Part::DueDuels)?;
        Ok(contest)
    }

    /// The micro-kernels that there are to be, and which of them the instances have for which these picks were decided.
    fn select(&mut self, mut picks: Vec<usize>, Aim { tolerance, most, range }: Aim<'_>) -> Result<Decided> {
        let told: BTreeSet<usize> = self.told.difference(&self.cut).copied().collect();
        let (contestants, untold) = self.contestants(&picks, &told);
        let mut matrix = Matrix::of(self.tuning, self.found, contestants, &picks, &told).compared_with(untold);
        if let Some((config, sampled)) = range {
            self.measure(&mut matrix, &picks, (config, sampled), (most, tolerance))?;
        }
        let members = matrix.members(&picks, most, tolerance);
        for (at, pick) in picks.iter_mut().enumerate() {
            let score = |member: &&Member| self.found.expected_score(member.at, at);
            let best = members.iter().max_by(|a, b| score(a).total_cmp(&score(b))).map(|member| member.at);
            let Some(best) = best.filter(|_| !members.iter().any(|member| member.at == *pick)) else { continue };
            let verdict = self.duel(&[at], Some(best), None, members.len(), Part::DueDuels)?;
            // It stood in no duel that says anything of this instance: nothing but a verdict speaks for it here.
            let vetoed = match verdict {
                None | Some(Verdict::Unknown) => best != self.found.default[at],
                Some(verdict) => verdict == Verdict::Wins,
            };
            *pick = if vetoed { self.found.default[at] } else { best };
        }
        let members = matrix.with_picks(members, &picks);
        Ok(Decided { picks, members, matrix })
    }

    /// Adds to a matrix what its rows reach at shapes of a config's range, and then between those at which different members are the fastest.
    fn measure(
        &mut self,
        matrix: &mut Matrix,
        picks: &[usize],
        (config, sampled): (&Config, &InRange),
        (most, tolerance): (usize, f64),
    ) -> Result<()> {
        let def = self.tuning.device.def().clone();
        let vars = Config::shape_vars(&def);
        let mut range = sampled.clone();
        range.extend(self.tuning.workloads.iter().map(|of| (of.instance.shape.clone(), of.wkl.clone())));
        let (mut shapes, mut predicts): (Vec<Vec<i64>>, bool) = (sampled.keys().cloned().collect(), true);
        // What is estimated is so at enough shapes.
        for _ in 0..if self.tuning.device.is_estimating() { 1 } else { BISECTIONS } {
            let all = (&shapes[..], predicts);
            if !elsewhere::measure(Part::Range, (self.tuning, self.found), matrix, picks, all)? {
                break;
            }
            let members: Vec<usize> = matrix.members(picks, most, tolerance).iter().map(|member| member.at).collect();
            let is_possible = |shape: &[i64]| Instance::of(&def, shape).is_ok_and(|of| !of.computes_nothing());
            let between = boundary::between(config, &vars, (&*matrix, &members), &range, is_possible);
            if between.is_empty() {
                break;
            }
            (shapes, predicts) = (between.keys().cloned().collect(), false);
            range.extend(between);
        }
        Ok(())
    }

    /// Those of these picks, the defaults, and who was in duels and lost none, as far as they have code; the first come first. Behind them,
    /// and by themselves, the others that are the best by figures of an instance at which no duel told anything: they are compared with.
    fn contestants(&self, picks: &[usize], told: &BTreeSet<usize>) -> (Vec<usize>, BTreeSet<usize>) {
        let names: Vec<String> = self.tuning.defaults.micro_kernels.iter().map(MicroKernel::name).collect();
        let is_default = |at: &usize| names.contains(&self.found.candidates[*at].micro_kernel.name());
        let defaults = (0..self.found.candidates.len()).filter(is_default);
        let stood = self.stood.difference(&self.lost).copied();
        let has_code = |at: &usize| self.found.candidates[*at].code(&*self.tuning.device).is_ok();
        let mut rows: Vec<usize> = Vec::new();
        for at in picks.iter().copied().chain(defaults).chain(stood) {
            if !rows.contains(&at) && (picks.contains(&at) || has_code(&at)) {
                rows.push(at);
            }
        }
        let untold = (0..picks.len()).filter(|at| !told.contains(at)).map(|at| self.best(at));
        let untold: BTreeSet<usize> = untold.filter(|at| !rows.contains(at) && has_code(at)).collect();
        rows.extend(&untold);
        (rows, untold)
    }

    /// The duels of the others, and those of single instances whose default won.
    fn end(&mut self, contest: &mut Contest) -> Result<()> {
        let others = std::mem::take(&mut contest.others);
        self.challenge(contest, &others, Part::Duels)?;
        for (at, instance) in contest.region.iter().enumerate().filter(|_| contest.region.len() > 1) {
            // Where nobody won all of the region, the best of each instance may win there.
            let (holder, best) = (contest.players[at], Some(self.best(*instance)));
            let part = if holder.is_none() { Part::DueDuels } else { Part::Duels };
            if self.duel(&[*instance], holder, best, contest.rivals, part)? == Some(Verdict::Wins) {
                contest.players[at] = best;
            }
        }
        Ok(())
    }

    /// Lets some challenge who has a region, and the defaults of its instances veto who has it then.
    fn challenge(&mut self, contest: &mut Contest, challengers: &[usize], part: Part) -> Result<()> {
        let before = contest.holder;
        for challenger in challengers {
            let verdict = self.duel(&contest.region, contest.holder, Some(*challenger), contest.rivals, part)?;
            if verdict == Some(Verdict::Wins) {
                contest.holder = Some(*challenger);
            }
        }
        if contest.holder == before {
            return Ok(());
        }
        for (at, player) in contest.region.iter().zip(&mut contest.players) {
            let is_default = self.position(contest.holder, *at) == self.position(None, *at);
            if contest.region.len() == 1 || is_default {
                *player = contest.holder;
                continue;
            }
            let verdict = self.duel(&[*at], contest.holder, None, contest.rivals, Part::DueDuels)?;
            *player = contest.holder.filter(|holder| !self.is_vetoed(verdict, *holder, *at));
        }
        Ok(())
    }

    /// Whether an instance has its default in place of one that serves others, by what came of the default's duel with it there. Without
    /// a verdict, for want of time or since others took the cores, there is no loss for certain, and as little is known for the default: the
    /// figures of the search are all that says which of them is slower there.
    fn is_vetoed(&self, verdict: Option<Verdict>, by: usize, instance: usize) -> bool {
        match verdict {
            Some(Verdict::Unknown) | None => {
                let score = |candidate: usize| self.found.expected_score(candidate, instance);
                score(self.found.default[instance]) > score(by)
            }
            Some(verdict) => verdict == Verdict::Wins,
        }
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

    /// What comes of a challenger at some instances; nothing where the time for a part ended it, and figures are near each other.
    fn duel(
        &mut self,
        region: &[usize],
        holder: Player,
        challenger: Player,
        rivals: usize,
        part: Part,
    ) -> Result<Option<Verdict>> {
        let differs = |at: &usize| self.position(holder, *at) != self.position(challenger, *at);
        let instances: Vec<usize> = region.iter().copied().filter(differs).collect();
        let Some(first) = instances.first() else { return Ok(None) };
        let shapes: Vec<Shape> = instances.iter().map(|at| self.tuning.shape(*at)).collect();
        let one = &self.found.candidates[self.position(challenger, *first)];
        let against = holder.map_or_else(|| "default".to_owned(), |at| self.found.candidates[at].micro_kernel.name());
        let name = one.micro_kernel.name();
        if let Some(verdict) = self.tuning.journal.verdict(&name, &against, &shapes) {
            self.note(verdict, self.position(challenger, *first), holder, &instances);
            return Ok(Some(verdict));
        }
        let _doing = doing(format!("deciding between `{name}` and `{against}`"));
        let mut seen = Vec::new();
        let fought = self.fight(&instances, (holder, challenger), rivals, part, &mut seen)?;
        // Where it is in doubt whether figures of the search tell what an instance is like, they decide nothing.
        let is_told = part != Part::Comparison;
        let by_figures = || self.by_figures(&instances, (holder, challenger), &seen).filter(|_| is_told);
        let verdict = fought.or_else(by_figures);
        if let Some(verdict) = verdict {
            self.note(verdict, self.position(challenger, *first), holder, &instances);
            let outcome = Outcome::Verdict { against, shapes, verdict, pairs: seen.len() };
            let report = one.report(&*self.tuning.device);
            // What was not fought because somebody stopped the run is fought when it goes on.
            if fought.is_some() || !self.tuning.budget.is_stopped() {
                self.tuning.journal.write(one, Purpose::Final, report, None, outcome)?;
            }
        } else if part == Part::DueDuels {
            self.cut.extend(instances);
        }
        Ok(verdict)
    }

    /// What the figures of the search say in place of a duel that there was no time for: something if they, and the gains of pairs that were
    /// taken, are far apart at all instances, at the settings at which both have figures.
    fn by_figures(&self, instances: &[usize], (holder, challenger): (Player, Player), seen: &[f64]) -> Option<Verdict> {
        let figure = |player: Player, at: usize, setting: usize| {
            self.found.candidates[self.position(player, at)].gflops[setting][at].filter(|gflops| *gflops > 0.0)
        };
        let gain =
            |at: usize, setting: usize| Some((figure(challenger, at, setting)? / figure(holder, at, setting)?).ln());
        let of = |at: &usize| (0..self.tuning.threads.len()).filter_map(|setting| gain(*at, setting)).collect();
        let figures: Vec<Vec<f64>> = instances.iter().map(of).collect();
        if figures.iter().any(Vec::is_empty) {
            return None;
        }
        let gains: Vec<f64> = figures.into_iter().flatten().chain(seen.iter().copied()).collect();
        let far = FAR + self.tuning.uncertainty();
        match () {
            () if gains.iter().all(|gain| *gain > far) => Some(Verdict::Wins),
            () if gains.iter().all(|gain| *gain < -far) => Some(Verdict::Loses),
            () => None,
        }
    }

    /// Notes who has stood a duel, who has lost it, and where it told something.
    fn note(&mut self, verdict: Verdict, challenger: usize, holder: Player, instances: &[usize]) {
        if verdict != Verdict::Unknown {
            self.told.extend(instances);
        }
        match verdict {
            Verdict::Wins => {
                self.stood.insert(challenger);
                self.lost.extend(holder);
            }
            Verdict::Equal => {
                self.stood.insert(challenger);
            }
            Verdict::Loses => {
                self.lost.insert(challenger);
            }
            Verdict::Unknown => {}
        }
    }

    /// Takes pairs until they, and those that were taken before, tell or are enough. The gains are put in `seen`.
    fn fight(
        &mut self,
        instances: &[usize],
        (holder, challenger): (Player, Player),
        rivals: usize,
        part: Part,
        seen: &mut Vec<f64>,
    ) -> Result<Option<Verdict>> {
        let mut places: Vec<(usize, Vec<usize>)> =
            instances.iter().map(|at| (*at, self.tuning.threads.clone())).collect();
        let of = |player: Player, at: usize| self.position(player, at);
        let duels: Vec<(usize, usize, usize)> =
            instances.iter().map(|at| (of(challenger, *at), of(holder, *at), *at)).collect();
        for (one, other, at) in duels {
            seen.extend(self.taken.get(&(one, other, at)).into_iter().flatten());
            seen.extend(self.taken.get(&(other, one, at)).into_iter().flatten().map(|gain| -gain));
        }
        let (mut looked_at, mut fresh) = (0, Vec::new());
        for wanted in LOOKS {
            let pairs = wanted.saturating_sub(seen.len()).div_ceil(places.len().max(1));
            if pairs == 0 && seen.len() == looked_at {
                continue;
            }
            let mut left = Vec::new();
            for (at, settings) in places.iter().filter(|_| pairs > 0) {
                let (mut of_settings, mut told) = (Vec::new(), Vec::new());
                for setting in settings {
                    if self.tuning.budget.is_over(part) {
                        return Ok(None);
                    }
                    match self.pairs((holder, challenger), (*at, *setting), pairs)? {
                        // Where others take the cores there is nothing to be waited for.
                        Ok(gains) if gains.is_empty() => {}
                        Ok(gains) => {
                            of_settings.push(gains);
                            told.push(*setting);
                        }
                        Err(verdict) => return Ok(verdict),
                    }
                }
                // Later gains of an instance are means of the same settings as the first.
                if !told.is_empty() && (looked_at == 0 || told.len() == settings.len()) {
                    let gains = means(&of_settings);
                    let duel = (self.position(challenger, *at), self.position(holder, *at), *at);
                    seen.extend(&gains);
                    fresh.push((duel, gains));
                    left.push((*at, told));
                }
            }
            if pairs > 0 {
                places = left;
            }
            looked_at = seen.len();
            if let Some(verdict) = look(seen, rivals) {
                self.keep(fresh);
                return Ok(Some(verdict));
            }
        }
        self.keep(fresh);
        Ok(Some(if seen.len() < LOOKS[0] { Verdict::Unknown } else { Verdict::Equal }))
    }

    /// Keeps the gains of a duel that has a verdict: how many there are of one that the time cut off is the clock's choice.
    fn keep(&mut self, gains: Vec<((usize, usize, usize), Vec<f64>)>) {
        gains.into_iter().for_each(|(duel, gains)| self.taken.entry(duel).or_default().extend(gains));
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
        let timing = Timing { cache: self.tuning.cache, ..Timing::warm(2 * pairs, 0.0, f64::MAX) };
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

/// The means of gains that were taken side by side, as many as all of them have.
fn means(gains: &[Vec<f64>]) -> Vec<f64> {
    let pairs = gains.iter().map(Vec::len).min().unwrap_or(0);
    (0..pairs).map(|pair| gains.iter().map(|of| of[pair]).sum::<f64>() / gains.len() as f64).collect()
}
