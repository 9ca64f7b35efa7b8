//! Kernels that are wrong in what they access: whatever the order of threads and blocks is, the launch ends and tells both accesses.

use super::emulator::{Kernels, args};

/// Each launch has another order.
const RUNS: usize = 30;

fn launched(symbol: &str) -> Result<(), String> {
    let (mut global, mut other) = (vec![0.0f32; 96], vec![0.0f32; 96]);
    Kernels::watched("accesses").launch(symbol, (2, 48, 256), args![&mut global[..], &mut other[..]])
}

#[test]
fn every_mistake_is_told_in_every_run() {
    const OF_TENSOR: &str = "of parameter 0, which has 384, at accesses.cu:";
    const NOTHING_BETWEEN: &str = ", with nothing between that orders them";
    for (symbol, words) in [
        ("reads_behind", &["reads bytes 384 to 387 ", OF_TENSOR, "`MISTAKE(reads_behind"][..]),
        ("reads_before", &["reads bytes -4 to -1 ", OF_TENSOR]),
        ("writes_behind", &["writes bytes 384 to 387 ", OF_TENSOR]),
        ("reads_a_vector_over_the_end", &["reads bytes 376 to 391 ", OF_TENSOR]),
        ("reads_shared_behind", &["reads bytes 256 to 259 of dynamic shared memory, which has 256, at accesses.cu:"]),
        ("reads_static_that_nobody_wrote", &["of static shared memory, which no thread of the block has written, at"]),
        (
            "reads_before_the_barrier",
            &["of dynamic shared memory at accesses.cu:", ", which thread (", NOTHING_BETWEEN],
        ),
        (
            "writes_before_others_have_read",
            &["of dynamic shared memory at accesses.cu:", ", which thread (", NOTHING_BETWEEN],
        ),
        (
            "two_write_one_word",
            &["writes byte ", "of dynamic shared memory", " writes at accesses.cu:", NOTHING_BETWEEN],
        ),
        ("lanes_without_syncwarp", &["of dynamic shared memory", NOTHING_BETWEEN]),
        ("static_before_the_barrier", &["of static shared memory", NOTHING_BETWEEN]),
        ("blocks_read_what_others_write", &["of parameter 0 at accesses.cu:", ") of block (", NOTHING_BETWEEN]),
        (
            "blocks_write_one_element",
            &["writes byte ", "of parameter 1", ") of block (", " writes at ", NOTHING_BETWEEN],
        ),
        ("adds_and_reads", &["byte 12 of parameter 0", "changes atomically ", ") of block (", NOTHING_BETWEEN]),
        ("reads_what_is_copied", &["reads byte ", ", before it has waited for it"]),
        ("reads_a_copy_of_another", &["of dynamic shared memory", ", which thread ("]),
    ] {
        for _ in 0..RUNS {
            let error = launched(symbol).expect_err(symbol);
            assert!(error.starts_with("block (") && error.contains("(DIETCODE_HOST_SEED="), "{symbol}: {error}");
            for words in words {
                assert!(error.contains(words), "{symbol}: {error}");
            }
        }
    }
}

#[test]
fn what_is_ordered_is_no_mistake() {
    for symbol in ["right", "right_by_warps", "right_by_atomics"] {
        for _ in 0..RUNS {
            assert_eq!(launched(symbol), Ok(()), "{symbol}");
        }
    }
}
