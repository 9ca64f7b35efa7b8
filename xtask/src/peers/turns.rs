//! Processes that take turns at one shape after the other.
//!
//! ```text
//! round 1   dietcode openblas mkl …      round 3   … mkl openblas dietcode
//! round 2   dietcode openblas mkl …      round 4   … mkl openblas dietcode      round 5 as 1
//! ```
//!
//! So whatever drifts evenly weighs alike on all, among the odd rounds and among the even ones. A library is stopped while it has no turn: the
//! threads of some spin for long after a call.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Options;
use super::families::Family;
use super::library::OURS;
use super::provision::Provided;
use super::results::{Results, Row, on};
use crate::steps::root;
use crate::tuning::median;

/// What libraries read the number of their threads from.
const THREADS: [&str; 4] = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"];

/// A library that takes longer to start, or for a turn, hangs: a turn takes a few seconds, and the first of a shape some more, in which numpy
/// computes what is expected.
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures all shapes of families; `keep` has what there is after each.
pub(super) fn measure(
    families: &[Family],
    (provided, program): (&Provided, &Path),
    options: &Options,
    keep: &dyn Fn(&Results) -> Result<(), String>,
) -> Result<Results, String> {
    let mut ours = Vec::new();
    for family in families {
        let mut command = Command::new(program);
        command.arg("bench").arg(family.placed(options.tuned.as_deref())?).args(["--turns", "--only", "dietcode"]);
        ours.push(Process::start(OURS, &mut command, Duration::MAX)?);
    }
    let machine = ours.first().map(|process| process.hello["machine"].clone()).unwrap_or_default();
    let mut results = Results {
        machine,
        date: today()?,
        libraries: BTreeMap::new(),
        missing: provided.missing.clone(),
        rows: Vec::new(),
    };
    for threads in &options.threads {
        let mut libraries = Vec::new();
        for name in &provided.there {
            match worker(provided, name, *threads) {
                Ok(process) => {
                    let version = process.hello["version"].as_str().unwrap_or_default();
                    results.libraries.insert(name.clone(), version.to_owned());
                    libraries.push(process);
                }
                Err(why) => {
                    eprintln!("{why}");
                    results.missing.insert(name.clone(), why);
                }
            }
        }
        for (family, ours) in families.iter().zip(&mut ours) {
            shapes(family, *threads, (ours, &mut libraries), options.rounds, |row| {
                results.rows.push(row);
                keep(&results)
            })?;
        }
    }
    Ok(results)
}

/// All shapes of a family; `keep` has each before the next is begun.
fn shapes(
    family: &Family,
    threads: usize,
    (ours, libraries): (&mut Process, &mut [Process]),
    rounds: usize,
    mut keep: impl FnMut(Row) -> Result<(), String>,
) -> Result<(), String> {
    for (wkl, further) in &family.shapes {
        let mut row = shape(family, wkl, threads, ours, libraries, rounds)?;
        row.further = *further;
        let timed = row.seconds.values().flatten();
        let (clean, all) = (timed.clone().flatten().count(), timed.count());
        eprintln!("{} {wkl} on {}: {clean} of {all} turns were clean", family.name, on(threads));
        keep(row)?;
    }
    Ok(())
}

/// All rounds at one shape.
fn shape(
    family: &Family,
    wkl: &str,
    threads: usize,
    ours: &mut Process,
    libraries: &mut [Process],
    rounds: usize,
) -> Result<Row, String> {
    // The first answer says what the shape is, and is a round of nobody's: ours is checked and prepared in it, as libraries are in their
    // first turn before they are timed.
    let line = format!("{threads} {wkl}");
    let first = ours.ask(&line)?;
    let asked =
        json!({ "operation": family.operation, "operands": family.operands, "shape": first["shape"] }).to_string();
    let flops = first["flops"].as_f64().ok_or("dietcode says nothing of its operations")?;
    let tuned = ours.hello["tuned"] == true;
    let mut row = Row {
        family: family.name.clone(),
        wkl: wkl.to_owned(),
        further: false,
        tuned,
        threads,
        flops,
        peak: first["peak"].as_f64(),
        seconds: BTreeMap::new(),
    };
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..=libraries.len()).collect();
        if round / 2 % 2 == 1 {
            order.reverse();
        }
        for turn in order {
            let (name, answer) = match turn.checked_sub(1) {
                None => {
                    let answer = ours.ask(&line)?;
                    row.peak = row.peak.into_iter().chain(answer["peak"].as_f64()).reduce(f64::max);
                    (OURS.to_owned(), answer["seconds"][OURS].clone())
                }
                Some(at) => match libraries[at].turn(&asked) {
                    Some(answer) => (libraries[at].name.clone(), answer),
                    None => continue,
                },
            };
            let samples = answer.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
            let figures = row.seconds.entry(name).or_insert_with(|| vec![None; rounds]);
            figures[round] = median(samples);
        }
    }
    Ok(row)
}

/// A process that answers lines by lines.
struct Process {
    name: String,
    child: Child,
    input: ChildStdin,
    /// The lines that it says, as a thread reads them.
    output: Receiver<io::Result<String>>,
    /// How long an answer may take.
    patience: Duration,
    /// Its first line.
    hello: Value,
    /// Whether it has no turn for as long as it is stopped.
    stopped: bool,
    /// What it is not asked for any more.
    failed: Option<Failed>,
}

/// Why a library has no turn.
enum Failed {
    /// It ended before its time, or was ended since it hung or said what is no answer.
    Ended,
    /// Its last answer was that it fails at this.
    At(String),
}

impl Process {
    fn start(name: &str, command: &mut Command, patience: Duration) -> Result<Process, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{name}: {command:?} cannot be started: {e}"))?;
        let input = child.stdin.take().expect("it was asked for");
        let lines = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        let (said, output) = channel();
        thread::spawn(move || lines.into_iter().try_for_each(|line| said.send(line)));
        let (name, hello, failed) = (name.to_owned(), Value::Null, None);
        let mut process = Process { name, child, input, output, patience, hello, stopped: false, failed };
        process.hello = process.answer()?;
        Ok(process)
    }

    fn ask(&mut self, line: &str) -> Result<Value, String> {
        let gone = |e| format!("{} ended before its time: {e}", self.name);
        self.input.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.input.flush()).map_err(gone)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value, String> {
        let line = self.output.recv_timeout(self.patience).map_err(|e| match e {
            RecvTimeoutError::Timeout => {
                format!("{} is left out: it has not answered within {:?}", self.name, self.patience)
            }
            RecvTimeoutError::Disconnected => {
                format!("{} ended before its time; standard error says why", self.name)
            }
        })?;
        let line = line.map_err(|e| format!("{}: {e}", self.name))?;
        serde_json::from_str(&line)
            .map_err(|e| format!("{} says `{}`, which is no answer: {e}", self.name, line.trim()))
    }

    /// The samples of a library; none where it has no such operation, or has failed at it.
    fn turn(&mut self, asked: &str) -> Option<Value> {
        match &self.failed {
            Some(Failed::Ended) => return None,
            Some(Failed::At(failed)) if failed == asked => return None,
            _ => {}
        }
        self.stop(false);
        let answer = self.ask(asked);
        self.stop(true);
        let (failed, why) = match answer {
            Err(why) => {
                // One that hangs would keep its memory, and its threads a core.
                let _ = self.child.kill();
                (Failed::Ended, why)
            }
            Ok(mut answer) => match answer["failed"].as_str() {
                Some(why) => (Failed::At(asked.to_owned()), format!("{} fails at {asked}: {why}", self.name)),
                None => return answer.as_object_mut()?.remove("seconds"),
            },
        };
        eprintln!("{why}");
        self.failed = Some(failed);
        None
    }

    fn stop(&mut self, stopped: bool) {
        if self.stopped != stopped {
            let signal = if stopped { libc::SIGSTOP } else { libc::SIGCONT };
            let process = libc::pid_t::try_from(self.child.id()).expect("process numbers are of this type");
            // SAFETY: the process is a child that nobody has waited for, so that its number is no other's.
            unsafe { libc::kill(process, signal) };
            self.stopped = stopped;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop(false);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A library on so many threads, stopped.
fn worker(provided: &Provided, name: &str, threads: usize) -> Result<Process, String> {
    let mut command = Command::new(&provided.python);
    command.arg(root().join("xtask/peers/worker.py")).args([name, &threads.to_string()]).arg(&provided.built);
    command.envs(THREADS.map(|variable| (variable, threads.to_string())));
    let mut process = Process::start(name, &mut command, PATIENCE)?;
    process.stop(true);
    Ok(process)
}

fn today() -> Result<String, String> {
    let date = Command::new("date").arg("+%F").output().map_err(|e| format!("date cannot be started: {e}"))?;
    Ok(String::from_utf8_lossy(&date.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that says one thing, and then another for each line.
    fn saying(name: &str, hello: &str, answer: &str) -> Process {
        let script = format!("echo '{hello}'; while read -r line; do {answer}; done");
        Process::start(name, Command::new("sh").args(["-c", &script]), Duration::MAX).unwrap()
    }

    fn family() -> Family {
        Family::of_test("f", "product", "M K, N K -> M N")
    }

    #[test]
    fn each_has_its_turn_in_each_round_and_who_fails_is_not_asked_again() {
        let folder = std::env::temp_dir().join(format!("peers-turns-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join("log");
        let noted = |name: &str, answer: &str| format!("echo {name} >> {}; echo '{answer}'", log.display());
        let own = r#"{"shape":{"M":5},"flops":2e9,"peak":100.5,"seconds":{"dietcode":[0.03,0.01,0.02]}}"#;
        let mut ours = saying(OURS, r#"{"machine":{"cpu":"a"},"tuned":true}"#, &noted("dietcode", own));
        let version = r#"{"version":"1.2"}"#;
        let mut libraries = [
            saying("one", version, &noted("one", r#"{"seconds":[0.3,0.1,0.2]}"#)),
            saying("without", version, &noted("without", "{}")),
            saying("unclean", version, &noted("unclean", r#"{"seconds":[]}"#)),
            saying("failing", version, &noted("failing", r#"{"failed":"no such thing"}"#)),
            saying("ending", version, "echo ending >> /dev/null; exit"),
        ];
        libraries.iter_mut().for_each(|library| library.stop(true));
        let row = shape(&family(), "T=5", 1, &mut ours, &mut libraries, 4).unwrap();
        let order = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let first = "dietcode dietcode one without unclean failing dietcode one without unclean ";
        let rest = "unclean without one dietcode unclean without one dietcode ";
        assert_eq!(order.replace('\n', " "), format!("{first}{rest}"));
        let all: Vec<(&str, Vec<Option<f64>>)> =
            row.seconds.iter().map(|(name, all)| (name.as_str(), all.clone())).collect();
        let expected = [("dietcode", vec![Some(0.02); 4]), ("one", vec![Some(0.2); 4]), ("unclean", vec![None; 4])];
        assert_eq!(all, expected);
        assert_eq!((row.flops, row.peak, row.tuned), (2e9, Some(100.5), true));
    }

    #[test]
    fn ours_has_to_answer() {
        let mut ours = saying(OURS, "{}", "echo nonsense");
        let why = shape(&family(), "T=5", 1, &mut ours, &mut [], 4).err().unwrap();
        assert!(why.starts_with("dietcode says `nonsense`, which is no answer"), "{why}");
        let why = Process::start("none", &mut Command::new("true"), Duration::MAX).err().unwrap();
        assert_eq!(why, "none ended before its time; standard error says why");
    }
    #[test]
    fn rows_before_an_error_are_kept() {
        let mut family = family();
        family.shapes = [("T=5", false), ("T=7", true), ("T=9", true)].map(|(wkl, own)| (wkl.to_owned(), own)).into();
        let own = r#"case "$line" in *9) exit;; esac; echo '{"shape":{},"flops":1,"seconds":{"dietcode":[1,1,1]}}'"#;
        let mut ours = saying(OURS, "{}", own);
        let mut kept = Vec::new();
        let keep = |row: Row| {
            kept.push((row.wkl, row.further));
            Ok(())
        };
        let why = shapes(&family, 1, (&mut ours, &mut []), 4, keep).unwrap_err();
        assert_eq!(why, "dietcode ended before its time; standard error says why");
        assert_eq!(kept[..], family.shapes[..2]);
    }

    #[test]
    fn who_hangs_is_ended_and_left_out() {
        let own = r#"echo '{"shape":{},"flops":1,"seconds":{"dietcode":[1,1,1]}}'"#;
        let mut ours = saying(OURS, "{}", own);
        let mut libraries = [saying("hanging", "{}", "exec sleep 1000")];
        libraries[0].patience = Duration::from_millis(20);
        let row = shape(&family(), "T=5", 1, &mut ours, &mut libraries, 4).unwrap();
        assert_eq!(row.seconds.into_keys().collect::<Vec<_>>(), [OURS]);
        assert!(!libraries[0].child.wait().unwrap().success(), "it was killed");
        let mut hanging = Command::new("sleep");
        let why = Process::start("late", hanging.arg("1000"), Duration::from_millis(20)).err().unwrap();
        assert_eq!(why, "late is left out: it has not answered within 20ms");
    }
}
