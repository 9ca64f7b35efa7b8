//! Which records are asked for, on the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dietcode::core::config::{Config, Shapes};
use dietcode::core::measure::Failure;
use dietcode::core::search::{Filter, Record, Shape, TargetFilter};
use dietcode::{Error, Result};

use crate::cli::setup::at_wkl;

/// What a record must have.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct FilterArguments {
    /// Only records of this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Only records of a target: cpu, cuda, or a part of what describes it, such as sm_90 or gcc.
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only records of these instances, by workload variables of the config beside the file (T=37, or T=37,71, or T=5..128) or by
    /// the kernel's shape variables (M=592,N=768); may be given more than once.
    #[arg(long, value_name = "VARS")]
    wkl: Vec<Shapes>,
    /// Only failures, all or of a kind: compile, crash, timeout, wrong and so on.
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "")]
    pub(super) failed: Option<String>,
    /// Only records that are at most so old: 90s, 30m, 12h or 7d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<u64>,
}

impl FilterArguments {
    /// Which instances of a file are asked for.
    pub(super) fn instances(&self, records: &Path) -> Instances<'_> {
        Instances::of(&self.wkl, records)
    }

    /// Whether instances are asked for by variables that there are.
    pub(super) fn check_variables(&self, known: &BTreeSet<String>) -> Result<()> {
        for shapes in &self.wkl {
            let Some(unknown) = shapes.vars().find(|name| !known.contains(*name)) else { continue };
            let known: Vec<String> = known.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let expected = "workload variables of the config beside the file or shape variables of the kernel";
            let found = format!("found the unknown variable `{unknown}`, expected {expected}: {known}");
            return Err(at_wkl(shapes, &Error::input(found)));
        }
        Ok(())
    }

    /// The filter but for instances, from now on.
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
            failed: self.failed.clone().map(|kind| Some(kind).filter(|kind| !kind.is_empty())),
            since: self.since.map(|age| now.saturating_sub(age)),
            ..Filter::default()
        })
    }
}

/// Which instances are asked for in a file.
pub(super) struct Instances<'a> {
    asked: &'a [Shapes],
    /// The shapes of those that are named by workload variables of the config beside the file.
    of_config: Vec<Shape>,
    /// The workload variables and shape variables of that config; none without one.
    pub(super) variables: Option<Vec<String>>,
}

impl<'a> Instances<'a> {
    fn of(asked: &'a [Shapes], records: &Path) -> Instances<'a> {
        let config = config_beside(records).filter(|_| !asked.is_empty());
        let Some(config) = config else { return Instances { asked, of_config: Vec::new(), variables: None } };
        let vars: Vec<String> = config.shape.iter().map(|(var, _)| var.clone()).collect();
        // Those that it has now, and those that it may have had when they were measured.
        let has = config.wkl_insts.iter().filter(|wkl| asked.iter().any(|shapes| shapes.contains(wkl))).cloned();
        let had = asked.iter().filter_map(|shapes| shapes.instances().ok()).flatten();
        let extents = has.chain(had).filter_map(|wkl| config.shape_of(&vars, &wkl).ok());
        let of_config = extents.map(|extents| vars.iter().cloned().zip(extents).collect()).collect();
        let of_wkl = config.wkl_insts.first().into_iter().flat_map(|wkl| wkl.keys());
        Instances { asked, of_config, variables: Some(of_wkl.chain(&vars).cloned().collect()) }
    }

    /// Whether a record is of one of them.
    pub(super) fn has(&self, record: &Record) -> bool {
        let is_asked =
            |shape: &Shape| self.asked.iter().any(|shapes| shapes.contains(shape)) || self.of_config.contains(shape);
        self.asked.is_empty() || record.workload.shape.as_ref().is_some_and(is_asked)
    }
}

/// `dense.json` for `dense.cpu.records.jsonl`, if it is there and can be read.
fn config_beside(records: &Path) -> Option<Config> {
    Config::read(config_path(records)?).ok()
}

/// `dense.json` for `dense.cpu.records.jsonl`.
pub(crate) fn config_path(records: &Path) -> Option<PathBuf> {
    let stem = records.file_name()?.to_str()?.strip_suffix(".records.jsonl")?.rsplit_once('.')?.0;
    Some(records.with_file_name(format!("{stem}.json")))
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
