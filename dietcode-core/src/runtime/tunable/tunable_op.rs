//! The operation that is tuned.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::exploration::{self, Exploration};
use super::fastest::Trials;
use super::key::{Key, MAX_FIELDS};
use super::known::{Known, NEW, Tuning, UNTUNED};
use super::op::{Callable, Op, caught};
use super::params::Params;
use super::report::{DEFAULT, Report, Subject};
use super::results::{self, Trying};
use super::say;
use super::tuning::{self, Mode};
use super::turn::Turn;
use crate::{Error, ErrorKind, Result};

/// An operation that several candidates compute, of which each call runs the fastest for its [key](Params::key).
///
/// Which candidate that is, is found when a key is met for the first time, if [`tuning`] is on. Only candidates that compute what the
/// default computes are chosen. Of all operations of a program one is tuned at a time, since two would disturb each other's figures: a call
/// that meets an untuned key meanwhile runs the default, and leaves the key to a later one; in a [`tuning::scope`] it waits for a while, unless
/// the key is the same. A call whose key is known takes no lock.
///
/// ```
/// use dietcode_core::runtime::tunable::{Key, Params, TunableOp, tuning};
/// use dietcode_core::{Error, Result};
///
/// /// y += x
/// struct Add<'a> {
///     x: &'a [f32],
///     y: &'a mut [f32],
/// }
///
/// struct Adds;
///
/// impl Params for Adds {
///     type Call<'a> = Add<'a>;
///     type Proxy = (Vec<f32>, Vec<f32>);
///     type Output = Vec<f32>;
///
///     fn key(call: &Add<'_>, key: &mut Key) -> Result<()> {
///         key.add("N", call.y.len() as u64);
///         Ok(())
///     }
///
///     fn pre_tuning(call: &Add<'_>) -> Result<Self::Proxy> {
///         Ok((call.x.to_vec(), vec![1.0; call.y.len()]))
///     }
///
///     fn reset((_, y): &mut Self::Proxy) {
///         y.fill(1.0);
///     }
///
///     fn call((x, y): &mut Self::Proxy) -> Add<'_> {
///         Add { x, y }
///     }
///
///     fn output((_, y): &mut Self::Proxy) -> Result<Vec<f32>> {
///         Ok(y.clone())
///     }
///
///     fn compare((_, y): &mut Self::Proxy, expected: &Vec<f32>) -> Result<(), String> {
///         // One addition is rounded in the same way wherever it is computed.
///         if y == expected { Ok(()) } else { Err(format!("it computes {y:?}, not {expected:?}")) }
///     }
/// }
///
/// let mut add = TunableOp::<Adds>::new("add", "indexed", |call: &mut Add<'_>| {
///     (0..call.y.len()).for_each(|at| call.y[at] += call.x[at]);
///     Ok(())
/// });
/// add.register("by four", |call: &mut Add<'_>| {
///     if call.y.len() % 4 != 0 {
///         return Err(Error::unsupported("the length is no multiple of 4"));
///     }
///     for (y, x) in call.y.chunks_mut(4).zip(call.x.chunks(4)) {
///         (0..4).for_each(|at| y[at] += x[at]);
///     }
///     Ok(())
/// })?;
/// add.register("wrong", |call: &mut Add<'_>| Ok(call.y.fill(0.0)))?;
///
/// let mut y = [1.0; 8];
/// tuning::scope(true, || add.call(&mut Add { x: &[2.0; 8], y: &mut y }))?;
/// assert_eq!(y, [3.0; 8]);
/// assert_ne!(add.reports()[0].chosen, "wrong");
/// # Ok::<(), Error>(())
/// ```
pub struct TunableOp<P: Params> {
    name: String,
    /// The candidates' names; the default is the first.
    pub(super) names: Vec<String>,
    pub(super) candidates: Vec<Op<P>>,
    /// What results depend on beside the candidates' names.
    validators: BTreeMap<String, String>,
    known: Known,
    /// What is explored within a budget.
    pub(super) exploration: Mutex<Option<Exploration<P>>>,
}

impl<P: Params> TunableOp<P> {
    /// An operation of a name, by which its results are kept, and its default: what runs while nothing is known, and what the other
    /// candidates are compared with.
    pub fn new(
        name: impl Into<String>,
        default: impl Into<String>,
        op: impl for<'c, 'a> Fn(&'c mut P::Call<'a>) -> Result<()> + Send + Sync + 'static,
    ) -> TunableOp<P> {
        let (names, candidates) = (vec![default.into()], vec![Op::new(op)]);
        TunableOp {
            name: name.into(),
            names,
            candidates,
            validators: BTreeMap::new(),
            known: Known::new(),
            exploration: Mutex::default(),
        }
    }

    /// Adds a candidate.
    ///
    /// # Errors
    /// If the operation has one of that name.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        op: impl for<'c, 'a> Fn(&'c mut P::Call<'a>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.add(name.into(), Op::new(op))
    }

    /// Adds another operation as a candidate, by its name. It is tuned when it is tried, on the same proxies, and keeps results of its
    /// own.
    ///
    /// # Errors
    /// As for [`TunableOp::register`].
    pub fn register_nested(&mut self, op: Arc<TunableOp<P>>) -> Result<()> {
        self.add(op.name.clone(), Op::of(op))
    }

    /// Says what results that are kept depend on beside keys and names of candidates: the version of a library that one calls, of a
    /// device's driver, of code that has changed under its old name. What was found with another value is not used.
    pub fn validator(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.validators.insert(name.into(), value.into());
        self.forget();
    }

    fn add(&mut self, name: String, op: Op<P>) -> Result<()> {
        if self.index_of(&name).is_some() {
            return Err(Error::input(format!(
                "{}: there is a candidate `{name}` already; names must differ",
                self.name
            )));
        }
        self.names.push(name);
        self.candidates.push(op);
        // What was found, it was found without this candidate.
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        (self.known, self.exploration) = (Known::new(), Mutex::default());
    }

    /// The operation's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the candidates, the default first.
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.candidates().position(|candidate| candidate == name)
    }

    /// Computes a call, by the candidate that is chosen for its key.
    ///
    /// # Errors
    /// Those of the candidate, and of the key; [`ErrorKind::Input`] if a setting of the environment is wrong.
    #[inline]
    pub fn call(&self, call: &mut P::Call<'_>) -> Result<()> {
        let chosen = match tuning::mode()? {
            Mode::Off => DEFAULT,
            mode => self.choose(call, mode)?,
        };
        let called = self.candidates[chosen].call(call);
        match called {
            // It has written nothing, and the key leaves out what matters to it.
            Err(error) if chosen != DEFAULT && error.kind() == ErrorKind::Unsupported => {
                self.candidates[DEFAULT].call(call)
            }
            called => called,
        }
    }

    /// What tuning has found in this process, or in an earlier one and was asked for in this, in no order.
    pub fn reports(&self) -> Vec<Report> {
        self.known.reports()
    }

    #[inline]
    fn choose(&self, call: &P::Call<'_>, mode: Mode) -> Result<usize> {
        if !P::is_tuned(call) {
            return Ok(DEFAULT);
        }
        let key = self.key(call, Key::new())?;
        let Some((entry, chosen)) = self.known.get(&key).and_then(|entry| Some((entry, entry.chosen()?))) else {
            return self.choose_anew(call, &key, mode);
        };
        if let Mode::Explore(budget) = mode
            && exploration::is_asked()
            && P::can_be_tried(call)
        {
            self.explore(call, &key, entry, budget)?;
        }
        Ok(chosen)
    }

    pub(super) fn key(&self, call: &P::Call<'_>, mut key: Key) -> Result<Key> {
        P::key(call, &mut key)?;
        if key.words().is_none() {
            return Err(Error::input(format!("{}: a key has more than {MAX_FIELDS} fields", self.name)));
        }
        Ok(key)
    }

    #[cold]
    fn choose_anew(&self, call: &P::Call<'_>, key: &Key, mode: Mode) -> Result<usize> {
        let (tune, is_recorded) = (mode == Mode::Tune, tuning::records_untuned()?);
        if mode == Mode::Use && !results::are_kept()? {
            return Ok(DEFAULT);
        }
        let Some(entry) = self.known.entry(key) else { return Ok(DEFAULT) };
        let text = || Ok::<_, Error>(self.key(call, Key::with_text())?.into_text());
        if entry.is(NEW) {
            let text = text()?;
            if let Some(right) = entry.begin(NEW, DEFAULT) {
                match results::find(&self.subject(&text)) {
                    Some(report) => self.end(right, report),
                    None => right.leave(),
                }
            }
        }
        if let Mode::Explore(_) = mode {
            // The default runs, and is what the others have to beat.
            drop(entry.begin(UNTUNED, DEFAULT));
            return Ok(entry.chosen().unwrap_or(DEFAULT));
        }
        if !tune || !entry.is(UNTUNED) || !P::can_be_tried(call) {
            if is_recorded
                && !tune
                && entry.is(UNTUNED)
                && let Some(calls) = entry.miss()
            {
                results::record(&self.subject(&text()?), calls);
            }
            return Ok(entry.chosen().unwrap_or(DEFAULT));
        }
        let limit = tuning::limit()?;
        if let Some(_turn) = Turn::take(tuning::wait(limit)) {
            let text = text()?;
            if let Some(right) = entry.begin(UNTUNED, DEFAULT) {
                let report = match caught(|| P::pre_tuning(call)) {
                    Ok(mut proxy) => self.find_fastest(&mut proxy, limit, &text),
                    Err(error) => self.untried(&text, &error),
                };
                self.end(right, report);
            }
        }
        Ok(entry.chosen().unwrap_or(DEFAULT))
    }

    pub(super) fn subject<'a>(&'a self, key: &'a str) -> Subject<'a> {
        Subject { op: &self.name, key, candidates: &self.names, validators: &self.validators }
    }

    fn find_fastest(&self, proxy: &mut P::Proxy, limit: Duration, key: &str) -> Report {
        let trying = &Trying::new(self.subject(key), limit);
        match self.trials(proxy, limit, trying).run() {
            Ok((chosen, outcomes)) => {
                let subject = self.subject(key);
                let report = subject.report(&self.names[chosen], self.names.iter().cloned().zip(outcomes).collect());
                results::save(&subject, &report, tuning::rotation().unwrap_or(0));
                report
            }
            Err(error) => self.untried(key, &error),
        }
    }

    /// The report where nothing could be tried.
    fn untried(&self, key: &str, error: &Error) -> Report {
        let untried = Some(error.to_string());
        Report { untried, ..self.subject(key).report(&self.names[DEFAULT], Vec::new()) }
    }

    pub(super) fn trials<'a>(
        &'a self,
        proxy: &'a mut P::Proxy,
        limit: Duration,
        trying: &'a Trying<'a>,
    ) -> Trials<'a, P> {
        Trials { candidates: &self.candidates, names: &self.names, proxy, limit, trying }
    }

    /// Says what is wrong with candidates.
    pub(super) fn complain(&self, report: &Report) {
        let Report { op, key, .. } = report;
        let faults = report.candidates.iter().filter_map(|(name, outcome)| Some((name, outcome.fault()?)));
        faults.for_each(|(name, fault)| say(&format!("{op} at {key}: the candidate `{name}` is left out: {fault}")));
    }

    /// Says what is wrong with candidates, and ends a tuning.
    fn end(&self, right: Tuning<'_>, report: Report) {
        self.complain(&report);
        let Report { op, key, chosen, .. } = &report;
        if let Some(why) = &report.untried {
            say(&format!("{op} at {key}: `{chosen}` is kept, nothing could be tried: {why}"));
        }
        let chosen = self.index_of(chosen).unwrap_or(DEFAULT);
        right.end(chosen, report);
    }
}

impl<P: Params> Callable<P> for Arc<TunableOp<P>> {
    fn call(&self, call: &mut P::Call<'_>) -> Result<()> {
        TunableOp::call(self, call)
    }

    /// Tunes it on the proxy of the operation that it is nested in.
    fn prepare(&self, proxy: &mut P::Proxy, limit: Duration) -> Result<()> {
        let (key, text) = {
            let call = P::call(proxy);
            (self.key(&call, Key::new())?, self.key(&call, Key::with_text())?.into_text())
        };
        let begin = |state: u64| self.known.entry(&key)?.begin(state, DEFAULT);
        if let Some(right) = begin(NEW).or_else(|| begin(UNTUNED)) {
            let known = results::find(&self.subject(&text));
            self.end(right, known.unwrap_or_else(|| self.find_fastest(proxy, limit, &text)));
        }
        Ok(())
    }
}
