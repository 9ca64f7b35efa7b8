//! Which of the kernels of a run gets the next round.
//!
//! A run is worth Σ weight · latency over its kernels; a round goes where that is expected to fall most for each trial. What is
//! expected of a kernel is a mixture of how it fell lately, and of how much it can fall at the most: to nothing, in as many
//! trials as it took so far, or to what the throughput of the best of the others lets hope for, whichever is less.
//!
//! ```text
//! slope    = (latency before the last rounds − latency now) / trials of these rounds
//! hope     = min(latency / trials, latency − operations / (beta · best throughput of the others))
//! gradient = weight · (alpha · slope + (1 − alpha) · hope)
//! ```
//!
//! First, each kernel has one round, in order. Source: the task schedulers of Ansor (OSDI 2020, section 6) and of TVM's
//! MetaSchedule (`gradient_based.cc`).

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::config::Scheduling;

/// Shares rounds out among kernels. The same calls give the same answers.
#[derive(Debug)]
pub struct TaskScheduler {
    settings: Scheduling,
    tasks: Vec<Progress>,
    rng: StdRng,
}

/// How far a kernel has come.
#[derive(Clone, Debug)]
struct Progress {
    weight: f64,
    operations: f64,
    /// Trials in all and the best latency, before the first round, where there are none, and after each.
    history: Vec<(usize, f64)>,
    ended: bool,
}

impl TaskScheduler {
    /// `tasks` are the weight of each kernel, its operations, of all instances together, weighted like its latency, and that of its defaults.
    pub fn new(settings: Scheduling, tasks: impl IntoIterator<Item = (f64, f64, f64)>, seed: u64) -> TaskScheduler {
        let task =
            |(weight, operations, latency)| Progress { weight, operations, history: vec![(0, latency)], ended: false };
        TaskScheduler { settings, tasks: tasks.into_iter().map(task).collect(), rng: StdRng::seed_from_u64(seed) }
    }

    /// The kernel that gets the next round; none: all have ended.
    pub fn next_task(&mut self) -> Option<usize> {
        let open: Vec<usize> = (0..self.tasks.len()).filter(|at| !self.tasks[*at].ended).collect();
        let fresh = open.iter().find(|at| self.tasks[**at].waits());
        if open.is_empty() || fresh.is_some() {
            return fresh.copied();
        }
        if self.rng.random_bool(self.settings.epsilon.clamp(0.0, 1.0)) {
            return Some(open[self.rng.random_range(0..open.len())]);
        }
        let gradients = open.iter().map(|at| (self.gradient(*at), *at));
        gradients.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, at)| at)
    }

    /// Notes what a round came to: its trials, and the best latency of the kernel so far, the weighted sum over its instances in
    /// seconds; infinite as long as an instance has none.
    pub fn note(&mut self, task: usize, trials: usize, latency: f64) {
        let history = &mut self.tasks[task].history;
        let before = history.last().map_or(0, |(trials, _)| *trials);
        history.push((before + trials, latency));
    }

    /// How many kernels had no round yet.
    pub fn waiting(&self) -> usize {
        self.tasks.iter().filter(|task| !task.ended && task.waits()).count()
    }

    /// A kernel of which there is nothing more to try.
    pub fn end(&mut self, task: usize) {
        self.tasks[task].ended = true;
    }

    /// By how much the run is expected to become better for each trial of a kernel.
    fn gradient(&self, at: usize) -> f64 {
        let task = &self.tasks[at];
        let Some(&(trials, latency)) = task.history.last() else { return f64::INFINITY };
        if !latency.is_finite() {
            // It may never have one, so that it has no more than one round ahead of the others.
            let open = self.tasks.iter().filter(|task| !task.ended);
            let fewest = open.map(|task| task.history.len()).min().unwrap_or(0);
            return if task.history.len() <= fewest { f64::INFINITY } else { 0.0 };
        }
        let others = (0..self.tasks.len()).filter(|other| *other != at);
        let fastest = others.filter_map(|other| self.tasks[other].throughput()).fold(0.0, f64::max);
        let free = latency / trials.max(1) as f64;
        let reachable = latency - task.operations / (self.settings.beta * fastest);
        // Where the others are slower than this one already, they say nothing.
        let hope = if reachable > 0.0 { free.min(reachable) } else { free };
        task.weight * (self.settings.alpha * task.slope(self.settings.window) + (1.0 - self.settings.alpha) * hope)
    }
}

impl Progress {
    /// Whether it had no round yet.
    fn waits(&self) -> bool {
        self.history.len() < 2
    }

    /// Operations in a second, if all instances have a figure.
    fn throughput(&self) -> Option<f64> {
        let (_, latency) = self.history.last()?;
        (latency.is_finite() && *latency > 0.0).then(|| self.operations / latency)
    }

    /// The fall of the latency for each trial of the last rounds.
    fn slope(&self, window: usize) -> f64 {
        let Some((trials, latency)) = self.history.last() else { return 0.0 };
        let Some((before, earlier)) = self.history.iter().rev().nth(window).or(self.history.first()) else {
            return 0.0;
        };
        if before == trials || !earlier.is_finite() { 0.0 } else { (earlier - latency) / (trials - before) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(epsilon: f64, tasks: &[(f64, f64)]) -> TaskScheduler {
        let tasks = tasks.iter().map(|(weight, operations)| (*weight, *operations, f64::INFINITY));
        TaskScheduler::new(Scheduling { epsilon, ..Scheduling::default() }, tasks, 7)
    }

    /// The rounds of each task, if the latency after `n` rounds is what `latency` says.
    fn rounds(mut of: TaskScheduler, all: usize, latency: impl Fn(usize, usize) -> f64) -> Vec<usize> {
        let mut rounds = vec![0; of.tasks.len()];
        for _ in 0..all {
            let at = of.next_task().unwrap();
            rounds[at] += 1;
            of.note(at, 64, latency(at, rounds[at]));
        }
        rounds
    }

    #[test]
    fn each_has_a_round_before_anyone_has_two() {
        let mut scheduler = scheduler(1.0, &[(1.0, 1.0); 5]);
        for at in 0..5 {
            assert_eq!(scheduler.next_task(), Some(at));
            scheduler.note(at, 64, 1.0);
        }
    }

    #[test]
    fn who_still_improves_gets_the_trials() {
        let settings = Scheduling { alpha: 0.9, epsilon: 0.0, ..Scheduling::default() };
        let of = TaskScheduler::new(settings.clone(), [(1.0, 1.0, 1.0); 2], 0);
        let improving = rounds(of, 20, |at, n| if at == 0 { 1.0 } else { 1.0 - 0.04 * n as f64 });
        assert!(improving[1] >= 14, "{improving:?}");
        // That a first round gained nothing over the defaults is known after it.
        let of = TaskScheduler::new(settings, [(1.0, 1.0, 1.0), (1.0, 1.0, 4.0)], 0);
        let improved = rounds(of, 4, |_, _| 1.0);
        assert_eq!(improved, [1, 3]);
    }

    #[test]
    fn who_weighs_more_and_takes_longer_gets_more() {
        let heavy = rounds(scheduler(0.0, &[(1.0, 1.0), (4.0, 1.0)]), 30, |_, _| 1.0);
        assert!(heavy[1] > 2 * heavy[0], "{heavy:?}");
        let slow = rounds(scheduler(0.0, &[(1.0, 1.0), (1.0, 8.0)]), 30, |at, _| if at == 0 { 1.0 } else { 8.0 });
        assert!(slow[1] > 2 * slow[0], "{slow:?}");
    }

    #[test]
    fn far_below_the_throughput_of_the_others_there_is_more_to_hope_for() {
        // Equal latencies, but the second has computed eight times as much: the first is the one to be improved.
        let rounds = rounds(scheduler(0.0, &[(1.0, 1.0), (1.0, 8.0)]), 40, |_, n| 1.0 + 1.0 / n as f64);
        assert!(rounds[0] >= rounds[1], "{rounds:?}");
    }

    #[test]
    fn who_has_ended_gets_nothing_and_who_has_no_figure_comes_first() {
        let mut scheduler = scheduler(0.5, &[(1.0, 1.0); 3]);
        (0..3).for_each(|at| scheduler.note(at, 64, 1.0));
        scheduler.end(1);
        assert!((0..100).all(|_| scheduler.next_task() != Some(1)));
        scheduler.end(0);
        scheduler.end(2);
        assert_eq!(scheduler.next_task(), None);
        let mut without = self::scheduler(0.0, &[(1.0, 1.0); 2]);
        without.note(0, 64, 1.0);
        without.note(1, 64, f64::INFINITY);
        assert_eq!(without.next_task(), Some(1));
        let never = rounds(self::scheduler(0.0, &[(1.0, 1.0); 2]), 20, |at, _| [1.0, f64::INFINITY][at]);
        assert_eq!(never, [10, 10], "who never has one leaves rounds to others");
    }

    #[test]
    fn the_same_calls_give_the_same_answers() {
        let run =
            || rounds(scheduler(0.3, &[(1.0, 1.0), (2.0, 3.0), (0.5, 2.0)]), 50, |at, n| (at + 1) as f64 / n as f64);
        assert_eq!(run(), run());
    }
}
