//! Kernels that are wrong in what they access: whatever the order of threads and blocks is, the launch ends and tells both accesses.

use std::collections::BTreeSet;
use std::fs;

use super::emulator::{Kernels, args, file};

/// Each launch has another order.
const RUNS: usize = 30;

fn launched(symbol: &str) -> Result<(), String> {
    let [mut global, mut other, constant] = [(); 3].map(|()| Aligned([0.0f32; 96]));
    let (none, mut counter): ([f32; 0], _) = ([], [0i32]);
    let args = args![&mut global.0[..], &mut other.0[..], &constant.0[..], &none[..], &mut counter[..]];
    Kernels::watched("accesses").launch(symbol, (2, 48, 256), args)
}

/// As what a device allocates is, as far as the copies need it.
#[repr(align(16))]
struct Aligned([f32; 96]);

const OF_TENSOR: &str = "of parameter 0, which has 384, at accesses.cu:";
const NOTHING_BETWEEN: &str = ", with nothing between that orders them";
const SHARED: &str = "of dynamic shared memory";
const WAITED_FOR: &str = ", before it has waited for it";

/// Those that are wrong, and what is said of them.
const MISTAKES: &[(&str, &[&str])] = &[
    ("reads_behind", &["reads bytes 384 to 387 ", OF_TENSOR, "`MISTAKE(reads_behind"]),
    ("reads_before", &["reads bytes -4 to -1 ", OF_TENSOR]),
    ("writes_behind", &["writes bytes 384 to 387 ", OF_TENSOR]),
    ("reads_a_vector_over_the_end", &["reads bytes 376 to 391 ", OF_TENSOR]),
    ("reads_shared_behind", &["reads bytes 256 to 259 of dynamic shared memory, which has 256, at accesses.cu:"]),
    ("reads_static_that_nobody_wrote", &["of static shared memory, which no thread of the block has written, at"]),
    ("reads_before_the_barrier", &["of dynamic shared memory at accesses.cu:", ", which thread (", NOTHING_BETWEEN]),
    (
        "writes_before_others_have_read",
        &["of dynamic shared memory at accesses.cu:", ", which thread (", NOTHING_BETWEEN],
    ),
    ("writes_halves_that_others_read", &["byte 2 of dynamic shared memory", "(20,0,0)", NOTHING_BETWEEN]),
    ("two_write_one_word", &["writes byte ", SHARED, " writes at accesses.cu:", NOTHING_BETWEEN]),
    ("lanes_without_syncwarp", &[SHARED, NOTHING_BETWEEN]),
    ("static_before_the_barrier", &["of static shared memory", NOTHING_BETWEEN]),
    ("blocks_read_what_others_write", &["of parameter 0 at accesses.cu:", ") of block (", NOTHING_BETWEEN]),
    ("blocks_write_one_element", &["writes byte ", "of parameter 1", ") of block (", " writes at ", NOTHING_BETWEEN]),
    ("adds_and_reads", &["byte 12 of parameter 0", "changes atomically ", ") of block (", NOTHING_BETWEEN]),
    ("reads_what_is_copied", &["reads byte ", WAITED_FOR]),
    ("reads_a_copy_of_another", &[SHARED, ", which thread ("]),
    ("reads_far_behind", &["reads 4 bytes where nothing is, ", " bytes behind parameter ", ", at accesses.cu:"]),
    ("reads_far_before", &["reads 4 bytes where nothing is, ", " parameter ", ", at accesses.cu:"]),
    ("reads_of_nothing", &["reads bytes ", " of parameter 3, which has 0, at accesses.cu:"]),
    ("reads_through_nothing", &["reads 4 bytes where nothing is, ", " bytes before parameter "]),
    (
        "writes_what_is_constant",
        &["writes bytes ", " of parameter 2, which the kernel has as constant, at accesses.cu:"],
    ),
    ("writes_bytes_that_others_read", &["byte 1 of dynamic shared memory", "(40,0,0)", NOTHING_BETWEEN]),
    ("lanes_that_read_late", &["byte 0 of dynamic shared memory", "(8,0,0)", NOTHING_BETWEEN]),
    ("other_lanes_sync", &[SHARED, NOTHING_BETWEEN]),
    ("atomics_without_a_fence", &["of parameter 1", ") of block (", NOTHING_BETWEEN]),
    ("reads_after_a_fence_of_its_own", &["of parameter 1", ") of block (", NOTHING_BETWEEN]),
    ("copies_twice", &["writes byte ", SHARED, WAITED_FOR]),
    ("copies_into_a_tensor", &["cp.async takes an address of shared memory, found one of parameter 1"]),
    ("matrices_of_a_tensor", &["ldmatrix takes an address of shared memory, found one of parameter 2"]),
    ("matrices_behind", &["ldmatrix takes 16 bytes at byte 256 of dynamic shared memory, which has 256 bytes"]),
    ("reads_a_half_behind", &["reads bytes 384 to 385 of parameter 2, which has 384, at accesses.cu:"]),
    ("writes_a_half_behind", &["writes bytes 384 to 385 of parameter 0, which has 384, at accesses.cu:"]),
    ("writes_a_made_vector_behind", &["writes bytes 384 to 399 of parameter 0, which has 384, at accesses.cu:"]),
];

const RIGHT: &[&str] = &[
    "right",
    "right_by_warps",
    "right_by_atomics",
    "right_by_some_lanes",
    "right_by_pairs_of_lanes",
    "right_by_bytes",
    "right_by_copies",
    "right_by_fences",
];

#[test]
fn every_mistake_is_told_in_every_run() {
    for (symbol, words) in MISTAKES {
        for _ in 0..RUNS {
            let error = launched(symbol).expect_err(symbol);
            assert!(error.starts_with("block (") && error.contains("(DIETCODE_HOST_SEED="), "{symbol}: {error}");
            for words in *words {
                assert!(error.contains(words), "{symbol}: {error}");
            }
        }
    }
}

#[test]
fn what_is_ordered_is_no_mistake() {
    for symbol in RIGHT {
        for _ in 0..RUNS {
            assert_eq!(launched(symbol), Ok(()), "{symbol}");
        }
    }
}

/// How many kernels the file has.
pub(crate) const KERNELS: usize = MISTAKES.len() + RIGHT.len();

#[test]
fn every_kernel_of_the_file_is_launched() {
    let source = fs::read_to_string(file("accesses")).expect("the file is there");
    let planted = source.lines().filter_map(|line| line.strip_prefix("MISTAKE(")?.split_once(','));
    let planted: BTreeSet<&str> = planted.map(|(symbol, _)| symbol).collect();
    let launched: BTreeSet<&str> = MISTAKES.iter().map(|(symbol, _)| *symbol).chain(RIGHT.iter().copied()).collect();
    assert_eq!(planted, launched);
    assert_eq!(source.matches("MISTAKE(").count(), KERNELS + 1, "each begins a line, but for the macro itself");
}

/// Launches at the same time, each of which writes columns of its own.
#[test]
fn what_others_write_meanwhile_stays() {
    const COLUMNS: usize = 4;
    let kernels = Kernels::watched("blocks");
    for _ in 0..10 {
        let mut matrix = vec![0i32; 64 * COLUMNS];
        let address = matrix.as_mut_ptr() as usize;
        std::thread::scope(|scope| {
            for column in 0..COLUMNS {
                scope.spawn(move || {
                    let own = address + 4 * column;
                    let arg = super::emulator::Arg::tensor(own, 4 * (63 * COLUMNS + 1));
                    kernels.launch("write_column", (2, 32, 0), &[arg, (COLUMNS as i32).into(), (column as i32).into()])
                });
            }
        });
        assert!(matrix.iter().enumerate().all(|(at, value)| *value == (at % COLUMNS) as i32 + 1), "{matrix:?}");
    }
}
