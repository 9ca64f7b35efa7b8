//! Barriers, the order of threads, the limits of a launch, and launches from many threads.

use std::collections::BTreeSet;

use super::emulator::{Kernels, args};

fn reversed(from: &[f32], block: usize) -> Vec<f32> {
    let element = |at: usize| from[at / block * block + block - 1 - (at % block + 1) % block];
    (0..from.len()).map(element).collect()
}

#[test]
fn threads_meet_at_barriers() {
    // With both ways of changing fibers.
    for flags in [&[][..], &["-DDIETCODE_HOST_UCONTEXT"]] {
        let kernels = Kernels::compile_with("blocks", flags);
        for block in [1, 31, 32, 100, 256] {
            let from: Vec<f32> = (0..5 * block).map(|i| i as f32).collect();
            let mut to = vec![f32::NAN; from.len()];
            let launch = (5, block as u32, 4 * block as u64);
            kernels.launch("reverse", launch, args![&mut to[..], &from[..]]).unwrap();
            assert_eq!(to, reversed(&from, block));
        }
    }
}

#[test]
fn a_missing_barrier_shows() {
    let kernels = Kernels::of("blocks");
    for _ in 0..6 {
        let from = [1.0f32; 64];
        let mut to = [0.0f32; 64];
        kernels.launch("reverse_without_barrier", (1, 64, 256), args![&mut to[..], &from[..]]).unwrap();
        assert!(to.iter().any(|x| x.is_nan()));
    }
}

#[test]
fn threads_take_turns_in_orders_that_differ() {
    const THREADS: usize = 70;
    let mut order = [0i32; 6 * THREADS];
    let mut counter = [0i32];
    Kernels::of("blocks").launch("turns", (1, 70, 0), args![&mut order[..], &mut counter[..], 6]).unwrap();
    let ascending: Vec<i32> = (0..THREADS as i32).collect();
    let descending: Vec<i32> = ascending.iter().rev().copied().collect();
    let orders: BTreeSet<&[i32]> = order.chunks(THREADS).collect();
    assert!(orders.contains(&ascending[..]) && orders.contains(&descending[..]), "{orders:?}");
    assert_eq!(orders.len(), 4, "two shuffles: {orders:?}");
    for order in orders {
        assert_eq!(order.iter().copied().collect::<BTreeSet<_>>().len(), THREADS);
    }
}

#[test]
fn blocks_take_turns_in_orders_that_differ() {
    // Its launches are counted from 0.
    let kernels = Kernels::compile_with("blocks", &[]);
    for blocks in [1, 2, 3, 12, 35, 64] {
        let mut orders = BTreeSet::new();
        for _ in 0..6 {
            let mut order = vec![-1i32; blocks];
            let launch = (blocks as u32, 1, 0);
            kernels.launch("turns_of_blocks", launch, args![&mut order[..], &mut [0i32][..]]).unwrap();
            assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..blocks as i32).collect(), "{order:?}");
            orders.insert(order);
        }
        let ascending: Vec<i32> = (0..blocks as i32).collect();
        let descending: Vec<i32> = ascending.iter().rev().copied().collect();
        assert!(orders.contains(&ascending) && orders.contains(&descending), "{orders:?}");
        assert!(blocks < 12 || orders.len() == 4, "two shuffles: {orders:?}");
    }
}

#[test]
fn a_launch_beyond_the_limits_is_told() {
    let kernels = Kernels::of("blocks");
    let none: &[f32] = &[];
    for (launch, words) in [
        ((0, 32, 0), "gridDim.x is 0; CUDA allows 1 to 2147483647"),
        ((1 << 31, 32, 0), "gridDim.x is 2147483648"),
        ((1, 0, 0), "blockDim.x is 0; CUDA allows 1 to 1024"),
        ((1, 1025, 0), "blockDim.x is 1025"),
        ((1, 32, 232_449), "a block has 232449 bytes of dynamic shared memory; CUDA allows 232448"),
    ] {
        let error = kernels.launch("reverse", launch, args![none, none]).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let mut sum = [0.0f32];
    let from = vec![0.5f32; 3 * 1024];
    kernels.launch("tree_sum", (3, 1024, 232_448), args![&mut sum[..], &from[..], 3 * 1024]).unwrap();
    assert_eq!(sum, [1536.0]);
}

#[test]
fn many_threads_launch_at_once() {
    let kernels = Kernels::of("blocks");
    let from: Vec<f32> = (0..8 * 128).map(|i| (i % 7) as f32).collect();
    let expected: f32 = from.iter().sum();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut sum = [0.0f32];
                    kernels.launch("tree_sum", (8, 128, 512), args![&mut sum[..], &from[..], 8 * 128]).unwrap();
                    assert_eq!(sum, [expected]);
                }
            });
        }
    });
}
