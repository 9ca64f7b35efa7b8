//! Whether calls of tunable operations are tuned: settings of a thread, of the program, of the environment.

use std::cell::Cell;
#[cfg(feature = "results")]
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "results")]
use std::sync::{PoisonError, RwLock, atomic::AtomicBool};
use std::time::Duration;

use crate::{Error, Result};

const ENABLED: &str = "DIETCODE_TUNABLE_ENABLED";
const TUNING: &str = "DIETCODE_TUNABLE_TUNING";
const LIMIT_MS: &str = "DIETCODE_TUNABLE_LIMIT_MS";
const FILE: &str = "DIETCODE_TUNABLE_FILE";

const DEFAULT_LIMIT: Duration = Duration::from_millis(20);

/// The longest limit that can be set.
pub const MAX_LIMIT: Duration = Duration::from_secs(60);

const NOT_SET: u64 = u64::MAX;

/// 0, 1, or [`NOT_SET`].
static SET_ENABLE: AtomicU64 = AtomicU64::new(NOT_SET);
static SET_TUNE: AtomicU64 = AtomicU64::new(NOT_SET);
/// In microseconds.
static SET_LIMIT: AtomicU64 = AtomicU64::new(NOT_SET);
#[cfg(feature = "results")]
static SET_FILE: RwLock<Option<PathBuf>> = RwLock::new(None);
#[cfg(feature = "results")]
static HAS_SET_FILE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What [`scope`] has set on this thread.
    static SCOPED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// What a call of a tunable operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It runs the default, whatever is known.
    Off,
    /// It runs what was found to be the fastest, in this process or by one that has kept it, else the default.
    Use,
    /// It does the same, and where nothing is known it finds the fastest first.
    Tune,
}

/// Settings for the whole program. What is not set stays as it was: at first as the environment has it, else off.
///
/// | setting | variable                    | values                                                | else |
/// |---------|-----------------------------|-------------------------------------------------------|------|
/// | enable  | `DIETCODE_TUNABLE_ENABLED`  | 0: the default runs, whatever is known; 1             | 0    |
/// | tune    | `DIETCODE_TUNABLE_TUNING`   | 0: what is not known is not tuned; 1                  | 0    |
/// | limit   | `DIETCODE_TUNABLE_LIMIT_MS` | how long a candidate is timed: 1 to 60000 milliseconds | 20   |
/// | file    | `DIETCODE_TUNABLE_FILE`     | where results are kept, under the feature `results`   | none |
#[derive(Clone, Debug, Default)]
#[must_use = "settings hold once they are applied"]
pub struct Settings {
    enable: Option<bool>,
    tune: Option<bool>,
    limit: Option<Duration>,
    #[cfg(feature = "results")]
    file: Option<PathBuf>,
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

    /// The file that has what other processes found, and gets what this one finds; it need not be there yet. What it says is asked for
    /// once for each key of an operation, when that is first met: so this stands before the first call.
    ///
    /// A result is used if it was found by the same version of this crate, on the same CPU, for the same key, among the same candidates
    /// and [validators](super::TunableOp::validator); else, or if a line is damaged, it is as if it were not there, and a line on standard
    /// error says why. So it is if nothing can be read or written: no call fails. Several processes may share a file. A candidate that
    /// ends its process while it is tried is not tried again by the next one.
    #[cfg(feature = "results")]
    pub fn file(self, file: impl Into<PathBuf>) -> Settings {
        Settings { file: Some(file.into()), ..self }
    }

    /// Has them hold for all calls from now on.
    ///
    /// # Errors
    /// If the limit is below a millisecond or above [`MAX_LIMIT`]; nothing is changed then.
    pub fn apply(self) -> Result<()> {
        if let Some(limit) = self.limit
            && !(Duration::from_millis(1)..=MAX_LIMIT).contains(&limit)
        {
            let message = format!("candidates cannot be timed for {limit:?}, only for 1 ms to {MAX_LIMIT:?}");
            return Err(Error::input(message));
        }
        let set = |setting: &AtomicU64, value: Option<u64>| {
            if let Some(value) = value {
                setting.store(value, Ordering::Relaxed);
            }
        };
        set(&SET_LIMIT, self.limit.map(|limit| limit.as_micros() as u64));
        set(&SET_TUNE, self.tune.map(u64::from));
        set(&SET_ENABLE, self.enable.map(u64::from));
        #[cfg(feature = "results")]
        if let Some(file) = self.file {
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
    Ok(if is_on(&SET_TUNE, |environment| environment.tune)? { Mode::Tune } else { Mode::Use })
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

/// How long a call from this thread waits for another one that is tuning; none: it does not.
pub(super) fn wait(limit: Duration) -> Option<Duration> {
    /// A candidate takes a few times the limit.
    const LIMITS: u32 = 100;
    SCOPED.get().map(|_| LIMITS * limit)
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
    limit: Duration,
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
    let file = std::env::var_os(FILE);
    if file.as_ref().is_some_and(|file| file.is_empty()) {
        return Err(format!("{FILE} is \"\", but must be a path"));
    }
    if cfg!(not(feature = "results")) && file.is_some() {
        return Err(format!("{FILE} is {file:?}, but dietcode-core was built without its feature `results`"));
    }
    Ok(Environment {
        #[cfg(feature = "results")]
        file: file.map(Into::into),
        enable: parse(ENABLED, 0, 1, "0 or 1")? == Some(1),
        tune: parse(TUNING, 0, 1, "0 or 1")? == Some(1),
        limit: limit.map_or(DEFAULT_LIMIT, Duration::from_millis),
    })
}

fn parse(variable: &str, least: u64, most: u64, expected: &str) -> Result<Option<u64>, String> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(format!("{variable} is {value:?}, but must be {expected}")),
    }
}
