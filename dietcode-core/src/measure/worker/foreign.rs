//! How much of the machine others used meanwhile.

use std::time::{Duration, Instant};

/// The clocks at the start of a round.
#[derive(Debug)]
pub(super) struct Watch {
    at: Instant,
    own: Duration,
    preempted: i64,
    machine: Option<Duration>,
}

/// What went by during a round.
#[derive(Clone, Copy, Debug)]
struct Passed {
    time: Duration,
    /// CPU time of this process.
    own: Duration,
    /// How often a thread of it lost its core.
    preempted: i64,
    /// CPU time of all cores, where the system has it.
    machine: Option<Duration>,
}

/// The kernel counts the machine's time in ticks of 10 ms, so that much on each of two cores may be an artefact.
const GRAIN: Duration = Duration::from_millis(20);

/// Others may use this share of one core without a round being called disturbed.
const TOLERATED: f64 = 0.1;

/// On a quiet machine a thread loses its core about so often.
const PREEMPTIONS_PER_SECOND: f64 = 20.0;

/// Threads with work all the time have their cores for more than this share of it, also where each waits for the last one.
const FED: f64 = 0.8;

impl Watch {
    /// Starts watching.
    pub(super) fn start() -> Watch {
        Watch { at: Instant::now(), own: own_cpu_time(), preempted: preemptions(), machine: machine_cpu_time() }
    }

    /// Whether other processes (or, on a virtual machine, the host) used the cores since the start. Where the system
    /// does not tell, no.
    pub(super) fn disturbed(&self) -> bool {
        let machine = self.machine.zip(machine_cpu_time()).map(|(before, after)| after.saturating_sub(before));
        let own = own_cpu_time().saturating_sub(self.own);
        Passed { time: self.at.elapsed(), own, preempted: preemptions() - self.preempted, machine }.is_disturbed()
    }
}

impl Passed {
    fn is_disturbed(&self) -> bool {
        // The timer and the kernel's own threads want a core now and then.
        let tolerated = 1 + (self.time.as_secs_f64() * PREEMPTIONS_PER_SECOND) as i64;
        let foreign = self.machine.map_or(Duration::ZERO, |machine| machine.saturating_sub(self.own));
        self.preempted > tolerated || foreign > GRAIN + self.time.mul_f64(TOLERATED)
    }
}

/// Whether threads that had work during all of `elapsed` had so little CPU time that others, or a limit, took their cores.
pub(super) fn are_starved(threads: usize, elapsed: Duration, own: Duration) -> bool {
    own < elapsed.mul_f64(threads as f64 * FED)
}

fn usage() -> libc::rusage {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

/// How often a thread of this process lost its core to another process.
fn preemptions() -> i64 {
    usage().ru_nivcsw
}

/// CPU time of all threads of this process.
pub(super) fn own_cpu_time() -> Duration {
    let usage = usage();
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// CPU time that all cores spent on anything, the time that a host took away included.
fn machine_cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    // SAFETY: sysconf has no preconditions.
    let ticks_per_second = u32::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|n| *n > 0)?;
    Some(Duration::from_secs(busy_ticks(&text)?) / ticks_per_second)
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guests are counted in user and nice already.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some([0, 1, 2, 5, 6, 7].iter().filter_map(|field| fields.get(*field)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_somebody_else_has_is_noticed() {
        let [none, most, all] = [0, 90, 100].map(Duration::from_millis);
        let quiet = Passed { time: all, own: 2 * all, preempted: 1, machine: Some(2 * all) };
        assert!(!quiet.is_disturbed());
        assert!(!Passed { machine: None, ..quiet }.is_disturbed(), "where the system does not tell");
        // A loop beside two threads on two cores, as the machine's clock, the scheduler and the threads' own clock see it.
        assert!(Passed { own: all, ..quiet }.is_disturbed());
        assert!(Passed { preempted: 10, ..quiet }.is_disturbed());
        assert!(are_starved(2, all, all) && are_starved(1, all, none));
        assert!(!are_starved(2, all, 2 * most) && !are_starved(1, all, most));
    }

    #[test]
    fn idle_time_is_not_busy() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9"), Some(63));
        assert_eq!(busy_ticks(""), None);
    }
}
