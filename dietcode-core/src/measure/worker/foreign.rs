//! Whether what was timed had its cores for itself.
//!
//! What others run elsewhere does not count: the compilers of a search are on cores of their own. What counts is whether the threads
//! that were timed had their cores: none that had work waited for a core during more than 2% of the time, and, on a virtual machine,
//! the host took no time away. A thread that sleeps by its own wish wants no core. How often a thread lost its core does not count: on
//! two cores at rest the kernel's own threads interrupt 44% of the samples of 20 ms on the first core, and make 4% of them wait that long.
//!
//! Sources, both of Linux: the second number of `/proc/self/task/*/schedstat`, the nanoseconds in which a thread wanted a core and had
//! none (`Documentation/scheduler/sched-stats.rst`), so that it is what a thread with work lacks of 100% CPU time; and `steal` in
//! `/proc/stat`. Where a system has none of these, nothing is known of others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The clocks when something began.
#[derive(Debug)]
pub(super) struct Watch {
    at: Instant,
    /// How long each thread had waited for a core.
    waited: BTreeMap<String, Duration>,
    stolen: u64,
}

/// A thread may wait for a core during this share of the time.
const WAITED: f64 = 0.02;

impl Watch {
    /// Starts watching.
    pub(super) fn start() -> Watch {
        let (waited, stolen) = (waited(), stolen());
        Watch { at: Instant::now(), waited, stolen }
    }

    /// Whether the threads of this process have had their cores since the start.
    pub(super) fn is_clean(&self) -> bool {
        let elapsed = self.at.elapsed();
        let since =
            |(id, now): (String, Duration)| now.saturating_sub(self.waited.get(&id).copied().unwrap_or_default());
        stolen() == self.stolen && waited().into_iter().map(since).all(|waited| had_its_core(waited, elapsed))
    }
}

fn had_its_core(waited: Duration, elapsed: Duration) -> bool {
    waited <= elapsed.mul_f64(WAITED)
}

/// How long the threads of this process have waited for a core, by their numbers.
fn waited() -> BTreeMap<String, Duration> {
    let all = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    all.filter_map(|entry| Some((entry.file_name().into_string().ok()?, waited_by(&entry.path())?))).collect()
}

/// None of a thread that has ended.
fn waited_by(thread: &Path) -> Option<Duration> {
    let schedstat = fs::read_to_string(thread.join("schedstat")).ok()?;
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
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
    fn a_thread_that_waited_for_a_core_is_told() {
        let [brief, long] = [1, 1000].map(Duration::from_millis);
        let micros = Duration::from_micros;
        assert!(had_its_core(micros(19), brief) && had_its_core(micros(19_000), long));
        assert!(!had_its_core(micros(21), brief) && !had_its_core(micros(21_000), long));
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
        let is_clean = std::thread::scope(|scope| {
            scope.spawn(|| {
                keep_on(0, &[core]);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let watched = scope.spawn(|| {
                keep_on(0, &[core]);
                let watch = Watch::start();
                work(Duration::from_millis(100));
                watch.is_clean()
            });
            let is_clean = watched.join();
            stop.store(true, Ordering::Relaxed);
            is_clean.unwrap()
        });
        assert!(!is_clean, "both wanted the core all the time");
    }

    #[test]
    fn what_a_host_takes_is_read() {
        assert_eq!(steal("cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9"), Some(32));
        assert_eq!(steal(""), None);
    }
}
