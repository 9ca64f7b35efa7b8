//! Which of some candidates is the fastest, by pairs of samples that come one at a time, as a budget allows.
//!
//! The holder is what calls run. It is compared with each rival by gains of pairs ([`paired`](crate::paired)), all rivals in turn. A rival
//! replaces it when it is faster by more than 2% with certainty, and is out when it is not or 64 pairs could not tell. Of all comparisons
//! of a race none says anything wrong with a probability of 99%: of n rivals, each may meet each other one.

use crate::paired::{LOOKS, Verdict, look};

/// A race among candidates, by their places.
pub(super) struct Race {
    holder: usize,
    rivals: Vec<Rival>,
    comparisons: usize,
}

struct Rival {
    candidate: usize,
    is_checked: bool,
    gains: Vec<f64>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// See whether this candidate computes what the default does.
    Check(usize),
    /// Take a pair of samples of a rival and the holder.
    Pair { rival: usize, holder: usize },
}

impl Race {
    /// Of the first candidates, up to a number of them.
    pub(super) fn new(holder: usize, candidates: usize) -> Race {
        let rival = |candidate| Rival { candidate, is_checked: false, gains: Vec::new() };
        let rivals: Vec<Rival> = (0..candidates).filter(|candidate| *candidate != holder).map(rival).collect();
        Race { holder, comparisons: rivals.len() * (rivals.len() + 1) / 2, rivals }
    }

    /// Nothing: the race has ended.
    pub(super) fn next(&self) -> Option<Step> {
        let rival = self.rivals.iter().min_by_key(|rival| (rival.is_checked, rival.gains.len()))?;
        Some(match rival.is_checked {
            true => Step::Pair { rival: rival.candidate, holder: self.holder },
            false => Step::Check(rival.candidate),
        })
    }

    /// A candidate computes what the default does.
    pub(super) fn passes(&mut self, candidate: usize) {
        self.rival(candidate).into_iter().for_each(|rival| rival.is_checked = true);
    }

    /// A candidate is out.
    pub(super) fn leaves(&mut self, candidate: usize) {
        self.rivals.retain(|rival| rival.candidate != candidate);
    }

    /// By how much a rival was faster than the holder in a pair: the new holder, if it is that now.
    pub(super) fn gains(&mut self, candidate: usize, gain: f64) -> Option<usize> {
        let comparisons = self.comparisons;
        let rival = self.rival(candidate)?;
        rival.gains.push(gain);
        let pairs = rival.gains.len();
        let verdict = if LOOKS.contains(&pairs) { look(&rival.gains, comparisons) } else { None };
        match verdict {
            Some(Verdict::Wins) => {
                self.holder = candidate;
                self.leaves(candidate);
                // What was measured beside another holder says nothing of this one.
                self.rivals.iter_mut().for_each(|rival| rival.gains.clear());
                return Some(candidate);
            }
            Some(_) => self.leaves(candidate),
            None if pairs >= LOOKS[LOOKS.len() - 1] => self.leaves(candidate),
            None => {}
        }
        None
    }

    fn rival(&mut self, candidate: usize) -> Option<&mut Rival> {
        self.rivals.iter_mut().find(|rival| rival.candidate == candidate)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runtime::tunable::budget::{Account, Budget, Cost};

    /// By how many thousandths a loop took as long as the fastest of 4096 in a row, on a core that compilers took as they liked: half
    /// of them are within 1%, one in a hundred takes tens of times as long.
    const NOISE: &str = include_str!("noise.txt");

    /// A machine whose clock is its own, and whose calls take what was recorded.
    struct Machine {
        noise: Vec<f64>,
        at: usize,
        now: f64,
    }

    impl Machine {
        fn new(seed: usize) -> Machine {
            let noise: Vec<f64> = NOISE.split_whitespace().map(|word| word.parse::<f64>().unwrap() / 1000.0).collect();
            Machine { at: seed * 37 % noise.len(), noise, now: 0.0 }
        }

        /// The seconds of a call that takes so long on a quiet machine.
        fn call(&mut self, seconds: f64) -> f64 {
            let taken = seconds * self.noise[self.at % self.noise.len()];
            self.at += 1;
            self.now += taken;
            taken
        }

        fn clock(&self) -> Duration {
            Duration::from_secs_f64(self.now)
        }
    }

    /// What was seen of a program.
    #[derive(Default)]
    struct Seen {
        /// The holder, from each change on.
        holders: Vec<usize>,
        explored_calls: u64,
        explored: f64,
        /// The longest step.
        longest: f64,
    }

    /// A program makes calls of one key, and explores within its budget; `times` are the seconds of candidates at a call.
    fn run(
        machine: &mut Machine,
        budget: Budget,
        holder: usize,
        calls: usize,
        times: impl Fn(usize) -> Vec<f64>,
    ) -> Seen {
        let candidates = times(0).len();
        let (mut race, mut account) = (Race::new(holder, candidates), Account::new(budget));
        let mut seen = Seen { holders: vec![holder], ..Seen::default() };
        for call in 1..=calls {
            let times = times(call);
            machine.call(times[*seen.holders.last().unwrap()]);
            account.earn(1, machine.clock());
            let Some(step) = race.next() else { continue };
            let (one, other) = match step {
                Step::Check(candidate) => (times[candidate], times[0]),
                Step::Pair { rival, holder } => (times[rival], times[holder]),
            };
            let calls = if matches!(step, Step::Check(_)) { 2 } else { 4 };
            let estimate = Cost { calls, time: Duration::from_secs_f64(f64::from(calls as u32 / 2) * (one + other)) };
            if !account.allows(estimate) {
                continue;
            }
            let begun = machine.now;
            match step {
                Step::Check(candidate) => {
                    machine.call(one);
                    machine.call(other);
                    race.passes(candidate);
                }
                Step::Pair { rival, .. } => {
                    let (a, b) = (machine.call(one), machine.call(other));
                    let (c, d) = (machine.call(other), machine.call(one));
                    seen.holders.extend(race.gains(rival, crate::paired::gains(&[a, d], &[b, c])[0]));
                }
            }
            let time = machine.now - begun;
            account.spend(Cost { calls, time: Duration::from_secs_f64(time) });
            seen.explored_calls += calls;
            seen.explored += time;
            seen.longest = seen.longest.max(time);
            // At any time, not only at the end.
            match budget {
                Budget::Percent(percent) => {
                    assert!(seen.explored_calls as f64 <= percent / 100.0 * call as f64 + 1e-6, "{call}");
                }
                Budget::TimePerSecond(share) => {
                    let most = share.as_secs_f64() * machine.now + seen.longest;
                    assert!(seen.explored <= most + 1e-6, "{} of {most}", seen.explored);
                }
            }
        }
        seen
    }

    const BUDGETS: [Budget; 2] = [Budget::Percent(2.0), Budget::TimePerSecond(Duration::from_millis(20))];

    #[test]
    fn a_faster_candidate_is_found_within_the_budget_though_the_machine_is_busy() {
        for budget in BUDGETS {
            for seed in 0..50 {
                let seen = run(&mut Machine::new(seed), budget, 0, 40_000, |_| vec![1e-4, 1.3e-4, 0.8e-4, 0.99e-4]);
                assert_eq!(seen.holders, [0, 2], "{budget:?}, {seed}");
            }
        }
    }

    #[test]
    fn nothing_changes_without_certainty() {
        for budget in BUDGETS {
            let mut changed = 0;
            for seed in 0..200 {
                // One is as fast, one faster by less than 2%, one slower.
                let seen = run(&mut Machine::new(seed), budget, 0, 20_000, |_| vec![1e-4, 1e-4, 0.985e-4, 1.1e-4]);
                changed += usize::from(seen.holders.len() > 1);
            }
            assert!(changed <= 2, "{changed} of 200, of which each errs with 1%");
        }
    }

    #[test]
    fn a_winner_that_has_drifted_loses_when_it_is_tried_again() {
        for budget in BUDGETS {
            for seed in 0..20 {
                let mut machine = Machine::new(seed);
                let seen = run(&mut machine, budget, 0, 20_000, |_| vec![1e-4, 0.8e-4]);
                assert_eq!(seen.holders, [0, 1]);
                // As where another process takes the cache that it needs.
                let seen = run(&mut machine, budget, 1, 20_000, |_| vec![1e-4, 1.3e-4]);
                assert_eq!(seen.holders, [1, 0]);
            }
        }
    }

    #[test]
    fn a_race_ends_when_all_are_out_and_checks_come_first() {
        let mut race = Race::new(1, 3);
        assert_eq!(race.next(), Some(Step::Check(0)));
        race.passes(0);
        assert_eq!(race.next(), Some(Step::Check(2)));
        race.leaves(2);
        for _ in 0..64 {
            assert_eq!(race.next(), Some(Step::Pair { rival: 0, holder: 1 }));
            let far = if race.rivals[0].gains.len().is_multiple_of(2) { 0.5 } else { -0.5 };
            assert_eq!(race.gains(0, far), None);
        }
        assert_eq!(race.next(), None, "64 pairs that tell nothing");
    }
}
