//! From a line to a record. Lines of earlier formats, whose schedules were parameters of families, are none.

use std::sync::Arc;

use super::record::{FORMAT, Record};
use crate::schedule::Instruction;

/// So many sketches are shared between records; a search has two dozen.
const SHARED: usize = 64;

/// Reads lines; records of one sketch share its instructions.
#[derive(Debug, Default)]
pub(super) struct Parser {
    sketches: Vec<Arc<[Instruction]>>,
}

impl Parser {
    /// None if the line is no record of this format. A name is compared with the trace from which it follows: by names, records are
    /// compared, replayed and never tried again.
    pub(super) fn record(&mut self, line: &[u8]) -> Option<Record> {
        let is_named = |record: &Record| record.name == record.schedule.name() && record.schedule.check_name().is_ok();
        let is_whole = |record: &Record| record.format == FORMAT && is_named(record) && record.is_possible();
        let mut record = serde_json::from_slice::<Record>(line).ok().filter(is_whole)?;
        self.share(&mut record.schedule.trace.instructions);
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
