//! How long a search may still go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::measure::Clock;

/// A time that ends by itself or by a wish from outside.
#[derive(Clone, Debug)]
pub struct Budget<'a> {
    clock: Clock,
    start: Duration,
    whole: Duration,
    stop: &'a AtomicBool,
    /// Which kernel's end it is for, of how many; none: it is for rounds alone.
    turn: Option<(usize, usize)>,
    /// Whether what is dispatched is judged at shapes that decided nothing, for which other parts of a kernel's turn end earlier.
    judges: bool,
}

/// What the time is for, in order. Each ends with what it has under way when its share is used up; what is left is for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rounds of all kernels.
    Rounds,
    /// The instances, for those that may be the best there.
    Finalists,
    /// A kernel's duels.
    Duels,
    /// Those of them without which what was found would go unused.
    DueDuels,
    /// Who was in them, at other shapes of the config's range.
    Range,
    /// What is dispatched, at shapes that decided nothing, and what follows from that.
    HeldOut,
    /// What was decided for beside the baselines.
    Comparison,
}

/// The rounds' share. Of eight lengths of a dense layer the finals take a sixth of two minutes on two cores, and the comparison
/// a fifth.
const ROUNDS: f64 = 0.6;

/// When the finalists of all kernels have been measured.
const FINALISTS: f64 = 0.68;

/// The last comparison begins before: it takes as long as it takes.
const END: f64 = 1.1;

impl Part {
    /// When the turns of the kernels begin and end, as a share of the whole, and where in a kernel's turn the part ends. Rounds have no
    /// turns.
    fn turns(self, judges: bool) -> Option<(f64, f64, f64)> {
        let of_finals = |own, judging| Some((FINALISTS, END, if judges { judging } else { own }));
        match self {
            Part::Rounds => None,
            Part::Finalists => Some((ROUNDS, FINALISTS, 1.0)),
            Part::Duels => of_finals(0.4, 0.3),
            Part::DueDuels => of_finals(0.6, 0.4),
            Part::Range => of_finals(0.7, 0.5),
            Part::HeldOut => of_finals(0.7, 0.8),
            Part::Comparison => of_finals(1.0, 1.0),
        }
    }
}

impl<'a> Budget<'a> {
    /// From now on, as a clock has it; `stop` ends it early.
    pub fn start(clock: Clock, seconds: f64, stop: &'a AtomicBool) -> Budget<'a> {
        let whole = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Budget { start: clock.now(), clock, whole, stop, turn: Some((0, 1)), judges: false }
    }

    /// How long it has lasted.
    pub fn elapsed(&self) -> Duration {
        self.clock.now().saturating_sub(self.start)
    }

    /// It is for the end of one of several kernels from now on, which come to theirs one after the other.
    pub(super) fn begin_end(&mut self, kernel: usize, of: usize) {
        self.turn = self.turn.map(|_| (kernel, of));
    }

    /// The same for rounds alone: they have all of it, and what follows takes as long as it takes.
    #[must_use]
    pub fn for_rounds(self) -> Budget<'a> {
        Budget { turn: None, ..self }
    }

    /// The same with time for [`Part::HeldOut`], or without.
    #[must_use]
    pub fn judging(self, judges: bool) -> Budget<'a> {
        Budget { judges, ..self }
    }

    /// Whether the time for a part is used up.
    pub fn is_over(&self, part: Part) -> bool {
        self.is_stopped() || self.elapsed() >= self.end(part)
    }

    /// When that is, from the beginning.
    fn end(&self, part: Part) -> Duration {
        let share = match (part.turns(self.judges), self.turn) {
            (None, None) => 1.0,
            (None, Some(_)) => ROUNDS,
            (Some(_), None) => f64::INFINITY,
            (Some((begin, end, own)), Some((kernel, of))) => begin + (end - begin) * (kernel as f64 + own) / of as f64,
        };
        Duration::try_from_secs_f64(self.whole.as_secs_f64() * share).unwrap_or(Duration::MAX)
    }

    /// Whether it was ended from outside.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_in_their_order_and_the_last_of_several_kernels_a_tenth_after_the_whole() {
        let (clock, stop) = (Clock::simulated(), AtomicBool::new(false));
        let budget = Budget::start(clock.clone(), 100.0, &stop);
        let [first, second] = [0, 1].map(|kernel| {
            let mut budget = budget.clone();
            budget.begin_end(kernel, 2);
            budget
        });
        let parts = [Part::Rounds, Part::Finalists, Part::Duels, Part::DueDuels, Part::Comparison];
        let mut over = Vec::new();
        for second_of in 0..=110 {
            let ended = [&first, &second].map(|budget| parts.map(|part| budget.is_over(part)));
            if over.last().is_none_or(|(_, last)| *last != ended) {
                over.push((second_of, ended));
            }
            clock.advance(1.0);
        }
        let ends: Vec<i32> = over.iter().map(|(second, _)| *second).collect();
        assert_eq!(ends, [0, 60, 64, 68, 77, 81, 89, 98, 102, 110], "{over:?}");
        let judging = second.clone().judging(true);
        let end = |of: &Budget<'_>, part| (10.0 * of.end(part).as_secs_f64()).round() as i64;
        let finals = [Part::DueDuels, Part::Range, Part::HeldOut, Part::Comparison];
        let ends = finals.map(|part| (end(&second, part), end(&judging, part)));
        assert_eq!(ends, [(1016, 974), (1037, 995), (1037, 1058), (1100, 1100)]);
        let rounds = Budget::start(clock.clone(), 100.0, &stop).for_rounds();
        assert_eq!(parts.map(|part| rounds.is_over(part)), [false; 5]);
        clock.advance(100.0);
        assert_eq!(parts.map(|part| rounds.is_over(part)), [true, false, false, false, false]);
        stop.store(true, Ordering::Relaxed);
        assert!(Budget::start(clock, 1.0, &stop).is_over(Part::Rounds));
    }
}
