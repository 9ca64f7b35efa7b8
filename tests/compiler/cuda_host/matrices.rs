//! `ldmatrix` against its definition, and `mma` against a product in f64.

use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::emulator::{Kernels, args};

const WARP: (u32, u32, u64) = (1, 32, 1024);

#[test]
fn ldmatrix_hands_each_lane_its_elements() {
    let kernels = Kernels::of("ldmatrix");
    let mut rng = StdRng::seed_from_u64(5);
    for (symbol, count, trans) in [("x4", 4, false), ("x4_trans", 4, true), ("x2", 2, false), ("x2_trans", 2, true)] {
        let tile: Vec<u16> = (0..64 * count as u16).collect();
        let mut rows: Vec<i32> = (0..8 * count as i32).collect();
        rows.shuffle(&mut rng);
        rows.resize(32, 0);
        // Two warps, so that the second one's lanes are not its threads.
        let mut to = vec![0u32; 64 * count];
        let launch = (1, 64, 128 * count as u64);
        kernels.launch(symbol, launch, args![&mut to[..], &tile[..], &rows[..]]).unwrap();
        let element = |m: usize, row: usize, column: usize| u32::from(tile[rows[8 * m + row] as usize * 8 + column]);
        for (thread, m) in (0..64).flat_map(|thread| (0..count).map(move |m| (thread, m))) {
            let (outer, inner) = (thread % 32 / 4, thread % 32 % 4 * 2);
            let [low, high] =
                [inner, inner + 1].map(|i| if trans { element(m, i, outer) } else { element(m, outer, i) });
            assert_eq!(to[thread * count + m], low | high << 16, "{symbol}: thread {thread}, matrix {m}");
        }
    }
}

/// A matrix of random numbers that the element type has exactly, row by row.
fn random(rng: &mut StdRng, rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|_| rng.random_range(-64..64) as f32 / 32.0).collect()
}

fn transposed(matrix: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| matrix.iter().skip(column).step_by(columns).copied()).collect()
}

/// c + a · b; all sums of such numbers are exact in f32, so that no order of additions matters.
fn product(c: &[f32], a: &[f32], b: &[f32], k: usize) -> Vec<f32> {
    let element = |i: usize, j: usize| {
        let sum: f64 = (0..k).map(|k_at| f64::from(a[i * k + k_at]) * f64::from(b[k_at * 8 + j])).sum();
        (f64::from(c[i * 8 + j]) + sum) as f32
    };
    (0..16 * 8).map(|at| element(at / 8, at % 8)).collect()
}

fn check<T: Copy>(kernels: &Kernels, symbol: &str, convert: fn(f32) -> T) {
    let mut rng = StdRng::seed_from_u64(6);
    let [mut c, a, b] = [(16, 8), (16, 16), (16, 8)].map(|(rows, columns)| random(&mut rng, rows, columns));
    let expected = product(&c, &a, &b, 16);
    let a = if symbol.starts_with('t') { transposed(&a, 16) } else { a };
    let b = if symbol[1..].starts_with('t') { transposed(&b, 8) } else { b };
    let [a, b] = [a, b].map(|matrix| Aligned::of(&matrix, convert));
    kernels.launch(symbol, WARP, args![&mut c[..], &a.0[..], &b.0[..]]).unwrap();
    assert_eq!(c, expected, "{symbol}");
}

/// Room for a matrix whose rows are aligned to 16 bytes.
#[repr(align(16))]
struct Aligned<T>([T; 256]);

impl<T: Copy> Aligned<T> {
    fn of(matrix: &[f32], convert: fn(f32) -> T) -> Self {
        Aligned(std::array::from_fn(|i| convert(matrix.get(i).copied().unwrap_or(f32::NAN))))
    }
}

#[test]
fn a_warp_multiplies_matrices_of_16_bits_in_every_layout() {
    let kernels = Kernels::of("mma");
    for symbol in ["elements_f16", "nn_f16", "nt_f16", "tn_f16", "tt_f16"] {
        check(kernels, symbol, f16::from_f32);
    }
    for symbol in ["elements_bf16", "nn_bf16", "nt_bf16"] {
        check(kernels, symbol, bf16::from_f32);
    }
}

#[test]
fn products_of_16_bits_are_exact() {
    // Neither 2049² nor the like fits 16 bits; in f32 it does.
    let kernels = Kernels::of("mma");
    let mut c = [0.0f32; 128];
    let a = Aligned::of(&[2047.0; 256], f16::from_f32);
    let b = Aligned::of(&transposed(&[[2047.0; 8], [-2046.0; 8]].concat().repeat(8), 8), f16::from_f32);
    kernels.launch("nt_f16", WARP, args![&mut c[..], &a.0[..], &b.0[..]]).unwrap();
    assert_eq!(c, [8.0 * 2047.0; 128]);
}

#[test]
fn a_warp_multiplies_in_tf32_what_was_rounded_and_nothing_else() {
    let kernels = Kernels::of("mma");
    let mut rng = StdRng::seed_from_u64(7);
    let [mut c, mut a, b] = [(16, 8), (16, 8), (8, 8)].map(|(rows, columns)| random(&mut rng, rows, columns));
    let expected = product(&c, &a, &b, 8);
    kernels.launch("tf32", WARP, args![&mut c[..], &a[..], &b[..], 0]).unwrap();
    assert_eq!(c, expected);
    a[3] = 1.0 + f32::EPSILON;
    kernels.launch("tf32", WARP, args![&mut c[..], &a[..], &b[..], 1]).unwrap();
    let error = kernels.launch("tf32", WARP, args![&mut c[..], &a[..], &b[..], 0]).unwrap_err();
    assert!(error.contains("thread (3,0,0): an operand of mma (0x3f800001, 1.00000012) was not rounded"), "{error}");
}
