//! What becomes of each function, a row each: its name in generated code, its value, how far off it may be, what it costs.

use super::Function;

/// What the stages behind the front end know of a function.
pub(crate) struct Row {
    pub(crate) name: Name,
    /// Its value in double precision.
    pub(crate) value: fn(&[f64]) -> f64,
    pub(crate) spread: Spread,
    /// How many units in the last place an implementation for `f32` is off at most, a unit being 2⁻²³ of the value.
    pub(crate) ulps: f64,
    /// Instructions on elements.
    pub(crate) instructions: f64,
}

/// What a function is called in generated code.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// An operator in front of its argument.
    Sign(&'static str),
    /// By the C library, for `double`; `f` is appended for `float`.
    Libm(&'static str),
    /// By `dietcode.h` and `dietcode.cuh`, behind `dietcode_`, for `double`; `f` is appended for `float`.
    Own(&'static str),
}

/// How far the exact result is off where the arguments are.
#[derive(Clone, Copy)]
pub(crate) enum Spread {
    /// At most as far as the argument that is off most: no slope is larger than 1.
    Widest,
    /// The function never falls: up to its values at both ends of where the argument may be, but not below this number, where it
    /// begins.
    Monotone(f64),
    /// That of a · b + c.
    Fused,
    /// That of aᵇ, whose magnitude rises or falls with each argument: up to the powers at the ends of where both may be, and on
    /// the other side of zero if the base may be there.
    Power,
}

/// Instructions that a function of the C library is made of.
const LIBRARY: f64 = 16.0;

/// The row of a function.
///
/// Units in the last place are upper bounds of what is documented. For devices, NVIDIA's "CUDA C++ Programming Guide" has a table
/// of single-precision functions: at most 2 beyond the rounding, and 8 for `powf` (4 in later versions). The C libraries are
/// below that: the largest error is 2.2, of `tanhf` (Zimmermann et al., "Accuracy of Mathematical Functions in Single, Double,
/// Double Extended, and Quadruple Precision", hal-03141101). `powi` rounds as often as its exponent is large: there it is what
/// one of these roundings may be off.
pub(crate) fn row(function: Function) -> Row {
    use Name::{Libm, Own, Sign};
    use Spread::{Fused, Monotone, Power, Widest};
    const ALL: Spread = Monotone(f64::NEG_INFINITY);
    match function {
        Function::Neg => of(Sign("-"), |a| -a[0], Widest, 0.0, 1.0),
        Function::Abs => of(Libm("fabs"), |a| a[0].abs(), Widest, 0.0, 1.0),
        Function::Max => of(Own("max"), |a| a[0].max(a[1]), Widest, 0.0, 1.0),
        Function::Min => of(Own("min"), |a| a[0].min(a[1]), Widest, 0.0, 1.0),
        Function::Clamp => of(Own("clamp"), |a| clamp(a[0], a[1], a[2]), Widest, 0.0, 2.0),
        Function::Floor => of(Libm("floor"), |a| a[0].floor(), ALL, 0.0, 1.0),
        Function::Ceil => of(Libm("ceil"), |a| a[0].ceil(), ALL, 0.0, 1.0),
        Function::Round => of(Libm("round"), |a| a[0].round(), ALL, 0.0, 2.0),
        Function::Sqrt => of(Libm("sqrt"), |a| a[0].sqrt(), Monotone(0.0), 0.5, LIBRARY),
        Function::Exp => of(Libm("exp"), |a| a[0].exp(), ALL, 3.0, LIBRARY),
        Function::Exp2 => of(Libm("exp2"), |a| a[0].exp2(), ALL, 3.0, LIBRARY),
        Function::ExpM1 => of(Libm("expm1"), |a| a[0].exp_m1(), ALL, 3.0, LIBRARY),
        Function::Ln => of(Libm("log"), |a| a[0].ln(), Monotone(0.0), 3.0, LIBRARY),
        Function::Log2 => of(Libm("log2"), |a| a[0].log2(), Monotone(0.0), 3.0, LIBRARY),
        Function::Ln1p => of(Libm("log1p"), |a| a[0].ln_1p(), Monotone(-1.0), 3.0, LIBRARY),
        Function::Tanh => of(Libm("tanh"), |a| a[0].tanh(), ALL, 3.0, LIBRARY),
        Function::Erf => of(Libm("erf"), |a| libm::erf(a[0]), ALL, 3.0, LIBRARY),
        Function::Sin => of(Libm("sin"), |a| a[0].sin(), Widest, 3.0, LIBRARY),
        Function::Cos => of(Libm("cos"), |a| a[0].cos(), Widest, 3.0, LIBRARY),
        Function::Powi => of(Own("powi"), |a| a[0].powf(a[1]), Power, 0.5, 4.0),
        Function::Powf => of(Libm("pow"), |a| a[0].powf(a[1]), Power, 9.0, 2.0 * LIBRARY),
        Function::MulAdd => of(Libm("fma"), |a| a[0].mul_add(a[1], a[2]), Fused, 0.5, 1.0),
    }
}

fn of(name: Name, value: fn(&[f64]) -> f64, spread: Spread, ulps: f64, instructions: f64) -> Row {
    Row { name, value, spread, ulps, instructions }
}

/// As [`Function::Clamp`] says.
fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}
