//! The passes of lowering, in the order of [`run`]: one pass, one file, one function.

mod complete;
mod unit_loops;
mod local_padding;
mod vector_copy;
mod tensorize;
mod dot;
mod shifted;
mod pipeline;
mod fragments;
mod double_buffer;
mod transpose;
mod partition;
mod vectorize;
mod registers;
mod storage;

pub(crate) use local_padding::{can_be_padded, is_padded_by, may_go};
pub(crate) use registers::MOST_VECTORS;
pub(super) use storage::storage;

use super::{Inside, Observer, checked, guard, nest};
use crate::Result;
use crate::ir::Stmt;
use crate::schedule::Schedule;

/// The passes, in their order.
pub(super) fn run(schedule: &Schedule, observe: Observer<'_>) -> Result<Stmt> {
    complete::check(schedule)?;
    let schedule = &unit_loops::drop_unit_loops(schedule);
    let mut pass = |name: &'static str, body: Stmt| pass(schedule, observe, name, body);
    let body = pass("nest", nest::build(schedule)?)?;
    let body = pass("local_padding", local_padding::local_padding(body, schedule))?;
    let body = if schedule.is_gpu() {
        let body = pass("vector_copy", vector_copy::vector_copy(body))?;
        let body = pass("tensorize", tensorize::tensorize(body, schedule)?)?;
        pass("pipeline", pipeline::pipeline(body, schedule)?)?
    } else {
        let body = pass("double_buffer", double_buffer::double_buffer(body, schedule)?)?;
        let body = pass("transpose", transpose::transpose(body))?;
        // Code with parameters is only screened, at shapes that have few edges: what they take there counts less than what the compiler takes.
        let is_screened = !schedule.parameters.is_empty();
        let body = pass("partition", partition::partition(body, is_screened))?;
        let body = match schedule.dot {
            Some(dot) => {
                let body = pass("dot", dot::dot(body, schedule, dot)?)?;
                pass("shifted", shifted::shifted(body, schedule))?
            }
            None => body,
        };
        pass("vectorize", vectorize::vectorize(body))?
    };
    pass("registers", registers::registers(body, schedule.is_gpu()))
}

/// When tiles lie inside, if those have a body of their own in what the passes make.
pub(super) fn inside(schedule: &Schedule) -> Result<Option<Inside>> {
    if schedule.partitions.is_empty() {
        return Ok(None);
    }
    let schedule = unit_loops::drop_unit_loops(schedule);
    Inside::of(&schedule, &guard::of(&schedule))
}

/// The pass whose result is checked in release builds too. It is the last one: what a wrong schedule or an earlier pass made wrong is
/// still in its result, while checks after every pass take as long as the passes.
const LAST_CHECKED: &str = "registers";

/// What a pass made, shown and checked.
fn pass(schedule: &Schedule, observe: Observer<'_>, name: &'static str, body: Stmt) -> Result<Stmt> {
    observe(name, &body);
    if cfg!(debug_assertions) || name == LAST_CHECKED { checked(schedule, name, body) } else { Ok(body) }
}
