//! Lanes of vectors meet half by half, to the bit, however many vectors do so together.

use std::fmt::Debug;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::accuracy::marches;
use super::some_lanes::compile;

/// What has a newer compiler use what the oldest one has.
const GCC_11: &str = "#undef __GNUC__\n#define __GNUC__ 11\n";

type Meet<T> = unsafe extern "C" fn(*mut T, *const T);

/// How many vectors there are, for some numbers of lanes and for one.
const FEW: [usize; 3] = [1, 3, 15];
const MANY: [usize; 7] = [1, 2, 3, 5, 8, 15, 25];

/// The lower half with the upper one, until one is left.
fn met<T: Copy>(lanes: &[T], op: fn(T, T) -> T) -> T {
    match lanes.split_at(lanes.len() / 2) {
        ([], rest) => rest[0],
        (low, high) => met(&low.iter().zip(high).map(|(a, b)| op(*a, *b)).collect::<Vec<_>>(), op),
    }
}

/// An operator by its name, and what it makes of two numbers.
type Operator<T> = (&'static str, fn(T, T) -> T);

fn check<T: Copy + Debug>(
    library: &libloading::Library,
    element: &str,
    (few, many): (&[usize], usize),
    operators: [Operator<T>; 4],
    bits: fn(T) -> u64,
    draw: &mut dyn FnMut() -> T,
) {
    let counts = few.iter().map(|lanes| (*lanes, &FEW[..])).chain([(many, &MANY[..])]);
    for (lanes, count) in counts.flat_map(|(lanes, counts)| counts.iter().map(move |count| (lanes, *count))) {
        for (name, op) in operators {
            let symbol = format!("meet_{name}_{element}x{lanes}_{count}");
            // SAFETY: the functions are of this type.
            let meet = *unsafe { library.get::<Meet<T>>(symbol.as_bytes()) }.expect("it is exported");
            for _ in 0..20 {
                let from: Vec<T> = (0..count * lanes).map(|_| draw()).collect();
                let behind = draw();
                let mut to = vec![behind; count + 1];
                // SAFETY: as many numbers are there as are read and written.
                unsafe { meet(to.as_mut_ptr(), from.as_ptr()) };
                let expected: Vec<T> = from.chunks(lanes).map(|lanes| met(lanes, op)).chain([behind]).collect();
                let same = to.iter().zip(&expected).all(|(a, b)| bits(*a) == bits(*b));
                assert!(same, "{symbol}: {to:?}, not {expected:?}");
            }
        }
    }
}

/// Numbers of both signs, zeros and what is no number: a maximum passes over it, or keeps it, as a scalar one does.
fn float(rng: &mut StdRng) -> f32 {
    match rng.random_range(0..20) {
        0 => f32::NAN,
        1 => -0.0,
        2 => 0.0,
        _ => rng.random_range(-2.0..2.0),
    }
}

#[test]
fn lanes_meet_half_by_half() {
    let compilers = [("gcc", ""), ("gcc", GCC_11), ("clang", "")];
    for ((compiler, begin), march) in compilers.into_iter().flat_map(|of| marches().map(move |march| (of, march))) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = [begin, include_str!("meeting_lanes.c")].concat();
        let library = compile(compiler, march, folder.path(), &source);
        let mut rng = StdRng::seed_from_u64(7);
        // The sign of a NaN that arithmetic makes, and what it carries, is the processor's.
        let bits = |x: f32| u64::from(if x.is_nan() { f32::NAN } else { x }.to_bits());
        let float_operators: [Operator<f32>; 4] = [
            ("add", |a, b| a + b),
            ("mul", |a, b| a * b),
            ("larger", |acc, x| if x > acc { x } else { acc }),
            ("smaller", |acc, x| if x < acc { x } else { acc }),
        ];
        check(&library, "f32", (&[2, 4, 8], 16), float_operators, bits, &mut || float(&mut rng));
        let bits = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
        let double_operators: [Operator<f64>; 4] = [
            ("add", |a, b| a + b),
            ("mul", |a, b| a * b),
            ("larger", |acc, x| if x > acc { x } else { acc }),
            ("smaller", |acc, x| if x < acc { x } else { acc }),
        ];
        check(&library, "f64", (&[4], 8), double_operators, bits, &mut || f64::from(float(&mut rng)) / 3.0);
        let integer_operators: [Operator<i32>; 4] =
            [("add", i32::wrapping_add), ("mul", i32::wrapping_mul), ("larger", i32::max), ("smaller", i32::min)];
        check(&library, "i32", (&[2], 16), integer_operators, |x| u64::from(x.cast_unsigned()), &mut || rng.random());
    }
}
