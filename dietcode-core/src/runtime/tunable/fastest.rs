//! Finds the fastest candidate of a call: checks what each computes, times those that may win, and has the best prove it beside the
//! default.

use std::time::Duration;

use super::op::{Op, caught};
use super::params::Params;
use super::report::{DEFAULT, Outcome};
use super::results::Trying;
use crate::paired::median;
use crate::{Error, Result};

/// How often a candidate is called before it is timed, beside the call that is checked, and how often to see whether it may win.
const WARM_UPS: u32 = 1;
const PROBES: u32 = 3;

/// A candidate that the probe finds slower than the best by this factor is not timed.
const HOPELESS: f64 = 1.5;

/// The default is replaced by what is faster by this factor, here as in the finals of `dietcode tune`.
const CERTAIN: f64 = 1.02;

/// The most calls in a sample, and the most samples of a candidate.
const MOST_CALLS: f64 = 1000.0;
const MOST_SAMPLES: f64 = 50.0;

/// Candidates, of which the first is the default, and what they are tried on.
pub(super) struct Trials<'a, P: Params> {
    pub(super) candidates: &'a [Op<P>],
    pub(super) names: &'a [String],
    pub(super) proxy: &'a mut P::Proxy,
    /// How long a candidate is timed, about.
    pub(super) limit: Duration,
    /// Which candidate is called, for the next process, if it ends this one.
    pub(super) trying: &'a Trying<'a>,
}

impl<P: Params> Trials<'_, P> {
    /// The fastest, and what became of each.
    ///
    /// # Errors
    /// If the default itself cannot be called.
    pub(super) fn run(&mut self) -> Result<(usize, Vec<Outcome>)> {
        self.candidates[DEFAULT].prepare(self.proxy, self.limit)?;
        let mut expected = Vec::new();
        for variant in 0..P::VARIANTS {
            self.first_call(DEFAULT, variant)?;
            expected.push(P::output(self.proxy)?);
        }
        let probe = self.probe(DEFAULT)?;
        let default = self.seconds(DEFAULT, probe)?;
        let (mut best, mut least, mut least_probe) = (DEFAULT, default, probe);
        let mut outcomes = vec![timed(default)];
        for candidate in DEFAULT + 1..self.candidates.len() {
            outcomes.push(match self.outcome(candidate, &expected, least_probe) {
                Ok((outcome, times)) => {
                    if let Some((probe, seconds)) = times.filter(|(_, seconds)| *seconds < least) {
                        (best, least, least_probe) = (candidate, seconds, probe);
                    }
                    outcome
                }
                Err(error) => Outcome::of_error(&error),
            });
        }
        if best != DEFAULT {
            match self.is_faster(best, least, default) {
                Ok(true) => {}
                Ok(false) => best = DEFAULT,
                Err(error) => {
                    outcomes[best] = Outcome::of_error(&error);
                    best = DEFAULT;
                }
            }
        }
        Ok((best, outcomes))
    }

    /// What becomes of a candidate, and its seconds in the probe and behind it; none if it cannot win. The best took `least` in its probe.
    fn outcome(
        &mut self,
        candidate: usize,
        expected: &[P::Output],
        least: f64,
    ) -> Result<(Outcome, Option<(f64, f64)>)> {
        // A nested operation is tuned before, on the same proxy.
        self.candidates[candidate].prepare(self.proxy, self.limit)?;
        let _attempt = self.trying.attempt(&self.names[candidate]).map_err(Error::failed)?;
        for (variant, expected) in expected.iter().enumerate() {
            self.first_call(candidate, variant)?;
            if let Err(difference) = self.compare(expected)? {
                return Ok((Outcome::Wrong(difference), None));
            }
        }
        let probe = self.probe(candidate)?;
        if probe > HOPELESS * least {
            return Ok((Outcome::Dropped(Duration::from_secs_f64(probe)), None));
        }
        let seconds = self.seconds(candidate, probe)?;
        Ok((timed(seconds), Some((probe, seconds))))
    }

    /// Whether a candidate computes what the default does.
    pub(super) fn check(&mut self, candidate: usize) -> Result<Result<(), String>> {
        for variant in 0..P::VARIANTS {
            self.first_call(DEFAULT, variant)?;
            let expected = P::output(self.proxy)?;
            let _attempt = self.trying.attempt(&self.names[candidate]).map_err(Error::failed)?;
            self.first_call(candidate, variant)?;
            if let Err(difference) = self.compare(&expected)? {
                return Ok(Err(difference));
            }
        }
        Ok(Ok(()))
    }

    /// How far the last call's results are from the default's; a panic is an error of the candidate that computed them.
    fn compare(&mut self, expected: &P::Output) -> Result<Result<(), String>> {
        caught(|| Ok(P::compare(self.proxy, expected)))
    }

    /// Two samples of each of two candidates, by turns: one, other, other, one.
    pub(super) fn pair(&mut self, one: usize, other: usize, calls: u32) -> Result<([f64; 2], [f64; 2])> {
        let (a, b) = (self.attempted_sample(one, calls)?, self.attempted_sample(other, calls)?);
        let (c, d) = (self.attempted_sample(other, calls)?, self.attempted_sample(one, calls)?);
        Ok(([a, d], [b, c]))
    }

    /// A call that is checked.
    pub(super) fn first_call(&mut self, candidate: usize, variant: usize) -> Result<()> {
        caught(|| {
            P::vary(self.proxy, variant);
            P::reset(self.proxy);
            Ok(())
        })?;
        self.candidates[candidate].try_on(self.proxy)
    }

    /// The least of a few calls, fewer if they are long.
    fn probe(&mut self, candidate: usize) -> Result<f64> {
        let (mut least, mut sum) = (f64::INFINITY, 0.0);
        for _ in 0..WARM_UPS + PROBES {
            let seconds = self.sample(candidate, 1)?;
            least = seconds.min(least);
            sum += seconds;
            if sum > self.limit.as_secs_f64() {
                break;
            }
        }
        Ok(least)
    }

    /// The seconds of a call, after its probe: the median of as many samples as the limit allows.
    fn seconds(&mut self, candidate: usize, probe: f64) -> Result<f64> {
        let (calls, samples) = self.plan(probe);
        let samples = (0..samples).map(|_| self.sample(candidate, calls)).collect::<Result<Vec<_>>>()?;
        Ok(median(samples).expect("there is a sample"))
    }

    /// How many calls a sample has, and how many samples there are, if a call takes so long.
    pub(super) fn plan(&self, seconds: f64) -> (u32, u32) {
        let seconds = seconds.max(1e-9);
        let calls = (P::sample_time(self.proxy).as_secs_f64() / seconds).ceil().clamp(1.0, MOST_CALLS);
        let samples = (self.limit.as_secs_f64() / (calls * seconds)).clamp(1.0, MOST_SAMPLES);
        (calls as u32, samples as u32)
    }

    /// The mean of the seconds of some calls in a row.
    pub(super) fn sample(&mut self, candidate: usize, calls: u32) -> Result<f64> {
        P::reset(self.proxy);
        let start = P::now(self.proxy);
        for _ in 0..calls {
            P::rotate(self.proxy);
            self.candidates[candidate].try_on(self.proxy)?;
        }
        let end = P::now(self.proxy);
        P::ended(self.proxy)?;
        Ok(end.saturating_sub(start).as_secs_f64() / f64::from(calls))
    }

    /// The same, with the candidate on file meanwhile. The default, which runs in any case, is not.
    fn attempted_sample(&mut self, candidate: usize, calls: u32) -> Result<f64> {
        let name = (candidate != DEFAULT).then(|| &self.names[candidate]);
        let _attempt = name.map(|name| self.trying.attempt(name).map_err(Error::failed)).transpose()?;
        self.sample(candidate, calls)
    }

    /// Whether a candidate is certainly faster than the default: they take turns (ABBA), so that what slows the machine down for a while
    /// slows both.
    fn is_faster(&mut self, candidate: usize, seconds: f64, default: f64) -> Result<bool> {
        let (calls, samples) = self.plan(seconds.max(default));
        let (mut of_candidate, mut of_default) = (Vec::new(), Vec::new());
        for _ in 0..samples.div_ceil(2) {
            let (one, other) = self.pair(candidate, DEFAULT, calls)?;
            of_candidate.extend(one);
            of_default.extend(other);
        }
        Ok(median(of_default) > median(of_candidate).map(|candidate| CERTAIN * candidate))
    }
}

fn timed(seconds: f64) -> Outcome {
    Outcome::Timed(Duration::from_secs_f64(seconds))
}
