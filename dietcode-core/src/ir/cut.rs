//! Where a nest may be cut in two along an axis, so that each part is the same nest at a smaller size, on parts of the tensors.
//!
//! ```text
//! y[i][j] = Σ_k x[i][k] · w[j][k]                    y[i][j] = …            i in 0..64, as of M = 64
//! i in 0..M, M = 70                        →         y[64 + i][j] = …       i in 0..6,  as of M = 6, of x and y from row 64 on
//! ```
//!
//! That holds for a shape variable which is the extent of one spatial loop and nothing else that is computed with, where that loop moves
//! each tensor along one dimension only, as far with every step as the tensor grows with the variable. Strides are passed at run time, so
//! the part of a tensor differs from it in its first address alone.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::{Affine, Block, Buffer, Expr, Name, Program, affine};
use crate::{Error, Result};

/// How a nest is cut along a shape variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The variable.
    pub along: Name,
    /// Its place among the shape variables.
    pub position: usize,
    /// The tensors of which the parts lie one behind the other; the others are read by both.
    pub tensors: Vec<Along>,
}

/// A tensor of which a part begins elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// Its place among the parameters.
    pub param: usize,
    /// The dimension along which it is cut.
    pub dim: usize,
    /// By how many elements of that dimension the second part begins later for each value of the variable in the first.
    pub step: i64,
}

impl Cut {
    /// The cut of a program along a shape variable.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(program: &Program, along: &str) -> Result<Cut> {
        cut(program, along).map_err(|why| {
            let why = format!("`{}` cannot be cut along `{along}`: {why}", program.name);
            Error::input(why)
        })
    }

    /// A shape with another value of the variable.
    pub fn at(&self, shape: &[i64], value: i64) -> Vec<i64> {
        let mut shape = shape.to_vec();
        shape[self.position] = value;
        shape
    }
}

fn cut(program: &Program, along: &str) -> Result<Cut, String> {
    let position = program.shape_vars.iter().position(|var| **var == *along).ok_or("it is no shape variable")?;
    if let Some((name, _)) = program.derived.iter().find(|(_, value)| value.uses(along)) {
        return Err(format!("`{name}` is computed of it"));
    }
    // How each tensor that is read or written moves with the loop: along a dimension, by so many elements a step.
    let mut moves: BTreeMap<&Name, Option<(usize, i64)>> = BTreeMap::new();
    for block in &program.blocks {
        let axis = axis(block, along)?;
        for (buffer, index) in accesses(block) {
            let own = movement(buffer, index, [axis, along])?;
            if moves.insert(&buffer.name, own).is_some_and(|other| other != own) {
                return Err(format!("`{}` is read in several ways along it", buffer.name));
            }
        }
        if moves[&block.output.name].is_none() {
            return Err(format!("`{}` is written at the same places for all values of `{axis}`", block.output.name));
        }
        if values(block).any(|value| computes_with(value, [axis, along])) {
            return Err(format!("a value is computed of it, or of `{axis}`"));
        }
    }
    let mut tensors = Vec::new();
    for (param, tensor) in program.params.iter().enumerate() {
        let Some(own) = moves.get(&tensor.name) else { continue };
        for (dim, extent) in tensor.shape.iter().enumerate() {
            let step = own.filter(|(of, _)| *of == dim).map_or(0, |(_, step)| step);
            if affine(extent).is_none_or(|extent| extent.coefficient(along) != step) {
                return Err(format!("dimension {dim} of `{}` does not grow as it is moved along", tensor.name));
            }
        }
        if own.is_some() && program.prepared(&tensor.name).is_some() {
            return Err(format!("`{}` is laid out before calls", tensor.name));
        }
        tensors.extend(own.map(|(dim, step)| Along { param, dim, step }));
    }
    Ok(Cut { along: program.shape_vars[position].clone(), position, tensors })
}

/// The one loop that is as long as the variable says.
fn axis<'a>(block: &'a Block, along: &str) -> Result<&'a str, String> {
    let mut all = block.iters.iter().filter(|iter| iter.extent.uses(along));
    match (all.next(), all.next()) {
        (Some(iter), None) if iter.extent == Expr::var(along) && iter.role == Role::Spatial => Ok(&iter.name),
        (Some(iter), None) if iter.role == Role::Reduce => Err(format!("`{}` is a sum's", iter.name)),
        (Some(iter), None) => Err(format!("the extent of `{}` is computed of it", iter.name)),
        (Some(one), Some(other)) => Err(format!("it is the extent of both `{}` and `{}`", one.name, other.name)),
        (None, _) => Err("no loop is as long".to_owned()),
    }
}

/// What is computed of elements.
fn values(block: &Block) -> impl Iterator<Item = &Expr> {
    block.reduction.iter().flat_map(|reduction| [&reduction.init, &reduction.update]).chain([&block.epilogue])
}

/// Where tensors are read and written.
fn accesses(block: &Block) -> Vec<(&Buffer, &[Expr])> {
    let mut all: Vec<(&Buffer, &[Expr])> = vec![(&block.output, &block.output_index)];
    for value in values(block) {
        value.visit(&mut |e| {
            if let Expr::Load(buffer, index) = e {
                all.push((buffer, index));
            }
        });
    }
    all
}

/// Whether a value is computed of one of some variables: what stands in an index says where elements are, not what they are.
fn computes_with(value: &Expr, vars: [&str; 2]) -> bool {
    let of = |e: &Expr| computes_with(e, vars);
    match value {
        Expr::Var(name) => vars.contains(&&**name),
        Expr::Int(_) | Expr::Float(_) | Expr::Load(..) => false,
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => of(a) || of(b),
        Expr::Select(condition, a, b) => of(condition) || of(a) || of(b),
        Expr::Cast(_, a) => of(a),
        Expr::Call(_, args) => args.iter().any(of),
    }
}

/// Along which dimension an access moves with the loop, and how far.
fn movement(buffer: &Buffer, index: &[Expr], [axis, along]: [&str; 2]) -> Result<Option<(usize, i64)>, String> {
    let mut moves = None;
    for (dim, index) in index.iter().enumerate() {
        if index.uses(along) {
            return Err(format!("where `{}` is read depends on it", buffer.name));
        }
        if !index.uses(axis) {
            continue;
        }
        let step = affine(index).map_or(0, |form: Affine| form.coefficient(axis));
        if step <= 0 || moves.is_some() {
            return Err(format!("`{}` does not move along one dimension with `{axis}`", buffer.name));
        }
        moves = Some((dim, step));
    }
    Ok(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BATCH, DENSE, DEPTHWISE, program};

    fn of(nest: &str, along: &str) -> Vec<(usize, usize, i64)> {
        let cut = Cut::of(&program(nest), along).unwrap();
        cut.tensors.iter().map(|Along { param, dim, step }| (*param, *dim, *step)).collect()
    }

    fn refused(nest: &str, along: &str, why: &str) {
        let error = Cut::of(&program(nest), along).unwrap_err().to_string();
        assert!(error.contains(&format!("cannot be cut along `{along}`: ")) && error.contains(why), "{error}");
    }

    #[test]
    fn a_spatial_axis_moves_what_it_indexes() {
        assert_eq!(of(DENSE, "M"), [(0, 0, 1), (2, 0, 1)]);
        assert_eq!(of(DENSE, "N"), [(1, 0, 1), (2, 1, 1)]);
        assert_eq!(of(BATCH, "B"), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
        assert_eq!(of(DEPTHWISE, "C"), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
        assert_eq!(of(DEPTHWISE, "P"), [(0, 1, 1), (2, 1, 1)], "what a part reads beyond its rows is there");
    }

    #[test]
    fn a_strided_window_begins_by_its_stride_later() {
        let nest = "fn pool(x: &[[f32; N]; 2 * M + 1], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N {
            let mut acc = 0.0; for r in 0..3 { acc += x[2 * i + r][j]; } y[i][j] = acc; } } }";
        assert_eq!(of(nest, "M"), [(0, 0, 2), (1, 0, 1)]);
        assert_eq!(of(nest, "N"), [(0, 1, 1), (1, 1, 1)]);
    }

    #[test]
    fn there_is_a_reason_where_a_part_is_not_the_nest_itself() {
        refused(DENSE, "K", "`k` is a sum's");
        refused(DENSE, "Q", "no shape variable");
        refused(BATCH, "M", "the extent of both `i` and `j`");
        let causal = "fn causal(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N {
            y[i][j] = if (j as f32) <= i as f32 { x[i][j] } else { 0.0 }; } } }";
        refused(causal, "M", "a value is computed of it, or of `i`");
        refused(causal, "N", "a value is computed of it, or of `j`");
        let twice = "fn twice(x: &[f32; M], z: &[[f32; M]; M], y: &mut [f32; M]) { for i in 0..M {
            y[i] = x[i] + z[i][i]; } }";
        refused(twice, "M", "`z` does not move along one dimension with `i`");
        let other = "fn other(x: &[[f32; 8]; M], y: &mut [[f32; 8]; M]) { for i in 0..M { for j in 0..8 {
            y[i][j] = x[i][j] + x[0][j]; } } }";
        refused(other, "M", "`x` is read in several ways");
        let reversed = "fn reversed(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[M - 1 - i]; } }";
        refused(reversed, "M", "where `x` is read depends on it");
        let longer = "fn longer(x: &[f32; 2 * M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";
        refused(longer, "M", "dimension 0 of `x` does not grow as it is moved along");
        let whole = "fn whole(x: &[[f32; M]; N], y: &mut [f32; N]) { for i in 0..N {
            let mut acc = 0.0; for k in 0..M { acc += x[i][k]; } y[i] = acc; } }";
        refused(whole, "M", "`k` is a sum's");
    }
}
