//! One worker process, and what it says.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::machine::Group;
use crate::measure::protocol::{Event, Request, VERSION};
use crate::measure::{Cores, Failure, Interrupt};
use crate::parallel::lock;
use crate::runtime::affinity;
use crate::{Error, Result};

/// A running worker. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    process: Group,
    requests: ChildStdin,
    events: Receiver<String>,
    complaint: Arc<Mutex<String>>,
    /// Reads what it complains of, to the end.
    listener: JoinHandle<()>,
}

/// Why no event comes any more.
#[derive(Debug)]
pub(super) enum Ended {
    /// The process ended, with the last line it wrote to its standard error.
    Exited(ExitStatus, String),
    /// It said nothing for so long, and was killed.
    Silent(Duration),
    /// It said something that is no event.
    Babbled(String),
    /// The measurement had to end before it said anything.
    Interrupted,
}

/// The interval at which an interrupt of the measurement is looked for.
const PULSE: Duration = Duration::from_millis(50);

/// Variables from which libraries read the number of their threads when they start.
const THREAD_VARIABLES: &[&str] = &[
    "MATMUL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
];

impl WorkerProcess {
    /// Starts one, on the first `threads` of `cores` if there are any, and waits for its first line. Without threads it has a
    /// device, and whatever it wants of the CPU.
    pub(super) fn start(
        command: &[OsString],
        threads: usize,
        limit: Duration,
        cores: Option<&Cores>,
    ) -> Result<WorkerProcess> {
        let (text, on_cpu) = (threads.to_string(), threads > 0);
        let variables = THREAD_VARIABLES.iter().filter(|_| on_cpu).map(|name| (*name, text.as_str()));
        let cores = cores.filter(|_| on_cpu).map(|cores| cores.first(threads));
        let mut worker = WorkerProcess::spawn(command, variables, cores)?;
        match worker.next(limit) {
            Ok(Event::Ready { version: VERSION }) => Ok(worker),
            Ok(other) => Err(does_not_start(command, &format!("its protocol is not of version {VERSION}: {other:?}"))),
            Err(ended) => Err(does_not_start(command, &ended.into_failure().to_string())),
        }
    }

    /// Starts a program, with variables added to its environment, on some of the cores or on all that there are.
    fn spawn<'a>(
        command: &[OsString],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        cores: Option<&[usize]>,
    ) -> Result<WorkerProcess> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| does_not_start(command, "no program is named"))?;
        let mut process = Command::new(program);
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process.envs(variables);
        if let Some(cores) = cores.map(<[usize]>::to_vec) {
            // SAFETY: between fork and exec there is one system call, on memory that the child has.
            unsafe {
                process.pre_exec(move || {
                    affinity::keep_on(0, &cores);
                    Ok(())
                });
            }
        }
        // An interrupt from the terminal is for the search, which ends in its own time.
        let mut process = Group::start(&mut process).map_err(|e| does_not_start(command, &e.to_string()))?;
        let child = process.child();
        let (Some(requests), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(does_not_start(command, "it has no standard streams"));
        };
        let complaint = Arc::new(Mutex::new(String::new()));
        let (events, listener) = listen(stdout, stderr, Arc::clone(&complaint));
        Ok(WorkerProcess { process, requests, events, complaint, listener })
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, request: &Request) -> Result<(), Ended> {
        let mut line = serde_json::to_string(request).map_err(|e| Ended::Babbled(e.to_string()))?;
        line.push('\n');
        self.requests.write_all(line.as_bytes()).map_err(|_| self.end())
    }

    /// Waits for the next event.
    pub(super) fn next(&mut self, limit: Duration) -> Result<Event, Ended> {
        self.next_before(limit, None)
    }

    /// The same, unless the measurement has to end before.
    pub(super) fn next_before(&mut self, limit: Duration, interrupt: Option<Interrupt>) -> Result<Event, Ended> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match self.events.recv_timeout(left.min(PULSE)) {
                Ok(line) => return serde_json::from_str(&line).map_err(|_| Ended::Babbled(line)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
                Err(RecvTimeoutError::Timeout) if interrupt.is_some_and(|i| i.is_due()) => {
                    return Err(Ended::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Ended::Silent(limit)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn end(&mut self) -> Ended {
        // Its output is closed, so it has ended or is about to; one that only closed its output is killed. What it has said last may not have been
        // read yet, and a process that it has started may keep that open.
        let mut ended = None;
        for _ in 0..100 {
            ended = ended.or(self.process.try_wait().ok().flatten());
            if ended.is_some() && self.listener.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let complaint = || lock(&self.complaint).clone();
        ended.map_or(Ended::Silent(Duration::ZERO), |status| Ended::Exited(status, complaint()))
    }
}

/// The error of a worker that is not there.
fn does_not_start(command: &[OsString], why: &str) -> Error {
    let shown = command.join(" ".as_ref()).to_string_lossy().into_owned();
    Error::unavailable(format!("the measuring process `{shown}` does not start: {why}"))
}

/// Passes on the lines of standard output, and remembers the last one of standard error.
fn listen(
    stdout: impl std::io::Read + Send + 'static,
    stderr: impl std::io::Read + Send + 'static,
    complaint: Arc<Mutex<String>>,
) -> (Receiver<String>, JoinHandle<()>) {
    let (sender, events) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let listener = std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            *lock(&complaint) = line;
        }
    });
    (events, listener)
}

impl Ended {
    /// As it stands in a record.
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Ended::Interrupted => Failure::Stopped,
            Ended::Silent(limit) => Failure::Timeout { seconds: limit.as_secs_f64() },
            Ended::Babbled(line) => Failure::Crash { signal: "nonsense on its output".into(), message: line },
            Ended::Exited(status, message) => {
                let signal = match status.signal() {
                    Some(signal) => signal_name(signal),
                    None => format!("exit status {}", status.code().unwrap_or(-1)),
                };
                Failure::Crash { signal, message }
            }
        }
    }
}

fn signal_name(signal: i32) -> String {
    let names = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGTERM, "SIGTERM"),
    ];
    names.iter().find(|(n, _)| *n == signal).map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}
