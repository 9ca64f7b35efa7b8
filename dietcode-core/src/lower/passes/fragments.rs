//! What a thread multiplies, held in two sets of registers: while one is multiplied, the operands of the next step are read into the other.
//!
//! A part of the pipeline, which has the next tile there before the last step of this one and so decides what stands around a step.
//! Fragments of a matrix unit are allocated already; others are made here, of what a step reads of the tiles.
//!
//! ```text
//! for k_1 in 0..I                                         begin   x[1] = x_shared[1]
//!   unrolled i, j                                         middle  for s in 0..I−1
//!     tile[i][j] += x_shared[k_1][i] · w_shared[k_1][j] →           … x[s % 2] …; if s + 2 < I: x[s % 2] = x_shared[s + 2]
//!                                                         last    x[0] = x_shared[0] of the next tile; … x[(I − 1) % 2] …
//! ```
//!
//! The operands of the first tile's first step are read before the loop over tiles. If I is odd, those of the next tile's first step
//! go where the last step's are, behind its products.

use std::ops::{Add, Div, Rem};
use std::sync::Arc;

use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Parts, Scope, Stmt};
use crate::schedule::Schedule;

/// How many sets there are.
const SETS: i64 = 2;

/// The steps of a tile.
pub(super) struct Fragments {
    /// The loops over them, the outermost first.
    loops: Vec<(Name, i64)>,
    /// The variable of the loop that takes their place.
    step: Name,
    /// What holds the operands of one step, with the place of the dimension of sets.
    held: Vec<(Arc<Buffer>, usize)>,
    reads: Stmt,
    products: Stmt,
}

impl Fragments {
    /// Finds the steps in what is done with tiles.
    ///
    /// # Errors
    /// Why there is nothing to hold.
    pub(super) fn of(uses: &Stmt, tiles: &[Arc<Buffer>], schedule: &Schedule) -> Result<Fragments, String> {
        let mut inner = &uses.clone().map(&mut |stmt| match stmt {
            Stmt::Let { var, value, body } => body.substitute(&var, &value),
            other => other,
        });
        let mut loops = Vec::new();
        while let Stmt::For { var, extent, kind: ForKind::Serial | ForKind::Unrolled, body } = inner
            && !stores_along(body, var)
        {
            loops.push((var.clone(), extent.as_int().ok_or_else(|| format!("`{var}` has no constant extent"))?));
            inner = body;
        }
        let mut held = Vec::new();
        while let Stmt::Allocate { buffer, body } = inner {
            if buffer.scope != Scope::Fragment {
                return Err(format!("`{}` is read into registers for all steps of a tile", buffer.name));
            }
            held.push(buffer.clone());
            inner = body;
        }
        let (held, reads, products) = match inner {
            Stmt::Seq(stmts) if !held.is_empty() => {
                let (reads, products): (Vec<Stmt>, Vec<Stmt>) = stmts.iter().cloned().partition(loads_matrix);
                (held, Stmt::seq(reads), Stmt::seq(products))
            }
            inner => in_registers(inner, tiles, schedule)?,
        };
        let place = |buffer: Arc<Buffer>| {
            let place = usize::from(in_two_parts(&reads, &buffer));
            (buffer, place)
        };
        let held = held.into_iter().map(place).collect();
        Ok(Fragments { loops, step: schedule.fresh_name("step"), held, reads, products })
    }

    fn steps(&self) -> i64 {
        self.loops.iter().map(|(_, extent)| extent).product()
    }

    /// Allocates what is held around a statement.
    pub(super) fn allocated(&self, body: Stmt) -> Stmt {
        let allocate = |body, (buffer, place): &(Arc<Buffer>, usize)| Stmt::Allocate {
            buffer: buffer.with_dimension(*place, self.sets()),
            body: Box::new(body),
        };
        self.held.iter().rev().fold(body, allocate)
    }

    /// How many sets are needed.
    fn sets(&self) -> i64 {
        SETS.min(self.steps())
    }

    /// A statement in a step, with the set that it has.
    fn at(&self, stmt: &Stmt, step: &Expr) -> Stmt {
        let set = step.clone().rem(Expr::Int(self.sets()));
        let in_set =
            |stmt: Stmt, (buffer, place): &(Arc<Buffer>, usize)| stmt.with_dimension(buffer, *place, self.sets(), &set);
        let stmt = self.held.iter().fold(stmt.clone(), in_set);
        // The outermost loop has what the others leave of a step.
        let mut left = step.clone();
        self.loops.iter().enumerate().rev().fold(stmt, |stmt, (at, (var, extent))| {
            let extent = Expr::Int(*extent);
            let value = if at == 0 { left.clone() } else { left.clone().rem(extent.clone()) };
            left = left.clone().div(extent);
            stmt.substitute(var, &value)
        })
    }

    /// Reads the operands of a tile's first step.
    pub(super) fn first(&self) -> Stmt {
        self.at(&self.reads, &Expr::Int(0))
    }

    /// Reads those of its second one, if it has one.
    pub(super) fn begin(&self) -> Stmt {
        if self.steps() > 1 { self.at(&self.reads, &Expr::Int(1)) } else { Stmt::Seq(Vec::new()) }
    }

    /// All steps but the last one; behind its products each reads the operands of the one after the next, where its own were.
    pub(super) fn middle(&self) -> Stmt {
        match self.steps() {
            1 => Stmt::Seq(Vec::new()),
            2 => self.at(&self.products, &Expr::Int(0)),
            steps => {
                let here = Expr::Var(self.step.clone());
                let later = here.clone().add(Expr::Int(SETS));
                let read = Stmt::if_(later.clone().lt(Expr::Int(steps)), self.at(&self.reads, &later));
                let step = Stmt::seq([self.at(&self.products, &here), read]);
                Stmt::for_(self.step.clone(), Expr::Int(steps - 1), ForKind::Serial, step)
            }
        }
    }

    /// The products of the last step.
    pub(super) fn last(&self) -> Stmt {
        self.at(&self.products, &Expr::Int(self.steps() - 1))
    }

    /// What reads the operands that the next tile begins with, and the last step, as the sets allow it.
    pub(super) fn in_order(&self, next: Stmt, last: Stmt) -> Stmt {
        if self.steps() % SETS == 0 { Stmt::seq([next, last]) } else { Stmt::seq([last, next]) }
    }
}

/// Whether what a statement writes moves along a loop.
fn stores_along(stmt: &Stmt, var: &Name) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| match stmt {
        Stmt::Store { index, .. } | Stmt::Intrinsic(Intrinsic::Mma { to_index: index, .. }) => {
            found |= index.iter().any(|e| e.uses(var));
        }
        _ => {}
    });
    found
}

fn loads_matrix(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| found |= matches!(stmt, Stmt::Intrinsic(Intrinsic::LoadMatrix { .. })));
    found
}

/// Whether the first dimension of a fragment are two parts.
fn in_two_parts(reads: &Stmt, fragment: &Arc<Buffer>) -> bool {
    let mut found = false;
    reads.visit(&mut |stmt| {
        if let Stmt::Intrinsic(Intrinsic::LoadMatrix { to, parts: Parts::HighAndLow, .. }) = stmt {
            found |= to == fragment;
        }
    });
    found
}

/// Buffers, what fills them, and what is done with them.
type Held = (Vec<Arc<Buffer>>, Stmt, Stmt);

/// Has a step read its operands of tiles into registers, and then compute with these.
fn in_registers(body: &Stmt, tiles: &[Arc<Buffer>], schedule: &Schedule) -> Result<Held, String> {
    let mut loops = Vec::new();
    let mut read: Vec<(Arc<Buffer>, Vec<Expr>)> = Vec::new();
    body.visit(&mut |stmt| {
        if let Stmt::For { var, extent, .. } = stmt {
            loops.push((var.clone(), extent.clone()));
        }
    });
    body.visit_exprs(&mut |e| {
        e.visit(&mut |e| {
            if let Expr::Load(buffer, index) = e
                && tiles.contains(buffer)
                && !read.iter().any(|(other, at)| other == buffer && at == index)
            {
                read.push((buffer.clone(), index.clone()));
            }
        });
    });
    if read.is_empty() {
        return Err("nothing is read of tiles in shared memory".into());
    }
    let (mut held, mut fills, mut products) = (Vec::new(), Vec::new(), body.clone());
    for (at, (tile, index)) in read.iter().enumerate() {
        let own: Vec<_> = loops.iter().filter(|(var, _)| index.iter().any(|e| e.uses(var))).cloned().collect();
        let shape: Vec<Expr> = own.iter().map(|(_, extent)| extent.clone()).collect();
        if let Some(extent) = shape.iter().find(|extent| extent.as_int().is_none()) {
            return Err(format!(
                "a thread reads `{extent}` elements of `{}` in a step, which is no constant",
                tile.name
            ));
        }
        let number = match read[..at].iter().filter(|(other, _)| other == tile).count() {
            0 => String::new(),
            before => format!("_{before}"),
        };
        let name = schedule.fresh_name(&format!("{}_fragment{number}", tile.name));
        let scope = Scope::Local;
        let buffer = Arc::new(Buffer { name, dtype: tile.dtype, shape, scope, swizzle: 0 });
        let here: Vec<Expr> = own.iter().map(|(var, _)| Expr::Var(var.clone())).collect();
        let fill =
            Stmt::Store { buffer: buffer.clone(), index: here.clone(), value: Expr::Load(tile.clone(), index.clone()) };
        let around =
            |body, (var, extent): &(Name, Expr)| Stmt::for_(var.clone(), extent.clone(), ForKind::Unrolled, body);
        fills.push(own.iter().rev().fold(fill, around));
        products = products.rewrite_exprs(&mut |e| {
            e.rewrite(&mut |e| match e {
                Expr::Load(from, at) if from == tile && at == index => Some(Expr::Load(buffer.clone(), here.clone())),
                _ => None,
            })
        });
        held.push(buffer);
    }
    Ok((held, Stmt::seq(fills), products))
}
