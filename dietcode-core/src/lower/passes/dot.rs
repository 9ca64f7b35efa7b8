//! Instructions of a CPU that take several steps of a sum in each lane of a vector.
//!
//! It stands after the copies became what they stay, so that what is left of the loops over steps are the sums, and before
//! vectorization, which takes the loop over lanes as it is made here.
//!
//! ```text
//! unrolled i_t, j_2                                                     unrolled i_t, j_2
//!   vectorized j_v in 0..16                                               vectorized j_v in 0..16
//!     for k_p in 0..2                                             →         tile[i_t][j_2][j_v] += vdpbf16ps w_panel[…][j_v][0] · x_view[…][0]
//!       tile[i_t][j_2][j_v] += x_view[…][k_p] · w_panel[…][j_v][k_p]
//! ```

use std::sync::Arc;

use crate::ir::{BinaryOp, Buffer, Dot, DotRow, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::lower::lanes::is_contiguous;
use crate::schedule::Schedule;
use crate::{Error, Result};

/// Replaces the innermost loops of every sum.
///
/// # Errors
/// A sum that keeps a predicate, or operands whose elements do not lie as the instruction takes them.
pub(super) fn dot(body: Stmt, schedule: &Schedule, dot: Dot) -> Result<Stmt> {
    let refused = |why: String| Error::input(format!("schedule of `{}`: tensorize: {why}", schedule.block.name));
    let [.., lane, step] = &schedule.loops[..] else { return Ok(body) };
    let sums = Sums { schedule, dot, row: dot.row(), lane: &lane.name, step: &step.name };
    let (mut found, mut refusals) = (false, Vec::new());
    let body = body.map(&mut |stmt| match sums.replaced(&stmt) {
        None => stmt,
        Some(Ok(replaced)) => {
            found = true;
            replaced
        }
        Some(Err(why)) => {
            refusals.push(why);
            stmt
        }
    });
    match refusals.into_iter().next() {
        Some(why) => Err(refused(why)),
        None if found => Ok(body),
        None => Err(refused("there is no sum that stands alone: decompose the reduction".into())),
    }
}

struct Sums<'a> {
    schedule: &'a Schedule,
    dot: Dot,
    row: &'static DotRow,
    lane: &'a Name,
    step: &'a Name,
}

impl Sums<'_> {
    /// What becomes of a loop over lanes that holds a sum.
    fn replaced(&self, stmt: &Stmt) -> Option<Result<Stmt, String>> {
        let Stmt::For { var, extent, kind: ForKind::Vectorized, body } = stmt else { return None };
        let Stmt::For { var: step, body, .. } = &**body else { return None };
        let (Stmt::Store { buffer, index, value }, guard) = body.guarded() else { return None };
        if var != self.lane || step != self.step || buffer.scope != Scope::Local {
            return None;
        }
        let instruction = match guard {
            Some(guard) => Err(format!("a predicate stays in the sum, `{guard}`: stage what it reads")),
            None => self.instruction(buffer, index, value),
        };
        let lanes = |dot| Stmt::for_(var.clone(), extent.clone(), ForKind::Vectorized, Stmt::Intrinsic(dot));
        Some(instruction.map(lanes))
    }

    fn instruction(&self, to: &Arc<Buffer>, to_index: &[Expr], value: &Expr) -> Result<Intrinsic, String> {
        let Expr::Binary(BinaryOp::Add, sum, product) = value else { return Err("the update is no sum".into()) };
        let (Expr::Load(summed, at), Expr::Binary(BinaryOp::Mul, a, b)) = (&**sum, &**product) else {
            return Err("the update is not the product of two operands".into());
        };
        if summed != to || at != to_index {
            return Err("the update does not add to the tile".into());
        }
        let (a, b) = if a.uses(self.lane) { (a, b) } else { (b, a) };
        let (a, a_index) = self.of_lanes(a)?;
        let b = Some(self.of_all(b)?);
        Ok(Intrinsic::Dot { dot: self.dot, to: to.clone(), to_index: to_index.to_vec(), a, a_index, b })
    }

    /// The operand that moves with the lanes.
    fn of_lanes(&self, e: &Expr) -> Result<(Arc<Buffer>, Vec<Expr>), String> {
        let (buffer, index) = operand(e)?;
        let lies = match index {
            [outer @ .., lane, step] => {
                is(lane, self.lane)
                    && is(step, self.step)
                    && !outer.iter().any(|e| e.uses(self.lane) || e.uses(self.step))
            }
            _ => false,
        };
        let rows: Vec<Option<i64>> = buffer.shape.iter().rev().take(2).map(Expr::as_int).collect();
        let holds =
            matches!(rows[..], [Some(steps), Some(lanes)] if steps == self.row.steps && lanes >= self.row.lanes);
        if buffer.scope != Scope::Panel || !lies || !holds {
            let (name, steps) = (self.row.name, self.row.steps);
            let tensor = self.tensor(buffer);
            return Err(format!("`{tensor}` moves with the lanes, of which {name} takes {steps} steps each: pack it"));
        }
        Ok((buffer.clone(), self.first(index)))
    }

    /// The one that is the same in all lanes.
    fn of_all(&self, e: &Expr) -> Result<(Arc<Buffer>, Vec<Expr>), String> {
        let (buffer, index) = operand(e)?;
        // A view lies as the tensor does.
        let viewed =
            self.schedule.cache_reads.iter().find(|read| buffer.scope == Scope::View && read.name == buffer.name);
        let in_tensor = viewed.is_none_or(|read| {
            is_contiguous(&read.index.iter().map(|e| self.schedule.unsplit(e)).collect::<Vec<Expr>>(), self.step)
        });
        if !is_contiguous(index, self.step) || !in_tensor || index.iter().any(|e| e.uses(self.lane)) {
            let (name, tensor, step) = (self.row.name, self.tensor(buffer), self.step);
            return Err(format!(
                "neighbours of `{tensor}` along `{step}`, which {name} takes at once, do not lie next to each other: pack it"
            ));
        }
        Ok((buffer.clone(), self.first(index)))
    }

    /// An index at the first step.
    fn first(&self, index: &[Expr]) -> Vec<Expr> {
        index.iter().map(|e| e.substitute(self.step, &Expr::Int(0))).collect()
    }

    /// The tensor that a buffer is a copy of.
    fn tensor(&self, buffer: &Buffer) -> Name {
        let read = self.schedule.cache_reads.iter().find(|read| read.name == buffer.name);
        read.map_or_else(|| buffer.name.clone(), |read| read.buffer.clone())
    }
}

fn operand(e: &Expr) -> Result<(&Arc<Buffer>, &[Expr]), String> {
    match e {
        Expr::Load(buffer, index) => Ok((buffer, index)),
        e => Err(format!("`{e}` is no element of a tensor")),
    }
}

fn is(e: &Expr, name: &Name) -> bool {
    matches!(e, Expr::Var(var) if var == name)
}
