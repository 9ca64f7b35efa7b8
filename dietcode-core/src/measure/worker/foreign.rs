//! Whether what was timed had its cores for itself.
//!
//! What others run elsewhere does not count: the compilers of a search are on cores of their own. What counts is whether the threads
//! that were timed had their cores: no thread of this process lost one to another thread, none that had work waited for a core during
//! more than 2% of the time, and, on a virtual machine, the host took no time away. A thread that sleeps by its own wish wants no core.
//!
//! Sources, all of Linux: `nonvoluntary_ctxt_switches` of `/proc/self/task/*/status`, which is `ru_nivcsw` of `RUSAGE_THREAD` for other
//! threads too; the second number of `schedstat` beside it, the nanoseconds in which a thread wanted a core and had none
//! (`Documentation/scheduler/sched-stats.rst`), so that it is what a thread with work lacks of 100% CPU time; and `steal` in
//! `/proc/stat`. Where a system has none of these, nothing is known of others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The clocks when something began.
#[derive(Debug)]
pub(super) struct Watch {
    at: Instant,
    threads: BTreeMap<String, Thread>,
    stolen: u64,
}

/// What the system has counted of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// How often it lost its core to another thread.
    preempted: u64,
    /// How long it waited for a core.
    waited: Duration,
}

/// A thread may wait for a core during this share of the time.
const WAITED: f64 = 0.02;

/// The timer and the kernel's own threads want a core now and then, for microseconds: a call of many milliseconds sees some of that, and
/// its share of waiting tells whether it was more.
const PREEMPTIONS_PER_SECOND: f64 = 20.0;

impl Watch {
    /// Starts watching.
    pub(super) fn start() -> Watch {
        let (threads, stolen) = (threads(), stolen());
        Watch { at: Instant::now(), threads, stolen }
    }

    /// Whether the threads of this process have had their cores since the start.
    pub(super) fn is_clean(&self) -> bool {
        let elapsed = self.at.elapsed();
        let since = |(id, now): (String, Thread)| now.since(self.threads.get(&id).copied().unwrap_or_default());
        stolen() == self.stolen && threads().into_iter().map(since).all(|thread| thread.had_its_core(elapsed))
    }
}

impl Thread {
    fn since(self, before: Thread) -> Thread {
        Thread { preempted: self.preempted - before.preempted, waited: self.waited.saturating_sub(before.waited) }
    }

    fn had_its_core(self, elapsed: Duration) -> bool {
        let tolerated = (elapsed.as_secs_f64() * PREEMPTIONS_PER_SECOND) as u64;
        self.preempted <= tolerated && self.waited <= elapsed.mul_f64(WAITED)
    }
}

/// The threads of this process, by their numbers.
fn threads() -> BTreeMap<String, Thread> {
    let all = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    all.filter_map(|entry| Some((entry.file_name().into_string().ok()?, thread(&entry.path())?))).collect()
}

/// None of a thread that has ended.
fn thread(folder: &Path) -> Option<Thread> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let preempted = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?.trim().parse();
    let schedstat = fs::read_to_string(folder.join("schedstat")).ok()?;
    let waited = schedstat.split_whitespace().nth(1)?.parse().ok()?;
    Some(Thread { preempted: preempted.ok()?, waited: Duration::from_nanos(waited) })
}

/// In ticks, how long hosts ran others while this machine wanted to run.
fn stolen() -> u64 {
    steal(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or(0)
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`
fn steal(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// CPU time of all threads of this process.
pub(super) fn own_cpu_time() -> Duration {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_lost_its_core_or_waited_for_one_is_told() {
        let [brief, long] = [1, 1000].map(Duration::from_millis);
        let of = |preempted, micros| Thread { preempted, waited: Duration::from_micros(micros) };
        assert!(of(0, 19).had_its_core(brief) && of(9, 5000).had_its_core(long));
        assert!(!of(1, 0).had_its_core(brief) && !of(0, 21).had_its_core(brief));
        assert!(!of(21, 0).had_its_core(long) && !of(0, 21_000).had_its_core(long));
    }

    /// Two threads on one core: one of them is in the other's way.
    #[cfg(target_os = "linux")]
    #[test]
    fn two_threads_on_one_core_are_in_each_others_way() {
        use crate::runtime::affinity::{allowed, keep_on};
        use std::sync::atomic::{AtomicBool, Ordering};

        let work = |time: Duration| {
            let start = Instant::now();
            while start.elapsed() < time {
                std::hint::spin_loop();
            }
        };
        let core = allowed()[0];
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                keep_on(0, &[core]);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                keep_on(0, &[core]);
                let watch = Watch::start();
                work(Duration::from_millis(100));
                assert!(!watch.is_clean(), "both wanted the core all the time");
                stop.store(true, Ordering::Relaxed);
            });
        });
    }

    #[test]
    fn what_a_host_takes_is_read() {
        assert_eq!(steal("cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9"), Some(32));
        assert_eq!(steal(""), None);
    }
}
