//! `cp.async`: what arrives, when, and what is seen before.

use half::f16;

use super::emulator::{Kernels, args};

/// Of a copy whose lanes are all valid, or none.
const WHOLE: i32 = 2;

#[repr(align(64))]
struct Memory<T>([T; 64]);

#[test]
fn what_was_waited_for_arrives_with_zeros_behind_the_valid() {
    let kernels = Kernels::of("async");
    let widths = [("async_f32_1", 1), ("async_f32_2", 2), ("async_f32_4", 4), ("async_f32_8", 8)];
    for (symbol, lanes) in widths {
        let whole = |valid: i32| (valid % lanes as i32 == 0).then_some((valid, WHOLE));
        for (valid, aligned) in (-1..=65).flat_map(|n| [(n, 0), (n, 1)].into_iter().chain(whole(n))) {
            let from = Memory::<f32>(std::array::from_fn(|i| i as f32 + 1.0));
            let mut to = Memory([f32::NAN; 64]);
            let threads = 64 / lanes;
            kernels.launch(symbol, (1, threads, 256), args![&mut to.0[..], &from.0[..], valid, aligned]).unwrap();
            let expected: [f32; 64] = std::array::from_fn(|i| if (i as i32) < valid { i as f32 + 1.0 } else { 0.0 });
            assert_eq!(to.0, expected, "{symbol}: {valid} valid");
        }
    }
    for (symbol, lanes) in [("async_f16_1", 1), ("async_f16_2", 2), ("async_f16_8", 8)] {
        let from = Memory::<f16>(std::array::from_fn(|i| f16::from(i as u8)));
        let mut to = Memory([f16::NAN; 64]);
        kernels.launch(symbol, (1, 64 / lanes, 128), args![&mut to.0[..], &from.0[..], 37, 1]).unwrap();
        let expected: [f16; 64] = std::array::from_fn(|i| if i < 37 { f16::from(i as u8) } else { f16::ZERO });
        assert_eq!(to.0, expected, "{symbol}");
    }
}

#[test]
fn a_group_arrives_when_it_was_waited_for_and_not_before() {
    let from = [1.0f32, 2.0, 3.0, 4.0];
    let mut seen = [0.0f32; 20];
    Kernels::of("async").launch("groups", (1, 1, 16), args![&mut seen[..], &from[..]]).unwrap();
    for (wait, arrived) in [0, 1, 2, 3, 4].into_iter().enumerate() {
        let seen = &seen[4 * wait..4 * wait + 4];
        assert_eq!(seen[..arrived], from[..arrived]);
        assert!(seen[arrived..].iter().all(|x| x.is_nan()), "after {wait} waits: {seen:?}");
    }
}

#[test]
fn shared_memory_is_poison_for_every_block() {
    let mut words = [0u32; 3 * 33];
    Kernels::of("async").launch("fresh", (3, 1, 132), args![&mut words[..], 33]).unwrap();
    for word in words {
        let halves = [word as u16, (word >> 16) as u16];
        assert!(f32::from_bits(word).is_nan() && halves.iter().all(|half| f16::from_bits(*half).is_nan()), "{word:x}");
        assert!(halves.iter().all(|half| half::bf16::from_bits(*half).is_nan()), "{word:x}");
    }
}

#[test]
fn a_stage_that_is_overwritten_too_early_is_poison() {
    let kernels = Kernels::of("async");
    for _ in 0..6 {
        let from = [1.0f32; 64];
        let mut to = [0.0f32; 64];
        kernels.launch("stage_reused", (1, 64, 256), args![&mut to[..], &from[..]]).unwrap();
        assert!(to.iter().any(|x| x.is_nan()), "{to:?}");
    }
}

#[test]
fn mistakes_are_told() {
    let kernels = Kernels::of("async");
    let from = Memory([1.0f32; 64]);
    for (symbol, words) in [
        ("never_waited", "exits before it waits for cp.async into byte 0 of dynamic shared memory"),
        ("misaligned_to", "misaligned address: cp.async of 16 bytes at byte 8 of dynamic shared memory"),
        ("misaligned_from", "misaligned address: cp.async of 16 bytes at address 0x"),
        ("past_the_end", "cp.async takes 16 bytes at byte 64 of dynamic shared memory, which has 64 bytes"),
    ] {
        let error = kernels.launch(symbol, (1, 1, 64), args![&from.0[..]]).unwrap_err();
        assert!(error.starts_with("block (0,0,0), thread (0,0,0)") && error.contains(words), "{symbol}: {error}");
    }
}
