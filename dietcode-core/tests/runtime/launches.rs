//! Tiles over threads: the same bits, whoever calls, from wherever.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use dietcode_core::abi::MicroKernel;
use dietcode_core::runtime::{launch, with_threads};
use rayon::prelude::*;

use crate::fake::{self, call_shapes, expected};

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let bits = |threads| with_threads(threads, || call_shapes(&fake::GOOD, &[67, 31], &[17, 31], &[67, 17]).unwrap());
    let one = bits(1);
    assert_eq!(one, expected(67, 31, 17));
    for threads in 2..=8 {
        let same = bits(threads).iter().zip(&one).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "{threads} threads");
    }
}

#[test]
fn many_threads_may_call_at_once() {
    let good = expected(33, 9, 8);
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let good = &good;
            scope.spawn(move || {
                for _ in 0..50 {
                    let y = with_threads(1 + caller % 4, || call_shapes(&fake::GOOD, &[33, 9], &[8, 9], &[33, 8]));
                    assert_eq!(y.unwrap(), *good);
                }
            });
        }
    });
}

#[test]
fn calls_may_come_from_inside_a_rayon_pool() {
    let good = expected(33, 9, 8);
    (0..200_usize).into_par_iter().for_each(|_| {
        let nested = || with_threads(3, || call_shapes(&fake::GOOD, &[33, 9], &[8, 9], &[33, 8]).unwrap());
        let (a, b) = rayon::join(nested, nested);
        assert_eq!((a, b), (good.clone(), good.clone()));
    });
}

static TILES: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn grid(shape: *const i64) -> i64 {
    // SAFETY: the shape has one variable.
    unsafe { *shape }
}

unsafe extern "C" fn count(_: *const *mut c_void, _: *const i64, _: *const i64, _: *mut c_void, begin: i64, end: i64) {
    assert!(0 <= begin && begin < end);
    CALLS.fetch_add(1, Ordering::Relaxed);
    TILES.fetch_add((begin..end).sum::<i64>() + (end - begin), Ordering::Relaxed);
}

#[test]
fn every_tile_is_carried_out_once_in_few_pieces() {
    let micro_kernel = MicroKernel { name: c"count".as_ptr(), cpu_features: 0, scratch_bytes: 0, grid, run: count };
    for tiles in [1, 2, 5, 36, 48, 1_000_000] {
        for threads in [1, 2, 3, 7] {
            TILES.store(0, Ordering::Relaxed);
            CALLS.store(0, Ordering::Relaxed);
            // SAFETY: the micro-kernel touches no memory.
            unsafe { launch(&micro_kernel, &[], &[], &[tiles], threads).unwrap() };
            assert_eq!(TILES.load(Ordering::Relaxed), tiles * (tiles + 1) / 2, "{tiles} tiles, {threads} threads");
            assert!(CALLS.load(Ordering::Relaxed) < 2_000);
        }
    }
    // A shape without tiles runs nothing.
    TILES.store(0, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { launch(&micro_kernel, &[], &[], &[-3], 2).unwrap() };
    assert_eq!(TILES.load(Ordering::Relaxed), 0);
}
