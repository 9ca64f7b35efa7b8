//! Whether what was timed had its cores for itself.
//!
//! What others run elsewhere does not count: the compilers of a search are on cores of their own. What counts is whether the threads
//! that were timed had their cores: none that had work waited for a core during more than 2% of the time, and, on a virtual machine,
//! the host took no time away. A thread that sleeps by its own wish wants no core. How often a thread lost its core does not count: on
//! two cores at rest the kernel's own threads interrupt 44% of the samples of 20 ms on the first core, and make 4% of them wait that long.
//!
//! Sources, of Linux: the second number of `/proc/self/task/*/schedstat`, the nanoseconds in which a thread wanted a core and had
//! none (`Documentation/scheduler/sched-stats.rst`), so that it is what a thread with work lacks of 100% CPU time; and `steal` in
//! `/proc/stat`. A kernel may be built without the former. Then CPU clocks say it: a thread that has not gone to sleep meanwhile, by its
//! count of voluntary context switches in `/proc/self/task/*/status`, and does not sleep in the end, wanted its core all the time. Where there is no
//! `/proc`, only the calling thread has such a clock, and whether anyone slept is known of the process alone (`getrusage`). What a host
//! takes away has no other source: without it, nothing is known of hosts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The clocks when something began.
#[derive(Debug)]
pub(super) struct Watch {
    at: Instant,
    read: fn() -> Threads,
    before: Threads,
    stolen: u64,
}

/// What is known of threads, by their numbers.
type Threads = BTreeMap<String, Seen>;

/// What is known of a thread at some time.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// How long it has waited for a core.
    Waited(Duration),
    /// How long it has had one, how often it went to sleep, and whether it does now.
    Ran { time: Duration, sleeps: u64, is_asleep: bool },
}

impl Seen {
    /// How long it has waited since something was seen of it, during a time; one that is new began meanwhile.
    fn waited_since(self, before: Option<Seen>, elapsed: Duration) -> Duration {
        match (before, self) {
            (Some(Seen::Waited(before)), Seen::Waited(now)) => now.saturating_sub(before),
            (None, Seen::Waited(now)) => now,
            (Some(Seen::Ran { time: before, sleeps: slept, .. }), Seen::Ran { time, sleeps, is_asleep: false })
                if sleeps == slept =>
            {
                elapsed.saturating_sub(time.saturating_sub(before))
            }
            _ => Duration::ZERO,
        }
    }
}

/// A thread may wait for a core during this share of the time.
const WAITED: f64 = 0.02;

impl Watch {
    /// Starts watching.
    pub(super) fn start() -> Watch {
        Watch::by(all)
    }

    /// The same by one way to read threads.
    fn by(read: fn() -> Threads) -> Watch {
        let (before, stolen) = (read(), stolen());
        Watch { at: Instant::now(), read, before, stolen }
    }

    /// Whether the threads of this process have had their cores since the start.
    pub(super) fn is_clean(&self) -> bool {
        let elapsed = self.at.elapsed();
        let since = |(id, now): (String, Seen)| now.waited_since(self.before.get(&id).copied(), elapsed);
        stolen() == self.stolen && (self.read)().into_iter().map(since).all(|waited| had_its_core(waited, elapsed))
    }
}

fn had_its_core(waited: Duration, elapsed: Duration) -> bool {
    waited <= elapsed.mul_f64(WAITED)
}

/// The threads of this process; where nothing is known of them, the calling one.
fn all() -> Threads {
    let folders = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let thread = |entry: fs::DirEntry| {
        let folder = entry.path();
        Some((entry.file_name().into_string().ok()?, by_waiting(&folder).or_else(|| by_status(&folder))?))
    };
    let known: Threads = folders.filter_map(thread).collect();
    if known.is_empty() { Threads::from([(String::new(), of_caller())]) } else { known }
}

/// A thread by how long it has waited; none of one that has ended, or of a kernel that does not say.
fn by_waiting(thread: &Path) -> Option<Seen> {
    let schedstat = fs::read_to_string(thread.join("schedstat")).ok()?;
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos).map(Seen::Waited)
}

/// A thread by its CPU clock and its state; none of one that has ended.
fn by_status(thread: &Path) -> Option<Seen> {
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next())
    };
    let (id, sleeps): (i32, u64) = (field("Pid")?.parse().ok()?, field("voluntary_ctxt_switches")?.parse().ok()?);
    // A thread's CPU clock as the kernel numbers it (`MAKE_THREAD_CPUCLOCK` in `include/linux/posix-timers_types.h`).
    let time = cpu_time((!id << 3) | 6)?;
    Some(Seen::Ran { time, sleeps, is_asleep: field("State")? != "R" })
}

/// The calling thread by its own CPU clock, and by how often any thread of this process went to sleep.
fn of_caller() -> Seen {
    let time = cpu_time(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default();
    Seen::Ran { time, sleeps: usage().ru_nvcsw as u64, is_asleep: false }
}

/// None of a thread that has ended.
fn cpu_time(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec.
    let is_known = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// In ticks, how long hosts ran others while this machine wanted to run.
fn stolen() -> u64 {
    steal(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or(0)
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`
fn steal(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// What all threads of this process have used.
fn usage() -> libc::rusage {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

/// CPU time of all threads of this process.
pub(super) fn own_cpu_time() -> Duration {
    let usage = usage();
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

    /// The calling thread, by what a kernel says of its waiting, and without that.
    #[cfg(target_os = "linux")]
    const SOURCES: [fn() -> Threads; 2] = [
        || Threads::from([(String::new(), by_waiting(Path::new("/proc/thread-self")).unwrap())]),
        || Threads::from([(String::new(), by_status(Path::new("/proc/thread-self")).unwrap())]),
    ];

    /// Whether a sample of a thread on one core is clean, or is not, while another thread is busy on a core, in so many tries at the most.
    #[cfg(target_os = "linux")]
    fn is_once(clean: bool, [busy, own]: [usize; 2], read: fn() -> Threads, sample: Duration, tries: usize) -> bool {
        use crate::runtime::affinity::keep_on;
        use std::sync::atomic::{AtomicBool, Ordering};

        let [begun, stop] = [false; 2].map(AtomicBool::new);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                keep_on(0, &[busy]);
                begun.store(true, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let watched = scope.spawn(|| {
                keep_on(0, &[own]);
                while !begun.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                (0..tries).any(|_| {
                    let watch = Watch::by(read);
                    while watch.at.elapsed() < sample {
                        std::hint::spin_loop();
                    }
                    watch.is_clean() == clean
                })
            });
            let is_so = watched.join();
            stop.store(true, Ordering::Relaxed);
            is_so.unwrap()
        })
    }

    /// Both want the core all the time. On a busy machine a page that is fetched may have a thread sleep, of which CPU clocks say nothing.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_busy_on_the_same_core_is_in_the_way() {
        let core = crate::runtime::affinity::allowed()[0];
        for read in SOURCES.into_iter().chain([all as fn() -> Threads]) {
            assert!(is_once(false, [core; 2], read, Duration::from_millis(100), 5));
        }
    }

    /// Samples are so short, and so many, that one of them is clean also on a core that is shared.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_busy_on_another_core_is_in_nobodys_way() {
        let cores = crate::runtime::affinity::allowed();
        let [own, other, ..] = cores[..] else { return };
        for read in SOURCES {
            assert!(is_once(true, [other, own], read, Duration::from_millis(1), 10_000));
        }
    }

    #[test]
    fn a_thread_that_slept_wanted_no_core() {
        let ran = |millis: u64, sleeps, is_asleep| Seen::Ran { time: Duration::from_millis(millis), sleeps, is_asleep };
        let waited = |now: Seen| now.waited_since(Some(ran(5, 1, false)), Duration::from_millis(100)).as_millis();
        assert_eq!([ran(105, 1, false), ran(45, 1, false), ran(5, 1, false)].map(waited), [0, 60, 100]);
        assert_eq!([ran(45, 2, false), ran(5, 1, true)].map(waited), [0, 0]);
        assert_eq!(ran(1, 1, false).waited_since(None, Duration::from_millis(100)), Duration::ZERO);
    }

    #[test]
    fn a_thread_tells_how_long_it_has_had_a_core() {
        let ran = || match of_caller() {
            Seen::Ran { time, is_asleep: false, .. } => time,
            other => panic!("{other:?}"),
        };
        let before = ran();
        while ran() < before + Duration::from_millis(2) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_a_host_takes_is_read() {
        assert_eq!(steal("cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9"), Some(32));
        assert_eq!(steal(""), None);
    }
}
