//! What terms become that are combined in any order and grouping, and how far that may be off.

use super::{Approx, Arithmetic, Precision};
use crate::ir::ReduceOp;

/// The terms of a reduction so far.
pub(super) enum Terms {
    /// n terms add γₙ·Σ|term| (Higham, section 3.1).
    Sum { value: f64, size: f64, error: f64, count: f64 },
    /// Each factor is off by its error relative to it, and n of them by γₙ more (Higham, lemma 3.1). `most` is the product of the
    /// largest magnitudes that the factors may have, `largest` that of those above 1: no product of some of them is larger.
    Prod { value: f64, most: f64, largest: f64, count: f64 },
    /// Nothing is rounded: the result lies between the extremes of the terms' lower and of their upper ends.
    Extreme { op: ReduceOp, value: f64, low: f64, high: f64 },
}

impl Terms {
    pub(super) fn none(op: ReduceOp) -> Terms {
        match op {
            ReduceOp::Sum => Terms::Sum { value: 0.0, size: 0.0, error: 0.0, count: 0.0 },
            ReduceOp::Prod => Terms::Prod { value: 1.0, most: 1.0, largest: 1.0, count: 0.0 },
            ReduceOp::Max => Terms::extreme(op, f64::NEG_INFINITY),
            ReduceOp::Min => Terms::extreme(op, f64::INFINITY),
        }
    }

    fn extreme(op: ReduceOp, of_nothing: f64) -> Terms {
        Terms::Extreme { op, value: of_nothing, low: of_nothing, high: of_nothing }
    }

    pub(super) fn take(&mut self, term: Approx) {
        match self {
            Terms::Sum { value, size, error, count } => {
                *value += term.value;
                *size += term.value.abs();
                *error += term.error;
                *count += 1.0;
            }
            Terms::Prod { value, most, largest, count } => {
                let size = term.value.abs() + term.error;
                *value *= term.value;
                *most *= size;
                *largest *= size.max(1.0);
                *count += 1.0;
            }
            Terms::Extreme { op, value, low, high } => {
                *value = op.apply(*value, term.value);
                *low = op.apply(*low, term.value - term.error);
                *high = op.apply(*high, term.value + term.error);
            }
        }
    }

    /// What an accumulator holds that started with `init`.
    pub(super) fn result(self, init: Approx, arithmetic: Arithmetic, precision: &Precision) -> Approx {
        match self {
            Terms::Sum { value, size, error, count } => {
                let (factor, addition) = (arithmetic.of_factor(), arithmetic.of_addition(precision));
                let (parts, of_parts) = arithmetic.of_product();
                let nu = (parts * count + 2.0) * addition;
                let inherited = error + init.error + size * factor * (2.0 + factor);
                let summing = nu / (1.0 - nu) * (init.value.abs() + of_parts * size + inherited);
                Approx { value: init.value + value, error: inherited + summing }
            }
            Terms::Prod { value, most, largest, count } => {
                let (value, most) = (init.value * value, (init.value.abs() + init.error) * most);
                let largest = largest * (init.value.abs() + init.error).max(1.0);
                let nu = (count + 2.0) * precision.u();
                // A product of some of the factors may be subnormal where the whole is not, or beyond all numbers.
                let underflow = (count + 2.0) * 2f64.powi(precision.smallest) * largest;
                let rounding = most - value.abs() + nu / (1.0 - nu) * most + underflow;
                let error = if largest < 2f64.powi(precision.largest) { rounding } else { f64::INFINITY };
                Approx { value, error }
            }
            Terms::Extreme { op, value, low, high } => {
                let value = op.apply(init.value, value);
                let (low, high) = (op.apply(init.value - init.error, low), op.apply(init.value + init.error, high));
                let sure = low == high || value.is_nan();
                Approx { value, error: if sure { 0.0 } else { (high - value).max(value - low) } }
            }
        }
    }
}
