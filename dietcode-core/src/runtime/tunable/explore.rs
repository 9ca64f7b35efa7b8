//! Finds the fastest candidates while a program works, within a [`Budget`]: what a call that may explore does beside its own work is one
//! step of one key's [`Race`].
//!
//! Each thread asks in one of 61 calls, a prime, so that a program whose keys come in turns has each of them asked for. A key that is met often is
//! asked for often, and comes first; when nothing was asked of a key for long, it is left for another. When a race has ended, its key
//! rests for ten minutes, and then whatever has drifted is raced again.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use super::budget::{Account, Budget, Cost};
use super::exploration::{EACH, Exploration, Trial};
use super::key::Key;
use super::known::Entry;
use super::op::caught;
use super::params::Params;
use super::per_process::PerProcess;
use super::race::{Race, Step};
use super::report::{DEFAULT, Outcome, Report};
use super::results::{self, Trying};
use super::tunable_op::TunableOp;
use super::turn::Turn;
use super::{say, tuning};
use crate::Result;
use crate::paired::{self, median};

/// A key that was not asked for while others were so often is left.
const MOST_OTHERS: u32 = 1000;

/// A race that has ended is run again after that.
const REST: Duration = Duration::from_secs(600);

/// Of the whole process; none: nothing was earned yet.
static ACCOUNT: PerProcess<Mutex<Option<Account>>> = PerProcess::new();

/// What a lock protects, unless another thread is at it. A panic has left nothing half done that a later step could not drop.
fn if_idle<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<P: Params> TunableOp<P> {
    /// Makes a step with the key of a call, if the budget allows it and no other thread is at one.
    #[cold]
    pub(super) fn explore(&self, call: &P::Call<'_>, key: &Key, entry: &Entry, budget: Budget) -> Result<()> {
        let Some(mut account) = if_idle(ACCOUNT.get()) else { return Ok(()) };
        let account = match &mut *account {
            Some(account) if account.budget() == budget => account,
            account => account.insert(Account::new(budget)),
        };
        let begun = P::clock();
        account.earn(u64::from(EACH), begun);
        let Some(mut exploration) = if_idle(&self.exploration) else { return Ok(()) };
        let is_other =
            |current: &Exploration<P>| Some(&*current.words) != key.words() || !P::is_of(&current.proxy, call);
        if let Some(other) = exploration.as_mut().filter(|current| is_other(current)) {
            other.others += 1;
            if other.others > MOST_OTHERS {
                *exploration = None;
            }
            return Ok(());
        }
        if exploration.is_none() && !entry.may_be_raced(begun, REST) {
            return Ok(());
        }
        let cost = exploration.as_ref().map_or(Cost { calls: 2, time: Duration::ZERO }, Exploration::cost);
        // Who has the turn is a candidate, which must not be disturbed while it is timed.
        let Some(_turn) = (account.allows(cost) && !Turn::is_mine()).then(|| Turn::take(None)).flatten() else {
            return Ok(());
        };
        let text = self.key(call, Key::with_text())?.into_text();
        let stepped = caught(|| match &mut *exploration {
            None => {
                *exploration = Some(self.begin(call, key, entry)?);
                Ok(())
            }
            Some(current) => {
                current.others = 0;
                self.step(current, entry, &text)
            }
        });
        if let Err(error) = stepped {
            say(&format!("{} at {text}: nothing can be tried: {error}", self.name()));
            entry.has_raced(begun, None);
            *exploration = None;
        } else if let Some(current) = exploration.take_if(|current| current.race.next().is_none()) {
            let report = self.report_of(&current, entry, &text);
            results::save(&self.subject(&text), &report, 0);
            self.complain(&report);
            entry.has_raced(P::clock(), Some(report));
        }
        let time = P::clock().saturating_sub(begun);
        exploration.iter_mut().for_each(|exploration| exploration.last = time);
        account.spend(Cost { time, ..cost });
        Ok(())
    }

    /// Makes operands, and calls the default twice.
    fn begin(&self, call: &P::Call<'_>, key: &Key, entry: &Entry) -> Result<Exploration<P>> {
        let mut proxy = P::pre_tuning(call)?;
        let (holder, candidates) = (entry.chosen().unwrap_or(DEFAULT), self.candidates.len());
        let trying = &Trying::none();
        let mut trials = self.trials(&mut proxy, tuning::limit()?, trying);
        trials.first_call(DEFAULT, 0)?;
        let seconds = trials.sample(DEFAULT, 1)?;
        let calls = trials.plan(seconds).0;
        let (race, words) = (Race::new(holder, candidates), key.words().unwrap_or_default().into());
        let known = vec![Trial::default(); candidates];
        Ok(Exploration { words, proxy, race, calls, last: Duration::ZERO, known, others: 0 })
    }

    /// The next step of a race that has one.
    fn step(&self, exploration: &mut Exploration<P>, entry: &Entry, text: &str) -> Result<()> {
        let Exploration { proxy, race, calls, known, .. } = exploration;
        let Some(step) = race.next() else { return Ok(()) };
        let limit = tuning::limit()?;
        let trying = &Trying::new(self.subject(text), limit);
        let mut trials = self.trials(proxy, limit, trying);
        let fault = match step {
            Step::Check(candidate) => match trials.check(candidate) {
                Ok(Ok(())) => {
                    race.passes(candidate);
                    None
                }
                Ok(Err(difference)) => Some((candidate, Outcome::Wrong(difference))),
                Err(error) => Some((candidate, Outcome::of_error(&error))),
            },
            Step::Pair { rival, holder } => match trials.pair(rival, holder, *calls) {
                Ok((of_rival, of_holder)) => {
                    known[rival].samples.extend(of_rival);
                    known[holder].samples.extend(of_holder);
                    if let Some(new) = race.gains(rival, paired::gains(&of_rival, &of_holder)[0]) {
                        entry.choose(new);
                    }
                    None
                }
                Err(error) => Some((rival, Outcome::of_error(&error))),
            },
        };
        if let Some((candidate, fault)) = fault {
            race.leaves(candidate);
            known[candidate].fault = Some(fault);
        }
        Ok(())
    }

    fn report_of(&self, exploration: &Exploration<P>, entry: &Entry, text: &str) -> Report {
        let outcome = |trial: &Trial| match &trial.fault {
            Some(fault) => fault.clone(),
            // One that was raced has samples, and so has the holder, of whatever rival.
            None => Outcome::Timed(Duration::from_secs_f64(median(trial.samples.clone()).unwrap_or(0.0))),
        };
        let raced = self
            .names
            .iter()
            .zip(&exploration.known)
            .filter(|(_, trial)| trial.fault.is_some() || !trial.samples.is_empty());
        let candidates = raced.map(|(name, trial)| (name.clone(), outcome(trial))).collect();
        self.subject(text).report(&self.names[entry.chosen().unwrap_or(DEFAULT)], candidates)
    }
}
