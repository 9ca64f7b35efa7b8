//! Matrix instructions: the innermost products of a warp become one operation.
//!
//! It stands after local padding, which leaves a plain sum in the innermost loop, and before the pipeline, which moves
//! whole steps.
//!
//! ```text
//! for k_1 in 0..2                                                         for k_1 in 0..2
//!   unrolled i_m, j_n                                                       unrolled i_m: x_fragment[i_m] = load A x_shared[…]
//!     unrolled i_h in 0..2, j_p in 0..2                              →      unrolled j_n: w_fragment[j_n] = load B w_shared[…]
//!       for k_e in 0..16                                                    unrolled i_m, j_n
//!         tile[i_m][j_n][i_h][j_p] += x_shared[…] · w_shared[…]               tile[i_m][j_n] += mma x_fragment[i_m] · w_fragment[j_n]
//! ```
//!
//! Elements of f32 are rounded to tf32: once each, while shared memory is filled through registers, or in the fragments where copies
//! are asynchronous. A pass over what has arrived would round less often, but move it two times more, and shared memory is what such
//! a loop is closest to be limited by: of 128 × 128 by 4 warps, 3 tiles' bytes become 5, in the time of 4 at the matrix unit's speed.
//!
//! In three instructions for one, both fragments are there in two parts, and the small products come first:
//!
//! ```text
//! unrolled i_m: x_fragment[0 and 1][i_m] = load A x_shared[…], as two parts of tf32
//! unrolled i_m, j_n: tile[i_m][j_n] += mma x_fragment[1][i_m] · w_fragment[0][j_n]            low · high
//! unrolled i_m, j_n: tile[i_m][j_n] += mma x_fragment[0][i_m] · w_fragment[1][j_n]            high · low
//! unrolled i_m, j_n: tile[i_m][j_n] += mma x_fragment[0][i_m] · w_fragment[0][j_n]            high · high
//! ```
//!
//! How the elements of an instruction lie in a warp's registers: [`crate::schedule::Schedule::tensorize`] and PTX ISA,
//! "Matrix fragments for mma.m16n8k16".

use std::ops::{Div, Mul};
use std::sync::Arc;

use super::vector_copy;
use crate::ir::{BinaryOp, Buffer, DType, Expr, ForKind, Intrinsic, Name, Operand, Parts, Scope, Stmt, affine};
use crate::schedule::{MatrixUnit, Pipeline, Schedule};
use crate::{Error, Result};

/// Columns of an instruction; half its rows.
const COLUMNS: i64 = 8;

/// Replaces the innermost loops, if the schedule asks for it.
///
/// # Errors
/// The update is not a product of two operands in shared memory, of which one moves along the rows of the instruction and
/// one along its columns.
pub(super) fn tensorize(body: Stmt, schedule: &Schedule) -> Result<Stmt> {
    let Some(unit) = schedule.matrix_unit else { return Ok(body) };
    let names: Vec<Name> = schedule.loop_names();
    let [.., row, column, step] = names.as_slice() else { return Ok(body) };
    let lanes = lanes(schedule).map_err(|why| refused(schedule, &why))?;
    let mut outcome = Err("there is no sum to replace".to_owned());
    let body = body.map(&mut |stmt| match &stmt {
        Stmt::For { extent, .. } if contains_chain(&stmt, &[row, column, step]) && extent.as_int().is_some() => {
            match Match::of(&stmt, unit, [row, column, step], &lanes, schedule) {
                Ok(Some(found)) => {
                    outcome = Ok([&found.a, &found.b].map(|access| access.buffer.clone()));
                    found.rewritten(schedule)
                }
                Ok(None) => stmt,
                Err(why) => {
                    outcome = Err(why);
                    stmt
                }
            }
        }
        _ => stmt,
    });
    let tiles = outcome.map_err(|why| refused(schedule, &why))?;
    let through_registers = !matches!(schedule.pipeline, Some(Pipeline::Async(_)));
    let rounded = tiles.iter().filter(|_| unit == MatrixUnit::Tf32 && through_registers);
    Ok(rounded.fold(body, rounded_while_filled))
}

/// Rounds the elements of a tile where it is filled, in place of where fragments are loaded from it; where all of them are copied.
fn rounded_while_filled(body: Stmt, tile: &Arc<Buffer>) -> Stmt {
    let mut all = true;
    let rounded = body.clone().map(&mut |stmt| {
        let stmt = match &stmt {
            Stmt::Store { buffer, .. } if buffer == tile => vector_copy::single(&stmt).unwrap_or_else(|| {
                all = false;
                stmt
            }),
            _ => stmt,
        };
        let Stmt::Intrinsic(mut intrinsic) = stmt else { return stmt };
        match &mut intrinsic {
            Intrinsic::Copy { to, tf32, .. } if to == tile => *tf32 = true,
            Intrinsic::LoadMatrix { from, parts, .. } if from == tile => *parts = Parts::Whole,
            _ => {}
        }
        Stmt::Intrinsic(intrinsic)
    });
    if all { rounded } else { body }
}

fn refused(schedule: &Schedule, why: &str) -> Error {
    Error::input(format!("schedule of `{}`: tensorize: {why}", schedule.block.name))
}

/// The variables that number the threads of a warp, 8 along the rows and 4 along the columns: they are 0 at an
/// instruction's corner. They are the last two that the loop over threads was fused of.
fn lanes(schedule: &Schedule) -> Result<[Name; 2], String> {
    let parts = schedule.thread_parts();
    let [.., row, column] = parts.as_slice() else {
        return Err(
            "the loop over threads is not fused of the 8 lanes along the rows and the 4 along the columns".into()
        );
    };
    let extents = [row, column].map(|lane| schedule.fused_limit(lane).unwrap_or(0));
    if extents != [8, 4] {
        let [rows, columns] = extents;
        return Err(format!("`{row}` and `{column}` number {rows} and {columns} lanes; an instruction has 8 and 4"));
    }
    Ok([row.clone(), column.clone()])
}

/// Whether a statement is the loops around the chain of these and nothing else: spatial loops between a summing one and them.
fn contains_chain(stmt: &Stmt, innermost: &[&Name; 3]) -> bool {
    let mut inner = stmt;
    let mut names = Vec::new();
    while let Stmt::For { var, body, .. } = inner {
        names.push(var);
        inner = body;
    }
    names.len() > 3 && names[names.len() - 3..] == innermost[..] && matches!(inner, Stmt::Store { .. })
}

/// A matched sum.
struct Match {
    unit: MatrixUnit,
    /// The loop over the instruction's steps, if there is one.
    steps: Option<(Name, Expr, ForKind)>,
    /// The spatial loops over instructions.
    tiles: Vec<(Name, i64)>,
    tile: Arc<Buffer>,
    tile_index: Vec<Expr>,
    a: Access,
    b: Access,
}

/// An operand in shared memory.
struct Access {
    buffer: Arc<Buffer>,
    /// Index of the corner.
    corner: Vec<Expr>,
    reduce_stride: i64,
    spatial_stride: i64,
}

impl Match {
    fn of(
        stmt: &Stmt,
        unit: MatrixUnit,
        [row, column, step]: [&Name; 3],
        lanes: &[Name; 2],
        schedule: &Schedule,
    ) -> Result<Option<Match>, String> {
        let mut loops = Vec::new();
        let mut inner = stmt;
        while let Stmt::For { var, extent, kind, body } = inner {
            loops.push((var.clone(), extent.clone(), *kind));
            inner = body;
        }
        let Stmt::Store { buffer: tile, index, value } = inner else { return Ok(None) };
        loops.truncate(loops.len() - 3);
        let is_tile = |(name, ..): &(Name, Expr, ForKind)| index.iter().any(|e| e.uses(name));
        let (tiles, steps): (Vec<_>, Vec<_>) = loops.into_iter().partition(is_tile);
        // The outermost loop of the chain may be the one over steps; the match is made there, around all tiles.
        if steps.len() > 1 {
            return Ok(None);
        }
        let wanted = schedule.loops.iter().filter(|l| tile_loop(&l.name, index)).count();
        if tiles.len() + 2 != wanted {
            return Ok(None);
        }
        let Expr::Binary(BinaryOp::Add, sum, product) = value else { return Err("the update is no sum".into()) };
        let (Expr::Load(summed, at), Expr::Binary(BinaryOp::Mul, a, b)) = (&**sum, &**product) else {
            return Err("the update is not the product of two operands".into());
        };
        if summed != tile || at != index {
            return Err("the update does not add to the tile".into());
        }
        let corner = Corner { row, column, step, lanes };
        let [x, y] = [a, b].map(|e| corner.access(e));
        let (x, y) = (x?, y?);
        let (a, b) = match (x.1, y.1) {
            (Operand::A, Operand::B) => (x.0, y.0),
            (Operand::B, Operand::A) => (y.0, x.0),
            _ => return Err("one operand must move along the rows of the instruction, one along its columns".into()),
        };
        if !unit.takes(a.buffer.dtype, tile.dtype) || a.buffer.dtype != b.buffer.dtype {
            let (a, b) = (a.buffer.dtype, b.buffer.dtype);
            return Err(format!("{unit:?} does not multiply {a} and {b}"));
        }
        let tile_index = index.iter().map(|e| corner.zero(e)).collect();
        let constant = |(name, extent, _): (Name, Expr, ForKind)| Some((name, extent.as_int()?));
        let tiles = tiles.into_iter().map(constant).collect::<Option<Vec<_>>>().ok_or("a tile is no constant")?;
        Ok(Some(Match { unit, steps: steps.into_iter().next(), tiles, tile: tile.clone(), tile_index, a, b }))
    }

    /// The loads and the instructions.
    fn rewritten(self, schedule: &Schedule) -> Stmt {
        let (parts, products): (Parts, &[[i64; 2]]) = match self.unit {
            MatrixUnit::Half => (Parts::Whole, &[[0, 0]]),
            MatrixUnit::Tf32 => (Parts::High, &[[0, 0]]),
            MatrixUnit::Tf32x3 => (Parts::HighAndLow, &[[1, 0], [0, 1], [0, 0]]),
        };
        let [a, b] = [(&self.a, Operand::A, 4), (&self.b, Operand::B, 2)].map(|(access, operand, registers)| {
            let own = self.tiles.iter().filter(|(name, _)| access.corner.iter().any(|e| e.uses(name)));
            let own: Vec<(Name, i64)> = own.cloned().collect();
            let name = schedule.fresh_name(&format!("{}_fragment", access.buffer.name));
            let both = (parts == Parts::HighAndLow).then_some(2);
            let shape = both
                .into_iter()
                .chain(own.iter().map(|(_, extent)| *extent))
                .chain([registers])
                .map(Expr::Int)
                .collect();
            let buffer = Buffer { name, dtype: access.buffer.dtype, shape, scope: Scope::Fragment, swizzle: 0 };
            (Arc::new(buffer), own, operand, access)
        });
        let products = products.iter().map(|[part_a, part_b]| {
            let mma = Stmt::Intrinsic(Intrinsic::Mma {
                to: self.tile.clone(),
                to_index: self.tile_index.clone(),
                a: a.0.clone(),
                a_index: first_register(parts, *part_a, &a.1),
                b: b.0.clone(),
                b_index: first_register(parts, *part_b, &b.1),
            });
            unrolled(&self.tiles, mma)
        });
        let loads = [&a, &b].map(|(buffer, own, operand, access)| load(buffer, own, *operand, access, parts));
        let body = Stmt::seq(loads.into_iter().chain(products));
        let body =
            [a.0, b.0].into_iter().rev().fold(body, |body, buffer| Stmt::Allocate { buffer, body: Box::new(body) });
        match self.steps {
            Some((var, extent, kind)) => Stmt::for_(var, extent, kind, body),
            None => body,
        }
    }
}

/// Loads all fragments of an operand; of B two at a time, where their number is even and the second holds the columns
/// that follow the first one's.
fn load(buffer: &Arc<Buffer>, own: &[(Name, i64)], operand: Operand, access: &Access, parts: Parts) -> Stmt {
    let follows = |name: &Name| stride(&access.buffer, &access.corner, name) == Ok(COLUMNS * access.spatial_stride);
    let pairs = operand == Operand::B && own.last().is_some_and(|(name, extent)| extent % 2 == 0 && follows(name));
    let fragments = if pairs { 2 } else { 1 };
    let mut loops = own.to_vec();
    let mut index = first_register(parts, 0, own);
    let mut corner = access.corner.clone();
    if let Some((name, extent)) = loops.last_mut().filter(|_| pairs) {
        *extent /= 2;
        let doubled = Expr::Var(name.clone()).mul(Expr::Int(2));
        index = index.iter().map(|e| e.substitute(name, &doubled)).collect();
        corner = corner.iter().map(|e| e.substitute(name, &doubled)).collect();
    }
    let load = Stmt::Intrinsic(Intrinsic::LoadMatrix {
        to: buffer.clone(),
        to_index: index,
        from: access.buffer.clone(),
        from_index: corner,
        operand,
        reduce_stride: access.reduce_stride,
        spatial_stride: access.spatial_stride,
        fragments,
        parts,
    });
    unrolled(&loops, load)
}

/// Where a part of a fragment begins, which the loops over fragments number.
fn first_register(parts: Parts, part: i64, own: &[(Name, i64)]) -> Vec<Expr> {
    let part = (parts == Parts::HighAndLow).then_some(Expr::Int(part));
    part.into_iter().chain(own.iter().map(|(name, _)| Expr::Var(name.clone()))).chain([Expr::Int(0)]).collect()
}

fn unrolled(loops: &[(Name, i64)], leaf: Stmt) -> Stmt {
    let open =
        |body, (name, extent): &(Name, i64)| Stmt::for_(name.clone(), Expr::Int(*extent), ForKind::Unrolled, body);
    loops.iter().rev().fold(leaf, open)
}

fn tile_loop(name: &Name, index: &[Expr]) -> bool {
    index.iter().any(|e| e.uses(name))
}

/// The corner of an instruction: row, column, step and lane are 0.
struct Corner<'a> {
    row: &'a Name,
    column: &'a Name,
    step: &'a Name,
    /// Those along the rows, those along the columns.
    lanes: &'a [Name; 2],
}

impl Corner<'_> {
    fn zero(&self, e: &Expr) -> Expr {
        let inner = [self.row, self.column, self.step].into_iter().chain(self.lanes);
        inner.fold(e.clone(), |e, name| e.substitute(name, &Expr::Int(0)))
    }

    fn access(&self, e: &Expr) -> Result<(Access, Operand), String> {
        let Expr::Load(buffer, index) = e else { return Err(format!("`{e}` is no operand of a matrix instruction")) };
        if buffer.scope != Scope::Shared {
            return Err(format!("`{}` is not staged in shared memory", buffer.name));
        }
        let moves = |name: &Name| index.iter().any(|e| e.uses(name));
        let along = |name: &Name| stride(buffer, index, name);
        let lanes = [along(&self.lanes[0])?, along(&self.lanes[1])?];
        let (operand, spatial, expected) = match (moves(self.row), moves(self.column)) {
            // The row's neighbour is 8 further, since the lanes number the rows in between.
            (true, false) => (Operand::A, lanes[0], [along(self.row)?.div(COLUMNS), 0]),
            (false, true) => (Operand::B, along(self.column)?, [0, along(self.column)?.mul(2)]),
            _ => return Err(format!("`{e}` moves along both sides of the instruction, or along none")),
        };
        if lanes != expected {
            return Err(format!("the threads do not hold the rows and columns of `{e}` as the lanes of a warp do"));
        }
        let reduce = along(self.step)?;
        if spatial != 1 && reduce != 1 {
            return Err(format!("the rows of `{}` are not contiguous", buffer.name));
        }
        check_rows(buffer, reduce == 1)?;
        let corner = index.iter().map(|e| self.zero(e)).collect();
        let buffer = buffer.clone();
        Ok((Access { buffer, corner, reduce_stride: reduce, spatial_stride: spatial }, operand))
    }
}

/// `ldmatrix` takes rows of 16 bytes at multiples of 16 bytes. Elements of 32 bits that lie across the steps are loaded one
/// by one.
fn check_rows(buffer: &Buffer, along_steps: bool) -> Result<(), String> {
    let row = buffer.shape.last().and_then(Expr::as_int).unwrap_or(0);
    let multiple = 16 / buffer.dtype.bytes();
    if row % multiple == 0 || (buffer.dtype == DType::F32 && !along_steps) {
        return Ok(());
    }
    Err(format!("rows of `{}` have {row} elements, padding included; expected a multiple of {multiple}", buffer.name))
}

/// How far apart in a tile the neighbours along a loop lie.
fn stride(buffer: &Buffer, index: &[Expr], name: &Name) -> Result<i64, String> {
    let mut stride = 1;
    let mut total = 0;
    for (e, extent) in index.iter().zip(&buffer.shape).rev() {
        let form = affine(e).ok_or_else(|| format!("`{e}` is not affine"))?;
        total += form.coefficient(name) * stride;
        stride *= extent.as_int().unwrap_or(0);
    }
    Ok(total)
}
