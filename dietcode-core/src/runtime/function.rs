//! Functions of elements that Rust's floats do not have as a nest means them: what `<kernel>::reference` calls in their place.

/// A type that nests compute in.
pub trait Float: Copy + PartialOrd {
    /// The error function.
    fn erf(self) -> Self;
}

impl Float for f32 {
    fn erf(self) -> f32 {
        libm::erff(self)
    }
}

impl Float for f64 {
    fn erf(self) -> f64 {
        libm::erf(self)
    }
}

/// The error function, 2/√π · ∫₀ˣ exp(−t²) dt: what `x.erf()` is in a nest.
pub fn erf<T: Float>(x: T) -> T {
    T::erf(x)
}

/// What `x.clamp(low, high)` is in a nest: `low` if `x` is below it, then `high` if that is above it.
///
/// It is Rust's `clamp` where that does not panic: NaN stays NaN. A bound that is NaN does not bind, and if `low` is above `high`,
/// the result is at most `high`.
pub fn clamp<T: Float>(x: T, low: T, high: T) -> T {
    let raised = if x < low { low } else { x };
    if raised > high { high } else { raised }
}

/// A float between whose 24 significant bits and `x` no number of 22 bits or less lies: the last bit is set unless the float is `x` itself. Rounded to
/// one of 16 bits it is what `x` is, rounded once, as `f16::from_f64(x)` is in a nest; the crate half rounds to 24 bits first.
pub fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    if f64::from(nearest) == x || x.is_nan() {
        return nearest;
    }
    let is_beyond = f64::from(nearest).abs() > x.abs();
    f32::from_bits((nearest.to_bits() - u32::from(is_beyond)) | 1)
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::{clamp, erf, to_odd};

    #[test]
    fn a_double_is_rounded_to_16_bits_once() {
        // Ties, and what is next to them: by less than a float holds.
        let numbers = |bits: &dyn Fn(u16) -> f64| {
            let pairs = (0..0x7bff).map(|at| (bits(at), bits(at + 1)));
            pairs.flat_map(|(low, high)| [(low, f64::midpoint(low, high), high)]).collect::<Vec<_>>()
        };
        for (low, tie, high) in numbers(&|bits| f16::from_bits(bits).to_f64()) {
            let rounded = |x: f64| f16::from_f32(to_odd(x)).to_f64();
            assert_eq!((rounded(tie.next_down()), rounded(tie.next_up())), (low, high), "{tie}");
            assert_eq!((rounded(-tie.next_down()), rounded(-tie.next_up())), (-low, -high), "{tie}");
            assert_eq!((rounded(low), rounded(tie)), (low, f16::from_f64(tie).to_f64()), "{tie}");
        }
        for (low, tie, high) in numbers(&|bits| bf16::from_bits(bits).to_f64()) {
            let rounded = |x: f64| bf16::from_f32(to_odd(x)).to_f64();
            assert_eq!((rounded(tie.next_down()), rounded(tie.next_up())), (low, high), "{tie}");
        }
        for x in [f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 0.0, -0.0, 1e-300, -1e-300] {
            assert_eq!(f16::from_f32(to_odd(x)).to_bits(), f16::from_f64(x).to_bits(), "{x}");
            assert_eq!(bf16::from_f32(to_odd(x)).to_bits(), bf16::from_f64(x).to_bits(), "{x}");
        }
        assert!(to_odd(f64::NAN).is_nan());
    }

    #[test]
    fn clamping_is_that_of_f32_and_never_panics() {
        let numbers = [f32::NAN, f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f32::INFINITY];
        for x in numbers {
            for low in numbers {
                for high in numbers {
                    let found = clamp(x, low, high);
                    if low <= high {
                        assert_eq!(found.to_bits(), x.clamp(low, high).to_bits(), "{x} in {low} to {high}");
                    } else if low > high {
                        assert!(found <= high || x.is_nan(), "{x} in {low} to {high}: {found}");
                    }
                }
            }
        }
        assert_eq!((clamp(3.0, f32::NAN, 2.0), clamp(1.0, f32::NAN, 2.0), clamp(1.0, 2.0, f32::NAN)), (2.0, 1.0, 2.0));
    }

    /// Abramowitz and Stegun, *Handbook of Mathematical Functions*, table 7.1.
    #[test]
    fn the_error_function_is_that_of_the_tables() {
        for (x, expected) in [(0.0f32, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (6.0, 1.0)] {
            assert!((erf(x) - expected).abs() <= f32::EPSILON && erf(-x) == -erf(x), "{x}: {}", erf(x));
        }
        assert!(erf(f32::NAN).is_nan() && erf(f32::INFINITY) == 1.0);
        assert!((erf(0.5f64) - 0.520_499_877_813_046_5).abs() <= f64::EPSILON);
    }
}
