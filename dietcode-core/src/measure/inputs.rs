//! The elements of inputs: fresh and random, and the same for everyone who has the seed.

use dietcode_syntax::DType;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Instance;

/// The elements that a parameter has before a call, without end: random, unless it is a scalar whose value is given.
pub(super) fn elements(instance: &Instance, seed: u64, param: usize) -> impl Iterator<Item = f64> {
    let given = instance.scalars.get(param).copied().flatten();
    let near_one = |number: f64| number.signum() * (1.0 + number / 16.0);
    let is_integer = instance.dtypes[param].is_integer();
    let random = random(seed, param, instance.dtypes[param]).map(move |number| match instance.multiplies {
        true if is_integer => number.signum(),
        true => near_one(number),
        false => number,
    });
    random.map(move |number| given.unwrap_or(number))
}

/// Uniform in [-1, 1), or of all integers, but never zero, also not as a number of 16 bits: a zero hides what multiplies it. Numbers have as many
/// bits as the type.
fn random(seed: u64, param: usize, dtype: DType) -> impl Iterator<Item = f64> {
    let mut rng = StdRng::seed_from_u64(seed ^ (param as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut number = move || match dtype {
        DType::F64 => rng.random_range(-1.0f64..1.0),
        DType::F32 | DType::F16 | DType::BF16 => rng.random_range(-1.0f32..1.0).into(),
        DType::U8 => rng.random_range(1..=u8::MAX).into(),
        DType::I8 => rng.random_range(i8::MIN..=i8::MAX).into(),
        DType::I32 => rng.random_range(-(1 << 20)..1 << 20).into(),
    };
    std::iter::repeat_with(move || match number() {
        0.0 if dtype.is_integer() => 1.0,
        0.0 => 0.5,
        other => other,
    })
}
