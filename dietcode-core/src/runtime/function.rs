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

#[cfg(test)]
mod tests {
    use super::{clamp, erf};

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
