//! What a fused loop stands for: the values of the two loops that it was fused of.
//!
//! It belongs to the first pass, which binds them by `let`. Integers are not negative there, and loops without iterations are
//! not entered, so nothing is divided by zero.

use std::ops::{Add, Div, Mul, Rem, Sub};

use crate::ir::{Expr, Name, Stmt};
use crate::schedule::Schedule;

/// Two loops of which one was fused, the outer first, with their extents.
pub(super) struct Pair<'a> {
    pub(super) names: [&'a Name; 2],
    pub(super) extents: [Expr; 2],
    /// The tiles in which the pair is gone through; none, or tiles of one row: row by row.
    pub(super) raster: Option<[i64; 2]>,
}

/// Binds both loops of a pair around a statement, from the number of the iteration.
pub(super) fn bind(schedule: &Schedule, pair: &Pair<'_>, number: &Expr, body: Stmt) -> Stmt {
    match pair.raster {
        // Tiles of one row lie in it one after the other.
        Some(tile) if tile[0] > 1 => in_tiles(schedule, pair, tile, number, body),
        _ => {
            let inner = &pair.extents[1];
            let body = let_(pair.names[1], number.clone().rem(inner.clone()), body);
            let_(pair.names[0], number.clone().div(inner.clone()), body)
        }
    }
}

/// Tiles of `rows` × `columns`, those of a band of rows one after the other, then the next band. The last band may be lower,
/// and the last tile of a band narrower.
fn in_tiles(schedule: &Schedule, pair: &Pair<'_>, tile: [i64; 2], number: &Expr, body: Stmt) -> Stmt {
    let [outer, inner] = &pair.extents;
    let [rows, columns] = [Expr::Int(tile[0]).min(outer.clone()), Expr::Int(tile[1]).min(inner.clone())];
    let name = |part: &str| schedule.fresh_name(&format!("{}_{part}", pair.names[0]));
    let [band, height, rest] = [name("band"), name("height"), name("rest")];
    let [column, width, place] = [name("column"), name("width"), name("place")];
    let var = |name: &Name| Expr::Var(name.clone());
    let of_band = rows.clone().mul(inner.clone());
    let of_tile = var(&height).mul(columns.clone());
    let left = |extent: &Expr, at: &Name, size: &Expr| extent.clone().sub(var(at).mul(size.clone()));
    let lets = [
        (&band, number.clone().div(of_band.clone())),
        (&height, rows.clone().min(left(outer, &band, &rows))),
        (&rest, number.clone().rem(of_band)),
        (&column, var(&rest).div(of_tile.clone())),
        (&width, columns.clone().min(left(inner, &column, &columns))),
        (&place, var(&rest).rem(of_tile)),
        (pair.names[0], var(&band).mul(rows).add(var(&place).div(var(&width)))),
        (pair.names[1], var(&column).mul(columns).add(var(&place).rem(var(&width)))),
    ];
    lets.into_iter().rev().fold(body, |body, (name, value)| let_(name, value, body))
}

fn let_(var: &Name, value: Expr, body: Stmt) -> Stmt {
    Stmt::Let { var: var.clone(), value, body: Box::new(body) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::testing::program;

    fn schedule() -> Schedule {
        let text = "#[dynamic_kernel] fn f(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N { y[i][j] = x[i][j]; } } }";
        let program = program(text);
        Schedule::new(&program, &program.blocks[0])
    }

    /// The pairs in the order of their numbers.
    fn order(extents: [i64; 2], raster: Option<[i64; 2]>) -> Vec<[i64; 2]> {
        let (schedule, names) = (schedule(), [Name::from("i"), Name::from("j")]);
        let pair = Pair { names: names.each_ref(), extents: extents.map(Expr::Int), raster };
        let value = |number| {
            let mut stmt = bind(&schedule, &pair, &Expr::Int(number), Stmt::Seq(Vec::new()));
            let mut values = std::collections::BTreeMap::new();
            while let Stmt::Let { var, value, body } = stmt {
                stmt = body.substitute(&var, &value);
                values.insert(var, value.as_int().expect("everything is known"));
            }
            names.each_ref().map(|name| values[name])
        };
        (0..extents[0] * extents[1]).map(value).collect()
    }

    #[test]
    fn tiles_come_one_after_the_other() {
        let of = |extents| order(extents, Some([2, 2]));
        let [a, b] = [[0, 0], [0, 1]];
        assert_eq!(of([3, 3]), [a, b, [1, 0], [1, 1], [0, 2], [1, 2], [2, 0], [2, 1], [2, 2]]);
        assert_eq!(order([2, 3], None), [a, b, [0, 2], [1, 0], [1, 1], [1, 2]]);
    }

    #[test]
    fn every_pair_comes_once() {
        for extents in [[1, 1], [5, 7], [8, 8], [1, 9], [9, 1], [6, 4]] {
            for tile in [[1, 1], [2, 3], [4, 4], [1, 5], [16, 2], [64, 64]] {
                let mut found = order(extents, Some(tile));
                found.sort_unstable();
                assert_eq!(found, order(extents, None), "{extents:?} by {tile:?}");
            }
        }
    }
}
