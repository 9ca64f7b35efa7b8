//! Who tunes, and what others do meanwhile: threads, candidates that call, and forked children.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use dietcode_core::runtime::tunable::TunableOp;
use dietcode_core::runtime::tunable::tuning::{self, Settings};

use super::{Increment, Increments, call_of, chosen, micros, op, taking, tuned, two};
use crate::thread_settings::{in_child_with, is_child};

/// An operation with a candidate that takes 1 µs, and whose first trial comes to `begun` and ends at `ended`.
fn waiting() -> (TunableOp<Increments>, [Arc<Barrier>; 2]) {
    let barriers = [(); 2].map(|()| Arc::new(Barrier::new(2)));
    let mut op = op();
    op.register("waits", {
        let ([begun, ended], tried) = (barriers.clone(), AtomicUsize::new(0));
        move |call: &mut Increment<'_>| {
            if tried.fetch_add(1, Ordering::Relaxed) == 0 {
                begun.wait();
                ended.wait();
            }
            taking(1)(call)
        }
    })
    .unwrap();
    (op, barriers)
}

#[test]
fn two_threads_that_meet_a_key_tune_it_once() {
    let (op, [begun, ended]) = waiting();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| tuned(&op, 4));
        begun.wait();
        assert_eq!(micros(|| assert_eq!(tuned(&op, 4), [2.0; 4])), 100, "the default meanwhile");
        ended.wait();
        assert_eq!(first.join().unwrap(), [2.0; 4]);
    });
    assert_eq!(chosen(&op), "waits");
    assert_eq!(micros(|| drop(tuned(&op, 4))), 1);
}

#[test]
fn a_call_that_meets_a_key_while_another_is_tuned_leaves_it_to_a_later_one() {
    let name = "a_call_that_meets_a_key_while_another_is_tuned_leaves_it_to_a_later_one";
    if !is_child(name) {
        return in_child_with("tunable::turns", name, ("DIETCODE_TUNABLE_ENABLED", "1"));
    }
    // A call in a scope waits for a time that grows with the limit.
    Settings::new().tune(true).limit(tuning::MAX_LIMIT).apply().unwrap();
    let (slow, [begun, ended]) = waiting();
    let mut op = op();
    op.register("other", taking(1)).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| call_of(&slow, 4));
        begun.wait();
        assert_eq!(micros(|| drop(call_of(&op, 5))), 100, "the default");
        assert!(op.reports().is_empty());
        let waiting = scope.spawn(|| tuned(&op, 6));
        ended.wait();
        first.join().unwrap();
        waiting.join().unwrap();
    });
    assert_eq!((chosen(&slow).as_str(), chosen(&op).as_str()), ("waits", "other"), "a scope waits");
    call_of(&op, 5);
    assert_eq!(micros(|| drop(call_of(&op, 5))), 1);
}

/// Ends this process by a signal if a test hangs in it.
#[cfg(unix)]
fn end_if_it_hangs() {
    // SAFETY: a number is all that it takes.
    unsafe { libc::alarm(100) };
}

#[cfg(unix)]
#[test]
fn a_candidate_that_joins_a_thread_which_tunes_ends() {
    let name = "a_candidate_that_joins_a_thread_which_tunes_ends";
    if !is_child(name) {
        return in_child_with("tunable::turns", name, ("DIETCODE_TUNABLE_LIMIT_MS", "1"));
    }
    end_if_it_hangs();
    let inner = Arc::new(two());
    let mut outer = op();
    outer
        .register("joins", {
            let inner = Arc::clone(&inner);
            move |call: &mut Increment<'_>| {
                let y = std::thread::scope(|scope| scope.spawn(|| tuned(&inner, 5)).join().unwrap());
                assert_eq!(y, [2.0; 5]);
                let is_trial = call.0[0] != 1.0;
                assert_eq!(inner.reports().is_empty(), is_trial, "its default runs meanwhile");
                taking(1)(call)
            }
        })
        .unwrap();
    assert_eq!(tuned(&outer, 4), [2.0; 4]);
    assert_eq!(chosen(&outer), "joins");
    assert_eq!(chosen(&inner), "other");
}

#[cfg(unix)]
#[test]
fn a_forked_child_tunes_though_a_thread_of_its_parent_did() {
    let name = "a_forked_child_tunes_though_a_thread_of_its_parent_did";
    if !is_child(name) {
        // A wait would be for 100 minutes.
        return in_child_with("tunable::turns", name, ("DIETCODE_TUNABLE_LIMIT_MS", "60000"));
    }
    let (slow, [begun, ended]) = waiting();
    let other = two();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| tuned(&slow, 4));
        begun.wait();
        // SAFETY: the child tunes and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            end_if_it_hangs();
            let is_tuned = |op: &TunableOp<Increments>| {
                tuned(op, 4);
                op.reports().len() == 1
            };
            let right = is_tuned(&other) && is_tuned(&slow);
            // SAFETY: a number is all that it takes.
            unsafe { libc::_exit(i32::from(!right)) };
        }
        let mut status = -1;
        // SAFETY: the pointer is to an integer.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        ended.wait();
        first.join().unwrap();
        assert_eq!(status, 0, "the child's tunings");
    });
    assert_eq!(chosen(&slow), "waits");
}
