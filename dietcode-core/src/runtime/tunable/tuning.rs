//! Whether calls of tunable operations are tuned: settings of a thread, of the program, of the environment.

use std::cell::Cell;
#[cfg(feature = "results")]
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "results")]
use std::sync::{PoisonError, RwLock, atomic::AtomicBool};
use std::time::Duration;

use super::budget::Budget;
use crate::{Error, Result};

const ENABLED: &str = "DIETCODE_TUNABLE_ENABLED";
const TUNING: &str = "DIETCODE_TUNABLE_TUNING";
const LIMIT_MS: &str = "DIETCODE_TUNABLE_LIMIT_MS";
const ROTATION_MIB: &str = "DIETCODE_TUNABLE_ROTATION_MIB";
const FILE: &str = "DIETCODE_TUNABLE_FILE";
const BUDGET: &str = "DIETCODE_TUNABLE_BUDGET";
const RECORD: &str = "DIETCODE_TUNABLE_RECORD";

const DEFAULT_LIMIT: Duration = Duration::from_millis(20);

/// The longest limit that can be set.
pub const MAX_LIMIT: Duration = Duration::from_secs(60);

/// The most bytes over which calls may be rotated: 32 GiB.
pub const MAX_ROTATION: u64 = 32 << 30;

const MIB: u64 = 1 << 20;

const NOT_SET: u64 = u64::MAX;

/// 0, 1, or [`NOT_SET`].
static SET_ENABLE: AtomicU64 = AtomicU64::new(NOT_SET);
static SET_TUNE: AtomicU64 = AtomicU64::new(NOT_SET);
static SET_RECORD: AtomicU64 = AtomicU64::new(NOT_SET);
/// As [`encoded`] has it.
static SET_BUDGET: AtomicU64 = AtomicU64::new(NOT_SET);
/// In microseconds.
static SET_LIMIT: AtomicU64 = AtomicU64::new(NOT_SET);
/// In bytes.
static SET_ROTATION: AtomicU64 = AtomicU64::new(NOT_SET);
#[cfg(feature = "results")]
static SET_FILE: RwLock<Option<PathBuf>> = RwLock::new(None);
#[cfg(feature = "results")]
static HAS_SET_FILE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What [`scope`] has set on this thread.
    static SCOPED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// What a call of a tunable operation does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// It runs the default, whatever is known.
    Off,
    /// It runs what was found to be the fastest, in this process or by one that has kept it, else the default.
    Use,
    /// It does the same, and where nothing is known it finds the fastest first.
    Tune,
    /// It runs what is known, else the default, and now and then compares a pair of candidates beside its own work, within a budget.
    Explore(Budget),
}

/// Settings for the whole program. What is not set stays as it was: at first as the environment has it, else off.
///
/// | setting | variable                    | values                                                | else |
/// |---------|-----------------------------|-------------------------------------------------------|------|
/// | enable  | `DIETCODE_TUNABLE_ENABLED`  | 0: the default runs, whatever is known; 1             | 0    |
/// | tune    | `DIETCODE_TUNABLE_TUNING`   | 0: what is not known is not tuned; 1                  | 0    |
/// | limit   | `DIETCODE_TUNABLE_LIMIT_MS` | how long a candidate is timed: 1 to 60000 milliseconds | 20   |
/// | rotation | `DIETCODE_TUNABLE_ROTATION_MIB` | over how many MiB of operands timed calls go in turn: 0 to 32768 | 0: the same ones each time |
/// | budget  | `DIETCODE_TUNABLE_BUDGET`   | `2%` of the calls or `5ms` of each second go to trying candidates, step by step | all at once |
/// | file    | `DIETCODE_TUNABLE_FILE`     | where results are kept, under the feature `results`   | none |
/// | record  | `DIETCODE_TUNABLE_RECORD`   | 0: no; 1: what is not known and not tuned is listed there | 0 |
#[derive(Clone, Debug, Default)]
#[must_use = "settings hold once they are applied"]
pub struct Settings {
    enable: Option<bool>,
    tune: Option<bool>,
    limit: Option<Duration>,
    rotation: Option<u64>,
    budget: Option<Budget>,
    #[cfg(feature = "results")]
    file: Option<PathBuf>,
    #[cfg(feature = "results")]
    record: Option<bool>,
}

impl Settings {
    /// Nothing set.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Whether calls run what was found to be the fastest.
    pub fn enable(self, enable: bool) -> Settings {
        Settings { enable: Some(enable), ..self }
    }

    /// Whether calls for which nothing is known are tuned, if they are enabled.
    pub fn tune(self, tune: bool) -> Settings {
        Settings { tune: Some(tune), ..self }
    }

    /// How long each candidate is timed, about; one call of it may take longer.
    pub fn limit(self, limit: Duration) -> Settings {
        Settings { limit: Some(limit), ..self }
    }

    /// Over how many bytes of operands timed calls go in turn, 0 for the same ones each time. Operands that take more than the caches together are
    /// read from memory, as a program's are that come from elsewhere; each key that is tuned takes so much memory meanwhile. Within a
    /// [budget](Settings::budget) it does not hold. What was found with another rotation is used all the same.
    pub fn rotation(self, bytes: u64) -> Settings {
        Settings { rotation: Some(bytes), ..self }
    }

    /// How much of the program's work may go to tuning, where that is on. No call waits for a whole tuning then: calls of a key run the default,
    /// or what is known of it, one of 61 of a thread may compare a pair of candidates on operands of its own, and a candidate is run
    /// from then on when it is faster by more than 2% with a certainty of 99%, by the rule of the finals of `dietcode tune`. What was found
    /// is tried again after ten minutes. In a [`scope`] calls are tuned at once.
    pub fn budget(self, budget: Budget) -> Settings {
        Settings { budget: Some(budget), ..self }
    }

    /// The file that has what other processes found, and gets what this one finds; it need not be there yet. A relative path is one from the
    /// folder in which the settings are applied, or the variable is first read. What it says is asked for once for each key of an
    /// operation, when that is first met: so this stands before the first call.
    ///
    /// A result is used if it was found by the same version of this crate, on the same CPU, for the same key, among the same candidates
    /// and [validators](super::TunableOp::validator); else, or if a line is damaged, it is as if it were not there, and a line on standard
    /// error says why. So it is if nothing can be read or written: no call fails. Several processes may share a file. A candidate that
    /// ends its process while it is tried is not tried again by the next one.
    #[cfg(feature = "results")]
    pub fn file(self, file: impl Into<PathBuf>) -> Settings {
        Settings { file: Some(file.into()), ..self }
    }

    /// Whether calls that are enabled, not tuned, and of which nothing is known are listed in the [file](Settings::file) with how often they
    /// were made, for `dietcode tune-offline` to tune what a config of generated kernels knows of it. A call is an error where there is
    /// no file.
    #[cfg(feature = "results")]
    pub fn record_untuned(self, record: bool) -> Settings {
        Settings { record: Some(record), ..self }
    }

    /// Has them hold for all calls from now on.
    ///
    /// # Errors
    /// If the limit is below a millisecond or above [`MAX_LIMIT`], the rotation above [`MAX_ROTATION`], the budget is outside of its
    /// bounds, or the file's path is empty or relative to a folder that is not there; nothing is changed then.
    pub fn apply(self) -> Result<()> {
        if let Some(limit) = self.limit
            && !(Duration::from_millis(1)..=MAX_LIMIT).contains(&limit)
        {
            let message = format!("candidates cannot be timed for {limit:?}, only for 1 ms to {MAX_LIMIT:?}");
            return Err(Error::input(message));
        }
        if let Some(bytes) = self.rotation.filter(|bytes| *bytes > MAX_ROTATION) {
            return Err(Error::input(format!(
                "calls cannot be rotated over {bytes} bytes, at most over {MAX_ROTATION}"
            )));
        }
        if let Some(budget) = self.budget.filter(|budget| !budget.is_valid()) {
            let message = format!("found a budget of {budget}, expected above 0, up to 100% or a second");
            return Err(Error::input(message));
        }
        #[cfg(feature = "results")]
        let file = self.file.map(|file| absolute(&file)).transpose().map_err(Error::input)?;
        let set = |setting: &AtomicU64, value: Option<u64>| {
            if let Some(value) = value {
                setting.store(value, Ordering::Relaxed);
            }
        };
        set(&SET_LIMIT, self.limit.map(|limit| limit.as_micros() as u64));
        set(&SET_ROTATION, self.rotation);
        set(&SET_BUDGET, self.budget.map(encoded));
        set(&SET_TUNE, self.tune.map(u64::from));
        set(&SET_ENABLE, self.enable.map(u64::from));
        #[cfg(feature = "results")]
        set(&SET_RECORD, self.record.map(u64::from));
        #[cfg(feature = "results")]
        if let Some(file) = file {
            *SET_FILE.write().unwrap_or_else(PoisonError::into_inner) = Some(file);
            HAS_SET_FILE.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Runs `body` with calls from this thread tuned, or, if `on` is `false`, with their defaults, whatever else is set. Where another thread
/// is tuning, a call waits for it, but for no more than a hundred times the [limit]: that thread may wait for this one, as when a
/// candidate starts a thread that tunes and joins it. Then the call runs its default.
pub fn scope<R>(on: bool, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(Some(on)));
    body()
}

/// What a call from this thread does: what [`scope`] says, else what [`Settings`] were applied, else the environment.
///
/// # Errors
/// If the environment is consulted, and one of its variables has none of the values above.
pub fn mode() -> Result<Mode> {
    match SCOPED.get() {
        Some(true) => return Ok(Mode::Tune),
        Some(false) => return Ok(Mode::Off),
        None => {}
    }
    if !is_on(&SET_ENABLE, |environment| environment.enable)? {
        return Ok(Mode::Off);
    }
    if !is_on(&SET_TUNE, |environment| environment.tune)? {
        return Ok(Mode::Use);
    }
    let budget = match SET_BUDGET.load(Ordering::Relaxed) {
        NOT_SET => environment()?.budget,
        set => Some(decoded(set)),
    };
    Ok(budget.map_or(Mode::Tune, Mode::Explore))
}

/// The upper bit of a budget of time.
const OF_TIME: u64 = 1 << 62;

/// A budget as a number: millionths of the calls or, with the upper bit, microseconds.
fn encoded(budget: Budget) -> u64 {
    match budget {
        Budget::Percent(percent) => (percent * 1e4) as u64,
        Budget::TimePerSecond(time) => OF_TIME | time.as_micros() as u64,
    }
}

fn decoded(number: u64) -> Budget {
    match number & OF_TIME {
        0 => Budget::Percent(number as f64 / 1e4),
        _ => Budget::TimePerSecond(Duration::from_micros(number & !OF_TIME)),
    }
}

/// How long each candidate is timed.
///
/// # Errors
/// As for [`mode`].
pub fn limit() -> Result<Duration> {
    match SET_LIMIT.load(Ordering::Relaxed) {
        NOT_SET => Ok(environment()?.limit),
        micros => Ok(Duration::from_micros(micros)),
    }
}

/// Over how many bytes of operands timed calls go in turn; 0: they have the same ones each time, as they do within a budget, where a call of the
/// program would wait until the others were made.
///
/// # Errors
/// As for [`mode`].
pub fn rotation() -> Result<u64> {
    match SET_ROTATION.load(Ordering::Relaxed) {
        _ if matches!(mode()?, Mode::Explore(_)) => Ok(0),
        NOT_SET => Ok(environment()?.rotation),
        bytes => Ok(bytes),
    }
}

/// How long a call from this thread waits for another one that is tuning; none: it does not.
pub(super) fn wait(limit: Duration) -> Option<Duration> {
    /// A candidate takes a few times the limit.
    const LIMITS: u32 = 100;
    SCOPED.get().map(|_| LIMITS * limit)
}

/// Whether what is not known is listed.
///
/// # Errors
/// As for [`mode`], and if there is no file for it.
pub(super) fn records_untuned() -> Result<bool> {
    let records = is_on(&SET_RECORD, |environment| environment.record)?;
    #[cfg(feature = "results")]
    let has_file = has_file()?;
    #[cfg(not(feature = "results"))]
    let has_file = false;
    if records && !has_file {
        return Err(Error::input(format!(
            "calls that are not tuned cannot be listed: neither {FILE} nor a setting names a file"
        )));
    }
    Ok(records)
}

/// Where results are kept.
#[cfg(feature = "results")]
pub(super) fn file() -> Result<Option<PathBuf>> {
    match &*SET_FILE.read().unwrap_or_else(PoisonError::into_inner) {
        Some(file) => Ok(Some(file.clone())),
        None => Ok(environment()?.file.clone()),
    }
}

/// Whether they are kept anywhere.
#[cfg(feature = "results")]
pub(super) fn has_file() -> Result<bool> {
    Ok(HAS_SET_FILE.load(Ordering::Acquire) || environment()?.file.is_some())
}

#[inline]
fn is_on(set: &AtomicU64, of_environment: fn(&Environment) -> bool) -> Result<bool> {
    match set.load(Ordering::Relaxed) {
        NOT_SET => environment().map(of_environment),
        value => Ok(value == 1),
    }
}

struct Environment {
    enable: bool,
    tune: bool,
    budget: Option<Budget>,
    record: bool,
    limit: Duration,
    rotation: u64,
    #[cfg(feature = "results")]
    file: Option<PathBuf>,
}

fn environment() -> Result<&'static Environment> {
    static PARSED: OnceLock<Result<Environment, String>> = OnceLock::new();
    PARSED.get_or_init(parse_environment).as_ref().map_err(Error::input)
}

fn parse_environment() -> Result<Environment, String> {
    let most = MAX_LIMIT.as_millis() as u64;
    let limit = parse(LIMIT_MS, 1, most, &format!("a number of milliseconds from 1 to {most}"))?;
    let most = MAX_ROTATION / MIB;
    let rotation = parse(ROTATION_MIB, 0, most, &format!("a number of MiB from 0 to {most}"))?;
    let file = std::env::var_os(FILE);
    if file.as_ref().is_some_and(|file| file.is_empty()) {
        return Err(format!("{FILE} is \"\", but must be a path"));
    }
    let record = parse(RECORD, 0, 1, "0 or 1")? == Some(1);
    if cfg!(not(feature = "results")) && (record || file.is_some()) {
        let variable = if record { RECORD } else { FILE };
        return Err(format!("{variable} is set, but dietcode-core was built without its feature `results`"));
    }
    let expected = "a share of the calls, 2%, or of each second, 5ms: above 0, up to 100% or 1000ms";
    let budget = std::env::var_os(BUDGET).map(|text| {
        let budget = text.to_str().and_then(Budget::parse);
        budget.ok_or_else(|| format!("{BUDGET} is {text:?}, but must be {expected}"))
    });
    let budget = budget.transpose()?;
    Ok(Environment {
        #[cfg(feature = "results")]
        file: file.map(|file| absolute(file.as_ref())).transpose()?,
        enable: parse(ENABLED, 0, 1, "0 or 1")? == Some(1),
        tune: parse(TUNING, 0, 1, "0 or 1")? == Some(1),
        record,
        budget,
        rotation: rotation.unwrap_or(0) * MIB,
        limit: limit.map_or(DEFAULT_LIMIT, Duration::from_millis),
    })
}

/// A path that stays that of the same file when the program changes its folder.
#[cfg(feature = "results")]
fn absolute(file: &Path) -> Result<PathBuf, String> {
    std::path::absolute(file).map_err(|error| format!("{file:?} cannot be where results are kept: {error}"))
}

fn parse(variable: &str, least: u64, most: u64, expected: &str) -> Result<Option<u64>, String> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(format!("{variable} is {value:?}, but must be {expected}")),
    }
}
