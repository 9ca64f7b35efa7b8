//! Results in a file. Each step of a test runs in a process of its own: what is under test is what one leaves to the next.

mod ended;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dietcode_core::runtime::tunable::tuning::{self, Settings};
use dietcode_core::runtime::tunable::{Outcome, TunableOp};
use dietcode_core::{Error, Result};

use crate::thread_settings::{in_child_with, is_child};

use super::{Increment, Increments, PROXIES, call_of, micros, op, taking, tuned, two};

const STEP: &str = "DIETCODE_TEST_STEP";

/// The step of a test that this process is to make; none: it runs the whole test.
fn step() -> Option<String> {
    std::env::var(STEP).ok()
}

/// Starts a process that makes a step of a test, with results in a file.
fn start(test: &str, step: &str, file: &Path) -> Child {
    start_with(test, step, file, "20")
}

/// The same with a limit in milliseconds.
fn start_with(test: &str, step: &str, file: &Path, limit: &str) -> Child {
    command(test, step, file).env("DIETCODE_TUNABLE_LIMIT_MS", limit).spawn().unwrap()
}

/// The process, with the default limit.
fn command(test: &str, step: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("tunable::results::{test}"), "--nocapture"])
        .envs([(STEP, step), ("DIETCODE_TUNABLE_ENABLED", "1")])
        .env("DIETCODE_TUNABLE_FILE", file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Whether a process has ended well, and the lines that it has said.
fn end(process: Child) -> (bool, Vec<String>) {
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let ours = said.lines().filter_map(|line| Some(line.strip_prefix("dietcode: ")?.to_owned()));
    let has_run = String::from_utf8_lossy(&output.stdout).contains("1 passed");
    if !output.status.success() {
        println!("{said}");
    }
    (output.status.success() && has_run, ours.collect())
}

/// Makes a step that must end well; what it has said.
fn process(test: &str, step: &str, file: &Path) -> Vec<String> {
    let (succeeded, said) = end(start(test, step, file));
    assert!(succeeded, "{test}, {step}: {said:?}");
    said
}

/// A folder, and the file in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.jsonl");
    (folder, file)
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn what_one_process_has_found_the_next_ones_use() {
    let name = "what_one_process_has_found_the_next_ones_use";
    let untried = || assert_eq!(PROXIES.get(), 0);
    match step().as_deref() {
        Some("use nothing") => {
            let op = two();
            assert_eq!(micros(|| drop(call_of(&op, 4))), 100, "nothing is known");
            untried();
        }
        Some("tune") => {
            let op = two();
            tuned(&op, 4);
            assert_eq!((op.reports()[0].chosen.as_str(), op.reports()[0].is_from_file), ("other", false));
            assert_eq!(micros(|| drop(tuned(&two(), 4))), 50, "an operation of the same name knows it too");
            assert_eq!(PROXIES.get(), 1);
        }
        Some("use") => {
            let op = two();
            assert_eq!(micros(|| drop(call_of(&op, 4))), 50, "without tuning");
            assert_eq!(micros(|| drop(tuned(&op, 4))), 50);
            assert_eq!(micros(|| drop(tuning::scope(false, || call_of(&op, 4)))), 100, "off, whatever is known");
            assert_eq!(micros(|| drop(call_of(&op, 5))), 100, "another key");
            let report = &op.reports()[0];
            let timed = |name: &str, micros| (name.to_owned(), Outcome::Timed(Duration::from_micros(micros)));
            assert_eq!(report.candidates, [timed("default", 100), timed("other", 50)]);
            assert!(report.is_from_file && op.reports().len() == 1);
            untried();
        }
        Some("nested") => {
            let mut outer = TunableOp::<Increments>::new("outer", "slow", taking(300));
            outer.register_nested(std::sync::Arc::new(two())).unwrap();
            assert_eq!(micros(|| drop(tuning::scope(true, || call_of(&outer, 4)))) % 50, 0);
            assert_eq!(micros(|| drop(call_of(&outer, 4))), 50, "the inner one's result is on file");
        }
        Some("another candidate" | "another order" | "another value") => {
            let mut op = op();
            match step().as_deref() {
                Some("another candidate") => {
                    op.register("other", taking(50)).unwrap();
                    op.register("third", taking(70)).unwrap();
                }
                Some("another order") => {
                    op = TunableOp::<Increments>::new("increment", "other", taking(50));
                    op.register("default", taking(100)).unwrap();
                }
                _ => {
                    op.register("other", taking(50)).unwrap();
                    op.validator("blas", "0.3");
                }
            }
            let untuned = micros(|| drop(call_of(&op, 4)));
            assert_eq!(untuned, micros(|| drop(tuning::scope(false, || call_of(&op, 4)))), "the default");
            assert!(op.reports().is_empty());
            untried();
        }
        Some(other) => panic!("{other}"),
        None => {
            let (_folder, file) = place();
            assert!(process(name, "use nothing", &file).is_empty() && !file.exists());
            assert!(process(name, "tune", &file).is_empty());
            assert!(process(name, "use", &file).is_empty());
            let why = |step: &str| process(name, step, &file).join("\n");
            let place = format!("{}: increment at N=4: not used: ", file.display());
            let others = format!("{place}it was chosen among other candidates than there are");
            assert_eq!([why("another candidate"), why("another order")], [others.as_str(), others.as_str()]);
            assert_eq!(why("another value"), format!("{place}found with blas `none`, not `0.3`"));
            assert!(process(name, "nested", &file).is_empty());
            assert_eq!(files(file.parent().unwrap()), 1, "nothing is left beside the results");
        }
    }
}

/// The default, one of 50 µs, and `last`, which does as it is told.
#[cfg(unix)]
fn with_last(last: impl Fn(&mut Increment<'_>) -> Result<()> + Send + Sync + 'static) -> TunableOp<Increments> {
    let mut op = two();
    op.register("last", last).unwrap();
    op
}

/// Whether `last`, which would be the fastest now, is left out as one that has ended a process.
#[cfg(unix)]
fn is_condemned(n: usize) -> bool {
    let op = with_last(taking_one());
    tuned(&op, n);
    op.reports()[0].chosen != "last"
}

#[cfg(unix)]
#[test]
fn a_forked_child_does_not_hold_what_its_parent_has_locked() {
    let name = "a_forked_child_does_not_hold_what_its_parent_has_locked";
    match step().as_deref() {
        Some("abort") => {
            let children = PathBuf::from(std::env::var_os("DIETCODE_TUNABLE_FILE").unwrap()).with_extension("child");
            let forks = move |_: &mut Increment<'_>| -> Result<()> {
                // SAFETY: the child closes what the test waits for, and sleeps until the test or the alarm ends it.
                unsafe {
                    match libc::fork() {
                        0 => {
                            libc::alarm(100);
                            (0..3).for_each(|fd| assert_eq!(libc::close(fd), 0));
                            loop {
                                libc::pause();
                            }
                        }
                        child => fs::write(&children, child.to_string()).unwrap(),
                    }
                }
                std::process::abort()
            };
            tuned(&with_last(forks), 4);
        }
        Some("after") => assert!(is_condemned(4)),
        Some(other) => panic!("{other}"),
        None => {
            let (_folder, file) = place();
            assert!(!end(start(name, "abort", &file)).0);
            let child = fs::read_to_string(file.with_extension("child")).unwrap().parse().unwrap();
            let (succeeded, said) = end(start(name, "after", &file));
            // SAFETY: numbers are all that it takes.
            assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0, "it has lived until now");
            assert!(succeeded, "{said:?}");
        }
    }
}

/// The number of a descriptor that was closed in the child is that of the next file which the child opens.
#[cfg(unix)]
#[test]
fn a_forked_child_that_goes_on_writes_to_no_file_of_its_own() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    const TEXT: &str = "what the program keeps";
    let name = "a_forked_child_that_goes_on_writes_to_no_file_of_its_own";
    match step().as_deref() {
        Some("fork") => {
            static HAS_FORKED: AtomicBool = AtomicBool::new(false);
            let kept = PathBuf::from(std::env::var_os("DIETCODE_TUNABLE_FILE").unwrap()).with_extension("kept");
            let process = std::process::id();
            let forks = move |call: &mut Increment<'_>| -> Result<()> {
                if !HAS_FORKED.swap(true, Relaxed) {
                    // SAFETY: this thread is all that the child goes on with, until it ends below.
                    match unsafe { libc::fork() } {
                        0 => {
                            // As many as fill all gaps between the numbers that are taken.
                            let open = || fs::OpenOptions::new().write(true).open(&kept).unwrap();
                            std::mem::forget((0..64).map(|_| open()).collect::<Vec<fs::File>>());
                        }
                        child => {
                            let mut status = 0;
                            // SAFETY: the pointer is to a status.
                            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                            assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 77));
                        }
                    }
                }
                taking(1)(call)
            };
            let op = with_last(forks);
            tuned(&op, 4);
            assert_eq!(op.reports()[0].chosen, "last");
            if std::process::id() != process {
                // SAFETY: a number is all that it takes.
                unsafe { libc::_exit(77) };
            }
        }
        Some(other) => panic!("{other}"),
        None => {
            let (folder, file) = place();
            let kept = file.with_extension("kept");
            fs::write(&kept, TEXT).unwrap();
            assert!(process(name, "fork", &file).is_empty());
            assert_eq!(fs::read_to_string(kept).unwrap(), TEXT);
            assert_eq!(files(folder.path()), 2, "nothing is left beside the results");
        }
    }
}

#[test]
fn a_relative_file_stays_the_same_when_the_program_changes_its_folder() {
    let name = "a_relative_file_stays_the_same_when_the_program_changes_its_folder";
    if let Some(step) = step() {
        if step == "setting" {
            Settings::new().file("set.jsonl").apply().unwrap();
        }
        let mut op = two();
        op.register("last", |call: &mut Increment<'_>| {
            std::env::set_current_dir(std::env::current_dir().unwrap().join("elsewhere")).ok();
            taking(1)(call)
        })
        .unwrap();
        tuned(&op, 4);
        assert!(std::env::current_dir().unwrap().ends_with("elsewhere"));
        return;
    }
    for (step, file) in [("variable", "results.jsonl"), ("setting", "set.jsonl")] {
        let (folder, _) = place();
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let process = command(name, step, Path::new("results.jsonl")).current_dir(folder.path()).spawn().unwrap();
        let (succeeded, said) = end(process);
        assert!(succeeded && said.is_empty(), "{said:?}");
        assert!(folder.path().join(file).is_file(), "{step}");
        assert_eq!((files(folder.path()), files(&elsewhere)), (2, 0), "{step}");
    }
}

fn taking_one() -> fn(&mut Increment<'_>) -> Result<()> {
    |call| taking(1)(call)
}

#[test]
fn what_is_not_tuned_is_listed_if_that_is_asked_for() {
    let name = "what_is_not_tuned_is_listed_if_that_is_asked_for";
    let calls = |n: usize, calls: usize| {
        let op = two();
        (0..calls).for_each(|_| assert_eq!(micros(|| drop(call_of(&op, n))), 100));
    };
    match step().as_deref() {
        Some("do not list") => calls(4, 300),
        Some("list") => {
            Settings::new().record_untuned(true).apply().unwrap();
            calls(4, 300);
            calls(5, 1);
            drop(tuned(&two(), 6));
            tuning::scope(false, || calls(7, 1));
        }
        Some("tune") => drop(tuned(&two(), 4)),
        Some("use") => assert_eq!(micros(|| drop(call_of(&two(), 4))), 50),
        Some(other) => panic!("{other}"),
        None => {
            let (_folder, file) = place();
            assert!(process(name, "do not list", &file).is_empty() && !file.exists());
            assert!(process(name, "list", &file).is_empty());
            assert!(process(name, "list", &file).is_empty());
            let lines = fs::read_to_string(&file).unwrap();
            // The first call, the 16th, the 256th; twice. A key that is tuned, or where tuning is off, is not listed.
            let listed = |n: usize, calls: &str| {
                lines.matches(&format!("\"key\":\"N={n}\"")).count() * usize::from(lines.contains(calls))
            };
            assert_eq!(
                [listed(4, "\"calls\":240"), listed(5, "\"calls\":1}"), listed(6, "fastest"), listed(7, "")],
                [6, 2, 1, 0],
                "{lines}"
            );
            assert!(process(name, "tune", &file).is_empty());
            assert!(process(name, "use", &file).is_empty());
        }
    }
}

#[test]
fn a_list_without_a_file_is_an_error_of_the_call() {
    let name = "a_list_without_a_file_is_an_error_of_the_call";
    if !is_child(name) {
        return in_child_with("tunable::results", name, ("DIETCODE_TUNABLE_RECORD", "1"));
    }
    Settings::new().enable(true).apply().unwrap();
    let error: Error = op().call(&mut Increment(&mut [1.0])).unwrap_err();
    assert!(error.to_string().starts_with("calls that are not tuned cannot be listed: "), "{error}");
}

#[test]
fn a_damaged_file_gives_what_is_whole_and_nothing_else() {
    let name = "a_damaged_file_gives_what_is_whole_and_nothing_else";
    let Some(step) = step() else {
        let (_folder, file) = place();
        assert!(process(name, "tune", &file).is_empty());
        let said = process(name, "damage", &file);
        assert!(!said.is_empty() && said.iter().all(|line| line.contains("not used: ")), "{said:?}");
        return;
    };
    if step == "tune" {
        let op = two();
        (1..4).for_each(|n| drop(tuned(&op, n)));
        return;
    }
    let file = PathBuf::from(std::env::var_os("DIETCODE_TUNABLE_FILE").unwrap());
    let whole = fs::read(&file).unwrap();
    let mut ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    assert_eq!((ends.len(), ends.pop()), (3, Some(whole.len() - 1)));
    let lines = [0..ends[0], ends[0] + 1..ends[1], ends[1] + 1..whole.len() - 1];
    let used = |what: &str, text: &[u8]| {
        let damaged = file.with_extension(what);
        fs::write(&damaged, text).unwrap();
        Settings::new().file(&damaged).apply().unwrap();
        let op = two();
        let used = [1, 2, 3].map(|n| match micros(|| assert_eq!(call_of(&op, n), vec![2.0; n])) {
            50 => true,
            100 => false,
            other => panic!("{what}: {other}"),
        });
        fs::remove_file(damaged).unwrap();
        used
    };
    for at in 0..whole.len() {
        let are_whole = |holds: &dyn Fn(&std::ops::Range<usize>) -> bool| [0, 1, 2].map(|line| holds(&lines[line]));
        assert_eq!(used(&format!("cut{at}"), &whole[..at]), are_whole(&|line| line.end <= at), "cut at {at}");
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        let is_apart = |line: &std::ops::Range<usize>| at + 1 < line.start || at > line.end || at == whole.len() - 1;
        // Behind a newline that is gone the two lines are one; behind the last there is none.
        let mut expected = are_whole(&is_apart);
        if at == whole.len() - 1 {
            expected = [true, true, false];
        }
        assert_eq!(used(&format!("flip{at}"), &changed), expected, "a bit of byte {at}");
    }
    let twice = [whole.as_slice(), &whole].concat();
    assert_eq!(used("twice", &twice), [true; 3]);
    assert_eq!(used("foreign", b"\xff\xfe\0\n[]\n{}\nnull\n\n\r\n"), [false; 3]);
}

#[test]
fn a_line_behind_a_torn_one_is_a_line_of_its_own() {
    let name = "a_line_behind_a_torn_one_is_a_line_of_its_own";
    match step().as_deref() {
        Some("tune") => drop(tuned(&two(), 4)),
        Some(_) => assert_eq!(micros(|| drop(call_of(&two(), 4))), 50),
        None => {
            let (_folder, file) = place();
            fs::write(&file, "{\"format\":1,\"li").unwrap();
            let damaged = [format!("{}:1: not used: it is damaged", file.display())];
            assert_eq!(process(name, "tune", &file), damaged);
            assert_eq!(process(name, "use", &file), damaged);
        }
    }
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let name = "processes_that_write_at_once_lose_nothing";
    let keys = 20;
    match step().as_deref() {
        Some("use") => {
            let op = two();
            (1..=keys).filter(|n| *n != 13).for_each(|n| assert_eq!(micros(|| drop(call_of(&op, n))), 50, "{n}"));
        }
        Some(_) => {
            let op = two();
            (1..=keys).for_each(|n| drop(tuned(&op, n)));
        }
        None => {
            let (_folder, file) = place();
            let processes: Vec<Child> = (0..4).map(|_| start(name, "tune", &file)).collect();
            for process in processes {
                let (succeeded, said) = end(process);
                let said: BTreeSet<String> = said.into_iter().filter(|line| !line.contains("no memory")).collect();
                assert!(succeeded && said.is_empty(), "{said:?}");
            }
            assert!(process(name, "use", &file).is_empty());
        }
    }
}

#[cfg(unix)]
#[test]
fn where_nothing_can_be_read_or_written_calls_go_on() {
    let name = "where_nothing_can_be_read_or_written_calls_go_on";
    if let Some(step) = step() {
        if step == "no room" {
            // SAFETY: the limit is this process's own; what is written beyond it is an error instead of a signal.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                libc::setrlimit(libc::RLIMIT_FSIZE, &libc::rlimit { rlim_cur: 100, rlim_max: 100 });
            }
        }
        let op = two();
        for n in [4, 5] {
            assert_eq!(tuned(&op, n), vec![2.0; n]);
            assert_eq!(micros(|| drop(tuned(&op, n))), 50, "it is known here");
        }
        return;
    }
    let (folder, file) = place();
    let pipe = folder.path().join("pipe");
    let path = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: it is a path that ends.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let nowhere = folder.path().join("nowhere/results");
    let foreign = PathBuf::from("/proc/results");
    for (path, read) in [(folder.path(), true), (&pipe, true), (&nowhere, false), (&foreign, false)] {
        let said = process(name, "tune", path);
        let (read_it, kept): (Vec<&String>, Vec<&String>) =
            said.iter().partition(|line| line.contains(": no results are read: it is "));
        assert_eq!(read_it.len(), usize::from(read), "{said:?}");
        assert!(kept.len() == 1 && kept[0].contains(": not all results can be kept: "), "{said:?}");
        assert!(said.iter().all(|line| line.starts_with(path.to_str().unwrap())), "{said:?}");
    }
    let said = process(name, "no room", &file);
    assert!(said.len() == 1 && said[0].contains("not all results can be kept: "), "{said:?}");
    assert_eq!(fs::read(&file).unwrap(), b"", "a line that does not fit is taken back");
    assert!(process(name, "tune", &file).is_empty() && process(name, "tune", &file).is_empty());
}

#[test]
fn no_path_is_an_error_of_the_call() {
    let name = "no_path_is_an_error_of_the_call";
    match step() {
        Some(_) => {
            let error: Error = op().call(&mut Increment(&mut [1.0])).unwrap_err();
            assert_eq!(error.to_string(), "DIETCODE_TUNABLE_FILE is \"\", but must be a path");
            let error = Settings::new().file("").apply().unwrap_err();
            assert!(error.to_string().starts_with("\"\" cannot be where results are kept: "), "{error}");
        }
        None => drop(process(name, "empty", Path::new(""))),
    }
}
