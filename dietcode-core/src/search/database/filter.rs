//! Which records to take.

use super::record::{Outcome, Record, Shape, Target};

/// What a record must have; the default is any record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kernel's name.
    pub kernel: Option<String>,
    /// The hash of the nest.
    pub source_hash: Option<String>,
    /// Some shape variables. Records without a shape have none.
    pub shape: Shape,
    /// The target.
    pub target: Option<TargetFilter>,
    /// Whether it has failed, and the kind of failure, as [`crate::measure::Failure::kind`] names it.
    pub failed: Option<Option<String>>,
    /// Seconds since 1970.
    pub since: Option<u64>,
    /// The run.
    pub run: Option<String>,
}

/// Which targets are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetFilter {
    /// This one.
    Exactly(Target),
    /// `cpu`, `cuda`, or a part of what describes it, in any case: `h200`, `sm_90`, `gcc`.
    Like(String),
}

impl Filter {
    /// The records of a kernel on a target.
    pub fn of(kernel: &str, source_hash: &str, target: &Target) -> Filter {
        Filter {
            kernel: Some(kernel.to_owned()),
            source_hash: Some(source_hash.to_owned()),
            target: Some(TargetFilter::Exactly(target.clone())),
            ..Filter::default()
        }
    }

    /// Whether a record has all that is asked for.
    pub fn matches(&self, record: &Record) -> bool {
        let workload = &record.workload;
        let shape = |(name, value)| workload.shape.as_ref().is_some_and(|shape: &Shape| shape.get(name) == Some(value));
        is(&self.kernel, &workload.kernel)
            && is(&self.source_hash, &workload.source_hash)
            && is(&self.run, &record.run)
            && self.shape.iter().all(shape)
            && self.target.as_ref().is_none_or(|target| target.matches(&record.target))
            && self.failed.as_ref().is_none_or(|kind| has_failed(record, kind.as_deref()))
            && self.since.is_none_or(|since| record.time >= since)
    }
}

fn is(asked: &Option<String>, found: &str) -> bool {
    asked.as_ref().is_none_or(|asked| asked == found)
}

fn has_failed(record: &Record, kind: Option<&str>) -> bool {
    matches!(&record.outcome, Outcome::Failed(failure) if kind.is_none_or(|kind| failure.kind() == kind))
}

impl TargetFilter {
    fn matches(&self, target: &Target) -> bool {
        let text = match self {
            TargetFilter::Exactly(asked) => return asked == target,
            TargetFilter::Like(text) => text.to_lowercase(),
        };
        let parts = match target {
            Target::Cpu { .. } if text == "cpu" => return true,
            Target::Cuda { .. } if text == "cuda" => return true,
            Target::Cpu { cpu, march, compiler } => vec![cpu, march, compiler],
            Target::Cuda { device, capability, driver, toolchain } => vec![device, capability, driver, toolchain],
        };
        parts.iter().any(|part| part.to_lowercase().contains(&text))
    }
}
