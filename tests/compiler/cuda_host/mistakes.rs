//! Kernels that are wrong in one place: the launch ends, says what, where and who, and the next one works.

use super::emulator::{Kernels, args};

#[repr(align(64))]
struct Memory([f32; 256]);

#[test]
fn every_mistake_is_told_with_block_and_thread() {
    let kernels = Kernels::of("mistakes");
    let mut global = Memory([0.0; 256]);
    for (symbol, threads, words) in [
        ("early_exit", 64, &["waits at the __syncthreads of mistakes.cu:", "thread (5,0,0) has exited"][..]),
        ("two_barriers", 64, &["thread (0,0,0) waits at the __syncthreads", "but thread (40,0,0) waits at the __sync"]),
        (
            "barrier_against_vote",
            64,
            &["at __ballot_sync with mask 0xffffffff", "thread (7,0,0) waits at the __syncth"],
        ),
        ("lane_exited", 64, &["waits at __syncwarp with mask 0xffffffff", "but thread (9,0,0) has exited"]),
        ("lane_exited", 8, &["waits at __syncwarp with mask 0xffffffff", "but its warp has only 8 threads"]),
        ("masks_differ", 32, &["waits at __any_sync with mask 0xffffffff", "but thread (4,0,0) has exited"]),
        ("functions_differ", 32, &["thread (0,0,0) waits at __all_sync", "but thread (3,0,0) waits at __any_sync"]),
        ("not_in_mask", 32, &["thread (0,0,0): __shfl_sync with mask 0xfffffffe", "is called by lane 0"]),
        ("reads_lane_not_in_mask", 32, &["__shfl_sync with mask 0x0000ffff", "reads lane 20"]),
        (
            "past_the_end",
            32,
            &["byte 128 of dynamic shared memory, which has 128 bytes, was written before the __sync"],
        ),
        ("past_the_end_last", 32, &["byte 128 of dynamic shared memory", "was written before the end"]),
        ("before_the_beginning", 32, &["byte -4 of dynamic shared memory", "was written before the end"]),
        ("misaligned_load", 32, &["misaligned address: a vector access of 16 bytes at address 0x"]),
        ("misaligned_store", 32, &["misaligned address: a vector access of 16 bytes at address 0x"]),
        ("misaligned_row", 32, &["misaligned address: a row of ldmatrix of 16 bytes at byte "]),
        // Eight threads make it, in an order that changes.
        (
            "row_past_the_end",
            32,
            &["ldmatrix takes 16 bytes at byte ", "of dynamic shared memory, which has 128 bytes"],
        ),
        ("traps", 32, &["thread (2,0,0): __trap() at mistakes.cu:"]),
        ("not_whole", 32, &["thread (3,0,0): a copy of all lanes or none has 2 of 4"]),
    ] {
        let launch = (1, threads, 128);
        let error = kernels.launch(symbol, launch, args![&mut global.0[..]]).unwrap_err();
        assert!(error.starts_with("block (0,0,0)") && error.contains("(DIETCODE_HOST_SEED="), "{symbol}: {error}");
        for words in words {
            assert!(error.contains(words), "{symbol}: {error}");
        }
        // What one thread writes here is inside.
        kernels.launch("past_the_end", (1, 1, 128), args![&mut global.0[..]]).unwrap();
    }
}

#[test]
fn a_sentence_is_cut_to_the_room_it_has() {
    let kernels = Kernels::of("mistakes");
    for (room, expected) in [(10, "block (0,"), (2, "b"), (1, "")] {
        let error = kernels.launch_with_room("traps", (1, 3, 0), args![&mut [0.0f32][..]], room).unwrap_err();
        assert_eq!(error, expected);
    }
}
