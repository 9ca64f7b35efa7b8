//! The helper threads of a process: on which cores they are, how many there are, when they spin, what a fork leaves of them. Each test
//! has a process of its own.

use std::ffi::c_void;
use std::fs;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use dietcode_core::abi::Phase;
use dietcode_core::runtime::{MAX_SPIN_TIME, Tensor, launch, set_spin_time, set_threads, spin_time, with_threads};

use crate::allocations;
use crate::fake::{self, call_shapes, expected};
use crate::thread_settings::{helpers, in_child_with, is_child};

fn in_child(test: &str) {
    in_child_with("helpers", test, ("DIETCODE_SPIN_US", "1000"));
}

fn call() -> Vec<f32> {
    call_shapes(&fake::GOOD, &[67, 31], &[17, 31], &[67, 17]).unwrap()
}

/// A file of each helper in `/proc`.
fn of_helpers(file: &str) -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
    let own =
        tasks.filter(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("dietcode-")));
    // A helper that ends has no file any more.
    own.filter_map(|task| fs::read_to_string(task.join(file)).ok()).collect()
}

/// The cores that each helper may use.
fn cores_of_helpers() -> Vec<Vec<usize>> {
    let cores = |status: String| {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            first.parse::<usize>().unwrap()..=last.parse().unwrap()
        };
        list.split(',').flat_map(range).collect()
    };
    of_helpers("status").into_iter().map(cores).collect()
}

fn allowed() -> Vec<usize> {
    // SAFETY: all zeros is an empty set, and the pointer is to one of that size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

fn keep_on(core: usize) {
    keep_thread_on(0, &[core]);
}

/// Keeps a thread, by its number, on some cores; 0: the calling one.
fn keep_thread_on(thread: i32, cores: &[usize]) {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
        assert_eq!(libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set), 0);
    }
}

#[test]
fn helpers_keep_off_the_core_of_a_caller_that_moves() {
    if !is_child("helpers_keep_off_the_core_of_a_caller_that_moves") {
        return in_child("helpers_keep_off_the_core_of_a_caller_that_moves");
    }
    let cores = allowed();
    for threads in 2..=cores.len().max(2) {
        for core in cores.iter().chain(&cores) {
            keep_on(*core);
            // A helper that has not left the call before is not taken for the next.
            let end = Instant::now() + Duration::from_secs(60);
            loop {
                assert_eq!(with_threads(threads, call), expected(67, 31, 17));
                if are_apart(*core, threads, &cores) {
                    break;
                }
                assert!(Instant::now() < end, "{threads} threads, the caller on {core}: {:?}", cores_of_helpers());
            }
        }
    }
}

/// A process may be given other cores while it runs, as `taskset -a -p` does.
#[test]
fn helpers_follow_the_process_to_other_cores() {
    if !is_child("helpers_follow_the_process_to_other_cores") {
        return in_child("helpers_follow_the_process_to_other_cores");
    }
    let cores = allowed();
    set_threads(2).unwrap();
    let last = &cores[cores.len() - 1..];
    for own in [&cores[..], &cores[..1], &cores, last, &cores, &cores[..1]] {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks.for_each(|task| keep_thread_on(task.file_name().to_str().unwrap().parse().unwrap(), own));
        keep_on(own[0]);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            assert_eq!(call(), expected(67, 31, 17));
            if are_apart(own[0], 2, own) && !cores_of_helpers().is_empty() {
                break;
            }
            assert!(Instant::now() < end, "the caller on {} of {own:?}: {:?}", own[0], cores_of_helpers());
        }
    }
}

/// A program that measures keeps its threads on a core each, its first one too, before or after its first call.
#[test]
fn what_a_program_keeps_on_a_core_takes_no_cores_from_the_helpers() {
    if !is_child("what_a_program_keeps_on_a_core_takes_no_cores_from_the_helpers") {
        return in_child("what_a_program_keeps_on_a_core_takes_no_cores_from_the_helpers");
    }
    let (cores, process) = (allowed(), i32::try_from(std::process::id()).unwrap());
    set_threads(2).unwrap();
    for core in cores.iter().chain(&cores).take(4) {
        keep_thread_on(process, &[*core]);
        keep_on(*core);
        // Longer than what was read of the cores counts; and a helper that has not left the call before is not taken for the next.
        let (read, end) = (Instant::now() + Duration::from_millis(1500), Instant::now() + Duration::from_secs(60));
        while Instant::now() < read || !are_apart(*core, 2, &cores) {
            assert!(Instant::now() < end, "the caller on {core}: {:?}", cores_of_helpers());
            assert_eq!(call(), expected(67, 31, 17));
        }
    }
}

/// Whether the helpers of a call are on cores of their own, apart from the caller's; where there are not enough, on all.
fn are_apart(caller: usize, threads: usize, cores: &[usize]) -> bool {
    let helpers = cores_of_helpers();
    if threads > cores.len() {
        return helpers.iter().all(|own| own == cores);
    }
    let mut all: Vec<usize> = helpers.into_iter().take(threads - 1).flatten().chain([caller]).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    count >= threads && all.len() == count && all.iter().all(|core| cores.contains(core))
}

#[test]
fn calls_on_other_numbers_of_threads_share_the_helpers() {
    if !is_child("calls_on_other_numbers_of_threads_share_the_helpers") {
        return in_child("calls_on_other_numbers_of_threads_share_the_helpers");
    }
    set_threads(4).unwrap();
    for threads in [2, 3, 4, 3, 2] {
        with_threads(threads, call);
    }
    assert_eq!(helpers(), 3);
    std::thread::scope(|scope| {
        let many: Vec<_> = (0..64).map(|_| scope.spawn(|| (0..20).all(|_| call() == expected(67, 31, 17)))).collect();
        assert!(many.into_iter().all(|one| one.join().unwrap()));
    });
    assert_eq!(helpers(), 3, "64 callers start no more");
}

#[test]
fn inviting_helpers_allocates_nothing() {
    if !is_child("inviting_helpers_allocates_nothing") {
        return in_child("inviting_helpers_allocates_nothing");
    }
    let (x, w) = (Tensor::full(&[67, 31], 1.0_f32).unwrap(), Tensor::full(&[17, 31], 1.0_f32).unwrap());
    let mut y = Tensor::zeros(&[67, 17]).unwrap();
    let mut calls = |count: usize| {
        (0..count).for_each(|_| fake::call(&fake::GOOD, x.view(), w.view(), y.view_mut()).unwrap());
    };
    set_threads(3).unwrap();
    calls(1);
    assert_eq!((helpers(), allocations::during(|| calls(100))), (2, 0));
}

#[test]
fn a_forked_child_has_helpers_of_its_own() {
    if !is_child("a_forked_child_has_helpers_of_its_own") {
        return in_child("a_forked_child_has_helpers_of_its_own");
    }
    set_threads(2).unwrap();
    call();
    // SAFETY: the child calls a kernel and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a number is all that they take. A call that waits for a helper of the parent is ended by the alarm.
        unsafe {
            libc::alarm(60);
            let right = (0..3).all(|_| call() == expected(67, 31, 17)) && helpers() == 1;
            libc::_exit(i32::from(!right));
        }
    }
    let mut status = -1;
    // SAFETY: the pointer is to an integer.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child's calls");
    assert_eq!(call(), expected(67, 31, 17), "the parent goes on");
}

/// Nanoseconds for which all helpers together had a core.
fn cpu_time() -> u64 {
    of_helpers("schedstat").iter().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn helpers_spin_for_the_time_that_was_set_and_park() {
    if !is_child("helpers_spin_for_the_time_that_was_set_and_park") {
        return in_child("helpers_spin_for_the_time_that_was_set_and_park");
    }
    assert_eq!(spin_time().unwrap(), Duration::from_millis(1), "the environment");
    set_spin_time(Duration::ZERO).unwrap();
    assert!(set_spin_time(MAX_SPIN_TIME + Duration::from_micros(1)).is_err());
    with_threads(2, call);
    assert_eq!(helpers(), 1);
    // A helper that was invited and came late has begun by then.
    std::thread::sleep(Duration::from_millis(50));
    let before = cpu_time();
    std::thread::sleep(Duration::from_millis(300));
    let spent = Duration::from_nanos(cpu_time() - before);
    assert!(spent < Duration::from_millis(50), "helpers that shall not spin took {spent:?}");
}

#[test]
fn a_wrong_spin_time_is_an_error_at_the_first_call() {
    let test = "a_wrong_spin_time_is_an_error_at_the_first_call";
    if !is_child(test) {
        ["long", "-1", "", "1000001"]
            .into_iter()
            .for_each(|value| in_child_with("helpers", test, ("DIETCODE_SPIN_US", value)));
        return;
    }
    let error = with_threads(2, || call_shapes(&fake::GOOD, &[67, 31], &[17, 31], &[67, 17])).unwrap_err().to_string();
    assert!(error.starts_with("DIETCODE_SPIN_US is \"") && error.contains("from 0 to 1000000"), "{error}");
}

/// Two threads that meet in each call, if both come.
static MEETING: (Mutex<u64>, Condvar) = (Mutex::new(0), Condvar::new());

unsafe extern "C" fn two(_: *const i64) -> i64 {
    2
}

unsafe extern "C" fn meet(_: *const *mut c_void, _: *const i64, _: *const i64, _: *mut c_void, begin: i64, end: i64) {
    for _ in begin..end {
        let mut come = MEETING.0.lock().unwrap();
        *come += 1;
        let both = come.div_ceil(2) * 2;
        MEETING.1.notify_all();
        let wait = |come| MEETING.1.wait_timeout_while(come, Duration::from_secs(60), |come| *come < both).unwrap();
        let (come, time) = wait(come);
        assert!(!time.timed_out(), "a call has no helper: {come} have come");
    }
}

#[test]
fn a_call_right_after_another_has_the_same_helper() {
    if !is_child("a_call_right_after_another_has_the_same_helper") {
        return in_child("a_call_right_after_another_has_the_same_helper");
    }
    static PHASES: [Phase; 1] = [Phase { grid: two, run: meet }];
    let micro_kernel = fake::row(c"meet", &PHASES);
    // Each at a shape of its own: of one that was short the last time the caller carries out all.
    for size in 0..2_000 {
        // SAFETY: the micro-kernel touches no memory.
        unsafe { launch(&micro_kernel, &[], &[], &[size], 2).unwrap() };
    }
    assert_eq!(helpers(), 1);
}
