//! Functions of a warp against plain indexing.

use std::fmt::Debug;

use super::emulator::{Kernels, args};

/// Which lane each shuffle reads, as CUDA documents it.
fn sources(lane: i32, by: i32, width: i32) -> [i32; 4] {
    let first = lane / width * width;
    let last = first + width - 1;
    let up = if lane - by < first { lane } else { lane - by };
    let down = if lane + by > last { lane } else { lane + by };
    let xor = if lane ^ by > last { lane } else { lane ^ by };
    [first + by.rem_euclid(width), up, down, xor]
}

fn check_shuffles<T: Copy + Debug + PartialEq>(kernels: &Kernels, symbol: &str, value: fn(i32) -> T) {
    for (width, by) in [1, 2, 4, 8, 16, 32].into_iter().flat_map(|width| (0..32).map(move |by| (width, by))) {
        let from: Vec<T> = (0..64).map(value).collect();
        let mut to = [value(-1); 4 * 64];
        kernels.launch(symbol, (1, 64, 0), args![&mut to[..], &from[..], by, width]).unwrap();
        for (thread, kind) in (0..64).flat_map(|thread| (0..4).map(move |kind| (thread, kind))) {
            let source = thread as i32 / 32 * 32 + sources(thread as i32 % 32, by, width)[kind];
            assert_eq!(to[kind * 64 + thread], value(source), "{symbol} {kind}, by {by}, width {width}, {thread}");
        }
    }
}

#[test]
fn shuffles_read_the_lane_that_cuda_says() {
    let kernels = Kernels::of("warp");
    check_shuffles(kernels, "shuffles_i32", |i| i);
    check_shuffles(kernels, "shuffles_u32", |i| i as u32);
    check_shuffles(kernels, "shuffles_f32", |i| i as f32 + 0.5);
    check_shuffles(kernels, "shuffles_f64", |i| f64::from(i) + 1e-12);
    check_shuffles(kernels, "shuffles_i64", |i| (i64::from(i) << 40) + 1);
}

#[test]
fn votes_count_the_lanes_of_their_mask() {
    let kernels = Kernels::of("warp");
    for pattern in [0u32, u32::MAX, 0x5555_5555, 0x8000_0001, 0xdead_beef] {
        let from: Vec<i32> = (0..64).map(|i| (pattern.rotate_left(i / 32) >> (i % 32) & 1) as i32).collect();
        let mut to = vec![99u32; 5 * 64];
        kernels.launch("votes", (1, 64, 0), args![&mut to[..], &from[..]]).unwrap();
        for thread in 0..64 {
            let (pattern, mask) = (pattern.rotate_left(thread / 32), 0x5555_5555 << (thread % 2));
            let all = |mask: u32| u32::from(pattern & mask == mask);
            let expected = [pattern, u32::from(pattern != 0), all(u32::MAX), pattern & mask, all(mask)];
            let found: [u32; 5] = std::array::from_fn(|kind| to[kind * 64 + thread as usize]);
            assert_eq!(found, expected, "thread {thread} of {pattern:x}");
        }
    }
}

#[test]
fn a_block_adds_up_by_shuffles() {
    let from: Vec<f32> = (0..3 * 128).map(|i| i as f32).collect();
    let mut to = [0.0f32; 3];
    Kernels::of("warp").launch("block_sum", (3, 128, 0), args![&mut to[..], &from[..]]).unwrap();
    let expected: Vec<f32> = from.chunks(128).map(|block| block.iter().sum()).collect();
    assert_eq!(to[..], expected);
}
