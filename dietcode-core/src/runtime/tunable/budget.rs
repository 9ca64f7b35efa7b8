//! How much of a program exploring may take.

use std::fmt;
use std::time::Duration;

/// How much of a program's work may go to exploring: trying candidates on operands of their own while calls run what is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// For each hundred calls so many calls of candidates: above 0, up to 100. It is never exceeded.
    Percent(f64),
    /// For each second so much time: above 0, up to a second. A step that takes longer than is left, which can be known only behind it, is paid
    /// back before the next.
    TimePerSecond(Duration),
}

/// What a step takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) calls: u64,
    pub(super) time: Duration,
}

/// What is left of a budget.
pub(super) struct Account {
    budget: Budget,
    /// In calls, or in seconds.
    left: f64,
    /// When the last of it was earned.
    earned: Option<Duration>,
}

/// The most calls of candidates that are saved up: a step takes up to 4000.
const MOST_CALLS: f64 = 8000.0;

impl Budget {
    /// Whether it is within the bounds above.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            Budget::Percent(percent) => *percent >= 1e-4 && *percent <= 100.0,
            Budget::TimePerSecond(time) => (Duration::from_micros(1)..=Duration::from_secs(1)).contains(time),
        }
    }

    /// Reads `2%` or `5ms`.
    pub(super) fn parse(text: &str) -> Option<Budget> {
        let text = text.trim();
        let number = |unit: &str| text.strip_suffix(unit)?.trim().parse::<f64>().ok();
        let budget = match number("%") {
            Some(percent) => Budget::Percent(percent),
            None => Budget::TimePerSecond(Duration::try_from_secs_f64(number("ms")? / 1000.0).ok()?),
        };
        budget.is_valid().then_some(budget)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Percent(percent) => write!(f, "{percent}% of the calls"),
            Budget::TimePerSecond(time) => write!(f, "{time:?} a second"),
        }
    }
}

impl Account {
    pub(super) fn new(budget: Budget) -> Account {
        Account { budget, left: 0.0, earned: None }
    }

    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    /// So many calls were made until now.
    pub(super) fn earn(&mut self, calls: u64, now: Duration) {
        let earned = self.earned.replace(now).map_or(Duration::ZERO, |before| now.saturating_sub(before));
        let (earned, most) = match self.budget {
            Budget::Percent(percent) => (calls as f64 * percent / 100.0, MOST_CALLS),
            Budget::TimePerSecond(time) => (earned.as_secs_f64() * time.as_secs_f64(), time.as_secs_f64()),
        };
        self.left = (self.left + earned).min(most);
    }

    /// Whether a step may be made of which this is expected.
    pub(super) fn allows(&self, cost: Cost) -> bool {
        match self.budget {
            Budget::Percent(_) => self.left >= cost.calls as f64,
            // One that takes more than a second's is waited for no longer.
            Budget::TimePerSecond(time) => self.left >= cost.time.min(time).as_secs_f64() && self.left > 0.0,
        }
    }

    /// What a step has taken.
    pub(super) fn spend(&mut self, cost: Cost) {
        self.left -= match self.budget {
            Budget::Percent(_) => cost.calls as f64,
            Budget::TimePerSecond(_) => cost.time.as_secs_f64(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_as_they_are_written_and_others_refused() {
        assert_eq!(Budget::parse("2%"), Some(Budget::Percent(2.0)));
        assert_eq!(Budget::parse(" 0.5 % "), Some(Budget::Percent(0.5)));
        assert_eq!(Budget::parse("5ms"), Some(Budget::TimePerSecond(Duration::from_millis(5))));
        for wrong in ["", "2", "0%", "101%", "-1%", "NaN%", "inf%", "0ms", "1001ms", "1e300ms", "-1ms", "NaNms", "5 s"]
        {
            assert_eq!(Budget::parse(wrong), None, "{wrong}");
        }
    }
}
