//! Exploring while another process takes the cores at random, by the real clock.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dietcode_core::Result;
use dietcode_core::runtime::tunable::tuning::Settings;
use dietcode_core::runtime::tunable::{Key, Params, TunableOp};

use crate::thread_settings::{in_child_with, is_child};

/// A call that does nothing but take its time.
enum Waits {}

struct Wait {
    is_trial: bool,
}

impl Params for Waits {
    type Call<'a> = Wait;
    type Proxy = ();
    type Output = ();

    fn key(_: &Wait, key: &mut Key) -> Result<()> {
        key.add("N", 1);
        Ok(())
    }

    fn pre_tuning(_: &Wait) -> Result<()> {
        Ok(())
    }

    fn reset((): &mut ()) {}

    fn call((): &mut ()) -> Wait {
        Wait { is_trial: true }
    }

    fn output((): &mut ()) -> Result<()> {
        Ok(())
    }

    fn compare((): &mut (), (): &()) -> Result<(), String> {
        Ok(())
    }
}

/// How often candidates were tried, for how many nanoseconds in all, and in the longest call.
static TRIALS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn trials() -> [u64; 3] {
    TRIALS.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// A candidate that works for so many rounds, each some nanoseconds.
fn working(rounds: u64) -> impl Fn(&mut Wait) -> Result<()> + Send + Sync {
    move |call| {
        let begun = Instant::now();
        std::hint::black_box((0..rounds).fold(1u64, |x, round| std::hint::black_box(x).rotate_left(7) ^ round));
        if call.is_trial {
            let taken = begun.elapsed().as_nanos() as u64;
            TRIALS[0].fetch_add(1, Ordering::Relaxed);
            TRIALS[1].fetch_add(taken, Ordering::Relaxed);
            TRIALS[2].fetch_max(taken, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Processes that each take a core for some milliseconds at a time, until they are dropped.
struct Others(Vec<Child>);

impl Others {
    fn begin() -> Others {
        let cores = std::thread::available_parallelism().unwrap().get().min(4);
        // The number of rounds follows no period of a caller: the remainders of a generator of Lehmer's.
        let work = "s=$1; while kill -0 $2 2>/dev/null; do \
                    s=$(((s * 48271) % 2147483647)); i=$((s % 20000)); while [ $i -gt 0 ]; do i=$((i - 1)); done; sleep 0.00$((s % 7)); done";
        let seeds = 1..=cores;
        let begin = |seed: usize| {
            let own = std::process::id().to_string();
            Command::new("sh").args(["-c", work, "sh", &(seed * 7919).to_string(), &own]).stdin(Stdio::null()).spawn()
        };
        Others(seeds.map(|seed| begin(seed).unwrap()).collect())
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for other in &mut self.0 {
            let _ = other.kill();
            let _ = other.wait();
        }
    }
}

#[test]
fn a_busy_machine_changes_neither_the_budget_nor_what_is_found() {
    let name = "a_busy_machine_changes_neither_the_budget_nor_what_is_found";
    if !is_child(name) {
        for budget in ["5%", "20ms"] {
            in_child_with("tunable::beside", name, ("DIETCODE_TUNABLE_BUDGET", budget));
        }
        return;
    }
    Settings::new().enable(true).tune(true).apply().unwrap();
    let others = Others::begin();
    let mut op = TunableOp::<Waits>::new("wait", "default", working(40_000));
    op.register("slow", working(80_000)).unwrap();
    op.register("quick", working(16_000)).unwrap();
    let chosen = || op.reports().first().map(|report| report.chosen.clone());
    let is_of_calls = std::env::var("DIETCODE_TUNABLE_BUDGET").unwrap().ends_with('%');
    let (begun, mut calls) = (Instant::now(), 0);
    // A race ends after 64 pairs of a rival at the most, and a report is made then: that takes some thousand calls.
    while chosen().is_none() && calls < 1_000_000 {
        op.call(&mut Wait { is_trial: false }).unwrap();
        calls += 1;
        let [tried, taken, longest] = trials();
        // A thread that asks has made 61 calls, or will have. A step has four calls, as one takes longer than the least sample, and takes what it takes.
        let is_within = match is_of_calls {
            true => tried as f64 <= 0.05 * (calls + 61) as f64,
            false => taken <= begun.elapsed().as_nanos() as u64 / 50 + 4 * longest,
        };
        assert!(is_within, "{calls} calls, {tried} trials of {taken} ns, the longest {longest} ns");
    }
    drop(others);
    assert_eq!(chosen().as_deref(), Some("quick"), "{:?}", op.reports());
}
