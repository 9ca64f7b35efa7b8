//! The functions of elements, a row each: what every stage calls them, and how many arguments they take.
//!
//! A new one is a row here, and a row of what becomes of it in `dietcode_core::ir`.

use std::fmt::{self, Display, Formatter};

/// Declares [`Function`] from rows of `Variant method(receiver, arguments);`.
macro_rules! functions {
    ($($(#[$doc:meta])+ $function:ident $name:ident($($argument:ident),+);)+) => {
        /// The methods a nest may call, with Rust's meaning of each, and the sign.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$doc])+ $function,)+
        }

        impl Function {
            /// All of them.
            pub const ALL: &[Function] = &[$(Function::$function),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Function::$function => stringify!($name),)+
                }
            }

            /// How many arguments it takes, the receiver among them.
            pub const fn arity(self) -> usize {
                match self {
                    $(Function::$function => [$(stringify!($argument)),+].len(),)+
                }
            }
        }
    };
}

functions! {
    /// `-a`, which a nest writes as an operator.
    Neg neg(a);
    /// `a.max(b)`, the other operand if one is NaN.
    Max max(a, b);
    /// `a.min(b)`, the other operand if one is NaN.
    Min min(a, b);
    /// `a.exp()`
    Exp exp(a);
    /// `a.tanh()`
    Tanh tanh(a);
    /// `a.sqrt()`
    Sqrt sqrt(a);
    /// `a.abs()`
    Abs abs(a);
    /// `a.clamp(low, high)`: low where `a` is below it, then high where that is above it. So NaN stays, a bound that is NaN does
    /// not bind, and where the bounds are in the wrong order, which Rust panics at, the result is at most high.
    Clamp clamp(a, low, high);
    /// `a.exp2()`
    Exp2 exp2(a);
    /// `a.exp_m1()`
    ExpM1 exp_m1(a);
    /// `a.ln()`
    Ln ln(a);
    /// `a.log2()`
    Log2 log2(a);
    /// `a.ln_1p()`
    Ln1p ln_1p(a);
    /// `a.sin()`
    Sin sin(a);
    /// `a.cos()`
    Cos cos(a);
    /// `a.erf()`, the error function 2/√π · ∫₀ᵃ exp(−t²) dt, which Rust's `f32` does not have.
    Erf erf(a);
    /// `a.powi(n)`; the exponent is an integer, and a literal.
    Powi powi(a, n);
    /// `a.powf(b)`
    Powf powf(a, b);
    /// `a.mul_add(b, c)`: a · b + c, rounded once.
    MulAdd mul_add(a, b, c);
    /// `a.floor()`
    Floor floor(a);
    /// `a.ceil()`
    Ceil ceil(a);
    /// `a.round()`: halves are rounded away from zero.
    Round round(a);
}

impl Function {
    /// The function that a nest calls by this method.
    pub fn method(name: &str) -> Option<Function> {
        Function::methods().find(|function| function.name() == name)
    }

    /// Those that a nest calls as methods.
    fn methods() -> impl Iterator<Item = Function> {
        Function::ALL.iter().copied().filter(|function| *function != Function::Neg)
    }

    /// `.max() .min() …`, for sentences.
    pub(crate) fn list() -> String {
        Function::methods().map(|function| format!(".{function}()")).collect::<Vec<_>>().join(" ")
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
