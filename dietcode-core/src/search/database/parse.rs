//! From a line to a record, in any format that there was.
//!
//! | format | schedule                                                      | trial, run, seed |
//! |--------|---------------------------------------------------------------|------------------|
//! | 1      | parameters without a family: of the CPU's, or of the GPU's     | not there        |
//! | 2      | `"family"` and its parameters, or a trace                      | there            |

use std::sync::Arc;

use serde::Deserialize;

use super::record::{FORMAT, Outcome, Record, Target, Workload};
use crate::measure::{Failure, Summary};
use crate::schedule::Instruction;
use crate::sketch::{Blocked, MicroKernel, Tiled};

/// So many sketches are shared between records; a search has two dozen.
const SHARED: usize = 64;

/// Reads lines; records of one sketch share its instructions.
#[derive(Debug, Default)]
pub(super) struct Parser {
    sketches: Vec<Arc<[Instruction]>>,
}

impl Parser {
    /// None if the line is no record of any format.
    pub(super) fn record(&mut self, line: &[u8]) -> Option<Record> {
        let mut record = match serde_json::from_slice::<Record>(line) {
            Ok(record) if record.format == FORMAT => record,
            _ => serde_json::from_slice::<FormatOne>(line).ok().filter(|old| old.format == 1)?.record()?,
        };
        if let MicroKernel::Traced(traced) = &mut record.schedule {
            self.share(&mut traced.trace.instructions);
        }
        Some(record)
    }

    fn share(&mut self, instructions: &mut Arc<[Instruction]>) {
        match self.sketches.iter().find(|known| *known == instructions) {
            Some(known) => *instructions = known.clone(),
            None if self.sketches.len() < SHARED => self.sketches.push(instructions.clone()),
            None => {}
        }
    }
}

#[derive(Deserialize)]
struct FormatOne {
    format: u32,
    workload: Workload,
    target: Target,
    name: String,
    schedule: serde_json::Value,
    outcome: OutcomeOne,
    time: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeOne {
    /// On a GPU also seconds, which the throughput tells as well.
    Measured {
        #[serde(default)]
        threads: usize,
        gflops: Summary,
        rel_err: f64,
        #[serde(default)]
        cold: bool,
    },
    Failed(Failure),
}

impl FormatOne {
    /// None if the schedule is none of the target's family.
    fn record(self) -> Option<Record> {
        let outcome = match self.outcome {
            OutcomeOne::Measured { threads, gflops, rel_err, cold } => {
                Outcome::Measured { threads, gflops, rel_err, cold }
            }
            OutcomeOne::Failed(failure) => Outcome::Failed(failure),
        };
        let schedule = match self.target {
            Target::Cpu { .. } => serde_json::from_value::<Tiled>(self.schedule).ok()?.into(),
            Target::Cuda { .. } => serde_json::from_value::<Blocked>(self.schedule).ok()?.into(),
        };
        let record = Record::new(self.workload, self.target, schedule, outcome);
        Some(Record { format: self.format, name: self.name, time: self.time, ..record })
    }
}
