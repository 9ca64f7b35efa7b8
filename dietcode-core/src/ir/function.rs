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
    /// By the C library, for `double`; `f` is appended for `float`. A CPU's vectors do not have it.
    Libm(&'static str),
    /// By the C library, but an instruction of CPUs, or a few.
    Instruction(&'static str),
    /// By the C library, but for `float` on a CPU by `dietcode_math.h`, behind `dietcode_`.
    Inline(&'static str),
    /// By `dietcode.h` and `dietcode.cuh`, behind `dietcode_`, for `double`; `f` is appended for `float`.
    Own(&'static str),
}

impl Name {
    /// What is the same of it in every language and for every type.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Name::Sign(name) | Name::Libm(name) | Name::Instruction(name) | Name::Inline(name) | Name::Own(name) => {
                name
            }
        }
    }
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

/// Whether generated C has a function for all lanes of a vector at once.
pub(crate) fn has_vectors(function: Function) -> bool {
    !matches!(row(function).name, Name::Libm(_))
}

/// The row of a function.
///
/// Units in the last place are upper bounds of what is documented. For devices, NVIDIA's "CUDA C++ Programming Guide" has a table
/// of single-precision functions: at most 2 beyond the rounding, and 8 for `powf` (4 in later versions). The C libraries are
/// below that: the largest error is 2.2, of `tanhf` (Zimmermann et al., "Accuracy of Mathematical Functions in Single, Double,
/// Double Extended, and Quadruple Precision", hal-03141101), and so is `dietcode_math.h`, which says what was found by trying all
/// numbers. Its instructions are those of a vector of 16 with AVX-512. `powi` rounds as often as its exponent is large: there it is what
/// one of these roundings may be off.
pub(crate) fn row(function: Function) -> Row {
    use Name::{Inline, Instruction, Libm, Own, Sign};
    use Spread::{Fused, Monotone, Power, Widest};
    const ALL: Spread = Monotone(f64::NEG_INFINITY);
    match function {
        Function::Neg => of(Sign("-"), |a| -a[0], Widest, 0.0, 1.0),
        Function::Abs => of(Instruction("fabs"), |a| a[0].abs(), Widest, 0.0, 1.0),
        Function::Max => of(Own("max"), |a| a[0].max(a[1]), Widest, 0.0, 1.0),
        Function::Min => of(Own("min"), |a| a[0].min(a[1]), Widest, 0.0, 1.0),
        Function::Clamp => of(Own("clamp"), |a| clamp(a[0], a[1], a[2]), Widest, 0.0, 2.0),
        Function::Floor => of(Instruction("floor"), |a| a[0].floor(), ALL, 0.0, 1.0),
        Function::Ceil => of(Instruction("ceil"), |a| a[0].ceil(), ALL, 0.0, 1.0),
        Function::Round => of(Instruction("round"), |a| a[0].round(), ALL, 0.0, 3.0),
        Function::Sqrt => of(Instruction("sqrt"), |a| a[0].sqrt(), Monotone(0.0), 0.5, 6.0),
        Function::Exp => of(Inline("exp"), |a| a[0].exp(), ALL, 3.0, 15.0),
        Function::Exp2 => of(Inline("exp2"), |a| a[0].exp2(), ALL, 3.0, 13.0),
        Function::ExpM1 => of(Inline("expm1"), |a| a[0].exp_m1(), ALL, 3.0, 20.0),
        Function::Ln => of(Inline("log"), |a| a[0].ln(), Monotone(0.0), 3.0, 25.0),
        Function::Log2 => of(Inline("log2"), |a| a[0].log2(), Monotone(0.0), 3.0, 29.0),
        Function::Ln1p => of(Inline("log1p"), |a| a[0].ln_1p(), Monotone(-1.0), 3.0, 27.0),
        Function::Tanh => of(Inline("tanh"), |a| a[0].tanh(), ALL, 3.0, 25.0),
        Function::Erf => of(Inline("erf"), |a| libm::erf(a[0]), ALL, 3.0, 29.0),
        Function::Sin => of(Libm("sin"), |a| a[0].sin(), Widest, 3.0, LIBRARY),
        Function::Cos => of(Libm("cos"), |a| a[0].cos(), Widest, 3.0, LIBRARY),
        Function::Powi => of(Own("powi"), |a| a[0].powf(a[1]), Power, 0.5, 4.0),
        Function::Powf => of(Inline("pow"), |a| a[0].powf(a[1]), Power, 9.0, 120.0),
        Function::MulAdd => of(Instruction("fma"), |a| a[0].mul_add(a[1], a[2]), Fused, 0.5, 1.0),
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
