//! Operations that are tuned at run time. Their clock is one that candidates advance, so that who wins is known.

#[cfg(unix)]
mod beside;
mod kernels;
#[cfg(feature = "results")]
mod results;
mod turns;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dietcode_core::runtime::tunable::tuning::{self, Mode, Settings};
use dietcode_core::runtime::tunable::{Key, MAX_FIELDS, Outcome, Params, TunableOp};
use dietcode_core::{Error, ErrorKind, Result};

use crate::thread_settings::{in_child_with, is_child};

thread_local! {
    static CLOCK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static PROXIES: Cell<usize> = const { Cell::new(0) };
}

/// y += 1, which is read and written.
enum Increments {}

struct Increment<'a>(&'a mut [f32]);

impl Params for Increments {
    type Call<'a> = Increment<'a>;
    type Proxy = Vec<f32>;
    type Output = Vec<f32>;

    fn key(call: &Increment<'_>, key: &mut Key) -> Result<()> {
        key.add("N", call.0.len() as u64);
        Ok(())
    }

    fn pre_tuning(call: &Increment<'_>) -> Result<Vec<f32>> {
        PROXIES.set(PROXIES.get() + 1);
        if call.0.len() == 13 { Err(Error::unavailable("no memory")) } else { Ok(vec![5.0; call.0.len()]) }
    }

    fn reset(proxy: &mut Vec<f32>) {
        assert_ne!(proxy.len(), 1019, "a length that cannot be reset");
        proxy.fill(5.0);
    }

    fn call(proxy: &mut Vec<f32>) -> Increment<'_> {
        Increment(proxy)
    }

    fn output(proxy: &mut Vec<f32>) -> Result<Vec<f32>> {
        Ok(proxy.clone())
    }

    fn compare(proxy: &mut Vec<f32>, expected: &Vec<f32>) -> Result<(), String> {
        assert_ne!(proxy.len(), 1013, "a length that cannot be compared");
        if proxy == expected { Ok(()) } else { Err(format!("{proxy:?} is not {expected:?}")) }
    }

    fn clock() -> Duration {
        CLOCK.get()
    }
}

/// A candidate that takes so many microseconds, and says in the first element's fraction that it was it.
fn taking(micros: u64) -> impl Fn(&mut Increment<'_>) -> Result<()> + Send + Sync {
    move |call| {
        CLOCK.set(CLOCK.get() + Duration::from_micros(micros));
        call.0.iter_mut().for_each(|y| *y += 1.0);
        Ok(())
    }
}

fn op() -> TunableOp<Increments> {
    TunableOp::<Increments>::new("increment", "default", taking(100))
}

/// With a candidate that takes 50 µs, the default takes 100.
fn two() -> TunableOp<Increments> {
    let mut op = op();
    op.register("other", taking(50)).unwrap();
    op
}

fn call_of(op: &TunableOp<Increments>, n: usize) -> Vec<f32> {
    let mut y = vec![1.0; n];
    op.call(&mut Increment(&mut y)).unwrap();
    y
}

fn tuned(op: &TunableOp<Increments>, n: usize) -> Vec<f32> {
    tuning::scope(true, || call_of(op, n))
}

fn chosen(op: &TunableOp<Increments>) -> String {
    let reports = op.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports[0].chosen.clone()
}

/// The microseconds that a call takes.
fn micros(call: impl FnOnce()) -> u64 {
    let before = CLOCK.get();
    call();
    (CLOCK.get() - before).as_micros() as u64
}

#[test]
fn the_fastest_is_chosen_and_later_calls_run_it_alone() {
    let mut op = op();
    op.register("faster", taking(60)).unwrap();
    op.register("fastest", taking(50)).unwrap();
    op.register("slow", taking(76)).unwrap();
    assert_eq!(tuned(&op, 4), [2.0; 4]);
    assert_eq!(chosen(&op), "fastest");
    let report = &op.reports()[0];
    assert_eq!((report.op.as_str(), report.key.as_str()), ("increment", "N=4"));
    let micros_of = |at: usize| match report.candidates[at].1 {
        Outcome::Timed(time) => time.as_micros(),
        ref other => panic!("{other:?}"),
    };
    assert_eq!((micros_of(0), micros_of(1), micros_of(2)), (100, 60, 50));
    assert_eq!(report.candidates[3], ("slow".to_owned(), Outcome::Dropped(Duration::from_micros(76))));
    assert_eq!(micros(|| drop(tuned(&op, 4))), 50);
}

#[test]
fn the_default_is_kept_unless_another_is_faster_by_more_than_two_percent() {
    for (time, winner) in [(99, "default"), (98, "other"), (100, "default")] {
        let mut op = op();
        op.register("other", taking(time)).unwrap();
        tuned(&op, 1);
        // 100 / 98 is above 1.02, 100 / 99 below.
        assert_eq!(chosen(&op), winner, "{time}");
    }
}

#[test]
fn what_refuses_fails_panics_or_is_wrong_is_left_out_and_not_called_again() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let counted = || CALLS.fetch_add(1, Ordering::Relaxed);
    let mut op = op();
    op.register("refuses", move |_: &mut Increment<'_>| {
        counted();
        Err(Error::unsupported("not this length"))
    })
    .unwrap();
    op.register("fails", move |_: &mut Increment<'_>| {
        counted();
        Err(Error::failed("out of order"))
    })
    .unwrap();
    op.register("panics", move |_: &mut Increment<'_>| {
        counted();
        panic!("at once")
    })
    .unwrap();
    op.register("wrong", move |call: &mut Increment<'_>| {
        counted();
        call.0[1..].iter_mut().for_each(|y| *y += 1.0);
        Ok(())
    })
    .unwrap();
    let later = AtomicUsize::new(0);
    op.register("fails later", move |call: &mut Increment<'_>| {
        if later.fetch_add(1, Ordering::Relaxed) > 2 { Err(Error::failed("worn out")) } else { taking(1)(call) }
    })
    .unwrap();
    assert_eq!(tuned(&op, 3), [2.0; 3]);
    let outcome = |at: usize| op.reports()[0].candidates[at].1.clone();
    assert_eq!(chosen(&op), "default");
    assert_eq!(outcome(1), Outcome::Unsupported("not this length".into()));
    assert_eq!(outcome(2), Outcome::Failed("out of order".into()));
    assert_eq!(outcome(3), Outcome::Failed("it panicked: at once".into()));
    assert_eq!(outcome(4), Outcome::Wrong("[5.0, 6.0, 6.0] is not [6.0, 6.0, 6.0]".into()));
    assert_eq!(outcome(5), Outcome::Failed("worn out".into()));
    assert_eq!(CALLS.load(Ordering::Relaxed), 4);
    tuned(&op, 3);
    assert_eq!(CALLS.load(Ordering::Relaxed), 4);
}

#[test]
fn where_nothing_can_be_tried_the_default_runs_and_the_report_says_why() {
    let mut op = op();
    op.register("other", taking(1)).unwrap();
    assert_eq!(tuned(&op, 13), [2.0; 13]);
    assert_eq!((chosen(&op).as_str(), op.reports()[0].untried.as_deref()), ("default", Some("no memory")));
    let before = PROXIES.get();
    tuned(&op, 13);
    assert_eq!(PROXIES.get(), before, "it is remembered");
}

#[test]
fn a_chosen_candidate_that_refuses_a_call_leaves_it_to_the_default() {
    let mut op = op();
    let calls = AtomicUsize::new(0);
    op.register("for a while", move |call: &mut Increment<'_>| {
        if call.0[0] == 1.0 && calls.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err(Error::unsupported("not this one"));
        }
        taking(1)(call)
    })
    .unwrap();
    assert_eq!(tuned(&op, 2), [2.0; 2]);
    assert_eq!(chosen(&op), "for a while");
    assert_eq!(tuned(&op, 2), [2.0; 2]);
}

#[test]
fn nested_operations_are_tuned_on_the_same_proxy_and_keep_their_own_results() {
    let mut inner = TunableOp::<Increments>::new("inner", "slow", taking(90));
    inner.register("quick", taking(10)).unwrap();
    let inner = Arc::new(inner);
    let mut outer = op();
    outer.register_nested(Arc::clone(&inner)).unwrap();
    let before = PROXIES.get();
    assert_eq!(tuned(&outer, 4), [2.0; 4]);
    assert_eq!(PROXIES.get(), before + 1);
    assert_eq!((chosen(&outer).as_str(), chosen(&inner).as_str()), ("inner", "quick"));
    assert_eq!(micros(|| drop(tuned(&inner, 4))), 10);
    assert_eq!(micros(|| drop(tuning::scope(false, || call_of(&inner, 4)))), 90);
    assert_eq!(PROXIES.get(), before + 1);
}

#[test]
fn many_keys_from_many_threads_are_each_known_once() {
    // Other tests would wait long for their turns.
    let name = "many_keys_from_many_threads_are_each_known_once";
    if !is_child(name) {
        return in_child_with("tunable", name, ("DIETCODE_TUNABLE_LIMIT_MS", "20"));
    }
    static TUNING: AtomicUsize = AtomicUsize::new(0);
    let mut op = op();
    op.register("other", |call: &mut Increment<'_>| {
        let is_trial = call.0[0] != 1.0;
        let others = TUNING.fetch_add(usize::from(is_trial), Ordering::SeqCst);
        std::thread::yield_now();
        TUNING.fetch_sub(usize::from(is_trial), Ordering::SeqCst);
        if is_trial && others > 0 { Err(Error::failed("another key is being tuned")) } else { taking(1)(call) }
    })
    .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (1..300).filter(|n| *n != 13).for_each(|n| drop(tuned(&op, n))));
        }
    });
    // Those that no thread has tuned, since it waited for long on a busy machine.
    (1..300).filter(|n| *n != 13).for_each(|n| drop(tuned(&op, n)));
    let mut keys: Vec<String> = op.reports().into_iter().map(|report| report.key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!((keys.len(), op.reports().len()), (298, 298));
    assert!(op.reports().iter().all(|report| report.chosen == "other"));
}

/// Calls a key so often, and gives how many microseconds that took; trials included.
fn calls(op: &TunableOp<Increments>, n: usize, calls: usize) -> u64 {
    micros(|| (0..calls).for_each(|_| assert_eq!(call_of(op, n), vec![2.0; n])))
}

#[test]
fn within_a_budget_the_fastest_is_found_beside_the_programs_work() {
    let name = "within_a_budget_the_fastest_is_found_beside_the_programs_work";
    if !is_child(name) {
        for budget in ["2%", "20ms"] {
            in_child_with("tunable", name, ("DIETCODE_TUNABLE_BUDGET", budget));
        }
        return;
    }
    Settings::new().enable(true).tune(true).apply().unwrap();
    let quick = Arc::new(AtomicUsize::new(50));
    let mut op = op();
    op.register("other", {
        let quick = Arc::clone(&quick);
        move |call: &mut Increment<'_>| taking(quick.load(Ordering::Relaxed) as u64)(call)
    })
    .unwrap();
    op.register("wrong", |_: &mut Increment<'_>| Ok(())).unwrap();
    op.register("slow", taking(150)).unwrap();
    assert_eq!(calls(&op, 4, 61), 61 * 100, "no call waits for a tuning");
    let taken = calls(&op, 4, 40_000);
    assert_eq!(chosen(&op), "other");
    let report = &op.reports()[0];
    assert!(
        matches!(&report.candidates[..], [_, (_, Outcome::Timed(_)), (_, Outcome::Wrong(_)), (_, Outcome::Timed(_))]),
        "{report:?}"
    );
    // 2% of the calls of at most 150 µs, or of the time; the calls themselves took at most 100 µs.
    assert!(taken <= 40_000 * 103, "{taken}");
    assert_eq!(calls(&op, 4, 1000), 1000 * 50, "and nothing is tried any more");
    // It is slower now, as where another process takes the cache that it needs.
    quick.store(200, Ordering::Relaxed);
    assert_eq!(calls(&op, 4, 1000), 1000 * 200);
    CLOCK.set(CLOCK.get() + Duration::from_secs(600));
    calls(&op, 4, 40_000);
    assert_eq!(chosen(&op), "default");
    assert_eq!(calls(&op, 4, 1000), 1000 * 100);
    // A scope does not wait for a budget.
    quick.store(50, Ordering::Relaxed);
    tuned(&op, 5);
    assert_eq!(micros(|| drop(call_of(&op, 5))), 50);
}

#[test]
fn keys_that_come_in_turns_are_explored_one_after_the_other() {
    let name = "keys_that_come_in_turns_are_explored_one_after_the_other";
    if !is_child(name) {
        return in_child_with("tunable", name, ("DIETCODE_TUNABLE_BUDGET", "10%"));
    }
    Settings::new().enable(true).tune(true).apply().unwrap();
    let op = two();
    (0..20_000).for_each(|call| drop(call_of(&op, 1 + call % 4)));
    let mut reports: Vec<(String, String)> = op.reports().into_iter().map(|r| (r.key, r.chosen)).collect();
    reports.sort();
    let expected = ["N=1", "N=2", "N=3", "N=4"].map(|key| (key.to_owned(), "other".to_owned()));
    assert_eq!(reports, expected);
}

/// What explores does so beside calls of the program, which its own mistakes there must not end, nor what is explored of other calls.
#[test]
fn a_panic_while_exploring_ends_that_key_alone() {
    let name = "a_panic_while_exploring_ends_that_key_alone";
    if !is_child(name) {
        return in_child_with("tunable", name, ("DIETCODE_TUNABLE_BUDGET", "10%"));
    }
    Settings::new().enable(true).tune(true).apply().unwrap();
    let op = two();
    for length in [1013, 1019, 4] {
        (0..20_000).for_each(|_| assert_eq!(call_of(&op, length), vec![2.0; length]));
    }
    let mut reports = op.reports();
    reports.sort_by(|a, b| a.key.cmp(&b.key));
    let found: Vec<(String, String)> = reports.iter().map(|r| (r.key.clone(), r.chosen.clone())).collect();
    let expected = [("N=1013", "default"), ("N=4", "other")].map(|(key, chosen)| (key.to_owned(), chosen.to_owned()));
    assert_eq!(found, expected);
    let of_other = reports[0].candidates.iter().find(|(name, _)| name == "other");
    let is_told = matches!(of_other, Some((_, Outcome::Failed(why))) if why.contains("cannot be compared"));
    assert!(is_told, "{:?}", reports[0]);
}

#[test]
fn names_of_candidates_differ_and_a_new_one_is_tried() {
    let mut op = op();
    let message = op.register("default", taking(1)).unwrap_err().to_string();
    assert_eq!(message, "increment: there is a candidate `default` already; names must differ");
    tuned(&op, 4);
    op.register("new", taking(1)).unwrap();
    tuned(&op, 4);
    assert_eq!(chosen(&op), "new");
    assert_eq!(op.candidates().collect::<Vec<_>>(), ["default", "new"]);
}

enum Wide {}

impl Params for Wide {
    type Call<'a> = usize;
    type Proxy = usize;
    type Output = ();

    fn key(fields: &usize, key: &mut Key) -> Result<()> {
        (0..*fields).for_each(|at| key.add("field", at as u64));
        Ok(())
    }

    fn pre_tuning(fields: &usize) -> Result<usize> {
        Ok(*fields)
    }

    fn reset(_: &mut usize) {}

    fn call(fields: &mut usize) -> usize {
        *fields
    }

    fn output(_: &mut usize) -> Result<()> {
        Ok(())
    }

    fn compare(_: &mut usize, (): &()) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_key_of_too_many_fields_is_an_error() {
    let op = TunableOp::<Wide>::new("wide", "default", |_: &mut usize| Ok(()));
    let call = |mut fields: usize| tuning::scope(true, || op.call(&mut fields));
    call(MAX_FIELDS).unwrap();
    let error = call(MAX_FIELDS + 1).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Input, "wide: a key has more than 48 fields"));
}

#[test]
fn a_scope_goes_before_settings_and_these_before_the_environment() {
    let name = "a_scope_goes_before_settings_and_these_before_the_environment";
    if !is_child(name) {
        return in_child_with("tunable", name, ("DIETCODE_TUNABLE_ENABLED", "1"));
    }
    assert_eq!(tuning::mode().unwrap(), Mode::Use);
    let mut op = op();
    op.register("other", taking(1)).unwrap();
    assert_eq!(micros(|| drop(call_of(&op, 4))), 100, "nothing is known");
    assert!(op.reports().is_empty());
    tuned(&op, 4);
    assert_eq!(micros(|| drop(call_of(&op, 4))), 1, "it is known");
    assert_eq!(micros(|| drop(tuning::scope(false, || call_of(&op, 4)))), 100);
    Settings::new().tune(true).limit(Duration::from_millis(5)).apply().unwrap();
    assert_eq!((tuning::mode().unwrap(), tuning::limit().unwrap()), (Mode::Tune, Duration::from_millis(5)));
    call_of(&op, 5);
    assert_eq!(op.reports().len(), 2);
    Settings::new().enable(false).apply().unwrap();
    assert_eq!(tuning::mode().unwrap(), Mode::Off);
    assert_eq!(micros(|| drop(call_of(&op, 4))), 100, "whatever is known");
    let caught = std::panic::catch_unwind(|| tuning::scope(true, || panic!("leaves the scope")));
    assert!(caught.is_err() && tuning::mode().unwrap() == Mode::Off);
    for limit in [Duration::ZERO, tuning::MAX_LIMIT + Duration::from_millis(1)] {
        assert_eq!(Settings::new().enable(true).limit(limit).apply().unwrap_err().kind(), ErrorKind::Input);
    }
    let rotation = tuning::MAX_ROTATION + 1;
    assert_eq!(Settings::new().enable(true).rotation(rotation).apply().unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(tuning::mode().unwrap(), Mode::Off, "nothing was changed");
}

#[test]
fn a_wrong_variable_is_an_error_of_the_call() {
    let name = "a_wrong_variable_is_an_error_of_the_call";
    if !is_child(name) {
        for variable in ["ENABLED", "TUNING", "LIMIT_MS", "RECORD", "BUDGET", "ROTATION_MIB"] {
            for value in ["", "yes", "-1", "60001"] {
                in_child_with("tunable", name, (&format!("DIETCODE_TUNABLE_{variable}"), value));
            }
        }
        return;
    }
    let error = op().call(&mut Increment(&mut [1.0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let text = error.to_string();
    assert!(
        text.starts_with("DIETCODE_TUNABLE_") && text.contains(" is \"") && text.contains("but must be "),
        "{text}"
    );
}
