//! Tiles over threads: the same bits, whoever calls, from wherever.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use dietcode_core::abi::{Array, MicroKernel, Phase, Table};
use dietcode_core::runtime::{Kernel, TableSource, launch, with_threads};
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
    static PHASES: [Phase; 1] = [Phase { grid, run: count }];
    let micro_kernel = fake::row(c"count", &PHASES);
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

/// Threes of numbers leave their sums in the workspace, whose size is that of the shape.
unsafe extern "C" fn threes(_: *const i64) -> i64 {
    3
}

unsafe extern "C" fn leave(
    buffers: *const *mut c_void,
    _: *const i64,
    shape: *const i64,
    _: *mut c_void,
    begin: i64,
    end: i64,
) {
    // SAFETY: the output and, behind it, the workspace; the variable of the shape and, behind it, the parameter.
    unsafe {
        let (parts, [len, scale]) = ((*buffers.add(1)).cast::<i64>(), [0, 1].map(|at| *shape.add(at)));
        for part in begin..end {
            for at in 0..len {
                *parts.offset((part * len + at) as isize) = scale * at;
            }
        }
    }
}

unsafe extern "C" fn meet(
    buffers: *const *mut c_void,
    _: *const i64,
    shape: *const i64,
    _: *mut c_void,
    begin: i64,
    end: i64,
) {
    // SAFETY: as above; the first phase has ended.
    unsafe {
        let (y, parts, len) = ((*buffers).cast::<i64>(), (*buffers.add(1)).cast::<i64>(), *shape);
        for at in begin..end {
            *y.offset(at as isize) = (0..3).map(|part| *parts.offset((part * len + at) as isize)).sum();
        }
    }
}

unsafe extern "C" fn parts_bytes(shape: *const i64) -> i64 {
    // SAFETY: the shape has one variable.
    24 * unsafe { *shape }
}

/// The phases of a row come one after the other, share a workspace that is as large as the shape asks for, and take the row's
/// parameters behind the shape.
#[test]
fn phases_share_a_workspace_and_take_parameters() {
    static PHASES: [Phase; 2] = [Phase { grid: threes, run: leave }, Phase { grid, run: meet }];
    let row = |scale: &'static [i64]| MicroKernel {
        workspace_bytes: Some(parts_bytes),
        parameters: Array::new(scale),
        ..fake::row(c"in_two_phases", &PHASES)
    };
    for (row, scale) in [(row(&[2]), 2), (row(&[7]), 7)] {
        for (len, threads) in [(1, 1), (5, 2), (5_000, 3), (300, 1)] {
            let mut y = vec![-1_i64; len as usize];
            // SAFETY: the output has an element for each of the shape.
            unsafe { launch(&row, &[y.as_mut_ptr().cast()], &[1], &[len], threads).unwrap() };
            assert!(y.iter().enumerate().all(|(at, y)| *y == 3 * scale * at as i64), "{len} on {threads} threads");
        }
    }
    // SAFETY: nothing is called.
    let refused = unsafe { launch(&row(&[1]), &[], &[], &[1 << 40], 2) }.unwrap_err().to_string();
    assert!(refused.contains("asks for 26388279066624 bytes of workspace; 0 to 17179869184 are possible"), "{refused}");
}

/// What dispatch picks for shapes that it was not tuned for must not take the machine's memory.
#[test]
fn a_row_with_a_large_workspace_is_replaced_by_the_one_with_the_smallest() {
    unsafe extern "C" fn per_output(shape: *const i64) -> i64 {
        // SAFETY: a shape of `dense` has three variables.
        unsafe { 64 * *shape * *shape.add(2) }
    }
    static PHASES: [Phase; 2] = [Phase { grid: threes, run: leave }, Phase { grid, run: meet }];
    static TABLE: Table = {
        static WHOLE: MicroKernel = fake::row(c"whole", &PHASES);
        static PARTS: MicroKernel = MicroKernel { workspace_bytes: Some(per_output), ..fake::row(c"parts", &PHASES) };
        Table::new(&[&PARTS, &WHOLE])
    };
    static LINKED: TableSource = TableSource::Linked(&TABLE);
    let kernel = Kernel { signature: fake::DENSE, table: &LINKED, dispatch: |_| 0, cuda: fake::GOOD.cuda };
    // 256 MiB, and 64 bytes more.
    for (shape, row) in [([2048, 7, 2048], 0), ([4_194_305, 7, 1], 1)] {
        assert!(std::ptr::eq(kernel.selected(&shape).unwrap(), TABLE.as_slice()[row]), "{shape:?}");
    }
}
