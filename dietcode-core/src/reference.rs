//! The oracle in Rust: evaluates a program element by element, in double precision, with a bound of what the type that the nest computes
//! in may be off beside every value.
//!
//! Slow and obvious: no schedule, no lowering, no code generation. The rules of the bounds are those of running error
//! analysis (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., sections 3.1 and 3.3).

mod precision;
mod reduce;

use std::collections::BTreeMap;

use dietcode_syntax::Role;
use serde::{Deserialize, Serialize};

use crate::ir::function::{Row, Spread, row};
use crate::ir::{ACC, BinaryOp, Block, Buffer, DType, Expr, Function, IterVar, Name, Program, holds};
use crate::{Error, Result};
use precision::of_product;
use reduce::Terms;

#[cfg(feature = "tuner")]
pub(crate) use precision::same_special;
pub use precision::{Approx, comparable};
pub(crate) use precision::{Precision, Rounding, rounding};

/// With which arithmetic a micro-kernel sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// That of the type that the nest computes in.
    F32,
    /// That of a matrix unit that multiplies `f16` or `bf16`: products are exact, and sums are truncated to `f32`.
    MatrixUnit,
    /// The same after both factors were rounded to tf32.
    Tf32,
    /// The same where what tf32 does not hold of the factors is cut off, as the matrix unit does with factors of `f32`.
    TruncatedTf32,
    /// Each factor is the sum of two numbers of tf32, and three of the four products of such parts are summed.
    ///
    /// Of x, high = tf32(x) is off by at most 2⁻¹¹·|x|. What is left is exact in `f32`, and a multiple of x's last bit, 2¹² of them
    /// at the most, of which tf32 has 11 bits: x = high + low + δ with |low| ≤ 2⁻¹¹·|x| and |δ| ≤ 2⁻²³·|x|. So
    ///
    /// ```text
    /// |x·w − (low·high + high·low + high·high)| ≤ |x·w| · (2·2⁻²³ + 2⁻⁴⁶ + 2⁻²²) < |x·w| · ((1 + 2⁻²²)² − 1)
    /// ```
    ///
    /// where the last of the three is low·low. All three products are exact and added like terms of their own, of a sum of 3·n terms whose
    /// sizes add up to at most (1 + 2⁻⁸)·Σ|x·w|. Holds for finite factors of at least 2⁻¹⁰³, or of 0, that tf32 does not round to infinity.
    ///
    /// Source: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
    /// performance", IJHPCA 36(4), 2022, for the two parts; Higham, section 3.1, for sums.
    Tf32x3,
}

impl Arithmetic {
    /// How far a factor is off, relative to it, or how far it would have to be for its products to be off by what they are: tf32 has 11
    /// significant bits.
    fn of_factor(self) -> f64 {
        match self {
            Arithmetic::F32 | Arithmetic::MatrixUnit => 0.0,
            Arithmetic::Tf32 => 2f64.powi(-11),
            Arithmetic::TruncatedTf32 => 2f64.powi(-10),
            Arithmetic::Tf32x3 => 2f64.powi(-22),
        }
    }

    /// How many numbers are added for a product, and their sizes relative to it.
    fn of_product(self) -> (f64, f64) {
        if self == Arithmetic::Tf32x3 { (3.0, 1.0 + 2f64.powi(-8)) } else { (1.0, 1.0) }
    }

    /// How far a sum is off for every number that is added, relative to what is summed.
    fn of_addition(self, precision: &Precision) -> f64 {
        if self == Arithmetic::F32 { precision.u() } else { 2.0 * precision.u() }
    }
}

/// A tensor of a run: contiguous, row-major, its elements as `f64` whatever their type. A scalar is one element.
pub type Tensors = BTreeMap<Name, Vec<f64>>;

/// Every element of the output, row-major over its whole shape; elements that the nest does not write keep what `tensors` holds.
///
/// # Errors
/// A tensor that is missing or too short for an access, an extent that is not bound.
pub fn evaluate(program: &Program, shape: &BTreeMap<Name, i64>, tensors: &Tensors) -> Result<Vec<Approx>> {
    let block = &program.blocks[0];
    let mut evaluator = Evaluator::new(program, shape, tensors, Arithmetic::F32)?;
    let before = evaluator.tensor(&block.output)?.elements()?;
    let mut output: Vec<Approx> = before.iter().map(|x| Approx::exact(*x)).collect();
    let spatial: Vec<&IterVar> = block.iters_of(Role::Spatial).collect();
    evaluator.each(&spatial, &mut |evaluator| {
        let (at, value) = evaluator.written(block)?;
        *output.get_mut(at).ok_or_else(|| out_of_bounds(&block.output.name))? = value;
        Ok(())
    })?;
    Ok(output)
}

/// What some iterations write, each given by the values of the spatial loops in their order: the element, by its number in
/// row-major order, and its value. For outputs that are too large to be evaluated as a whole.
///
/// # Errors
/// As [`evaluate`]; an iteration that has not one value for each spatial loop.
pub fn evaluate_at(
    program: &Program,
    shape: &BTreeMap<Name, i64>,
    tensors: &Tensors,
    arithmetic: Arithmetic,
    iterations: &[Vec<i64>],
) -> Result<Vec<(usize, Approx)>> {
    let block = &program.blocks[0];
    let spatial: Vec<&IterVar> = block.iters_of(Role::Spatial).collect();
    let mut evaluator = Evaluator::new(program, shape, tensors, arithmetic)?;
    let written = |values: &Vec<i64>| {
        if values.len() != spatial.len() {
            let (found, expected) = (values.len(), spatial.len());
            return Err(Error::input(format!("an iteration has {found} values, expected {expected}")));
        }
        evaluator.loops = spatial.iter().zip(values).map(|(iter, value)| (iter.name.clone(), *value)).collect();
        evaluator.written(block)
    };
    iterations.iter().map(written).collect()
}

fn out_of_bounds(name: &str) -> Error {
    Error::input(format!("`{name}` is accessed outside of its shape"))
}

struct Evaluator<'a> {
    /// The shape variables, and what is computed of them.
    constants: BTreeMap<Name, i64>,
    /// The loops that are under way, with their values, outermost first.
    loops: Vec<(Name, i64)>,
    tensors: BTreeMap<Name, Tensor<'a>>,
    arithmetic: Arithmetic,
    computes: DType,
    acc: Approx,
}

/// A parameter at the shape. Its extents are evaluated once: they take half of the integers of an access.
struct Tensor<'a> {
    name: Name,
    extents: Vec<i64>,
    /// None: it was not given.
    elements: Option<&'a [f64]>,
}

impl<'a> Tensor<'a> {
    fn elements(&self) -> Result<&'a [f64]> {
        self.elements.ok_or_else(|| Error::input(format!("no tensor `{}` was given", self.name)))
    }
}

impl<'a> Evaluator<'a> {
    fn new(
        program: &Program,
        shape: &BTreeMap<Name, i64>,
        tensors: &'a Tensors,
        arithmetic: Arithmetic,
    ) -> Result<Evaluator<'a>> {
        let (constants, computes, acc) = (shape.clone(), program.computes_in(), Approx::exact(0.0));
        let (loops, none) = (Vec::new(), BTreeMap::new());
        let mut evaluator = Evaluator { constants, loops, tensors: none, arithmetic, computes, acc };
        for param in &program.params {
            let extents = param.shape.iter().map(|extent| evaluator.int(extent)).collect::<Result<_>>()?;
            let (name, elements) = (param.name.clone(), tensors.get(&param.name).map(Vec::as_slice));
            evaluator.tensors.insert(name.clone(), Tensor { name, extents, elements });
        }
        for (name, value) in &program.derived {
            let value = evaluator.int(value)?;
            evaluator.constants.insert(name.clone(), value);
        }
        Ok(evaluator)
    }

    fn precision(&self) -> &'static Precision {
        Precision::of(self.computes)
    }

    /// The element that is written at the present values of the spatial loops, and what it becomes.
    fn written(&mut self, block: &Block) -> Result<(usize, Approx)> {
        let (_, at) = self.element_of(&block.output, &block.output_index)?;
        Ok((at, self.element(block)?.stored(block.output.dtype, self.computes)))
    }

    fn tensor(&self, buffer: &Buffer) -> Result<&Tensor<'a>> {
        let tensor = self.tensors.get(&buffer.name);
        tensor.ok_or_else(|| Error::input(format!("`{}` is no parameter", buffer.name)))
    }

    /// Runs `f` for every value of the variables.
    fn each(&mut self, iters: &[&IterVar], f: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let Some((first, rest)) = iters.split_first() else { return f(self) };
        let (extent, at) = (self.int(&first.extent)?, self.loops.len());
        self.loops.push((first.name.clone(), 0));
        for value in 0..extent {
            self.loops[at].1 = value;
            self.each(rest, f)?;
        }
        self.loops.truncate(at);
        Ok(())
    }

    fn element(&mut self, block: &Block) -> Result<Approx> {
        if let Some(reduction) = block.reduction.as_ref().filter(|reduction| reduction.dtype == DType::I32) {
            let computes = std::mem::replace(&mut self.computes, DType::I32);
            let mut sum = self.approx(&reduction.init)?;
            let reduce: Vec<&IterVar> = block.iters_of(Role::Reduce).collect();
            self.each(&reduce, &mut |evaluator| {
                sum = wrapped(reduction.operator(), sum, evaluator.approx(&reduction.update)?)?;
                Ok(())
            })?;
            self.computes = computes;
            self.acc = Approx::exact(computes.rounded(sum.value));
        } else if let Some(reduction) = &block.reduction {
            let init = self.approx(&reduction.init)?;
            let reduce: Vec<&IterVar> = block.iters_of(Role::Reduce).collect();
            let mut terms = Terms::none(reduction.op);
            self.each(&reduce, &mut |evaluator| {
                terms.take(evaluator.approx(&reduction.update)?);
                Ok(())
            })?;
            self.acc = terms.result(init, self.arithmetic, self.precision());
        }
        self.approx(&block.epilogue)
    }

    fn int(&self, e: &Expr) -> Result<i64> {
        let (a, b, op) = match e {
            Expr::Int(value) => return Ok(*value),
            Expr::Var(name) => {
                let of_loop = self.loops.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
                let value = of_loop.or_else(|| self.constants.get(name).copied());
                return value.ok_or_else(|| Error::input(format!("the variable `{name}` has no value")));
            }
            Expr::Select(condition, then, otherwise) => {
                let compared = self.compare(condition)?;
                return self.int(if compared.holds { then } else { otherwise });
            }
            Expr::Binary(op, a, b) => (self.int(a)?, self.int(b)?, op),
            other => return Err(Error::input(format!("`{other}` is not an integer expression"))),
        };
        let value = match op {
            BinaryOp::Add => a.checked_add(b),
            BinaryOp::Sub => a.checked_sub(b),
            BinaryOp::Mul => a.checked_mul(b),
            BinaryOp::Max => Some(a.max(b)),
            _ => None,
        };
        value.ok_or_else(|| Error::input(format!("`{e}` cannot be computed")))
    }

    /// The tensor, and the number of the element in row-major order.
    fn element_of(&self, buffer: &Buffer, index: &[Expr]) -> Result<(&Tensor<'a>, usize)> {
        let (tensor, mut offset) = (self.tensor(buffer)?, 0);
        for (extent, index) in tensor.extents.iter().zip(index) {
            let index = self.int(index)?;
            if !(0..*extent).contains(&index) {
                return Err(Error::input(format!("index {index} of an extent of {extent}")));
            }
            offset = offset * extent + index;
        }
        Ok((tensor, offset as usize))
    }

    fn approx(&self, e: &Expr) -> Result<Approx> {
        Ok(match e {
            Expr::Var(name) if &**name == ACC => self.acc,
            Expr::Float(value) => Approx::exact(self.computes.rounded(*value)),
            // The exponent of a power.
            Expr::Int(value) => Approx::exact(*value as f64),
            Expr::Cast(_, index) if self.computes == DType::I32 => Approx::exact(f64::from(self.int(index)? as i32)),
            Expr::Cast(_, index) => match self.int(index)? {
                held if held.unsigned_abs() <= 1 << self.precision().integers => Approx::exact(held as f64),
                large => self.precision().rounded(large as f64, 0.0),
            },
            Expr::Load(buffer, index) => {
                let (tensor, at) = self.element_of(buffer, index)?;
                let element = *tensor.elements()?.get(at).ok_or_else(|| out_of_bounds(&buffer.name))?;
                // Floats are widened, exactly; of integers, `f32` does not hold all.
                Approx::exact(if buffer.dtype.is_integer() { self.computes.rounded(element) } else { element })
            }
            Expr::Binary(op, a, b) if self.computes == DType::I32 => wrapped(*op, self.approx(a)?, self.approx(b)?)?,
            Expr::Call(function, args) if self.computes == DType::I32 => {
                let args = args.iter().map(|arg| self.approx(arg)).collect::<Result<Vec<Approx>>>()?;
                match (function, &args[..]) {
                    (Function::Neg, [a]) => wrapped(BinaryOp::Sub, Approx::exact(0.0), *a)?,
                    (Function::Max, [a, b]) => wrapped(BinaryOp::Max, *a, *b)?,
                    (Function::Min, [a, b]) => wrapped(BinaryOp::Min, *a, *b)?,
                    _ => return Err(Error::input(format!("`{function}` is not defined on integers"))),
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b, precision) = (self.approx(a)?, self.approx(b)?, self.precision());
                match op {
                    BinaryOp::Add => precision.add(a, b),
                    BinaryOp::Sub => precision.sub(a, b),
                    BinaryOp::Mul => precision.mul(a, b),
                    BinaryOp::Div => precision.div(a, b),
                    op => return Err(Error::input(format!("`{op}` is not defined on elements"))),
                }
            }
            Expr::Call(function, args) => {
                let args = args.iter().map(|arg| self.approx(arg)).collect::<Result<Vec<Approx>>>()?;
                call(*function, &args, self.precision())
            }
            Expr::Select(condition, then, otherwise) => self.select(condition, then, otherwise)?,
            other => return Err(Error::input(format!("`{other}` is not an element expression"))),
        })
    }

    /// The side that is not taken is not evaluated, unless rounding may have taken it.
    fn select(&self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Result<Approx> {
        let Compared { holds, sure } = self.compare(condition)?;
        let (chosen, other) = if holds { (then, otherwise) } else { (otherwise, then) };
        let chosen = self.approx(chosen)?;
        if sure {
            return Ok(chosen);
        }
        let other = self.approx(other)?;
        let error = chosen.error.max(other.error) + (chosen.value - other.value).abs();
        Ok(Approx { value: chosen.value, error })
    }

    fn compare(&self, condition: &Expr) -> Result<Compared> {
        let Expr::Compare(op, a, b) = condition else {
            return Err(Error::input(format!("`{condition}` is not a comparison of elements")));
        };
        let (a, b) = (self.approx(a)?, self.approx(b)?);
        let error = a.error + b.error;
        let unsure = error > 0.0 && (a.value - b.value).abs() <= error;
        Ok(Compared { holds: holds(*op, &a.value, &b.value), sure: !unsure })
    }
}

/// What integers of 32 bits make, modulo 2³².
fn wrapped(op: BinaryOp, a: Approx, b: Approx) -> Result<Approx> {
    let (a, b) = (a.value as i64, b.value as i64);
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Max => a.max(b),
        BinaryOp::Min => a.min(b),
        op => return Err(Error::input(format!("`{op}` is not defined on integers"))),
    };
    Ok(Approx::exact(f64::from(value as i32)))
}

/// The outcome of a comparison. Where its sides are closer than their errors, either branch may have been taken.
struct Compared {
    holds: bool,
    sure: bool,
}

/// A function's value, and how far its arguments' errors and its own roundings put it off.
fn call(function: Function, args: &[Approx], precision: &Precision) -> Approx {
    let Row { value: f, spread, ulps, .. } = row(function);
    let values: Vec<f64> = args.iter().map(|arg| arg.value).collect();
    let value = f(&values);
    let exact = args.iter().all(|arg| arg.error == 0.0);
    let inherited = match value.is_finite() {
        _ if exact => 0.0,
        true => inherited(spread, f, value, &args.iter().map(|arg| precision.widened(*arg)).collect::<Vec<_>>()),
        false => f64::INFINITY,
    };
    let powers = function == Function::Powi;
    let roundings = if powers { values[1].abs() } else { 1.0 };
    // A power that is too small on the way to a reciprocal is too small itself.
    let underflow = if powers { 2f64.powi(precision.normal) } else { 0.0 };
    // A function that does not round adds nothing, also to what may be anything.
    let own = match (roundings * ulps * 2.0 * precision.u()).exp_m1() {
        0.0 => 0.0,
        relative => relative * (value.abs() + inherited),
    };
    Approx { value, error: inherited + own + underflow }
}

/// How far the exact value is off.
fn inherited(spread: Spread, f: fn(&[f64]) -> f64, value: f64, args: &[Approx]) -> f64 {
    match (spread, args) {
        (Spread::Monotone(least), [a, ..]) => {
            let (low, high) = (f(&[(a.value - a.error).max(least)]), f(&[a.value + a.error]));
            (high - value).max(value - low)
        }
        (Spread::Fused, [a, b, c]) => of_product(*a, *b) + c.error,
        (Spread::Power, [a, b]) => {
            let (size, value) = (a.value.abs(), value.abs());
            let bases = [(size - a.error).max(0.0), size + a.error];
            let powers = bases.map(|x| [x.powf(b.value - b.error), x.powf(b.value + b.error)]);
            let powers = || powers.iter().flatten().copied();
            let (least, most) = (powers().fold(f64::INFINITY, f64::min), powers().fold(0.0, f64::max));
            if a.error > size { most + value } else { (most - value).max(value - least) }
        }
        _ => args.iter().map(|arg| arg.error).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend;
    use crate::testing::dense;

    #[test]
    fn what_may_be_anything_may_be_so_behind_functions() {
        let single = Precision::of(DType::F32);
        let anything = Approx { value: 1e39, error: f64::INFINITY };
        let clamped = call(Function::Clamp, &[anything, Approx::exact(-4.0), Approx::exact(4.0)], single);
        assert_eq!((clamped.value, clamped.error), (4.0, f64::INFINITY));
        for function in [Function::Abs, Function::Sqrt] {
            assert_eq!(call(function, &[anything], single).error, f64::INFINITY, "{function:?}");
        }
        let exact = Approx::exact;
        assert_eq!(single.mul(anything, exact(30_000.0)).error, f64::INFINITY);
        assert_eq!(single.div(exact(0.0), anything).error, f64::INFINITY);
        let near_0 = Approx { value: 1.0, error: 2.0 };
        assert_eq!(single.div(exact(0.0), near_0).error, f64::INFINITY);
        assert_eq!(call(Function::MulAdd, &[anything, exact(0.0), exact(1.0)], single).error, f64::INFINITY);
    }

    #[test]
    fn a_part_is_evaluated_as_the_whole_and_coarser_arithmetic_is_given_more_room() {
        let def = dense();
        let program = frontend::program(&def);
        let shape = [("M", 3), ("N", 4), ("K", 5)].map(|(name, value)| (Name::from(name), value)).into();
        let of = |len: usize| (0..len).map(|at| (at as f64 * 0.37).sin()).collect::<Vec<f64>>();
        let tensors: Tensors = [("x", 15), ("w", 20), ("y", 12)].map(|(name, len)| (Name::from(name), of(len))).into();
        let whole = evaluate(&program, &shape, &tensors).unwrap();
        let iterations = [vec![0, 0], vec![2, 3], vec![1, 2]];
        let part = |arithmetic| evaluate_at(&program, &shape, &tensors, arithmetic, &iterations).unwrap();
        let [exact, unit, parts, tf32] =
            [Arithmetic::F32, Arithmetic::MatrixUnit, Arithmetic::Tf32x3, Arithmetic::Tf32].map(part);
        for (n, at) in [0, 11, 6].into_iter().enumerate() {
            assert_eq!(exact[n], (at, whole[at]));
            assert_eq!((unit[n].1.value, tf32[n].1.value), (whole[at].value, whole[at].value));
            let errors = [whole[at].error, unit[n].1.error, parts[n].1.error, tf32[n].1.error / 100.0];
            assert!(errors.is_sorted_by(|a, b| a < b), "{errors:?}");
        }
        let odd = [vec![0], vec![3, 0], vec![0, -1]];
        let refused = |values: &Vec<i64>| {
            evaluate_at(&program, &shape, &tensors, Arithmetic::F32, std::slice::from_ref(values)).is_err()
        };
        assert!(odd.iter().all(refused));
    }
}
