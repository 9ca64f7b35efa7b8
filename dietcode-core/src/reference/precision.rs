//! Numbers with a bound of what a nest's arithmetic may be off, and how types round.

use crate::ir::DType;

/// What the bounds know of a type that nests compute in.
///
/// The oracles compute in double precision, whose roundings are nothing beside those of `f32`. A nest that computes in `f64` is held to an
/// oracle that rounds as often as the nest does, by as much: each is off from the exact value by the bound of u = 2⁻⁵³, and so both are off from
/// each other by no more than that of 2·u.
#[derive(Debug)]
pub(crate) struct Precision {
    /// The unit roundoff, u = 2 to this power; that of both sides.
    pub(crate) roundoff: i32,
    /// Integers up to 2 to this power are numbers of the type.
    pub(crate) integers: i32,
    /// The smallest normal number is 2 to this power.
    pub(crate) normal: i32,
    /// The smallest number is 2 to this power.
    pub(crate) smallest: i32,
    /// What is below 2 to this power is finite, and what it is rounded to.
    pub(crate) largest: i32,
    /// How far the ends of where an argument may be are off themselves, relative to it: they are computed in double precision.
    pub(crate) ends: f64,
}

impl Precision {
    /// That of a type that nests compute in.
    pub(crate) fn of(computes: DType) -> &'static Precision {
        match computes {
            DType::F64 => {
                const DOUBLE: Precision = Precision {
                    roundoff: -52,
                    integers: 53,
                    normal: -1022,
                    smallest: -1074,
                    largest: 1023,
                    ends: 4.0 * f64::EPSILON,
                };
                &DOUBLE
            }
            // Integers are exact.
            DType::F32 | DType::F16 | DType::BF16 | DType::U8 | DType::I8 | DType::I32 => {
                const SINGLE: Precision =
                    Precision { roundoff: -24, integers: 24, normal: -126, smallest: -149, largest: 127, ends: 0.0 };
                &SINGLE
            }
        }
    }

    /// What results may be off that are rounded where numbers are too small for their relative error: 2 to this power, 512 times the smallest number.
    pub(crate) fn floor(&self) -> i32 {
        self.smallest + 9
    }

    pub(super) fn u(&self) -> f64 {
        2f64.powi(self.roundoff)
    }

    /// A rounded result: `value`, of operands that put it off by `inherited`.
    pub(super) fn rounded(&self, value: f64, inherited: f64) -> Approx {
        Approx { value, error: inherited + self.u() * (value.abs() + inherited) }
    }

    pub(super) fn add(&self, a: Approx, b: Approx) -> Approx {
        self.rounded(a.value + b.value, a.error + b.error)
    }

    pub(super) fn sub(&self, a: Approx, b: Approx) -> Approx {
        self.rounded(a.value - b.value, a.error + b.error)
    }

    pub(super) fn mul(&self, a: Approx, b: Approx) -> Approx {
        self.rounded(a.value * b.value, of_product(a, b))
    }

    pub(super) fn div(&self, a: Approx, b: Approx) -> Approx {
        let value = a.value / b.value;
        let inherited = match a.error + b.error {
            0.0 => 0.0,
            // A divisor that may be 0 makes anything.
            _ if b.error >= b.value.abs() || a.error == f64::INFINITY => f64::INFINITY,
            _ => (a.error + value.abs() * b.error) / (b.value.abs() - b.error),
        };
        self.rounded(value, inherited)
    }

    /// An argument of a function, up to where both ends are for certain; one that is exact stays so.
    pub(super) fn widened(&self, of: Approx) -> Approx {
        let ends = if of.error == 0.0 { 0.0 } else { self.ends * of.value.abs() };
        Approx { error: of.error + ends, ..of }
    }
}

/// How an element type rounds what is stored.
pub(crate) struct Rounding {
    /// The largest relative error: u/(1 + u) with the unit roundoff u.
    pub(crate) relative: f64,
    /// The largest error of what is subnormal: half of the smallest number.
    pub(crate) absolute: f64,
    /// The first power of two that is stored as infinity, if sums of ordinary numbers reach it.
    pub(crate) overflow: Option<f64>,
}

/// The rounding of an element type in a nest that computes in another one; none: stored as it is computed.
pub(crate) fn rounding(dtype: DType, computes: DType) -> Option<Rounding> {
    let (significant, smallest, overflow) = match dtype {
        same if same == computes => return None,
        DType::F64 | DType::U8 | DType::I8 | DType::I32 => return None,
        DType::F32 => (24, -149, None),
        DType::F16 => (11, -24, Some(65536.0)),
        DType::BF16 => (8, -133, None),
    };
    let u = 2f64.powi(-significant);
    Some(Rounding { relative: u / (1.0 + u), absolute: 2f64.powi(smallest - 1), overflow })
}

/// A result as bounds are compared with it: an infinite `f16` as 2¹⁶, where its numbers would go on. The oracles end
/// there, too, so that infinity is right where the exact value, within its bound, is too large for an `f16`, and only there.
pub fn comparable(dtype: DType, result: f64) -> f64 {
    match rounding(dtype, DType::F32).and_then(|rounding| rounding.overflow) {
        Some(overflow) => result.clamp(-overflow, overflow),
        None => result,
    }
}

/// A nest may compute infinities and NaN from finite inputs, by a division, a root, a logarithm or the maximum of nothing; then so
/// must its kernels.
pub(crate) fn same_special(found: f64, expected: f64) -> bool {
    (found.is_nan() && expected.is_nan()) || found == expected
}

/// A value and how far the nest's arithmetic may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approx {
    /// The value in double precision.
    pub value: f64,
    /// The bound of the absolute error.
    pub error: f64,
}

impl Approx {
    /// A value that is held exactly.
    pub fn exact(value: f64) -> Approx {
        Approx { value, error: 0.0 }
    }

    /// The value after it is stored to an element of a type, by a nest that computes in another one.
    pub(super) fn stored(self, dtype: DType, computes: DType) -> Approx {
        let Some(Rounding { relative, absolute, overflow }) = rounding(dtype, computes) else { return self };
        let limit = overflow.unwrap_or(f64::INFINITY);
        let [value, low, high] =
            [self.value, self.value - self.error, self.value + self.error].map(|x| x.clamp(-limit, limit));
        let error = (value - low).max(high - value);
        Approx { value, error: error + relative * (value.abs() + error) + absolute }
    }

    /// Whether a result of a nest that computes in a type, made [`comparable`], is within the bound.
    pub fn admits(self, computes: DType, result: f64) -> bool {
        let floor = 2f64.powi(Precision::of(computes).floor());
        (result - self.value).abs() <= self.error + floor || same_special(result, self.value)
    }
}

/// How far a product is off, whose factors are. What may be anything may be so times what is exact, or 0, too.
pub(super) fn of_product(a: Approx, b: Approx) -> f64 {
    match a.error + b.error {
        f64::INFINITY => f64::INFINITY,
        _ => a.value.abs() * b.error + b.value.abs() * a.error + a.error * b.error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(exact: f64, dtype: DType, result: f64) -> bool {
        Approx::exact(exact).stored(dtype, DType::F32).admits(DType::F32, comparable(dtype, result))
    }

    #[test]
    fn an_f16_overflows_where_its_numbers_end_and_only_there() {
        for (exact, number, infinity) in [
            (60_000.0, 60_000.0, false),
            (65_519.0, 65_504.0, true),
            (65_536.0, 65_504.0, true),
            (-65_536.0, -65_504.0, true),
        ] {
            let infinite = f64::INFINITY.copysign(number);
            assert_eq!(admits(exact, DType::F16, infinite), infinity, "{exact}");
            assert_eq!(admits(exact, DType::F16, number), f64::abs(exact) < 65_520.0, "{exact}");
            assert!(!admits(exact, DType::F16, -infinite) && !admits(exact, DType::F16, f64::NAN), "{exact}");
        }
        let unsure = Approx { value: 65_530.0, error: 100.0 }.stored(DType::F16, DType::F32);
        assert!(
            unsure.admits(DType::F32, comparable(DType::F16, f64::INFINITY)) && unsure.admits(DType::F32, 65_440.0)
        );
        assert!(admits(1e10, DType::F16, f64::INFINITY) && !admits(1e10, DType::F16, 65_504.0));
        assert!(!admits(1e10, DType::BF16, f64::INFINITY));
    }

    #[test]
    fn a_store_may_be_off_by_half_a_place() {
        for (dtype, place) in [(DType::F16, 1.0 / 1024.0), (DType::BF16, 1.0 / 128.0)] {
            assert!(admits(1.0 + 0.49 * place, dtype, 1.0));
            assert!(!admits(1.0 + 0.52 * place, dtype, 1.0));
        }
        let smallest = 2f64.powi(-24);
        assert!(admits(0.4 * smallest, DType::F16, 0.0), "it is rounded to nothing");
        assert!(!admits(0.4 * smallest, DType::F16, smallest), "it is not rounded up");
        assert!(!admits(1.0 + 2f64.powi(-30), DType::F32, 1.0), "an f32 is stored as it is");
        let tiny = Approx::exact(1e-100);
        assert!(
            tiny.admits(DType::F32, 0.0) && !tiny.admits(DType::F64, 0.0),
            "an f64 is far from its smallest number"
        );
    }
}
