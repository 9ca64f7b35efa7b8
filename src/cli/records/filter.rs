//! Which records are asked for, on the command line.

use std::time::{SystemTime, UNIX_EPOCH};

use dietcode::core::measure::Failure;
use dietcode::core::search::{Filter, Shape, TargetFilter};
use dietcode::{Error, Result};

/// What a record must have.
#[derive(Debug, clap::Args)]
pub(crate) struct FilterArguments {
    /// Only records of this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Only records of a target: cpu, cuda, or a part of what describes it, such as sm_90 or gcc.
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only records with these shape variables, such as M=64 or M=64,N=768.
    #[arg(long, value_name = "VARS", value_delimiter = ',', value_parser = shape_variable)]
    wkl: Vec<(String, i64)>,
    /// Only failures, all or of a kind: compile, crash, timeout, wrong and so on.
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "")]
    pub(super) failed: Option<String>,
    /// Only records that are at most so old: 90s, 30m, 12h or 7d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<u64>,
}

impl FilterArguments {
    /// The filter, from now on.
    pub(super) fn filter(&self) -> Result<Filter> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if let Some(kind) = self.failed.as_ref().filter(|kind| !kind.is_empty() && !Failure::KINDS.contains(&&***kind))
        {
            let kinds = Failure::KINDS.join(", ");
            return Err(Error::input(format!("--failed: found `{kind}`, expected one of {kinds}")));
        }
        Ok(Filter {
            kernel: self.kernel.clone(),
            target: self.target.clone().map(TargetFilter::Like),
            shape: self.wkl.iter().cloned().collect::<Shape>(),
            failed: self.failed.clone().map(|kind| Some(kind).filter(|kind| !kind.is_empty())),
            since: self.since.map(|age| now.saturating_sub(age)),
            ..Filter::default()
        })
    }
}

fn shape_variable(text: &str) -> Result<(String, i64), String> {
    let pair =
        text.split_once('=').and_then(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?)));
    pair.ok_or_else(|| "expected a shape variable and its value, such as M=64".to_owned())
}

/// Seconds.
fn age(text: &str) -> Result<u64, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let count: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        count.checked_mul(*seconds)
    });
    parsed.ok_or_else(|| "expected an age, such as 90s, 30m, 12h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_seconds() {
        assert_eq!([age("90s"), age("2m"), age("1h"), age("7d")], [Ok(90), Ok(120), Ok(3600), Ok(604_800)]);
        assert!(
            ["", "5", "h", "-1h", "1w", "99999999999999999999d", "999999999999999999d"].iter().all(|t| age(t).is_err())
        );
    }
}
