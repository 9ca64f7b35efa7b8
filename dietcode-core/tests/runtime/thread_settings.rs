//! The number of threads: scoped, global, from the environment. Each check of a global runs in a process of its own.

use std::process::Command;

use dietcode_core::runtime::{MAX_THREADS, set_threads, threads, with_threads};

use crate::fake::{self, call_shapes};

/// Runs one of the tests below in a child process that sees `DIETCODE_NUM_THREADS`.
fn in_child(test: &str, value: &str) {
    in_child_with("thread_settings", test, ("DIETCODE_NUM_THREADS", value));
}

/// Runs a test of a module in a child process that sees a variable.
pub(crate) fn in_child_with(module: &str, test: &str, (variable, value): (&str, &str)) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}")])
        .env(variable, value)
        .env("DIETCODE_TEST_CHILD", test)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && report.contains("1 passed"), "{test} with {value:?}: {report}");
}

pub(crate) fn is_child(test: &str) -> bool {
    std::env::var("DIETCODE_TEST_CHILD").is_ok_and(|child| child == test)
}

#[test]
fn scopes_nest_and_end() {
    with_threads(3, || {
        assert_eq!(threads().unwrap(), 3);
        with_threads(5, || assert_eq!(threads().unwrap(), 5));
        assert_eq!(threads().unwrap(), 3);
        let caught = std::panic::catch_unwind(|| with_threads(7, || panic!("leaves the scope")));
        assert!(caught.is_err());
        assert_eq!(threads().unwrap(), 3);
    });
    with_threads(0, || assert!(threads().unwrap() >= 1));
    with_threads(usize::MAX, || assert_eq!(threads().unwrap(), MAX_THREADS));
}

#[test]
fn too_many_threads_are_an_error() {
    assert_eq!(set_threads(MAX_THREADS + 1).unwrap_err().to_string(), "cannot use 1025 threads, at most 1024");
}

#[test]
fn environment_is_the_initial_value() {
    if !is_child("environment_is_the_initial_value") {
        return in_child("environment_is_the_initial_value", "3");
    }
    assert_eq!(threads().unwrap(), 3);
    set_threads(2).unwrap();
    assert_eq!(threads().unwrap(), 2);
    with_threads(4, || assert_eq!(threads().unwrap(), 4));
    assert_eq!(std::thread::spawn(threads).join().unwrap().unwrap(), 2);
}

/// Helpers that there are, by the names of their threads.
#[cfg(target_os = "linux")]
pub(crate) fn helpers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("dietcode-")).count()
}

/// Threads end in their own time, but not before long.
#[cfg(target_os = "linux")]
fn at_most(most: usize) -> bool {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while helpers() > most && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    helpers() <= most
}

#[cfg(target_os = "linux")]
#[test]
fn helpers_that_are_no_longer_wanted_end() {
    if !is_child("helpers_that_are_no_longer_wanted_end") {
        return in_child("helpers_that_are_no_longer_wanted_end", "1");
    }
    let call = || drop(call_shapes(&fake::GOOD, &[67, 31], &[17, 31], &[67, 17]).unwrap());
    set_threads(MAX_THREADS).unwrap();
    call();
    assert_eq!(helpers(), 16, "one for each of the 17 tiles but the caller's");
    set_threads(2).unwrap();
    call();
    assert!(at_most(1), "{} helpers after set_threads(2)", helpers());
    with_threads(MAX_THREADS, call);
    let cores = std::thread::available_parallelism().unwrap().get();
    let kept = cores.max(2);
    assert!(at_most(kept), "{} helpers after with_threads", helpers());
    for _ in 0..3 {
        with_threads(cores, call);
    }
    assert!(helpers() <= kept + cores, "a scope's helpers stay for the next");
}

#[test]
fn a_wrong_environment_is_an_error_at_the_first_call() {
    if !is_child("a_wrong_environment_is_an_error_at_the_first_call") {
        for value in ["two", "-1", "", "1.5", "1025", "99999999999999999999999"] {
            in_child("a_wrong_environment_is_an_error_at_the_first_call", value);
        }
        return;
    }
    let message = call_shapes(&fake::GOOD, &[1, 1], &[1, 1], &[1, 1]).unwrap_err().to_string();
    assert!(message.starts_with("DIETCODE_NUM_THREADS is \""), "{message}");
    assert!(message.ends_with("but must be a number from 0 (all cores) to 1024"), "{message}");
    // What the program says itself goes before the environment.
    set_threads(1).unwrap();
    call_shapes(&fake::GOOD, &[1, 1], &[1, 1], &[1, 1]).unwrap();
}
