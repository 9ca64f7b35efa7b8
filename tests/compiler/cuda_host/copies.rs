//! Copies and stores: each lane, and nothing else.

use std::fmt::Debug;

use half::{bf16, f16};

use super::emulator::{Kernels, args};

/// Memory of which element 0 is aligned for any vector.
#[repr(align(64))]
struct Memory<T>([T; 64]);

impl<T: Copy> Memory<T> {
    fn filled(make: impl FnMut(usize) -> T) -> Self {
        Memory(std::array::from_fn(make))
    }
}

const ONE_THREAD: (u32, u32, u64) = (1, 1, 0);

/// Of a copy whose lanes are all valid, or none.
const WHOLE: i32 = 2;

/// Every number of valid lanes, both steps, aligned or not, whole where it is.
fn check_copy<T: Copy + PartialEq + Debug>(kernels: &Kernels, symbol: &str, lanes: usize, value: fn(u8) -> T) {
    for aligned in [0, 1, WHOLE] {
        for step in [1, 3] {
            let counts = [i32::MIN, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, i32::MAX];
            for valid in counts.into_iter().filter(|n| aligned != WHOLE || *n <= 0 || *n >= lanes as i32) {
                let offset = usize::from(aligned == 0);
                let from = Memory::filled(|i| value(i as u8 + 1));
                let mut to = Memory::filled(|_| value(99));
                let to_step = step as i32;
                let arguments = args![&mut to.0[offset..], to_step, &from.0[offset..], valid, aligned];
                kernels.launch(symbol, ONE_THREAD, arguments).unwrap();
                let expected: [T; 64] = std::array::from_fn(|i| {
                    let lane = i.checked_sub(offset).filter(|at| at % step == 0).map(|at| at / step);
                    match lane.filter(|lane| *lane < lanes) {
                        Some(lane) if (lane as i32) < valid => from.0[offset + lane],
                        Some(_) => value(0),
                        None => value(99),
                    }
                });
                assert_eq!(to.0, expected, "{symbol}: step {step}, valid {valid}, aligned {aligned}");
            }
        }
    }
}

#[test]
fn a_copy_moves_the_valid_lanes_and_clears_the_rest() {
    let kernels = Kernels::of("copies");
    for (symbol, lanes) in [("copy_f32_1", 1), ("copy_f32_2", 2), ("copy_f32_4", 4), ("copy_f32_8", 8)] {
        check_copy(kernels, symbol, lanes, f32::from);
    }
    for (symbol, lanes) in [("copy_f16_1", 1), ("copy_f16_8", 8)] {
        check_copy(kernels, symbol, lanes, f16::from);
    }
    check_copy(kernels, "copy_bf16_4", 4, bf16::from);
}

#[test]
fn lanes_that_are_not_valid_are_not_read() {
    let kernels = Kernels::of("copies");
    let mut to = Memory::filled(|_| 1.0f32);
    let nowhere: *const f32 = std::ptr::null();
    // SAFETY: an empty slice may begin anywhere that is aligned and not null.
    let nowhere: &[f32] = unsafe { std::slice::from_raw_parts(nowhere.wrapping_add(64), 0) };
    kernels.launch("copy_f32_4", ONE_THREAD, args![&mut to.0[..], 1, nowhere, 0, 1]).unwrap();
    assert_eq!(to.0[..5], [0.0, 0.0, 0.0, 0.0, 1.0]);
}

fn check_store<T: Copy + PartialEq + Debug>(kernels: &Kernels, symbol: &str, lanes: usize, round: fn(f32) -> T) {
    for aligned in [true, false] {
        for valid in [i32::MIN, 0, 1, 2, 3, 4, 7, 8, i32::MAX] {
            let offset = usize::from(!aligned);
            let from: Vec<f32> = (0..lanes).map(|lane| 1.0 + 0.123_456_7 * lane as f32).collect();
            let mut to = Memory::filled(|_| round(99.0));
            let arguments = args![&mut to.0[offset..], &from[..], valid, i32::from(aligned)];
            kernels.launch(symbol, ONE_THREAD, arguments).unwrap();
            let expected: [T; 64] = std::array::from_fn(|i| match i.checked_sub(offset) {
                Some(lane) if lane < lanes && (lane as i32) < valid => round(from[lane]),
                _ => round(99.0),
            });
            assert_eq!(to.0, expected, "{symbol}: valid {valid}, aligned {aligned}");
        }
    }
}

#[test]
fn a_store_rounds_and_writes_the_valid_lanes() {
    let kernels = Kernels::of("copies");
    check_store(kernels, "store_f32_1", 1, |x| x);
    check_store(kernels, "store_f32_4", 4, |x| x);
    check_store(kernels, "store_f16_4", 4, f16::from_f32);
    check_store(kernels, "store_f16_8", 8, f16::from_f32);
    check_store(kernels, "store_bf16_2", 2, bf16::from_f32);
}

#[test]
fn a_vector_is_what_its_elements_were() {
    let kernels = Kernels::of("copies");
    let [mut to, mut from] = [(); 2].map(|()| Memory::filled(|_| 0.0f32));
    kernels.launch("vectors_of_elements", ONE_THREAD, args![&mut to.0[..], &mut from.0[..]]).unwrap();
    assert_eq!(to.0[..8], [1.0, 2.0, 3.0, 4.0, 2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn alignment_is_told() {
    let kernels = Kernels::of("copies");
    let memory = Memory::filled(|_| 0u8);
    for (offset, bytes, expected) in [(0, 16, 1), (8, 16, 0), (8, 8, 1), (4, 8, 0), (2, 2, 1), (1, 2, 0), (1, 1, 1)] {
        let mut to = [7];
        kernels.launch("is_aligned", ONE_THREAD, args![&mut to[..], &memory.0[offset..], bytes]).unwrap();
        assert_eq!(to, [expected], "{offset} to {bytes}");
    }
}
