//! A sign of life where a command would be silent: on a terminal below the bar, elsewhere a line now and then.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dietcode_core::doing::now_doing;
use dietcode_core::message::{one_line, printable};
use dietcode_core::parallel::lock;
use dietcode_core::{Error, ErrorKind, Result};
use indicatif::{ProgressBar, ProgressState, ProgressStyle, WeakProgressBar};

/// After so long without a line there is one.
const SILENCE: Duration = Duration::from_secs(4);

/// So often it is looked whether it has been silent.
const PULSE: Duration = Duration::from_millis(500);

/// What is under way for less than that is not worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// Between two lines that stand for a bar.
const PAUSE: Duration = Duration::from_secs(5);

/// When the last line was written to standard error.
static LAST_LINE: Mutex<Option<Instant>> = Mutex::new(None);

/// The bar that is shown, or was.
static BAR: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// Tells what the process is at whenever nothing else was told for four seconds and no bar is shown; until it is dropped.
pub struct Heartbeat(Option<(Sender<()>, JoinHandle<()>)>);

impl Heartbeat {
    /// Starts.
    pub fn start() -> Heartbeat {
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(PULSE) == Err(RecvTimeoutError::Timeout) {
                beat();
            }
        });
        Heartbeat(Some((end, thread)))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            // If it panicked it has said so.
            drop(thread.join());
        }
    }
}

/// A line for people on standard error. The reader may have closed the pipe; the work goes on.
pub fn tell(line: &str) {
    write(line, &mut lock(&LAST_LINE));
}

/// How far something has come: a bar where standard error is a terminal, now and then a line elsewhere. The bar is gone once this is
/// dropped, so that an error's line is not written into it.
pub struct Bar {
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

impl Bar {
    /// One of this template; below it stands what the process is at.
    pub fn new(template: &str) -> Bar {
        Bar { bar: bar(template), last_line: None }
    }

    /// Sets the bar; false where there is none.
    pub fn set(&self, prefix: &str, done: usize, of: usize, message: &str) -> bool {
        let Some(bar) = &self.bar else { return false };
        bar.set_prefix(prefix.to_owned());
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        bar.set_message(message.to_owned());
        true
    }

    /// A line instead of the bar, if it is due or the last one was long ago.
    pub fn line(&mut self, is_due: bool, line: &str) {
        if is_due || self.last_line.is_none_or(|at| at.elapsed() >= PAUSE) {
            tell(line);
            self.last_line = Some(Instant::now());
        }
    }

    /// A sentence.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable(text)),
            None => tell(text),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.finish();
    }
}

fn bar(template: &str) -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template(&format!("{template}\n{{doing}}"));
        let doing = |_: &ProgressState, to: &mut dyn fmt::Write| {
            // It is shown anew before long.
            let _ = to.write_str(&words().unwrap_or_default());
        };
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("doing", doing));
        bar.enable_steady_tick(PULSE);
        *lock(&BAR) = Some(bar.downgrade());
        bar
    })
}

fn beat() {
    let is_shown = lock(&BAR).as_ref().and_then(WeakProgressBar::upgrade).is_some_and(|bar| !bar.is_finished());
    let mut last_line = lock(&LAST_LINE);
    if !is_shown && last_line.get_or_insert_with(Instant::now).elapsed() >= SILENCE {
        write(&words().unwrap_or_else(|| "still at work".to_owned()), &mut last_line);
    }
}

fn write(line: &str, last_line: &mut Option<Instant>) {
    drop(writeln!(std::io::stderr(), "{}", printable(line)));
    *last_line = Some(Instant::now());
}

/// Writes to standard output; a reader that went away, such as `head`, is no error.
///
/// # Errors
/// [`dietcode_core::ErrorKind::Unavailable`] if it cannot be written to.
pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(printable(text).as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::unavailable("cannot write to standard output").caused_by(e))
        }
        _ => Ok(()),
    }
}

/// Says on standard error what went wrong in a program of this name, and gives its exit status: 0 if nothing did, 2 of bad input, 3 where
/// something is not available, 4 of a broken invariant, and 1 of checks that do not hold and all else.
pub fn ended(program: &str, result: Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    // The reader may have closed the pipe, as in `2>&1 | head`; the exit status is given in any case.
    drop(writeln!(std::io::stderr(), "{program}: {error}"));
    ExitCode::from(match error.kind() {
        ErrorKind::Input => 2,
        ErrorKind::Unavailable => 3,
        ErrorKind::Internal => 4,
        _ => 1,
    })
}

/// What is being done, and for how long if that is worth a word.
fn words() -> Option<String> {
    let (what, since) = now_doing(WORTH_TELLING)?;
    let time = (since >= WORTH_TELLING).then(|| format!(": {} s so far", since.as_secs()));
    Some(format!("{}{}", one_line(&what), time.unwrap_or_default()))
}
