//! How far the functions of `dietcode_math.h` are off: not farther than its table says, in a float and in each lane of a vector.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dietcode_core::codegen::DIETCODE_H;
use dietcode_core::machine::Toolchain;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::library::library;
use crate::common::settings;

/// Of every how many floats one is tried, if not all are.
const STEP: u64 = 4099;
/// How many pairs of a base and an exponent are tried.
const PAIRS: usize = 1 << 20;

/// As in `accuracy.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    ulps: f64,
    wrong: u64,
    differing: u64,
    worst: [f32; 2],
    wrong_at: [f32; 2],
    differing_at: [f32; 2],
}

type Range = unsafe extern "C" fn(*mut Found, u64, u64);
type Try = unsafe extern "C" fn(*mut Found, *const f32, *const f32, u64);

/// The rows of the header's table: the function, and the largest errors with fused multiply-adds and without.
fn table() -> Vec<(&'static str, [f64; 2])> {
    let rows = DIETCODE_H.split_once("fused  not fused\n").expect("the header has the table").1.lines();
    rows.map_while(|row| {
        let mut words = row.trim_start_matches(" *").split_whitespace();
        let name = words.next()?;
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{row}"));
        Some((name, [number(), number()]))
    })
    .collect()
}

/// For what this machine carries out: with fused multiply-adds and without, with vectors of several widths.
pub(super) fn marches() -> impl Iterator<Item = &'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        ["native", "x86-64"].into_iter().chain(avx2.then_some("x86-64-v3"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    ["native"].into_iter()
}

fn toolchains() -> Vec<Toolchain> {
    marches().map(|march| Toolchain::find(march).expect("a C compiler")).collect()
}

fn compile(toolchain: &Toolchain) -> libloading::Library {
    library(toolchain, include_str!("accuracy.c"), &[])
}

/// Floats at which functions turn: of each exponent and sign the first, the last and some between.
fn turns() -> Vec<f32> {
    let mantissas = [0, 1, 2, 0x20_0000, 0x2a_aaab, 0x35_04f3, 0x40_0000, 0x7f_fffe, 0x7f_ffff];
    (0..512u32).flat_map(|high| mantissas.map(|low| f32::from_bits(high << 23 | low))).collect()
}

/// Pairs for a power: of special numbers all, then of any floats, of small exponents, and such that the power is a number.
fn pairs() -> [Vec<f32>; 2] {
    let special = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        1.5,
        33.0,
        127.0,
        149.0,
        1e-45,
        1e-40,
        1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        1.0 - f32::EPSILON / 2.0,
        1.0 + f32::EPSILON,
        8_388_607.5,
        8_388_609.0,
        16_777_215.0,
        16_777_216.0,
    ];
    let special: Vec<f32> = special.into_iter().flat_map(|x: f32| [x, -x]).collect();
    let [mut bases, mut exponents]: [Vec<f32>; 2] =
        [special.iter().flat_map(|x| vec![*x; special.len()]).collect(), special.repeat(special.len())];
    let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
    while bases.len() < PAIRS {
        let any = f32::from_bits(rng.random());
        let near: f32 = 1.0 + rng.random_range(-1.0..1.0f32) * 10f32.powi(-rng.random_range(0..7));
        let of = |base: f32, rng: &mut StdRng| rng.random_range(-151.0..129.0f64) / f64::from(base).abs().log2();
        let (base, exponent) = match rng.random_range(0..4) {
            0 => (any, f32::from_bits(rng.random())),
            1 => (rng.random_range(-1000..1000) as f32, rng.random_range(-60..60) as f32 / 2.0),
            2 => (any.abs(), of(any, &mut rng) as f32),
            _ => (near.abs(), of(near, &mut rng) as f32),
        };
        bases.push(base);
        exponents.push(exponent);
    }
    let whole = bases.len() / 16 * 16;
    [bases, exponents].map(|mut all| {
        all.truncate(whole);
        all
    })
}

/// What is found of a function by trying each of `turns` and every `step`th float, from another one each day, or `pairs`.
fn found(library: &libloading::Library, name: &str, [turns, bases, exponents]: [&[f32]; 3], step: u64) -> Found {
    let (mut found, symbol) = (Found::default(), |kind: &str| format!("{kind}_{name}"));
    // SAFETY: the functions are those of `accuracy.c`, and all tables are as long as they are told, a multiple of 16.
    unsafe {
        let table = library.get::<Try>(symbol("try").as_bytes()).expect("the library has it");
        if name == "pow" {
            table(&raw mut found, bases.as_ptr(), exponents.as_ptr(), bases.len() as u64);
        } else {
            table(&raw mut found, turns.as_ptr(), turns.as_ptr(), turns.len() as u64);
            let range = library.get::<Range>(symbol("range").as_bytes()).expect("the library has it");
            range(&raw mut found, settings::seed_of_the_day() % step, step);
        }
    }
    found
}

/// With `DIETCODE_ALL=1` of each float; `--nocapture` prints what is found.
#[test]
fn functions_are_as_accurate_as_the_header_says() {
    let (table, turns, [bases, exponents]) = (table(), turns(), pairs());
    let inputs = [&*turns, &*bases, &*exponents];
    let step = if settings::all() { 1 } else { STEP };
    for toolchain in toolchains() {
        let library = compile(&toolchain);
        let (next, cores) = (AtomicUsize::new(0), thread::available_parallelism().map_or(1, usize::from));
        let work = || {
            while let Some((name, largest)) = table.get(next.fetch_add(1, Ordering::Relaxed)) {
                let found = found(&library, name, inputs, step);
                let march = toolchain.march();
                println!("{march} {name} {:.3} at {:e} {:e}", found.ulps, found.worst[0], found.worst[1]);
                let largest = largest[usize::from(!toolchain.macros().defines("__FMA__"))];
                assert!(found.ulps <= largest && largest <= 2.0, "{march} {name}, at most {largest}: {found:?}");
                assert!(found.wrong == 0 && found.differing == 0, "{march} {name}: {found:?}");
            }
        };
        thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    }
    assert_eq!(table.len(), 9);
}
